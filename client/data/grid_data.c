/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/grid_data.h"
#include "util/contents.h"
#include "client/data/data.h"
#include "client/data/sequence.h"
#include "util/fingerprint.h"
#include "util/fork_lock.h"
#include "util/hash.h"
#include "util/random.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct {
    const char *scheme;
    bool has_host; /* "scheme://HOST/rest" is accepted, too */
} schemes[] = {[GRID_MEMORY] = {"memory:", true},
               [GRID_FILE] = {"file:", true},
               [GRID_SERVER] = {"server:", false},
               [GRID_DATUM] = {"data:", false}};

static bool is_here(const char *host, size_t length)
{
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    return length == 0 || (length == 9 && strncmp(host, "localhost", 9) == 0) ||
           (length == strlen(own) && strncmp(host, own, length) == 0);
}

/* The part behind the host; NULL: another host. */
static const char *behind_host(const char *rest, enum grid_place place)
{
    if (strncmp(rest, "//", 2) != 0)
        return rest;
    const char *slash = strchr(rest + 2, '/');
    if (!slash || !is_here(rest + 2, (size_t)(slash - rest - 2)))
        return NULL;
    return place == GRID_MEMORY ? slash + 1 : slash;
}

enum esp_status grid_uri_read(const char *text, enum grid_place *place, char **rest, struct esp_error *error)
{
    for (unsigned i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t length = strlen(schemes[i].scheme);
        if (strncmp(text, schemes[i].scheme, length) != 0)
            continue;
        const char *found =
            schemes[i].has_host ? behind_host(text + length, (enum grid_place)i) : text + length;
        if (!found)
            return error_set(error, ESP_INVALID,
                             "expected a place on this host, found \"%.200s\", which names another one",
                             text);
        if (!*found && i != GRID_SERVER)
            return error_set(error, ESP_INVALID, "expected a name behind the colon, found \"%.200s\"", text);
        *place = (enum grid_place)i;
        *rest = strdup(found);
        return *rest ? ESP_OK : error_no_memory(error, "a URI");
    }
    return error_set(error, ESP_INVALID,
                     "expected memory:KEY, file:PATH, server:NAME or data:IDENTITY, found \"%.200s\"", text);
}

static enum esp_status check_role(const struct grid_uri *uri, const char *text, bool is_output,
                                  struct esp_error *error)
{
    struct datum_id id;
    if (uri->place == (is_output ? GRID_DATUM : GRID_SERVER))
        return error_set(error, ESP_INVALID, "\"%.200s\" can be %s only", text,
                         is_output ? "an input" : "an output");
    return uri->place == GRID_DATUM ? datum_id_parse(uri->rest, &id, error) : ESP_OK;
}

enum esp_status grid_uris_read(struct grid_uris *uris, const char **list, const grpc_data_mode_t *modes,
                               bool outputs, struct esp_error *error)
{
    *uris = (struct grid_uris){0};
    size_t n = 0;
    grpc_data_mode_t mode = GRPC_VOLATILE;
    enum esp_status status = ESP_OK;
    while (list && list[n] && n < GRID_MOST_URIS)
        n++;
    if (list && list[n])
        return error_set(error, ESP_LIMIT, "expected at most %d URIs, found more", GRID_MOST_URIS);
    if (n == 0)
        return ESP_OK;
    uris->items = calloc(n, sizeof *uris->items);
    if (!uris->items)
        return error_no_memory(error, "a list of URIs");
    for (size_t i = 0; status == ESP_OK && i < n; i++) {
        struct grid_uri *uri = &uris->items[i];
        status = grid_uri_read(list[i], &uri->place, &uri->rest, error);
        if (status != ESP_OK)
            break;
        uris->n++;
        status = check_role(uri, list[i], outputs, error);
        if (modes && *modes != GRPC_END_LIST)
            mode = *modes++;
        uri->mode = mode;
        if (status == ESP_OK)
            status = grid_mode_check(mode, error);
    }
    return status;
}

void grid_uris_clear(struct grid_uris *uris)
{
    for (size_t i = 0; i < uris->n; i++)
        free(uris->items[i].rest);
    free(uris->items);
    *uris = (struct grid_uris){0};
}

char *grid_uris_text(const struct grid_uris *uris)
{
    size_t size = 1;
    for (size_t i = 0; i < uris->n; i++)
        size += strlen(uris->items[i].rest) + 16;
    char *text = calloc(1, size), *at = text;
    for (size_t i = 0; text && i < uris->n; i++)
        at += sprintf(at, "%s%s%s", i ? " " : "", schemes[uris->items[i].place].scheme, uris->items[i].rest);
    return text;
}

