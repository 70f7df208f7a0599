/* SPDX-License-Identifier: Apache-2.0
 *
 * A request that a master agent cannot serve goes to its peers, the other master agents of its
 * redirectors. It goes to one peer after the other, so that it is at one place at a time and is served
 * once. It carries the list of agents that have had it, and no agent gets it twice. The list is bounded,
 * which also limits how far the request goes. A peer that does not confirm a request is left out for a
 * while (agent/awake.h).
 *
 * A request that this agent can serve also goes to the peers if its best server takes long enough; it
 * carries the expected end (EXTENSION_SOONER). A peer with a server that ends the call sooner passes the
 * request on with that server's end. The last answer therefore has the best server of all.
 */
#include "agent/agent_internal.h"
#include "agent/peers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASSING_MOST 4096 /* at a time; further requests get this agent's own answer */
/* The time that is left for a request that names none. A peer may ask its children, and then its own
 * peers.
 */
#define TIME_LEFT_MS 5000
/* Share of the time that is left in which a peer must answer, because its answer needs time to arrive. */
#define SHARE_OF_TIME 0.9
/* If a call ends within this time, or within so many round trips through all peers, the peers are not
 * asked for a sooner end. */
#define SOONER_LEAST_S 0.05
#define SOONER_WAYS    20
/* Peers are waited for during this share of the time until the call would end, and at least for the second
 * value. */
#define SOONER_SHARE    0.1
#define SOONER_LEAST_MS 100
/* Round trip to a peer until it has been measured. */
#define WAY_S       0.001
#define WAY_GROWS   1.05 /* growth of the estimate after a slower answer */
#define LEAST_WAY_S 1e-6

struct passing {
    uint64_t id;
    struct agent *agent;
    struct call *call;
    struct message request; /* points into the call's */
    struct message *own;    /* this agent's own answer; NULL: the request continues here */
    const struct submit *submit;
    const struct describe *describe;
    double sooner_s; /* a peer must end the call before this; 0: no limit */
    struct arena arena;
    struct visited visited; /* this agent first, or the agents that had it before */
    int64_t until_ns;       /* then the caller is gone */
    int64_t sent_ns;        /* when it was sent to the present peer */
    struct timer timer;     /* for the present peer, the last one visited */
    bool is_taken;          /* the present peer has confirmed it */
    UT_hash_handle hh;
};

/* ---- agents that have had the request ---- */

bool visited_has(const struct visited *visited, const char *address)
{
    for (uint32_t i = 0; i < visited->n; i++)
        if (strcmp(visited->addresses[i], address) == 0)
            return true;
    return false;
}

bool visited_add(struct visited *visited, const char *address)
{
    if (visited_has(visited, address))
        return true;
    if (visited->n == CAP_VISITED || strlen(address) > CAP_ADDRESS)
        return false;
    memcpy(visited->addresses[visited->n++], address, strlen(address) + 1);
    return true;
}

void visited_take(struct visited *visited, const char *const *addresses, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        visited_add(visited, addresses[i]);
}

void visited_list(const struct visited *visited, const char **addresses)
{
    for (uint32_t i = 0; i < visited->n; i++)
        addresses[i] = visited->addresses[i];
}

/* ---- one request ---- */

static void passing_free(struct passing *passing)
{
    struct agent *agent = passing->agent;
    timers_cancel(&agent->timers, &passing->timer);
    HASH_DEL(agent->passing, passing);
    message_destroy(passing->own);
    arena_clear(&passing->arena);
    free(passing);
}

/* No peer can serve the request: the caller gets this agent's own answer. */
static void give_up(struct passing *passing)
{
    struct agent *agent = passing->agent;
    struct call *call = passing->call;
    struct message *own = passing->own;
    const struct submit *submit = passing->submit;
    const struct describe *describe = passing->describe;
    passing->own = NULL;
    passed_note(call, &passing->visited);
    passing_free(passing);
    if (submit)
        submit_again(agent, call, submit);
    else if (describe)
        queries_describe_again(agent, call, describe);
    else
        call_reply(call, own);
}

static const char *peer_of(const struct passing *passing)
{
    const struct visited *visited = &passing->visited;
    return visited->n > 0 ? visited->addresses[visited->n - 1] : "";
}

/* Returns the name of the peer at that address, or the address if no name is known. */
static const char *name_of(const struct agent *agent, const char *address, char name[CAP_ADDRESS + 1])
{
    struct refuges peers = {.n = 0};
    registered_refuges(agent, &peers);
    snprintf(name, CAP_ADDRESS + 1, "%s", address);
    for (size_t i = 0; i < peers.n; i++)
        if (*peers.names[i] && strcmp(peers.addresses[i], address) == 0)
            snprintf(name, CAP_ADDRESS + 1, "%s", peers.names[i]);
    return name;
}

