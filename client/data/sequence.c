/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/sequence.h"
#include "client/abstract/abstract.h"
#include "client/data/data.h"
#include "client/data/holding.h"
#include "client/library.h"
#include "client/data/sequence_places.h"
#include "client/data/vacant.h"
#include "services/data/transfer.h"
#include "util/fingerprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static __thread struct sequence *current;

bool sequence_is_open(void)
{
    return current != NULL;
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

static struct sequence_entry *find(const struct value *value, const void *memory, enum base_type type)
{
    struct sequence_entry *entry;
    DL_FOREACH(current->entries, entry)
    if (entry->memory == memory && entry->bytes == value->bytes && entry->type == type && !entry->gone)
        return entry;
    return NULL;
}

static void retire(struct sequence_entry *entry)
{
    if (entry->stale)
        entry->gone = true; /* what is there is not its value, and will not be */
    DL_DELETE(current->entries, entry);
    DL_APPEND(current->past, entry);
}

static void forget_saved(struct sequence_entry *entry)
{
    current->saved_bytes -= entry->saved ? entry->bytes : 0;
    free(entry->saved);
    entry->saved = NULL;
}

/* What is there is written over soon; without it, a result that was made of it could not be made again. */
static void save(struct sequence_entry *entry)
{
    struct sequence_entry *oldest = current->past;
    if (entry->stale || entry->gone || entry->bytes > SEQUENCE_MOST_SAVED)
        return;
    for (; oldest && current->saved_bytes + entry->bytes > SEQUENCE_MOST_SAVED; oldest = oldest->next)
        forget_saved(oldest);
    entry->saved = malloc(entry->bytes);
    if (!entry->saved)
        return;
    memcpy(entry->saved, entry->memory, entry->bytes);
    current->saved_bytes += entry->bytes;
}

/* `stale`: a result belongs there; else its value is what is there now. */
static struct sequence_entry *add(void *memory, uint64_t bytes, enum base_type type, bool stale,
                                  struct esp_error *error)
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
    entry->stale = stale;
    entry->print = stale ? 0 : fingerprint(memory, bytes);
    entry->owner = current;
    DL_APPEND(current->entries, entry);
    sequence_place_add(entry);
    return entry;
}

/* From where it is, or computed again. */
static enum esp_status fetch(struct sequence_entry *entry, void *memory, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    if (!holding_datum(entry->holding, datum))
        return error_set(error, ESP_NOT_FOUND, "it is on no server");
    enum esp_status status =
        data_get(current->engine, datum, memory, entry->bytes, (struct data_told){0}, error);
    if (transfer_may_go_on(status) && sequence_make_again(current, entry->holding, error) == ESP_OK &&
        holding_datum(entry->holding, datum))
        status = data_get(current->engine, datum, memory, entry->bytes, (struct data_told){0}, error);
    return status;
}

/* What the program has not written to: the other elements of the result. */
static enum esp_status fetch_rest(struct sequence_entry *entry, struct esp_error *error)
{
    void *whole = malloc(entry->bytes);
    if (!whole)
        return error_no_memory(error, "a result");
    enum esp_status status = fetch(entry, whole, error);
    if (status == ESP_OK)
        vacant_fill(entry->memory, whole, entry->bytes, entry->type);
    free(whole);
    return status;
}

/* What of that result belongs there when its call has ended: of one that failed, or that came to memory,
 * nothing does. */
static enum vacancy what_is_due(struct sequence_entry *entry)
{
    char datum[DATUM_TEXT];
    if (!entry->stale || entry->gone)
        return VACANT_NOT;
    if (holding_wait(entry->holding, NULL) != ESP_OK || !holding_datum(entry->holding, datum))
        return VACANT_NOT;
    entry->gone = !sequence_place_is_there(entry);
    return entry->gone ? VACANT_NOT : vacant_look(entry->memory, entry->bytes, entry->type);
}

/* The result that belongs there comes; what the program has written there since stays. */
static enum esp_status bring_back(struct sequence_entry *entry, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    if (!entry->stale || entry->gone)
        return ESP_OK;
    const enum vacancy due = what_is_due(entry);
    if (entry->gone)
        return error_set(error, ESP_INVALID,
                         "a result of the sequence cannot come to its memory at %p, which was freed: let "
                         "esp_sequence_passed_on() know of it before, or free it behind esp_sequence_end()",
                         (void *)entry->memory);
    if (due == VACANT_WHOLLY)
        status = fetch(entry, entry->memory, error);
    else if (due == VACANT_PARTLY)
        status = fetch_rest(entry, error);
    if (status != ESP_OK)
        return error_prefix(error, "a result of the sequence");
    if (due == VACANT_WHOLLY)
        entry->print = fingerprint(entry->memory, entry->bytes);
    else
        entry->gone = true; /* another value than the one on servers */
    entry->stale = false;
    return ESP_OK;
}