static const char *const mode_names[] = {"GRPC_VOLATILE", "GRPC_STRICTLY_VOLATILE", "GRPC_STICKY",
                                         "GRPC_UNIQUE_STICKY", "GRPC_PERSISTENT"};

const char *grid_mode_name(grpc_data_mode_t mode)
{
    return mode >= 0 && (size_t)mode < sizeof mode_names / sizeof *mode_names ? mode_names[mode] : "unknown";
}

enum esp_status grid_mode_check(grpc_data_mode_t mode, struct esp_error *error)
{
    if (mode >= 0 && (size_t)mode < sizeof mode_names / sizeof *mode_names)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "expected a mode from GRPC_VOLATILE to GRPC_PERSISTENT, found %d",
                     (int)mode);
}

bool grid_mode_stays(grpc_data_mode_t mode)
{
    return mode == GRPC_STICKY || mode == GRPC_UNIQUE_STICKY || mode == GRPC_PERSISTENT;
}

/* The existing data, by number and by the address of the program's struct. */

#define MOST_FREED 4096 /* structs whose data were freed that are remembered */

struct entry {
    uint64_t number;
    struct grid_data *grid; /* in use */
    UT_hash_handle hh;
};

struct named { /* a struct of the program */
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
static uint64_t last_number, check; /* `check` distinguishes structs of this process from garbage */

/* Programs without such data need not take the lock for each argument. */
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

/* The memory at the address is read only if a struct was made there, because it may be anything else. */
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

/* Names outlive their data, so that using a freed one is an error. The oldest names are dropped. */
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

/* Called with the lock held. Returns the bytes, with their memory, for free(), if no thread reads them any
 * more; else NULL. */
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

/* grid_set_memory() with memory from malloc(), which the library then owns. If this fails, the caller
 * still owns it.
 */
static enum esp_status grid_own_memory(struct grid_data *grid, void *memory, struct esp_error *error)
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

/* `memory`, which was borrowed, still has the value that was sent from there last. */
static bool grid_is_as_sent(struct grid_data *grid, const void *memory)
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

#define FIRST_LINE "espalier data 1"
#define LAST_LINE  "end"
#define MOST_LINE  512

static void print_value(FILE *file, const struct grid_data *grid, const char *datum)
{
    fprintf(file, "identity %s\ntype %s\ndimensions", datum, base_type_name(grid->shape.type));
    for (uint32_t i = 0; i < grid->shape.n_dims; i++)
        fprintf(file, " %" PRId64, grid->shape.dims[i]);
    fprintf(file, "\nmode %s\n", grid_mode_name(grid_mode(grid)));
}

static enum esp_status nowhere(const char *path, const char *which, struct esp_error *error)
{
    return error_set(
        error, ESP_NOT_FOUND,
        "%s: the value%s is on no server, so another program could not find it: transfer it to one first",
        path, which);
}

static enum esp_status print_items(FILE *file, const char *path, const struct grid_data *container,
                                   struct esp_error *error)
{
    char datum[DATUM_TEXT], which[48];
    enum esp_status status = ESP_OK;
    fprintf(file, "container %zu\n", container->n_items);
    for (size_t rank = 0; status == ESP_OK && rank < container->n_items; rank++) {
        struct grid_data *item = container->items[rank] ? grid_use_number(container->items[rank]) : NULL;
        if (item && holding_datum(item->holding, datum)) {
            fprintf(file, "rank %zu\n", rank);
            print_value(file, item, datum);
        } else if (item) {
            snprintf(which, sizeof which, " at rank %zu", rank);
            status = nowhere(path, which, error);
        }
        grid_release(item);
    }
    fputs(LAST_LINE "\n", file);
    return status;
}

static enum esp_status print(FILE *file, const char *path, struct grid_data *grid, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    fputs(FIRST_LINE "\n", file);
    if (grid->is_container)
        return print_items(file, path, grid, error);
    if (!holding_datum(grid->holding, datum))
        return nowhere(path, "", error);
    print_value(file, grid, datum);
    return ESP_OK;
}

/* Other programs may use the value from now on, so it is not deleted when another value replaces it. */
static void tell(struct grid_data *grid)
{
    if (!grid->is_container)
        holding_tell(grid->holding);
    for (size_t i = 0; grid->is_container && i < grid->n_items; i++) {
        struct grid_data *item = grid->items[i] ? grid_use_number(grid->items[i]) : NULL;
        if (item)
            holding_tell(item->holding);
        grid_release(item);
    }
}

enum esp_status grid_file_write(const char *path, struct grid_data *grid, struct esp_error *error)
{
    char beside[4096];
    int length = snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof beside)
        return error_set(error, ESP_INVALID, "%.200s...: the name is too long", path);
    FILE *file = fopen(beside, "w");
    if (!file)
        return error_set(error, ESP_SYSTEM, "%s: cannot be written: %s", path, strerror(errno));
    enum esp_status status = print(file, path, grid, error);
    bool whole = fflush(file) == 0 && !ferror(file);
    if (fclose(file) != 0)
        whole = false;
    if (status == ESP_OK && !(whole && rename(beside, path) == 0))
        status = error_set(error, ESP_SYSTEM, "%s: cannot be written: %s", path, strerror(errno));
    if (status == ESP_OK)
        tell(grid);
    else
        unlink(beside);
    return status;
}

