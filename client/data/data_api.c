/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/data.h"
#include "client/data/guard.h"
#include "client/data/sequence.h"
#include "client/session/buffer.h"
#include "client/session/library.h"
#include "core/problem/texts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static enum esp_status pack(const char *const *strings, int64_t n, void **value, uint64_t *bytes,
                            struct esp_error *error)
{
    if (n < 0 || n > TEXTS_MOST)
        return error_set(error, ESP_LIMIT, "expected an array of at most %d strings, found one of %lld",
                         TEXTS_MOST, (long long)n);
    struct text_item *items = calloc(n ? (size_t)n : 1, sizeof *items);
    enum esp_status status = items ? ESP_OK : error_no_memory(error, "an array of strings");
    for (int64_t i = 0; status == ESP_OK && i < n; i++) {
        if (strings && strings[i])
            items[i] = (struct text_item){.bytes = strings[i], .length = strlen(strings[i])};
        else
            status =
                error_set(error, ESP_INVALID, "expected %lld strings, found a null pointer as number %lld",
                          (long long)n, (long long)i + 1);
    }
    if (status == ESP_OK)
        status = texts_pack(items, (uint64_t)n, value, bytes, error);
    free(items);
    return status;
}

/* Puts n strings on that server as a new datum, and writes its identity to `id` (DATUM_TEXT bytes).
 * Blocks. Returns ESP_INVALID if one of them is NULL, ESP_LIMIT if there are too many. */
static enum esp_status data_put_strings(struct engine *engine, const char *server, const char *const *strings,
                                        int64_t n, enum esp_data_mode mode, struct data_told told, char *id,
                                        struct esp_error *error)
{
    char address[CAP_ADDRESS + 1];
    void *value = NULL;
    struct datum_info datum = {
        .type = TYPE_STRING, .dims = &n, .n_dims = 1, .mode = mode, .created_s = (int64_t)time(NULL)};
    enum esp_status status = pack(strings, n, &value, &datum.bytes, error);
    if (status == ESP_OK)
        status = engine_await_name(engine, server, address, error);
    if (status == ESP_OK)
        status = data_put(engine, server, address, &datum, value, told, id, error);
    free(value);
    return status;
}

/* The pointers, followed by the strings. */
static char **unpack(const void *value, uint64_t bytes, uint64_t n)
{
    struct text_item item = {0};
    char **strings = malloc((size_t)((n + 1) * sizeof *strings + bytes));
    char *at = (char *)(strings + n + 1);
    for (uint64_t i = 0; strings && i < n; i++) {
        texts_next(value, i, &item);
        strings[i] = memcpy(at, item.bytes, (size_t)item.length + 1);
        at += item.length + 1;
    }
    if (strings)
        strings[n] = NULL;
    return strings;
}

