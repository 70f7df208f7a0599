/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/data/data_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/*
 * Originals with damaged files. The server that has lost an original searches a sound replica on another
 * server, and has that server make it the original. Each start searches again for all files in damaged/, so
 * that a crash in between loses nothing; if another server has an original by then, nothing is done.
 */

#define MOST_RESCUES 1024
#define MOST_LISTED  256u /* damaged files in one answer */
#define FIRST_MS     500  /* pause before the second search; doubles each time, up to: */
#define LONGEST_MS   30000
#define LOOKS                                                                                                \
    6 /* searches without any holder until the datum counts as lost: agents may have to learn first */
#define TRIES      60    /* searches in all: a server that has the datum may be away, or have no disk */
#define DOUBLINGS  8     /* of the pause */
#define PROMOTE_MS 10000 /* a server that takes longer, for a large file, is asked again */
#define SPARE_MS                                                                                             \
    3600000 /* for so long a copy that cannot become the original is not dropped; each try renews it */

struct rescue {
    struct thread_job job;
    struct server_data *data;
    struct datum_id id;
    bool of_start; /* else the damage has just been found */
    bool under_way;
    unsigned looks, tries;
    int64_t due_ns;
    char giver[CAP_ADDRESS + 1], giver_name[CAP_NAME + 1]; /* from where the datum is fetched back */
    struct pull_waiter waiter;
    struct rescue *prev, *next;
};

enum found {
    FOUND_NOBODY,   /* no server has it */
    FOUND_UNSURE,   /* a server that does not answer may have it */
    FOUND_ORIGINAL, /* another server has an original */
    FOUND_GIVER,    /* a sound copy that cannot become the original where it is */
    FOUND_BACK,     /* the original is here again */
    FOUND_HEIR      /* another server's replica has become the original */
};

/* A server with a replica. */
struct heir {
    const char *address; /* in the holders */
    char server[CAP_NAME + 1];
    uint32_t mode;
};

#define MOST_HEIRS 16

/* The result of a search. */
struct search {
    struct holders holders;
    struct heir heirs[MOST_HEIRS];
    uint32_t n_heirs;
    char owner[CAP_NAME + 1]; /* the server that has an original; "": none */
    const struct heir *giver; /* a server with a sound copy and no room for an original; NULL: none */
    bool unsure;
};

static void forget(struct server_data *data, struct rescue *rescue)
{
    DL_DELETE(data->rescues, rescue);
    data->n_rescues--;
    free(rescue);
}

static bool is_known(const struct server_data *data, struct datum_key key)
{
    const struct rescue *rescue;
    DL_FOREACH(data->rescues, rescue)
    if (datum_key_equal(rescue->id.key, key))
        return true;
    return false;
}

void rescue_begin(struct server_data *data, const struct datum_id *id, bool of_start)
{
    if (data->n_rescues == MOST_RESCUES || is_known(data, id->key))
        return;
    struct rescue *rescue = calloc(1, sizeof *rescue);
    if (!rescue)
        return; /* the next start searches */
    rescue->data = data;
    rescue->id = *id;
    rescue->of_start = of_start;
    rescue->due_ns = data_now(data);
    DL_APPEND(data->rescues, rescue);
    data->n_rescues++;
    if (data->endpoint)
        data->due_ns = 0;
}

/* ---- the thread's part ---- */

/* An original is here again, by a move for instance. (A replica does not count.) */
static bool is_here_again(const struct rescue *rescue)
{
    struct store_entry entry;
    const struct store_asker trusted = {.trusted = true};
    return store_look(rescue->data->store, &trusted, &rescue->id, &entry, NULL) == ESP_OK &&
           !(entry.flags & DATUM_REPLICA);
}

static bool is_over(struct rescue *rescue)
{
    struct server_data *data = rescue->data;
    endpoint_enter(data->endpoint);
    bool over = data->leaving || is_here_again(rescue);
    endpoint_leave(data->endpoint);
    return over;
}

