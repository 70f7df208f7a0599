/* SPDX-License-Identifier: Apache-2.0 */
#include "services/duty.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOVE_MS 3000 /* how long a new parent may take to answer */
/* How often a node looks whether its preferred parent is back: doubling, so that one that never comes back
 * costs little. */
#define RETURN_FIRST_NS (5 * NS_PER_S)
#define RETURN_MOST_NS  (60 * NS_PER_S)

enum esp_status duty_init(struct duty *duty, const struct duty_options *options, const struct duty_ops *ops,
                          struct esp_error *error)
{
    *duty = (struct duty){.options = *options, .ops = ops};
    if (!options->state_dir)
        return ESP_OK;
    duty->state_dir = strdup(options->state_dir);
    if (!duty->state_dir)
        return error_no_memory(error, "the name of a folder");
    return place_load(duty->state_dir, options->name, &duty->place, error);
}

void duty_release(struct duty *duty)
{
    handover_release(&duty->handover);
    place_release(&duty->place);
    trace_release(&duty->trace);
    free(duty->mover.address);
    free(duty->reloader.address);
    free(duty->target);
    free(duty->state_dir);
    *duty = (struct duty){0};
}

bool duty_is_question(const char *verb)
{
    static const char *const questions[] = {"look", "trace", "accuracy", "weather"};
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (strcmp(verb, questions[i]) == 0)
            return true;
    return false;
}

enum esp_status duty_permits(const struct duty *duty, const struct envelope *envelope, const char *verb,
                             struct esp_error *error)
{
    const struct config_strings *known = duty->options.administrators;
    if (!envelope->identity || !*envelope->identity || strcmp(verb, "weather") == 0)
        return ESP_OK; /* without TLS everybody may do everything */
    for (size_t i = 0; known && i < known->n; i++)
        if (strcmp(known->items[i], envelope->identity) == 0)
            return ESP_OK;
    return error_set(error, ESP_SECURITY,
                     "\"%s\" is no administrator of \"%s\": expected one of those that its file names "
                     "(administrators)",
                     envelope->identity, duty->options.name);
}

void duty_signal(void *arg, enum duty_control what)
{
    static const int signals[] = {[DUTY_RELOAD] = SIGHUP, [DUTY_STOP] = SIGTERM, [DUTY_RESTART] = SIGUSR2};
    (void)arg;
    kill(getpid(), signals[what]);
}

/* ---- answers ---- */

static void answer(struct duty *duty, struct duty_asker *asker, enum esp_status status, const char *text,
                   const struct esp_error *error)
{
    if (asker->call && status != ESP_OK) {
        call_reply(asker->call, message_failure(MESSAGE_ADMINISTER_REPLY, status, "%s", error->text));
    } else if (asker->call) {
        struct message *reply = message_create(MESSAGE_ADMINISTER_REPLY);
        if (reply)
            reply->administer_reply.text = arena_strdup(&reply->arena, text);
        call_reply(asker->call, reply);
    } else if (asker->address) {
        struct message message = {.kind = MESSAGE_OBEYED,
                                  .obeyed = {.id = asker->id,
                                             .outcome = {status, status == ESP_OK ? "" : error->text},
                                             .text = status == ESP_OK ? text : ""}};
        duty->ops->post(duty->options.self, asker->address, asker->incarnation, &message);
    }
    free(asker->address);
    *asker = (struct duty_asker){0};
}

/* ---- what is done at once ---- */

static const char *const temporary = "until it is started again (it has no state_dir)";

static enum esp_status keep(struct duty *duty, const char **text, struct esp_error *error)
{
    *text = "";
    if (!duty->state_dir) {
        *text = temporary;
        return ESP_OK;
    }
    return place_save(duty->state_dir, duty->options.name, &duty->place, error);
}

