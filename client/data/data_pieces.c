/* SPDX-License-Identifier: Apache-2.0
 *
 * Data in pieces, as the ranks of parallel servers have them.
 */
#include "client/data/data.h"
#include "client/library.h"
#include "client/data/sequence.h"
#include "core/redistribution/pieces.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- as servers tell of them ---- */

static struct datum_shape shape_of(const struct datum_info *datum)
{
    struct datum_shape shape = {.type = (enum base_type)datum->type,
                                .n_dims = datum->n_dims,
                                .storage = (enum storage)datum->storage,
                                .layout = {datum->layout_a, datum->layout_b, datum->layout_c},
                                .row_major = datum->row_major,
                                .bytes = datum->bytes};
    for (uint32_t i = 0; i < datum->n_dims && i < CAP_DIMS; i++)
        shape.dims[i] = datum->dims[i];
    return shape;
}

bool data_layout(const struct datum_info *datum, struct block_cyclic_matrix *layout)
{
    const struct datum_shape shape = shape_of(datum);
    return datum_shape_check(&shape, NULL) == ESP_OK && datum_shape_layout(&shape, layout);
}

enum esp_status data_fits(const struct datum_info *datum, const struct datum_shape *described,
                          struct esp_error *error)
{
    struct datum_shape expected = *described, found = shape_of(datum), whole = found;
    enum esp_status status = datum_shape_check(&found, error);
    if (status != ESP_OK)
        return error_prefix(error, "what the server says of the datum makes no sense");
    expected.row_major = found.row_major;
    /* Of a matrix of which a part is stored its extents are as good as those of what is stored. */
    whole.storage = STORAGE_FULL;
    memset(whole.layout, 0, sizeof whole.layout);
    if (found.type != TYPE_STRING && datum_shape_complete(&whole, NULL) == ESP_OK &&
        datum_shape_fits(&expected, &whole, "", NULL) == ESP_OK)
        return ESP_OK;
    return datum_shape_fits(&expected, &found, "the data", error);
}

/* As blocks do not matter where there is one rank, any that can be may stand there. */
static struct block_cyclic_matrix as_given(const struct datum_info *datum,
                                           const struct esp_data_layout *layout)
{
    return pieces_grid(datum->n_dims > 0 ? datum->dims[0] : 1, datum->n_dims > 1 ? datum->dims[1] : 1,
                       layout->rows, layout->cols, layout->row_block, layout->col_block);
}

enum esp_status data_lay(struct datum_info *datum, const struct esp_data_layout *layout,
                         struct esp_error *error)
{
    struct datum_shape shape = shape_of(datum);
    const struct block_cyclic_matrix matrix = as_given(datum, layout);
    enum esp_status status = datum_shape_spread(&shape, &matrix, error);
    datum->storage = shape.storage;
    datum->layout_a = shape.layout[0];
    datum->layout_b = shape.layout[1];
    datum->layout_c = shape.layout[2];
    return status;
}

enum esp_status data_join(const struct datum_info *datum, void *memory, struct esp_error *error)
{
    struct block_cyclic_matrix layout;
    if (!data_layout(datum, &layout) || datum->bytes == 0)
        return ESP_OK;
    void *pieces = malloc(datum->bytes);
    if (!pieces)
        return error_no_memory(error, "putting a datum together");
    memcpy(pieces, memory, datum->bytes);
    pieces_join(&layout, pieces, memory, base_type_size((enum base_type)datum->type));
    free(pieces);
    return ESP_OK;
}

/* ---- for programs ---- */

static enum esp_status describe(const struct esp_argument *array, const struct esp_data_layout *layout,
                                enum esp_data_mode mode, struct datum_info *datum, struct esp_error *error)
{
    struct datum_shape shape = {.type = (enum base_type)(array->type - 1), .n_dims = array->n_dims};
    if (array->type == ESP_TYPE_ANY || array->type > ESP_TYPE_DOUBLE_COMPLEX || array->n_dims < 1 ||
        array->n_dims > 2)
        return error_set(
            error, ESP_INVALID,
            "expected a vector or a matrix of numbers or characters, found %u dimensions of type %s",
            array->n_dims, esp_type_name(array->type));
    memcpy(shape.dims, array->dims, array->n_dims * sizeof *shape.dims);
    enum esp_status status = datum_shape_complete(&shape, error);
    *datum = (struct datum_info){.type = shape.type,
                                 .dims = (int64_t *)(uintptr_t)array->dims,
                                 .n_dims = array->n_dims,
                                 .bytes = shape.bytes,
                                 .mode = mode,
                                 .created_s = (int64_t)time(NULL)};
    return status == ESP_OK ? data_lay(datum, layout, error) : status;
}

