/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that are fetched from other servers: who waits for them, and who asks.
 */
#include "sed/server/server_pull.h"

#include "sed/server/server_data_internal.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

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
    timers_cancel(&waiter->server->timers, &waiter->patience);
    DL_DELETE(waiter->pull->waiters, waiter);
    waiter->pull = NULL;
}

void server_pull_leave(struct pull_waiter *waiter)
{
    if (!waiter->pull)
        return;
    struct pull *pull = waiter->pull;
    unlink_waiter(waiter);
    if (!pull->waiters) /* nobody wants it any more */
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
        /* Who wants more than came asks again, and has it made of that. */
        bool complete = waiter->kind == PULL_REPLICA || waiter->kind == pull->kind;
        call_reply(waiter->call, status == ESP_OK
                                     ? pull_answer(pull, complete)
                                     : message_failure(MESSAGE_PULL_REPLY, status, "%s", error->text));
        free(waiter);
    }
}

/* ---- beginning ---- */

static struct pull *pull_create(struct server *server, const struct asker *asker,
                                const struct pull_wish *wish)
{
    struct pull *pull = calloc(1, sizeof *pull);
    if (!pull)
        return NULL;
    pull->server = server;
    pull->id = *wish->id;
    pull->as = wish->as ? *wish->as : *wish->id;
    pull->laid = wish->as != NULL;
    pull->layout = wish->layout;
    pull->kind = wish->kind;
    pull->counted = wish->asked;
    pull->stays = wish->asked && wish->stays;
    pull->mode = wish->mode;
    pull->flags = wish->flags;
    snprintf(pull->here, sizeof pull->here, "%s", endpoint_address(server->endpoint));
    pull->job = (struct thread_job){.run = pull_run, .arg = pull};
    asker_copy(&pull->asker, asker);
    holders_begin(&pull->known, server, wish->id);
    HASH_ADD(hh, server->data.pulls, as.key, sizeof pull->as.key, pull);
    if (pull->hh.tbl)
        return pull;
    free(pull);
    return NULL;
}

/* With the lock. 0: it does not matter. */
static void be_patient(_Atomic int64_t *patience_ns, int64_t wanted_ns)
{
    if (wanted_ns == 0)
        wanted_ns = DEFAULT_PATIENCE_NS;
    if (wanted_ns > atomic_load(patience_ns))
        atomic_store(patience_ns, wanted_ns);
}

