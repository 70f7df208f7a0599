/* SPDX-License-Identifier: Apache-2.0 */
#include "services/duty.h"
#include "util/log.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *duty_keep(struct duty *duty);
static enum esp_status duty_begin_move(struct duty *duty, const char *const *words, size_t n,
                                       struct esp_error *error);
static enum esp_status duty_home(struct duty *duty, const char *address, const char **text,
                                 struct esp_error *error);
static enum esp_status duty_stay(struct duty *duty, const char *const *words, size_t n, struct arena *arena,
                                 const char **text, struct esp_error *error);

#define RELOADED_TEXT 700

enum esp_status duty_init(struct duty *duty, const struct duty_options *options, const struct duty_ops *ops,
                          struct esp_error *error)
{
    *duty = (struct duty){.options = *options, .ops = ops};
    if (!options->state_dir)
        return ESP_OK;
    duty->state_dir = strdup(options->state_dir);
    if (!duty->state_dir)
        return error_no_memory(error, "the name of a folder");
    enum esp_status status = place_load(duty->state_dir, options->name, &duty->place, error);
    if (status == ESP_OK && !duty->place.is_written)
        duty_keep(duty); /* claims the folder before other files are written into it */
    place_heed_file(&duty->place, options->file_parent);
    return status;
}

static void forget_switched(struct duty *duty)
{
    while (duty->n_switched > 0)
        free(duty->switched[--duty->n_switched]);
    free(duty->switched);
    duty->switched = NULL;
}

void duty_release(struct duty *duty)
{
    forget_switched(duty);
    handover_release(&duty->handover);
    place_release(&duty->place);
    trace_release(&duty->trace);
    free(duty->mover.address);
    free(duty->reloader.address);
    free(duty->target);
    free(duty->wanted);
    free(duty->state_dir);
    *duty = (struct duty){0};
}

bool duty_is_question(const char *verb)
{
    static const char *const questions[] = {"look",     "home",   "trace", "accuracy",  "weather",
                                            "problems", "losses", "ranks", "originals", "implementations"};
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (strcmp(verb, questions[i]) == 0)
            return true;
    return false;
}

