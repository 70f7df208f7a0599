/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/data/data_internal.h"

#include "util/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * The thread that fetches a datum. It asks one holder after the other, moves the bytes straight into the
 * memory of the store, and tells the waiters. The datum is visible when all of it is here.
 */

#define REOPEN_MOST 4 /* times that one holder is asked again in the middle of a transfer */

/* The holder may have let this server in because it is a server, so this server checks the right of the
 * asker. */
static enum esp_status check_owner(const struct pull *pull, const struct datum_info *record,
                                   struct esp_error *error)
{
    char text[DATUM_TEXT];
    if (pull->asker.is.trusted || (record->flags & DATUM_SHARED) || !record->owner || !*record->owner ||
        strcmp(record->owner, pull->asker.identity) == 0)
        return ESP_OK;
    return error_set(error, ESP_REFUSED, "datum %s belongs to somebody else",
                     datum_id_short(&pull->id, text));
}

/* The mode and flags that the datum is to have here. */
static struct store_new describe(const struct pull *pull, const struct datum_info *record)
{
    bool as_there = pull->laid || pull->kind == PULL_REPLICA;
    struct store_new fresh = {.id = &pull->as,
                              .mode = as_there ? (enum datum_mode)record->mode : pull->mode,
                              .flags = pull->flags | (record->flags & ~(uint32_t)DATUM_REPLICA),
                              .owner = record->owner ? record->owner : "",
                              .created_s = record->created_s,
                              .passing = pull->kind == PULL_REPLICA};
    if (fresh.mode != DATUM_VOLATILE)
        fresh.flags &= ~(uint32_t)DATUM_STRICT;
    return fresh;
}

/* With the lock. */
static enum esp_status reserve(struct pull *pull, const struct store_new *fresh, struct esp_error *error)
{
    struct datum_id made;
    struct store *store = pull->data->store;
    pull->promotes = pull->kind == PULL_MOVED && store_has(store, pull->as.key);
    if (pull->promotes)
        return ESP_OK;
    if (!pull->laid && store_is_barred(store, pull->as.key, fresh->owner, fresh->flags))
        return error_set(error, ESP_NOT_FOUND, "it was deleted");
    enum esp_status status = store_begin(store, &pull->asker.is, fresh, &made, error);
    pull->begun = status == ESP_OK;
    return status;
}

/* Waits for room as long as the waiters do. */
static enum esp_status wait_for_room(struct pull *pull, const struct store_new *fresh,
                                     struct esp_error *error)
{
    struct server_data *data = pull->data;
    const int64_t since_ns = clock_now_ns(&clock_system);
    for (;;) {
        endpoint_enter(data->endpoint);
        enum esp_status status = reserve(pull, fresh, error);
        endpoint_leave(data->endpoint);
        const int64_t waited_ns = clock_now_ns(&clock_system) - since_ns;
        if (status != ESP_BUSY || atomic_load(&pull->stop) || waited_ns > atomic_load(&pull->room_ns))
            return status;
        pull_nap();
    }
}

/* Makes room in the store, by the holder's description of the datum. */
static enum esp_status begin(struct pull *pull, const struct datum_info *record, struct esp_error *error)
{
    struct store_new fresh = describe(pull, record);
    enum esp_status status = data_shape(record, &fresh.shape, error);
    if (status == ESP_OK)
        status = check_owner(pull, record, error);
    if (status == ESP_OK)
        status =
            datum_may_leave((enum datum_mode)record->mode, record->flags, pull->kind == PULL_MOVED, error);
    if (status == ESP_OK && pull->laid)
        status = pull_lie(&fresh.shape, &pull->lies, error);
    if (status == ESP_OK)
        status = pull_lay(pull, &fresh.shape, error);
    if (status == ESP_OK && !pull->begun) {
        status = wait_for_room(pull, &fresh, error);
        pull_note_life(pull);
    }
    return status;
}