static void look_at(struct search *search, uint32_t i)
{
    struct message reply = {0};
    const struct holder *holder = &search->holders.items[i];
    enum esp_status status = holders_ask(&search->holders, i, &reply, NULL);
    search->unsure |= status != ESP_OK && status != ESP_NOT_FOUND;
    if (status == ESP_OK && !holder->is_agent && reply.data_reply.n > 0) {
        const struct datum_info *there = &reply.data_reply.items[0];
        struct heir heir = {.address = holder->address, .mode = there->mode};
        snprintf(heir.server, sizeof heir.server, "%s", there->server);
        if (!(there->flags & DATUM_REPLICA))
            memcpy(search->owner, heir.server, sizeof search->owner);
        else if (search->n_heirs < MOST_HEIRS)
            search->heirs[search->n_heirs++] = heir;
    }
    message_clear(&reply);
}

/* Asks that server to make its copy the original. */
static enum esp_status make_heir(const struct rescue *rescue, const struct search *search,
                                 const struct heir *heir, struct esp_error *error)
{
    const char *name = rescue->data->options.name;
    struct extension lost = {EXTENSION_MOVES, (const uint8_t *)name, (uint32_t)strlen(name)};
    struct message request = {.kind = MESSAGE_PULL}, reply = {0};
    request.pull = (struct pull_request){.datum = search->holders.id,
                                         .mode = heir->mode,
                                         .flags = DATUM_KEPT_COPY,
                                         .patience_ms = PROMOTE_MS,
                                         .extensions = {&lost, 1}};
    enum esp_status status =
        transport_call(search->holders.transport, heir->address, &request, PROMOTE_MS, &reply, error);
    message_clear(&reply);
    return status;
}

/* The server has no room; its copy stays for SPARE_MS. */
static bool has_no_room(enum esp_status status)
{
    return status == ESP_LIMIT || status == ESP_NO_MEMORY;
}

/* Asks one server after the other, up to the first that can. */
static enum found choose_heir(struct rescue *rescue, struct search *search)
{
    char text[DATUM_TEXT];
    for (uint32_t i = 0; i < search->n_heirs && !is_over(rescue); i++) {
        struct esp_error error = {0};
        const struct heir *heir = &search->heirs[i];
        enum esp_status status = make_heir(rescue, search, heir, &error);
        if (status == ESP_OK) {
            log_notice("%s: its file here was damaged: the copy on server %s is the original now",
                       datum_id_short(&rescue->id, text), heir->server);
            return FOUND_HEIR;
        }
        if (status == ESP_NOT_FOUND) /* the copy is gone, or is damaged, too */
            continue;
        search->unsure = true;
        if (has_no_room(status) && !search->giver)
            search->giver = heir;
        log_warning("%s: its file here was damaged, and its copy on server %s cannot become the original: %s",
                    datum_id_short(&rescue->id, text), heir->server, error.text);
    }
    if (search->giver)
        return FOUND_GIVER;
    return search->unsure ? FOUND_UNSURE : FOUND_NOBODY;
}

static enum found look_for(struct rescue *rescue, struct search *search)
{
    char text[DATUM_TEXT];
    for (uint32_t i = 0; i < search->holders.n && !*search->owner && !is_over(rescue); i++)
        look_at(search, i);
    if (!*search->owner)
        return choose_heir(rescue, search);
    if (!rescue->of_start)
        log_notice("%s: its file here was damaged: server %s has an original of it",
                   datum_id_short(&rescue->id, text), search->owner);
    return FOUND_ORIGINAL;
}

/* ---- what comes then ---- */

static void tell_lost(const struct rescue *rescue)
{
    char text[DATUM_TEXT];
    log_write(rescue->of_start ? LOG_NOTICE_LEVEL : LOG_ERROR_LEVEL, NULL,
              "%s: its file here was damaged, and no server is known that has a sound copy: what is left of "
              "it is in damaged/",
              datum_id_short(&rescue->id, text));
}

