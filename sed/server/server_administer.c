/* SPDX-License-Identifier: Apache-2.0
 *
 * The tie to the parent, orders of administrators, and the trace of sessions.
 */
#include "sed/server/server_state.h"
#include "sed/pool/oom.h"
#include "core/problem/problem_help.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *own_address(void *self)
{
    const struct server *server = self;
    return endpoint_address(server->endpoint);
}

void server_post(void *self, const char *address, uint64_t to_incarnation, const struct message *message)
{
    const struct server *server = self;
    struct esp_error error;
    if (endpoint_post(server->endpoint, address, to_incarnation, message, &error) != ESP_OK)
        log_warning("a %s to %s: %s", message_name(message->kind), address, error.text);
}

/* ---- the tie to the parent ---- */

static void membership_changed(void *self, bool joined, const char *parent, const char *why)
{
    (void)self;
    if (joined)
        log_notice("joined %s", parent);
    else
        log_warning("not below %s: %s", parent, why);
}

static const struct membership_ops membership_ops = {.post = server_post,
                                                     .report = server_fill_report,
                                                     .more = server_more_to_report,
                                                     .changed = membership_changed};

void server_membership(const struct server *server, struct membership_options *options,
                       const struct membership_ops **ops)
{
    *options = (struct membership_options){.parents = server->options.parents,
                                           .n_parents = server->options.n_parents,
                                           .role = ROLE_SERVER,
                                           .name = server->name,
                                           .seed = server->options.seed,
                                           .clock = server->options.clock};
    *ops = &membership_ops;
}

/* ---- orders ---- */

static void drain(void *self, bool draining)
{
    struct server *server = self;
    server->stage.draining = draining;
    membership_touch(server->membership, 0);
}

static void moved(void *self)
{
    (void)self; /* the new tie has told all */
}

static void told(void *self, const char *verb, enum esp_status status, const char *text)
{
    (void)self;
    if (status == ESP_OK)
        log_notice("%s: done%s%s", verb, *text ? ", " : "", text);
    else
        log_warning("%s: not done, %s", verb, text);
}

#define ANSWER_BYTES    60000 /* what an answer to an order takes */
#define SIGNATURE_BYTES 2000  /* of it, the parameters of a problem; cut */

/* If there are too many names, the last one is cut off, and the text does not end with a newline. */
static const char *problems_tell(const struct server *server, struct arena *arena)
{
    struct text text;
    char *buffer = arena_alloc(arena, ANSWER_BYTES);
    const struct node_place *place = &server->duty.place;
    if (!buffer)
        return NULL;
    text_open(&text, buffer, ANSWER_BYTES);
    for (size_t i = 0; i < place->n_disabled; i++)
        text_printf(&text, "-%s\n", place->disabled[i]);
    for (uint32_t i = 0; i < server->shelf->n_entries; i++)
        text_printf(&text, "%s\n", server->shelf->entries[i].problem);
    return buffer;
}

/* The part of the prototype that differs from problem to problem: "int n, double *A". */
static const char *parameters_of(const struct problem *problem, char *buffer, size_t size)
{
    const size_t length = problem_prototype(problem, buffer, size);
    char *first = strchr(buffer, ',');
    if (!first)
        return "";
    if (length < size && length > 0)
        buffer[length - 1] = '\0'; /* its ")" */
    return first + strspn(first, ", ");
}

/* One line for each implementation that can be called here: name, way, symbol, library, digest of the
 * problem's signature, and parameters in C, separated by tabs. "abstract": the client chooses a problem that
 * does it. "": the problem is not solved here. */
static const char *implementations_tell(const struct server *server, const char *name, struct arena *arena)
{
    struct text text;
    const struct problem *problem = problem_find(server->shelf->set, name);
    char *buffer = arena_alloc(arena, ANSWER_BYTES), prototype[SIGNATURE_BYTES];
    if (!buffer)
        return NULL;
    text_open(&text, buffer, ANSWER_BYTES);
    const char *parameters = problem ? parameters_of(problem, prototype, sizeof prototype) : "";
    if (problem && problem->abstract)
        text_printf(&text, "abstract\t\t\t\t%016" PRIx64 "\t%s\n", problem->digest, parameters);
    for (uint32_t i = 0; problem && i < problem->n_implementations; i++) {
        const struct implementation *implementation = &problem->implementations[i];
        text_printf(&text, "%s\t%s\t%s\t%s\t%016" PRIx64 "\t%s\n", implementation->name,
                    implementation_way(implementation), implementation->symbol ? implementation->symbol : "",
                    implementation->library ? implementation->library : "", problem->digest, parameters);
    }
    return buffer;
}

