/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/data.h"
#include "client/session/library.h"
#include "client/session/engine.h"
#include "client/session/route.h"
#include "client/session/session.h"
#include "core/data/datum_section.h"
#include "util/clock.h"
#include "util/package.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_MS 50

/* A server that is asked while others are left gets this share of the time, so that a stopped server
 * leaves time for the others. */
#define SHARE 3

/* And at first no more than this; longer after the others have been asked. */
#define SILENCE_MS 2000

/* Milliseconds that one question may take. */
static int64_t time_ms(const struct engine *engine, bool others)
{
    const int64_t left_ms = deadline_left_ms(engine->clock, INT64_MAX);
    const int64_t own_ms = others && left_ms < INT64_MAX ? left_ms / SHARE + 1 : left_ms;
    return own_ms < engine->call_timeout_ms ? own_ms : engine->call_timeout_ms;
}

/* `each_ms`: for one answer; `all_ms`: while the store is busy. */
static enum esp_status ask_within(struct engine *engine, const char *address, const struct message *request,
                                  int64_t each_ms, int64_t all_ms, struct message *reply,
                                  struct esp_error *error)
{
    const int64_t until_ns = clock_now_ns(&clock_system) + all_ms * NS_PER_MS;
    for (;;) {
        enum esp_status status = transport_call(engine->transport, address, request, each_ms, reply, error);
        if (status != ESP_BUSY || clock_now_ns(&clock_system) >= until_ns || atomic_load(&engine->closing))
            return status;
        message_clear(reply);
        engine_pause(&engine->closing, BUSY_MS);
    }
}

enum esp_status data_ask(struct engine *engine, const char *address, const struct message *request,
                         struct message *reply, struct esp_error *error)
{
    const int64_t all_ms = time_ms(engine, false);
    return ask_within(engine, address, request, all_ms, all_ms, reply, error);
}

enum esp_status data_ask_within(struct engine *engine, const char *address, const struct message *request,
                                int64_t most_ms, struct message *reply, struct esp_error *error)
{
    const int64_t all_ms = time_ms(engine, false);
    return ask_within(engine, address, request, most_ms < all_ms ? most_ms : all_ms, all_ms, reply, error);
}

/* The servers in the trees of all master agents. */
struct platform_servers {
    struct data_holder *items;
    size_t n, capacity;
    bool no_memory;
    size_t masters;          /* that have answered */
    struct esp_error missed; /* why the first master without an answer did not answer */
};

static bool has_server(const struct platform_servers *servers, const char *address)
{
    for (size_t i = 0; i < servers->n; i++)
        if (strcmp(servers->items[i].address, address) == 0)
            return true;
    return false;
}

static void add_server(struct platform_servers *servers, const struct node_record *record)
{
    if (record->role != ROLE_SERVER || !record->address[0] || has_server(servers, record->address))
        return;
    if (servers->n == servers->capacity) {
        const size_t capacity = servers->capacity ? 2 * servers->capacity : 64;
        void *grown = realloc(servers->items, capacity * sizeof *servers->items);
        servers->no_memory |= !grown;
        if (!grown)
            return;
        servers->items = grown;
        servers->capacity = capacity;
    }
    struct data_holder *server = &servers->items[servers->n++];
    *server = (struct data_holder){.is_far = servers->masters > 0};
    snprintf(server->server, sizeof server->server, "%s", record->name);
    snprintf(server->address, sizeof server->address, "%s", record->address);
}

static void take_tree(void *arg, const char *address, const struct message *reply,
                      const struct esp_error *why)
{
    struct platform_servers *servers = arg;
    for (uint32_t i = 0; reply && i < reply->tree_reply.n_records; i++)
        add_server(servers, &reply->tree_reply.records[i]);
    servers->masters += reply != NULL;
    if (!why || servers->missed.status != ESP_OK)
        return;
    servers->missed = *why;
    if (!strstr(why->text, address))
        error_prefix_at(&servers->missed, "master agent", address);
}

/* For one server, only the master agent that knows it is asked. */
static enum esp_status find_servers(struct engine *engine, const char *only, int64_t timeout_ms,
                                    struct platform_servers *servers, struct esp_error *error)
{
    const struct message request = {.kind = MESSAGE_TREE, .tree = {.node = only ? only : ""}};
    struct message reply = {0};
    enum esp_status status;
    if (!only) {
        status = route_ask_all(engine->route, &request, timeout_ms, take_tree, servers, error);
    } else {
        status = route_ask(engine->route, &request, timeout_ms, &reply, error);
        if (status == ESP_OK)
            take_tree(servers, "", &reply, NULL);
        message_clear(&reply);
    }
    if (status == ESP_OK && servers->no_memory)
        status = error_no_memory(error, "the list of servers");
    return status;
}

