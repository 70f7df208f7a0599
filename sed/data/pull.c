/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/data/data_internal.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

/*
 * Data that are fetched from other servers: the waiters, and calls that ask for data.
 */

#define MOST_PATIENCE_MS    600000
#define DEFAULT_PATIENCE_NS (60 * NS_PER_S)

/* ---- those who wait ---- */

static struct message *pull_answer(const struct pull *pull, bool complete)
{
    struct message *reply = message_create(MESSAGE_PULL_REPLY);
    if (reply) {
        reply->pull_reply.complete = complete;
        reply->pull_reply.arrived = atomic_load(&pull->arrived);
        reply->pull_reply.bytes = atomic_load(&pull->bytes);
    }
    return reply;
}

static void unlink_waiter(struct pull_waiter *waiter)
{
    timers_cancel(waiter->data->options.timers, &waiter->patience);
    DL_DELETE(waiter->pull->waiters, waiter);
    waiter->pull = NULL;
}

void server_data_pull_leave(struct pull_waiter *waiter)
{
    if (!waiter->pull)
        return;
    struct pull *pull = waiter->pull;
    unlink_waiter(waiter);
    if (!pull->waiters) /* nobody waits any more */
        atomic_store(&pull->stop, true);
}

void pull_tell(struct pull *pull, enum esp_status status, const struct esp_error *error)
{
    while (pull->waiters) {
        struct pull_waiter *waiter = pull->waiters;
        unlink_waiter(waiter);
        if (!waiter->call) {
            waiter->asked = pull->asked || pull->counted;
            waiter->stays = pull->stays;
            waiter->arrived(waiter, status, error);
            continue;
        }
        /* A client that wants more than a replica asks again, and the replica is turned into that. */
        bool complete = waiter->kind == PULL_REPLICA || waiter->kind == pull->kind;
        call_reply(waiter->call, status == ESP_OK
                                     ? pull_answer(pull, complete)
                                     : message_failure(MESSAGE_PULL_REPLY, status, "%s", error->text));
        free(waiter);
    }
}

/* ---- beginning ---- */

static struct pull *pull_create(struct server_data *data, const struct asker *asker,
                                const struct pull_wish *wish)
{
    struct pull *pull = calloc(1, sizeof *pull);
    if (!pull)
        return NULL;
    pull->data = data;
    pull->id = *wish->id;
    pull->as = wish->as ? *wish->as : *wish->id;
    pull->laid = wish->as != NULL;
    pull->layout = wish->layout;
    pull->kind = wish->kind;
    pull->counted = wish->asked;
    pull->stays = wish->asked && wish->stays;
    pull->mode = wish->mode;
    pull->flags = wish->flags;
    snprintf(pull->here, sizeof pull->here, "%s", endpoint_address(data->endpoint));
    pull->job = (struct thread_job){.run = pull_run, .arg = pull};
    asker_copy(&pull->asker, asker);
    holders_begin(&pull->known, data, wish->id);
    HASH_ADD(hh, data->pulls, as.key, sizeof pull->as.key, pull);
    if (pull->hh.tbl)
        return pull;
    free(pull);
    return NULL;
}

/* Raises the patience. `wanted_ns` 0: the default. */
static void be_patient(_Atomic int64_t *patience_ns, int64_t wanted_ns)
{
    if (wanted_ns == 0)
        wanted_ns = DEFAULT_PATIENCE_NS;
    if (wanted_ns > atomic_load(patience_ns))
        atomic_store(patience_ns, wanted_ns);
}