/* "": there are no ranks. */
static const char *ranks_tell(const struct server *server, struct arena *arena)
{
    struct workers *workers = server->workers;
    char *known = workers->ops->knows ? workers->ops->knows(workers, ANSWER_BYTES) : NULL;
    const char *text = arena_strdup(arena, known ? known : "");
    free(known);
    return text;
}

/* ---- what would be lost ---- */

#define NAMED_MOST  3
#define NAMED_BYTES (NAMED_MOST * (DATUM_TEXT + CAP_NAME + 8))

/* A number of things, and the names of the first few. */
struct doomed {
    size_t n;
    struct text names;
    char buffer[NAMED_BYTES];
};

static void list_open(struct doomed *listed)
{
    listed->n = 0;
    text_open(&listed->names, listed->buffer, sizeof listed->buffer);
}

static void list_add(struct doomed *listed, const char *name, const char *remark)
{
    if (listed->n < NAMED_MOST)
        text_printf(&listed->names, "%s%s%s", listed->n ? ", " : "", name, remark);
    else if (listed->n == NAMED_MOST)
        text_printf(&listed->names, ", ...");
    listed->n++;
}

/* Calls `use` for each datum that this server keeps for good. */
struct originals {
    const struct server *server;
    void (*use)(void *arg, const struct datum_id *id);
    void *arg;
};

static void use_if_original(void *arg, const struct datum_id *id, uint64_t bytes)
{
    const struct originals *originals = arg;
    const struct store_asker all = {.trusted = true};
    struct store_entry entry;
    (void)bytes;
    if (store_look(server_data_store(originals->server->data), &all, id, &entry, NULL) == ESP_OK &&
        datum_is_durable(entry.mode, entry.flags))
        originals->use(originals->arg, id);
}

static void each_original(const struct server *server, void (*use)(void *arg, const struct datum_id *id),
                          void *arg)
{
    struct originals originals = {server, use, arg};
    if (server_data_store(server->data))
        store_each(server_data_store(server->data), use_if_original, &originals);
}

static void list_original(void *arg, const struct datum_id *id)
{
    char text[DATUM_TEXT];
    list_add(arg, datum_id_text(id, text), "");
}

/* A checksum of all originals that does not depend on their order; keys are random. */
struct stamp {
    uint64_t sum, n;
};

static void stamp_original(void *arg, const struct datum_id *id)
{
    struct stamp *stamp = arg;
    stamp->sum += id->key.high ^ id->key.low;
    stamp->n++;
}

static void tell_original(void *arg, const struct datum_id *id)
{
    char text[DATUM_TEXT];
    text_printf(arg, "%s\n", datum_id_text(id, text));
}

/* STAMP NUMBER, then the identities, as many as there is room for. */
static const char *originals_tell(const struct server *server, struct arena *arena)
{
    struct text text;
    struct stamp stamp = {0};
    char *buffer = arena_alloc(arena, ANSWER_BYTES);
    if (!buffer)
        return NULL;
    each_original(server, stamp_original, &stamp);
    text_open(&text, buffer, ANSWER_BYTES);
    text_printf(&text, "%016" PRIx64 " %" PRIu64 "\n", stamp.sum, stamp.n);
    each_original(server, tell_original, &text);
    return buffer;
}

/* Whether the administrator has checked that other servers keep all originals of this one. */
static bool are_kept(const struct server *server, const char *kept)
{
    struct stamp stamp = {0};
    char text[20];
    each_original(server, stamp_original, &stamp);
    snprintf(text, sizeof text, "%016" PRIx64, stamp.sum);
    return kept && strcmp(kept, text) == 0;
}

/* Originals on the disk of this server are lost to others unless it starts again. */
static enum esp_status check_originals(const struct server *server, const char *kept, struct esp_error *error)
{
    struct doomed listed;
    list_open(&listed);
    each_original(server, list_original, &listed);
    if (listed.n == 0 || are_kept(server, kept))
        return ESP_OK;
    return error_set(
        error, ESP_REFUSED,
        "%zu data that are to stay would go with \"%s\" (%s): move them (espalier data mv --from "
        "%s OTHER; sticky ones are to be fetched and put elsewhere), or say that this is meant "
        "(--force)",
        listed.n, server->name, listed.buffer, server->name);
}

