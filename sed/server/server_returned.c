/* SPDX-License-Identifier: Apache-2.0
 *
 * What was deleted while this server was away: after its start it asks the other servers that keep a datum
 * for good, too, and whom it has noted (store_places()), whether that was deleted there. Who deleted it could
 * not tell this server, and so it goes now. One of them that does not answer is asked again for some time.
 */
#include "sed/server/server_data_internal.h"

#include "sed/server/server_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_MS    500 /* until they are asked again; twice as long before each further time, at most: */
#define LONGEST_MS  30000
#define ROUNDS      60
#define ASK_MS      5000
#define MOST_PLACES 64 /* servers whose answers are minded for a round */
#define MOST_LEVELS 16 /* of agents */

struct returned {
    struct thread_job job;
    struct server *server;
    struct datum_key *keys; /* of data of which not all have told yet */
    size_t n, capacity;
    bool under_way;
    unsigned rounds;
    int64_t due_ns;
};

/* Where a server is, in this round. */
struct neighbour {
    char name[CAP_NAME + 1], address[CAP_ADDRESS + 1]; /* address "": it is not there, or silent */
};

struct round {
    struct returned *of;
    struct transport *transport;
    char parent[CAP_ADDRESS + 1];
    struct neighbour places[MOST_PLACES];
    size_t n_places;
};

static void note(void *arg, const struct datum_id *id, uint64_t bytes)
{
    struct returned *returned = arg;
    size_t named;
    (void)bytes;
    if (!store_places(returned->server->data.store, id->key, &named))
        return;
    if (returned->n == returned->capacity) {
        const size_t capacity = returned->capacity ? 2 * returned->capacity : 16;
        void *keys = realloc(returned->keys, capacity * sizeof *returned->keys);
        if (!keys)
            return; /* the next start asks */
        returned->keys = keys;
        returned->capacity = capacity;
    }
    returned->keys[returned->n++] = id->key;
}

void returned_begin(struct server *server)
{
    struct returned *returned = calloc(1, sizeof *returned);
    if (!returned)
        return;
    returned->server = server;
    store_each(server->data.store, note, returned);
    server->data.returned = returned;
}

/* ---- the thread's part ---- */

static bool is_over(const struct round *round)
{
    struct server *server = round->of->server;
    endpoint_enter(server->endpoint);
    const bool over = server->data.leaving;
    endpoint_leave(server->endpoint);
    return over;
}

/* The agent above that one, which is asked for a datum, as only that answer tells. False: none is. */
static bool climb(const struct round *round, const char *id, char address[CAP_ADDRESS + 1])
{
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = id, .after = ""}}, reply = {0};
    transport_call(round->transport, address, &request, ASK_MS, &reply, NULL);
    const struct extension *above = reply.kind == MESSAGE_DATA_REPLY
                                        ? extension_find(&reply.data_reply.extensions, EXTENSION_ABOVE)
                                        : NULL;
    const bool found = above && above->length > 0 && above->length <= CAP_ADDRESS;
    if (found) {
        memcpy(address, above->value, above->length);
        address[above->length] = 0;
    }
    message_clear(&reply);
    return found;
}

/* Where agents say that the server is; "": none of them knows. */
static void locate(const struct round *round, const char *id, struct neighbour *place)
{
    char agent[CAP_ADDRESS + 1];
    snprintf(agent, sizeof agent, "%s", round->parent);
    place->address[0] = 0;
    for (unsigned level = 0; *agent && level < MOST_LEVELS; level++) {
        struct message request = {.kind = MESSAGE_TREE, .tree = {.node = place->name}}, reply = {0};
        const enum esp_status status =
            transport_call(round->transport, agent, &request, ASK_MS, &reply, NULL);
        const struct node_record *record =
            status == ESP_OK && reply.tree_reply.n_records > 0 ? &reply.tree_reply.records[0] : NULL;
        if (record && record->role == ROLE_SERVER && strlen(record->address) <= CAP_ADDRESS)
            snprintf(place->address, sizeof place->address, "%s", record->address);
        message_clear(&reply);
        if (*place->address || !climb(round, id, agent))
            return;
    }
}

static struct neighbour *place_of(struct round *round, const char *id, const char *name)
{
    for (size_t i = 0; i < round->n_places; i++)
        if (strcmp(round->places[i].name, name) == 0)
            return &round->places[i];
    struct neighbour *place =
        &round->places[round->n_places < MOST_PLACES ? round->n_places++ : MOST_PLACES - 1];
    snprintf(place->name, sizeof place->name, "%s", name);
    locate(round, id, place);
    return place;
}

enum told { TOLD_NOTHING, TOLD_KEPT, TOLD_DELETED };

static enum told ask(const struct round *round, const char *id, struct neighbour *place)
{
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = id, .after = ""}}, reply = {0};
    enum esp_status status = ESP_UNREACHABLE;
    if (*place->address)
        status = transport_call(round->transport, place->address, &request, ASK_MS, &reply, NULL);
    const bool answered = reply.kind == MESSAGE_DATA_REPLY;
    const bool deleted = answered && status == ESP_NOT_FOUND &&
                         extension_find(&reply.data_reply.extensions, EXTENSION_DELETED);
    message_clear(&reply);
    if (!answered)
        place->address[0] = 0; /* the next datum does not wait for it */
    return deleted ? TOLD_DELETED : answered ? TOLD_KEPT : TOLD_NOTHING;
}