static enum esp_status area(void *arg, uint64_t offset, uint64_t bytes, struct store_piece *piece,
                            struct esp_error *error)
{
    struct pull *pull = arg;
    endpoint_enter(pull->data->endpoint);
    enum esp_status status =
        store_area(pull->data->store, &pull->asker.is, pull->as.key, offset, bytes, piece, error);
    endpoint_leave(pull->data->endpoint);
    return status;
}

static enum esp_status area_done(void *arg, struct store_piece *piece, bool whole, struct esp_error *error)
{
    struct pull *pull = arg;
    enum esp_status status = whole ? store_piece_write(piece, error) : ESP_OK;
    endpoint_enter(pull->data->endpoint);
    store_area_done(pull->data->store, pull->as.key, piece, whole && status == ESP_OK, NULL);
    endpoint_leave(pull->data->endpoint);
    return status;
}

static void moved(void *arg, uint64_t bytes)
{
    struct pull *pull = arg;
    atomic_fetch_add(&pull->arrived, bytes);
    pull_note_life(pull);
}

static bool is_stopped(void *arg)
{
    struct pull *pull = arg;
    return atomic_load(&pull->stop);
}

static bool is_late(void *arg)
{
    return pull_is_over(arg);
}

static enum esp_status move(struct pull *pull, const char *address, uint64_t ticket, uint64_t bytes,
                            struct esp_error *error)
{
    const struct errands *errands = pull->data->errands;
    const struct transfer_options options = {.transport = pull->data->endpoint->transport,
                                             .address = address,
                                             .key = pull->id.key,
                                             .ticket = ticket,
                                             .bytes = bytes,
                                             .timeout_ms = TRANSFER_SLOW * pull_chunk_ms(pull),
                                             .still_ms = pull_chunk_ms(pull),
                                             .silence_ms = pull_silence_ms(pull),
                                             .area = area,
                                             .area_done = area_done,
                                             .moved = moved,
                                             .cancelled = is_stopped,
                                             .is_late = is_late,
                                             .arg = pull,
                                             .helpers = errands ? errands->helpers : NULL};
    return transfer_run(&options, &pull->done, error);
}

/* Moves the bytes. A transfer without interruption is a measurement of the link; transfers that share the
 * link at that time are accounted for. */
static enum esp_status move_timed(struct pull *pull, const char *address, const struct open_reply *opened,
                                  struct esp_error *error)
{
    const struct server_data_options *told = &pull->data->options;
    const bool whole = pull->done.n == 0 && opened->datum.server && *opened->datum.server;
    if (!whole || !told->fetched)
        return move(pull, address, opened->ticket, opened->datum.bytes, error);
    const double begun_ns = pull->data->ops->fetch_begins(pull->data->server, opened->datum.server);
    enum esp_status status = move(pull, address, opened->ticket, opened->datum.bytes, error);
    const double seconds = pull->data->ops->fetch_ends(pull->data->server, opened->datum.server, begun_ns);
    if (status == ESP_OK && seconds > 0)
        told->fetched(told->fetched_arg, opened->datum.server, opened->datum.bytes, seconds);
    return status;
}

/* A holder that does not say it lets every copy stay. */
static bool may_stay(const struct open_reply *opened)
{
    const struct extension *told = extension_find(&opened->extensions, EXTENSION_REPLICA);
    return !told || (told->length > 0 && told->value[0] != 0);
}

/* Notes the holder of a strict datum, which has to delete it when it has been used here. */
static void note_source(struct pull *pull, const char *address, const struct datum_info *record)
{
    struct server_data *data = pull->data;
    if (!(record->flags & DATUM_STRICT) || !record->server)
        return;
    endpoint_enter(data->endpoint);
    copies_note_source(data, pull->id.key, record->server, address);
    endpoint_leave(data->endpoint);
}

/* Fetches all bytes that the holder has. */
static enum esp_status bring(struct pull *pull, const char *address, const struct open_reply *opened,
                             struct esp_error *error)
{
    enum esp_status status = begin(pull, &opened->datum, error);
    if (status != ESP_OK || pull->promotes)
        return status;
    note_source(pull, address, &opened->datum);
    pull->data->ops->traffic(pull->data->server, true);
    status = pull->laid ? pull_carry(pull, address, opened, error) : move_timed(pull, address, opened, error);
    pull->data->ops->traffic(pull->data->server, false);
    return status;
}

