/* SPDX-License-Identifier: Apache-2.0
 *
 * data_kinds SERVER: data of grpc_data.h, and data by identity, wherever the argument of a call is an array:
 * sections, packed, banded and sparse matrices, arrays of every type.
 */
#include "espalier.h"
#include "grpc_data.h"
#include "tests/e2e/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 12

static const char *server;

static grpc_error_t describe(grpc_data_t *data, const char *input, const char *output, grpc_data_type_t type,
                             const size_t *dims, grpc_data_mode_t mode)
{
    const char *inputs[] = {input, NULL}, *outputs[] = {output, NULL};
    const grpc_data_mode_t modes[] = {mode, GRPC_END_LIST};
    return grpc_data_init(data, inputs, outputs, type, dims, modes);
}

/* A datum of memory, which is on the server when this returns. */
static int on_server(grpc_data_t *data, void *memory, grpc_data_type_t type, const size_t *dims)
{
    char place[80];
    snprintf(place, sizeof place, "server:%s", server);
    MUST(grpc_data_memory_mapping_set("once", memory));
    MUST(describe(data, "memory:once", place, type, dims, GRPC_VOLATILE));
    MUST(grpc_data_transfer(data, NULL, NULL, NULL));
    const grpc_data_t *list[] = {data, NULL};
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    char *identity = NULL;
    MUST(grpc_data_getinfo(data, GRPC_INFO_IDENTITY, NULL, &identity));
    int there = identity && *identity;
    free(identity);
    HOLDS(there);
    return 0;
}

static grpc_function_handle_t *handle(const char *problem)
{
    static grpc_function_handle_t kept[64];
    static int n;
    return n < 64 && grpc_function_handle_init(&kept[n], (char *)(size_t)server, (char *)(size_t)problem) ==
                         GRPC_NO_ERROR
               ? &kept[n++]
               : (told(problem), exit(1), NULL);
}

/* ---- sections ---- */

static const size_t vector[] = {N, 0}, matrix[] = {N, N, 0};
static double x[N], y[N], z[N], a[N * N], b[N * N], c[N * N];

static int sections_in(void)
{
    grpc_data_t dx, da;
    double sum = 0, expected = 0;
    for (int i = 0; i < N; i += 2)
        expected += x[i];
    if (on_server(&dx, x, GRPC_DOUBLE, vector) || on_server(&da, a, GRPC_DOUBLE, matrix))
        return 1;
    MUST(grpc_call(handle("cut_sum"), N, &dx, &sum)); /* cut out of the datum */
    HOLDS(sum == expected);
    MUST(grpc_data_memory_mapping_set("x", x));
    grpc_data_t dm;
    MUST(describe(&dm, "memory:x", NULL, GRPC_DOUBLE, vector, GRPC_PERSISTENT));
    sum = 0;
    MUST(grpc_call(handle("cut_sum"), N, &dm, &sum)); /* sent: only a part of it, so nothing stays */
    HOLDS(sum == expected);
    const char *const names[] = {"cut_copy", "cut_copy_rows"};
    for (int k = 0; k < 2; k++) {
        memset(b, 1, sizeof b);
        memset(c, 2, sizeof c);
        MUST(grpc_call(handle(names[k]), N, a, b));
        HOLDS(b[2 + 3 * N] == (k ? 0 : a[2 + 3 * N]) && b[3 + 2 * N] == (k ? a[3 + 2 * N] : 0));
        MUST(grpc_data_memory_mapping_set("a", a));
        grpc_data_t rows;
        MUST(describe(&rows, "memory:a", NULL, GRPC_DOUBLE, matrix, GRPC_PERSISTENT));
        MUST(grpc_call(handle(names[k]), N, k ? &rows : &da, c));
        HOLDS(memcmp(b, c, sizeof b) == 0);
    }
    /* By identity, with wrong extents, and a section of a datum where the description takes one. */
    char *id, section[400];
    MUST(grpc_data_getinfo(&dx, GRPC_INFO_IDENTITY, NULL, &id));
    int n = N;
    sum = 0;
    struct esp_argument arguments[3] = {{.data = &n}, {.datum = id}, {.data = &sum}};
    MUST(esp_call(handle("cut_sum"), arguments, 3, NULL, NULL));
    HOLDS(sum == expected);
    n = N - 2;
    HOLDS(esp_call(handle("cut_sum"), arguments, 3, NULL, NULL) == ESP_INVALID);
    HOLDS(strstr(esp_last_error()->text, "double[10], the datum is double[12]"));
    snprintf(section, sizeof section, "%s[1:10]", id);
    arguments[1].datum = section;
    HOLDS(esp_call(handle("cut_sum"), arguments, 3, NULL, NULL) == ESP_INVALID);
    HOLDS(strstr(esp_last_error()->text, "expected a whole datum"));
    free(id);
    MUST(grpc_data_free(&dx, NULL));
    MUST(grpc_data_free(&da, NULL));
    return 0;
}