static enum esp_status each_server(struct engine *engine, const char *only, int64_t timeout_ms,
                                   enum esp_status (*visit)(void *arg, const struct data_holder *server,
                                                            struct esp_error *error),
                                   void *arg, struct esp_error *missed, struct esp_error *error)
{
    struct platform_servers servers = {.n = 0};
    bool found = false;
    enum esp_status status = find_servers(engine, only, timeout_ms, &servers, error);
    for (size_t i = 0; status == ESP_OK && i < servers.n; i++) {
        if (only && strcmp(servers.items[i].server, only) != 0)
            continue;
        found = true;
        status = visit(arg, &servers.items[i], error);
    }
    if (missed)
        *missed = servers.missed;
    free(servers.items);
    if (status == ESP_OK && only && !found)
        status = error_set(error, ESP_NOT_FOUND, "no server of the hierarchy has the name \"%s\"", only);
    return status;
}

enum esp_status data_each_server(struct engine *engine, const char *only,
                                 enum esp_status (*visit)(void *arg, const struct data_holder *server,
                                                          struct esp_error *error),
                                 void *arg, struct esp_error *missed, struct esp_error *error)
{
    return each_server(engine, only, engine->call_timeout_ms, visit, arg, missed, error);
}

void data_read_copies(const struct extensions *extensions,
                      void (*visit)(void *arg, const struct data_holder *server), void *arg)
{
    const struct extension *told = extension_find(extensions, EXTENSION_COPIES);
    struct data_holder server = {0};
    if (!told || told->length == 0 || told->value[told->length - 1] != 0)
        return;
    const char *at = (const char *)told->value, *end = at + told->length;
    while (at < end) {
        const char *name = at, *address = name + strlen(name) + 1;
        if (address >= end)
            return;
        snprintf(server.server, sizeof server.server, "%s", name);
        snprintf(server.address, sizeof server.address, "%s", address);
        visit(arg, &server);
        at = address + strlen(address) + 1;
    }
}

void data_read_places(const struct extensions *extensions, void (*visit)(void *arg, const char *name),
                      void *arg)
{
    const struct extension *told = extension_find(extensions, EXTENSION_PLACES);
    if (!told || told->length == 0 || told->value[told->length - 1] != 0)
        return;
    const char *name = (const char *)told->value, *end = name + told->length;
    for (; name < end; name += strlen(name) + 1)
        if (*name && strlen(name) <= CAP_NAME)
            visit(arg, name);
}

#define MOST_ASKED  64 /* servers, for one datum */
#define MOST_PLACES 16

struct search {
    struct engine *engine;
    const char *id, *origin;
    bool all;
    struct data_holder *holders;
    size_t n;
    struct data_holder asked[MOST_ASKED]; /* from `next` on: to be asked, as others name them */
    size_t n_asked, next;
    bool timed_out[MOST_ASKED];             /* did not answer within the usual time */
    char places[MOST_PLACES][CAP_NAME + 1]; /* servers that should have it, reached or not */
    size_t n_places;
    struct esp_error *why; /* the answer of the datum's maker */
    struct data_witnesses *witnesses;
    bool thorough; /* the caller needs the answers of all servers */
};

static void note_silent(struct search *search, const char *name)
{
    struct data_witnesses *witnesses = search->witnesses;
    for (size_t i = 0; i < witnesses->n_silent; i++)
        if (strcmp(witnesses->silent[i], name) == 0)
            return;
    if (witnesses->n_silent < DATA_MOST_HOLDERS)
        snprintf(witnesses->silent[witnesses->n_silent++], sizeof witnesses->silent[0], "%s", name);
}

static void note_told(struct search *search, const struct data_holder *server)
{
    struct data_witnesses *witnesses = search->witnesses;
    if (witnesses->n_told < DATA_MOST_HOLDERS)
        witnesses->told[witnesses->n_told++] = *server;
}