/* With the lock. Searches again as long as there is a sound copy. */
static void settle(struct rescue *rescue, enum found found)
{
    struct server_data *data = rescue->data;
    rescue->under_way = false;
    rescue->tries = found == FOUND_GIVER && rescue->tries >= DOUBLINGS ? DOUBLINGS : rescue->tries + 1;
    rescue->looks += found == FOUND_NOBODY;
    data->rescued += found == FOUND_HEIR || found == FOUND_BACK;
    const bool saved = found == FOUND_ORIGINAL || found == FOUND_HEIR || is_here_again(rescue);
    const bool lost = !saved && (rescue->looks == LOOKS || rescue->tries == TRIES);
    if (lost)
        tell_lost(rescue);
    if (lost || saved) {
        forget(data, rescue);
    } else {
        const unsigned doublings = (rescue->tries < DOUBLINGS ? rescue->tries : DOUBLINGS) - 1;
        const int64_t pause_ms = (int64_t)FIRST_MS << doublings;
        rescue->due_ns = data_now(data) + (pause_ms < LONGEST_MS ? pause_ms : LONGEST_MS) * NS_PER_MS;
    }
    data->due_ns = 0;
}

/* ---- fetching it back ---- */

static void tell_back(struct rescue *rescue, enum esp_status status, const struct esp_error *error)
{
    char text[DATUM_TEXT];
    datum_id_short(&rescue->id, text);
    if (status == ESP_OK)
        log_notice("%s: its file here was damaged: it has been fetched back from server %s, and is the "
                   "original",
                   text, rescue->giver_name);
    else
        log_warning(
            "%s: its file here was damaged, and it cannot be fetched back from server %s, which keeps "
            "its copy meanwhile: %s",
            text, rescue->giver_name, error->text);
    settle(rescue, status == ESP_OK ? FOUND_BACK : FOUND_GIVER);
}

static void came_back(struct pull_waiter *waiter, enum esp_status status, const struct esp_error *error)
{
    tell_back((struct rescue *)((char *)waiter - offsetof(struct rescue, waiter)), status, error);
}

static void kept_here(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    tell_back(chore->arg, status, error);
}

/* A call has fetched a copy meanwhile: makes it the original. */
static enum esp_status keep_here(struct rescue *rescue, enum datum_mode mode, struct esp_error *error)
{
    struct server_data *data = rescue->data;
    const struct store_asker trusted = {.identity = "", .trusted = true};
    struct store_work *work = NULL;
    struct chore *chore = chore_for(NULL, NULL, kept_here);
    if (!chore)
        return error_no_memory(error, "a copy that becomes the original");
    chore->arg = rescue;
    enum esp_status status = store_keep(data->store, &trusted, rescue->id.key, mode, 0, &work, error);
    if (status == ESP_OK)
        server_data_chore(data, chore, work);
    else
        free(chore);
    return status;
}

/* With the lock. tell_back() is called later, or before this returns. */
static void bring_back(struct rescue *rescue, const struct heir *giver)
{
    struct server_data *data = rescue->data;
    struct asker trusted;
    struct esp_error error;
    const char *sources[] = {rescue->giver};
    asker_set(&trusted, "", true);
    snprintf(rescue->giver, sizeof rescue->giver, "%s", giver->address);
    memcpy(rescue->giver_name, giver->server, sizeof rescue->giver_name);
    rescue->waiter = (struct pull_waiter){.arrived = came_back, .kind = PULL_KEPT};
    const struct pull_wish wish = {.id = &rescue->id,
                                   .sources = sources,
                                   .n_sources = 1,
                                   .kind = PULL_KEPT,
                                   .mode = (enum datum_mode)giver->mode};
    const enum esp_status status = store_has(data->store, rescue->id.key)
                                       ? keep_here(rescue, wish.mode, &error)
                                       : server_data_pull(data, &trusted, &wish, &rescue->waiter, &error);
    if (status != ESP_OK)
        tell_back(rescue, status, &error);
}

static void rescue_run(void *arg)
{
    struct rescue *rescue = arg;
    struct server_data *data = rescue->data;
    struct search *search = calloc(1, sizeof *search);
    endpoint_enter(data->endpoint);
    if (search)
        holders_begin(&search->holders, data, &rescue->id);
    endpoint_leave(data->endpoint);
    enum found found = search ? look_for(rescue, search) : FOUND_UNSURE;
    endpoint_enter(data->endpoint);
    if (found == FOUND_GIVER && !data->leaving && !is_here_again(rescue))
        bring_back(rescue, search->giver);
    else
        settle(rescue, found);
    endpoint_leave(data->endpoint);
    free(search);
}

/* One rescue at a time: they are rare, and nobody waits for them. A server that is part of a hierarchy waits
 * until it has a parent to ask. */