enum esp_status server_data_pull(struct server_data *data, const struct asker *asker,
                                 const struct pull_wish *wish, struct pull_waiter *waiter,
                                 struct esp_error *error)
{
    struct pull *pull;
    struct errands *errands = data->errands;
    waiter->data = data;
    waiter->pull = NULL;
    if (!data->store || !errands || data->leaving)
        return error_set(error, ESP_REFUSED, "server %s %s", data->options.name,
                         data->leaving ? "is shutting down" : "keeps no data");
    const struct datum_id *as = wish->as ? wish->as : wish->id;
    HASH_FIND(hh, data->pulls, &as->key, sizeof as->key, pull);
    if (pull && atomic_load(&pull->stop))
        return error_set(error, ESP_BUSY, "an earlier transfer of the same datum is ending");
    if (!pull) {
        pull = pull_create(data, asker, wish);
        if (!pull)
            return error_no_memory(error, "a transfer");
        be_patient(&pull->patience_ns, wish->patience_ns);
        be_patient(&pull->room_ns, wish->room_ns);
        for (uint32_t i = 0; i < wish->n_sources; i++)
            pull_add_address(pull, wish->sources[i]);
        pull_add_named(pull); /* servers to which this server gave copies, which agents may not know yet */
        if (!errands->submit(errands, &pull->job)) {
            HASH_DEL(data->pulls, pull);
            free(pull);
            return error_set(error, ESP_SYSTEM, "server %s has no thread to fetch a datum with",
                             data->options.name);
        }
    }
    waiter->pull = pull;
    be_patient(&pull->patience_ns, wish->patience_ns);
    be_patient(&pull->room_ns, wish->room_ns);
    pull->asked_for |= waiter->call != NULL;
    DL_APPEND(pull->waiters, waiter);
    return ESP_OK;
}

/* ---- asked by a client ---- */

static void patience_over(struct timer *timer, int64_t now_ns, void *context)
{
    struct pull_waiter *waiter =
        (struct pull_waiter *)((char *)timer - offsetof(struct pull_waiter, patience));
    struct pull *pull = waiter->pull;
    (void)now_ns, (void)context;
    /* The transfer goes on, and the client asks again. */
    call_reply(waiter->call, pull_answer(pull, false));
    unlink_waiter(waiter);
    free(waiter);
}

void pull_kept(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    struct message *reply = status == ESP_OK ? message_create(MESSAGE_PULL_REPLY)
                                             : message_failure(MESSAGE_PULL_REPLY, status, "%s", error->text);
    if (reply && status == ESP_OK)
        reply->pull_reply.complete = true;
    if (chore->call)
        call_reply(chore->call, reply);
    else
        message_destroy(reply);
}

/* The datum is here. */
static void answer_here(struct server_data *data, struct call *call, const struct asker *asker,
                        const struct pull_wish *wish)
{
    struct esp_error error;
    struct store_work *work = NULL;
    struct datum_key key = wish->as ? wish->as->key : wish->id->key;
    struct chore *chore = calloc(1, sizeof *chore);
    enum esp_status status = chore ? ESP_OK : error_no_memory(&error, "moving a datum");
    if (status == ESP_OK)
        store_stay(data->store, key);
    if (status == ESP_OK && wish->kind == PULL_KEPT)
        status = store_keep(data->store, &asker->is, key, wish->mode, wish->flags, &work, &error);
    if (status != ESP_OK) {
        free(chore);
        call_reply(call, message_failure(MESSAGE_PULL_REPLY, status, "%s", error.text));
        return;
    }
    chore->call = call;
    chore->then = pull_kept;
    server_data_chore(data, chore, work);
}

/* The datum is here: notes the other servers that keep it. */
static void note_places(struct server_data *data, struct call *call, const struct asker *asker,
                        const struct datum_id *id, const struct extension *places)
{
    struct esp_error error;
    enum esp_status status = store_note_places(data->store, &asker->is, id->key, (const char *)places->value,
                                               places->length, &error);
    struct message *reply = status == ESP_OK ? message_create(MESSAGE_PULL_REPLY)
                                             : message_failure(MESSAGE_PULL_REPLY, status, "%s", error.text);
    if (reply && status == ESP_OK)
        reply->pull_reply.complete = true;
    call_reply(call, reply);
}

/* A move asks the other servers in any case: an original may be there, too. */
static bool is_here(const struct server_data *data, const struct pull_wish *wish)
{
    const struct datum_id *id = wish->as ? wish->as : wish->id;
    return wish->kind != PULL_MOVED && store_has(data->store, id->key);
}

