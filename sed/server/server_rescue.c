/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of an original was damaged: a sound replica on another server takes its place. Who has lost the
 * original looks for one and has it become the original, durable by its mode; what lies in damaged/ is looked
 * for again at each start, so that a death in between loses nothing. That is harmless when it was done
 * before: whoever has an original by then is left as it is.
 */
#include "sed/server/server_data_internal.h"

#include "sed/server/server_holders.h"
#include "sed/server/server_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define MOST_RESCUES 1024
#define FIRST_MS     500 /* until it is looked for again; twice as long before each further time, at most: */
#define LONGEST_MS   30000
#define LOOKS        6  /* times that nobody has it until it counts as lost: agents may have to learn first */
#define TRIES        60 /* all in all: a server that has it may be away for a while, or have no disk */
#define DOUBLINGS    8  /* of the pause */
#define PROMOTE_MS   10000   /* one that takes longer, for a large file, is asked again */
#define SPARE_MS     3600000 /* a copy that cannot become the original is not dropped; each try renews that */

struct rescue {
    struct thread_job job;
    struct server *server;
    struct datum_id id;
    bool of_start; /* else its damage has just been found */
    bool under_way;
    unsigned looks, tries;
    int64_t due_ns;
    char giver[CAP_ADDRESS + 1], giver_name[CAP_NAME + 1]; /* from where it is fetched back */
    struct pull_waiter waiter;
    struct rescue *prev, *next;
};

enum found {
    FOUND_NOBODY,   /* who has it */
    FOUND_UNSURE,   /* somebody who may have it, but not now */
    FOUND_ORIGINAL, /* which is elsewhere, too */
    FOUND_GIVER,    /* a sound copy that cannot become the original where it is */
    FOUND_BACK,     /* it is here again */
    FOUND_HEIR      /* whose replica has become the original */
};

/* A server with a replica. */
struct heir {
    const char *address; /* in the holders */
    char server[CAP_NAME + 1];
    uint32_t mode;
};

#define MOST_HEIRS 16

/* What a look for it has told. */
struct search {
    struct holders holders;
    struct heir heirs[MOST_HEIRS];
    uint32_t n_heirs;
    char owner[CAP_NAME + 1]; /* who has an original of it; "": nobody */
    const struct heir *giver; /* whose copy is sound, but has no room to become the original; NULL: none */
    bool unsure;
};

static void forget(struct server *server, struct rescue *rescue)
{
    DL_DELETE(server->data.rescues, rescue);
    server->data.n_rescues--;
    free(rescue);
}

static bool is_known(const struct server *server, struct datum_key key)
{
    const struct rescue *rescue;
    DL_FOREACH(server->data.rescues, rescue)
    if (datum_key_equal(rescue->id.key, key))
        return true;
    return false;
}

void rescue_begin(struct server *server, const struct datum_id *id, bool of_start)
{
    if (server->data.n_rescues == MOST_RESCUES || is_known(server, id->key))
        return;
    struct rescue *rescue = calloc(1, sizeof *rescue);
    if (!rescue)
        return; /* the next start looks for it */
    rescue->server = server;
    rescue->id = *id;
    rescue->of_start = of_start;
    rescue->due_ns = server_now(server);
    DL_APPEND(server->data.rescues, rescue);
    server->data.n_rescues++;
    if (server->endpoint)
        server->data.due_ns = 0;
}

/* ---- the thread's part ---- */

/* It has come back by a move, say. (A call may have fetched a replica meanwhile.) */
static bool is_here_again(const struct rescue *rescue)
{
    struct store_entry entry;
    const struct store_asker trusted = {.trusted = true};
    return store_look(rescue->server->data.store, &trusted, &rescue->id, &entry, NULL) == ESP_OK &&
           !(entry.flags & DATUM_REPLICA);
}

