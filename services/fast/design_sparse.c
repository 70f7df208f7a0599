/* SPDX-License-Identifier: Apache-2.0 */
#include "services/fast/design_sparse.h"
#include "core/problem/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Beyond what its row has elsewhere: iterations converge as they do for equations with a little damping. */
#define DOMINANCE 1.001

static bool is_compressed(const struct argument *argument)
{
    return argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR;
}

/* The dimension that the pointers go along. */
static unsigned major_of(const struct argument *argument)
{
    return argument->storage == STORAGE_CSC ? 1 : 0;
}

/* ---- sizes ---- */

/* The size that an extent is; -1: it is none. */
static int size_of(const struct design *design, const struct expr *extent)
{
    int found = -1;
    for (uint32_t i = 0; i < design->n_sizes; i++) {
        struct number scope[PROBLEM_MAX_ARGUMENTS] = {{0}};
        const struct scope names = {scope, design->problem->n_arguments};
        int64_t value;
        scope[design->sizes[i]] = (struct number){.kind = NUMBER_INTEGER, .integer = 12345};
        if (expr_uses(extent, design->sizes[i]) && expr_eval_size(extent, &names, &value, NULL) == ESP_OK &&
            value == 12345)
            found = (int)i;
    }
    return found;
}

enum esp_status design_sparse_begin(struct design *design, struct esp_error *error)
{
    const struct problem *problem = design->problem;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!is_compressed(argument) || !argument_is_input(argument))
            continue;
        const int count = size_of(design, problem->arguments[argument->indices].dims[0]);
        const int major = size_of(design, argument->dims[major_of(argument)]);
        const int minor = size_of(design, argument->dims[1 - major_of(argument)]);
        if (count < 0 || major < 0 || minor < 0)
            return error_set(error, ESP_INVALID,
                             "%s is not measured: the extents and the elements of %s are no sizes of its own",
                             problem->name, argument->name);
        design->is_sparse = true;
        design->counts[count] = (uint8_t)(major + 1);
        design->is_extent[major] = design->is_extent[minor] = true;
    }
    return ESP_OK;
}

bool design_sparse_fits(const struct problem *problem, const struct shape *shapes)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!is_compressed(argument) || !argument_is_input(argument))
            continue;
        const double rows = (double)shapes[i].dims[0], cols = (double)shapes[i].dims[1];
        const double elements = (double)shapes[argument->indices].count;
        if (elements > rows * cols || (rows == cols && elements < rows))
            return false;
    }
    return true;
}

/* ---- patterns ---- */

/* One compressed matrix as it goes in: what is NULL is not wanted. */
struct target {
    const struct argument *values, *pointers, *indices;
    unsigned char *value_data, *pointer_data, *index_data;
    int64_t major, minor, elements, at; /* at: elements that are there */
    uint32_t base;
};

static void put_integer(const struct argument *argument, unsigned char *data, int64_t place, int64_t integer)
{
    unsigned char raw[16];
    const size_t size = base_type_size(argument->type);
    const struct number number = {.kind = NUMBER_INTEGER, .integer = integer};
    if (data && number_store(&number, argument->type, raw, NULL) == ESP_OK)
        memcpy(data + (size_t)place * size, raw, size);
}

static void put_real(const struct argument *argument, unsigned char *data, int64_t place, double real)
{
    const size_t size = base_type_size(argument->type);
    const bool is_single = argument->type == TYPE_FLOAT || argument->type == TYPE_COMPLEX;
    const float single = (float)real;
    if (!data)
        return;
    memset(data + (size_t)place * size, 0, size); /* imaginary parts too */
    memcpy(data + (size_t)place * size, is_single ? (const void *)&single : (const void *)&real,
           is_single ? sizeof single : sizeof real);
}

static void put(struct target *target, int64_t minor, double value)
{
    put_integer(target->indices, target->index_data, target->at, minor + target->base);
    put_real(target->values, target->value_data, target->at, value);
    target->at++;
}

static void begin_column(struct target *target, int64_t column)
{
    put_integer(target->pointers, target->pointer_data, column, target->at + target->base);
}

/* A diagonal below the main one and its mirror image: the first `pairs` columns have them; the one behind
 * them its lower element only, which is 0, if the number of elements asks for it. */
struct diagonal {
    int64_t offset, pairs;
    bool odd;
};