/* Lists results of jobs that were not fetched and do not outlive the process. */
static void list_results(struct doomed *listed, const struct server *server, enum duty_end end)
{
    const bool stays = end == DUTY_END_PROCESS;
    uint64_t room = stays && server->sessions.n_jobs > 0 ? server_results_room(server) : 0;
    char text[SESSION_TEXT], problem[CAP_NAME + 4];
    list_open(listed);
    for (const struct session *session = server->sessions.by_id; session; session = session->hh.next)
        if (session->detached && session->state == SESSION_DONE && !session->collected && !session->dropped &&
            !(stays && server_result_fits(session, &room))) {
            snprintf(problem, sizeof problem, " (%.*s)", CAP_NAME, session->problem->name);
            list_add(listed, session_id_text(&session->id, text), problem);
        }
}

void server_tell_losses(const struct server *server)
{
    struct doomed listed;
    list_results(&listed, server, DUTY_END_PROCESS);
    if (listed.n > 0)
        log_warning("results of %zu jobs that nobody has fetched end with this process (sessions %s): "
                    "'espalier admin "
                    "stop' asks before that",
                    listed.n, listed.buffer);
}

static enum esp_status check_results(const struct server *server, enum duty_end end, struct esp_error *error)
{
    struct doomed listed;
    list_results(&listed, server, end);
    if (listed.n == 0)
        return ESP_OK;
    return error_set(error, ESP_REFUSED,
                     "results of %zu jobs that nobody has fetched would be lost with the process of \"%s\" "
                     "(sessions %s): fetch them (espalier fetch), or say that this is meant (--force)",
                     listed.n, server->name, listed.buffer);
}

static enum esp_status losses(void *self, enum duty_end end, const char *kept, struct esp_error *error)
{
    const struct server *server = self;
    const enum esp_status status = end == DUTY_END_FOR_GOOD ? check_originals(server, kept, error) : ESP_OK;
    return status == ESP_OK ? check_results(server, end, error) : status;
}

/* Questions that only a server answers. */
static const char *ask(void *self, const char *verb, const char *const *words, size_t n, struct arena *arena)
{
    const struct server *server = self;
    if (strcmp(verb, "implementations") == 0 && n == 1)
        return implementations_tell(server, words[0], arena);
    if (n > 0)
        return NULL;
    if (strcmp(verb, "problems") == 0)
        return problems_tell(server, arena);
    if (strcmp(verb, "ranks") == 0)
        return ranks_tell(server, arena);
    if (strcmp(verb, "originals") == 0)
        return originals_tell(server, arena);
    if (strcmp(verb, "accuracy") != 0)
        return NULL;
    return server_tell_accuracy(server, arena);
}

static const struct duty_ops duty_ops = {.own_address = own_address,
                                         .post = server_post,
                                         .drain = drain,
                                         .moved = moved,
                                         .told = told,
                                         .ask = ask,
                                         .losses = losses};

enum esp_status server_duty_create(struct server *server, struct esp_error *error)
{
    struct duty_options options = {
        .name = server->name,
        .state_dir = server->options.state_dir,
        .file_parent = server->options.file_parent,
        .administrators = server->options.administrators,
        .control = server->options.control,
        .check = server->options.check,
        .reports = server->options.control != NULL,
        .control_arg = server->options.control_arg,
        .tie = &server->membership,
        .self = server,
    };
    server_membership(server, &options.membership, &options.membership_ops);
    enum esp_status status = duty_init(&server->duty, &options, &duty_ops, error);
    server->stage.draining = server->duty.place.draining;
    return status;
}

void server_set_weather(struct server *server, const struct duty_weather *weather)
{
    endpoint_enter(server->endpoint);
    server->duty.weather = *weather;
    endpoint_leave(server->endpoint);
}

void server_reloaded(struct server *server, enum esp_status status, const struct esp_error *error,
                     const char *pending, const char *remark)
{
    endpoint_enter(server->endpoint);
    duty_reloaded(&server->duty, status, error, pending, remark);
    server_tell_disabled_again(server); /* a failed reading undoes it */
    membership_touch(server->membership, 0);
    endpoint_leave(server->endpoint);
}

bool server_disables(struct server *server, const char *problem)
{
    endpoint_enter(server->endpoint);
    const bool disabled = place_is_disabled(&server->duty.place, problem);
    endpoint_leave(server->endpoint);
    return disabled;
}

