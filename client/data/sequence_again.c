/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/sequence_again.h"

#include "client/abstract/abstract.h"
#include "client/arguments/invocation_bind.h"
#include "client/arguments/invocation_data.h"
#include "client/arguments/invocation_hold.h"
#include "client/data/sequence.h"
#include "client/session/session.h"
#include "util/fingerprint.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utlist.h>

/* A value as it was when the call was made. */
struct remembered {
    struct holding *held, *result; /* used; NULL: it is none */
    struct datum_shape *shape;
    char *datum;   /* an input that the program named itself */
    void *in;      /* other inputs: a copy */
    void *scratch; /* for other outputs, which nobody wants again */
    void *out;
    uint64_t bytes;
    uint32_t kept_mode, kept_flags;
    bool is_kept, wanted, unread;
};

struct sequence_call {
    struct function *function; /* used */
    double work_flop;
    uint64_t memory_bytes;
    struct remembered *values;
    uint32_t n_values;
    struct sequence_call *prev, *next;
};

/* ---- life ---- */

struct sequence *sequence_create(struct engine *engine)
{
    pthread_mutexattr_t recursive; /* who computes one result again may have to do so for another */
    struct sequence *sequence = calloc(1, sizeof *sequence);
    if (!sequence)
        return NULL;
    sequence->engine = engine;
    sequence->users = 1;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&sequence->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    return sequence;
}

void sequence_use(struct sequence *sequence)
{
    sequence->users++;
}

static void forget(struct sequence *sequence, struct sequence_call *call);

/* What was sent once more, or computed again, behind the end goes from servers, too. */
static void free_entries(struct sequence *sequence, struct sequence_entry *list)
{
    struct sequence_entry *entry, *next;
    DL_FOREACH_SAFE(list, entry, next)
    {
        if (sequence->engine)
            distant_delete(sequence->engine, entry->holding);
        distant_release(entry->distant);
        holding_release(entry->holding);
        free(entry->saved);
        free(entry);
    }
}

void sequence_release(struct sequence *sequence)
{
    struct sequence_strings *strings, *next;
    if (atomic_fetch_sub(&sequence->users, 1) != 1)
        return;
    free_entries(sequence, sequence->entries);
    free_entries(sequence, sequence->past);
    LL_FOREACH_SAFE(sequence->strings, strings, next)
    {
        holding_release(strings->holding);
        free(strings);
    }
    while (sequence->calls)
        forget(sequence, sequence->calls);
    pthread_mutex_destroy(&sequence->lock);
    free(sequence);
}

/* By the system, which tells what cannot be read; where that may not be asked, it is there. */
void *sequence_copy_memory(const void *memory, uint64_t bytes)
{
    char *copy = malloc(bytes ? bytes : 1);
    for (uint64_t done = 0; copy && done < bytes;) {
        const struct iovec here = {copy + done, bytes - done},
                           there = {(char *)(uintptr_t)memory + done, bytes - done};
        const ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
        if (got > 0) {
            done += (uint64_t)got;
        } else if (got < 0 && errno != EFAULT) {
            memcpy(copy + done, (const char *)memory + done, bytes - done);
            return copy;
        } else {
            free(copy);
            return NULL;
        }
    }
    return copy;
}

/* ---- remembering ---- */

static void forget(struct sequence *sequence, struct sequence_call *call)
{
    DL_DELETE(sequence->calls, call);
    sequence->n_calls--;
    for (uint32_t i = 0; i < call->n_values; i++) {
        struct remembered *value = &call->values[i];
        holding_release(value->held);
        holding_release(value->result);
        free(value->shape);
        free(value->datum);
        free(value->in);
        free(value->scratch);
    }
    free(call->values);
    function_release(call->function);
    free(call);
}

static bool leaves_results(const struct invocation *invocation)
{
    bool any = false;
    if (invocation->home[0])
        return false;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        if (invocation->values[i].form != VALUE_MEMORY || invocation->values[i].grid)
            return false;
        any |= invocation->values[i].result != NULL;
    }
    return any;
}