static enum esp_status fetch_once(struct pull *pull, const char *address, struct esp_error *error)
{
    struct message reply;
    enum esp_status status = pull_open(pull, address, &reply, error);
    if (status == ESP_OK) {
        const struct open_reply *opened = &reply.open_reply;
        bool gives = pull->kind == PULL_MOVED && extension_find(&opened->extensions, EXTENSION_MOVES);
        atomic_store(&pull->bytes, opened->datum.bytes);
        if (!pull->begun && !pull->counted)
            pull->stays = may_stay(opened);
        pull->asked = pull->opened = true;
        status = bring(pull, address, opened, error);
        if (status == ESP_OK && gives) { /* the ticket stays open until the datum is here for good */
            snprintf(pull->giver, sizeof pull->giver, "%s", address);
            pull->ticket = opened->ticket;
        } else if (status != ESP_TIMEOUT) { /* a silent holder ends the ticket itself after a minute */
            pull_close(pull, address, opened->ticket);
        }
    }
    message_clear(&reply);
    return status;
}

/* A porter that does not answer for so long may be being replaced. A porter that is not reached for longer
 * has a port that is closed to this host: an error. */
#define REPLACED_MS 3000

/* The daemon's porter replaces the porter of a dead rank, here or at the holder, in a moment. */
static bool has_lost_porter(const struct pull *pull, enum esp_status status, int64_t until_ns)
{
    return pull->laid && pull->opened && status == ESP_UNREACHABLE && clock_now_ns(&clock_system) < until_ns;
}

/* If a holder was restarted in the middle, or was unreachable for a moment, the transfer goes on where it
 * was. If the holder stays away, the error of the interrupted transfer is reported, as it says more. */
static enum esp_status fetch_from(struct pull *pull, const char *address, struct esp_error *error)
{
    int64_t until_ns = clock_now_ns(&clock_system) + REPLACED_MS * NS_PER_MS;
    char text[DATUM_TEXT];
    for (unsigned i = 0; i < REOPEN_MOST; i++) {
        struct esp_error why = {0};
        const uint64_t before = atomic_load(&pull->arrived);
        pull->opened = false;
        const enum esp_status status = fetch_once(pull, address, &why);
        if (status == ESP_OK)
            return ESP_OK;
        if (i == 0 || pull->opened)
            *error = why;
        if (atomic_load(&pull->arrived) != before)
            until_ns = clock_now_ns(&clock_system) + pull_ask_ms(pull) * NS_PER_MS;
        const bool lost_porter = has_lost_porter(pull, status, until_ns);
        if (!transfer_may_go_on(status) || pull->stuck || atomic_load(&pull->stop) || status == ESP_TIMEOUT ||
            (atomic_load(&pull->arrived) == before && !lost_porter))
            break;
        log_notice("%s: is tried again: %s", datum_id_short(&pull->id, text), why.text);
        if (lost_porter)
            pull_nap();
    }
    return error->status;
}

/* Which error of several holders is reported: "does not have it" counts least, "cannot be reached" more, and
 * a reason why a holder refuses (the datum is being moved, or is unique) most. */
static int weight(enum esp_status status)
{
    return status == ESP_NOT_FOUND ? 0 : transfer_may_go_on(status) ? 1 : 2;
}

/* Connecting to a host that is cut off takes long; a host without the server refuses at once. */
static bool is_silence(enum esp_status status, int64_t took_ns)
{
    return status == ESP_TIMEOUT || (status == ESP_UNREACHABLE && took_ns >= PULL_SILENCE_MS / 2 * NS_PER_MS);
}