static int64_t bounded_patience_ns(uint64_t ms)
{
    return (int64_t)(ms < MOST_PATIENCE_MS ? ms : MOST_PATIENCE_MS) * NS_PER_MS;
}

/* Reads the layout and the identity of a datum that is to be made from another one (EXTENSION_LAID). */
static enum esp_status read_laying(const struct server_data *data, const struct pull_request *request,
                                   struct pull_wish *wish, struct datum_id *as, struct esp_error *error)
{
    const struct extension *laid = extension_find(&request->extensions, EXTENSION_LAID);
    uint64_t words[LAID_WORDS];
    char text[DATUM_TEXT];
    if (!laid)
        return ESP_OK;
    if (laid->length <= sizeof words || laid->length - sizeof words >= sizeof text)
        return error_set(error, ESP_PROTOCOL, "expected a layout and an identity, found %u bytes",
                         laid->length);
    memcpy(words, laid->value, sizeof words);
    size_t length = laid->length - sizeof words;
    memcpy(text, laid->value + sizeof words, length);
    text[length] = 0;
    wish->layout = (struct pull_layout){(int64_t)le64toh(words[0]), (int64_t)le64toh(words[1]),
                                        (int64_t)le64toh(words[2]), (int64_t)le64toh(words[3])};
    wish->as = as;
    wish->kind = PULL_LAID;
    enum esp_status status = datum_id_parse(text, as, error);
    if (status == ESP_OK && strcmp(as->origin, data->options.name) != 0)
        status = error_set(error, ESP_INVALID,
                           "its identity says that it is made by server %s, but server %s is to make it",
                           as->origin, data->options.name);
    return status;
}

/* The client says whether it has taken the datum that was made for it (EXTENSION_LAID_TAKEN). */
static enum esp_status mind_taking(struct server_data *data, const struct asker *asker,
                                   const struct pull_request *request, const struct datum_id *as,
                                   struct esp_error *error)
{
    const struct extension *taken = extension_find(&request->extensions, EXTENSION_LAID_TAKEN);
    if (!taken)
        return ESP_OK;
    if (taken->length != 1)
        return error_set(error, ESP_PROTOCOL, "expected a byte that tells whether a datum is taken, found %u",
                         taken->length);
    return taken->value[0] ? untaken_take(data, as, error)
                           : untaken_ask(data, asker, as, bounded_patience_ns(request->patience_ms), error);
}

static int64_t read_patience(const struct extensions *extensions)
{
    uint64_t ms;
    const struct extension *told = extension_find(extensions, EXTENSION_PATIENCE);
    if (!told || told->length != sizeof ms)
        return DEFAULT_PATIENCE_NS;
    memcpy(&ms, told->value, sizeof ms);
    ms = le64toh(ms);
    return bounded_patience_ns(ms);
}

static void answer_later(struct server_data *data, uint64_t patience_ms, struct pull_waiter *waiter)
{
    waiter->patience.fire = patience_over;
    timers_set(data->options.timers, &waiter->patience, data_now(data) + bounded_patience_ns(patience_ms),
               NULL);
}

