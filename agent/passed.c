/* SPDX-License-Identifier: Apache-2.0
 *
 * A request that a peer passes on is a call like that of a client for all that decides about it: a transport
 * of its own stands behind it, whose one way is a message back to the peer.
 */
#include "agent/agent_internal.h"
#include "agent/peers.h"

#include <stdlib.h>
#include <string.h>

#define PASSED_MOST 4096 /* at a time; what is beyond is dropped, and its peer asks the next one */

struct passed_call {
    struct call call; /* first */
    struct endpoint endpoint;
    struct transport transport;
    struct agent *agent;
    struct envelope envelope;
    char from[CAP_NAME + 1], address[CAP_ADDRESS + 1]; /* of the peer */
    uint64_t id;                                       /* the peer's */
    struct message *request;
    struct visited visited;
    bool is_awaited;    /* the peer wants to hear soon that it is here */
    bool *is_over;      /* NULL, or where somebody learns that this is freed */
    struct timer timer; /* when the peer does not wait any more */
    struct passed_call *prev, *next;
};

static void passed_free(struct passed_call *passed)
{
    struct agent *agent = passed->agent;
    if (passed->is_over)
        *passed->is_over = true;
    timers_cancel(&agent->timers, &passed->timer);
    DL_DELETE(agent->passed, passed);
    agent->n_passed--;
    message_destroy(passed->request);
    free(passed);
}

static void answer(const struct passed_call *passed, const struct message *reply)
{
    const char *visited[CAP_VISITED];
    struct extension taken = {.tag = EXTENSION_TAKEN};
    struct message message = {
        .kind = MESSAGE_PASSED,
        .passed = {
            .id = passed->id, .visited = visited, .n_visited = passed->visited.n, .extensions = {&taken, 1}}};
    visited_list(&passed->visited, visited);
    if (reply && passed_put(&message.passed, reply))
        agent_post(passed->agent, passed->address, passed->envelope.from_incarnation, &message);
}

static void tell_taken(const struct passed_call *passed)
{
    const char *own = endpoint_address(passed->agent->endpoint);
    struct extension taken = {.tag = EXTENSION_TAKEN};
    const struct message message = {
        .kind = MESSAGE_PASSED,
        .passed = {.id = passed->id, .visited = &own, .n_visited = 1, .extensions = {&taken, 1}}};
    agent_post(passed->agent, passed->address, passed->envelope.from_incarnation, &message);
}

static void on_reply(struct call *call, struct message *reply)
{
    struct passed_call *passed = (struct passed_call *)call;
    answer(passed, reply);
    message_destroy(reply);
    passed_free(passed);
}

static const struct envelope *on_envelope(const struct call *call)
{
    return &((const struct passed_call *)call)->envelope;
}

static const struct transport_ops ops = {.reply = on_reply, .envelope = on_envelope};

static struct passed_call *passed_of(const struct call *call)
{
    return call->endpoint->transport->ops == &ops ? (struct passed_call *)call : NULL;
}

void passed_visited(const struct call *call, struct visited *visited)
{
    const struct passed_call *passed = passed_of(call);
    visited->n = 0;
    if (passed)
        *visited = passed->visited;
}

bool passed_is(const struct call *call)
{
    return passed_of(call) != NULL;
}

void passed_note(struct call *call, const struct visited *visited)
{
    struct passed_call *passed = passed_of(call);
    if (passed)
        passed->visited = *visited;
}

static void on_late(struct timer *timer, int64_t now_ns, void *context)
{
    struct passed_call *passed = context;
    (void)timer;
    (void)now_ns;
    agent_abandon(passed->agent, &passed->call);
    passed_free(passed);
}

static bool is_peer(const struct agent *agent, const char *address)
{
    struct refuges peers = {.n = 0};
    registered_refuges(agent, &peers);
    for (size_t i = 0; i < peers.n; i++)
        if (strcmp(peers.addresses[i], address) == 0)
            return true;
    return false;
}

static struct passed_call *create(struct agent *agent, const struct envelope *envelope,
                                  const struct pass *pass)
{
    struct passed_call *passed = calloc(1, sizeof *passed);
    struct message request;
    if (!passed)
        return NULL;
    passed->request = pass_get(pass, &request) ? message_clone(&request) : NULL;
    if (!passed->request) {
        free(passed);
        return NULL;
    }
    passed->transport = (struct transport){.ops = &ops, .clock = agent->clock};
    passed->endpoint.transport = &passed->transport;
    passed->call.endpoint = &passed->endpoint;
    passed->agent = agent;
    passed->id = pass->id;
    passed->is_awaited = extension_find(&pass->extensions, EXTENSION_TAKEN) != NULL;
    passed->timer = (struct timer){.fire = on_late, .context = passed};
    memcpy(passed->address, pass->address, strlen(pass->address) + 1); /* as long as the wire lets it be */
    memcpy(passed->from, envelope->from, strlen(envelope->from) + 1);
    passed->envelope = *envelope;
    passed->envelope.from = passed->from;
    passed->envelope.peer = passed->envelope.identity = "";
    visited_take(&passed->visited, pass->visited, pass->n_visited);
    DL_APPEND(agent->passed, passed);
    agent->n_passed++;
    return passed;
}

/* As of a client. What is not answered at once is told to be here. */
static void serve(struct passed_call *passed)
{
    bool is_over = false;
    passed->is_over = &is_over;
    agent_on_call(passed->agent, &passed->call, passed->request);
    if (is_over)
        return;
    passed->is_over = NULL;
    if (passed->is_awaited)
        tell_taken(passed);
}

void passed_on_pass(struct agent *agent, const struct envelope *envelope, const struct pass *pass)
{
    const int64_t left_ms = pass->time_left_ms < INT32_MAX ? (int64_t)pass->time_left_ms : INT32_MAX;
    if (!agent->is_master || !is_peer(agent, pass->address) || agent->n_passed >= PASSED_MOST) {
        log_debug("a request from \"%s\" at %s is dropped: it is no peer, or there are too many",
                  envelope->from, pass->address);
        return;
    }
    if (pass->what == PASS_GIVEN_UP) {
        given_up_peers_on_pass(agent, envelope, pass);
        return;
    }
    struct passed_call *passed = create(agent, envelope, pass);
    if (!passed)
        return;
    agent->counts.passed_here++;
    if (visited_has(&passed->visited, endpoint_address(agent->endpoint))) { /* it has come in a circle */
        call_reply(&passed->call, message_failure(message_reply_kind(passed->request->kind), ESP_NO_SERVER,
                                                  "\"%s\" has had it", agent->name));
        return;
    }
    if (timers_set(&agent->timers, &passed->timer, agent_now(agent) + left_ms * NS_PER_MS, NULL) != ESP_OK)
        passed_free(passed);
    else
        serve(passed);
}

void passed_clear(struct agent *agent)
{
    while (agent->passed)
        passed_free(agent->passed);
}
