/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom a node is below: the moves that administrators order, and the return to the preferred parent.
 */
#include "services/duty_internal.h"

#include <stdlib.h>
#include <string.h>

#define MOVE_MS 3000 /* how long a new parent may take to answer */
/* How often a node looks whether its preferred parent is back: doubling, so that one that never comes back
 * costs little. */
#define RETURN_FIRST_NS (5 * NS_PER_S)
#define RETURN_MOST_NS  (60 * NS_PER_S)

enum esp_status duty_begin_move(struct duty *duty, const char *const *words, size_t n,
                                struct esp_error *error)
{
    const struct duty_options *options = &duty->options;
    if (n != 2)
        return error_set(error, ESP_INVALID, "expected the new parent's name and address, found %zu words",
                         n);
    if (!options->tie || !*options->tie || options->membership.role == ROLE_MASTER)
        return error_set(error, ESP_INVALID,
                         "\"%s\" is a master agent: it is the root of its tree and has no parent",
                         options->name);
    char *target = strdup(words[1]);
    if (!target)
        return error_no_memory(error, "an address");
    enum esp_status status =
        handover_begin(&duty->handover, *options->tie, &options->membership, options->membership_ops,
                       options->self, duty->ops->own_address(options->self), target, MOVE_MS, error);
    if (status != ESP_OK) {
        free(target);
        return status;
    }
    free(duty->target);
    duty->target = target;
    duty->returning = false;
    return ESP_OK;
}

void duty_post(struct duty *duty, const struct envelope *envelope, const struct message *message)
{
    handover_post(&duty->handover, envelope, message);
}

void duty_undelivered(struct duty *duty, const char *address, const struct esp_error *why)
{
    handover_undelivered(&duty->handover, address, why);
}

static bool is_idle(const struct duty *duty)
{
    return !duty->handover.next && !duty->handover.leaving;
}

int64_t duty_due(const struct duty *duty)
{
    int64_t due = handover_due(&duty->handover);
    if (duty->brief_until_ns && duty->brief_until_ns < due)
        due = duty->brief_until_ns;
    if (duty->write_ns && duty->write_ns < due)
        due = duty->write_ns;
    return duty->return_ns && is_idle(duty) && duty->return_ns < due ? duty->return_ns : due;
}

/* The name of the parent that it should be below; "": that is not known. */
static const char *home(const struct duty *duty)
{
    return duty->wanted ? place_home(&duty->place, duty->wanted) : "";
}

/* Joined, but not below the parent that it should be below. */
static bool is_away(const struct duty *duty)
{
    const struct membership *tie = *duty->options.tie;
    const char *address = membership_parent_address(tie);
    return address && duty->wanted && strcmp(address, duty->wanted) != 0 &&
           strcmp(membership_parent_name(tie), home(duty)) != 0;
}

/* Where that parent may be: where those above say (news at once), and at its address, in turn. */
static const char *preferred_parent(struct duty *duty, bool *news)
{
    const char *told = refuges_find(membership_refuges(*duty->options.tie), home(duty));
    *news = told && strcmp(told, duty->sought) != 0;
    if (*news)
        strcpy(duty->sought, told);
    return told && (*news || duty->looks % 2 == 0) ? told : duty->wanted;
}

static enum esp_status begin_return(struct duty *duty, const char *address, bool quiet,
                                    struct esp_error *error)
{
    const struct duty_options *options = &duty->options;
    struct membership_options tie = options->membership;
    tie.quiet = quiet;
    enum esp_status status =
        handover_begin(&duty->handover, *options->tie, &tie, options->membership_ops, options->self,
                       duty->ops->own_address(options->self), address, MOVE_MS, error);
    if (status == ESP_OK)
        duty->returning = true;
    return status;
}

enum esp_status duty_home(struct duty *duty, const char *address, const char **text, struct esp_error *error)
{
    const bool tied = duty->options.tie && *duty->options.tie && duty->options.membership.role != ROLE_MASTER;
    *text = tied && is_away(duty) ? home(duty) : "";
    return **text && address ? begin_return(duty, address, true, error) : ESP_OK;
}

static void look_for_preferred(struct duty *duty)
{
    const struct duty_options *options = &duty->options;
    const int64_t now_ns = clock_now_ns(options->membership.clock);
    bool news;
    if (options->membership.role == ROLE_MASTER || !is_away(duty)) {
        duty->return_ns = 0;
        duty->looks = 0;
        duty->sought[0] = 0;
        return;
    }
    if (*home(duty) && (!duty->return_ns || now_ns >= duty->return_ns))
        membership_ask_where(*options->tie, home(duty));
    if (!duty->return_ns) {
        duty->pause_ns = RETURN_FIRST_NS;
        duty->return_ns = now_ns + duty->pause_ns;
    }
    const char *preferred = preferred_parent(duty, &news);
    if (now_ns < duty->return_ns && !news)
        return;
    if (now_ns >= duty->return_ns) {
        duty->pause_ns = duty->pause_ns < RETURN_MOST_NS / 2 ? 2 * duty->pause_ns : RETURN_MOST_NS;
        duty->return_ns = now_ns + duty->pause_ns;
    }
    begin_return(duty, preferred, duty->looks++ > 0, NULL);
}