static int sections_out(void)
{
    grpc_data_t dx, dy, dz;
    MUST(grpc_data_memory_mapping_set("z", z));
    if (on_server(&dx, x, GRPC_DOUBLE, vector))
        return 1;
    /* A value that does not travel stays as it was: a result in its memory, and a value that is
     * overwritten. */
    memset(z, 0, sizeof z);
    MUST(describe(&dz, NULL, "memory:z", GRPC_DOUBLE, vector, GRPC_VOLATILE));
    MUST(grpc_call(handle("cut_fill"), N, x, &dz));
    for (int i = 0; i < N; i++)
        HOLDS(z[i] == (i % 2 ? 0 : x[i]));
    memset(z, 0, sizeof z);
    MUST(grpc_data_memory_mapping_set("y", y));
    memcpy(y, x, sizeof y);
    MUST(describe(&dy, "memory:y", "memory:z", GRPC_DOUBLE, vector, GRPC_VOLATILE));
    MUST(grpc_call(handle("cut_scale"), N, 3.0, &dy));
    for (int i = 0; i < N; i++)
        HOLDS(z[i] == (i % 2 ? x[i] : 3 * x[i]) && y[i] == x[i]);
    MUST(describe(&dy, NULL, NULL, GRPC_DOUBLE, vector, GRPC_VOLATILE));
    HOLDS(grpc_call(handle("cut_fill"), N, x, &dy) != GRPC_NO_ERROR);
    HOLDS(strstr(esp_last_error()->text, "memory:KEY"));
    MUST(grpc_data_free(&dx, NULL));
    return 0;
}

/* ---- every type ---- */

static int types(void)
{
    static const char *const names[] = {"copy_char",   "copy_short",   "copy_int",
                                        "copy_long",   "copy_int64",   "copy_float",
                                        "copy_double", "copy_complex", "copy_double_complex"};
    static const size_t sizes[] = {1, 2, 4, 8, 8, 4, 8, 8, 16};
    char in[16 * N], out[16 * N];
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (char)(i % 60 + 1);
    MUST(grpc_data_memory_mapping_set("out", out));
    for (int t = 0; t < 9; t++) {
        grpc_data_t given, left, back;
        const grpc_data_type_t type = (grpc_data_type_t)(GRPC_CHAR + t);
        if (on_server(&given, in, type, vector))
            return 1;
        memset(out, 0, sizeof out);
        MUST(describe(&left, NULL, NULL, type, vector, GRPC_PERSISTENT));
        MUST(grpc_call(handle(names[t]), N, &given, &left)); /* stays, */
        MUST(describe(&back, NULL, "memory:out", type, vector, GRPC_VOLATILE));
        MUST(grpc_call(handle(names[t]), N, &left, &back)); /* and is used there */
        HOLDS(memcmp(in, out, sizes[t] * N) == 0 && (t == 8 || out[sizes[t] * N] == 0));
        grpc_data_t wrong;
        MUST(describe(&wrong, "memory:out", NULL, (grpc_data_type_t)(GRPC_CHAR + (t + 1) % 9), vector,
                      GRPC_VOLATILE));
        /* int64 and long are one type */
        HOLDS((grpc_call(handle(names[t]), N, &wrong, out) == GRPC_NO_ERROR) == (t == 3));
        MUST(grpc_data_free(&given, NULL));
        MUST(grpc_data_free(&left, NULL));
    }
    return 0;
}

/* ---- matrices that are not stored in full ---- */

/* y := A x, the matrix from memory, then as a datum that was put as an array. */
static int stored(const size_t *dims, int with_uplo, const char *problem)
{
    grpc_data_t da;
    double expected[N] = {0}, found[N] = {0};
    if (on_server(&da, a, GRPC_DOUBLE, dims))
        return 1;
    if (with_uplo) {
        MUST(grpc_call(handle(problem), N, 'U', a, x, expected));
        MUST(grpc_call(handle(problem), N, 'U', &da, x, found));
    } else {
        MUST(grpc_call(handle(problem), N, a, x, expected));
        MUST(grpc_call(handle(problem), N, &da, x, found));
    }
    HOLDS(memcmp(expected, found, sizeof found) == 0 && found[0] != 0);
    MUST(grpc_data_free(&da, NULL));
    return 0;
}

static int matrices(void)
{
    static const size_t packed[] = {N * (N + 1) / 2, 0}, band[] = {3, N, 0}, in_a_row[] = {3 * N, 0};
    return stored(packed, 1, "packed_times") || stored(band, 0, "banded_times") ||
           stored(in_a_row, 0, "banded_times");
}

int main(int argc, char **argv)
{
    if (argc < 2 || grpc_initialize(NULL) != GRPC_NO_ERROR)
        return told("grpc_initialize");
    server = argv[1];
    for (int i = 0; i < N; i++)
        x[i] = i + 1;
    for (int i = 0; i < N * N; i++)
        a[i] = i + 1;
    int failed = sections_in() || sections_out() || types() || matrices();
    grpc_finalize();
    return failed;
}
