/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that were given up while servers that may have them could not be reached. A master agent notes them;
 * when one is told to be below again, it goes there: by an order that follows it down, as questions about it
 * do. An order can be lost, and a server may be writing the datum: as long as it is known below, it is said
 * again.
 */
#include "agent/agent_internal.h"
#include "agent/peers.h"

#include <time.h>

#define AGAIN_NS      (10 * NS_PER_S) /* twice as long before each further time, at most: */
#define LONGEST_NS    (3600 * NS_PER_S)
#define MOST_CHILDREN 16
#define ORDER_MS      5000

static void post_to(struct agent *agent, const struct child *child, const struct extension *what)
{
    struct extension copy = *what;
    const struct message message = {
        .kind = MESSAGE_ORDER,
        .order = {
            .node = child->name, .verb = ORDER_GIVEN_UP, .time_left_ms = ORDER_MS, .extensions = {&copy, 1}}};
    children_post_to(agent->children, child, &message);
}

/* Wherever it is below; whether it is. */
static bool post_where_it_is(struct agent *agent, struct datum_key key, const struct extension *what)
{
    struct child *children[MOST_CHILDREN];
    const size_t n = data_children_of(agent, key, children, MOST_CHILDREN);
    for (size_t i = 0; i < n; i++)
        post_to(agent, children[i], what);
    return n > 0;
}

static void look_again_in(struct agent *agent, int64_t pause_ns)
{
    agent->look_pause_ns = pause_ns < LONGEST_NS ? pause_ns : LONGEST_NS;
    timers_set(&agent->timers, &agent->look_again, agent_now(agent) + agent->look_pause_ns, NULL);
}

struct look {
    struct agent *agent;
    bool found;
};

static void look_at(void *arg, const struct disowned_datum *datum)
{
    char bytes[DATUM_GIVEN_UP_BYTES];
    struct look *look = arg;
    const struct extension what = datum_given_up_pack(&datum->id, datum->owner, bytes);
    look->found |= post_where_it_is(look->agent, datum->id.key, &what);
}

static void on_again(struct timer *timer, int64_t now_ns, void *context)
{
    struct look look = {.agent = context};
    (void)timer;
    (void)now_ns;
    disowned_each(look.agent->disowned, look_at, &look);
    if (look.found)
        look_again_in(look.agent, 2 * look.agent->look_pause_ns);
}

enum esp_status data_given_up_create(struct agent *agent, const struct agent_options *options,
                                     struct esp_error *error)
{
    agent->look_again = (struct timer){.fire = on_again, .context = agent};
    if (!agent->is_master)
        return ESP_OK;
    enum esp_status status = given_up_peers_create(agent, error);
    return status == ESP_OK ? disowned_load(options->state_dir, time(NULL), &agent->disowned, error) : status;
}

void data_given_up_clear(struct agent *agent)
{
    disowned_destroy(agent->disowned);
}

/* Who gives up what is his says so himself: a peer that passes a question on does not tell who he is. */
bool data_is_given_up(const struct agent *agent, const struct call *call, const struct data *asked)
{
    return agent->disowned && !passed_is(call) && extension_find(&asked->extensions, EXTENSION_DISOWNED);
}

static struct message *tell_noted(void)
{
    struct message *reply = message_create(MESSAGE_DATA_REPLY);
    if (reply && extension_add(&reply->data_reply.extensions, EXTENSION_DISOWNED, "", 0, &reply->arena))
        return reply;
    message_destroy(reply);
    return NULL;
}

struct message *data_given_up_note(struct agent *agent, const struct call *call, const struct data *asked)
{
    char text[DATUM_TEXT];
    struct datum_id id;
    struct esp_error error;
    const char *identity = call_envelope(call)->identity, *owner = identity ? identity : "";
    enum esp_status status = datum_id_parse(asked->datum, &id, &error);
    if (status == ESP_OK)
        status = disowned_note(agent->disowned, &id, owner, time(NULL), &error);
    if (status != ESP_OK)
        return message_failure(MESSAGE_DATA_REPLY, status, "%s", error.text);
    log_notice("%s was given up: servers that have it and come back delete it", datum_id_short(&id, text));
    data_given_up_heard(agent, &(struct disowned_datum){id, owner});
    given_up_peers_tell(agent);
    return tell_noted();
}

void data_given_up_heard(struct agent *agent, const struct disowned_datum *datum)
{
    char bytes[DATUM_GIVEN_UP_BYTES];
    const struct extension what = datum_given_up_pack(&datum->id, datum->owner, bytes);
    if (post_where_it_is(agent, datum->id.key, &what))
        look_again_in(agent, AGAIN_NS);
}

void data_given_up_found(struct agent *agent, const struct child *child, const struct report *report)
{
    const struct extension *told = extension_find(&report->extensions, EXTENSION_DATA);
    struct location_change change;
    struct disowned_datum datum;
    char text[DATUM_TEXT], bytes[DATUM_GIVEN_UP_BYTES];
    if (!told || !agent->disowned || disowned_count(agent->disowned) == 0)
        return;
    for (uint32_t i = 0; location_unpack(told, i, &change); i++) {
        if (!change.here || !disowned_find(agent->disowned, change.key, &datum))
            continue;
        log_notice("%s, which was given up, is below \"%s\" again: it is to go from there",
                   datum_id_short(&datum.id, text), child->name);
        const struct extension what = datum_given_up_pack(&datum.id, datum.owner, bytes);
        post_to(agent, child, &what);
        look_again_in(agent, AGAIN_NS);
    }
}

void data_given_up_pass_on(struct agent *agent, const struct order *order)
{
    const struct extension *what = extension_find(&order->extensions, EXTENSION_DISOWNED);
    struct datum_id id;
    const char *owner;
    if (datum_given_up_read(what, &id, &owner))
        post_where_it_is(agent, id.key, what);
}
