/* SPDX-License-Identifier: Apache-2.0
 *
 * Which data there are: by number, and by the address of the struct that was made.
 */
#include "client/data/grid_data.h"
#include "util/fingerprint.h"
#include "util/random.h"
#include "util/fork_lock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define MOST_FREED 4096 /* structs whose data were freed that are known as such */

struct entry {
    uint64_t number;
    struct grid_data *grid; /* one use of it */
    UT_hash_handle hh;
};

struct named { /* a struct of the caller's */
    const grpc_data_t *address;
    uint64_t number;
    UT_hash_handle hh;
};

struct mapping {
    char *key;
    void *memory;
    UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static struct named *names;
static struct mapping *mappings;
static uint64_t last_number, check; /* `check` tells structs of this process from garbage */
/* Programs without such data take no lock for every argument. */
static atomic_bool any;

static uint64_t seal(uint64_t number)
{
    return check ^ (number * UINT64_C(0x9e3779b97f4a7c15));
}

static struct grid_data *find(uint64_t number)
{
    struct entry *entry;
    HASH_FIND(hh, entries, &number, sizeof number, entry);
    if (!entry)
        return NULL;
    entry->grid->users++;
    return entry->grid;
}

struct grid_data *grid_use_number(uint64_t number)
{
    pthread_mutex_lock(&lock);
    struct grid_data *grid = find(number);
    pthread_mutex_unlock(&lock);
    return grid;
}

struct grid_data *grid_use(const grpc_data_t *data)
{
    if (!data || !atomic_load(&any))
        return NULL;
    pthread_mutex_lock(&lock);
    struct grid_data *grid = data->esp_check == seal(data->esp_number) ? find(data->esp_number) : NULL;
    pthread_mutex_unlock(&lock);
    return grid;
}

/* What is at the address is looked at only when a struct was made there: it may be anything else. */
struct grid_data *grid_at(const void *address, bool *was_freed)
{
    *was_freed = false;
    if (!address || !atomic_load_explicit(&any, memory_order_relaxed))
        return NULL;
    struct named *named;
    struct grid_data *grid = NULL;
    pthread_mutex_lock(&lock);
    HASH_FIND_PTR(names, &address, named);
    if (named && named->address->esp_number == named->number &&
        named->address->esp_check == seal(named->number)) {
        grid = find(named->number);
        *was_freed = !grid;
    }
    pthread_mutex_unlock(&lock);
    return grid;
}

static void destroy(struct grid_data *grid)
{
    grid_uris_clear(&grid->inputs);
    grid_uris_clear(&grid->outputs);
    holding_release(grid->holding);
    grid_return(grid->owned);
    free(grid->items);
    free(grid);
}

void grid_release(struct grid_data *grid)
{
    if (!grid)
        return;
    pthread_mutex_lock(&lock);
    bool last = --grid->users == 0;
    pthread_mutex_unlock(&lock);
    if (last)
        destroy(grid);
}

struct grid_data *grid_create(const struct datum_shape *shape, size_t n_items, grpc_data_mode_t mode)
{
    struct grid_data *grid = calloc(1, sizeof *grid);
    enum datum_mode kept = DATUM_VOLATILE;
    uint32_t flags = 0;
    if (!grid || !datum_of_grid_mode((enum datum_grid_mode)mode, &kept, &flags)) {
        free(grid);
        return NULL;
    }
    grid->users = 1;
    grid->is_container = shape == NULL;
    grid->first_mode = mode;
    grid->n_items = n_items;
    if (shape)
        grid->shape = *shape;
    if (shape && (grid->holding = holding_create(kept, flags, grid_mode_stays(mode)))) {
        grid->holding->disposes = true;
        return grid;
    }
    if (!shape && (grid->items = calloc(n_items, sizeof *grid->items)))
        return grid;
    destroy(grid);
    return NULL;
}

/* ---- names ---- */

static bool add_name(const grpc_data_t *data, uint64_t number)
{
    struct named *named;
    HASH_FIND_PTR(names, &data, named);
    if (!named) {
        if (!(named = calloc(1, sizeof *named)))
            return false;
        named->address = data;
        HASH_ADD_PTR(names, address, named);
        if (!named->hh.tbl) {
            free(named);
            return false;
        }
    }
    named->number = number;
    return true;
}

static void write_name(uint64_t number, grpc_data_t *data)
{
    *data = (grpc_data_t){.esp_number = number, .esp_check = seal(number)};
}

void grid_name(struct grid_data *grid, grpc_data_t *data)
{
    pthread_mutex_lock(&lock);
    if (add_name(data, grid->number)) {
        write_name(grid->number, data);
        grid->is_named = true;
    }
    pthread_mutex_unlock(&lock);
}

enum esp_status grid_add(struct grid_data *grid, grpc_data_t *data, struct esp_error *error)
{
    struct entry *entry = calloc(1, sizeof *entry);
    enum esp_status status = entry ? ESP_OK : error_no_memory(error, "data");
    pthread_mutex_lock(&lock);
    if (status == ESP_OK && check == 0)
        status = random_bytes(&check, sizeof check, error);
    if (status == ESP_OK) {
        entry->number = grid->number = ++last_number;
        entry->grid = grid;
        HASH_ADD(hh, entries, number, sizeof entry->number, entry);
        if (!entry->hh.tbl) {
            status = error_no_memory(error, "data");
        } else if (data && !add_name(data, grid->number)) {
            HASH_DEL(entries, entry);
            status = error_no_memory(error, "data");
        }
    }
    if (status == ESP_OK) {
        grid->is_named = data != NULL;
        if (data)
            write_name(grid->number, data);
        atomic_store(&any, true);
    }
    pthread_mutex_unlock(&lock);
    if (status != ESP_OK)
        free(entry);
    return status;
}

/* Names outlive the data, so that who goes on using one is told; but not for ever: the oldest go. */
static void forget_old_names(void)
{
    struct named *named, *next;
    size_t most = HASH_COUNT(entries) + MOST_FREED;
    HASH_ITER(hh, names, named, next)
    {
        struct entry *entry;
        if (HASH_COUNT(names) <= most)
            return;
        HASH_FIND(hh, entries, &named->number, sizeof named->number, entry);
        if (entry)
            continue;
        HASH_DEL(names, named);
        free(named);
    }
}

static void remove_number(uint64_t number, bool named_too)
{
    struct entry *entry;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, entries, &number, sizeof number, entry);
    if (entry && entry->grid->is_named && !named_too)
        entry = NULL;
    if (entry) {
        HASH_DEL(entries, entry);
        forget_old_names();
    }
    pthread_mutex_unlock(&lock);
    if (entry)
        grid_release(entry->grid);
    free(entry);
}