static void want(struct duty *duty, const char *address)
{
    char *copy = strdup(address);
    if (!copy)
        return; /* it stays where it is */
    free(duty->wanted);
    duty->wanted = copy;
}

/* It belongs there now. When that could not be noted, it must be known. */
static enum esp_status belong(struct duty *duty, const char *address, const char **remark,
                              struct esp_error *error)
{
    *remark = "";
    want(duty, address);
    enum esp_status status = place_set_parent(&duty->place, address, duty->options.file_parent, error);
    if (status == ESP_OK)
        *remark = duty_keep(duty);
    else
        error_prefix(error, "it is there, but only until it is started again");
    return status;
}

static void has_moved(struct duty *duty)
{
    struct esp_error *error = &duty->kept;
    error->status = belong(duty, duty->target, &duty->remark, error);
    duty->ops->moved(duty->options.self);
    duty->ops->told(duty->options.self, "move", error->status,
                    error->status == ESP_OK ? duty->remark : error->text);
}

enum esp_status duty_stay(struct duty *duty, const char *const *words, size_t n, struct arena *arena,
                          const char **text, struct esp_error *error)
{
    const char *remark;
    const bool tied = duty->options.tie && *duty->options.tie && duty->options.membership.role != ROLE_MASTER;
    const char *parent =
        tied && membership_joined(*duty->options.tie) ? membership_parent_name(*duty->options.tie) : "";
    if (n != 1 || strcmp(words[0], parent) != 0)
        return error_set(error, ESP_INVALID,
                         "expected the name of the parent of \"%s\", \"%s\", found \"%.60s\"",
                         duty->options.name, parent, n == 1 ? words[0] : "");
    *text = "";
    if (!is_away(duty))
        return ESP_OK;
    if (!(*text = arena_strdup(arena, home(duty))))
        return error_no_memory(error, "a name");
    return belong(duty, membership_parent_address(*duty->options.tie), &remark, error);
}

/* Who is at the address that the file names, where that decides whether the node was moved since the file was
 * written; true when it is seen now. */
static bool decide_place(struct duty *duty)
{
    const struct membership *tie = *duty->options.tie;
    const char *address = membership_parent_address(tie), *file = duty->options.file_parent;
    if (!place_is_open(&duty->place, file) || !membership_joined(tie) || strcmp(address, file) != 0)
        return false;
    place_heed_name(&duty->place, file, membership_parent_name(tie));
    if (duty->place.parent)
        want(duty, duty->place.parent);
    return true;
}

/* Who is at the address of the preferred parent; true when that is news. */
static bool note_home(struct duty *duty)
{
    const struct membership *tie = *duty->options.tie;
    const char *address = membership_parent_address(tie), *name = membership_parent_name(tie);
    size_t n;
    const char *const *parents = membership_parents(tie, &n);
    if (!duty->wanted && n > 0)
        want(duty, parents[0]);
    return address && duty->wanted && strcmp(address, duty->wanted) == 0 && strcmp(name, home(duty)) != 0 &&
           place_set_home(&duty->place, address, name, NULL) == ESP_OK;
}

/* Where to go at the next start, should the preferred parent be gone: to the one that was found in its place,
 * and where that one said. */
static void refuges_now(const struct duty *duty, struct refuges *now)
{
    const struct membership *tie = *duty->options.tie;
    const char *address = membership_parent_address(tie);
    const struct refuges *told = membership_refuges(tie);
    *now = (struct refuges){.n = 0};
    if (duty->wanted && strcmp(address, duty->wanted) != 0)
        refuges_add(now, address, "");
    for (size_t i = 0; i < told->n; i++)
        refuges_add(now, told->addresses[i], "");
}

/* For the next start. Without a folder, or on a full disk, it is not known then. */
static void keep_whereabouts(struct duty *duty)
{
    const struct membership *tie = *duty->options.tie;
    bool news = decide_place(duty);
    news = note_home(duty) || news;
    struct refuges now;
    if (membership_joined(tie)) {
        refuges_now(duty, &now);
        if (!refuges_equal(&duty->place.refuges, &now)) {
            duty->place.refuges = now;
            news = true;
        }
    }
    if (news)
        duty_keep(duty);
}

void duty_tick(struct duty *duty)
{
    struct esp_error why = {0};
    duty_end_brief(duty);
    duty_write_again(duty);
    if (!duty->options.tie || !*duty->options.tie)
        return;
    keep_whereabouts(duty);
    if (is_idle(duty))
        look_for_preferred(duty);
    switch (handover_tick(&duty->handover, duty->options.tie, &why)) {
    case HANDOVER_JOINED:
        if (duty->returning)
            duty->ops->moved(duty->options.self);
        else
            has_moved(duty);
        break;
    case HANDOVER_OVER: /* by way of the old parent, who takes no word from it afterwards */
        if (!duty->returning)
            duty_answer(duty, &duty->mover, duty->kept.status, duty->remark, &duty->kept);
        break;
    case HANDOVER_FAILED:
        if (duty->returning)
            break; /* it is not back */
        error_prefix(&why, "\"%s\" stays where it is", duty->options.name);
        duty->ops->told(duty->options.self, "move", why.status, why.text);
        duty_answer(duty, &duty->mover, why.status, "", &why);
        break;
    default:
        break;
    }
}
