/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that solves a system by any problem whose description says what solves what:
 *
 *     solution_steps PROBLEM MATRIX RHS SOLUTION ROWS B
 *
 * MATRIX, RHS and SOLUTION are names of arguments; ROWS and B are files with the matrix (a row a line) and
 * the right-hand side. The solution goes into x.csv. Exit code 1, with a line that says why: there is none.
 */
#include "tests/e2e/steps.h"

#include <math.h>
#include <string.h>

enum { MOST = 100, ROOM = 4 * MOST * MOST };

static double a[MOST][MOST], b[MOST];
static int n;

static int read_system(const char *rows, const char *rhs)
{
    FILE *file = fopen(rows, "r"), *second = fopen(rhs, "r");
    EXPECT(file && second);
    while (n < MOST && fscanf(second, "%lf", &b[n]) == 1)
        n++;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            EXPECT(fscanf(file, "%lf", &a[i][j]) == 1);
    fclose(file);
    fclose(second);
    return 0;
}

/* ---- what the matrix is ---- */

static int below, above; /* its diagonals */

static int is_symmetric(void)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (a[i][j] != a[j][i])
                return 0;
    return 1;
}

static void find_band(void)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (a[i][j] != 0 && i - j > below)
                below = i - j;
            if (a[i][j] != 0 && j - i > above)
                above = j - i;
        }
}

/* ---- the arguments ---- */

static const struct esp_problem *problem;
static struct esp_argument arguments[64];
static char uplo = 'U';
static int mirrored;

static int find(const char *name)
{
    for (size_t i = 0; i < problem->n_arguments; i++)
        if (strcmp(problem->arguments[i].name, name) == 0)
            return (int)i;
    return -1;
}

static void put(enum esp_type type, void *memory, int at, double value)
{
    if (type == ESP_TYPE_FLOAT)
        ((float *)memory)[at] = (float)value;
    else if (type == ESP_TYPE_DOUBLE)
        ((double *)memory)[at] = value;
    else if (type == ESP_TYPE_INT)
        ((int *)memory)[at] = (int)value;
    else
        ((int64_t *)memory)[at] = (int64_t)value;
}

static double get(enum esp_type type, const void *memory, int at)
{
    return type == ESP_TYPE_FLOAT ? (double)((const float *)memory)[at] : ((const double *)memory)[at];
}

static void give_scalar(const char *name, double value)
{
    static char memory[16][16];
    static int used;
    const int at = find(name);
    if (at < 0 || used == 16)
        return;
    if (problem->arguments[at].type == ESP_TYPE_CHAR)
        memory[used][0] = (char)value;
    else
        put(problem->arguments[at].type, memory[used], 0, value);
    arguments[at].data = memory[used++];
}

static double *give_array(int at, int64_t rows, int64_t cols)
{
    const struct esp_problem_argument *formal = &problem->arguments[at];
    arguments[at].data = calloc(ROOM, 16);
    arguments[at].n_dims = formal->n_dims;
    arguments[at].dims[0] = rows;
    arguments[at].dims[1] = cols;
    return arguments[at].data;
}

/* Whether the description says that a call reads one triangle of the matrix. */
static int reads_triangle(const char *matrix)
{
    char start[80];
    snprintf(start, sizeof start, " %s[", matrix);
    const char *line = strstr(problem->source, start);
    const char *words = line ? strstr(line, "triangle(") : NULL;
    return words && words < line + strcspn(line, "\n");
}

/* The two arrays beside a compressed matrix, whose names its storage has in parentheses. */
static void give_places(const char *storage, enum esp_type type, void *values)
{
    char pointers[64], indices[64];
    if (sscanf(storage, "%*[^(](%63[^,], %63[^,)]", pointers, indices) != 2)
        return;
    const int p = find(pointers), k = find(indices);
    const int base = strstr(storage, ", 1)") != NULL;
    void *starts = give_array(p, n + 1, 1), *numbers = give_array(k, 0, 1);
    int nz = 0;
    for (int j = 0; j < n; j++) {
        put(problem->arguments[p].type, starts, j, nz + base);
        for (int i = 0; i < n; i++)
            if (a[i][j] != 0) {
                put(type, values, nz, a[i][j]);
                put(problem->arguments[k].type, numbers, nz++, i + base);
            }
    }
    put(problem->arguments[p].type, starts, n, nz + base);
    arguments[k].dims[0] = nz;
}