/* That server need not name this one any more. One that does not hear it goes on, which is no harm. */
static void tell_gone(const struct round *round, const char *id, const struct neighbour *place)
{
    const char *name = round->of->server->name;
    struct extension settled = {EXTENSION_SETTLED, (const uint8_t *)name, (uint32_t)strlen(name) + 1};
    struct message request = {.kind = MESSAGE_DROP, .drop = {.datum = id, .extensions = {&settled, 1}}},
                   reply = {0};
    transport_call(round->transport, place->address, &request, ASK_MS, &reply, NULL);
    message_clear(&reply);
}

/* It could not be deleted when everybody else's was. */
static bool let_go(const struct round *round, const struct datum_id *id, const struct neighbour *place)
{
    struct server *server = round->of->server;
    const struct store_asker trusted = {.trusted = true};
    char text[DATUM_TEXT];
    struct esp_error error;
    endpoint_enter(server->endpoint);
    const enum esp_status status = store_delete(server->data.store, &trusted, id, &error);
    endpoint_leave(server->endpoint);
    if (status == ESP_OK)
        log_notice("%s: it was deleted on server %s while this server was away: it goes here, too",
                   datum_id_short(id, text), place->name);
    else if (status != ESP_NOT_FOUND)
        log_warning("%s: it was deleted on server %s, and cannot be deleted here: %s",
                    datum_id_short(id, text), place->name, error.text);
    return status == ESP_OK || status == ESP_NOT_FOUND;
}

/* The datum, and who keeps it, too: names, for free(). NULL: it is not here, or nobody else keeps it. */
static char *look(const struct round *round, struct datum_key key, struct datum_id *id, size_t *bytes)
{
    struct server *server = round->of->server;
    const struct store_asker trusted = {.trusted = true};
    struct store_entry entry;
    char *copy = NULL;
    *id = (struct datum_id){.key = key};
    endpoint_enter(server->endpoint);
    if (store_look(server->data.store, &trusted, id, &entry, NULL) == ESP_OK) {
        const char *names = store_places(server->data.store, key, bytes);
        *id = entry.id;
        copy = names ? malloc(*bytes) : NULL;
        if (copy)
            memcpy(copy, names, *bytes);
    }
    endpoint_leave(server->endpoint);
    return copy;
}

/* Whether all has been told that there is to hear of it. */
static bool is_told(struct round *round, struct datum_key key)
{
    struct datum_id id;
    size_t bytes = 0;
    char text[DATUM_TEXT];
    char *names = look(round, key, &id, &bytes);
    bool all = true, gone = false;
    datum_id_text(&id, text);
    for (size_t at = 0; names && !gone && at < bytes; at += strlen(names + at) + 1) {
        struct neighbour *place = place_of(round, text, names + at);
        const enum told told = ask(round, text, place);
        all &= told != TOLD_NOTHING;
        if (told != TOLD_DELETED)
            continue;
        gone = let_go(round, &id, place);
        all &= gone;
        if (gone)
            tell_gone(round, text, place);
    }
    free(names);
    return all || gone;
}

static void settle(struct returned *returned, size_t left)
{
    returned->under_way = false;
    returned->rounds++;
    returned->n = returned->rounds < ROUNDS ? left : 0;
    const unsigned doublings = returned->rounds < 8 ? returned->rounds - 1 : 7;
    const int64_t pause_ms = (int64_t)FIRST_MS << doublings;
    returned->due_ns =
        server_now(returned->server) + (pause_ms < LONGEST_MS ? pause_ms : LONGEST_MS) * NS_PER_MS;
    returned->server->data.due_ns = 0;
}

static void returned_run(void *arg)
{
    struct returned *returned = arg;
    struct server *server = returned->server;
    struct round *round = calloc(1, sizeof *round);
    size_t left = 0;
    endpoint_enter(server->endpoint);
    const char *parent = membership_parent_address(server->membership);
    if (round)
        snprintf(round->parent, sizeof round->parent, "%s", parent ? parent : "");
    endpoint_leave(server->endpoint);
    if (round) {
        round->of = returned;
        round->transport = server->endpoint->transport;
    }
    for (size_t i = 0; i < returned->n; i++)
        if (!round || is_over(round) || !is_told(round, returned->keys[i]))
            returned->keys[left++] = returned->keys[i];
    free(round);
    endpoint_enter(server->endpoint);
    settle(returned, left);
    endpoint_leave(server->endpoint);
}

/* Those who are part of a hierarchy wait until it can be asked; others know nobody. */
int64_t returned_tick(struct server *server, int64_t now_ns)
{
    struct returned *returned = server->data.returned;
    struct errands *errands = server->data.errands;
    if (!returned || returned->n == 0 || returned->under_way || !errands || server->data.leaving ||
        !server_has_parents(server))
        return CLOCK_NEVER;
    if (!membership_joined(server->membership))
        return now_ns + FIRST_MS * NS_PER_MS;
    if (returned->due_ns > now_ns)
        return returned->due_ns;
    returned->job = (struct thread_job){.run = returned_run, .arg = returned};
    returned->under_way = errands->submit(errands, &returned->job);
    return returned->under_way ? CLOCK_NEVER : now_ns + FIRST_MS * NS_PER_MS;
}

void returned_release(struct server *server)
{
    if (server->data.returned)
        free(server->data.returned->keys);
    free(server->data.returned);
    server->data.returned = NULL;
}