enum esp_status server_pull(struct server *server, const struct asker *asker, const struct pull_wish *wish,
                            struct pull_waiter *waiter, struct esp_error *error)
{
    struct pull *pull;
    struct errands *errands = server->data.errands;
    waiter->server = server;
    waiter->pull = NULL;
    if (!server->data.store || !errands || server->data.leaving)
        return error_set(error, ESP_REFUSED, "server %s %s", server->name,
                         server->data.leaving ? "is shutting down" : "keeps no data");
    const struct datum_id *as = wish->as ? wish->as : wish->id;
    HASH_FIND(hh, server->data.pulls, &as->key, sizeof as->key, pull);
    if (pull && atomic_load(&pull->stop))
        return error_set(error, ESP_BUSY, "an earlier transfer of the same datum is ending");
    if (!pull) {
        pull = pull_create(server, asker, wish);
        if (!pull)
            return error_no_memory(error, "a transfer");
        be_patient(&pull->patience_ns, wish->patience_ns);
        be_patient(&pull->room_ns, wish->room_ns);
        for (uint32_t i = 0; i < wish->n_sources; i++)
            pull_add_address(pull, wish->sources[i]);
        pull_add_named(pull); /* whom it was given here, when it was: agents may not know them yet */
        if (!errands->submit(errands, &pull->job)) {
            HASH_DEL(server->data.pulls, pull);
            free(pull);
            return error_set(error, ESP_SYSTEM, "server %s has no thread to fetch a datum with",
                             server->name);
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
    /* The transfer goes on: who wants to know asks again. */
    call_reply(waiter->call, pull_answer(pull, false));
    unlink_waiter(waiter);
    free(waiter);
}

void server_pull_kept(struct chore *chore, enum esp_status status, const struct esp_error *error)
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

/* It is here. */
static void answer_here(struct server *server, struct call *call, const struct asker *asker,
                        const struct pull_wish *wish)
{
    struct esp_error error;
    struct store_work *work = NULL;
    struct datum_key key = wish->as ? wish->as->key : wish->id->key;
    struct chore *chore = calloc(1, sizeof *chore);
    enum esp_status status = chore ? ESP_OK : error_no_memory(&error, "moving a datum");
    if (status == ESP_OK)
        store_stay(server->data.store, key);
    if (status == ESP_OK && wish->kind == PULL_KEPT)
        status = store_keep(server->data.store, &asker->is, key, wish->mode, wish->flags, &work, &error);
    if (status != ESP_OK) {
        free(chore);
        call_reply(call, message_failure(MESSAGE_PULL_REPLY, status, "%s", error.text));
        return;
    }
    chore->call = call;
    chore->then = server_pull_kept;
    server_data_chore(server, chore, work);
}

/* Other servers keep the datum, too, which is here. */
static void note_places(struct server *server, struct call *call, const struct asker *asker,
                        const struct datum_id *id, const struct extension *places)
{
    struct esp_error error;
    enum esp_status status = store_note_places(server->data.store, &asker->is, id->key,
                                               (const char *)places->value, places->length, &error);
    struct message *reply = status == ESP_OK ? message_create(MESSAGE_PULL_REPLY)
                                             : message_failure(MESSAGE_PULL_REPLY, status, "%s", error.text);
    if (reply && status == ESP_OK)
        reply->pull_reply.complete = true;
    call_reply(call, reply);
}

/* A move asks the others in any case: the original may be there, also too. */
static bool is_here(const struct server *server, const struct pull_wish *wish)
{
    const struct datum_id *id = wish->as ? wish->as : wish->id;
    return wish->kind != PULL_MOVED && store_has(server->data.store, id->key);
}

static int64_t bounded_patience_ns(uint64_t ms)
{
    return (int64_t)(ms < MOST_PATIENCE_MS ? ms : MOST_PATIENCE_MS) * NS_PER_MS;
}

/* "As this datum of yours, in such pieces": the layout and the identity (EXTENSION_LAID). */
static enum esp_status read_laying(const struct server *server, const struct pull_request *request,
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
    if (status == ESP_OK && strcmp(as->origin, server->name) != 0)
        status = error_set(error, ESP_INVALID,
                           "its identity says that it is made by server %s, but server %s is to make it",
                           as->origin, server->name);
    return status;
}

/* Who says whether he has what is made for him (EXTENSION_LAID_TAKEN). */
static enum esp_status mind_taking(struct server *server, const struct asker *asker,
                                   const struct pull_request *request, const struct datum_id *as,
                                   struct esp_error *error)
{
    const struct extension *taken = extension_find(&request->extensions, EXTENSION_LAID_TAKEN);
    if (!taken)
        return ESP_OK;
    if (taken->length != 1)
        return error_set(error, ESP_PROTOCOL, "expected a byte that tells whether a datum is taken, found %u",
                         taken->length);
    return taken->value[0] ? untaken_take(server, as, error)
                           : untaken_ask(server, asker, as, bounded_patience_ns(request->patience_ms), error);
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

static void answer_later(struct server *server, uint64_t patience_ms, struct pull_waiter *waiter)
{
    waiter->patience.fire = patience_over;
    timers_set(&server->timers, &waiter->patience, server_now(server) + bounded_patience_ns(patience_ms),
               NULL);
}

void server_on_pull(struct server *server, struct call *call, const struct message *request)
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
    data_asker_of(server, call, &pull->extensions, &asker);
    wish.patience_ns = wish.room_ns = read_patience(&pull->extensions);
    enum esp_status status = datum_id_parse(pull->datum, &id, &error);
    const struct extension *heir = extension_find(&pull->extensions, EXTENSION_MOVES);
    if (status == ESP_OK && heir) {
        server_inherit(server, call, &id, heir);
        return;
    }
    const struct extension *places = extension_find(&pull->extensions, EXTENSION_PLACES);
    if (status == ESP_OK && places) {
        note_places(server, call, &asker, &id, places);
        return;
    }
    if (status == ESP_OK)
        status = read_laying(server, pull, &wish, &as, &error);
    if (status == ESP_OK && wish.as)
        status = mind_taking(server, &asker, pull, &as, &error);
    if (status == ESP_OK && is_here(server, &wish)) {
        answer_here(server, call, &asker, &wish);
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
        status = server_pull(server, &asker, &wish, waiter, &error);
    if (status == ESP_OK) {
        answer_later(server, pull->patience_ms, waiter);
        return;
    }
    free(waiter);
    call_reply(call, message_failure(MESSAGE_PULL_REPLY, status, "%s", error.text));
}

bool server_pull_abandoned(struct server *server, struct call *call)
{
    struct pull *pull;
    struct pull_waiter *waiter;
    for (pull = server->data.pulls; pull; pull = pull->hh.next)
        DL_FOREACH(pull->waiters, waiter)
    if (waiter->call == call) {
        unlink_waiter(waiter); /* the transfer goes on */
        free(waiter);
        return true;
    }
    return false;
}

enum esp_status server_pull_forbid(struct server *server, const struct asker *asker,
                                   const struct datum_id *id, struct esp_error *error)
{
    struct pull *pull;
    HASH_FIND(hh, server->data.pulls, &id->key, sizeof id->key, pull);
    if (!pull)
        return error_set(error, ESP_NOT_FOUND, "no copy of it is on its way");
    enum esp_status status = store_abort(server->data.store, &asker->is, id->key, error);
    if (status == ESP_OK) {
        pull->forbidden = true;
        atomic_store(&pull->stop, true);
    }
    return status;
}

bool server_pull_moves(const struct server *server, struct datum_key key)
{
    const struct pull *pull;
    HASH_FIND(hh, server->data.pulls, &key, sizeof key, pull);
    return pull && pull->kind == PULL_MOVED;
}

bool server_pull_give_up(struct server *server, struct datum_key key)
{
    struct pull *pull;
    HASH_FIND(hh, server->data.pulls, &key, sizeof key, pull);
    if (pull)
        atomic_store(&pull->stop, true);
    return pull;
}

void server_pull_stop(struct server *server)
{
    struct pull *pull;
    for (pull = server->data.pulls; pull; pull = pull->hh.next)
        atomic_store(&pull->stop, true);
}