void grid_remove_unnamed(uint64_t number)
{
    remove_number(number, false);
}

void grid_remove(struct grid_data *grid)
{
    for (size_t i = 0; grid->is_container && i < grid->n_items; i++)
        if (grid->items[i])
            remove_number(grid->items[i], false);
    remove_number(grid->number, true);
}

grpc_data_mode_t grid_mode(const struct grid_data *grid)
{
    return grid->outputs.n > 0 ? grid->outputs.items[0].mode : grid->first_mode;
}

/* ---- memory ---- */

void *grid_memory(struct grid_data *grid)
{
    pthread_mutex_lock(&lock);
    void *memory = grid->memory;
    pthread_mutex_unlock(&lock);
    return memory;
}

struct grid_bytes {
    unsigned users;
    void *memory;
};

/* With the lock held. For free(), with its memory: nobody reads it any more; else NULL. */
static struct grid_bytes *let_go(struct grid_bytes *bytes)
{
    return bytes && --bytes->users == 0 ? bytes : NULL;
}

static void free_bytes(struct grid_bytes *bytes)
{
    if (bytes)
        free(bytes->memory);
    free(bytes);
}

const void *grid_borrow(struct grid_data *grid, struct grid_bytes **loan)
{
    pthread_mutex_lock(&lock);
    struct grid_bytes *before = let_go(*loan);
    const void *memory = grid->memory;
    *loan = grid->owned;
    if (*loan)
        (*loan)->users++;
    pthread_mutex_unlock(&lock);
    free_bytes(before);
    return memory;
}

void grid_return(struct grid_bytes *loan)
{
    pthread_mutex_lock(&lock);
    loan = let_go(loan);
    pthread_mutex_unlock(&lock);
    free_bytes(loan);
}