static void note_server(void *arg, const struct data_holder *server)
{
    struct search *search = arg;
    for (size_t i = 0; i < search->n_asked; i++)
        if (strcmp(search->asked[i].address, server->address) == 0)
            return; /* a name may mean the server before its restart */
    if (search->n_asked < MOST_ASKED)
        search->asked[search->n_asked++] = *server;
}

static void note_place(void *arg, const char *name)
{
    struct search *search = arg;
    for (size_t i = 0; i < search->n_places; i++)
        if (strcmp(search->places[i], name) == 0)
            return;
    if (search->n_places < MOST_PLACES)
        snprintf(search->places[search->n_places++], sizeof search->places[0], "%s", name);
}

static void forget_silence(struct search *search, const char *name)
{
    struct data_witnesses *witnesses = search->witnesses;
    for (size_t i = 0; i < witnesses->n_silent; i++)
        if (strcmp(witnesses->silent[i], name) == 0) {
            memmove(witnesses->silent[i], witnesses->silent[i + 1],
                    (--witnesses->n_silent - i) * sizeof witnesses->silent[0]);
            return;
        }
}

static bool is_silence(enum esp_status status)
{
    return status == ESP_UNREACHABLE || status == ESP_TIMEOUT;
}

/* Asks one server whether it has the datum. A server that cannot be reached, or stores no data, has
 * nothing. Notes the servers that have fetched copies from it. */
static enum esp_status look(struct search *search, const struct data_holder *server, int64_t most_ms)
{
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = search->id, .after = ""}}, reply = {0};
    struct esp_error said;
    bool is_origin = !strcmp(server->server, search->origin);
    enum esp_status status =
        data_ask_within(search->engine, server->address, &request, most_ms, &reply, &said);
    if (status == ESP_MAYBE) /* a question executes nothing */
        status = said.status = ESP_UNREACHABLE;
    if (is_silence(status)) {
        error_prefix_at(&said, server->server, server->address);
        note_silent(search, server->server);
    } else {
        note_told(search, server);
    }
    if (status == ESP_OK && reply.data_reply.n > 0) {
        search->holders[search->n] = *server;
        search->holders[search->n++].flags = reply.data_reply.items[0].flags;
    }
    /* Of all failures, a refusal for lack of rights says most, then the maker's answer. */
    else if (is_origin || (status == ESP_REFUSED && search->why->status != ESP_REFUSED && reply.kind &&
                           strstr(said.text, "belongs")))
        *search->why = said;
    if (reply.kind == MESSAGE_DATA_REPLY) {
        data_read_copies(&reply.data_reply.extensions, note_server, search);
        data_read_places(&reply.data_reply.extensions, note_place, search);
    }
    message_clear(&reply);
    return status;
}

/* Asks all noted servers, and the servers that these name. A stopped one does not keep the search from the
 * others. */
static void look_at_noted(struct search *search)
{
    const int64_t own_ms = time_ms(search->engine, true);
    while (search->next < search->n_asked && search->n < DATA_MOST_HOLDERS &&
           (search->all || search->n == 0)) {
        const size_t i = search->next++;
        search->timed_out[i] =
            look(search, &search->asked[i], own_ms < SILENCE_MS ? own_ms : SILENCE_MS) == ESP_TIMEOUT;
    }
}

/* Asks the servers again that did not answer, with all the time left, if only they may have the datum, or
 * if the caller needs the answers of all servers. */
static void look_at_silent(struct search *search)
{
    for (size_t i = 0; i < search->next && search->n < DATA_MOST_HOLDERS; i++) {
        if (!search->timed_out[i] || (search->n > 0 && !search->thorough))
            continue;
        forget_silence(search, search->asked[i].server);
        look(search, &search->asked[i], time_ms(search->engine, true));
    }
    look_at_noted(search);
}

static enum esp_status note_origin(void *arg, const struct data_holder *server, struct esp_error *error)
{
    (void)error;
    note_server(arg, server);
    return ESP_OK;
}

static bool is_reached(struct search *search, const char *address)
{
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = search->id, .after = ""}}, reply = {0};
    enum esp_status status =
        data_ask_within(search->engine, address, &request, time_ms(search->engine, true), &reply, NULL);
    message_clear(&reply);
    return !is_silence(status) && status != ESP_MAYBE;
}

bool data_has_original(const struct data_holder *holders, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(holders[i].flags & DATUM_REPLICA))
            return true;
    return false;
}

static bool is_found(const struct search *search)
{
    return search->all ? data_has_original(search->holders, search->n) : search->n > 0;
}