void data_on_pull(struct server_data *data, struct call *call, const struct message *request)
{
    const struct pull_request *pull = &request->pull;
    struct asker asker;
    struct datum_id id, as;
    struct esp_error error;
    struct pull_wish wish = {.id = &id,
                             .sources = pull->sources,
                             .n_sources = pull->n_sources,
                             .kind = pull->flags & DATUM_REPLICA     ? PULL_REPLICA
                                     : pull->flags & DATUM_KEPT_COPY ? PULL_KEPT
                                                                     : PULL_MOVED,
                             .mode = (enum datum_mode)pull->mode,
                             .flags = pull->flags & DATUM_ALL_FLAGS};
    data_asker_of(data, call, &pull->extensions, &asker);
    wish.patience_ns = wish.room_ns = read_patience(&pull->extensions);
    enum esp_status status = datum_id_parse(pull->datum, &id, &error);
    const struct extension *places = extension_find(&pull->extensions, EXTENSION_PLACES);
    if (status == ESP_OK && places) {
        note_places(data, call, &asker, &id, places);
        return;
    }
    if (status == ESP_OK)
        status = read_laying(data, pull, &wish, &as, &error);
    if (status == ESP_OK && wish.as)
        status = mind_taking(data, &asker, pull, &as, &error);
    if (status == ESP_OK && is_here(data, &wish)) {
        answer_here(data, call, &asker, &wish);
        return;
    }
    struct pull_waiter *waiter = status == ESP_OK ? calloc(1, sizeof *waiter) : NULL;
    if (status == ESP_OK && !waiter)
        status = error_no_memory(&error, "a transfer");
    if (waiter) {
        waiter->call = call;
        waiter->kind = wish.kind;
    }
    if (status == ESP_OK)
        status = server_data_pull(data, &asker, &wish, waiter, &error);
    if (status == ESP_OK) {
        answer_later(data, pull->patience_ms, waiter);
        return;
    }
    free(waiter);
    call_reply(call, message_failure(MESSAGE_PULL_REPLY, status, "%s", error.text));
}

bool pull_abandoned(struct server_data *data, struct call *call)
{
    struct pull *pull;
    struct pull_waiter *waiter;
    for (pull = data->pulls; pull; pull = pull->hh.next)
        DL_FOREACH(pull->waiters, waiter)
    if (waiter->call == call) {
        unlink_waiter(waiter); /* the transfer goes on */
        free(waiter);
        return true;
    }
    return false;
}

enum esp_status pull_forbid(struct server_data *data, const struct asker *asker, const struct datum_id *id,
                            struct esp_error *error)
{
    struct pull *pull;
    HASH_FIND(hh, data->pulls, &id->key, sizeof id->key, pull);
    if (!pull)
        return error_set(error, ESP_NOT_FOUND, "no copy of it is on its way");
    enum esp_status status = store_abort(data->store, &asker->is, id->key, error);
    if (status == ESP_OK) {
        pull->forbidden = true;
        atomic_store(&pull->stop, true);
    }
    return status;
}

bool pull_moves(const struct server_data *data, struct datum_key key)
{
    const struct pull *pull;
    HASH_FIND(hh, data->pulls, &key, sizeof key, pull);
    return pull && pull->kind == PULL_MOVED;
}

bool pull_give_up(struct server_data *data, struct datum_key key)
{
    struct pull *pull;
    HASH_FIND(hh, data->pulls, &key, sizeof key, pull);
    if (pull)
        atomic_store(&pull->stop, true);
    return pull;
}

void pull_stop_all(struct server_data *data)
{
    struct pull *pull;
    for (pull = data->pulls; pull; pull = pull->hh.next)
        atomic_store(&pull->stop, true);
}

/*
 * The original of a datum moves here. The giver promises it to one server at a time (moves.c). The datum is
 * stored here for good before the giver deletes its own, so it is not lost if one of them dies in between;
 * repeating the move then ends it.
 */

#define TRIES      5
#define PAUSE_MS   100 /* before the second try; doubles with each further try */
#define LOOK_BYTES ((uint64_t)4 << 20)

enum esp_status pull_promote(struct pull *pull, struct esp_error *error)
{
    struct server_data *data = pull->data;
    struct store *store = data->store;
    struct store_work *work = NULL;
    endpoint_enter(data->endpoint);
    enum esp_status status = store_promote(store, &pull->asker.is, pull->as.key, &work, error);
    endpoint_leave(data->endpoint);
    if (!work)
        return status;
    store_work_do(work);
    endpoint_enter(data->endpoint);
    status = store_work_end(store, work, error);
    endpoint_leave(data->endpoint);
    return status;
}

static enum esp_status tell_giver(struct pull *pull, struct esp_error *error)
{
    char text[DATUM_TEXT];
    const char *name = pull->data->options.name;
    struct extension moved = {EXTENSION_MOVES, (const uint8_t *)name, (uint32_t)strlen(name)};
    struct message request = {.kind = MESSAGE_FINISH}, reply = {0};
    request.finish = (struct finish){
        .datum = datum_id_text(&pull->id, text), .ticket = pull->ticket, .extensions = {&moved, 1}};
    enum esp_status status =
        transport_call(pull->data->endpoint->transport, pull->giver, &request, PULL_ASK_MS, &reply, error);
    message_clear(&reply);
    return status;
}