enum esp_status sequence_sync(const void *memory, uint64_t bytes, struct esp_error *error)
{
    struct sequence_entry *entry;
    enum esp_status status = ESP_OK;
    if (!current)
        return ESP_OK;
    DL_FOREACH(current->entries, entry)
    if (status == ESP_OK && sequence_overlaps(entry, memory, bytes))
        status = bring_back(entry, error);
    return status;
}

enum esp_status sequence_check_memory(const struct argument *argument, const void *memory, uint64_t bytes,
                                      struct esp_error *error)
{
    if (!sequence_place_is_due(memory, bytes, current))
        return ESP_OK;
    return error_set(
        error, ESP_INVALID,
        "argument \"%s\": in its memory belongs a result of another thread's sequence, which comes "
        "when that thread calls esp_sequence_end()",
        argument->name);
}

void sequence_note_call(const struct invocation *invocation)
{
    if (current && !current->paused)
        sequence_remember(current, invocation);
}

enum esp_status sequence_restore(struct holding *holding, struct esp_error *error)
{
    return current ? sequence_make_again(current, holding, error) : error->status;
}

/* ---- arguments ---- */

static bool may_hold(const struct value *value, const struct argument *argument)
{
    return !current->paused && argument->n_dims > 0 && value->form == VALUE_MEMORY && !value->is_kept &&
           !value->stays && value->bytes >= SEQUENCE_LEAST_BYTES;
}

/* The entry whose value goes in; NULL: there is none, or what it had is there no more. */
static struct sequence_entry *usable(const struct value *value, const struct argument *argument)
{
    struct sequence_entry *entry = find(value, value->in, argument->type);
    if (!entry)
        return NULL;
    if (entry->stale)
        return what_is_due(entry) == VACANT_WHOLLY ? entry : NULL;
    bool good = holding_wait(entry->holding, NULL) == ESP_OK &&
                fingerprint(entry->memory, entry->bytes) == entry->print;
    if (good)
        return entry;
    retire(entry);
    return NULL;
}

/* A copy of memory in which a result is due is no value. */
static enum esp_status check_marks(const struct value *value, const struct argument *argument,
                                   struct esp_error *error)
{
    if (value->form != VALUE_MEMORY || !vacant_can_be(argument->type) ||
        vacant_look(value->in, value->bytes, argument->type) == VACANT_NOT)
        return ESP_OK;
    return error_set(
        error, ESP_INVALID,
        "argument \"%s\": it was copied from memory in which a result of a sequence is due, and which "
        "has it behind esp_sequence_end() only: pass that memory itself, or end the sequence before",
        argument->name);
}

static enum esp_status take_input(struct value *value, const struct argument *argument,
                                  struct esp_error *error)
{
    char datum[DATUM_TEXT];
    struct sequence_entry *entry = usable(value, argument);
    if (!entry) {
        if (sequence_sync(value->in, value->bytes, error) != ESP_OK ||
            check_marks(value, argument, error) != ESP_OK)
            return error->status;
        entry = add((void *)(uintptr_t)value->in, value->bytes, argument->type, false, error);
    }
    if (!entry)
        return error->status;
    value->held = holding_use(entry->holding);
    if (!holding_datum(entry->holding, datum))
        return ESP_OK;
    if (entry->stale)
        value->in = NULL; /* what is there is not the value */
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

/* Whatever was there is past; of what reaches beyond, the rest is made good first. */
static enum esp_status make_way(const void *memory, uint64_t bytes, struct esp_error *error)
{
    struct sequence_entry *entry, *next;
    enum esp_status status = ESP_OK;
    DL_FOREACH_SAFE(current->entries, entry, next)
    {
        if (!sequence_overlaps(entry, memory, bytes))
            continue;
        bool beyond = entry->memory < (const char *)memory ||
                      entry->memory + entry->bytes > (const char *)memory + bytes;
        save(entry);
        if (beyond && status == ESP_OK)
            status = bring_back(entry, error);
        retire(entry);
    }
    return status;
}

static enum esp_status take_output(struct value *value, const struct argument *argument,
                                   struct esp_error *error)
{
    enum esp_status status = make_way(value->out, value->bytes, error);
    struct sequence_entry *entry =
        status == ESP_OK ? add(value->out, value->bytes, argument->type, true, error) : NULL;
    if (!entry)
        return error->status;
    holding_expect(entry->holding, &value->due);
    value->result = holding_use(entry->holding);
    value->is_kept = true;
    value->kept_mode = DATUM_VOLATILE;
    return ESP_OK;
}

enum esp_status sequence_take_input(struct value *value, const struct argument *argument, uint64_t span,
                                    struct esp_error *error)
{
    if (value->grid || value->datum || !value_goes_in(value, argument) || !value->in)
        return ESP_OK;
    if (may_hold(value, argument))
        return take_input(value, argument, error);
    const enum esp_status status = sequence_sync(value->in, span, error);
    return status == ESP_OK ? check_marks(value, argument, error) : status;
}

enum esp_status sequence_take_result(struct value *value, const struct argument *argument, bool is_abstract,
                                     uint64_t span, struct esp_error *error)
{
    const bool is_named = value->datum && !value->held; /* by the program, as what goes in */
    if (value->grid || is_named || value->result || !argument_is_output(argument) || !value->out)
        return ESP_OK;
    const bool is_whole = !is_abstract || abstract_gives_whole(argument); /* else it is made here */
    if (is_whole && may_hold(value, argument) && vacant_can_be(argument->type))
        return take_output(value, argument, error);
    /* Of a section, what is not written stays as it is. */
    enum esp_status status = sequence_sync(value->out, span, error);
    return status == ESP_OK ? make_way(value->out, span, error) : status;
}

/* ---- beginning and end ---- */

enum esp_status esp_sequence_begin(void)
{
    struct esp_error *error = library_error();
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = ESP_OK;
    if (current)
        status = error_set(error, ESP_INVALID, "this thread is in a sequence already: end it first");
    else if (!(current = calloc(1, sizeof *current)))
        status = error_no_memory(error, "a sequence");
    else
        current->engine = library->engine;
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
        if (entry->memory == memory && entry->stale && !entry->gone) {
            holding_wait(entry->holding, NULL); /* nobody marks the memory then */
            entry->passed_on = true;
            return ESP_OK;
        }
    }
    return error_set(error, ESP_NOT_FOUND,
                     "no result of this sequence that is still on a server belongs there");
}