int64_t rescues_tick(struct server_data *data, int64_t now_ns)
{
    struct rescue *rescue;
    struct errands *errands = data->errands;
    int64_t next_ns = CLOCK_NEVER;
    if (!data->rescues || !errands || data->leaving)
        return CLOCK_NEVER;
    if (data->ops->has_parents(data->server) && !data->ops->parent(data->server))
        return now_ns + FIRST_MS * NS_PER_MS;
    DL_FOREACH(data->rescues, rescue)
    if (rescue->under_way)
        return CLOCK_NEVER;
    DL_FOREACH(data->rescues, rescue)
    {
        if (rescue->due_ns > now_ns) {
            next_ns = rescue->due_ns < next_ns ? rescue->due_ns : next_ns;
            continue;
        }
        rescue->job = (struct thread_job){.run = rescue_run, .arg = rescue};
        rescue->under_way = errands->submit(errands, &rescue->job);
        return rescue->under_way ? CLOCK_NEVER : now_ns + FIRST_MS * NS_PER_MS;
    }
    return next_ns;
}

void rescues_release(struct server_data *data)
{
    while (data->rescues) {
        server_data_pull_leave(&data->rescues->waiter);
        forget(data, data->rescues);
    }
}

/* ---- the heir ---- */

/* A replica that becomes the original. */
struct inheritance {
    struct datum_id id;
    enum datum_mode mode;
    char from[CAP_NAME + 1];
};

/* Keeps the copy until the server that has lost the original fetches it from here, or asks again. */
static void spare(struct server_data *data, const struct datum_id *id, const char *from,
                  const struct esp_error *error)
{
    char text[DATUM_TEXT];
    log_warning(
        "%s: the copy here cannot become the original, which server %s has lost: %s; it is not dropped "
        "for an hour, and that server fetches it back",
        datum_id_short(id, text), from, error->text);
    store_spare(data->store, id->key, SPARE_MS * NS_PER_MS);
}

static void inherited(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    struct inheritance *inheritance = chore->arg;
    char text[DATUM_TEXT];
    datum_id_short(&inheritance->id, text);
    if (status == ESP_OK)
        log_notice("%s: the copy here is the original now, %s: the one of server %s is lost", text,
                   datum_mode_name(inheritance->mode), inheritance->from);
    else if (has_no_room(status))
        spare(chore->data, &inheritance->id, inheritance->from, error);
    else
        log_warning("%s: the copy here cannot become the original: %s", text, error->text);
    free(inheritance);
    pull_kept(chore, status, error);
}

static enum esp_status look_at_replica(struct server_data *data, const struct asker *asker,
                                       const struct datum_id *id, struct store_entry *entry,
                                       struct esp_error *error)
{
    char text[DATUM_TEXT];
    enum esp_status status = store_look(data->store, &asker->is, id, entry, error);
    if (status == ESP_OK && pull_moves(data, id->key))
        status = error_set(error, ESP_BUSY, "datum %.120s is just moving here", datum_id_short(id, text));
    return status;
}

static void inherit(struct server_data *data, struct call *call, const struct datum_id *id,
                    const struct extension *from)
{
    struct asker asker;
    struct esp_error error;
    struct store_entry entry = {.flags = 0};
    struct store_work *work = NULL;
    asker_of(call, &asker);
    asker.is.trusted = data_is_server(data, asker.identity);
    enum esp_status status = look_at_replica(data, &asker, id, &entry, &error);
    const bool is_replica = entry.flags & DATUM_REPLICA;
    struct inheritance *inheritance = is_replica ? calloc(1, sizeof *inheritance) : NULL;
    struct chore *chore = chore_for(call, NULL, is_replica ? inherited : pull_kept);
    if (status == ESP_OK && (!chore || (is_replica && !inheritance)))
        status = error_no_memory(&error, "a copy that becomes the original");
    char lost_by[CAP_NAME + 1];
    snprintf(lost_by, sizeof lost_by, "%.*s", (int)(from->length < CAP_NAME ? from->length : CAP_NAME),
             (const char *)from->value);
    const bool may = status == ESP_OK;
    if (may)
        status = store_promote(data->store, &asker.is, id->key, &work, &error);
    if (may && status == ESP_REFUSED) /* this server has no disk */
        status = error.status = ESP_LIMIT;
    if (may && is_replica && has_no_room(status))
        spare(data, id, lost_by, &error);
    if (status != ESP_OK) {
        free(inheritance);
        free(chore);
        call_reply(call, message_failure(MESSAGE_PULL_REPLY, status, "%s", error.text));
        return;
    }
    if (inheritance) {
        *inheritance = (struct inheritance){.id = *id, .mode = entry.mode};
        memcpy(inheritance->from, lost_by, sizeof lost_by);
    }
    chore->arg = inheritance;
    server_data_chore(data, chore, work);
}