/* Asks the server for a promise of the original. A server with a replica, or with nothing, is left alone. */
static enum esp_status ask_giver(struct pull *pull, const char *address, struct esp_error *error)
{
    struct message reply;
    enum esp_status status = pull_open(pull, address, &reply, error);
    const bool gives = status == ESP_OK && extension_find(&reply.open_reply.extensions, EXTENSION_MOVES);
    const uint64_t ticket = status == ESP_OK ? reply.open_reply.ticket : 0;
    message_clear(&reply);
    pull->giver[0] = 0;
    if (gives) {
        snprintf(pull->giver, sizeof pull->giver, "%s", address);
        pull->ticket = ticket;
    } else if (status == ESP_OK) {
        pull_close(pull, address, ticket);
    }
    return status == ESP_NOT_FOUND ? ESP_OK : status;
}

/* The giver does not know this move, as the transfer took longer than its ticket lives, or it has nothing any
 * more. ESP_BUSY: the giver cannot delete its own now. */
static enum esp_status claim_again(struct pull *pull, struct esp_error *error)
{
    char giver[sizeof pull->giver];
    memcpy(giver, pull->giver, sizeof giver);
    enum esp_status status = ask_giver(pull, giver, error);
    const bool gives = *pull->giver;
    memcpy(pull->giver, giver, sizeof giver);
    if (status == ESP_OK)
        return gives ? tell_giver(pull, error) : ESP_OK;
    error->status = ESP_BUSY; /* this answer says nothing about the datum here */
    return ESP_BUSY;
}

/* Checks that the original is here still: it may have been deleted, or handed to a server to which it was
 * promised before. Withdraws such a promise. */
static enum esp_status hold_on(struct pull *pull, struct esp_error *error)
{
    struct server_data *data = pull->data;
    struct store_entry entry;
    char text[DATUM_TEXT];
    endpoint_enter(data->endpoint);
    enum esp_status status = store_look(data->store, &pull->asker.is, &pull->id, &entry, error);
    if (status == ESP_OK && entry.flags & DATUM_REPLICA)
        status =
            error_set(error, ESP_NOT_FOUND, "%s: what is here is a replica", datum_id_short(&pull->id, text));
    if (status == ESP_OK)
        data_reclaim(data, pull->id.key);
    endpoint_leave(data->endpoint);
    return status;
}

static enum esp_status tell(struct pull *pull, struct esp_error *error)
{
    enum esp_status status = hold_on(pull, error);
    if (status != ESP_OK)
        return status;
    status = tell_giver(pull, error);
    return status == ESP_NOT_FOUND ? claim_again(pull, error) : status;
}

static bool may_be_tried_again(enum esp_status status)
{
    return status == ESP_BUSY || status == ESP_UNREACHABLE || status == ESP_MAYBE || status == ESP_TIMEOUT;
}

static enum esp_status persist(struct pull *pull, struct esp_error *error)
{
    enum esp_status status = tell(pull, error);
    for (unsigned i = 1; i < TRIES && may_be_tried_again(status) && !atomic_load(&pull->stop); i++) {
        nanosleep(&(struct timespec){.tv_nsec = (INT64_C(1) << i) * PAUSE_MS / 2 * NS_PER_MS}, NULL);
        status = tell(pull, error);
    }
    return status;
}

enum esp_status pull_take_over(struct pull *pull, struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct esp_error why = {0};
    enum esp_status status = persist(pull, &why);
    if (status == ESP_REFUSED) {
        endpoint_enter(pull->data->endpoint);
        store_depart(pull->data->store, &pull->asker.is, &pull->as, NULL, NULL);
        endpoint_leave(pull->data->endpoint);
        pull_close(pull, pull->giver,
                   pull->ticket); /* the giver keeps the memory of a deleted datum until then */
        return error_set(error, ESP_REFUSED, "%s", why.text);
    }
    if (status != ESP_OK && hold_on(pull, error) != ESP_OK) {
        pull_close(pull, pull->giver, pull->ticket);
        return error->status;
    }
    if (status != ESP_OK) /* two originals are better than none */
        log_warning("%s: has moved here, but %s may have it, too: %s", datum_id_short(&pull->id, text),
                    pull->giver, why.text);
    return ESP_OK;
}

