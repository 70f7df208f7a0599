/* SPDX-License-Identifier: Apache-2.0
 *
 * Locations of data: through which child each datum below is reached. A node that looks for a datum asks
 * this agent, and the answer refers it to the servers that hold the datum, to the agents below that know
 * its place, or to the parent agent.
 */
#include "agent/agent_internal.h"
#include "agent/peers.h"

#include <stdlib.h>
#include <time.h>

static size_t data_children_of(const struct agent *agent, struct datum_key key, struct child **children,
                               size_t capacity);
static void data_given_up_found(struct agent *agent, const struct child *child, const struct report *report);

#define MOST_NAMED 16 /* most children in one answer */

/* A child, by its number in the table. */
struct reach {
    struct child *child;
    uint32_t number;
    uint32_t stand_in; /* while the child sends a complete list */
    bool replacing;
    UT_hash_handle hh; /* by child */
};

static struct reach *find(const struct agent *agent, const struct child *child)
{
    struct reach *reach;
    HASH_FIND_PTR(agent->reaches, &child, reach);
    return reach;
}

static struct child *child_of(const struct agent *agent, uint32_t number)
{
    for (struct reach *reach = agent->reaches; reach; reach = reach->hh.next)
        if (reach->number == number || (reach->replacing && reach->stand_in == number))
            return reach->child;
    return NULL;
}

enum esp_status data_create(struct agent *agent, uint64_t seed, struct esp_error *error)
{
    const struct location_options options = {.seed = seed, .track = !agent->is_master};
    return location_create(&options, &agent->location, error);
}

void data_clear(struct agent *agent)
{
    struct reach *reach, *next;
    HASH_ITER(hh, agent->reaches, reach, next)
    {
        HASH_DEL(agent->reaches, reach);
        free(reach);
    }
    location_destroy(agent->location);
}

bool data_joined(struct agent *agent, struct child *child)
{
    struct reach *reach = calloc(1, sizeof *reach);
    if (!reach)
        return false;
    reach->child = child;
    if (location_child(agent->location, &reach->number, NULL) != ESP_OK) {
        free(reach);
        return false;
    }
    HASH_ADD_PTR(agent->reaches, child, reach);
    if (reach->hh.tbl)
        return true;
    location_child_remove(agent->location, reach->number);
    free(reach);
    return false;
}

static void end_replacing(struct agent *agent, struct reach *reach)
{
    if (reach->replacing)
        location_replace_end(agent->location, reach->number, reach->stand_in);
    reach->replacing = false;
}

void data_lost(struct agent *agent, struct child *child)
{
    struct reach *reach = find(agent, child);
    if (!reach)
        return;
    end_replacing(agent, reach);
    location_child_remove(agent->location, reach->number);
    HASH_DEL(agent->reaches, reach);
    free(reach);
}

bool data_on_report(struct agent *agent, struct child *child, const struct report *report)
{
    struct reach *reach = find(agent, child);
    if (!reach)
        return false;
    if (child->part == REPORT_COMPLETE || child->part == REPORT_BEGINS) {
        end_replacing(agent, reach);
        reach->replacing = location_replace_begin(agent->location, &reach->stand_in, NULL) == ESP_OK;
    }
    location_hear(agent->location, reach->replacing ? reach->stand_in : reach->number, report);
    if (child->part == REPORT_COMPLETE || child->part == REPORT_ENDS)
        end_replacing(agent, reach);
    data_given_up_found(agent, child, report);
    return location_has_changes(agent->location);
}

size_t data_children(const struct agent *agent, const char *datum, struct child **children, size_t capacity)
{
    struct datum_id id;
    if (datum_id_parse(datum, &id, NULL) != ESP_OK)
        return 0;
    return data_children_of(agent, id.key, children, capacity);
}

static size_t data_children_of(const struct agent *agent, struct datum_key key, struct child **children,
                               size_t capacity)
{
    uint32_t numbers[MOST_NAMED];
    size_t found = 0;
    uint32_t n = location_find(agent->location, key, NULL, numbers, MOST_NAMED);
    for (uint32_t i = 0; i < n && i < MOST_NAMED && found < capacity; i++) {
        struct child *child = child_of(agent, numbers[i]);
        if (child)
            children[found++] = child;
    }
    return found;
}

/* ---- questions ---- */

static bool add_above(const struct agent *agent, struct message *reply)
{
    const char *address = agent->membership && membership_joined(agent->membership)
                              ? membership_parent_address(agent->membership)
                              : NULL;
    if (!address)
        return true;
    struct extension *extension = arena_alloc(&reply->arena, sizeof *extension);
    const char *copy = arena_strdup(&reply->arena, address);
    if (!extension || !copy)
        return false;
    *extension = (struct extension){EXTENSION_ABOVE, (const uint8_t *)copy, (uint32_t)strlen(copy)};
    reply->data_reply.extensions = (struct extensions){extension, 1};
    return true;
}

/* Adds the child by its name and address. An empty `server` in the reply means that the child is an agent. */
static bool add_child(const struct child *child, const char *datum, uint64_t bytes, struct message *reply)
{
    struct datum_info *info = &reply->data_reply.items[reply->data_reply.n++];
    *info = (struct datum_info){.bytes = bytes, .complete = child->role == ROLE_SERVER};
    info->datum = arena_strdup(&reply->arena, datum);
    info->server = arena_strdup(&reply->arena, child->role == ROLE_SERVER ? child->name : "");
    info->address = arena_strdup(&reply->arena, child->address);
    return info->datum && info->server && info->address;
}

struct message *data_where(struct agent *agent, const struct data *asked)
{
    struct datum_id id;
    struct esp_error error;
    uint32_t numbers[MOST_NAMED];
    uint64_t bytes = 0;
    if (!asked->datum[0])
        return message_failure(MESSAGE_DATA_REPLY, ESP_INVALID,
                               "\"%s\" is an agent: expected the identity of a datum, found none",
                               agent->name);
    if (datum_id_parse(asked->datum, &id, &error) != ESP_OK)
        return message_failure(MESSAGE_DATA_REPLY, error.status, "%s", error.text);
    uint32_t n = location_find(agent->location, id.key, &bytes, numbers, MOST_NAMED);
    struct message *reply = message_create(MESSAGE_DATA_REPLY);
    if (!reply)
        return NULL;
    reply->data_reply.items = arena_alloc(&reply->arena, MOST_NAMED * sizeof *reply->data_reply.items);
    bool whole = reply->data_reply.items && add_above(agent, reply);
    for (uint32_t i = 0; whole && i < n && i < MOST_NAMED; i++) {
        const struct child *child = child_of(agent, numbers[i]);
        whole = !child || add_child(child, asked->datum, bytes, reply);
    }
    if (whole)
        return reply;
    message_destroy(reply);
    return NULL;
}

/* Data that were given up while their servers could not be reached. A master agent remembers them. When
 * one of them is reported below again, the agent sends an order down to delete it. The order can get lost,
 * and the server may be writing the datum; so the order is repeated as long as the datum is known below. */

#define AGAIN_NS      (10 * NS_PER_S) /* the interval doubles each time, up to: */
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

/* Sends the order to each child that has the datum. Returns whether there is one. */
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

/* Only a datum's owner may give it up. A question that a peer passes on does not carry the owner's
 * identity, and is refused. */
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

/* Orders the child to delete data in its report that were given up. */
static void data_given_up_found(struct agent *agent, const struct child *child, const struct report *report)
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
