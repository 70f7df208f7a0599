/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/sequence.h"
#include "client/arguments/invocation_data.h"
#include "client/data/data.h"
#include "client/data/distant.h"
#include "client/data/holding.h"
#include "client/session/library.h"
#include "client/session/session.h"
#include "core/problem/abstract.h"
#include "util/fingerprint.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utlist.h>

static struct sequence *sequence_create(struct engine *engine);
static void *sequence_copy_memory(const void *memory, uint64_t bytes);
static void sequence_remember(struct sequence *sequence, const struct invocation *invocation);

static __thread struct sequence *current;
static sequence_abstract *call_abstract;

void sequence_set_abstract(sequence_abstract *call)
{
    call_abstract = call;
}

bool sequence_pause(void)
{
    bool was = current && current->paused;
    if (current)
        current->paused = true;
    return was;
}

void sequence_resume(bool was_paused)
{
    if (current)
        current->paused = was_paused;
}

/* ---- entries ---- */

static bool overlaps(const struct sequence_entry *entry, const void *memory, uint64_t bytes)
{
    const uintptr_t a = (uintptr_t)entry->memory, b = (uintptr_t)memory;
    return bytes > 0 && a < b + bytes && b < a + entry->bytes;
}

static struct sequence_entry *find(const struct value *value, const void *memory, enum base_type type)
{
    struct sequence_entry *entry;
    DL_FOREACH(current->entries, entry)
    if (entry->memory == memory && entry->bytes == value->bytes && entry->type == type)
        return entry;
    return NULL;
}

static void retire(struct sequence_entry *entry)
{
    pthread_mutex_lock(&current->lock);
    DL_DELETE(current->entries, entry);
    DL_APPEND(current->past, entry);
    pthread_mutex_unlock(&current->lock);
}

/* Called with the sequence's lock held. */
static void set_saved(struct sequence_entry *entry, void *saved)
{
    current->saved_bytes -= entry->saved ? entry->bytes : 0;
    free(entry->saved);
    entry->saved = saved;
    current->saved_bytes += saved ? entry->bytes : 0;
}

/* Copies memory that is overwritten soon; without the copy, a result that was made from it could not be
 * made again. */
static void save(struct sequence_entry *entry)
{
    struct sequence_entry *oldest = current->past;
    if (entry->bytes > SEQUENCE_MOST_SAVED ||
        (entry->distant && distant_state(entry->distant, NULL) != DISTANT_HOME))
        return;
    void *saved = sequence_copy_memory(entry->memory, entry->bytes);
    pthread_mutex_lock(&current->lock);
    for (; oldest && current->saved_bytes + entry->bytes > SEQUENCE_MOST_SAVED; oldest = oldest->next)
        set_saved(oldest, NULL);
    set_saved(entry, saved);
    pthread_mutex_unlock(&current->lock);
}

static struct sequence_entry *add(void *memory, uint64_t bytes, enum base_type type, struct esp_error *error)
{
    struct sequence_entry *entry = calloc(1, sizeof *entry);
    if (!entry || !(entry->holding = holding_create(DATUM_VOLATILE, 0, false))) {
        free(entry);
        error_no_memory(error, "a sequence");
        return NULL;
    }
    entry->memory = memory;
    entry->bytes = bytes;
    entry->type = type;
    pthread_mutex_lock(&current->lock);
    DL_APPEND(current->entries, entry);
    pthread_mutex_unlock(&current->lock);
    return entry;
}

enum esp_status sequence_sync(const void *memory, uint64_t bytes, struct esp_error *error)
{
    struct sequence_entry *entry;
    if (current)
        DL_FOREACH(current->entries, entry)
    if (entry->distant && overlaps(entry, memory, bytes))
        holding_wait(entry->holding, NULL); /* its call may be under way */
    return guard_bring(memory, bytes, error);
}

void sequence_note_call(const struct invocation *invocation)
{
    if (current && !current->paused)
        sequence_remember(current, invocation);
}