enum esp_status duty_permits(const struct duty *duty, const struct envelope *envelope, const char *verb,
                             struct esp_error *error)
{
    const struct config_strings *known = duty->options.administrators;
    if (!envelope->identity || !*envelope->identity || strcmp(verb, "weather") == 0 ||
        strcmp(verb, "ranks") == 0 || strcmp(verb, "implementations") == 0)
        return ESP_OK; /* without TLS all clients may do everything */
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

/* Sends the outcome of an order: `text` when it succeeded, else `error`. Clears the asker; ignored when
 * none waits.
 * ---- answers ---- */
static void duty_answer(struct duty *duty, struct duty_asker *asker, enum esp_status status, const char *text,
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

/* ---- immediate orders ---- */

static const char *const temporary = "until it is started again (it has no state_dir)";

#define WRITE_AGAIN_NS (2 * NS_PER_S)

/* Returns how long the changes saved last time are valid. */
static const char *duty_kept(struct duty *duty)
{
    if (!duty->state_dir)
        return temporary;
    if (duty->unwritten.status == ESP_OK)
        return "";
    snprintf(duty->lasting, sizeof duty->lasting,
             "until it is started again, unless it is written by then: %s", duty->unwritten.text);
    return duty->lasting;
}

/* Saves the changes, and returns how long they are valid: "" for ever. If they cannot be saved (a full
 * disk), they are valid until the node is restarted: this is logged and tried again. The text lives until
 * the next call. */
static const char *duty_keep(struct duty *duty)
{
    const bool known = duty->unwritten.status != ESP_OK;
    struct esp_error error = {0};
    if (duty->state_dir)
        error.status = place_save(duty->state_dir, duty->options.name, &duty->place, &error);
    duty->unwritten = error;
    if (error.status != ESP_OK && !known)
        log_warning("%s; what was changed of this node counts all the same until it is started again, and it "
                    "tries again",
                    error.text);
    else if (error.status == ESP_OK && known)
        log_notice("what was changed of this node is written to %s now", duty->state_dir);
    duty->write_ns =
        error.status == ESP_OK ? 0 : clock_now_ns(duty->options.membership.clock) + WRITE_AGAIN_NS;
    return duty_kept(duty);
}

/* Tries to save again, when it is time. */
static void duty_write_again(struct duty *duty)
{
    if (duty->write_ns && clock_now_ns(duty->options.membership.clock) >= duty->write_ns)
        duty_keep(duty);
}

void duty_tell_unwritten(const struct duty *duty, char *text, size_t size)
{
    const size_t length = strlen(text);
    if (duty->unwritten.status != ESP_OK)
        snprintf(text + length, size - length, "; %s", duty->unwritten.text);
}

static enum esp_status drain(struct duty *duty, bool on, const char **text, struct esp_error *error)
{
    if (!duty->ops->drain)
        return error_set(error, ESP_INVALID, "\"%s\" takes no sessions: drain the servers below it",
                         duty->options.name);
    duty->place.draining = on;
    *text = duty_keep(duty);
    duty->brief_until_ns = 0;
    duty->ops->drain(duty->options.self, on);
    return ESP_OK;
}

/* Whether the process can be controlled from here. */
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

/* Rewrites any error about its files. */
static enum esp_status stays(const struct duty *duty, struct esp_error *error)
{
    error_prefix(error, "\"%s\" stays as it was", duty->options.name);
    return error->status = ESP_CONFIG;
}

/* Checks the files before anything is stopped, because a node that ends and cannot start again is lost. */
static enum esp_status check_files(const struct duty *duty, struct esp_error *error)
{
    enum esp_status status = check_control(duty, error);
    if (status != ESP_OK)
        return status;
    if (duty->options.check)
        status = duty->options.check(duty->options.control_arg, error);
    return status == ESP_OK ? ESP_OK : stays(duty, error);
}

/* Accepts no new sessions until the restart, or, if it `retires`, until it is stopped for good. Not saved,
 * and limited in time, because the command that asked for it may die. */
static enum esp_status drain_briefly(struct duty *duty, bool retires, const char **text,
                                     struct esp_error *error)
{
    if (!duty->ops->drain || duty->options.membership.role != ROLE_SERVER)
        return error_set(error, ESP_INVALID, "\"%s\" takes no sessions: drain the servers below it",
                         duty->options.name);
    enum esp_status status = retires ? check_control(duty, error) : check_files(duty, error);
    if (status != ESP_OK)
        return status;
    *text = retires ? "until it is stopped" : "until it is started again";
    duty->retires = retires;
    duty->brief_until_ns = clock_now_ns(duty->options.membership.clock) + DUTY_BRIEF_NS;
    duty->ops->drain(duty->options.self, true);
    return ESP_OK;
}

/* Accepts sessions again when no command has repeated the order for a while. */
static void duty_end_brief(struct duty *duty)
{
    if (duty->brief_until_ns == 0 || clock_now_ns(duty->options.membership.clock) < duty->brief_until_ns)
        return;
    duty->brief_until_ns = 0;
    duty->ops->drain(duty->options.self, duty->place.draining);
    if (!duty->place.draining)
        duty->ops->told(duty->options.self, "undrain", ESP_OK,
                        duty->retires ? "the command that ordered it to end is silent"
                                      : "the command that ordered the restart is silent");
}

bool duty_is_back_soon(const struct duty *duty)
{
    return !duty->place.draining && (duty->restarts || (duty->brief_until_ns && !duty->retires));
}

bool duty_may_be_back(const struct duty *duty)
{
    return !duty->place.draining && !duty->stops && !duty->retires;
}

/* ESP_PENDING: answered when it is done. */
static enum esp_status reload(struct duty *duty, struct esp_error *error)
{
    enum esp_status status = control(duty, DUTY_RELOAD, error);
    return status == ESP_OK && duty->options.reports ? ESP_PENDING : status;
}

/* Checks whether a reload is allowed: the files must be valid, and not being read already. */
static enum esp_status check_reload(const struct duty *duty, struct esp_error *error)
{
    enum esp_status status = check_files(duty, error);
    if (status == ESP_OK && (duty->reloader.call || duty->reloader.address || duty->switched))
        status =
            error_set(error, ESP_INVALID, "\"%s\" is reading its files already: ask again when it is done",
                      duty->options.name);
    return status;
}

static bool has_word(const char *const *words, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

static enum esp_status losses(const struct duty *duty, const char *const *words, size_t n,
                              struct esp_error *error)
{
    const enum duty_end end = has_word(words, n, "removed")  ? DUTY_END_FOR_GOOD
                              : has_word(words, n, "folder") ? DUTY_END_FOLDER
                                                             : DUTY_END_PROCESS;
    const char *kept = NULL;
    for (size_t i = 0; i < n; i++)
        if (strncmp(words[i], "kept=", 5) == 0)
            kept = words[i] + 5;
    return duty->ops->losses ? duty->ops->losses(duty->options.self, end, kept, error) : ESP_OK;
}

/* Checks whether the process may end: data that would be lost are not checked if the order says so. */
static enum esp_status check_end(const struct duty *duty, bool again, const char *const *words, size_t n,
                                 struct esp_error *error)
{
    enum esp_status status = again ? check_files(duty, error) : check_control(duty, error);
    if (status != ESP_OK || has_word(words, n, "lose"))
        return status;
    return losses(duty, words, n, error);
}

static bool is_end(const char *verb)
{
    return strcmp(verb, "stop") == 0 || strcmp(verb, "restart") == 0;
}

/* Keeps the problems whose state would change. False without memory. */
static bool note_switched(struct duty *duty, const char *const *problems, size_t n, bool disabled)
{
    duty->enabled = !disabled;
    if (!(duty->switched = calloc(n, sizeof *duty->switched)))
        return false;
    for (size_t i = 0; i < n; i++)
        if (place_is_disabled(&duty->place, problems[i]) != disabled) {
            if (!(duty->switched[duty->n_switched] = strdup(problems[i])))
                return false;
            duty->n_switched++;
        }
    return true;
}

static enum esp_status switch_noted(struct duty *duty, bool disabled, const char **text,
                                    struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < duty->n_switched && status == ESP_OK; i++)
        status = place_disable(&duty->place, duty->switched[i], disabled, error);
    if (status == ESP_OK)
        *text = duty_keep(duty);
    return status;
}

/* Restores the state of the problems after a failure. */
static void switch_back(struct duty *duty)
{
    struct esp_error error = {0};
    const char *text;
    if (switch_noted(duty, duty->enabled, &text, &error) != ESP_OK)
        duty->ops->told(duty->options.self, "undo", error.status, error.text);
    forget_switched(duty);
}

/* ESP_PENDING: answered when it is done. */
static enum esp_status disable(struct duty *duty, const char *const *problems, size_t n, bool disabled,
                               const char **text, struct esp_error *error)
{
    if (duty->options.membership.role != ROLE_SERVER)
        return error_set(error, ESP_INVALID, "\"%s\" is no server: it solves no problems itself",
                         duty->options.name);
    if (n == 0)
        return error_set(error, ESP_INVALID, "expected the names of problems, found none");
    enum esp_status status = check_reload(duty, error);
    if (status != ESP_OK)
        return status;
    if (!note_switched(duty, problems, n, disabled))
        status = error_no_memory(error, "the names of problems");
    if (status == ESP_OK)
        status = switch_noted(duty, disabled, text, error);
    if (status == ESP_OK)
        status = reload(duty, error);
    if (status != ESP_OK && status != ESP_PENDING)
        switch_back(duty);
    else if (status == ESP_OK)
        forget_switched(duty);
    return status;
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
    if (strcmp(verb, "home") == 0 && n <= 1)
        return duty_home(duty, n ? words[0] : NULL, text, error);
    if (strcmp(verb, "stay") == 0)
        return duty_stay(duty, words, n, arena, text, error);
    if (strcmp(verb, "drain") == 0 && n == 1 && strcmp(words[0], "briefly") == 0)
        return drain_briefly(duty, false, text, error);
    if (strcmp(verb, "retire") == 0 && n == 0)
        return drain_briefly(duty, true, text, error);
    if (strcmp(verb, "drain") == 0 || strcmp(verb, "undrain") == 0)
        return drain(duty, *verb == 'd', text, error);
    if (strcmp(verb, "disable") == 0 || strcmp(verb, "enable") == 0)
        return disable(duty, words, n, *verb == 'd', text, error);
    if (strcmp(verb, "reload") == 0) {
        const enum esp_status status = check_reload(duty, error);
        return status == ESP_OK ? reload(duty, error) : status;
    }
    if (is_end(verb)) /* done when the answer has been sent */
        return check_end(duty, *verb == 'r', words, n, error);
    if (strcmp(verb, "losses") == 0)
        return losses(duty, words, n, error);
    if (strcmp(verb, "trace") == 0 && n == 1)
        return trace_tell(&duty->trace, words[0], clock_now_ns(duty->options.membership.clock), arena, text,
                          error);
    if (strcmp(verb, "weather") == 0 && n <= 1)
        return tell_weather(duty, n ? words[0] : "0", arena, text, error);
    if (duty->ops->ask && (*text = duty->ops->ask(duty->options.self, verb, words, n, arena)))
        return ESP_OK;
    *text = "";
    if (strcmp(verb, "move") == 0) {
        enum esp_status status = duty_begin_move(duty, words, n, error);
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
        *(strcmp(verb, "move") == 0 ? &duty->mover : &duty->reloader) = *asker;
    } else {
        if (!duty_is_question(verb))
            duty->ops->told(duty->options.self, verb, status, status == ESP_OK ? text : error.text);
        duty_answer(duty, asker, status, text, &error);
        if (status == ESP_OK && is_end(verb)) {
            duty->stops = *verb == 's';
            control(duty, duty->stops ? DUTY_STOP : DUTY_RESTART, &error);
        }
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

void duty_reloaded(struct duty *duty, enum esp_status status, const struct esp_error *error,
                   const char *pending, const char *remark)
{
    struct esp_error why = {0};
    char text[RELOADED_TEXT] = "";
    const bool switched = duty->switched != NULL;
    const char *verb = !switched ? "reload" : duty->enabled ? "enable" : "disable";
    if (switched && status != ESP_OK)
        switch_back(duty);
    forget_switched(duty);
    if (!duty->reloader.call && !duty->reloader.address)
        return;
    if (status != ESP_OK) {
        why = *error;
        status = stays(duty, &why);
    } else if (switched) {
        snprintf(text, sizeof text, "%.600s", duty_kept(duty));
    } else {
        snprintf(text, sizeof text, "%s%s%s%s", *pending ? "what needs a restart to count: " : "", pending,
                 *pending && *remark ? "; " : "", remark);
    }
    duty->ops->told(duty->options.self, verb, status, status == ESP_OK ? text : why.text);
    duty_answer(duty, &duty->reloader, status, text, &why);
}

/* The node's parents: moves that administrators order, and the return to the preferred parent. */

#define MOVE_MS 3000 /* how long a new parent may take to answer */

/* Interval at which a node checks whether its preferred parent is back: doubling, so that a parent that
 * never comes back costs little. */
#define RETURN_FIRST_NS (5 * NS_PER_S)
#define RETURN_MOST_NS  (60 * NS_PER_S)

/* Executes "move": words are the new parent's name and address. Answered when it is done. */
static enum esp_status duty_begin_move(struct duty *duty, const char *const *words, size_t n,
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

/* Returns the name of the parent that it should be below; "": not known. */
static const char *home(const struct duty *duty)
{
    return duty->wanted ? place_home(&duty->place, duty->wanted) : "";
}

/* Whether it is joined, but not below its preferred parent. */
static bool is_away(const struct duty *duty)
{
    const struct membership *tie = *duty->options.tie;
    const char *address = membership_parent_address(tie);
    return address && duty->wanted && strcmp(address, duty->wanted) != 0 &&
           strcmp(membership_parent_name(tie), home(duty)) != 0;
}

/* Returns an address to try for that parent: the one that the present parent reported (at once when it is
 * new), and its own address, in turn. */
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

/* Executes "home": *text as in services/duty.h. `address`: where that parent is now, NULL: not known.
 * ESP_INVALID, ESP_BUSY as for handover_begin(). */
static enum esp_status duty_home(struct duty *duty, const char *address, const char **text,
                                 struct esp_error *error)
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
        return; /* it stays below its present parent */
    free(duty->wanted);
    duty->wanted = copy;
}

/* Makes that parent the preferred one. If that could not be saved, the answer says so. */
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

/* Executes "stay": words are the name of the present parent. *text: the name of the parent that it would
 * have returned to, in `arena`. ESP_INVALID: it has another parent. */
static enum esp_status duty_stay(struct duty *duty, const char *const *words, size_t n, struct arena *arena,
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

/* Determines which node is at the address in the file, if that decides whether the node was moved since
 * the file was written; true when it is known now. */
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

/* Notes which node is at the preferred parent's address; true when that is new. */
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

/* Collects addresses for the next start, in case the preferred parent is gone: the present parent, and its
 * refuges. */
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

/* Saves them for the next start. Without a folder, or on a full disk, they are lost. */
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
    case HANDOVER_OVER: /* uses the old parent, which accepts no report afterwards */
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
