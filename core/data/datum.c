/* SPDX-License-Identifier: Apache-2.0 */
#include "core/data/datum.h"

#include "core/data/datum_pieces.h"

#include "util/names.h"
#include "util/random.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_BYTES (UINT64_C(1) << 62)

/* ---- identity ---- */

static bool is_node_name(const char *name, size_t length)
{
    if (length == 0 || length > CAP_NAME)
        return false;
    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)name[i]))
            return false;
    return true;
}

enum esp_status datum_id_draw(const char *origin, struct datum_id *id, struct esp_error *error)
{
    struct datum_id drawn = {{0, 0}, ""};
    if (!is_node_name(origin, strlen(origin)))
        return error_set(error, ESP_INVALID,
                         "expected the name of a server (1 to %d characters, none of them a control "
                         "character) as origin of a datum, found \"%.60s\"",
                         CAP_NAME, origin);
    while (datum_key_is_none(drawn.key)) {
        enum esp_status status = random_bytes(&drawn.key, sizeof drawn.key, error);
        if (status != ESP_OK)
            return status;
    }
    memcpy(drawn.origin, origin, strlen(origin) + 1);
    *id = drawn;
    return ESP_OK;
}

const char *datum_id_text(const struct datum_id *id, char *text)
{
    snprintf(text, DATUM_TEXT, "%s:%016" PRIx64 "%016" PRIx64, id->origin, id->key.high, id->key.low);
    return text;
}

const char *datum_id_short(const struct datum_id *id, char *text)
{
    snprintf(text, DATUM_TEXT, "%s:%08" PRIx64 "...", id->origin, id->key.high >> 32);
    return text;
}