/* Asks that holder. True: the transfer is over, and *error is its outcome; else *error says why not. */
static bool try_source(struct pull *pull, uint32_t i, struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct esp_error why = {0};
    const char *address = pull->addresses[i];
    const int64_t begun_ns = clock_now_ns(&clock_system);
    const enum esp_status tried = fetch_from(pull, address, &why);
    if (tried == ESP_OK || pull->stuck) {
        *error = why;
        error->status = tried;
        return true;
    }
    pull->silent[i] = !pull->laid && is_silence(tried, clock_now_ns(&clock_system) - begun_ns);
    if (tried == ESP_NOT_FOUND)
        pull_look_behind(pull, address);
    if (weight(tried) >= weight(error->status))
        error_set(error, tried, "%s from %s: %s", datum_id_short(&pull->id, text), address, why.text);
    return atomic_load(&pull->stop);
}

/* Asks all holders from `next` on, and then the holders that agents name. */
static bool try_new(struct pull *pull, uint32_t *next, struct esp_error *error)
{
    do {
        while (*next < pull->n_addresses && !atomic_load(&pull->stop)) {
            pull_note_life(pull);
            if (try_source(pull, (*next)++, error))
                return true;
        }
    } while (!atomic_load(&pull->stop) && pull_look_up(pull));
    return atomic_load(&pull->stop);
}

/* Asks the silent holders again; the transfer goes on where it was with the first that answers. */
static bool try_silent(struct pull *pull, struct esp_error *error)
{
    char text[DATUM_TEXT];
    bool again = false;
    for (uint32_t i = 0; i < pull->n_addresses; i++) {
        if (!pull->silent[i])
            continue;
        if (pull_is_over(pull))
            return true;
        log_notice("%s: nothing has come from %s for a while: it is asked again",
                   datum_id_short(&pull->id, text), pull->addresses[i]);
        if (try_source(pull, i, error))
            return true;
        again |= pull->silent[i];
    }
    return !again;
}

static enum esp_status fetch(struct pull *pull, struct esp_error *error)
{
    char text[DATUM_TEXT];
    uint32_t next = 0;
    memset(pull->silent, 0, sizeof pull->silent);
    pull->silence_ms = PULL_SILENCE_MS;
    error_set(error, ESP_NOT_FOUND, "%s: no server is known to hold it", datum_id_short(&pull->id, text));
    while (!try_new(pull, &next, error)) {
        if (pull->silence_ms < PULL_CHUNK_MS)
            pull->silence_ms *= 2;
        if (try_silent(pull, error))
            break;
    }
    pull->silence_ms = 0;
    return error->status;
}

static enum esp_status commit(struct pull *pull, struct esp_error *error)
{
    struct server_data *data = pull->data;
    struct store_work *work = NULL;
    endpoint_enter(data->endpoint);
    enum esp_status status = pull->laid ? untaken_made(data, pull->as.key, error) : ESP_OK;
    if (status == ESP_OK)
        status = store_commit(data->store, &pull->asker.is, pull->as.key, &work, error);
    endpoint_leave(data->endpoint);
    if (!work)
        return status;
    store_work_do(work);
    endpoint_enter(data->endpoint);
    status = store_work_end(data->store, work, error);
    endpoint_leave(data->endpoint);
    return status;
}

static bool is_still_here(struct pull *pull)
{
    endpoint_enter(pull->data->endpoint);
    bool here = store_has(pull->data->store, pull->as.key);
    endpoint_leave(pull->data->endpoint);
    return here;
}

/* All bytes are here: stores the datum. If a replica was to become the original and is damaged, the datum is
 * fetched after all. */
static enum esp_status settle(struct pull *pull, struct esp_error *error)
{
    if (!pull->promotes)
        return commit(pull, error);
    enum esp_status status = pull_promote(pull, error);
    if (status != ESP_NOT_FOUND || is_still_here(pull))
        return status;
    if (*pull->giver)
        pull_close(pull, pull->giver, pull->ticket);
    pull->giver[0] = 0;
    status = fetch(pull, error);
    return status == ESP_OK ? commit(pull, error) : status;
}

