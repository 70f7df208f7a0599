/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that has a matrix in pieces of its own: puts them, and takes them back one by one.
 *
 *   piece_steps SERVER    prints the identity
 */
#include "espalier.h"
#include "grpc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 10, COLS = 8, PIECES = 4, BLOCK = 3 };

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, esp_last_error()->text);
    return 1;
}

/* Element (i, j) is 100 i + j; rank (p, q) of 2 x 2 has the rows with i / 3 % 2 == p, and so for columns. */
static double *make_piece(unsigned piece, uint64_t elements)
{
    double *data = malloc((elements + 1) * sizeof *data), *at = data;
    for (int j = 0; j < COLS; j++)
        for (int i = 0; i < ROWS; i++)
            if ((unsigned)(i / BLOCK % 2) == piece / 2 && (unsigned)(j / BLOCK % 2) == piece % 2)
                *at++ = 100 * i + j;
    return at == data + elements ? data : NULL;
}

static int come_back(const char *id, double *const *pieces, const uint64_t *elements)
{
    double got[ROWS * COLS];
    for (unsigned i = 0; i < PIECES; i++) {
        uint64_t bytes = elements[i] * sizeof(double);
        if (esp_data_get_piece(id, i, got, bytes, NULL, NULL) != ESP_OK)
            return fail("get_piece");
        if (memcmp(got, pieces[i], bytes) != 0)
            return fprintf(stderr, "piece %u is another one\n", i), 1;
    }
    if (esp_data_get(id, got, sizeof got, NULL, NULL) != ESP_OK)
        return fail("get");
    for (int i = 0; i < ROWS * COLS; i++)
        if (got[i] != 100 * (i % ROWS) + i / ROWS)
            return fprintf(stderr, "the matrix is another one\n"), 1;
    if (esp_data_get_piece(id, PIECES, got, 8, NULL, NULL) != ESP_INVALID ||
        esp_data_get_piece(id, UINT_MAX, got, sizeof got, NULL, NULL) != ESP_INVALID)
        return fprintf(stderr, "there is a piece too many\n"), 1;
    return 0;
}

int main(int argc, char **argv)
{
    const struct esp_data_layout layout = {2, 2, BLOCK, BLOCK};
    const struct esp_argument array = {.type = ESP_TYPE_DOUBLE, .n_dims = 2, .dims = {ROWS, COLS}};
    uint64_t elements[PIECES];
    double *pieces[PIECES];
    const void *memory[PIECES];
    char *id;
    if (argc != 2 || grpc_initialize(getenv("ESPALIER_CONFIG")) != GRPC_NO_ERROR)
        return fail("initialize");
    for (unsigned i = 0; i < PIECES; i++) {
        elements[i] = esp_data_piece_elements(&array, &layout, i);
        memory[i] = pieces[i] = make_piece(i, elements[i]);
        if (!memory[i])
            return fprintf(stderr, "piece %u does not have %llu elements\n", i,
                           (unsigned long long)elements[i]),
                   1;
    }
    if (esp_data_put_pieces(argv[1], &array, &layout, memory, ESP_DATA_VOLATILE, NULL, NULL, &id) != ESP_OK)
        return fail("put_pieces");
    int code = come_back(id, pieces, elements);
    puts(id);
    free(id);
    for (unsigned i = 0; i < PIECES; i++)
        free(pieces[i]);
    grpc_finalize();
    return code;
}
