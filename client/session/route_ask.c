/* SPDX-License-Identifier: Apache-2.0
 *
 * A question to one of the master agents: to one after the other, until one can answer it. A process that is
 * stopped, or a machine that hangs, takes a message and says nothing, as one does that is only slow. So where
 * there are others to ask, nobody is waited for long at first, and again only when none of them can help.
 */
#include "client/session/acquainted.h"
#include "client/session/deadline.h"
#include "client/session/route_internal.h"
#include "core/choice/terms.h"
#include "core/hierarchy/lost_problems.h"
#include "core/hierarchy/returning.h"
#include "util/clock.h"

#include <string.h>

/* One that has answered has asked its peers, and left out who says nothing. Who is awake has answered a
 * greeting by then; those that a file names do not know each other. */
#define PEER_AWAKE_MS 400

/* What takes a master agent longer than this, which waits for those below it, or than that share of the time,
 * is asked for again when it is awake. */
#define ANSWER_MS    3000
#define ANSWER_SHARE 3

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* At least 1: what takes its time is for the transport to say. */
static int64_t left_ms(const struct route *route, int64_t until_ns)
{
    const int64_t ms = (until_ns - clock_now_ns(transport_clock(route->transport))) / NS_PER_MS;
    return ms > 0 ? ms : 1;
}

/* Nobody is asked for less than a millisecond. */
static bool is_over(const struct clock *clock, int64_t until_ns)
{
    return until_ns - clock_now_ns(clock) < NS_PER_MS;
}

/* It did not answer, or not to us. */
static bool is_down(enum esp_status status)
{
    return status == ESP_UNREACHABLE || status == ESP_MAYBE || status == ESP_TIMEOUT ||
           status == ESP_REFUSED || status == ESP_STALE || status == ESP_VERSION || status == ESP_SECURITY;
}

/* It answered, for its own tree: there may be one below another master. */
static bool is_elsewhere(enum esp_status status)
{
    return status == ESP_NO_SERVER || status == ESP_UNKNOWN_PROBLEM || status == ESP_NOT_FOUND;
}

/* The quickest answer tells how far the master is: others took it longer, or came over a new connection. */
static void note_trip(struct route *route, const char *address, int64_t ns)
{
    const int64_t known_ns = atomic_load(&route->trip_ns);
    if (known_ns > 0 && ns >= known_ns)
        return;
    pthread_mutex_lock(&route->lock);
    if (route->n_masters > 0 && strcmp(route->masters[route->current], address) == 0)
        atomic_store(&route->trip_ns, ns > 0 ? ns : 1);
    pthread_mutex_unlock(&route->lock);
}

static enum esp_status ask_timed(struct route *route, const char *address, const struct message *request,
                                 int64_t timeout_ms, struct message *reply, struct esp_error *error)
{
    const struct clock *clock = transport_clock(route->transport);
    const int64_t asked_ns = clock_now_ns(clock);
    enum esp_status status = transport_call(route->transport, address, request, timeout_ms, reply, error);
    if (status == ESP_OK)
        note_trip(route, address, clock_now_ns(clock) - asked_ns);
    return status;
}

enum haste {
    LAST, /* it has all the time */
    ONE,  /* there are others to ask */
    MORE  /* one of them has answered, for what it can: it is greeted first */
};