/* Fetches and stores the datum; a move then has the giver delete its own. */
static enum esp_status get(struct pull *pull, struct esp_error *error)
{
    enum esp_status status = fetch(pull, error);
    if (status == ESP_OK)
        status = settle(pull, error);
    if (*pull->giver && status == ESP_OK)
        status = pull_take_over(pull, error);
    else if (*pull->giver)
        pull_close(pull, pull->giver, pull->ticket);
    return status;
}

void pull_run(void *arg)
{
    struct pull *pull = arg;
    struct server_data *data = pull->data;
    struct esp_error error = {0};
    char text[DATUM_TEXT], bytes[BYTES_TEXT];
    bool is_here;
    pull_note_life(pull);
    endpoint_enter(data->endpoint);
    enum esp_status status = pull_find_original(pull, &is_here, &error);
    endpoint_leave(data->endpoint);
    if (status == ESP_OK)
        status = is_here ? pull_settle(pull, &error) : get(pull, &error);
    endpoint_enter(data->endpoint);
    if (status != ESP_OK && pull->forbidden)
        status = error_set(&error, ESP_NOT_FOUND, "datum %s was deleted while it was fetched",
                           datum_id_short(&pull->id, text));
    if (status != ESP_OK && pull->begun)
        store_abort(data->store, &pull->asker.is, pull->as.key, NULL);
    if (status == ESP_OK && (pull->stays || pull->asked_for))
        store_stay(data->store, pull->as.key);
    if (status == ESP_OK && pull->laid && !is_here)
        layings_note(&data->layings, pull->as.key, pull->id.key, &pull->lies);
    if (status == ESP_OK && !is_here)
        log_notice("%s: fetched, %s", datum_id_short(&pull->as, text), bytes_text(pull->bytes, bytes));
    else if (status != ESP_OK)
        log_warning("%s: cannot be fetched: %s", datum_id_short(&pull->id, text), error.text);
    HASH_DEL(data->pulls, pull);
    pull_tell(pull, status, &error);
    ranges_clear(&pull->done);
    free(pull);
    endpoint_leave(data->endpoint);
}

/*
 * Asking the holders of a datum.
 */

static struct transport *transport_of(const struct pull *pull)
{
    return pull->data->endpoint->transport;
}

void pull_nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PULL_BUSY_MS * NS_PER_MS}, NULL);
}

static int64_t at_most(int64_t ns, int64_t most_ms)
{
    const int64_t ms = ns / NS_PER_MS;
    return ms > most_ms ? most_ms : ms < PULL_LEAST_MS ? PULL_LEAST_MS : ms;
}

/* Half of the time that is left, so that there is time for another holder. */
int64_t pull_ask_ms(const struct pull *pull)
{
    return at_most(atomic_load(&pull->patience_ns) / 2, PULL_ASK_MS);
}

int64_t pull_chunk_ms(const struct pull *pull)
{
    return at_most(atomic_load(&pull->patience_ns), PULL_CHUNK_MS);
}

int64_t pull_silence_ms(const struct pull *pull)
{
    const int64_t answers_ms = PULL_SILENCE_ANSWERS * pull->answer_ms;
    const int64_t left_ns =
        atomic_load(&pull->since_ns) + atomic_load(&pull->patience_ns) - clock_now_ns(&clock_system);
    return at_most(left_ns, pull->silence_ms > answers_ms ? pull->silence_ms : answers_ms);
}

void pull_note_life(struct pull *pull)
{
    atomic_store(&pull->since_ns, clock_now_ns(&clock_system));
}

bool pull_is_over(const struct pull *pull)
{
    return atomic_load(&pull->stop) ||
           clock_now_ns(&clock_system) - atomic_load(&pull->since_ns) > atomic_load(&pull->patience_ns);
}