static void give_band(const char *storage, enum esp_type type, void *values)
{
    const int one = strstr(storage, "is(uplo") != NULL, upper = uplo == 'U';
    const int width = one ? (upper ? above : below) : below; /* also rows in front of dgbsv's */
    const int rows_above = one ? (upper ? width : 0) : above, rows_below = one ? (upper ? 0 : width) : below;
    const int front = one ? 0 : strstr(storage, "kl, ku, kl") ? below : 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if (i - j <= rows_below && j - i <= rows_above)
                put(type, values, front + rows_above + i - j + j * (front + rows_above + rows_below + 1),
                    a[i][j]);
    give_scalar("k", width);
    give_scalar("kd", width);
    give_scalar("kl", below);
    give_scalar("ku", above);
}

static int give_matrix(const char *name)
{
    const int at = find(name);
    EXPECT(at >= 0);
    const struct esp_problem_argument *formal = &problem->arguments[at];
    void *values = give_array(at, n, n);
    int used = 0;
    mirrored = (formal->properties &
                (ESP_PROPERTY_SYMMETRIC | ESP_PROPERTY_HERMITIAN | ESP_PROPERTY_POSITIVE_DEFINITE)) != 0;
    if (above == 0 && !mirrored)
        uplo = 'L';
    if (mirrored && !is_symmetric()) {
        puts("the matrix is not symmetric");
        return 1;
    }
    if (!mirrored && (reads_triangle(name) || strncmp(formal->storage, "packed", 6) == 0) &&
        (uplo == 'U' ? below : above) > 0) {
        puts("the matrix is not triangular");
        return 1;
    }
    if (strncmp(formal->storage, "csc", 3) == 0)
        give_places(formal->storage, formal->type, values);
    else if (strncmp(formal->storage, "banded", 6) == 0)
        give_band(formal->storage, formal->type, values);
    else
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                if (*formal->storage == 0 || (uplo == 'U' ? i <= j : i >= j))
                    put(formal->type, values, used++, a[i][j]);
    give_scalar("uplo", uplo);
    return 0;
}

/* Outputs of the call, and inputs without a default. */
static int give_rest(void)
{
    EXPECT(esp_arguments_complete(problem, arguments, problem->n_arguments) == ESP_OK);
    for (size_t i = 0; i < problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &problem->arguments[i];
        const int needs = formal->mode == ESP_MODE_OUT || (formal->n_dims > 0 && !formal->initial);
        if (!arguments[i].data && needs) {
            int64_t count = 1;
            for (unsigned d = 0; d < arguments[i].n_dims; d++)
                count *= arguments[i].dims[d];
            arguments[i].data = calloc((size_t)count + ROOM, 16);
        }
    }
    return 0;
}

static int write_solution(int at)
{
    FILE *file = fopen("x.csv", "w");
    EXPECT(file);
    for (int i = 0; i < n; i++)
        fprintf(file, "%.17g\n", get(problem->arguments[at].type, arguments[at].data, i));
    EXPECT(fclose(file) == 0);
    return 0;
}

int main(int argc, char **argv)
{
    struct esp_problem *described;
    if (argc != 7 || read_system(argv[5], argv[6]) != 0)
        return 1;
    find_band();
    EXPECT(grpc_initialize(NULL) == GRPC_NO_ERROR);
    EXPECT(esp_problem_describe(argv[1], &described) == ESP_OK);
    problem = described;
    EXPECT(problem->n_arguments <= sizeof arguments / sizeof *arguments);
    if (give_matrix(argv[2]) != 0)
        return 1;
    const int rhs = find(argv[3]), solution = find(argv[4]);
    EXPECT(rhs >= 0 && solution >= 0);
    void *given = give_array(rhs, n, 1);
    for (int i = 0; i < n; i++)
        put(problem->arguments[rhs].type, given, i, b[i]);
    if (give_rest() != 0)
        return 1;
    grpc_function_handle_t made = handle(argv[1]);
    EXPECT(esp_call(&made, arguments, problem->n_arguments, NULL, NULL) == ESP_OK);
    if (write_solution(solution) != 0)
        return 1;
    return grpc_finalize() != GRPC_NO_ERROR;
}