void server_set_administrators(struct server *server, const struct config_strings *administrators)
{
    endpoint_enter(server->endpoint);
    server->duty.options.administrators = administrators;
    endpoint_leave(server->endpoint);
}

void server_on_order(struct server *server, const struct membership *tie, const struct envelope *envelope,
                     const struct order *order)
{
    const char *parent = membership_parent_name(tie);
    if (parent && strcmp(parent, envelope->from) == 0 &&
        membership_parent_incarnation(tie) == envelope->from_incarnation &&
        strcmp(order->node, server->name) == 0) {
        if (strcmp(order->verb, ORDER_GIVEN_UP) == 0)
            server_data_on_given_up(server->data, order);
        else
            duty_order(&server->duty, membership_parent_address(tie), envelope, order);
    }
}

/* A server has no node below it. Only agents above can move it, as they know the tree. */
void server_on_administer(struct server *server, struct call *call, const struct message *request)
{
    const struct administer *asked = &request->administer;
    struct esp_error error;
    enum esp_status status = duty_permits(&server->duty, call_envelope(call), asked->verb, &error);
    if (status == ESP_OK && *asked->node && strcmp(asked->node, server->name) != 0)
        status =
            error_set(&error, ESP_NOT_FOUND, "\"%s\" is a server: there is no node named \"%s\" below it",
                      server->name, asked->node);
    if (status == ESP_OK && strcmp(asked->verb, "move") == 0)
        status =
            error_set(&error, ESP_INVALID, "\"%s\" cannot move itself: ask an agent above it", server->name);
    if (status == ESP_OK)
        duty_call(&server->duty, call, asked);
    else
        call_reply(call, message_failure(MESSAGE_ADMINISTER_REPLY, status, "%s", error.text));
}

/* ---- what is remembered ---- */

static void note(struct server *server, const struct session *session, enum trace_what what, int64_t from_ns,
                 int64_t to_ns, const char *detail)
{
    if (from_ns && to_ns > from_ns)
        trace_note(&server->duty.trace, &session->id, what, from_ns, to_ns, detail);
}

/* Adds the ranks that computed the session, if ranks did. */
static const char *with_ranks(const struct session *session, const char *what, char text[TRACE_DETAIL])
{
    char ranks[SESSION_RANKS_TEXT];
    if (session->ranks.rows == 0)
        return what;
    const char *where = session_ranks_text(&session->ranks, ranks);
    const int room = TRACE_DETAIL - (int)sizeof " on " - (int)strlen(where);
    snprintf(text, TRACE_DETAIL, "%.*s on %s", room > 0 ? room : 0, what, where);
    return text;
}

/* In few words, how a session has failed. */
static const char *failure_words(const struct session *session)
{
    return strstr(session->error.text, OOM_TEXT) ? "out of memory" : esp_status_string(session->error.status);
}

static void on_ended(struct server *server, struct session *session)
{
    char text[TRACE_DETAIL];
    const int64_t ended_ns = session->ended_ns;
    note(server, session, TRACE_WAITED, session->arrived_ns,
         session->admitted_ns ? session->admitted_ns : ended_ns, "");
    note(server, session, TRACE_RECEIVED, session->admitted_ns,
         session->ready_ns ? session->ready_ns : ended_ns, "");
    note(server, session, TRACE_QUEUED, session->ready_ns,
         session->started_ns ? session->started_ns : ended_ns, "");
    if (session->state == SESSION_DONE)
        note(server, session, TRACE_COMPUTED, session->started_ns, ended_ns,
             with_ranks(session, session->problem->name, text));
    else
        trace_note(&server->duty.trace, &session->id, TRACE_FAILED,
                   session->started_ns ? session->started_ns : ended_ns, ended_ns,
                   with_ranks(session, failure_words(session), text));
}

const struct session_observer trace_observer = {.ended = on_ended};

void server_trace_told(struct server *server, struct session *session)
{
    const int64_t now_ns = server_now(server);
    if (!session->told)
        trace_note(&server->duty.trace, &session->id, TRACE_DELIVERED, now_ns, now_ns, "how it ended");
    session->told = true;
}

void server_trace_fetched(struct server *server, const struct session *session, uint32_t argument,
                          uint64_t end)
{
    if (end == session->job.arguments[argument].bytes)
        note(server, session, TRACE_DELIVERED, session->arguments[argument].asked_ns, server_now(server),
             session->problem->arguments[argument].name);
}