/* ---- reading ---- */

struct reader {
    const char *path;
    FILE *file;
    unsigned line;
    char text[MOST_LINE];
};

static enum esp_status wrong(const struct reader *reader, const char *expected, struct esp_error *error)
{
    return error_set(error, ESP_SYNTAX, "%s:%u: expected %s, found \"%.100s\"", reader->path, reader->line,
                     expected, reader->text);
}

/* Returns the text behind `word` in the next line; with "", the whole line, which is never NULL. */
static const char *next(struct reader *reader, const char *word, struct esp_error *error)
{
    size_t length = strlen(word);
    reader->line++;
    if (!fgets(reader->text, sizeof reader->text, reader->file))
        reader->text[0] = 0;
    reader->text[strcspn(reader->text, "\n")] = 0;
    if (length == 0)
        return reader->text;
    if (strncmp(reader->text, word, length) == 0 &&
        (reader->text[length] == ' ' || reader->text[length] == 0))
        return reader->text + length + (reader->text[length] == ' ');
    wrong(reader, word, error);
    return NULL;
}

static enum esp_status read_type(struct reader *reader, struct datum_shape *shape, struct esp_error *error)
{
    const char *name = next(reader, "type", error);
    for (int type = TYPE_CHAR; name && type <= TYPE_STRING; type++) {
        if (strcmp(name, base_type_name((enum base_type)type)) != 0)
            continue;
        shape->type = (enum base_type)type;
        return ESP_OK;
    }
    return name ? wrong(reader, "a type of numbers, characters or strings", error) : error->status;
}

static enum esp_status read_dims(struct reader *reader, struct datum_shape *shape, struct esp_error *error)
{
    const char *at = next(reader, "dimensions", error);
    while (at && *at) {
        char *end;
        errno = 0;
        long long extent = strtoll(at, &end, 10);
        if (end == at || errno || extent < 1 || shape->n_dims == CAP_DIMS || (*end && *end != ' '))
            return wrong(reader, "up to 7 extents", error);
        shape->dims[shape->n_dims++] = extent;
        at = *end ? end + 1 : end;
    }
    return at ? datum_shape_complete(shape, error) : error->status;
}

static enum esp_status read_mode(struct reader *reader, grpc_data_mode_t *mode, struct esp_error *error)
{
    const char *name = next(reader, "mode", error);
    for (*mode = GRPC_VOLATILE; name && *mode <= GRPC_PERSISTENT; (*mode)++)
        if (strcmp(name, grid_mode_name(*mode)) == 0)
            return ESP_OK;
    return name ? wrong(reader, "a mode from GRPC_VOLATILE to GRPC_PERSISTENT", error) : error->status;
}

/* Reads from the identity on; its line has just been read. */
static enum esp_status read_value(struct reader *reader, const char *identity, struct grid_data **grid,
                                  struct esp_error *error)
{
    struct datum_shape shape = {0};
    struct datum_id id;
    grpc_data_mode_t mode;
    char datum[DATUM_TEXT];
    enum esp_status status = datum_id_parse(identity, &id, error);
    if (status != ESP_OK)
        return status;
    datum_id_text(&id, datum);
    status = read_type(reader, &shape, error);
    if (status == ESP_OK)
        status = read_dims(reader, &shape, error);
    if (status == ESP_OK)
        status = read_mode(reader, &mode, error);
    if (status != ESP_OK)
        return status;
    *grid = grid_create(&shape, 0, mode);
    if (!*grid)
        return error_no_memory(error, "data");
    holding_set((*grid)->holding, datum);
    return ESP_OK;
}

static bool read_count(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == 0 && errno == 0 && *value >= least && *value <= most;
}

