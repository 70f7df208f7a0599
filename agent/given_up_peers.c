/* SPDX-License-Identifier: Apache-2.0
 *
 * Exchanges the list of given-up data between master agents, because a server may come back below any of
 * them. A master agent announces to its peers when its list has grown, and repeats this from time to time,
 * as a peer may have been away. The list names the owner of each datum, and servers trust it. A master
 * agent therefore does not accept a list from any sender: it asks for the list at the address that the
 * redirectors give for the peer.
 */
#include "agent/agent_internal.h"
#include "agent/peers.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SOON_NS  (100 * NS_PER_MS) /* gathers data that are given up at nearly the same time */
#define AGAIN_NS (60 * NS_PER_S)
/* Least interval between two lists to one peer, because a short request causes a long answer. */
#define PAUSE_NS NS_PER_S

static void post(struct agent *agent, const char *peer, const struct extension *what)
{
    struct extension copy = *what;
    const struct message message = {.kind = MESSAGE_PASS,
                                    .pass = {.id = agent->given_up_ticket,
                                             .address = endpoint_address(agent->endpoint),
                                             .what = PASS_GIVEN_UP,
                                             .extensions = {&copy, 1}}};
    agent_post(agent, peer, 0, &message);
}

static void tell_sum(struct agent *agent, const char *peer, bool is_answer)
{
    uint8_t bytes[GIVEN_UP_SUM_BYTES];
    const uint64_t sum = disowned_sum(agent->disowned, time(NULL));
    memcpy(bytes, &sum, sizeof sum);
    bytes[sizeof sum] = is_answer;
    post(agent, peer, &(struct extension){EXTENSION_GIVEN_UP_SUM, bytes, sizeof bytes});
}

static void on_tell(struct timer *timer, int64_t now_ns, void *context)
{
    struct agent *agent = context;
    struct refuges peers = {.n = 0};
    registered_refuges(agent, &peers);
    for (size_t i = 0; i < peers.n; i++)
        tell_sum(agent, peers.addresses[i], false);
    if (disowned_count(agent->disowned) > 0)
        timers_set(&agent->timers, timer, now_ns + AGAIN_NS, NULL);
}

enum esp_status given_up_peers_create(struct agent *agent, struct esp_error *error)
{
    agent->tell_peers = (struct timer){.fire = on_tell, .context = agent};
    return random_bytes(&agent->given_up_ticket, sizeof agent->given_up_ticket, error);
}

static void tell_at(struct agent *agent, int64_t due_ns)
{
    if (agent->disowned && (!timer_is_set(&agent->tell_peers) || agent->tell_peers.due_ns > due_ns))
        timers_set(&agent->timers, &agent->tell_peers, due_ns, NULL);
}

void given_up_peers_tell(struct agent *agent)
{
    tell_at(agent, agent_now(agent) + SOON_NS);
}

/* Returns false if the peer got the whole list just now; then a later announcement covers the new entries. */
static bool may_send(struct agent *agent, const char *peer)
{
    const int64_t now_ns = agent_now(agent);
    struct given_up_sent *sent = &agent->given_up_sent[0];
    for (size_t i = 0; i < MOST_REFUGES; i++) {
        struct given_up_sent *other = &agent->given_up_sent[i];
        if (strcmp(other->address, peer) == 0) {
            sent = other;
            break;
        }
        if (other->sent_ns < sent->sent_ns)
            sent = other;
    }
    if (strcmp(sent->address, peer) == 0 && now_ns - sent->sent_ns < PAUSE_NS) {
        tell_at(agent, sent->sent_ns + PAUSE_NS);
        return false;
    }
    snprintf(sent->address, sizeof sent->address, "%s", peer);
    sent->sent_ns = now_ns;
    return true;
}

static void tell_all(struct agent *agent, const struct envelope *envelope, const struct pass *pass)
{
    struct arena arena = {0};
    struct extension list;
    if (disowned_list(agent->disowned, &arena, &list)) {
        const struct message message = {
            .kind = MESSAGE_PASSED,
            .passed = {.id = pass->id, .what = PASS_GIVEN_UP, .extensions = {&list, 1}}};
        agent_post(agent, pass->address, envelope->from_incarnation, &message);
    }
    arena_clear(&arena);
}

static void hear_sum(struct agent *agent, const char *peer, const struct extension *told)
{
    uint64_t sum;
    if (told->length != GIVEN_UP_SUM_BYTES)
        return;
    memcpy(&sum, told->value, sizeof sum);
    if (sum == disowned_sum(agent->disowned, time(NULL)))
        return;
    if (sum != 0)
        post(agent, peer, &(struct extension){.tag = EXTENSION_GIVEN_UP_WANTED});
    if (!told->value[sizeof sum])
        tell_sum(agent, peer, true);
}

void given_up_peers_on_pass(struct agent *agent, const struct envelope *envelope, const struct pass *pass)
{
    const struct extension *sum = extension_find(&pass->extensions, EXTENSION_GIVEN_UP_SUM);
    if (sum)
        hear_sum(agent, pass->address, sum);
    if (extension_find(&pass->extensions, EXTENSION_GIVEN_UP_WANTED) && may_send(agent, pass->address))
        tell_all(agent, envelope, pass);
}

static void on_news(void *arg, const struct disowned_datum *datum)
{
    data_given_up_heard(arg, datum);
}

void given_up_peers_on_passed(struct agent *agent, const struct envelope *envelope,
                              const struct passed *passed)
{
    struct esp_error error;
    const struct extension *list = extension_find(&passed->extensions, EXTENSION_GIVEN_UP_LIST);
    const size_t before = disowned_count(agent->disowned);
    if (!list || passed->id != agent->given_up_ticket)
        return;
    if (disowned_take(agent->disowned, list, time(NULL), on_news, agent, &error) != ESP_OK)
        log_warning("not all that was given up, as \"%s\" tells, can be noted here: %s", envelope->from,
                    error.text);
    const size_t now = disowned_count(agent->disowned);
    if (now != before)
        log_notice("%zu more data that were given up are known, from \"%s\"", now - before, envelope->from);
    if (now > 0 && !timer_is_set(&agent->tell_peers))
        timers_set(&agent->timers, &agent->tell_peers, agent_now(agent) + AGAIN_NS, NULL);
}