static void *copy(const void *data, size_t bytes, bool *whole)
{
    void *own = data ? malloc(bytes ? bytes : 1) : NULL;
    *whole = *whole && (own || !data);
    return own ? memcpy(own, data, bytes) : NULL;
}

static bool remember_value(const struct value *from, struct remembered *to)
{
    bool whole = true;
    *to = (struct remembered){.bytes = from->bytes,
                              .out = from->out,
                              .kept_mode = from->kept_mode,
                              .kept_flags = from->kept_flags,
                              .is_kept = from->is_kept,
                              .wanted = from->out != NULL,
                              .unread = from->unread};
    to->shape = copy(from->shape, sizeof *from->shape, &whole);
    if (from->result)
        to->result = holding_use(from->result);
    if (from->held)
        to->held = holding_use(from->held);
    else if (from->datum)
        whole = (to->datum = strndup(from->datum, strcspn(from->datum, " "))) && whole;
    else
        to->in = copy(from->in, from->bytes, &whole);
    return whole;
}

void sequence_remember(struct sequence *sequence, const struct invocation *invocation)
{
    bool whole = true;
    if (!leaves_results(invocation))
        return;
    struct sequence_call *call = calloc(1, sizeof *call);
    if (!call)
        return;
    call->values = calloc(invocation->n_values, sizeof *call->values);
    call->function = function_use(invocation->function);
    call->work_flop = invocation->work_flop;
    call->memory_bytes = invocation->memory_bytes;
    for (uint32_t i = 0; call->values && whole && i < invocation->n_values; i++, call->n_values++)
        whole = remember_value(&invocation->values[i], &call->values[i]);
    pthread_mutex_lock(&sequence->lock);
    DL_APPEND(sequence->calls, call);
    sequence->n_calls++;
    if (!call->values || !whole)
        forget(sequence, call); /* without memory: then it cannot be made again */
    else if (sequence->n_calls > SEQUENCE_MOST_CALLS)
        forget(sequence, sequence->calls);
    pthread_mutex_unlock(&sequence->lock);
}

/* ---- making it again ---- */

static enum esp_status make(struct sequence *sequence, struct holding *holding, unsigned depth,
                            struct esp_error *error);

/* A copy of it: the program may write there meanwhile. */
static void *find_in(const struct sequence_entry *list, const struct holding *holding)
{
    const struct sequence_entry *entry;
    DL_FOREACH(list, entry)
    {
        uint64_t print = entry->print;
        if (entry->holding != holding ||
            (entry->distant && distant_state(entry->distant, &print) != DISTANT_HOME))
            continue;
        bool whole = true;
        void *found = entry->saved ? copy(entry->saved, entry->bytes, &whole)
                                   : sequence_copy_memory(entry->memory, entry->bytes);
        if (found && fingerprint(found, entry->bytes) == print)
            return found;
        free(found);
    }
    return NULL;
}

/* Also a past one: what was there before a result was to come is saved. */
static void *in_memory(const struct sequence *sequence, const struct holding *holding)
{
    void *found = find_in(sequence->entries, holding);
    return found ? found : find_in(sequence->past, holding);
}

static enum esp_status name_datum(struct sequence *sequence, const char *datum, struct value *value,
                                  struct esp_error *error)
{
    free(value->datum);
    value->datum = strdup(datum);
    return value->datum ? invocation_find_datum(sequence->engine, value, error)
                        : error_no_memory(error, "the identity of a datum");
}