static void set_memory(struct grid_data *grid, void *memory, struct grid_bytes *owned)
{
    pthread_mutex_lock(&lock);
    struct grid_bytes *before = let_go(grid->owned);
    grid->owned = owned;
    grid->memory = memory;
    grid->sent = 0;
    pthread_mutex_unlock(&lock);
    free_bytes(before);
}

void grid_set_memory(struct grid_data *grid, void *memory)
{
    set_memory(grid, memory, NULL);
}

enum esp_status grid_own_memory(struct grid_data *grid, void *memory, struct esp_error *error)
{
    struct grid_bytes *owned = malloc(sizeof *owned);
    if (!owned)
        return error_no_memory(error, "the contents of a file");
    *owned = (struct grid_bytes){.users = 1, .memory = memory};
    set_memory(grid, memory, owned);
    return ESP_OK;
}

static bool may_be_dropped(const struct grid_data *grid)
{
    return grid->holding->mode == DATUM_VOLATILE;
}

void grid_note_sent(struct grid_data *grid)
{
    struct grid_bytes *loan = NULL;
    const void *memory = grid_borrow(grid, &loan);
    const uint64_t sent = memory ? fingerprint(memory, grid->shape.bytes) : 0;
    pthread_mutex_lock(&lock);
    grid->sent = sent;
    pthread_mutex_unlock(&lock);
    grid_return(loan);
}

bool grid_is_as_sent(struct grid_data *grid, const void *memory)
{
    pthread_mutex_lock(&lock);
    const uint64_t sent = grid->sent;
    pthread_mutex_unlock(&lock);
    return sent != 0 && fingerprint(memory, grid->shape.bytes) == sent;
}

bool grid_send_again(struct grid_data *grid, const char *datum, bool *changed)
{
    struct grid_bytes *loan = NULL;
    const void *memory = grid_borrow(grid, &loan);
    pthread_mutex_lock(&lock);
    const bool is_known = memory && may_be_dropped(grid) && grid->sent != 0;
    pthread_mutex_unlock(&lock);
    *changed = is_known && !grid_is_as_sent(grid, memory);
    grid_return(loan);
    if (!is_known || *changed)
        return false;
    holding_unset(grid->holding, datum);
    return true;
}

void *grid_mapping(const char *key)
{
    struct mapping *mapping;
    pthread_mutex_lock(&lock);
    HASH_FIND_STR(mappings, key, mapping);
    void *memory = mapping ? mapping->memory : NULL;
    pthread_mutex_unlock(&lock);
    return memory;
}

static void unmap(struct mapping *mapping)
{
    HASH_DEL(mappings, mapping);
    free(mapping->key);
    free(mapping);
}

static enum esp_status map_new(const char *key, void *memory, struct esp_error *error)
{
    struct mapping *mapping = calloc(1, sizeof *mapping);
    if (mapping && (mapping->key = strdup(key))) {
        mapping->memory = memory;
        HASH_ADD_KEYPTR(hh, mappings, mapping->key, strlen(mapping->key), mapping);
        if (mapping->hh.tbl)
            return ESP_OK;
        free(mapping->key);
    }
    free(mapping);
    return error_no_memory(error, "the name of a memory");
}

enum esp_status grid_map(const char *key, void *memory, struct esp_error *error)
{
    struct mapping *mapping;
    enum esp_status status = ESP_OK;
    pthread_mutex_lock(&lock);
    HASH_FIND_STR(mappings, key, mapping);
    if (mapping && memory)
        mapping->memory = memory;
    else if (mapping)
        unmap(mapping);
    else if (memory)
        status = map_new(key, memory, error);
    pthread_mutex_unlock(&lock);
    return status;
}

void grid_clear(void)
{
    struct entry *entry, *next;
    struct named *named, *next_named;
    struct mapping *mapping, *next_mapping;
    HASH_ITER(hh, entries, entry, next)
    {
        HASH_DEL(entries, entry);
        grid_release(entry->grid);
        free(entry);
    }
    pthread_mutex_lock(&lock);
    HASH_ITER(hh, names, named, next_named)
    {
        HASH_DEL(names, named);
        free(named);
    }
    HASH_ITER(hh, mappings, mapping, next_mapping)
    unmap(mapping);
    atomic_store(&any, false);
    pthread_mutex_unlock(&lock);
}

bool grid_after_fork(void)
{
    if (!fork_lock_was_free(&lock))
        return false;
    grid_clear();
    return true;
}