/* No server that was asked has the datum, or (if all holders are wanted) only replicas were found. A
 * server that was named as its place and is silent may have it. */
static void look_at_places(struct search *search)
{
    struct esp_error why;
    char said[sizeof search->why->text];
    for (size_t i = 0; i < search->n_places && !is_found(search); i++) {
        struct data_holder server = {0};
        const char *name = search->places[i];
        snprintf(server.server, sizeof server.server, "%s", name);
        bool there = engine_resolve(search->engine, name, server.address, &why) == ESP_OK;
        if (there) {
            note_server(search, &server);
            look_at_noted(search);
            there = is_found(search) || is_reached(search, server.address);
        }
        if (there)
            continue;
        note_silent(search, name);
        snprintf(said, sizeof said, "%s", search->why->text);
        error_set(
            search->why, ESP_UNREACHABLE,
            strstr(said, "it was deleted")
                ? "%s where it was reached; server %s cannot be reached, and has it still if it kept it: "
                  "delete it again when it is back, or give that up ('espalier data rm --force')"
                : "%s; server %s cannot be reached",
            said, name);
    }
}

/* An agent that may know the datum's place, or a server that should have it. */
struct lead {
    char address[CAP_ADDRESS + 1];
};

#define MOST_LEADS 64

#define AGAIN_MS 100

/* Whether a node that may know the place may come back: agents, or a redirector, that are restarting, or
 * have answered before.
 */
static bool may_be_told(const struct engine *engine, enum esp_status status, int64_t passed_ns)
{
    if (status == ESP_NO_SERVER)
        return route_is_deserted(engine->route);
    return (status == ESP_UNREACHABLE || status == ESP_MAYBE) &&
           (passed_ns < PATIENCE_GONE_NS || route_was_there(engine->route));
}

/* The question executes nothing. */
static enum esp_status ask_masters(struct engine *engine, const struct message *request,
                                   struct message *reply, struct esp_error *error)
{
    struct patience patience = patience_begin(engine->agent_patience_ms, 0, clock_now_ns(engine->clock));
    const int64_t begun_ns = clock_now_ns(engine->clock);
    int64_t gone_ns = 0;
    for (;;) {
        const enum esp_status status =
            route_ask(engine->route, request, time_ms(engine, false), reply, error);
        const int64_t now_ns = clock_now_ns(engine->clock);
        gone_ns = gone_ns ? gone_ns : now_ns;
        if (status == ESP_OK || !may_be_told(engine, status, now_ns - gone_ns) ||
            !patience_lasts(&patience, false, now_ns) || atomic_load(&engine->closing) ||
            deadline_left_ms(engine->clock, AGAIN_MS) < AGAIN_MS) {
            if (status != ESP_OK)
                patience_tell("a master agent that knows the datum", begun_ns, now_ns, error);
            return status;
        }
        message_clear(reply);
        engine_pause(&engine->closing, AGAIN_MS);
    }
}

/* Follows the agents' referrals: down from the master agent, only to subtrees that have the datum. */
static enum esp_status ask_agents(struct search *search, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = search->id, .after = ""}}, reply = {0};
    struct engine *engine = search->engine;
    struct lead leads[MOST_LEADS];
    size_t n = 0, next = 0;
    enum esp_status status = ask_masters(engine, &request, &reply, error);
    while (status == ESP_OK) {
        for (uint32_t i = 0; i < reply.data_reply.n; i++) {
            const struct datum_info *info = &reply.data_reply.items[i];
            struct data_holder server = {0};
            snprintf(server.server, sizeof server.server, "%s", info->server);
            snprintf(server.address, sizeof server.address, "%s", info->address);
            if (server.server[0])
                note_server(search, &server);
            else if (n < MOST_LEADS)
                snprintf(leads[n++].address, sizeof leads->address, "%s", info->address);
        }
        message_clear(&reply);
        look_at_noted(search);
        if (next == n)
            return ESP_OK;
        /* An agent that cannot be reached refers to no other node. */
        if (transport_call(engine->transport, leads[next++].address, &request, time_ms(engine, true), &reply,
                           NULL) != ESP_OK)
            reply.data_reply.n = 0;
    }
    message_clear(&reply);
    return status;
}

/* Does not report that no server has the datum, because a holder, or a node that knows one, may not have
 * answered. */