/* Reads the items, each behind the line with its rank. */
static enum esp_status read_items(struct reader *reader, struct grid_data *container, struct esp_error *error)
{
    uint64_t rank = 0;
    for (uint64_t least = 0;; least = rank + 1) {
        struct grid_data *item = NULL;
        const char *at = next(reader, "", error);
        if (strcmp(at, LAST_LINE) == 0)
            return ESP_OK;
        if (strncmp(at, "rank ", 5) != 0 || !read_count(at + 5, least, container->n_items - 1, &rank))
            return wrong(reader, "\"rank R\", each greater than the one before, or \"" LAST_LINE "\"", error);
        const char *identity = next(reader, "identity", error);
        enum esp_status status = identity ? read_value(reader, identity, &item, error) : error->status;
        if (status == ESP_OK && (status = grid_add(item, NULL, error)) != ESP_OK)
            grid_release(item);
        if (status != ESP_OK)
            return status;
        container->items[rank] = item->number;
    }
}

static enum esp_status read_container(struct reader *reader, const char *ranks, struct grid_data **grid,
                                      struct esp_error *error)
{
    uint64_t n;
    if (!read_count(ranks, 1, GRID_MOST_RANKS, &n))
        return wrong(reader, "a number of ranks", error);
    *grid = grid_create(NULL, n, GRPC_VOLATILE);
    if (!*grid)
        return error_no_memory(error, "a container");
    enum esp_status status = read_items(reader, *grid, error);
    if (status == ESP_OK)
        return ESP_OK;
    grid_remove(*grid); /* with the items that it already has */
    grid_release(*grid);
    *grid = NULL;
    return status;
}

static enum esp_status read_all(struct reader *reader, struct grid_data **grid, struct esp_error *error)
{
    if (!next(reader, FIRST_LINE, error))
        return error->status;
    const char *line = next(reader, "", error);
    if (strncmp(line, "container ", 10) == 0)
        return read_container(reader, line + 10, grid, error);
    if (strncmp(line, "identity ", 9) == 0)
        return read_value(reader, line + 9, grid, error);
    return wrong(reader, "identity or container", error);
}

enum esp_status grid_file_read(const char *path, struct grid_data **grid, struct esp_error *error)
{
    int fd;
    uint64_t size;
    if (contents_open(path, &fd, &size, error) != ESP_OK)
        return error->status;
    struct reader reader = {.path = path, .file = fdopen(fd, "r")};
    if (!reader.file) {
        close(fd);
        return error_no_memory(error, path);
    }
    enum esp_status status = read_all(&reader, grid, error);
    fclose(reader.file);
    return status;
}

/* Moves values of data between the places of their URIs. */

/* ---- files: the bytes of the array and nothing else ---- */

static enum esp_status read_file(const char *path, uint64_t bytes, void *memory, struct esp_error *error)
{
    int fd;
    uint64_t size;
    if (contents_open(path, &fd, &size, error) != ESP_OK)
        return error->status;
    FILE *file = fdopen(fd, "rb");
    if (!file) {
        close(fd);
        return error_no_memory(error, path);
    }
    uint64_t found = fread(memory, 1, bytes, file);
    bool longer = found == bytes && fgetc(file) != EOF;
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed)
        return error_set(error, ESP_SYSTEM, "%s: cannot be read: %s", path, strerror(errno));
    if (found == bytes && !longer)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "%s: expected the %llu bytes of the array, found %s%llu", path,
                     (unsigned long long)bytes, longer ? "more than " : "", (unsigned long long)found);
}

/* ---- inputs ---- */

static enum esp_status take_file(struct grid_data *grid, const char *path, struct esp_error *error)
{
    void *memory = malloc(grid->shape.bytes);
    enum esp_status status =
        memory ? read_file(path, grid->shape.bytes, memory, error) : error_no_memory(error, path);
    if (status == ESP_OK)
        status = grid_own_memory(grid, memory, error);
    if (status != ESP_OK)
        free(memory);
    return status;
}

/* Checks that the datum is what the program has described, because it is read without further checks. */
static enum esp_status take_datum(const struct grid_data *grid, const char *id, struct engine *engine,
                                  struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = id, .after = ""}}, reply = {0};
    size_t n = 0;
    enum esp_status status = data_find(engine, id, false, holders, &n, error);
    if (status == ESP_OK)
        status = data_ask(engine, holders[0].address, &request, &reply, error);
    if (status == ESP_OK && reply.data_reply.n == 0)
        status = error_set(error, ESP_NOT_FOUND, "the datum has just been deleted");
    if (status == ESP_OK)
        status = data_fits(&reply.data_reply.items[0], &grid->shape, error);
    message_clear(&reply);
    return status;
}