static enum esp_status drain(struct duty *duty, bool on, const char **text, struct esp_error *error)
{
    if (!duty->ops->drain)
        return error_set(error, ESP_INVALID, "\"%s\" takes no sessions: drain the servers below it",
                         duty->options.name);
    const bool before = duty->place.draining;
    duty->place.draining = on;
    enum esp_status status = keep(duty, text, error);
    if (status == ESP_OK)
        duty->ops->drain(duty->options.self, on);
    else
        duty->place.draining = before;
    return status;
}

/* Whether `what` can be done to the process from here. */
static enum esp_status check_control(const struct duty *duty, struct esp_error *error)
{
    if (duty->options.control)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "\"%s\" cannot be stopped or reloaded from outside",
                     duty->options.name);
}

static enum esp_status control(struct duty *duty, enum duty_control what, struct esp_error *error)
{
    enum esp_status status = check_control(duty, error);
    if (status == ESP_OK)
        duty->options.control(duty->options.control_arg, what);
    return status;
}

/* The fault of its files, whatever it is. */
static enum esp_status stays(const struct duty *duty, struct esp_error *error)
{
    error_prefix(error, "\"%s\" stays as it was", duty->options.name);
    return error->status = ESP_CONFIG;
}

/* Before anything is stopped: a node that ends and cannot begin again serves nobody. */
static enum esp_status check_files(const struct duty *duty, struct esp_error *error)
{
    enum esp_status status = check_control(duty, error);
    if (status != ESP_OK)
        return status;
    if (duty->options.check)
        status = duty->options.check(duty->options.control_arg, error);
    return status == ESP_OK ? ESP_OK : stays(duty, error);
}

/* Takes no new sessions until it is started again: nothing is kept, so whoever wanted it may die. */
static enum esp_status drain_briefly(struct duty *duty, const char **text, struct esp_error *error)
{
    if (!duty->ops->drain)
        return error_set(error, ESP_INVALID, "\"%s\" takes no sessions: drain the servers below it",
                         duty->options.name);
    enum esp_status status = check_files(duty, error); /* that start is what comes next */
    if (status != ESP_OK)
        return status;
    *text = "until it is started again";
    duty->ops->drain(duty->options.self, true);
    return ESP_OK;
}

/* ESP_PENDING: answered when it is done. */
static enum esp_status reload(struct duty *duty, struct esp_error *error)
{
    enum esp_status status = check_files(duty, error);
    if (status != ESP_OK)
        return status;
    if (duty->reloader.call || duty->reloader.address)
        return error_set(error, ESP_INVALID, "\"%s\" is reading its files already: ask again when it is done",
                         duty->options.name);
    status = control(duty, DUTY_RELOAD, error);
    return status == ESP_OK && duty->options.reports ? ESP_PENDING : status;
}

static bool is_end(const char *verb)
{
    return strcmp(verb, "stop") == 0 || strcmp(verb, "restart") == 0;
}

static enum esp_status disable(struct duty *duty, const char *const *problems, size_t n, bool disabled,
                               const char **text, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    if (!duty->ops->drain)
        return error_set(error, ESP_INVALID, "\"%s\" is no server: it solves no problems itself",
                         duty->options.name);
    if (n == 0)
        return error_set(error, ESP_INVALID, "expected the names of problems, found none");
    for (size_t i = 0; i < n && status == ESP_OK; i++)
        status = place_disable(&duty->place, problems[i], disabled, error);
    if (status == ESP_OK)
        status = keep(duty, text, error);
    if (status == ESP_OK)
        status = control(duty, DUTY_RELOAD, error);
    return status;
}