static enum esp_status tell_silence(const char *id, const struct esp_error *why, struct esp_error *error)
{
    return error_set(error, why->status,
                     "datum %s: %s; no other server is known to have it: try again when that one answers "
                     "('espalier tree' shows who does), or give it more time",
                     id, why->text);
}

/* Servers report their data to agents in batches, so a server that got a copy a moment ago is not known
 * there yet. Before a datum is given up because its holder is silent, the agents are asked again. */
#define TOLD_ABOVE_MS 400

static void look_again(struct search *search)
{
    const struct esp_error why = *search->why;
    engine_pause(&search->engine->closing, TOLD_ABOVE_MS);
    struct esp_error error;
    if (ask_agents(search, &error) != ESP_OK || search->n == 0)
        *search->why = why;
}

#define MOST_TRIES 8

struct wish {
    bool all;      /* as in data_find() */
    bool thorough; /* find the original if there is one, and ask all servers */
    bool patient;  /* wait for servers that are restarting */
};

static enum esp_status find_once(struct engine *engine, const struct datum_id *parsed, const char *id,
                                 struct wish wish, struct data_holder *holders, size_t *n_holders,
                                 struct data_witnesses *witnesses, struct esp_error *error)
{
    struct esp_error why;
    enum esp_status status = ESP_OK;
    struct search search = {.engine = engine,
                            .id = id,
                            .origin = parsed->origin,
                            .all = wish.all,
                            .holders = holders,
                            .why = &why,
                            .witnesses = witnesses,
                            .thorough = wish.thorough};
    *witnesses = (struct data_witnesses){0};
    error_set(&why, ESP_UNREACHABLE, "server %s, which made it, is not there", parsed->origin);
    if (each_server(engine, parsed->origin, time_ms(engine, true), note_origin, &search, NULL, NULL) !=
        ESP_OK)
        note_silent(&search, parsed->origin);
    look_at_noted(&search);
    if (search.n == 0 || wish.all)
        status = ask_agents(&search, error);
    look_at_silent(&search);
    if (!is_found(&search))
        look_at_places(&search);
    if (search.n == 0 && status == ESP_OK && is_silence(why.status))
        look_again(&search);
    *n_holders = search.n;
    witnesses->asked = status == ESP_OK;
    if (search.n > 0)
        return ESP_OK;
    if (status != ESP_OK)
        return error_prefix(error, "no node could be asked for the servers that have a datum");
    char text[DATUM_TEXT];
    datum_id_short(parsed, text);
    return is_silence(why.status) ? tell_silence(text, &why, error)
                                  : error_set(error, why.status, "datum %s: %s", text, why.text);
}

/* Whether a silent server that may have the datum was restarting, and is there now. `may_be`: also if it
 * is there, and was absent when it was looked for a moment ago. */
static bool await_silent(struct engine *engine, const struct data_witnesses *witnesses, bool may_be)
{
    char address[CAP_ADDRESS + 1];
    bool waited;
    for (size_t i = 0; i < witnesses->n_silent; i++)
        if (engine_await_returning(engine, witnesses->silent[i], address, &waited) && (waited || may_be))
            return true;
    return false;
}

static enum esp_status find(struct engine *engine, const char *id, struct wish wish,
                            struct data_holder *holders, size_t *n_holders, struct data_witnesses *witnesses,
                            struct esp_error *error)
{
    struct datum_id parsed;
    if (datum_id_parse(id, &parsed, error) != ESP_OK)
        return ESP_INVALID;
    for (unsigned tries = 1;; tries++) {
        const enum esp_status status =
            find_once(engine, &parsed, id, wish, holders, n_holders, witnesses, error);
        const bool enough = wish.thorough ? data_has_original(holders, *n_holders) : *n_holders > 0;
        if (enough || !wish.patient || tries == MOST_TRIES || !witnesses->asked ||
            (status != ESP_OK && !is_silence(status)) ||
            !await_silent(engine, witnesses, tries == 1 && status == ESP_UNREACHABLE))
            return status;
    }
}

enum esp_status data_find(struct engine *engine, const char *id, bool all, struct data_holder *holders,
                          size_t *n_holders, struct esp_error *error)
{
    struct data_witnesses unread;
    const struct wish wish = {.all = all, .patient = true};
    return find(engine, id, wish, holders, n_holders, &unread, error);
}