/* ESP_UNREACHABLE when one that is not the last seems not to be awake, with *silent set. */
static enum esp_status ask_master(struct route *route, const char *address, const struct message *request,
                                  int64_t until_ns, enum haste haste, bool *silent, struct message *reply,
                                  struct esp_error *error)
{
    static const char who[] = "master agent";
    const bool hurry = haste != LAST;
    const int64_t all_ms = left_ms(route, until_ns), share_ms = all_ms / ANSWER_SHARE + 1;
    const int64_t awake_ms =
        !hurry ? all_ms
               : least(haste == MORE && route->n_agents == 0 ? PEER_AWAKE_MS : ROUTE_AWAKE_MS, share_ms);
    enum esp_status status = ESP_OK;
    *silent = false;
    if (haste == MORE || !atomic_load(&route->heard))
        status = route_greet_within(route, who, address, awake_ms, silent, NULL, error);
    if (status != ESP_OK)
        return status;
    status = ask_timed(route, address, request, hurry ? least(ANSWER_MS, share_ms) : left_ms(route, until_ns),
                       reply, error);
    if (status == ESP_TIMEOUT && hurry) {
        message_clear(reply);
        status = route_greet_within(route, who, address, awake_ms, silent, NULL, error);
        if (status != ESP_OK)
            return status;
        status = ask_timed(route, address, request, left_ms(route, until_ns), reply, error);
    }
    if (status != ESP_OK)
        return error_prefix_at(error, who, address);
    if (!atomic_exchange(&route->heard, true))
        acquainted_note(address);
    return status;
}

enum esp_status route_ask_master(struct route *route, const char *address, const struct message *request,
                                 int64_t timeout_ms, struct message *reply, struct esp_error *error)
{
    const int64_t until_ns = clock_now_ns(transport_clock(route->transport)) + timeout_ms * NS_PER_MS;
    bool silent;
    return ask_master(route, address, request, until_ns, LAST, &silent, reply, error);
}

void route_question_run(void *arg)
{
    struct route_question *question = arg;
    bool silent;
    question->status =
        is_over(transport_clock(question->route->transport), question->until_ns)
            ? error_set(&question->why, ESP_TIMEOUT, "there was no time left to ask")
            : ask_master(question->route, question->address, question->request, question->until_ns,
                         question->hurry ? ONE : LAST, &silent, &question->reply, &question->why);
}

static const char *problem_of(const struct message *request)
{
    return request->kind == MESSAGE_SUBMIT     ? request->submit.request.problem
           : request->kind == MESSAGE_DESCRIBE ? request->describe.problem
                                               : NULL;
}

static const char *node_of(const struct message *request)
{
    return request->kind == MESSAGE_TREE && *request->tree.node ? request->tree.node : NULL;
}

/* With the lock held. Whether a master that the redirector has lost, or has not heard of yet, may solve what
 * is asked for, or have the node. */
static bool may_be_lost(const struct route *route, const struct message *request)
{
    const char *problem = problem_of(request), *node = node_of(request);
    if (route->is_learning)
        return true;
    if (!*route->missing || !(problem || node) || !route->lost.value)
        return *route->missing != 0;
    struct extension lost = route->lost;
    return lost_problems_told(&(struct extensions){&lost, 1},
                              problem ? lost_problem(problem) : lost_node(node));
}

/* An answer, though nobody is reached. */
static bool is_awaited(enum esp_status status, const struct message *reply)
{
    uint64_t ms;
    if (status == ESP_NO_SERVER && reply->kind == MESSAGE_TREE_REPLY)
        return reply->tree_reply.n_records > 0 &&
               terms_get_integer(&reply->tree_reply.records[0].extensions, EXTENSION_EXPECTED, &ms);
    return status == ESP_UNREACHABLE && reply->kind == MESSAGE_SUBMIT_REPLY &&
           extension_find(&reply->submit_reply.extensions, EXTENSION_AWAITED);
}

/* Likewise: who would take it may go on where it was. */
static bool is_silent(enum esp_status status, const struct message *reply)
{
    return status == ESP_UNREACHABLE && reply->kind == MESSAGE_SUBMIT_REPLY &&
           extension_find(&reply->submit_reply.extensions, EXTENSION_SILENT);
}

/* Whether another master could say more than that. */
static bool is_open(const struct message *request, enum esp_status status)
{
    return status == ESP_UNKNOWN_PROBLEM || (status == ESP_NO_SERVER && problem_of(request)) ||
           node_of(request);
}

/* What those that answered cannot do: the first one's words, but before "unknown" those of one that is not
 * sure, and before all others those of one whose server comes back. A problem that nobody knows, and servers
 * that fit where none does, may be known to a master that was not reached. */