static int by_offset(const void *a, const void *b)
{
    const struct diagonal *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Diagonals of neighbours in a grid, the nearest first, until they have all elements. Returns how many. */
static size_t choose_diagonals(int64_t n, int64_t elements, struct diagonal *diagonals, bool *used)
{
    const int64_t side = (int64_t)fmax(ceil(sqrt((double)n)), 1);
    int64_t left = elements - n;
    size_t count = 0;
    for (int64_t ring = 1; ring <= n && left > 0; ring++)
        for (int64_t down = 0; down <= ring && left > 0; down++)
            for (int64_t across = -ring; across <= ring && left > 0; across++) {
                const int64_t offset = down * side + across;
                const bool on_ring = down == ring || across == ring || across == -ring;
                if (!on_ring || offset <= 0 || offset >= n || used[offset])
                    continue;
                used[offset] = true;
                const int64_t most = n - offset, pairs = left / 2 < most ? left / 2 : most;
                left -= 2 * pairs;
                const bool odd = left == 1 && pairs < most;
                left -= odd;
                diagonals[count++] = (struct diagonal){offset, pairs, odd};
            }
    qsort(diagonals, count, sizeof *diagonals, by_offset);
    return count;
}

static void fill_square(struct target *target, const struct diagonal *diagonals, size_t count)
{
    const double centre = DOMINANCE * 2 * (double)(count ? count : 1);
    for (int64_t j = 0; j < target->major; j++) {
        begin_column(target, j);
        for (size_t k = count; k-- > 0;)
            if (j >= diagonals[k].offset && j - diagonals[k].offset < diagonals[k].pairs)
                put(target, j - diagonals[k].offset, -1);
        put(target, j, centre);
        for (size_t k = 0; k < count; k++)
            if (j < diagonals[k].pairs)
                put(target, j + diagonals[k].offset, -1);
            else if (j == diagonals[k].pairs && diagonals[k].odd)
                put(target, j + diagonals[k].offset, 0);
    }
    begin_column(target, target->major);
}

static bool make_square(struct target *target)
{
    const int64_t n = target->major;
    struct diagonal *diagonals = malloc((size_t)n * sizeof *diagonals);
    bool *used = calloc((size_t)n + 1, sizeof *used);
    if (diagonals && used)
        fill_square(target, diagonals, choose_diagonals(n, target->elements, diagonals, used));
    const bool made = diagonals && used;
    free(diagonals);
    free(used);
    return made;
}

/* As many elements in each column, spread over the rows. */
static void make_rectangular(struct target *target)
{
    for (int64_t j = 0; j < target->major; j++) {
        const int64_t from = (int64_t)((__int128)target->elements * j / target->major);
        const int64_t n = (int64_t)((__int128)target->elements * (j + 1) / target->major) - from;
        const int64_t stride = n ? target->minor / n : 1;
        begin_column(target, j);
        for (int64_t k = 0; k < n; k++)
            put(target, k * stride + (stride > 1 ? j % stride : 0), 1 + (double)((j + k) % 7));
    }
    begin_column(target, target->major);
}

static bool make(const struct design_point *point, const struct problem *problem, uint32_t matrix,
                 uint32_t index, void *data)
{
    const struct argument *argument = &problem->arguments[matrix];
    const struct shape *shape = &point->shapes[matrix];
    struct target target = {
        .values = argument,
        .pointers = &problem->arguments[argument->pointers],
        .indices = &problem->arguments[argument->indices],
        .value_data = index == matrix ? data : NULL,
        .pointer_data = index == argument->pointers ? data : NULL,
        .index_data = index == argument->indices ? data : NULL,
        .major = shape->dims[major_of(argument)],
        .minor = shape->dims[1 - major_of(argument)],
        .elements = (int64_t)point->shapes[argument->indices].count,
        .base = argument->base,
    };
    if (target.major == target.minor)
        return make_square(&target);
    make_rectangular(&target);
    return true;
}

bool design_sparse_fill(const struct design_point *point, const struct problem *problem, uint32_t index,
                        void *data)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (is_compressed(argument) && argument_is_input(argument) &&
            (index == i || index == argument->pointers || index == argument->indices))
            return make(point, problem, i, index, data);
    }
    return false;
}

static void analyse(const struct design_point *point, const struct problem *problem, uint32_t matrix,
                    struct number *scope)
{
    const struct argument *argument = &problem->arguments[matrix];
    const struct argument *pointers = &problem->arguments[argument->pointers],
                          *indices = &problem->arguments[argument->indices];
    void *pointer_data = malloc(point->shapes[argument->pointers].bytes + 1),
         *index_data = malloc(point->shapes[argument->indices].bytes + 1);
    struct fill fill;
    if (pointer_data && index_data && pointers->type == indices->type &&
        make(point, problem, matrix, argument->pointers, pointer_data) &&
        make(point, problem, matrix, argument->indices, index_data) &&
        fill_by_pattern(point->shapes[matrix].dims[0], pointer_data, index_data, pointers->type != TYPE_INT,
                        (int)argument->base, &fill))
        scope[matrix] = fill_number(&fill);
    free(pointer_data);
    free(index_data);
}

void design_sparse_analyse(const struct design_point *point, const struct problem *problem,
                           struct number *scope)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (is_compressed(argument) && argument_is_input(argument) &&
            point->shapes[i].dims[0] == point->shapes[i].dims[1] &&
            ((problem->work && expr_uses(problem->work, i)) ||
             (problem->memory && expr_uses(problem->memory, i))))
            analyse(point, problem, i, scope);
    }
}