static enum esp_status begin_move(struct duty *duty, const char *const *words, size_t n,
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

static enum esp_status tell_weather(const struct duty *duty, const char *first, struct arena *arena,
                                    const char **text, struct esp_error *error)
{
    struct outlook_page page;
    char *end;
    const unsigned long number = strtoul(first, &end, 10);
    if (*end || first[0] == '-')
        return error_set(error, ESP_INVALID, "weather: expected the number of a line, found \"%.40s\"",
                         first);
    if (!outlook_page_begin(&page, number, arena))
        return error_no_memory(error, "the weather");
    if (duty->weather.tell)
        duty->weather.tell(duty->weather.arg, &page);
    *text = outlook_page_end(&page);
    return ESP_OK;
}

/* ESP_PENDING: answered later. */
static enum esp_status execute(struct duty *duty, const char *verb, const char *const *words, size_t n,
                               struct arena *arena, const char **text, struct esp_error *error)
{
    *text = "";
    if (strcmp(verb, "look") == 0)
        return ESP_OK;
    if (strcmp(verb, "drain") == 0 && n == 1 && strcmp(words[0], "briefly") == 0)
        return drain_briefly(duty, text, error);
    if (strcmp(verb, "drain") == 0 || strcmp(verb, "undrain") == 0)
        return drain(duty, *verb == 'd', text, error);
    if (strcmp(verb, "disable") == 0 || strcmp(verb, "enable") == 0)
        return disable(duty, words, n, *verb == 'd', text, error);
    if (strcmp(verb, "reload") == 0)
        return reload(duty, error);
    if (is_end(verb)) /* done when the answer is on its way */
        return *verb == 's' ? check_control(duty, error) : check_files(duty, error);
    if (strcmp(verb, "trace") == 0 && n == 1)
        return trace_tell(&duty->trace, words[0], clock_now_ns(duty->options.membership.clock), arena, text,
                          error);
    if (strcmp(verb, "weather") == 0 && n <= 1)
        return tell_weather(duty, n ? words[0] : "0", arena, text, error);
    if (duty->ops->ask && n == 0 && (*text = duty->ops->ask(duty->options.self, verb, arena)))
        return ESP_OK;
    *text = "";
    if (strcmp(verb, "move") == 0) {
        enum esp_status status = begin_move(duty, words, n, error);
        return status == ESP_OK ? ESP_PENDING : status;
    }
    return error_set(error, ESP_INVALID,
                     "\"%s\" does not know the order \"%.60s\" of %zu words (is it of an older version?)",
                     duty->options.name, verb, n);
}

static void carry_out(struct duty *duty, struct duty_asker *asker, const char *verb, const char *const *words,
                      size_t n)
{
    struct arena arena = {0};
    const char *text;
    struct esp_error error = {0};
    enum esp_status status = execute(duty, verb, words, n, &arena, &text, &error);
    if (status == ESP_PENDING) {
        *(strcmp(verb, "reload") == 0 ? &duty->reloader : &duty->mover) = *asker;
    } else {
        if (!duty_is_question(verb))
            duty->ops->told(duty->options.self, verb, status, status == ESP_OK ? text : error.text);
        answer(duty, asker, status, text, &error);
        if (status == ESP_OK && is_end(verb))
            control(duty, *verb == 's' ? DUTY_STOP : DUTY_RESTART, &error);
    }
    arena_clear(&arena);
}

void duty_order(struct duty *duty, const char *parent_address, const struct envelope *envelope,
                const struct order *order)
{
    struct duty_asker asker = {
        .id = order->id, .incarnation = envelope->from_incarnation, .address = strdup(parent_address)};
    if (asker.address)
        carry_out(duty, &asker, order->verb, order->words, order->n_words);
}

void duty_call(struct duty *duty, struct call *call, const struct administer *administer)
{
    struct duty_asker asker = {.call = call};
    carry_out(duty, &asker, administer->verb, administer->words, administer->n_words);
}

bool duty_abandon(struct duty *duty, const struct call *call)
{
    struct duty_asker *const askers[] = {&duty->mover, &duty->reloader};
    for (size_t i = 0; call && i < sizeof askers / sizeof *askers; i++)
        if (askers[i]->call == call) {
            askers[i]->call = NULL;
            return true;
        }
    return false;
}

void duty_reloaded(struct duty *duty, enum esp_status status, const struct esp_error *error)
{
    struct esp_error why = {0};
    if (!duty->reloader.call && !duty->reloader.address)
        return;
    if (status != ESP_OK) {
        why = *error;
        status = stays(duty, &why);
    }
    duty->ops->told(duty->options.self, "reload", status, why.text);
    answer(duty, &duty->reloader, status, "", &why);
}

/* ---- moving ---- */

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
    const int64_t due = handover_due(&duty->handover);
    return duty->return_ns && is_idle(duty) && duty->return_ns < due ? duty->return_ns : due;
}