static enum esp_status conclude(struct route *route, const struct message *request,
                                const struct esp_error *cannot, const struct esp_error *down,
                                struct esp_error *error)
{
    char missing[MISSING_TEXT];
    pthread_mutex_lock(&route->lock);
    strcpy(missing, route->missing);
    route->is_partial =
        is_open(request, cannot->status) && (down->status != ESP_OK || may_be_lost(route, request));
    const bool partial = route->is_partial;
    pthread_mutex_unlock(&route->lock);
    *error = *cannot;
    if (!partial)
        return error->status;
    if (down->status != ESP_OK)
        return error_set(error, ESP_NO_SERVER, "%s; one that was not reached may know of a server: %s",
                         cannot->text, down->text);
    if (!*missing)
        return error_set(error, ESP_NO_SERVER,
                         "%s; the redirector was just started and does not know all master agents yet",
                         cannot->text);
    return error_set(error, ESP_NO_SERVER,
                     "%s; the redirector has lost touch with master agent %s, which may know of a server",
                     cannot->text, missing);
}

/* It did not answer: if it is the one that is asked first, the next one's turn, for all threads. */
static void turn(struct route *route, const char *address, uint64_t generation)
{
    pthread_mutex_lock(&route->lock);
    if (route->generation == generation && strcmp(route->masters[route->current], address) == 0) {
        route->current = (route->current + 1) % route->n_masters;
        atomic_store(&route->trip_ns, 0);
    }
    pthread_mutex_unlock(&route->lock);
}

/* Once through the masters as they are known. */
struct round {
    struct route *route;
    const struct message *request;
    int64_t until_ns;
    struct message *reply;
    struct masters masters;
    enum esp_status status;        /* of the one that was asked last */
    bool silent[MOST_MASTERS];     /* it takes connections, and seemed not to be awake */
    bool awaited, silenced;        /* one that answered has a server that comes back, or may go on */
    bool sure;                     /* nobody who said more than "unknown" leaves hope */
    struct esp_error cannot, down; /* what those said that answered, and why others did not */
};

/* False when it is of no use to ask others. */
static bool goes_on(struct round *round, size_t i, enum haste haste, struct esp_error *error)
{
    const char *address = round->masters.addresses[i];
    struct esp_error *cannot = &round->cannot;
    if (is_over(transport_clock(round->route->transport), round->until_ns))
        return true;
    const enum esp_status status = round->status =
        ask_master(round->route, address, round->request, round->until_ns, haste, &round->silent[i],
                   round->reply, error);
    if (status == ESP_OK && round->request->kind == MESSAGE_SUBMIT)
        route_note_told(round->route, address, round->request, &round->reply->submit_reply);
    if (is_awaited(status, round->reply) || is_silent(status, round->reply)) {
        route_note_told(round->route, address, round->request, NULL);
        round->silenced |= is_silent(status, round->reply);
        round->awaited |= is_awaited(status, round->reply);
        *cannot = *error;
    } else if (is_down(status)) {
        route_note_told(round->route, address, round->request, NULL);
        round->down = *error;
        round->silent[i] |= status == ESP_TIMEOUT;
        turn(round->route, address, round->masters.generation);
    } else if (is_elsewhere(status)) {
        const bool sure = describe_is_sure(round->reply);
        route_note_told(round->route, address, round->request, NULL);
        if (cannot->status == ESP_OK || (!round->awaited && !round->silenced && status == ESP_NO_SERVER &&
                                         (cannot->status != ESP_NO_SERVER || (round->sure && !sure)))) {
            *cannot = *error;
            round->sure = sure;
        }
    } else {
        return false;
    }
    message_clear(round->reply);
    return true;
}

/* Who heeds silence, `heeds`, asks again while somebody is silent: when another one has answered, it is told
 * so now. */