/* The extensions of an open: which server asks, and for what. */
static struct extensions introduce(const struct pull *pull, struct extension extensions[2], char *who)
{
    const char *name = pull->data->options.name;
    uint32_t length = (uint32_t)strlen(name), n = 0;
    if (pull->laid) {
        const uint32_t sealed = pull->data->options.porters_seal; /* it wants a key */
        extensions[n++] = (struct extension){EXTENSION_PORTERS, (const uint8_t *)"s", sealed};
        return (struct extensions){extensions, n};
    }
    memcpy(who, name, length + 1);
    memcpy(who + length + 1, pull->here, strlen(pull->here) + 1);
    extensions[n++] = (struct extension){EXTENSION_COPIES, (const uint8_t *)who,
                                         length + 1 + (uint32_t)strlen(pull->here) + 1};
    if (pull->kind == PULL_MOVED)
        extensions[n++] = (struct extension){EXTENSION_MOVES, (const uint8_t *)name, length};
    else if (!pull->begun && !pull->counted && pull->kind == PULL_REPLICA) /* counted once for each session */
        extensions[n++] = (struct extension){EXTENSION_FETCHER, (const uint8_t *)name, length};
    return (struct extensions){extensions, n};
}

enum esp_status pull_open(struct pull *pull, const char *address, struct message *reply,
                          struct esp_error *error)
{
    char text[DATUM_TEXT];
    char who[CAP_NAME + CAP_ADDRESS + 2];
    struct extension extensions[2];
    struct message request = {.kind = MESSAGE_OPEN};
    request.open.datum = datum_id_text(&pull->id, text);
    request.open.extensions = introduce(pull, extensions, who);
    for (;;) {
        const int64_t begun_ns = clock_now_ns(&clock_system), ask_ms = pull_ask_ms(pull);
        /* Porters are slow; and a move has no other holder to ask. */
        const bool minds_silence = !pull->laid && pull->silence_ms > 0;
        const int64_t most_ms = minds_silence ? pull_silence_ms(pull) : ask_ms;
        enum esp_status status = transport_call(transport_of(pull), address, &request, most_ms, reply, error);
        const int64_t took_ms = (clock_now_ns(&clock_system) - begun_ns) / NS_PER_MS;
        if (status == ESP_OK && took_ms > pull->answer_ms)
            pull->answer_ms = took_ms;
        if (status != ESP_BUSY || pull_is_over(pull))
            return status;
        message_clear(reply);
        pull_nap();
    }
}

void pull_close(struct pull *pull, const char *address, uint64_t ticket)
{
    char text[DATUM_TEXT];
    struct message request = {.kind = MESSAGE_FINISH}, reply;
    request.finish = (struct finish){.datum = datum_id_text(&pull->id, text), .ticket = ticket};
    transport_call(transport_of(pull), address, &request, pull_ask_ms(pull), &reply, NULL);
    message_clear(&reply);
}

bool pull_add_address(struct pull *pull, const char *address)
{
    for (uint32_t i = 0; i < pull->n_addresses; i++)
        if (!strcmp(pull->addresses[i], address))
            return false;
    if (!pull->laid && strcmp(address, pull->here) == 0) /* this server need not ask itself */
        return false;
    if (pull->n_addresses == CAP_SOURCES || !address[0] || strlen(address) > CAP_ADDRESS)
        return false;
    snprintf(pull->addresses[pull->n_addresses++], CAP_ADDRESS + 1, "%s", address);
    return true;
}

bool pull_add_named(struct pull *pull)
{
    bool found = false;
    for (uint32_t i = 0; i < pull->known.n; i++)
        if (!pull->known.items[i].is_agent)
            found |= pull_add_address(pull, pull->known.items[i].address);
    return found;
}

bool pull_look_up(struct pull *pull)
{
    bool found = pull_add_named(pull);
    while (!found && pull->n_asked < pull->known.n && !atomic_load(&pull->stop)) {
        const struct holder *next = &pull->known.items[pull->n_asked++];
        struct message reply = {0};
        if (!next->is_agent) /* is asked for the datum itself */
            continue;
        holders_ask_at(&pull->known, next->address, pull_ask_ms(pull), &reply, NULL);
        message_clear(&reply);
        found = pull_add_named(pull);
    }
    return found;
}

void pull_look_behind(struct pull *pull, const char *address)
{
    struct message reply = {0};
    holders_ask_at(&pull->known, address, pull_ask_ms(pull), &reply, NULL);
    message_clear(&reply);
    pull_add_named(pull);
}