enum esp_status data_find_now(struct engine *engine, const char *id, struct data_holder *holders,
                              size_t *n_holders, struct esp_error *error)
{
    struct data_witnesses unread;
    const struct wish wish = {.all = false};
    return find(engine, id, wish, holders, n_holders, &unread, error);
}

enum esp_status data_find_told(struct engine *engine, const char *id, bool patient,
                               struct data_holder *holders, size_t *n_holders,
                               struct data_witnesses *witnesses, struct esp_error *error)
{
    const struct wish wish = {.all = true, .thorough = true, .patient = patient};
    return find(engine, id, wish, holders, n_holders, witnesses, error);
}

/* Lists data and their places. */

/* Answers of servers, before they are packed for the program. */
struct answers {
    struct engine *engine;
    struct message *items;
    size_t n;
    uint64_t entries;
    bool of_damaged;        /* about files that were set aside */
    size_t silent;          /* servers that did not answer */
    struct esp_error first; /* and the error of the first of them */
};

static enum esp_status ask(struct answers *answers, const char *address, const struct data *data,
                           struct message **into, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_DATA, .data = *data};
    struct message *more = realloc(answers->items, (answers->n + 1) * sizeof *more);
    if (!more)
        return error_no_memory(error, "a list of data");
    answers->items = more;
    *into = &more[answers->n++];
    memset(*into, 0, sizeof **into);
    enum esp_status status = data_ask(answers->engine, address, &request, *into, error);
    if (status == ESP_OK)
        answers->entries += (*into)->data_reply.n;
    return status;
}

static void clear(struct answers *answers)
{
    for (size_t i = 0; i < answers->n; i++)
        message_clear(&answers->items[i]);
    free(answers->items);
}

static void unpack_storage(const struct datum_info *from, struct esp_data_info *to)
{
    to->by_rows = from->row_major;
    if (from->storage == STORAGE_PACKED) {
        to->storage = from->layout_a == 'L' ? ESP_DATA_PACKED_LOWER : ESP_DATA_PACKED_UPPER;
    } else if (from->storage == STORAGE_BANDED) {
        to->storage = ESP_DATA_BANDED;
        to->below = from->layout_a;
        to->above = from->layout_b;
        to->front = from->layout_c;
    }
}

static bool unpack(void *package, const struct datum_info *from, bool is_damaged, struct esp_data_info *to)
{
    *to = (struct esp_data_info){.id = package_text(package, from->datum),
                                 .server = package_text(package, from->server),
                                 .address = package_text(package, from->address),
                                 .owner = package_text(package, from->owner),
                                 .type = (enum esp_type)(from->type + 1),
                                 .n_dims = from->n_dims,
                                 .bytes = from->bytes,
                                 .mode = (enum esp_data_mode)from->mode,
                                 .replica = (from->flags & DATUM_REPLICA) != 0,
                                 .unique = (from->flags & DATUM_UNIQUE) != 0,
                                 .in_memory = from->in_memory,
                                 .on_disk = from->on_disk,
                                 .users = from->users,
                                 .gets = from->gets,
                                 .bytes_in = from->bytes_in,
                                 .bytes_out = from->bytes_out,
                                 .created_s = (double)from->created_s,
                                 .idle_s = from->idle_s};
    if (is_damaged && !from->complete)
        to->type = ESP_TYPE_ANY; /* its header does not say */
    memcpy(to->dims, from->dims, from->n_dims * sizeof *to->dims);
    unpack_storage(from, to);
    struct block_cyclic_matrix layout;
    if (data_layout(from, &layout))
        to->layout = (struct esp_data_layout){.rows = (unsigned)layout.rows.ranks,
                                              .cols = (unsigned)layout.cols.ranks,
                                              .row_block = layout.rows.block,
                                              .col_block = layout.cols.block};
    return to->id && to->server && to->address && to->owner;
}

static enum esp_status pack(const struct answers *answers, struct esp_data_info **infos, size_t *n,
                            struct esp_error *error)
{
    struct esp_data_info *package = package_create((answers->entries + 1) * sizeof *package);
    bool whole = package;
    *n = 0;
    for (size_t i = 0; i < answers->n; i++) {
        const struct data_reply *reply = &answers->items[i].data_reply;
        for (uint32_t k = 0; whole && answers->items[i].outcome.status == ESP_OK && k < reply->n; k++)
            whole = unpack(package, &reply->items[k], answers->of_damaged, &package[(*n)++]);
    }
    if (whole) {
        *infos = package;
        return ESP_OK;
    }
    package_destroy(package);
    return error_no_memory(error, "a list of data");
}