/* ---- an original that is here, and elsewhere, too ---- */

enum esp_status pull_find_original(struct pull *pull, bool *is_here, struct esp_error *error)
{
    struct store_entry entry = {.flags = DATUM_REPLICA};
    struct store *store = pull->data->store;
    enum esp_status status = ESP_OK;
    *is_here = false;
    if (pull->kind != PULL_MOVED)
        return ESP_OK;
    if (store_has(store, pull->id.key))
        status = store_look(store, &pull->asker.is, &pull->id, &entry, error);
    *is_here = status == ESP_OK && !(entry.flags & DATUM_REPLICA);
    if (!*is_here) /* the original that comes is promised to nobody */
        data_reclaim(pull->data, pull->id.key);
    return status;
}

static enum esp_status read_piece(struct pull *pull, struct store_pin *pin, uint64_t offset, uint64_t bytes,
                                  struct esp_error *error)
{
    struct store_piece piece;
    struct server_data *data = pull->data;
    endpoint_enter(data->endpoint);
    enum esp_status status = store_pin_area(pin, offset, bytes, &piece, error);
    endpoint_leave(data->endpoint);
    if (status != ESP_OK)
        return status;
    status = store_piece_read(&piece, error);
    endpoint_enter(data->endpoint);
    store_pin_area_done(data->store, pin, &piece, false);
    endpoint_leave(data->endpoint);
    return status;
}

/* Reads data that are only on the disk, so that no other server deletes its original while the file here is
 * damaged. */
static enum esp_status look_at(struct pull *pull, struct store_pin *pin, struct esp_error *error)
{
    const uint64_t bytes = store_pin_shape(pin)->bytes;
    enum esp_status status = ESP_OK;
    for (uint64_t at = 0; status == ESP_OK && at < bytes; at += LOOK_BYTES)
        status = read_piece(pull, pin, at, bytes - at < LOOK_BYTES ? bytes - at : LOOK_BYTES, error);
    return status;
}

static enum esp_status relieve(struct pull *pull, const char *address, struct store_pin *pin, bool *looked,
                               struct esp_error *error)
{
    pull_note_life(pull);
    enum esp_status status = ask_giver(pull, address, error);
    if (status == ESP_OK && *pull->giver && !*looked)
        status = look_at(pull, pin, error);
    *looked |= status == ESP_OK && *pull->giver;
    if (*pull->giver && (status != ESP_OK || (status = persist(pull, error)) != ESP_OK))
        pull_close(pull, address, pull->ticket);
    if (status != ESP_OK && status != ESP_NOT_FOUND)
        error_prefix(error, "it is here already, but %s may have it, too", address);
    return status;
}

enum esp_status pull_settle(struct pull *pull, struct esp_error *error)
{
    struct server_data *data = pull->data;
    struct store_pin *pin = NULL;
    bool looked = false;
    endpoint_enter(data->endpoint);
    enum esp_status status = store_open_reader(data->store, &pull->asker.is, &pull->id, &pin, error);
    endpoint_leave(data->endpoint);
    for (uint32_t i = 0; status == ESP_OK && i < pull->n_addresses && !atomic_load(&pull->stop); i++)
        status = relieve(pull, pull->addresses[i], pin, &looked, error);
    endpoint_enter(data->endpoint);
    store_release(data->store, pin, false);
    endpoint_leave(data->endpoint);
    return status;
}

/*
 * Data that clients have ordered to be made here with another layout, and have not taken yet
 * (EXTENSION_LAID_TAKEN). Only that client can name such a datum, so it is deleted when the client stops
 * asking.
 */