uint64_t esp_data_piece_elements(const struct esp_argument *array, const struct esp_data_layout *layout,
                                 unsigned piece)
{
    struct datum_info datum;
    if (!array || !layout || describe(array, layout, ESP_DATA_VOLATILE, &datum, NULL) != ESP_OK)
        return 0;
    const struct block_cyclic_matrix matrix = as_given(&datum, layout);
    return piece < block_cyclic_matrix_ranks(&matrix) ? pieces_count(&matrix, piece) : 0;
}

/* The pieces of a whole array: their memory is one block, *cut, that the caller frees with them. */
static enum esp_status cut(const struct datum_info *datum, const struct esp_data_layout *layout,
                           const void *whole, const void ***pieces, void **all, struct esp_error *error)
{
    const struct block_cyclic_matrix matrix = as_given(datum, layout);
    int64_t n = block_cyclic_matrix_ranks(&matrix);
    size_t element = base_type_size((enum base_type)datum->type);
    *all = malloc(datum->bytes ? datum->bytes : 1);
    *pieces = calloc((size_t)n, sizeof **pieces);
    if (!*all || !*pieces)
        return error_no_memory(error, "cutting an array into pieces");
    pieces_cut(&matrix, whole, *all, element);
    uint64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        (*pieces)[i] = (const char *)*all + at;
        at += pieces_count(&matrix, i) * element;
    }
    return ESP_OK;
}

static enum esp_status check_pieces(const struct datum_info *datum, const struct esp_data_layout *layout,
                                    const void *const *pieces, struct esp_error *error)
{
    const struct block_cyclic_matrix matrix = as_given(datum, layout);
    for (int64_t i = 0; i < block_cyclic_matrix_ranks(&matrix); i++)
        if (!pieces[i] && pieces_count(&matrix, i) > 0)
            return error_set(error, ESP_INVALID, "expected memory of piece %lld, found NULL", (long long)i);
    return ESP_OK;
}

static enum esp_status put_on(struct engine *engine, const char *server, const struct datum_info *datum,
                              const void *const *pieces, struct data_told told, char **id,
                              struct esp_error *error)
{
    char address[CAP_ADDRESS + 1], text[DATUM_TEXT] = "";
    enum esp_status status = engine_await_name(engine, server, address, error);
    if (status == ESP_OK)
        status = data_put_pieces(engine, server, address, datum, pieces, told, text, error);
    if (status == ESP_OK && !(*id = strdup(text)))
        status = error_no_memory(error, "the identity of a datum");
    return status;
}

enum esp_status esp_data_put_pieces(const char *server, const struct esp_argument *array,
                                    const struct esp_data_layout *layout, const void *const *pieces,
                                    enum esp_data_mode mode, esp_data_progress *progress, void *arg,
                                    char **id)
{
    struct esp_error *error = library_error();
    const struct data_told told = {progress, arg};
    struct datum_info datum;
    void *all = NULL;
    const void **own = NULL;
    if (!server || !array || !layout || !id || (!pieces && !array->data))
        return error_set(
            error, ESP_INVALID,
            "expected a server, an array with its layout and memory, and a place for the identity, "
            "found NULL");
    if (describe(array, layout, mode, &datum, error) != ESP_OK)
        return error->status;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status =
        pieces ? check_pieces(&datum, layout, pieces, error) : sequence_sync(array->data, datum.bytes, error);
    if (status == ESP_OK && !pieces)
        status = cut(&datum, layout, array->data, &own, &all, error);
    if (status == ESP_OK)
        status = put_on(library->engine, server, &datum, pieces ? pieces : own, told, id, error);
    library_leave(status == ESP_OK);
    free(own);
    free(all);
    return status;
}

enum esp_status esp_data_get_piece(const char *id, unsigned piece, void *memory, uint64_t bytes,
                                   esp_data_progress *progress, void *arg)
{
    struct esp_error *error = library_error();
    const struct data_told told = {progress, arg};
    if (!id || (!memory && bytes > 0))
        return error_set(error, ESP_INVALID, "expected an identity and memory, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = sequence_sync(memory, bytes, error);
    if (status == ESP_OK)
        status = data_get_piece(library->engine, id, piece, memory, bytes, told, error);
    library_leave(status == ESP_OK);
    return status;
}

enum esp_status esp_data_redistribute(const char *from, const char *server,
                                      const struct esp_data_layout *layout, esp_data_progress *progress,
                                      void *arg, char **id)
{
    struct esp_error *error = library_error();
    const struct data_told told = {progress, arg};
    char text[DATUM_TEXT];
    if (!from || !server || !layout || !id)
        return error_set(
            error, ESP_INVALID,
            "expected an identity, a server, a layout and a place for the new identity, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = data_redistribute(library->engine, from, server, layout, told, text, error);
    if (status == ESP_OK && !(*id = strdup(text)))
        status = error_no_memory(error, "the identity of a datum");
    library_leave(status == ESP_OK);
    return status;
}