static void note_silence(struct answers *answers, const struct data_holder *server,
                         const struct esp_error *error)
{
    if (answers->silent++ > 0)
        return;
    answers->first = *error;
    error_prefix_at(&answers->first, server->server, server->address);
}

/* The reply of an earlier version is about data, not about damaged files. */
static enum esp_status no_damaged(struct answers *answers, struct message *reply, struct esp_error *error)
{
    answers->entries -= reply->data_reply.n;
    reply->data_reply.n = 0;
    return error_set(
        error, ESP_VERSION,
        "it is of an earlier version, which does not tell of its damaged files: look into the folder "
        "'damaged' among its data");
}

/* A server that stores no data has none to list; one that does not answer may have some. */
static enum esp_status list_server(void *arg, const struct data_holder *server, struct esp_error *error)
{
    struct answers *answers = arg;
    struct data data = {.datum = "", .after = ""};
    struct message *reply = NULL;
    struct extension damaged = {EXTENSION_DAMAGED, NULL, 0};
    bool more = true;
    if (answers->of_damaged)
        data.extensions = (struct extensions){&damaged, 1};
    while (more) {
        enum esp_status status = ask(answers, server->address, &data, &reply, error);
        if (status == ESP_NO_MEMORY)
            return status;
        if (status == ESP_OK && answers->of_damaged &&
            !extension_find(&reply->data_reply.extensions, EXTENSION_DAMAGED))
            status = no_damaged(answers, reply, error);
        if (status == ESP_UNREACHABLE || status == ESP_TIMEOUT || status == ESP_VERSION)
            note_silence(answers, server, error);
        more = status == ESP_OK && reply->data_reply.more && reply->data_reply.n > 0;
        if (more)
            data.after = reply->data_reply.items[reply->data_reply.n - 1].datum;
    }
    return ESP_OK;
}

static enum esp_status look_once(struct answers *answers, const char *id, size_t *found,
                                 struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    size_t n = 0;
    struct message *reply;
    const struct data data = {.datum = id, .after = ""};
    enum esp_status status = data_find(answers->engine, id, true, holders, &n, error);
    *found = n;
    if (status != ESP_OK)
        return status;
    for (size_t i = 0; i < n && status != ESP_NO_MEMORY; i++) {
        status = ask(answers, holders[i].address, &data, &reply, error);
        if (status != ESP_OK)
            error_prefix_at(error, holders[i].server, holders[i].address);
    }
    if (status == ESP_NO_MEMORY || answers->entries > 0)
        return status == ESP_NO_MEMORY ? status : ESP_OK; /* one server that has it is enough */
    return status != ESP_OK ? status : error_set(error, ESP_NOT_FOUND, "the datum has just been deleted");
}

/* A server that had the datum a moment ago and is unreachable now may be restarting: looks for the datum
 * anew. */
static enum esp_status look_everywhere(struct answers *answers, const char *id, struct esp_error *error)
{
    size_t found;
    const enum esp_status status = look_once(answers, id, &found, error);
    return found > 0 && (status == ESP_UNREACHABLE || status == ESP_MAYBE)
               ? look_once(answers, id, &found, error)
               : status;
}

static enum esp_status tell_silent(const struct answers *answers, struct esp_error *error)
{
    char others[64] = "";
    if (answers->silent == 0)
        return ESP_OK;
    if (answers->silent > 1)
        snprintf(others, sizeof others, "; %zu more did not answer", answers->silent - 1);
    return error_set(error, answers->first.status, "%s%s", answers->first.text, others);
}

static enum esp_status answer(const char *id, const char *server, bool of_damaged,
                              struct esp_data_info **infos, size_t *n)
{
    struct esp_error *error = library_error();
    *infos = NULL;
    *n = 0;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    struct answers answers = {.engine = library->engine, .of_damaged = of_damaged};
    struct esp_error missed = {.status = ESP_OK};
    enum esp_status status =
        id ? look_everywhere(&answers, id, error)
           : data_each_server(library->engine, server, list_server, &answers, &missed, error);
    if (missed.status != ESP_OK && answers.silent++ == 0)
        answers.first = missed;
    if (status == ESP_OK)
        status = pack(&answers, infos, n, error);
    if (status == ESP_OK)
        status = tell_silent(&answers, error);
    clear(&answers);
    library_leave(status == ESP_OK);
    return status;
}