static const char *name_of(const struct sequence_entry *list, const struct holding *holding)
{
    const struct sequence_entry *entry;
    DL_FOREACH(list, entry)
    if (entry->holding == holding && entry->distant)
        return entry->distant->what;
    return NULL;
}

enum esp_status sequence_restore(struct holding *holding, struct esp_error *error)
{
    if (!current)
        return error->status;
    const enum esp_status status = sequence_make_again(current, holding, error);
    const char *name = name_of(current->entries, holding);
    if (status != ESP_OK && (name || (name = name_of(current->past, holding))))
        error_prefix(error, "%s", name);
    return status;
}

/* ---- arguments ---- */

static bool may_hold(const struct value *value, const struct argument *argument)
{
    return !current->paused && argument->n_dims > 0 && value->form == VALUE_MEMORY && !value->is_kept &&
           !value->stays && value->bytes >= SEQUENCE_LEAST_BYTES;
}

/* Whether the memory means that result of a call. *here: `in` has its contents, too. */
static bool means_result(struct sequence_entry *entry, bool *here)
{
    uint64_t print = 0;
    *here = false;
    if (holding_wait(entry->holding, NULL) != ESP_OK)
        return false;
    if (distant_state(entry->distant, NULL) == DISTANT_LEFT && distant_is_untouched(entry->distant))
        return true;
    if (guard_bring(entry->memory, entry->bytes, NULL) != ESP_OK)
        return false;
    *here = distant_state(entry->distant, &print) == DISTANT_HOME &&
            fingerprint(entry->memory, entry->bytes) == print;
    return *here;
}

/* Returns the entry whose value is the input. NULL: there is none, or its memory has changed. *here: the
 * contents are in the memory, too. */
static struct sequence_entry *usable(const struct value *value, const struct argument *argument, bool *here)
{
    struct sequence_entry *entry = find(value, value->in, argument->type);
    if (!entry)
        return NULL;
    *here = true;
    const bool good = entry->distant ? means_result(entry, here)
                                     : guard_bring(entry->memory, entry->bytes, NULL) == ESP_OK &&
                                           holding_wait(entry->holding, NULL) == ESP_OK &&
                                           fingerprint(entry->memory, entry->bytes) == entry->print;
    if (good)
        return entry;
    retire(entry);
    return NULL;
}

static enum esp_status take_input(struct value *value, const struct argument *argument,
                                  struct esp_error *error)
{
    char datum[DATUM_TEXT];
    bool here = true;
    struct sequence_entry *entry = usable(value, argument, &here);
    if (!entry) {
        if (sequence_sync(value->in, value->bytes, error) != ESP_OK)
            return error->status;
        entry = add((void *)(uintptr_t)value->in, value->bytes, argument->type, error);
        if (!entry)
            return error->status;
        entry->print = fingerprint(value->in, value->bytes);
    }
    value->held = holding_use(entry->holding);
    entry->taken = true;
    if (!holding_datum(entry->holding, datum))
        return ESP_OK;
    if (!here)
        value->in = NULL; /* the contents are not there */
    value->datum = strdup(datum);
    return value->datum ? ESP_OK : error_no_memory(error, "the identity of a datum");
}

static struct sequence_strings *find_strings(const struct value *value, uint64_t print)
{
    struct sequence_strings *strings;
    LL_FOREACH(current->strings, strings)
    if (strings->bytes == value->bytes && strings->print == print)
        return strings;
    return NULL;
}

static struct sequence_strings *add_strings(const struct value *value, uint64_t print)
{
    struct sequence_strings *strings = calloc(1, sizeof *strings);
    if (!strings || !(strings->holding = holding_create(DATUM_VOLATILE, 0, false))) {
        free(strings);
        return NULL;
    }
    strings->bytes = value->bytes;
    strings->print = print;
    LL_PREPEND(current->strings, strings);
    return strings;
}