static int digit_value(char digit)
{
    const char *digits = "0123456789abcdef";
    const char *found = digit ? strchr(digits, tolower((unsigned char)digit)) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* Counts the valid digits. */
static size_t read_key(const char *text, struct datum_key *key)
{
    size_t n = 0;
    for (; n < DATUM_DIGITS && digit_value(text[n]) >= 0; n++) {
        uint64_t *half = n < DATUM_DIGITS / 2 ? &key->high : &key->low;
        *half = *half << 4 | (uint64_t)digit_value(text[n]);
    }
    return n;
}

#define EXPECTED "expected a datum's identity, SERVER:<32 hexadecimal digits>, "

enum esp_status datum_id_parse(const char *text, struct datum_id *id, struct esp_error *error)
{
    struct datum_id read = {{0, 0}, ""};
    size_t length = strnlen(text, DATUM_TEXT);
    if (length == DATUM_TEXT)
        return error_set(error, ESP_INVALID, EXPECTED "found more than %d characters: \"%.40s...\"",
                         DATUM_TEXT - 1, text);
    const char *colon = strrchr(text, ':');
    if (!colon)
        return error_set(error, ESP_INVALID, EXPECTED "found no colon in \"%.100s\"", text);
    if (!is_node_name(text, (size_t)(colon - text)))
        return error_set(error, ESP_INVALID, EXPECTED "found \"%.100s\", which names no server", text);
    size_t digits = read_key(colon + 1, &read.key);
    if (colon[1 + digits] != '\0')
        return error_set(error, ESP_INVALID, EXPECTED "found '%c' at character %zu of \"%.100s\"",
                         isprint((unsigned char)colon[1 + digits]) ? colon[1 + digits] : '?',
                         (size_t)(colon - text) + digits + 2, text);
    if (digits < DATUM_DIGITS)
        return error_set(error, ESP_INVALID, EXPECTED "found %zu digits in \"%.100s\"", digits, text);
    if (datum_key_is_none(read.key))
        return error_set(error, ESP_INVALID, EXPECTED "found all digits 0, which no datum has: \"%.100s\"",
                         text);
    memcpy(read.origin, text, (size_t)(colon - text));
    *id = read;
    return ESP_OK;
}

/* ---- modes ---- */

static const char *const mode_names[DATUM_N_MODES] = {"volatile", "persistent", "persistent-return", "sticky",
                                                      "sticky-return"};

const char *datum_mode_name(enum datum_mode mode)
{
    return (unsigned)mode < DATUM_N_MODES ? mode_names[mode] : "unknown";
}

enum esp_status datum_mode_parse(const char *name, enum datum_mode *mode, struct esp_error *error)
{
    for (unsigned i = 0; i < DATUM_N_MODES; i++) {
        if (strcmp(name, mode_names[i]) == 0) {
            *mode = (enum datum_mode)i;
            return ESP_OK;
        }
    }
    const char *meant = names_closest(name, mode_names, DATUM_N_MODES);
    return error_set(error, ESP_INVALID,
                     "expected volatile, persistent, persistent-return, sticky or sticky-return, found "
                     "\"%.60s\"%s%s%s",
                     name, meant ? " (did you mean " : "", meant ? meant : "", meant ? "?)" : "");
}

enum esp_status datum_may_leave(enum datum_mode mode, uint32_t flags, bool move, struct esp_error *error)
{
    if (flags & DATUM_UNIQUE && move)
        return error_set(
            error, ESP_REFUSED,
            "the datum is %s and unique: it stays on its server (put it again on the one where it is "
            "to be, and delete it here)",
            datum_mode_name(mode));
    if (flags & DATUM_UNIQUE)
        return error_set(error, ESP_REFUSED,
                         "the datum is unique: no copy may be made on another server (put it again with "
                         "another mode)");
    if (move && datum_mode_sticks(mode))
        return error_set(error, ESP_REFUSED,
                         "the datum is %s: it stays on its server (a copy may be made instead)",
                         datum_mode_name(mode));
    return ESP_OK;
}

static const struct {
    enum datum_mode mode;
    uint32_t flags;
} grid_modes[] = {
    [DATUM_GRID_VOLATILE] = {DATUM_VOLATILE, 0},
    [DATUM_GRID_STRICTLY_VOLATILE] = {DATUM_VOLATILE, DATUM_STRICT},
    [DATUM_GRID_STICKY] = {DATUM_STICKY, 0},
    [DATUM_GRID_UNIQUE_STICKY] = {DATUM_STICKY, DATUM_UNIQUE},
    [DATUM_GRID_PERSISTENT] = {DATUM_PERSISTENT, 0},
};

bool datum_of_grid_mode(enum datum_grid_mode grid, enum datum_mode *mode, uint32_t *flags)
{
    if ((size_t)grid >= sizeof grid_modes / sizeof *grid_modes)
        return false;
    *mode = grid_modes[grid].mode;
    *flags |= grid_modes[grid].flags;
    return true;
}

enum datum_grid_mode datum_to_grid_mode(enum datum_mode mode, uint32_t flags)
{
    if (datum_mode_sticks(mode))
        return flags & DATUM_UNIQUE ? DATUM_GRID_UNIQUE_STICKY : DATUM_GRID_STICKY;
    if (mode == DATUM_VOLATILE)
        return flags & DATUM_STRICT ? DATUM_GRID_STRICTLY_VOLATILE : DATUM_GRID_VOLATILE;
    return DATUM_GRID_PERSISTENT;
}

/* ---- shape ---- */

static enum esp_status check_storage(const struct datum_shape *shape, struct esp_error *error)
{
    if (shape->storage != STORAGE_FULL && shape->storage != STORAGE_PACKED &&
        shape->storage != STORAGE_BANDED && shape->storage != STORAGE_PIECES)
        return error_set(
            error, ESP_INVALID,
            "expected a datum stored in full, packed, banded or in pieces, found storage %d (the "
            "arrays of a compressed matrix are three data)",
            (int)shape->storage);
    if (shape->storage == STORAGE_FULL)
        return ESP_OK;
    if (shape->storage == STORAGE_PIECES)
        return datum_pieces_check(shape, error);
    if (shape->n_dims != 2)
        return error_set(error, ESP_INVALID, "expected 2 dimensions for a %s datum, found %" PRIu32,
                         storage_name(shape->storage), shape->n_dims);
    if (shape->storage == STORAGE_PACKED && shape->dims[0] != shape->dims[1])
        return error_set(error, ESP_INVALID,
                         "expected a square matrix for a packed datum, found %" PRId64 " x %" PRId64,
                         shape->dims[0], shape->dims[1]);
    if (shape->storage == STORAGE_PACKED && shape->layout[0] != 'U' && shape->layout[0] != 'L')
        return error_set(error, ESP_INVALID, "expected 'U' or 'L' for a packed datum, found %" PRId64,
                         shape->layout[0]);
    for (unsigned i = 0; shape->storage == STORAGE_BANDED && i < 3; i++)
        if (shape->layout[i] < 0)
            return error_set(error, ESP_INVALID, "expected diagonals >= 0 for a banded datum, found %" PRId64,
                             shape->layout[i]);
    return ESP_OK;
}

bool datum_shape_places(const struct datum_shape *shape, struct layout *places)
{
    *places = (struct layout){.storage = shape->storage,
                              .row_major = shape->row_major,
                              .rows = shape->dims[0],
                              .cols = shape->dims[1]};
    if (shape->storage == STORAGE_PACKED) {
        places->upper = shape->layout[0] == 'U';
    } else if (shape->storage == STORAGE_BANDED) {
        places->below = shape->layout[0];
        places->above = shape->layout[1];
        places->front = shape->layout[2];
    }
    return shape->storage == STORAGE_PACKED || shape->storage == STORAGE_BANDED;
}

static bool count_elements(const struct datum_shape *shape, uint64_t *count)
{
    struct layout places;
    if (datum_shape_places(shape, &places))
        return layout_count(&places, count);
    *count = 1;
    bool empty = false, fits = true;
    for (unsigned i = 0; i < shape->n_dims; i++) {
        empty |= shape->dims[i] == 0;
        fits = fits && !__builtin_mul_overflow(*count, (uint64_t)shape->dims[i], count);
    }
    if (empty)
        *count = 0;
    return fits || empty;
}

enum esp_status datum_shape_complete(struct datum_shape *shape, struct esp_error *error)
{
    char text[DATUM_SHAPE_TEXT];
    if ((unsigned)shape->type >= TYPE_STATE)
        return error_set(error, ESP_INVALID, "expected a datum of a base type, found type %d",
                         (int)shape->type);
    if (shape->n_dims > CAP_DIMS)
        return error_set(error, ESP_INVALID, "expected at most %d dimensions of a datum, found %" PRIu32,
                         CAP_DIMS, shape->n_dims);
    for (unsigned i = 0; i < shape->n_dims; i++)
        if (shape->dims[i] < 0)
            return error_set(error, ESP_INVALID, "expected dimensions >= 0 of a datum, found %" PRId64,
                             shape->dims[i]);
    enum esp_status status = check_storage(shape, error);
    if (status != ESP_OK)
        return status;
    uint64_t count = 0, bytes = shape->bytes;
    bool fits = base_type_is_variable(shape->type) ||
                (count_elements(shape, &count) &&
                 !__builtin_mul_overflow(count, base_type_size(shape->type), &bytes));
    if (!fits || bytes > MOST_BYTES)
        return error_set(error, ESP_INVALID, "expected a datum of at most 2^62 bytes, found %s",
                         datum_shape_text(shape, text, sizeof text));
    shape->bytes = bytes;
    return ESP_OK;
}

enum esp_status datum_shape_check(const struct datum_shape *shape, struct esp_error *error)
{
    char text[DATUM_SHAPE_TEXT];
    struct datum_shape whole = *shape;
    enum esp_status status = datum_shape_complete(&whole, error);
    if (status == ESP_OK && whole.bytes != shape->bytes)
        return error_set(error, ESP_INVALID, "expected %" PRIu64 " bytes of %s, found %" PRIu64, whole.bytes,
                         datum_shape_text(shape, text, sizeof text), shape->bytes);
    return status;
}

static bool dims_fit(const struct datum_shape *a, const struct datum_shape *b)
{
    uint32_t n = a->n_dims > b->n_dims ? a->n_dims : b->n_dims;
    for (uint32_t i = 0; i < n; i++)
        if ((i < a->n_dims ? a->dims[i] : 1) != (i < b->n_dims ? b->dims[i] : 1))
            return false;
    return true;
}

/* Whether storage by rows differs from storage by columns: not for one row or column. */
static bool order_matters(const struct datum_shape *shape)
{
    unsigned wide = 0;
    for (unsigned i = 0; i < shape->n_dims; i++)
        wide += shape->dims[i] > 1;
    return wide > 1;
}

bool datum_types_fit(enum base_type a, enum base_type b)
{
    bool longs = (a == TYPE_LONG || a == TYPE_INT64) && (b == TYPE_LONG || b == TYPE_INT64);
    return a == b || longs;
}

/* Whether `found` is the array in which LAPACK stores the elements of the packed or banded matrix
 * `expected`: programs store it as an ordinary array, one element after the other or, for a band, column
 * by column. */
static bool is_its_array(const struct datum_shape *expected, const struct datum_shape *found)
{
    bool columns = expected->storage == STORAGE_BANDED && found->n_dims == 2 && expected->n_dims == 2 &&
                   found->dims[1] == expected->dims[1];
    return (expected->storage == STORAGE_PACKED || expected->storage == STORAGE_BANDED) &&
           found->storage == STORAGE_FULL && (found->n_dims == 1 || (columns && !found->row_major));
}

/* Whether a matrix is used as the vector of its elements in memory, or the other way round: programs that
 * pass the address of an array do so all the time. */
static bool is_its_vector(const struct datum_shape *expected, const struct datum_shape *joined)
{
    return expected->storage == STORAGE_FULL && joined->storage == STORAGE_FULL && expected->n_dims > 0 &&
           joined->n_dims > 0 && (expected->n_dims == 1 || joined->n_dims == 1);
}

enum esp_status datum_shape_fits(const struct datum_shape *expected, const struct datum_shape *found,
                                 const char *what, struct esp_error *error)
{
    char wanted[DATUM_SHAPE_TEXT], had[DATUM_SHAPE_TEXT];
    const struct datum_shape joined = datum_shape_joined(found);
    bool lies =
        is_its_array(expected, found) || is_its_vector(expected, &joined) ||
        (expected->storage == joined.storage &&
         memcmp(expected->layout, joined.layout, sizeof joined.layout) == 0 && dims_fit(expected, found) &&
         (expected->row_major == found->row_major || !order_matters(found)));
    bool fits =
        datum_types_fit(expected->type, found->type) && lies &&
        (base_type_is_variable(expected->type) ? dims_fit(expected, found) : expected->bytes == found->bytes);
    if (fits)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "%s: expected %s, the datum is %s", what,
                     datum_shape_text(expected, wanted, sizeof wanted),
                     datum_shape_text(found, had, sizeof had));
}