bool rescue_on_pull(struct server_data *data, struct call *call, const struct pull_request *pull)
{
    struct asker asker;
    struct datum_id id;
    const struct extension *heir = extension_find(&pull->extensions, EXTENSION_MOVES);
    if (!heir || datum_id_parse(pull->datum, &id, NULL) != ESP_OK)
        return false;
    data_asker_of(data, call, &pull->extensions, &asker); /* renews the lease of the client */
    inherit(data, call, &id, heir);
    return true;
}

/*
 * Data that were deleted while this server was away. After its start the server asks the other servers that
 * keep a datum (store_places()) whether it was deleted there; if so, it is deleted here, too. A server that
 * does not answer is asked again for some time.
 */

#define RETURNED_FIRST_MS   500 /* pause before the second round; doubles each time, up to: */
#define RETURNED_LONGEST_MS 30000
#define ROUNDS              60
#define ASK_MS              5000
#define MOST_PLACES         64 /* servers whose addresses are remembered in a round */
#define MOST_LEVELS         16 /* of agents */

struct returned {
    struct thread_job job;
    struct server_data *data;
    struct datum_key *keys; /* of data for which a server has not answered yet */
    size_t n, capacity;
    bool under_way;
    unsigned rounds;
    int64_t due_ns;
};

/* Where a server is, in this round. */
struct neighbour {
    char name[CAP_NAME + 1], address[CAP_ADDRESS + 1]; /* address "": the server is away or silent */
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
    if (!store_places(returned->data->store, id->key, &named))
        return;
    if (returned->n == returned->capacity) {
        const size_t capacity = returned->capacity ? 2 * returned->capacity : 16;
        void *keys = realloc(returned->keys, capacity * sizeof *returned->keys);
        if (!keys)
            return; /* without memory: the next start asks */
        returned->keys = keys;
        returned->capacity = capacity;
    }
    returned->keys[returned->n++] = id->key;
}

void returned_begin(struct server_data *data)
{
    struct returned *returned = calloc(1, sizeof *returned);
    if (!returned)
        return;
    returned->data = data;
    store_each(data->store, note, returned);
    data->returned = returned;
}

/* ---- the thread's part ---- */

static bool returned_is_over(const struct round *round)
{
    struct server_data *data = round->of->data;
    endpoint_enter(data->endpoint);
    const bool over = data->leaving;
    endpoint_leave(data->endpoint);
    return over;
}

/* The agent above that one. Only the answer to a question for a datum names it. False: there is none. */
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

/* Asks agents for the address of the server; "": unknown. */
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
        place->address[0] = 0; /* the next datum does not wait for this server */
    return deleted ? TOLD_DELETED : answered ? TOLD_KEPT : TOLD_NOTHING;
}

/* Tells that server to forget that this one keeps the datum. A lost message does no harm. */
static void tell_gone(const struct round *round, const char *id, const struct neighbour *place)
{
    const char *name = round->of->data->options.name;
    struct extension settled = {EXTENSION_SETTLED, (const uint8_t *)name, (uint32_t)strlen(name) + 1};
    struct message request = {.kind = MESSAGE_DROP, .drop = {.datum = id, .extensions = {&settled, 1}}},
                   reply = {0};
    transport_call(round->transport, place->address, &request, ASK_MS, &reply, NULL);
    message_clear(&reply);
}