static enum esp_status ask_round(struct route *route, const struct message *request, int64_t until_ns,
                                 bool heeds, struct route_hope *hope, struct message *reply,
                                 uint64_t *generation, struct esp_error *error)
{
    struct round round = {.route = route, .request = request, .until_ns = until_ns, .reply = reply};
    round.status = error_set(error, ESP_NO_SERVER, "no master agent is known");
    route_copy_masters(route, &round.masters);
    route_sooner_first(route, request, &round.masters);
    route_data_first(route, request, until_ns, &round.masters);
    *generation = round.masters.generation;
    const size_t n = round.masters.n;
    for (size_t i = 0; i < n; i++)
        if (!goes_on(&round, i, n == 1 ? LAST : round.cannot.status == ESP_OK ? ONE : MORE, error))
            return round.status;
    for (size_t i = 0; i < n && !(heeds && round.cannot.status != ESP_OK); i++)
        if (round.silent[i] && !goes_on(&round, i, LAST, error))
            return round.status;
    for (size_t i = 0; i < n; i++)
        hope->silent |= round.silent[i];
    hope->awaited = round.awaited;
    hope->silent |= round.silenced;
    hope->told = round.awaited || round.silenced;
    if (round.cannot.status == ESP_OK)
        return round.status;
    const enum esp_status status = conclude(route, request, &round.cannot, &round.down, error);
    hope->sure = round.sure && !route_is_partial(route);
    return status;
}

static enum esp_status nobody_in_time(int64_t asked_ms, struct esp_error *error)
{
    return error_set(
        error, ESP_TIMEOUT,
        "no master agent answered the last question within %.3g s: none is reached, or they wait for servers "
        "that are silent ('espalier tree' shows which)",
        (double)asked_ms / 1e3);
}

static enum esp_status ask(struct route *route, const struct message *request, int64_t timeout_ms, bool heeds,
                           struct route_hope *hope, struct message *reply, struct esp_error *error)
{
    const struct clock *clock = transport_clock(route->transport);
    const int64_t left_ms = deadline_left_ms(clock, timeout_ms);
    const int64_t until = clock_now_ns(clock) + left_ms * NS_PER_MS;
    uint64_t generation = 0;
    struct esp_error unread, why;
    if (!error)
        error = &unread;
    *hope = (struct route_hope){false};
    if (left_ms == 0 && timeout_ms > 0)
        return error_set(error, ESP_TIMEOUT, "the time was over before a master agent was asked");
    enum esp_status status = ask_round(route, request, until, heeds, hope, reply, &generation, error);
    if (status == ESP_OK || hope->told || !(is_down(status) || is_elsewhere(status)))
        return status;
    const bool known =
        generation > 0; /* then what the masters said tells more than that the redirector is gone */
    if (is_over(clock, until))
        return is_elsewhere(status) ? status : nobody_in_time(left_ms, error);
    bool changed, mute;
    enum esp_status learned = route_learn(route, generation, &changed, &mute, &why);
    hope->silent |= mute;
    if (learned != ESP_OK && !known) {
        *error = why;
        return learned;
    }
    if (learned != ESP_OK || (is_elsewhere(status) && !changed))
        return status;
    if (is_over(clock, until))
        return known && is_elsewhere(status) ? status : nobody_in_time(left_ms, error);
    /* Who was silent a moment ago may be no more than that, whatever is said when the time is nearly over. */
    const bool silent = hope->silent;
    *hope = (struct route_hope){false};
    status = ask_round(route, request, until, heeds, hope, reply, &generation, error);
    hope->silent |= silent;
    return status;
}

enum esp_status route_try(struct route *route, const struct message *request, int64_t timeout_ms,
                          struct route_hope *hope, struct message *reply, struct esp_error *error)
{
    return ask(route, request, timeout_ms, true, hope, reply, error);
}

enum esp_status route_ask(struct route *route, const struct message *request, int64_t timeout_ms,
                          struct message *reply, struct esp_error *error)
{
    struct route_hope hope;
    return ask(route, request, timeout_ms, false, &hope, reply, error);
}