enum esp_status sequence_take_strings(struct value *value, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    if (!current || current->paused || value->bytes < SEQUENCE_LEAST_BYTES)
        return ESP_OK;
    const uint64_t print = fingerprint(value->in, value->bytes);
    struct sequence_strings *strings = find_strings(value, print);
    if (!strings && !(strings = add_strings(value, print)))
        return error_no_memory(error, "a sequence");
    value->held = holding_use(strings->holding);
    if (!holding_datum(strings->holding, datum))
        return ESP_OK;
    value->datum = strdup(datum);
    return value->datum ? ESP_OK : error_no_memory(error, "the identity of a datum");
}

/* Ends the entries in that memory; the part of an entry outside it is fetched first. Other contents stay
 * until the new result replaces them, and are still there if the call fails. */
static enum esp_status make_way(const void *memory, uint64_t bytes, struct esp_error *error)
{
    struct sequence_entry *entry, *next;
    DL_FOREACH_SAFE(current->entries, entry, next)
    {
        if (!overlaps(entry, memory, bytes))
            continue;
        if (entry->distant)
            holding_wait(entry->holding, NULL);
        save(entry);
        retire(entry);
    }
    return guard_bring_around(memory, bytes, error);
}

static enum esp_status take_output(struct value *value, const struct problem *problem,
                                   struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    struct sequence_entry *entry = NULL;
    if (make_way(value->out, value->bytes, error) != ESP_OK ||
        !(entry = add(value->out, value->bytes, argument->type, error)))
        return error->status;
    entry->distant = distant_create(current, current->engine, entry->holding, value->out, value->bytes,
                                    problem->name, argument->name);
    if (!entry->distant) {
        retire(entry);
        return error_no_memory(error, "a sequence");
    }
    holding_expect(entry->holding, &value->due);
    value->result = holding_use(entry->holding);
    value->distant = distant_use(entry->distant);
    value->wants_edges = distant_edges(value->distant, &value->head, &value->tail);
    value->is_kept = true;
    value->kept_mode = DATUM_VOLATILE;
    return ESP_OK;
}

enum esp_status sequence_take_input(struct value *value, const struct argument *argument, uint64_t span,
                                    struct esp_error *error)
{
    if (value->grid || value->datum || !value_goes_in(value, argument) || !value->in)
        return ESP_OK;
    return current && may_hold(value, argument) ? take_input(value, argument, error)
                                                : sequence_sync(value->in, span, error);
}

enum esp_status sequence_take_result(struct value *value, const struct problem *problem, uint64_t span,
                                     struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    const bool is_named = value->datum && !value->held; /* by the program, as an input */
    if (value->grid || is_named || value->result || !argument_is_output(argument) || !value->out)
        return ESP_OK;
    const bool is_whole = !problem->abstract || abstract_gives_whole(argument); /* else it is made here */
    if (current && is_whole && may_hold(value, argument))
        return take_output(value, problem, error);
    /* Elements outside a section stay as they are. */
    enum esp_status status = sequence_sync(value->out, span, error);
    return status == ESP_OK && current ? make_way(value->out, span, error) : status;
}

/* ---- beginning and end ---- */

/* Blocks that malloc() cuts out of larger ones cannot be guarded (client/data/guard.c). malloc() does so
 * with ever larger ones after large ones were freed, unless its threshold has been set. So it is set to
 * its initial value here, unless the user has set it. */