static enum esp_status take_one(struct grid_data *grid, const struct grid_uri *uri, struct engine *engine,
                                struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    void *memory = uri->place == GRID_MEMORY ? grid_mapping(uri->rest) : NULL;
    if (uri->place == GRID_MEMORY && !memory)
        return error_set(error, ESP_NOT_FOUND,
                         "memory:%s: no memory has this name (grpc_data_memory_mapping_set)", uri->rest);
    if (uri->place == GRID_DATUM)
        status = take_datum(grid, uri->rest, engine, error);
    else if (uri->place == GRID_FILE)
        status = take_file(grid, uri->rest, error);
    if (status != ESP_OK)
        return status;
    if (uri->place != GRID_FILE)
        grid_set_memory(grid, memory);
    holding_set(grid->holding, uri->place == GRID_DATUM ? uri->rest : NULL);
    return ESP_OK;
}

enum esp_status grid_sync(struct grid_data *grid, struct esp_error *error)
{
    const void *memory = grid_memory(grid);
    enum esp_status status = memory ? sequence_sync(memory, grid->shape.bytes, error) : ESP_OK;
    for (size_t i = 0; status == ESP_OK && i < grid->inputs.n; i++) {
        const struct grid_uri *uri = &grid->inputs.items[i];
        const void *named = uri->place == GRID_MEMORY ? grid_mapping(uri->rest) : NULL;
        if (named && named != memory)
            status = sequence_sync(named, grid->shape.bytes, error);
    }
    return status;
}

enum esp_status grid_take_in(struct grid_data *grid, struct engine *engine, bool anew,
                             struct esp_error *error)
{
    char datum[DATUM_TEXT];
    enum esp_status status = ESP_NOT_FOUND;
    bool has_value = grid_memory(grid) || holding_datum(grid->holding, datum);
    if (has_value && (!anew || grid->inputs.n == 0))
        return ESP_OK;
    for (size_t i = 0; i < grid->inputs.n; i++) {
        status = take_one(grid, &grid->inputs.items[i], engine, error);
        if (status == ESP_OK)
            return ESP_OK;
    }
    if (grid->inputs.n > 0)
        return status;
    return error_set(error, ESP_NOT_FOUND, "the data have no value: no input says where it is");
}

/* ---- outputs ---- */

static struct datum_info describe(struct grid_data *grid, grpc_data_mode_t grid_mode)
{
    enum datum_mode mode = DATUM_VOLATILE;
    uint32_t flags = 0;
    datum_of_grid_mode((enum datum_grid_mode)grid_mode, &mode, &flags);
    return (struct datum_info){.type = grid->shape.type,
                               .dims = grid->shape.dims,
                               .n_dims = grid->shape.n_dims,
                               .bytes = grid->shape.bytes,
                               .mode = mode,
                               .flags = flags,
                               .created_s = (int64_t)time(NULL)};
}

static bool is_on(struct engine *engine, const char *datum, const char *server)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    size_t n = 0;
    if (data_find(engine, datum, true, holders, &n, NULL) != ESP_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(holders[i].server, server) == 0)
            return true;
    return false;
}

/* A durable value is durable there, whatever happens to it at its source. */
static enum esp_status bring_from_servers(const char *datum, const char *server, grpc_data_mode_t grid_mode,
                                          struct engine *engine, struct esp_error *error)
{
    enum datum_mode mode = DATUM_VOLATILE;
    uint32_t flags = 0;
    datum_of_grid_mode((enum datum_grid_mode)grid_mode, &mode, &flags);
    if (datum_is_durable(mode, flags))
        return data_copy_kept(engine, datum, server, mode, flags, error);
    return is_on(engine, datum, server)
               ? ESP_OK
               : data_copy(engine, datum, server, false, (struct data_told){0}, error);
}

static enum esp_status bring_to_server(struct grid_data *grid, const struct grid_uri *uri,
                                       struct engine *engine, struct esp_error *error)
{
    char datum[DATUM_TEXT], address[CAP_ADDRESS + 1];
    const char *server = uri->rest;
    if (!*server)
        return ESP_OK; /* it is left where a call needs it, or was (grid_keep()) */
    if (!holding_claim(grid->holding, datum))
        return bring_from_servers(datum, server, uri->mode, engine, error);
    const struct datum_info info = describe(grid, uri->mode);
    enum esp_status status = engine_await_name(engine, server, address, error);
    struct grid_bytes *loan = NULL;
    const void *memory = grid_borrow(grid, &loan);
    if (status == ESP_OK)
        status = data_put(engine, server, address, &info, memory, (struct data_told){0}, datum, error);
    grid_return(loan);
    if (status == ESP_OK)
        grid_note_sent(grid);
    holding_put_done(grid->holding, status == ESP_OK ? datum : NULL);
    return status;
}