/* Deletes the datum here, as it was deleted everywhere else. */
static bool let_go(const struct round *round, const struct datum_id *id, const struct neighbour *place)
{
    struct server_data *data = round->of->data;
    const struct store_asker trusted = {.trusted = true};
    char text[DATUM_TEXT];
    struct esp_error error;
    endpoint_enter(data->endpoint);
    const enum esp_status status = store_delete(data->store, &trusted, id, &error);
    endpoint_leave(data->endpoint);
    if (status == ESP_OK)
        log_notice("%s: it was deleted on server %s while this server was away: it goes here, too",
                   datum_id_short(id, text), place->name);
    else if (status != ESP_NOT_FOUND)
        log_warning("%s: it was deleted on server %s, and cannot be deleted here: %s",
                    datum_id_short(id, text), place->name, error.text);
    return status == ESP_OK || status == ESP_NOT_FOUND;
}

/* The datum, and the names of the other servers that keep it, for free(). NULL: it is not here, or nobody
 * else keeps it. */
static char *look(const struct round *round, struct datum_key key, struct datum_id *id, size_t *bytes)
{
    struct server_data *data = round->of->data;
    const struct store_asker trusted = {.trusted = true};
    struct store_entry entry;
    char *copy = NULL;
    *id = (struct datum_id){.key = key};
    endpoint_enter(data->endpoint);
    if (store_look(data->store, &trusted, id, &entry, NULL) == ESP_OK) {
        const char *names = store_places(data->store, key, bytes);
        *id = entry.id;
        copy = names ? malloc(*bytes) : NULL;
        if (copy)
            memcpy(copy, names, *bytes);
    }
    endpoint_leave(data->endpoint);
    return copy;
}

/* Whether all servers that keep the datum have answered. */
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

static void returned_settle(struct returned *returned, size_t left)
{
    returned->under_way = false;
    returned->rounds++;
    returned->n = returned->rounds < ROUNDS ? left : 0;
    const unsigned doublings = returned->rounds < 8 ? returned->rounds - 1 : 7;
    const int64_t pause_ms = (int64_t)RETURNED_FIRST_MS << doublings;
    returned->due_ns = data_now(returned->data) +
                       (pause_ms < RETURNED_LONGEST_MS ? pause_ms : RETURNED_LONGEST_MS) * NS_PER_MS;
    returned->data->due_ns = 0;
}

static void returned_run(void *arg)
{
    struct returned *returned = arg;
    struct server_data *data = returned->data;
    struct round *round = calloc(1, sizeof *round);
    size_t left = 0;
    endpoint_enter(data->endpoint);
    const char *parent = data->ops->parent(data->server);
    if (round)
        snprintf(round->parent, sizeof round->parent, "%s", parent ? parent : "");
    endpoint_leave(data->endpoint);
    if (round) {
        round->of = returned;
        round->transport = data->endpoint->transport;
    }
    for (size_t i = 0; i < returned->n; i++)
        if (!round || returned_is_over(round) || !is_told(round, returned->keys[i]))
            returned->keys[left++] = returned->keys[i];
    free(round);
    endpoint_enter(data->endpoint);
    returned_settle(returned, left);
    endpoint_leave(data->endpoint);
}

/* A server that is part of a hierarchy waits until it has a parent; a server on its own knows nobody to ask.
 */
int64_t returned_tick(struct server_data *data, int64_t now_ns)
{
    struct returned *returned = data->returned;
    struct errands *errands = data->errands;
    if (!returned || returned->n == 0 || returned->under_way || !errands || data->leaving ||
        !data->ops->has_parents(data->server))
        return CLOCK_NEVER;
    if (!data->ops->parent(data->server))
        return now_ns + RETURNED_FIRST_MS * NS_PER_MS;
    if (returned->due_ns > now_ns)
        return returned->due_ns;
    returned->job = (struct thread_job){.run = returned_run, .arg = returned};
    returned->under_way = errands->submit(errands, &returned->job);
    return returned->under_way ? CLOCK_NEVER : now_ns + RETURNED_FIRST_MS * NS_PER_MS;
}

void returned_release(struct server_data *data)
{
    if (data->returned)
        free(data->returned->keys);
    free(data->returned);
    data->returned = NULL;
}

/* ---- damaged files: their owners, and administrators, may see and remove them ---- */