static int64_t patience_ns(const struct passing *passing)
{
    const struct agent *agent = passing->agent;
    const int64_t left_ns = (int64_t)((double)(passing->until_ns - agent_now(agent)) * SHARE_OF_TIME);
    int64_t most_ns = 2 * agent->options.answer_timeout_ms * NS_PER_MS;
    const double sooner_ns =
        fmax(SOONER_SHARE * passing->sooner_s * 1e9, SOONER_LEAST_MS * (double)NS_PER_MS);
    if (passing->sooner_s > 0 && sooner_ns < (double)most_ns)
        most_ns = (int64_t)sooner_ns;
    return left_ns < most_ns ? left_ns : most_ns;
}

static bool send(struct passing *passing, const char *peer, int64_t time_left_ns)
{
    struct agent *agent = passing->agent;
    const char *visited[CAP_VISITED];
    struct extension taken = {.tag = EXTENSION_TAKEN};
    struct message message = {.kind = MESSAGE_PASS,
                              .pass = {.id = passing->id,
                                       .address = endpoint_address(agent->endpoint),
                                       .time_left_ms = (uint64_t)(time_left_ns / NS_PER_MS),
                                       .visited = visited,
                                       .n_visited = passing->visited.n,
                                       .extensions = {&taken, 1}}};
    visited_list(&passing->visited, visited);
    if (!pass_put(&message.pass, &passing->request) || !visited_add(&passing->visited, peer))
        return false;
    if (message.pass.what == PASS_SUBMIT)
        message.pass.submit.time_left_ms = message.pass.time_left_ms;
    log_debug("passing %s on to %s", message_name(passing->request.kind), peer);
    agent_post(agent, peer, 0, &message);
    passing->sent_ns = agent_now(agent);
    agent->counts.passed_on++;
    return true;
}

/* Sets how long the present peer is waited for from now on. */
static enum esp_status wait_for(struct passing *passing, int64_t wait_ns)
{
    struct agent *agent = passing->agent;
    return timers_set(&agent->timers, &passing->timer, agent_now(agent) + wait_ns, NULL);
}

static bool pass_to(struct passing *passing, const char *peer, int64_t left_ns)
{
    const int64_t awake_ns = awake_tells(&passing->agent->awake, peer) ? AWAKE_MS * NS_PER_MS : left_ns;
    passing->is_taken = false;
    return wait_for(passing, awake_ns < left_ns ? awake_ns : left_ns) == ESP_OK &&
           send(passing, peer, left_ns);
}

/* Sends the request to the next peer that has not had it. Returns false if there is none, or no time. */
static bool pass_on(struct passing *passing)
{
    struct agent *agent = passing->agent;
    struct refuges peers = {.n = 0};
    const int64_t left_ns = patience_ns(passing);
    registered_refuges(agent, &peers);
    if (left_ns < NS_PER_MS)
        return false;
    for (size_t i = 0; i < peers.n; i++)
        if (!visited_has(&passing->visited, peers.addresses[i]) &&
            !awake_is_silent(&agent->awake, peers.addresses[i], agent_now(agent)))
            return pass_to(passing, peers.addresses[i], left_ns);
    return false;
}

static void on_silence(struct timer *timer, int64_t now_ns, void *context)
{
    struct passing *passing = context;
    struct agent *agent = passing->agent;
    const char *peer = peer_of(passing);
    char name[CAP_ADDRESS + 1];
    (void)timer;
    if (!passing->is_taken && awake_tells(&agent->awake, peer) && awake_silent(&agent->awake, peer, now_ns) &&
        !(passing->sooner_s > 0))
        log_notice(
            "master agent \"%s\" (%s) does not confirm a request: it gets the next one after it has sent a "
            "message, or in %d s",
            name_of(agent, peer, name), peer, SILENT_MS / 1000);
    if (!pass_on(passing))
        give_up(passing);
}

/* Whether the reply says that the request cannot be served here, but perhaps elsewhere. */
static bool is_elsewhere(const struct message *reply)
{
    const enum esp_status status = reply->outcome.status;
    if (reply->kind == MESSAGE_DATA_REPLY && status == ESP_OK)
        return reply->data_reply.n == 0;
    return status == ESP_NO_SERVER || status == ESP_UNKNOWN_PROBLEM || status == ESP_NOT_FOUND ||
           status == ESP_UNREACHABLE; /* no node below has answered */
}

static int64_t time_left_ms(const struct message *request)
{
    if (request->kind == MESSAGE_SUBMIT && request->submit.time_left_ms > 0 &&
        request->submit.time_left_ms < INT32_MAX)
        return (int64_t)request->submit.time_left_ms;
    return TIME_LEFT_MS;
}

/* Leaves *end_s unchanged if no agent has sent an end. */
static bool find_sooner(const struct request *request, double *end_s)
{
    return terms_get_real(&request->extensions, EXTENSION_SOONER, end_s);
}