/* ---- kept on any server ---- */

#define MOST_SERVERS 64 /* servers that are asked to take it */

struct servers {
    struct data_holder items[MOST_SERVERS];
    size_t n;
    size_t n_near; /* the first of these are below the nearest master agent */
};

static enum esp_status note_server(void *arg, const struct data_holder *server, struct esp_error *error)
{
    struct servers *servers = arg;
    (void)error;
    if (servers->n < MOST_SERVERS)
        servers->items[servers->n++] = *server;
    if (!server->is_far)
        servers->n_near = servers->n;
    return ESP_OK;
}

/* Puts the value on the first server that takes it, beginning with a random near one, so that programs are
 * spread. Servers below other master agents come last. */
static enum esp_status put_somewhere(struct grid_data *grid, grpc_data_mode_t mode, struct engine *engine,
                                     struct esp_error *error)
{
    char datum[DATUM_TEXT];
    struct servers servers = {.n = 0};
    const struct datum_info info = describe(grid, mode);
    if (!holding_claim(grid->holding, datum))
        return ESP_OK;
    enum esp_status status = data_each_server(engine, NULL, note_server, &servers, NULL, error);
    if (status == ESP_OK && servers.n == 0)
        status = error_set(error, ESP_NO_SERVER, "the data are to stay on a server, and there is none");
    struct grid_bytes *loan = NULL;
    const void *memory = grid_borrow(grid, &loan);
    const uint64_t first = engine->client_low;
    for (size_t i = 0; i < servers.n; i++) {
        const bool is_near = i < servers.n_near;
        const struct data_holder *server = &servers.items[is_near ? (first + i) % servers.n_near : i];
        datum[0] = 0;
        status = data_put(engine, server->server, server->address, &info, memory, (struct data_told){0},
                          datum, error);
        if (status == ESP_OK)
            break;
    }
    grid_return(loan);
    if (status == ESP_OK)
        grid_note_sent(grid);
    holding_put_done(grid->holding, status == ESP_OK ? datum : NULL);
    return status;
}

/* Keeps a value that is to stay on servers ("server:", no name) where it is, or puts it on a server that
 * takes it. Blocks. Returns ESP_NO_SERVER, or why the last server did not take it. */
static enum esp_status grid_keep(struct grid_data *grid, struct engine *engine, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    struct data_holder holders[DATA_MOST_HOLDERS];
    size_t n = 0;
    enum esp_status status = ESP_OK;
    for (size_t i = 0; status == ESP_OK && i < grid->outputs.n; i++) {
        const struct grid_uri *uri = &grid->outputs.items[i];
        if (uri->place != GRID_SERVER || *uri->rest || !grid_mode_stays(uri->mode))
            continue;
        if (!holding_datum(grid->holding, datum)) {
            status = put_somewhere(grid, uri->mode, engine, error);
            continue;
        }
        status = data_find(engine, datum, false, holders, &n, error);
        if (status == ESP_OK)
            status = bring_from_servers(datum, holders[0].server, uri->mode, engine, error);
    }
    return status;
}

/* Memory with the value. NULL: the value is on servers, and the program may have overwritten the memory
 * that was sent. */
static const void *borrow_value(struct grid_data *grid, struct grid_bytes **loan)
{
    char datum[DATUM_TEXT];
    const void *memory = grid_borrow(grid, loan);
    if (!memory || !holding_datum(grid->holding, datum) || grid_is_as_sent(grid, memory))
        return memory;
    grid_return(*loan);
    *loan = NULL;
    return NULL;
}

/* Fetches the value into memory of the program. */
static enum esp_status fetch(struct grid_data *grid, struct engine *engine, void *memory,
                             struct esp_error *error)
{
    char datum[DATUM_TEXT];
    struct grid_bytes *loan = NULL;
    const void *from = borrow_value(grid, &loan);
    if (from && from != memory)
        memmove(memory, from, grid->shape.bytes);
    grid_return(loan);
    if (from)
        return ESP_OK;
    if (!holding_datum(grid->holding, datum))
        return error_set(error, ESP_NOT_FOUND, "the data have no value");
    enum esp_status status = sequence_sync(memory, grid->shape.bytes, error);
    if (status == ESP_OK)
        status = data_get(engine, datum, memory, grid->shape.bytes, (struct data_told){0}, error);
    return status;
}