/* From where it is; from the program's memory; or made again. */
static enum esp_status take_held(struct sequence *sequence, struct holding *holding, struct value *value,
                                 unsigned depth, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    enum esp_status status = ESP_NOT_FOUND;
    value->held = holding_use(holding);
    if (holding_datum(holding, datum)) /* "" otherwise */
        status = name_datum(sequence, datum, value, error);
    if (!invocation_lost_datum(status))
        return status;
    free(value->datum);
    value->datum = NULL;
    if ((value->loaded = in_memory(sequence, holding))) {
        value->in = value->loaded;
        holding_unset(holding, datum);
        return ESP_OK;
    }
    status = make(sequence, holding, depth + 1, error);
    if (status == ESP_OK && holding_datum(holding, datum))
        status = name_datum(sequence, datum, value, error);
    return status;
}

static enum esp_status take_value(struct sequence *sequence, struct remembered *from, struct value *to,
                                  unsigned depth, struct esp_error *error)
{
    bool whole = true;
    enum esp_status status = ESP_OK;
    to->bytes = from->bytes;
    to->in = from->in;
    to->shape = copy(from->shape, sizeof *from->shape, &whole);
    to->is_kept = from->is_kept;
    to->unread = from->unread;
    to->kept_mode = from->kept_mode;
    to->kept_flags = from->kept_flags;
    if (from->wanted && !from->is_kept && !from->scratch)
        whole = (from->scratch = malloc(from->bytes ? from->bytes : 1)) && whole;
    to->out = from->is_kept ? NULL : from->scratch; /* the program may have something else there by now */
    if (!whole)
        return error_no_memory(error, "a call");
    if (from->held)
        status = take_held(sequence, from->held, to, depth, error);
    else if (from->datum)
        status = name_datum(sequence, from->datum, to, error);
    if (status == ESP_OK && from->result) {
        to->result = holding_use(from->result);
        holding_expect(to->result, &to->due);
    }
    return status;
}

static struct sequence_call *maker_of(const struct sequence *sequence, const struct holding *holding)
{
    struct sequence_call *call;
    DL_FOREACH(sequence->calls, call)
    for (uint32_t i = 0; i < call->n_values; i++)
        if (call->values[i].result == holding)
            return call;
    return NULL;
}

static enum esp_status run(struct sequence *sequence, struct sequence_call *call, unsigned depth,
                           struct esp_error *error)
{
    struct invocation invocation;
    struct session *session;
    const struct target anywhere = {0};
    enum esp_status status = invocation_begin(&invocation, call->function, error);
    if (status == ESP_OK)
        hold_enter(&invocation);
    for (uint32_t i = 0; status == ESP_OK && i < call->n_values; i++)
        status = take_value(sequence, &call->values[i], &invocation.values[i], depth, error);
    invocation.work_flop = call->work_flop;
    invocation.memory_bytes = call->memory_bytes;
    if (status != ESP_OK) {
        invocation_release(&invocation);
        return status;
    }
    if (call->function->problem->abstract) {
        status = abstract_call_again(sequence->engine, &invocation, error);
        invocation_release(&invocation);
        return status;
    }
    status = session_begin(sequence->engine, &invocation, &anywhere, 0, &session, error);
    if (status != ESP_OK)
        return status;
    status = session_call(session);
    if (status != ESP_OK)
        *error = session->error;
    session_discard(session);
    return status;
}

static enum esp_status make(struct sequence *sequence, struct holding *holding, unsigned depth,
                            struct esp_error *error)
{
    struct sequence_call *call = maker_of(sequence, holding);
    if (!call || depth > sequence->n_calls)
        return error_set(
            error, ESP_NOT_FOUND,
            "a result of the sequence is lost with its server, and cannot be computed again: what "
            "its call took is not there any more");
    return run(sequence, call, depth, error);
}

enum esp_status sequence_make_again(struct sequence *sequence, struct holding *holding,
                                    struct esp_error *error)
{
    struct esp_error why = {0};
    bool was_paused = sequence_pause();
    pthread_mutex_lock(&sequence->lock);
    enum esp_status status = make(sequence, holding, 0, &why);
    pthread_mutex_unlock(&sequence->lock);
    sequence_resume(was_paused);
    return status == ESP_OK ? ESP_OK : error_set(error, status, "%s", why.text);
}