static void have_blocks_from_system(void)
{
#ifdef M_MMAP_THRESHOLD
    const char *tunables = getenv("GLIBC_TUNABLES");
    if (!getenv("MALLOC_MMAP_THRESHOLD_") && !(tunables && strstr(tunables, "glibc.malloc.mmap_threshold")))
        mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

enum esp_status esp_sequence_begin(void)
{
    struct esp_error *error = library_error();
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = ESP_OK;
    if (current)
        status = error_set(error, ESP_INVALID, "this thread is in a sequence already: end it first");
    else if (!(current = sequence_create(library->engine)))
        status = error_no_memory(error, "a sequence");
    else
        have_blocks_from_system();
    library_leave(status == ESP_OK);
    return status;
}

enum esp_status esp_sequence_passed_on(const void *memory)
{
    struct esp_error *error = library_error();
    struct sequence_entry *entry;
    if (!current)
        return error_set(error, ESP_INVALID, "this thread is in no sequence");
    DL_FOREACH(current->entries, entry)
    {
        if (entry->memory == memory && entry->distant) {
            entry->taken = true;
            return ESP_OK;
        }
    }
    return error_set(error, ESP_NOT_FOUND, "no result of this sequence belongs there");
}

/* Fetching and deleting consist mostly of waiting for answers, so all are done at once. */
struct batch {
    struct engine *engine;
    pthread_mutex_t lock; /* protects the following members */
    pthread_cond_t ended;
    unsigned under_way;
    struct esp_error error; /* the first */
};

struct part {
    struct thread_job job;
    struct batch *batch;
    void (*run)(struct part *part, struct esp_error *error);
    struct sequence_entry *entry;
    char datum[DATUM_TEXT];
};

static void run_part(void *arg)
{
    struct part *part = arg;
    struct batch *batch = part->batch;
    struct esp_error error = {0};
    part->run(part, &error);
    free(part);
    pthread_mutex_lock(&batch->lock);
    if (batch->error.status == ESP_OK)
        batch->error = error;
    batch->under_way--;
    pthread_cond_signal(&batch->ended);
    pthread_mutex_unlock(&batch->lock);
}

static void begin_part(struct batch *batch, const struct part *what)
{
    struct part *part = malloc(sizeof *part);
    pthread_mutex_lock(&batch->lock);
    if (part)
        batch->under_way++;
    else if (batch->error.status == ESP_OK)
        error_no_memory(&batch->error, "the end of a sequence");
    pthread_mutex_unlock(&batch->lock);
    if (!part)
        return;
    *part = *what;
    part->batch = batch;
    part->job = (struct thread_job){.run = run_part, .arg = part};
    if (!thread_pool_submit(batch->engine->runners, &part->job))
        run_part(part);
}

static enum esp_status finish_batch(struct batch *batch, struct esp_error *error)
{
    pthread_mutex_lock(&batch->lock);
    while (batch->under_way > 0)
        pthread_cond_wait(&batch->ended, &batch->lock);
    pthread_mutex_unlock(&batch->lock);
    pthread_cond_destroy(&batch->ended);
    pthread_mutex_destroy(&batch->lock);
    return batch->error.status == ESP_OK ? ESP_OK
                                         : error_set(error, batch->error.status, "%s", batch->error.text);
}

static void delete_it(struct part *part, struct esp_error *error)
{
    (void)error; /* a datum that is gone already needs no deletion */
    data_drop(part->batch->engine, part->datum, NULL, false, NULL);
}

static void bring_it(struct part *part, struct esp_error *error)
{
    guard_bring(part->entry->memory, part->entry->bytes, error);
}

static void drop(struct batch *batch, struct holding *holding)
{
    struct part part = {.run = delete_it};
    if (!holding_datum(holding, part.datum))
        return;
    holding_unset(holding, part.datum);
    begin_part(batch, &part);
}

static void drop_entries(struct batch *batch, struct sequence_entry *list)
{
    struct sequence_entry *entry;
    DL_FOREACH(list, entry)
    if (!entry->distant || !distant_outlive(entry->distant))
        drop(batch, entry->holding);
}

static void drop_all(struct sequence *sequence, struct batch *batch)
{
    struct sequence_strings *strings;
    drop_entries(batch, sequence->entries);
    drop_entries(batch, sequence->past);
    LL_FOREACH(sequence->strings, strings)
    drop(batch, strings->holding);
}

#define BATCH(of)                                                                                            \
    {                                                                                                        \
        .engine = (of), .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER                 \
    }

/* Results that no later call has taken are those that the program wants to see. */
static enum esp_status finish(struct esp_error *error)
{
    struct sequence_entry *entry;
    struct batch fetches = BATCH(current->engine), drops = BATCH(current->engine);
    DL_FOREACH(current->entries, entry)
    {
        const struct part part = {.run = bring_it, .entry = entry};
        if (!entry->distant)
            continue;
        holding_wait(entry->holding, NULL);
        if (!entry->taken && distant_state(entry->distant, NULL) == DISTANT_LEFT)
            begin_part(&fetches, &part);
    }
    const enum esp_status status = finish_batch(&fetches, error);
    drop_all(current, &drops);
    finish_batch(&drops, NULL);
    return status;
}

enum esp_status esp_sequence_end(void)
{
    struct esp_error *error = library_error();
    if (!current)
        return error_set(error, ESP_INVALID, "this thread is in no sequence");
    struct library *library = library_enter(error);
    bool alive = library && library->engine == current->engine;
    enum esp_status status =
        alive ? finish(error)
              : error_set(error, ESP_INVALID,
                          "grpc_finalize() was called within the sequence: what was on servers only is lost");
    if (!alive)
        current->engine = NULL;
    sequence_release(current);
    current = NULL;
    if (library)
        library_leave(status == ESP_OK);
    return status;
}

/* A value as it was at the time of the call. */
struct remembered {
    struct holding *held, *result; /* in use; NULL: none */
    struct datum_shape *shape;
    char *datum;   /* an input that the program gave by its identity */
    void *in;      /* other inputs: a copy */
    void *scratch; /* for other outputs, which are not needed again */
    void *out;
    uint64_t bytes;
    uint32_t kept_mode, kept_flags;
    bool is_kept, wanted, unread;
};

struct sequence_call {
    struct function *function; /* in use */
    double work_flop;
    uint64_t memory_bytes;
    struct remembered *values;
    uint32_t n_values;
    struct sequence_call *prev, *next;
};

/* ---- creation and destruction ---- */

static struct sequence *sequence_create(struct engine *engine)
{
    pthread_mutexattr_t recursive; /* making one result again may need another one */
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

/* Values that were sent or computed again after the end of the sequence are deleted on servers, too. */
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

/* Copies that memory into malloc'ed memory. Returns NULL without memory, or if the memory cannot be read,
 * because the program has freed it or a result belongs there. The system checks the access; where that is
 * not permitted, the memory is taken as readable. */
static void *sequence_copy_memory(const void *memory, uint64_t bytes)
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

/* Remembers a call that leaves results. Leaves out other calls, and calls with arguments that cannot be
 * stored (texts, files, sections, functions). */
static void sequence_remember(struct sequence *sequence, const struct invocation *invocation)
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
        forget(sequence, call); /* without memory the call cannot be made again */
    else if (sequence->n_calls > SEQUENCE_MOST_CALLS)
        forget(sequence, sequence->calls);
    pthread_mutex_unlock(&sequence->lock);
}

/* ---- making it again ---- */

static enum esp_status make(struct sequence *sequence, struct holding *holding, unsigned depth,
                            struct esp_error *error);

/* Returns a copy, because the program may write there meanwhile. */
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

/* Searches former entries, too: the contents of the memory before a result came are saved. */
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
    return value->datum ? data_find_value(sequence->engine, value, true, error)
                        : error_no_memory(error, "the identity of a datum");
}

/* Takes the value from its server, from the program's memory, or makes it again. */
static enum esp_status take_held(struct sequence *sequence, struct holding *holding, struct value *value,
                                 unsigned depth, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    enum esp_status status = ESP_NOT_FOUND;
    value->held = holding_use(holding);
    if (holding_datum(holding, datum)) /* else "" */
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
    to->out = from->is_kept ? NULL : from->scratch; /* the program may have other contents there by now */
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
        holding_enter_call(&invocation);
    for (uint32_t i = 0; status == ESP_OK && i < call->n_values; i++)
        status = take_value(sequence, &call->values[i], &invocation.values[i], depth, error);
    invocation.work_flop = call->work_flop;
    invocation.memory_bytes = call->memory_bytes;
    if (status != ESP_OK) {
        invocation_release(&invocation);
        return status;
    }
    if (call->function->problem->abstract) {
        status = call_abstract(sequence->engine, &invocation, error);
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