const char *datum_shape_text(const struct datum_shape *shape, char *text, size_t size)
{
    int at = snprintf(text, size, "%s", base_type_name(shape->type));
    uint32_t n = shape->n_dims < CAP_DIMS ? shape->n_dims : CAP_DIMS;
    for (uint32_t i = 0; i < n && at >= 0 && (size_t)at < size; i++)
        at += snprintf(text + at, size - (size_t)at, "%s%" PRId64 "%s", i ? ", " : "[", shape->dims[i],
                       i + 1 == n ? "]" : "");
    if (at < 0 || (size_t)at >= size)
        return text;
    if (shape->storage == STORAGE_PACKED)
        snprintf(text + at, size - (size_t)at, " packed (%c)", shape->layout[0] == 'L' ? 'L' : 'U');
    else if (shape->storage == STORAGE_BANDED)
        snprintf(text + at, size - (size_t)at, " banded (%" PRId64 ", %" PRId64 ", %" PRId64 ")",
                 shape->layout[0], shape->layout[1], shape->layout[2]);
    else if (shape->storage == STORAGE_PIECES)
        snprintf(text + at, size - (size_t)at,
                 " over %" PRId64 " x %" PRId64 " ranks (%" PRId64 " x %" PRId64 ")",
                 (int64_t)(shape->layout[0] >> 32), (int64_t)((uint64_t)shape->layout[0] & UINT32_MAX),
                 shape->layout[1], shape->layout[2]);
    else if (shape->row_major)
        snprintf(text + at, size - (size_t)at, " by rows");
    return text;
}