#define MOST_UNTAKEN 10000
/* A client asks at least every two seconds, and takes a finished datum at once. */
#define LEASE_NS (10 * NS_PER_S)

struct untaken {
    struct datum_id id;
    struct asker asker;
    int64_t until_ns;
    UT_hash_handle hh; /* by id.key */
};

static struct untaken *find(const struct server_data *data, struct datum_key key)
{
    struct untaken *untaken;
    HASH_FIND(hh, data->untaken, &key, sizeof key, untaken);
    return untaken;
}

static void forget(struct server_data *data, struct untaken *untaken)
{
    HASH_DEL(data->untaken, untaken);
    free(untaken);
}

static struct untaken *note(struct server_data *data, const struct asker *asker, const struct datum_id *id)
{
    struct untaken *untaken = HASH_COUNT(data->untaken) < MOST_UNTAKEN ? calloc(1, sizeof *untaken) : NULL;
    if (!untaken)
        return NULL;
    untaken->id = *id;
    asker_copy(&untaken->asker, asker);
    HASH_ADD(hh, data->untaken, id.key, sizeof untaken->id.key, untaken);
    if (untaken->hh.tbl)
        return untaken;
    free(untaken);
    return NULL;
}

enum esp_status untaken_ask(struct server_data *data, const struct asker *asker, const struct datum_id *id,
                            int64_t patience_ns, struct esp_error *error)
{
    struct untaken *untaken = find(data, id->key);
    if (!untaken && store_has(data->store, id->key)) /* the client has taken it: this question comes late */
        return ESP_OK;
    if (!untaken && !(untaken = note(data, asker, id)))
        return error_set(error, ESP_BUSY, "server %s makes %u data for clients; no more at a time",
                         data->options.name, HASH_COUNT(data->untaken));
    untaken->until_ns = data_now(data) + patience_ns + LEASE_NS;
    return ESP_OK;
}

enum esp_status untaken_take(struct server_data *data, const struct datum_id *id, struct esp_error *error)
{
    char text[DATUM_TEXT];
    if (!store_has(data->store, id->key))
        return error_set(error, ESP_NOT_FOUND,
                         "server %s does not have %s: it was not taken in time, or deleted",
                         data->options.name, datum_id_short(id, text));
    struct untaken *untaken = find(data, id->key);
    if (!untaken)
        return ESP_OK;
    const enum esp_status status = store_note_taken(data->store, id->key, error);
    if (status == ESP_OK)
        forget(data, untaken);
    return status;
}

enum esp_status untaken_made(struct server_data *data, struct datum_key key, struct esp_error *error)
{
    return find(data, key) ? store_note_untaken(data->store, key, error) : ESP_OK;
}

/* Whether the datum is deleted, or was never made. */
static bool delete_untaken(struct server_data *data, const struct untaken *untaken)
{
    struct esp_error error;
    char text[DATUM_TEXT];
    datum_id_short(&untaken->id, text);
    enum esp_status status = store_delete(data->store, &untaken->asker.is, &untaken->id, &error);
    if (status == ESP_OK)
        log_notice("%s: deleted: who ordered it is gone, and nobody else knows it", text);
    else if (status != ESP_NOT_FOUND)
        log_warning("%s: who ordered it is gone, and it cannot be deleted: %s", text, error.text);
    return status == ESP_OK || status == ESP_NOT_FOUND;
}

void untaken_tick(struct server_data *data, int64_t now_ns)
{
    struct untaken *untaken, *next;
    HASH_ITER(hh, data->untaken, untaken, next)
    {
        if (untaken->until_ns > now_ns || pull_give_up(data, untaken->id.key))
            continue;
        if (delete_untaken(data, untaken))
            forget(data, untaken);
        else /* the disk fails: try again later */
            untaken->until_ns = now_ns + LEASE_NS;
    }
}

void untaken_release(struct server_data *data)
{
    struct untaken *untaken, *next;
    HASH_ITER(hh, data->untaken, untaken, next)
    {
        delete_untaken(data, untaken);
        forget(data, untaken);
    }
}
