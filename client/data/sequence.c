/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/sequence.h"
#include "client/abstract/abstract.h"
#include "client/data/data.h"
#include "client/data/distant.h"
#include "client/data/holding.h"
#include "client/data/sequence_again.h"
#include "client/library.h"
#include "util/fingerprint.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static __thread struct sequence *current;

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

/* With the sequence's lock held. */
static void set_saved(struct sequence_entry *entry, void *saved)
{
    current->saved_bytes -= entry->saved ? entry->bytes : 0;
    free(entry->saved);
    entry->saved = saved;
    current->saved_bytes += saved ? entry->bytes : 0;
}

/* What is there is written over soon; without it, a result that was made of it could not be made again. */
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
        holding_wait(entry->holding, NULL); /* its call may be on its way */
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

/* Whether that result of a call is what the memory means; `in` it is as well: *here. */
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

/* The entry whose value goes in; NULL: there is none, or what it had is there no more. *here: that is in the
 * memory, too. */
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
        value->in = NULL; /* it is not there */
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

/* Whatever was there is past; of what reaches beyond, the rest is made good first. What does not stays until
 * the new result takes its place: should the call fail, it is there still. */
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
    const bool is_named = value->datum && !value->held; /* by the program, as what goes in */
    if (value->grid || is_named || value->result || !argument_is_output(argument) || !value->out)
        return ESP_OK;
    const bool is_whole = !problem->abstract || abstract_gives_whole(argument); /* else it is made here */
    if (current && is_whole && may_hold(value, argument))
        return take_output(value, problem, error);
    /* Of a section, what is not written stays as it is. */
    enum esp_status status = sequence_sync(value->out, span, error);
    return status == ESP_OK && current ? make_way(value->out, span, error) : status;
}

/* ---- beginning and end ---- */

/* Blocks that malloc() carves out of others cannot be guarded (client/data/guard_pages.h). It does so with
 * ever larger ones when large ones have been freed, unless its threshold has been set: to what it begins
 * with, here, or by the user. */
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

/* Fetching and deleting is waiting for answers, mostly: all of them at once. */
struct batch {
    struct engine *engine;
    pthread_mutex_t lock; /* of what follows */
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
    (void)error; /* what is gone already need not go */
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

/* What no later call has taken is what the program wants to see. */
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