enum esp_status esp_data_look(const char *id, struct esp_data_info **infos, size_t *n)
{
    if (!id || !infos || !n)
        return error_set(library_error(), ESP_INVALID,
                         "expected an identity and places for the answer, found NULL");
    return answer(id, NULL, false, infos, n);
}

enum esp_status esp_data_list(const char *server, struct esp_data_info **infos, size_t *n)
{
    if (!infos || !n)
        return error_set(library_error(), ESP_INVALID, "expected places for the list, found NULL");
    return answer(NULL, server, false, infos, n);
}

enum esp_status esp_data_list_damaged(const char *server, struct esp_data_info **infos, size_t *n)
{
    if (!infos || !n)
        return error_set(library_error(), ESP_INVALID, "expected places for the list, found NULL");
    return answer(NULL, server, true, infos, n);
}

void esp_data_free(struct esp_data_info *infos)
{
    package_destroy(infos);
}

enum esp_status data_find_value(struct engine *engine, struct value *value, bool patient,
                                struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    struct datum_id id;
    struct datum_section section;
    char identity[DATUM_TEXT];
    size_t n = 0, size = strlen(value->datum) + 1 + DATA_MOST_HOLDERS * (CAP_ADDRESS + 1);
    enum esp_status status = datum_reference_parse(value->datum, &id, &section, error);
    if (status == ESP_OK && patient)
        status = data_find(engine, datum_id_text(&id, identity), false, holders, &n, error);
    else if (status == ESP_OK)
        status = data_find_now(engine, datum_id_text(&id, identity), holders, &n, error);
    char *text = status == ESP_OK ? malloc(size) : NULL;
    if (status != ESP_OK)
        return status;
    if (!text)
        return error_no_memory(error, "the identity of a datum");
    int at = snprintf(text, size, "%s", value->datum);
    for (size_t i = 0; i < n; i++)
        at += snprintf(text + at, size - (size_t)at, " %s", holders[i].address);
    snprintf(value->holder, sizeof value->holder, "%s", n > 0 ? holders[0].server : "");
    value->is_unique = n > 0 && (holders[0].flags & DATUM_UNIQUE);
    value->is_strict = n > 0 && (holders[0].flags & DATUM_STRICT);
    free(value->datum);
    value->datum = text;
    return ESP_OK;
}

/* Data whose original is lost with its server: a replica takes its place. */

/* Returns the holder of an original; NULL: none has one. */
static const struct data_holder *find_original(const struct data_holder *holders, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(holders[i].flags & DATUM_REPLICA))
            return &holders[i];
    return NULL;
}

static const struct data_holder *find_named(const struct data_holder *holders, size_t n, const char *server)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(holders[i].server, server) == 0)
            return &holders[i];
    return NULL;
}

/* Sends the request that a server sends if its own file is damaged. */
static enum esp_status make_original(struct engine *engine, const char *id, const char *address,
                                     const char *lost, struct esp_error *error)
{
    struct extension extension = {EXTENSION_MOVES, (const uint8_t *)lost, (uint32_t)strlen(lost)};
    struct message request = {.kind = MESSAGE_PULL}, reply = {0};
    request.pull = (struct pull_request){.datum = id,
                                         .flags = DATUM_KEPT_COPY,
                                         .patience_ms = (uint64_t)engine->call_timeout_ms,
                                         .extensions = {&extension, 1}};
    enum esp_status status = data_ask(engine, address, &request, &reply, error);
    message_clear(&reply);
    return status;
}

enum esp_status data_adopt(struct engine *engine, const char *id, const char *server, struct data_told told,
                           struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    char address[CAP_ADDRESS + 1];
    struct datum_id parsed;
    size_t n = 0;
    enum esp_status status = datum_id_parse(id, &parsed, error);
    if (status == ESP_OK)
        status = engine_await_name(engine, server, address, error);
    if (status == ESP_OK)
        status = data_find(engine, id, true, holders, &n, error);
    if (status != ESP_OK)
        return status;
    if (find_original(holders, n))
        return data_copy(engine, id, server, true, told, error);
    if (!find_named(holders, n, server))
        status = data_copy(engine, id, server, false, told, error);
    return status == ESP_OK ? make_original(engine, id, address, parsed.origin, error) : status;
}