static struct passing *create(struct agent *agent, struct call *call, const struct message *request)
{
    struct passing *passing = calloc(1, sizeof *passing);
    if (!passing)
        return NULL;
    *passing =
        (struct passing){.id = ++agent->next_passing, .agent = agent, .call = call, .request = *request};
    passing->until_ns = agent_now(agent) + time_left_ms(request) * NS_PER_MS;
    passing->timer = (struct timer){.fire = on_silence, .context = passing};
    passed_visited(call, &passing->visited);
    visited_add(&passing->visited, endpoint_address(agent->endpoint));
    if (request->kind == MESSAGE_SUBMIT)
        find_sooner(&request->submit.request, &passing->sooner_s);
    HASH_ADD(hh, agent->passing, id, sizeof passing->id, passing);
    if (passing->hh.tbl)
        return passing;
    free(passing);
    return NULL;
}

void peers_reply(struct agent *agent, struct call *call, const struct message *request, struct message *own)
{
    struct passing *passing = NULL;
    if (own && is_elsewhere(own) && agent->n_registered > 0 && HASH_COUNT(agent->passing) < PASSING_MOST)
        passing = create(agent, call, request);
    if (!passing) {
        call_reply(call, own);
        return;
    }
    passing->own = own;
    if (!pass_on(passing))
        give_up(passing);
}

bool peers_ask_first(struct agent *agent, struct call *call, const struct submit *submit,
                     const struct describe *describe)
{
    struct message request = {.kind = submit ? MESSAGE_SUBMIT : MESSAGE_DESCRIBE};
    if (submit)
        request.submit = *submit;
    else
        request.describe = *describe;
    struct passing *passing = agent->n_registered > 0 && HASH_COUNT(agent->passing) < PASSING_MOST
                                  ? create(agent, call, &request)
                                  : NULL;
    if (!passing)
        return false;
    passing->submit = submit;
    passing->describe = describe;
    if (pass_on(passing))
        return true;
    passing_free(passing);
    return false;
}

/* ---- sooner ends ---- */

bool peers_is_sooner(const struct request *request)
{
    double end_s;
    return find_sooner(request, &end_s);
}

/* Returns the request's extensions, with `end_s` in place of another agent's end. */
static bool tell_sooner(struct passing *passing, double end_s)
{
    struct extensions *extensions = &passing->request.submit.request.extensions;
    const struct extensions all = *extensions;
    struct extension *items = arena_alloc(&passing->arena, (all.n + 1) * sizeof *items);
    uint32_t n = 0;
    for (uint32_t i = 0; items && i < all.n; i++)
        if (all.items[i].tag != EXTENSION_SOONER)
            items[n++] = all.items[i];
    *extensions = (struct extensions){items, n};
    return items && terms_add_real(extensions, EXTENSION_SOONER, end_s, &passing->arena);
}

static double way_to_peer_s(const struct agent *agent)
{
    return agent->peer_way_s > 0 ? agent->peer_way_s : WAY_S;
}

/* Seconds that asking all peers takes. */
static double round_s(const struct agent *agent)
{
    struct refuges peers = {.n = 0};
    registered_refuges(agent, &peers);
    return (double)peers.n * way_to_peer_s(agent);
}

bool peers_ask_sooner(struct agent *agent, struct call *call, const struct submit *submit, double end_s)
{
    if (!(end_s > SOONER_LEAST_S))
        return false;
    const double lost_s = round_s(agent), sooner_s = end_s - lost_s;
    if (!(lost_s > 0) || !(end_s > SOONER_WAYS * lost_s) || HASH_COUNT(agent->passing) >= PASSING_MOST)
        return false;
    const struct message request = {.kind = MESSAGE_SUBMIT, .submit = *submit};
    struct passing *passing = create(agent, call, &request);
    if (!passing)
        return false;
    passing->submit = submit;
    passing->sooner_s = sooner_s;
    /* All peers together have the time of one peer, because each may have to wait for a silent one. */
    const int64_t until_ns = agent_now(agent) + (int64_t)((double)patience_ns(passing) / SHARE_OF_TIME);
    passing->until_ns = until_ns < passing->until_ns ? until_ns : passing->until_ns;
    if (tell_sooner(passing, sooner_s) && pass_on(passing))
        return true;
    passing_free(passing);
    return false;
}

/* The peer has answered or confirmed: updates the round trip. */
static void note_way(struct passing *passing)
{
    struct agent *agent = passing->agent;
    const double way_s = (double)(agent_now(agent) - passing->sent_ns) / 1e9;
    if (passing->is_taken)
        return;
    /* The estimate follows the quickest answers, because a peer or this agent that is busy for a moment
     * only adds delay. */
    agent->peer_way_s = fmax(fmin(way_s, WAY_GROWS * way_to_peer_s(agent)), LEAST_WAY_S);
}