/* The parent that it should be below and is not; NULL: all is well, or there is none at all. */
static const char *preferred_parent(const struct duty *duty)
{
    const struct membership *tie = *duty->options.tie;
    size_t n;
    const char *parent = membership_parent_address(tie);
    const char *const *parents = membership_parents(tie, &n);
    return parent && n > 1 && strcmp(parents[0], parent) != 0 ? parents[0] : NULL;
}

static void look_for_preferred(struct duty *duty)
{
    const struct duty_options *options = &duty->options;
    const char *preferred = preferred_parent(duty);
    const int64_t now_ns = clock_now_ns(options->membership.clock);
    if (!preferred || options->membership.role == ROLE_MASTER) {
        duty->return_ns = 0;
        duty->looks = 0;
        return;
    }
    if (!duty->return_ns) {
        duty->pause_ns = RETURN_FIRST_NS;
        duty->return_ns = now_ns + duty->pause_ns;
    }
    if (now_ns < duty->return_ns)
        return;
    duty->pause_ns = duty->pause_ns < RETURN_MOST_NS / 2 ? 2 * duty->pause_ns : RETURN_MOST_NS;
    duty->return_ns = now_ns + duty->pause_ns;
    struct membership_options tie = options->membership;
    tie.quiet = duty->looks++ > 0;
    duty->returning =
        handover_begin(&duty->handover, *options->tie, &tie, options->membership_ops, options->self,
                       duty->ops->own_address(options->self), preferred, MOVE_MS, NULL) == ESP_OK;
}

static void has_moved(struct duty *duty)
{
    struct esp_error *error = &duty->kept;
    duty->remark = "";
    error->status = place_set_parent(&duty->place, duty->target, error);
    if (error->status == ESP_OK)
        error->status = keep(duty, &duty->remark, error);
    /* It has moved; when that could not be written, this must be known. */
    if (error->status != ESP_OK)
        error_prefix(error, "moved, but only until it is started again");
    duty->ops->moved(duty->options.self);
    duty->ops->told(duty->options.self, "move", error->status,
                    error->status == ESP_OK ? duty->remark : error->text);
}

/* For the next start, should the parent be gone then. Without a folder, or on a full disk, it is not known
 * then. */
static void keep_refuges(struct duty *duty)
{
    const struct membership *tie = *duty->options.tie;
    struct esp_error error;
    if (!duty->state_dir || !tie || !membership_joined(tie) ||
        refuges_equal(&duty->place.refuges, membership_refuges(tie)))
        return;
    duty->place.refuges = *membership_refuges(tie);
    if (place_save(duty->state_dir, duty->options.name, &duty->place, &error) != ESP_OK)
        duty->ops->told(duty->options.self, "keeping where to go without a parent", error.status, error.text);
}

void duty_tick(struct duty *duty)
{
    struct esp_error why = {0};
    if (!duty->options.tie)
        return;
    keep_refuges(duty);
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
            answer(duty, &duty->mover, duty->kept.status, duty->remark, &duty->kept);
        break;
    case HANDOVER_FAILED:
        if (duty->returning)
            break; /* it is not back */
        error_prefix(&why, "\"%s\" stays where it is", duty->options.name);
        duty->ops->told(duty->options.self, "move", why.status, why.text);
        answer(duty, &duty->mover, why.status, "", &why);
        break;
    default:
        break;
    }
}