static enum esp_status bring_to_file(struct grid_data *grid, const char *path, struct engine *engine,
                                     struct esp_error *error)
{
    struct grid_bytes *loan = NULL;
    const void *from = borrow_value(grid, &loan);
    void *memory = from ? NULL : malloc(grid->shape.bytes);
    enum esp_status status = from     ? ESP_OK
                             : memory ? fetch(grid, engine, memory, error)
                                      : error_no_memory(error, path);
    if (status == ESP_OK)
        status = contents_save(path, from ? from : memory, grid->shape.bytes, error);
    grid_return(loan);
    free(memory);
    return status;
}

static enum esp_status bring_to_memory(struct grid_data *grid, const char *key, struct engine *engine,
                                       struct esp_error *error)
{
    void *memory = grid_mapping(key);
    if (!memory)
        return error_set(error, ESP_NOT_FOUND,
                         "memory:%s: no memory has this name (grpc_data_memory_mapping_set)", key);
    enum esp_status status = fetch(grid, engine, memory, error);
    if (status == ESP_OK && memory != grid_memory(grid))
        grid_set_memory(grid, memory);
    return status;
}

/* The place in the program's notation. */
static const char *place_word(const struct grid_uri *uri)
{
    return uri->place == GRID_SERVER ? "server" : uri->place == GRID_FILE ? "file" : "memory";
}

/* An output that cannot be reached does not keep the value from the other outputs. Returns the first
 * failure.
 */
static enum esp_status bring_out(struct grid_data *grid, struct engine *engine, struct esp_error *error)
{
    enum esp_status first = ESP_OK;
    for (size_t i = 0; i < grid->outputs.n; i++) {
        const struct grid_uri *uri = &grid->outputs.items[i];
        struct esp_error why = {0};
        enum esp_status status = uri->place == GRID_SERVER ? bring_to_server(grid, uri, engine, &why)
                                 : uri->place == GRID_FILE ? bring_to_file(grid, uri->rest, engine, &why)
                                                           : bring_to_memory(grid, uri->rest, engine, &why);
        if (status == ESP_OK || first != ESP_OK)
            continue;
        if (grid->outputs.n > 1)
            error_prefix(&why, "to \"%s:%s\"", place_word(uri), uri->rest);
        *error = why;
        first = status;
    }
    return first;
}

/* The only server that is to have the value that a call makes; NULL: there are other outputs, or none. */
static const char *grid_only_server(const struct grid_data *grid)
{
    const struct grid_uri *only = grid->outputs.n == 1 ? &grid->outputs.items[0] : NULL;
    return only && only->place == GRID_SERVER && *only->rest ? only->rest : NULL;
}

void grid_left_mode(const struct grid_data *grid, enum datum_mode *mode, uint32_t *flags)
{
    *mode = grid->holding->mode;
    *flags = grid->holding->flags;
    if (!grid_only_server(grid) || !datum_mode_sticks(*mode))
        return;
    *mode = DATUM_VOLATILE;
    *flags = 0;
}

/* Moves the value there, with the mode of the output. */
static enum esp_status bring_away(const struct grid_uri *only, const char *datum, struct engine *engine,
                                  struct esp_error *error)
{
    enum datum_mode mode = DATUM_VOLATILE;
    uint32_t flags = 0;
    datum_of_grid_mode((enum datum_grid_mode)only->mode, &mode, &flags);
    return is_on(engine, datum, only->rest) ? bring_from_servers(datum, only->rest, only->mode, engine, error)
                                            : data_move_as(engine, datum, only->rest, mode, flags, error);
}

static bool is_input(const struct grid_data *grid, const char *datum)
{
    for (size_t i = 0; i < grid->inputs.n; i++)
        if (grid->inputs.items[i].place == GRID_DATUM && strcmp(grid->inputs.items[i].rest, datum) == 0)
            return true;
    return false;
}

/* Whether a server other than `server` has the value (*elsewhere), and keeps it for ever (*sticks). */
static enum esp_status look_elsewhere(struct engine *engine, const char *datum, const char *server,
                                      bool *elsewhere, bool *sticks, struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = datum, .after = ""}};
    size_t n = 0;
    *elsewhere = *sticks = false;
    enum esp_status status = data_find(engine, datum, true, holders, &n, error);
    for (size_t i = 0; status == ESP_OK && i < n; i++) {
        struct message reply = {0};
        if (strcmp(holders[i].server, server) == 0)
            continue;
        *elsewhere = true;
        if (data_ask(engine, holders[i].address, &request, &reply, NULL) == ESP_OK &&
            reply.data_reply.n > 0 && datum_mode_sticks((enum datum_mode)reply.data_reply.items[0].mode))
            *sticks = true;
        message_clear(&reply);
    }
    return status;
}

/* Brings the value to all outputs that can take it. A single server moves the value there from all others,
 * except from an input and from a server that keeps a sticky value. Blocks. Returns the first failure. */