/* A peer that is not sure that a name is unknown weighs more than the other peers' answers. Requests for
 * servers are exempt: the answer that no server can take them is always sure. */
static void heed(struct passing *passing, const struct message *reply)
{
    struct message *own = passing->own;
    if (own && reply->outcome.status == ESP_NO_SERVER && passing->request.kind != MESSAGE_SUBMIT &&
        (own->outcome.status == ESP_UNKNOWN_PROBLEM || own->outcome.status == ESP_NOT_FOUND ||
         (describe_is_sure(own) && !describe_is_sure(reply)))) {
        struct message *told = message_clone(reply);
        if (!told)
            return;
        passing->own = told;
        message_destroy(own);
    }
}

/* The peer has the request, and its answer takes a while. `passing` may be NULL. */
static void on_taken(struct agent *agent, struct passing *passing, const char *peer)
{
    awake_heard(&agent->awake, peer, true);
    if (!passing || passing->is_taken || strcmp(peer_of(passing), peer) != 0)
        return;
    note_way(passing);
    passing->is_taken = true;
    if (wait_for(passing, patience_ns(passing)) != ESP_OK)
        give_up(passing);
}

/* Reports the passing-on to observers of the session. */
static void tell_passed(struct passing *passing, const char *peer, bool served)
{
    struct agent *agent = passing->agent;
    const struct session_id *session = &passing->request.submit.request.session;
    const int64_t now_ns = agent_now(agent);
    char text[SESSION_TEXT], name[CAP_ADDRESS + 1];
    if (passing->request.kind != MESSAGE_SUBMIT || (passing->sooner_s > 0 && !served))
        return;
    trace_note(&agent->duty.trace, session, served ? TRACE_PASSED : TRACE_VAINLY, passing->sent_ns, now_ns,
               name_of(agent, peer, name));
    if (log_wants(LOG_DEBUG_LEVEL))
        log_write(LOG_DEBUG_LEVEL, session_id_text(session, text),
                  "passed on to master agent \"%s\" (%s), which %s", name, peer,
                  served ? "has servers for it" : "has none for it either");
}

/* The peer has answered a request that was given up on meanwhile. */
static void heard_late(struct agent *agent, const char *name, bool tells)
{
    struct refuges peers = {.n = 0};
    registered_refuges(agent, &peers);
    for (size_t i = 0; i < peers.n; i++)
        if (strcmp(peers.names[i], name) == 0)
            awake_heard(&agent->awake, peers.addresses[i], tells);
}

void peers_on_passed(struct agent *agent, const struct envelope *envelope, const struct passed *passed)
{
    struct passing *passing;
    struct message reply;
    const bool tells = extension_find(&passed->extensions, EXTENSION_TAKEN) != NULL;
    HASH_FIND(hh, agent->passing, &passed->id, sizeof passed->id, passing);
    if (tells && passed->what == PASS_NOTHING && passed->n_visited > 0) {
        on_taken(agent, passing, passed->visited[0]);
        return;
    }
    if (!passing) { /* the request was answered before */
        heard_late(agent, envelope->from, tells);
        return;
    }
    awake_heard(&agent->awake, peer_of(passing), tells);
    note_way(passing);
    char peer[CAP_ADDRESS + 1];
    snprintf(peer, sizeof peer, "%s", peer_of(passing));
    visited_take(&passing->visited, passed->visited, passed->n_visited);
    const bool answered =
        passed_get(passed, &reply) && reply.kind == message_reply_kind(passing->request.kind);
    const bool served = answered && reply.outcome.status == ESP_OK && !is_elsewhere(&reply);
    tell_passed(passing, peer, served);
    if (answered && !served)
        heed(passing, &reply);
    if (served) {
        struct call *call = passing->call;
        passing_free(passing);
        call_reply(call, message_clone(&reply));
    } else if (!pass_on(passing)) {
        give_up(passing);
    }
}

/* The message could not be delivered: the request goes to the next peer at once. */
void peers_undelivered(struct agent *agent, const char *address)
{
    struct passing *passing, *next;
    awake_forget(&agent->awake, address);
    HASH_ITER(hh, agent->passing, passing, next)
    {
        if (strcmp(peer_of(passing), address) == 0 && !pass_on(passing))
            give_up(passing);
    }
}

bool peers_abandon(struct agent *agent, const struct call *call)
{
    struct passing *passing, *next;
    HASH_ITER(hh, agent->passing, passing, next)
    if (passing->call == call) {
        passing_free(passing);
        return true;
    }
    return false;
}

void peers_clear(struct agent *agent)
{
    struct passing *passing, *next;
    HASH_ITER(hh, agent->passing, passing, next)
    passing_free(passing);
}