static void asker_for(struct server_data *data, const struct call *call, struct asker *asker)
{
    const struct envelope *envelope = call_envelope(call);
    asker_set(asker, envelope->identity, data->ops->permits(data->server, envelope));
}

static bool fill_aside(const struct server_data *data, const struct store_aside *aside, struct arena *arena,
                       struct datum_info *record)
{
    const struct datum_shape *shape = &aside->shape;
    char text[DATUM_TEXT];
    *record = (struct datum_info){.type = shape->type,
                                  .n_dims = shape->n_dims,
                                  .storage = shape->storage,
                                  .layout_a = shape->layout[0],
                                  .layout_b = shape->layout[1],
                                  .layout_c = shape->layout[2],
                                  .row_major = shape->row_major,
                                  .bytes = aside->file_bytes,
                                  .mode = aside->mode,
                                  .created_s = aside->created_s,
                                  .complete = aside->readable,
                                  .on_disk = true};
    record->datum = arena_strdup(arena, datum_id_text(&aside->id, text));
    record->dims = arena_memdup(arena, shape->dims, sizeof shape->dims);
    record->owner = arena_strdup(arena, aside->owner);
    record->server = arena_strdup(arena, data->options.name);
    record->address = arena_strdup(arena, endpoint_address(data->endpoint));
    return record->datum && record->dims && record->owner && record->server && record->address;
}

static enum esp_status list_asides(struct server_data *data, const struct call *call,
                                   const struct data *asked, struct message *reply, struct esp_error *error)
{
    struct asker asker;
    struct datum_id after = {0};
    struct data_reply *to = &reply->data_reply;
    if (asked->after[0] && datum_id_parse(asked->after, &after, error) != ESP_OK)
        return error->status;
    asker_for(data, call, &asker);
    const size_t limit = asked->limit > 0 && asked->limit < MOST_LISTED ? asked->limit : MOST_LISTED;
    struct store_aside *asides = calloc(limit, sizeof *asides);
    struct extension *mark = arena_alloc(&reply->arena, sizeof *mark);
    to->items = arena_alloc(&reply->arena, limit * sizeof *to->items);
    bool whole = asides && mark && to->items;
    const size_t n = whole ? store_list_asides(data->store, &asker.is, after.key, asides, limit) : 0;
    for (size_t i = 0; whole && i < n; i++)
        whole = fill_aside(data, &asides[i], &reply->arena, &to->items[to->n++]);
    free(asides);
    if (!whole)
        return error_no_memory(error, "a list of damaged files");
    to->more = n == limit;
    *mark = (struct extension){EXTENSION_DAMAGED, NULL, 0};
    to->extensions = (struct extensions){mark, 1};
    return ESP_OK;
}

void data_on_damaged(struct server_data *data, struct call *call, const struct data *asked)
{
    struct esp_error error;
    struct message *reply = message_create(MESSAGE_DATA_REPLY);
    enum esp_status status = reply ? list_asides(data, call, asked, reply, &error)
                                   : error_no_memory(&error, "a list of damaged files");
    if (status != ESP_OK) {
        message_destroy(reply);
        reply = message_failure(MESSAGE_DATA_REPLY, status, "%s", error.text);
    }
    call_reply(call, reply);
}

static enum esp_status drop_damaged(struct server_data *data, const struct call *call,
                                    const struct datum_id *id, struct esp_error *error)
{
    struct asker asker;
    char text[DATUM_TEXT];
    asker_for(data, call, &asker);
    enum esp_status status = store_remove_aside(data->store, &asker.is, id, error);
    if (status == ESP_OK)
        log_notice("%s: its damaged file was removed, as its owner, or an administrator, wanted",
                   datum_id_short(id, text));
    return status;
}

bool rescue_on_drop(struct server_data *data, struct call *call, const struct drop *drop)
{
    struct datum_id id;
    struct esp_error error;
    if (!extension_find(&drop->extensions, EXTENSION_DAMAGED))
        return false;
    enum esp_status status = datum_id_parse(drop->datum, &id, &error);
    if (status == ESP_OK)
        status = drop_damaged(data, call, &id, &error);
    if (status == ESP_OK)
        data_done(call);
    else
        data_refuse(call, MESSAGE_DONE_REPLY, drop->datum, &error);
    return true;
}