static bool is_over(struct rescue *rescue)
{
    struct server *server = rescue->server;
    endpoint_enter(server->endpoint);
    bool over = server->data.leaving || is_here_again(rescue);
    endpoint_leave(server->endpoint);
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

/* That server is to have the original. An older one makes an original of its copy by the mode that is told.
 */
static enum esp_status make_heir(const struct rescue *rescue, const struct search *search,
                                 const struct heir *heir, struct esp_error *error)
{
    const char *name = rescue->server->name;
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

/* It stays there as it is, for SPARE_MS. */
static bool has_no_room(enum esp_status status)
{
    return status == ESP_LIMIT || status == ESP_NO_MEMORY;
}

/* The first that can. */
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
        if (status == ESP_NOT_FOUND) /* it has gone, or was damaged, too */
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

/* With the lock. As long as there is a sound copy it is tried again. */
static void settle(struct rescue *rescue, enum found found)
{
    struct server *server = rescue->server;
    rescue->under_way = false;
    rescue->tries = found == FOUND_GIVER && rescue->tries >= DOUBLINGS ? DOUBLINGS : rescue->tries + 1;
    rescue->looks += found == FOUND_NOBODY;
    server->data.rescued += found == FOUND_HEIR || found == FOUND_BACK;
    const bool saved = found == FOUND_ORIGINAL || found == FOUND_HEIR || is_here_again(rescue);
    const bool lost = !saved && (rescue->looks == LOOKS || rescue->tries == TRIES);
    if (lost)
        tell_lost(rescue);
    if (lost || saved) {
        forget(server, rescue);
    } else {
        const unsigned doublings = (rescue->tries < DOUBLINGS ? rescue->tries : DOUBLINGS) - 1;
        const int64_t pause_ms = (int64_t)FIRST_MS << doublings;
        rescue->due_ns = server_now(server) + (pause_ms < LONGEST_MS ? pause_ms : LONGEST_MS) * NS_PER_MS;
    }
    server->data.due_ns = 0;
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

/* A call has fetched a copy meanwhile. */
static enum esp_status keep_here(struct rescue *rescue, enum datum_mode mode, struct esp_error *error)
{
    struct server *server = rescue->server;
    const struct store_asker trusted = {.identity = "", .trusted = true};
    struct store_work *work = NULL;
    struct chore *chore = chore_for(NULL, NULL, kept_here);
    if (!chore)
        return error_no_memory(error, "a copy that becomes the original");
    chore->arg = rescue;
    enum esp_status status = store_keep(server->data.store, &trusted, rescue->id.key, mode, 0, &work, error);
    if (status == ESP_OK)
        server_data_chore(server, chore, work);
    else
        free(chore);
    return status;
}

/* With the lock. What comes of it is told later, or within. */
static void bring_back(struct rescue *rescue, const struct heir *giver)
{
    struct server *server = rescue->server;
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
    const enum esp_status status = store_has(server->data.store, rescue->id.key)
                                       ? keep_here(rescue, wish.mode, &error)
                                       : server_pull(server, &trusted, &wish, &rescue->waiter, &error);
    if (status != ESP_OK)
        tell_back(rescue, status, &error);
}

static void rescue_run(void *arg)
{
    struct rescue *rescue = arg;
    struct server *server = rescue->server;
    struct search *search = calloc(1, sizeof *search);
    endpoint_enter(server->endpoint);
    if (search)
        holders_begin(&search->holders, server, &rescue->id);
    endpoint_leave(server->endpoint);
    enum found found = search ? look_for(rescue, search) : FOUND_UNSURE;
    endpoint_enter(server->endpoint);
    if (found == FOUND_GIVER && !server->data.leaving && !is_here_again(rescue))
        bring_back(rescue, search->giver);
    else
        settle(rescue, found);
    endpoint_leave(server->endpoint);
    free(search);
}

/* One at a time: they are rare, and nobody waits for them. Those who are part of a hierarchy wait until it
 * can be asked. */
int64_t rescues_tick(struct server *server, int64_t now_ns)
{
    struct rescue *rescue;
    struct errands *errands = server->data.errands;
    int64_t next_ns = CLOCK_NEVER;
    if (!server->data.rescues || !errands || server->data.leaving)
        return CLOCK_NEVER;
    if (server_has_parents(server) && !membership_joined(server->membership))
        return now_ns + FIRST_MS * NS_PER_MS;
    DL_FOREACH(server->data.rescues, rescue)
    if (rescue->under_way)
        return CLOCK_NEVER;
    DL_FOREACH(server->data.rescues, rescue)
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

void rescues_release(struct server *server)
{
    while (server->data.rescues) {
        server_pull_leave(&server->data.rescues->waiter);
        forget(server, server->data.rescues);
    }
}

/* ---- the heir ---- */

/* A replica that becomes the original. */
struct inheritance {
    struct datum_id id;
    enum datum_mode mode;
    char from[CAP_NAME + 1];
};

/* Who has lost the original fetches it from here, or asks again: it is not to be dropped until then. */
static void spare(struct server *server, const struct datum_id *id, const char *from,
                  const struct esp_error *error)
{
    char text[DATUM_TEXT];
    log_warning(
        "%s: the copy here cannot become the original, which server %s has lost: %s; it is not dropped "
        "for an hour, and that server fetches it back",
        datum_id_short(id, text), from, error->text);
    store_spare(server->data.store, id->key, SPARE_MS * NS_PER_MS);
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
        spare(chore->server, &inheritance->id, inheritance->from, error);
    else
        log_warning("%s: the copy here cannot become the original: %s", text, error->text);
    free(inheritance);
    server_pull_kept(chore, status, error);
}

static enum esp_status look_at_replica(struct server *server, const struct asker *asker,
                                       const struct datum_id *id, struct store_entry *entry,
                                       struct esp_error *error)
{
    char text[DATUM_TEXT];
    enum esp_status status = store_look(server->data.store, &asker->is, id, entry, error);
    if (status == ESP_OK && server_pull_moves(server, id->key))
        status = error_set(error, ESP_BUSY, "datum %.120s is just moving here", datum_id_short(id, text));
    return status;
}

void server_inherit(struct server *server, struct call *call, const struct datum_id *id,
                    const struct extension *from)
{
    struct asker asker;
    struct esp_error error;
    struct store_entry entry = {.flags = 0};
    struct store_work *work = NULL;
    asker_of(call, &asker);
    asker.is.trusted = data_is_server(server, asker.identity);
    enum esp_status status = look_at_replica(server, &asker, id, &entry, &error);
    const bool is_replica = entry.flags & DATUM_REPLICA;
    struct inheritance *inheritance = is_replica ? calloc(1, sizeof *inheritance) : NULL;
    struct chore *chore = chore_for(call, NULL, is_replica ? inherited : server_pull_kept);
    if (status == ESP_OK && (!chore || (is_replica && !inheritance)))
        status = error_no_memory(&error, "a copy that becomes the original");
    char lost_by[CAP_NAME + 1];
    snprintf(lost_by, sizeof lost_by, "%.*s", (int)(from->length < CAP_NAME ? from->length : CAP_NAME),
             (const char *)from->value);
    const bool may = status == ESP_OK;
    if (may)
        status = store_promote(server->data.store, &asker.is, id->key, &work, &error);
    if (may && status == ESP_REFUSED) /* it has no disk at all */
        status = error.status = ESP_LIMIT;
    if (may && is_replica && has_no_room(status))
        spare(server, id, lost_by, &error);
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
    server_data_chore(server, chore, work);
}