/* Deleting is waiting for answers, mostly: all of them at once. */
struct drops {
    struct engine *engine;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    unsigned under_way;
};

struct deletion {
    struct thread_job job;
    struct drops *drops;
    char datum[DATUM_TEXT];
};

static void drop_run(void *arg)
{
    struct deletion *drop = arg;
    struct drops *drops = drop->drops;
    data_drop(drops->engine, drop->datum, NULL, NULL); /* what is gone already need not go */
    free(drop);
    pthread_mutex_lock(&drops->lock);
    drops->under_way--;
    pthread_cond_signal(&drops->ended);
    pthread_mutex_unlock(&drops->lock);
}

static void drop_begin(struct drops *drops, struct holding *holding)
{
    struct deletion *drop = malloc(sizeof *drop);
    if (!drop || !holding_datum(holding, drop->datum)) {
        free(drop);
        return;
    }
    drop->drops = drops;
    drop->job = (struct thread_job){.run = drop_run, .arg = drop};
    pthread_mutex_lock(&drops->lock);
    drops->under_way++;
    pthread_mutex_unlock(&drops->lock);
    if (!thread_pool_submit(drops->engine->runners, &drop->job))
        drop_run(drop);
}

static void clear(struct drops *drops, struct sequence_entry **list)
{
    struct sequence_entry *entry, *next;
    DL_FOREACH_SAFE(*list, entry, next)
    {
        if (drops)
            drop_begin(drops, entry->holding);
        sequence_place_remove(entry);
        holding_release(entry->holding);
        free(entry->saved);
        free(entry);
    }
    *list = NULL;
}

static void clear_strings(struct drops *drops, struct sequence *sequence)
{
    struct sequence_strings *strings, *next;
    LL_FOREACH_SAFE(sequence->strings, strings, next)
    {
        if (drops)
            drop_begin(drops, strings->holding);
        holding_release(strings->holding);
        free(strings);
    }
}

/* `engine` NULL: it is there no more. */
static void close_sequence(struct sequence *sequence, struct engine *engine)
{
    struct drops drops = {
        .engine = engine, .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
    clear(engine ? &drops : NULL, &sequence->entries);
    clear(engine ? &drops : NULL, &sequence->past);
    clear_strings(engine ? &drops : NULL, sequence);
    pthread_mutex_lock(&drops.lock);
    while (drops.under_way > 0)
        pthread_cond_wait(&drops.ended, &drops.lock);
    pthread_mutex_unlock(&drops.lock);
    sequence_forget_calls(sequence);
    free(sequence);
}

static enum esp_status finish(struct esp_error *error)
{
    struct sequence_entry *entry;
    struct esp_error why;
    enum esp_status status = ESP_OK;
    DL_FOREACH(current->entries, entry)
    {
        if (!entry->passed_on && bring_back(entry, &why) != ESP_OK && status == ESP_OK)
            status = error_set(error, why.status, "%s", why.text);
    }
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
    close_sequence(current, alive ? current->engine : NULL);
    current = NULL;
    if (library)
        library_leave(status == ESP_OK);
    return status;
}