static enum esp_status grid_bring_transferred(struct grid_data *grid, struct engine *engine,
                                              struct esp_error *error)
{
    char datum[DATUM_TEXT];
    const char *server = grid_only_server(grid);
    bool elsewhere, sticks;
    if (!server || !holding_datum(grid->holding, datum) || is_input(grid, datum))
        return bring_out(grid, engine, error);
    enum esp_status status = look_elsewhere(engine, datum, server, &elsewhere, &sticks, error);
    if (status != ESP_OK)
        return status;
    if (!elsewhere || sticks)
        return bring_out(grid, engine, error);
    enum datum_mode mode = DATUM_VOLATILE;
    uint32_t flags = 0;
    datum_of_grid_mode((enum datum_grid_mode)grid->outputs.items[0].mode, &mode, &flags);
    return data_move_as(engine, datum, server, mode, flags, error);
}

enum esp_status grid_bring_result(struct grid_data *grid, struct engine *engine, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    return grid_only_server(grid) && holding_datum(grid->holding, datum)
               ? bring_away(&grid->outputs.items[0], datum, engine, error)
               : bring_out(grid, engine, error);
}

void *grid_only_memory(const struct grid_data *grid)
{
    const struct grid_uri *only = grid->outputs.n == 1 ? &grid->outputs.items[0] : NULL;
    return only && only->place == GRID_MEMORY && !grid_mode_stays(only->mode) ? grid_mapping(only->rest)
                                                                              : NULL;
}

struct transfer {
    struct thread_job job;
    struct grid_data *grid;
    struct engine *engine;
    bool anew;
    struct holding_due due;
};

static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static unsigned under_way;

static void count(int more)
{
    pthread_mutex_lock(&lock);
    under_way += (unsigned)more;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
}

void grid_transfers_end(void)
{
    pthread_mutex_lock(&lock);
    while (under_way > 0)
        pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
}

static void run(void *arg)
{
    struct transfer *transfer = arg;
    struct grid_data *grid = transfer->grid;
    struct esp_error error = {0};
    char datum[DATUM_TEXT];
    enum esp_status status = grid_take_in(grid, transfer->engine, transfer->anew, &error);
    if (status == ESP_OK)
        status = grid_keep(grid, transfer->engine, &error);
    if (status == ESP_OK)
        status = grid_bring_transferred(grid, transfer->engine, &error);
    if (status == ESP_OK)
        holding_arrived(grid->holding, &transfer->due, holding_datum(grid->holding, datum) ? datum : "",
                        NULL);
    else
        holding_arrived(grid->holding, &transfer->due, NULL, &error);
    grid_drop_old(grid, transfer->engine, false);
    grid_release(grid);
    free(transfer);
    count(-1);
}

enum esp_status grid_transfer(struct grid_data *grid, struct engine *engine, bool anew,
                              struct esp_error *error)
{
    if (grid_sync(grid, error) != ESP_OK)
        return error->status;
    struct transfer *transfer = malloc(sizeof *transfer);
    if (!transfer)
        return error_no_memory(error, "a transfer");
    holding_wait(grid->holding, NULL);
    *transfer = (struct transfer){.grid = grid_use_number(grid->number), .engine = engine, .anew = anew};
    holding_enter(&grid->holding, &(struct holding_due *){&transfer->due}, 1);
    transfer->job = (struct thread_job){.run = run, .arg = transfer};
    count(1);
    if (!thread_pool_submit(engine->runners, &transfer->job))
        run(transfer); /* without a thread, this thread does the work */
    return ESP_OK;
}

struct deletion {
    struct thread_job job;
    struct engine *engine;
    char datum[DATUM_TEXT];
};

static void drop(void *arg)
{
    struct deletion *deletion = arg;
    data_drop(deletion->engine, deletion->datum, NULL, false, NULL); /* it may be gone */
    free(deletion);
    count(-1);
}

void grid_drop_old(struct grid_data *grid, struct engine *engine, bool even_read)
{
    char datum[DATUM_TEXT];
    while (!grid->is_container && holding_take_old(grid->holding, even_read, datum)) {
        struct deletion *deletion = malloc(sizeof *deletion);
        if (!deletion)
            return;
        *deletion = (struct deletion){.engine = engine, .job = {.run = drop, .arg = deletion}};
        memcpy(deletion->datum, datum, sizeof datum);
        count(1);
        if (!thread_pool_submit(engine->runners, &deletion->job))
            drop(deletion);
    }
}

bool grid_transfers_after_fork(void)
{
    ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    under_way = 0;
    return fork_lock_was_free(&lock);
}