enum esp_status esp_data_get_strings(const char *id, char ***strings, size_t *n)
{
    struct esp_error *error = library_error();
    void *value = NULL;
    uint64_t bytes, count = 0;
    if (!id || !strings || !n)
        return error_set(error, ESP_INVALID, "expected an identity and places for the strings, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = data_get_strings(library->engine, id, &value, &bytes, &count, error);
    if (status == ESP_OK && !(*strings = unpack(value, bytes, count)))
        status = error_no_memory(error, "an array of strings");
    if (status == ESP_OK)
        *n = (size_t)count;
    free(value);
    library_leave(status == ESP_OK);
    return status;
}

/* Data as programs put, read, copy and delete them: espalier.h. */

_Static_assert((int)ESP_DATA_STICKY_RETURN == (int)DATUM_STICKY_RETURN, "modes are numbered alike");

static struct library *enter(void)
{
    return library_enter(library_error());
}

static enum esp_status leave(enum esp_status status)
{
    library_leave(status == ESP_OK);
    return status;
}

static enum esp_status describe(const struct esp_argument *array, enum esp_data_mode mode,
                                struct datum_info *datum, struct esp_error *error)
{
    struct datum_shape shape = {.type = (enum base_type)(array->type - 1), .n_dims = array->n_dims};
    if (array->type == ESP_TYPE_ANY || array->type > ESP_TYPE_DOUBLE_COMPLEX)
        return error_set(
            error, ESP_INVALID,
            "expected an array of numbers or characters, or a vector of strings, found one of type %s",
            esp_type_name(array->type));
    if (array->n_dims > ESP_MAX_DIMS)
        return error_set(error, ESP_INVALID, "expected at most %d dimensions, found %u", ESP_MAX_DIMS,
                         array->n_dims);
    memcpy(shape.dims, array->dims, array->n_dims * sizeof *shape.dims);
    enum esp_status status = datum_shape_complete(&shape, error);
    *datum = (struct datum_info){.type = shape.type,
                                 .dims = (int64_t *)(uintptr_t)array->dims,
                                 .n_dims = array->n_dims,
                                 .bytes = shape.bytes,
                                 .mode = mode,
                                 .created_s = (int64_t)time(NULL)};
    return status;
}

_Static_assert(ESP_DATA_ID_BYTES >= DATUM_TEXT, "an identity fits");

static enum esp_status put_array(struct engine *engine, const char *server, const struct esp_argument *array,
                                 enum esp_data_mode mode, const struct esp_data_source *source,
                                 struct data_told told, char *id, struct esp_error *error)
{
    char address[CAP_ADDRESS + 1];
    struct datum_info datum;
    enum esp_status status = describe(array, mode, &datum, error);
    if (status == ESP_OK && !source && !array->data && datum.bytes > 0)
        return error_set(error, ESP_INVALID, "expected an array, found a null pointer");
    if (status == ESP_OK)
        status = engine_await_name(engine, server, address, error);
    if (status != ESP_OK)
        return status;
    return source ? data_put_made(engine, server, address, &datum, source, told, id, error)
                  : data_put(engine, server, address, &datum, array->data, told, id, error);
}

enum esp_status esp_data_put_parts(const char *server, const struct esp_argument *array,
                                   enum esp_data_mode mode, const struct esp_data_source *source,
                                   esp_data_progress *progress, void *arg, char *id)
{
    struct esp_error *error = library_error();
    if (!server || !array || !id || (source && !source->fill))
        return error_set(error, ESP_INVALID, "expected a server, an array and an identity, found NULL");
    struct library *library = enter();
    if (!library)
        return error->status;
    return leave(put_array(library->engine, server, array, mode, source, (struct data_told){progress, arg},
                           id, error));
}

enum esp_status esp_data_reserve(const char *server, const struct esp_argument *array,
                                 enum esp_data_mode mode, char *id)
{
    struct esp_error *error = library_error();
    char address[CAP_ADDRESS + 1];
    struct datum_info datum;
    if (!server || !array || !id)
        return error_set(error, ESP_INVALID, "expected a server, an array and an identity, found NULL");
    struct library *library = enter();
    if (!library)
        return error->status;
    enum esp_status status = describe(array, mode, &datum, error);
    if (status == ESP_OK && datum.bytes == 0)
        return leave(ESP_OK); /* it needs no room */
    if (status == ESP_OK)
        status = engine_await_name(library->engine, server, address, error);
    if (status == ESP_OK)
        status = data_reserve(library->engine, server, address, &datum, id, error);
    return leave(status);
}

void esp_data_unreserve(const char *server, const struct esp_argument *array, enum esp_data_mode mode,
                        const char *id)
{
    char address[CAP_ADDRESS + 1];
    struct datum_info datum;
    struct esp_error error;
    struct library *library = server && array && id && *id ? library_enter(&error) : NULL;
    if (!library)
        return;
    if (describe(array, mode, &datum, &error) == ESP_OK &&
        engine_resolve(library->engine, server, address, &error) == ESP_OK)
        data_unreserve(library->engine, address, &datum, id);
    library_leave(true);
}

enum esp_status esp_data_put(const char *server, const struct esp_argument *array, enum esp_data_mode mode,
                             esp_data_progress *progress, void *arg, char **id)
{
    struct esp_error *error = library_error();
    char text[DATUM_TEXT] = "";
    struct datum_info datum;
    if (!server || !array || !id)
        return error_set(error, ESP_INVALID,
                         "expected a server, an array and a place for the identity, found NULL");
    const bool strings = array->type == ESP_TYPE_STRING && array->n_dims == 1;
    if (!strings && describe(array, mode, &datum, error) != ESP_OK)
        return error->status;
    if (!strings && !array->data && datum.bytes > 0)
        return error_set(error, ESP_INVALID, "expected an array, found a null pointer");
    struct library *library = enter();
    if (!library)
        return error->status;
    const struct data_told told = {progress, arg};
    enum esp_status status = strings ? data_put_strings(library->engine, server, array->data, array->dims[0],
                                                        mode, told, text, error)
                                     : sequence_sync(array->data, datum.bytes, error);
    if (status == ESP_OK && !strings)
        status = put_array(library->engine, server, array, mode, NULL, told, text, error);
    if (status == ESP_OK && !(*id = strdup(text)))
        status = error_no_memory(error, "the identity of a datum");
    return leave(status);
}

enum esp_status esp_data_get(const char *id, void *memory, uint64_t bytes, esp_data_progress *progress,
                             void *arg)
{
    struct esp_error *error = library_error();
    const struct data_told told = {progress, arg};
    if (!id || (!memory && bytes > 0))
        return error_set(error, ESP_INVALID, "expected an identity and memory, found NULL");
    struct library *library = enter();
    if (!library)
        return error->status;
    enum esp_status status = sequence_sync(memory, bytes, error); /* a pending result would overwrite it */
    if (status == ESP_OK)
        status = data_get(library->engine, id, memory, bytes, told, error);
    return leave(status);
}

enum esp_status esp_data_silent(const char *id, char **servers)
{
    struct esp_error *error = library_error();
    char names[DATA_LEFT_BYTES];
    if (!id || !servers)
        return error_set(error, ESP_INVALID, "expected an identity and a place for names, found NULL");
    struct library *library = enter();
    if (!library)
        return error->status;
    enum esp_status status = data_original_silent(library->engine, id, names, error);
    if (status == ESP_OK && !(*servers = strdup(names)))
        status = error_no_memory(error, "names of servers");
    return leave(status);
}

enum esp_status esp_data_drop(const char *id)
{
    struct esp_error *error = library_error();
    if (!id)
        return error_set(error, ESP_INVALID, "expected an identity, found NULL");
    struct library *library = enter();
    if (!library)
        return error->status;
    return leave(data_drop(library->engine, id, NULL, true, error));
}

enum esp_status esp_data_give_up(const char *id, char **left)
{
    struct esp_error *error = library_error();
    char names[DATA_LEFT_BYTES];
    if (!id || !left)
        return error_set(error, ESP_INVALID, "expected an identity and a place for names, found NULL");
    struct library *library = enter();
    if (!library)
        return error->status;
    enum esp_status status = data_give_up(library->engine, id, names, error);
    if (status == ESP_OK && !(*left = strdup(names)))
        status = error_no_memory(error, "the names of servers");
    return leave(status);
}

enum esp_status esp_data_remove_damaged(const char *id, const char *server)
{
    struct esp_error *error = library_error();
    if (!id)
        return error_set(error, ESP_INVALID, "expected an identity, found NULL");
    struct library *library = enter();
    if (!library)
        return error->status;
    return leave(data_remove_damaged(library->engine, id, server, error));
}

enum esp_status esp_data_adopt(const char *id, const char *server, esp_data_progress *progress, void *arg)
{
    struct esp_error *error = library_error();
    const struct data_told told = {progress, arg};
    if (!id || !server)
        return error_set(error, ESP_INVALID, "expected an identity and a server, found NULL");
    struct library *library = enter();
    if (!library)
        return error->status;
    return leave(data_adopt(library->engine, id, server, told, error));
}

enum esp_status esp_data_copy(const char *id, const char *server, int move, esp_data_progress *progress,
                              void *arg)
{
    struct esp_error *error = library_error();
    const struct data_told told = {progress, arg};
    if (!id || !server)
        return error_set(error, ESP_INVALID, "expected an identity and a server, found NULL");
    struct library *library = enter();
    if (!library)
        return error->status;
    return leave(data_copy(library->engine, id, server, move != 0, told, error));
}

/* ---- memory that servers on this host can use ---- */

void *esp_alloc(size_t bytes)
{
    return buffer_alloc(bytes);
}

enum esp_status esp_free(void *memory)
{
    return !memory || buffer_free(memory, guard_forget) ? ESP_OK : ESP_INVALID;
}
