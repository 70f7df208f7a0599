/* SPDX-License-Identifier: Apache-2.0
 *
 * Values that make valid inputs: routines are to succeed, and to work as hard as on real data.
 */
#include "services/fast/design_sparse.h"

#include <string.h>

/* On a diagonal, beside two elements of absolute values below the root of 2 each. */
#define DOMINANT 4

static void store(const struct argument *argument, double value, void *data, uint64_t at)
{
    size_t size = base_type_size(argument->type);
    unsigned char *to = (unsigned char *)data + at * size;
    float single = (float)value;
    switch (argument->type) {
    case TYPE_COMPLEX:
        memcpy(to + sizeof single, &single, sizeof single);
        memcpy(to, &single, sizeof single);
        break;
    case TYPE_FLOAT:
        memcpy(to, &single, sizeof single);
        break;
    case TYPE_DOUBLE_COMPLEX:
        memcpy(to + sizeof value, &value, sizeof value);
        memcpy(to, &value, sizeof value);
        break;
    default:
        memcpy(to, &value, sizeof value);
    }
}

static void fill_random(const struct argument *argument, uint64_t count, struct random *random, void *data)
{
    /* Between -1 and 1, without a call for each bit: matrices are large. */
    uint64_t bits = random_next(random);
    for (uint64_t i = 0; i < count; i++) {
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        store(argument, (double)(int64_t)bits / 9.3e18, data, i);
    }
}

/* By its description, not by chance. */
static bool is_square(const struct argument *argument)
{
    return argument->n_dims == 2 && argument->dims[0] && argument->dims[1] &&
           strcmp(expr_text(argument->dims[0]), expr_text(argument->dims[1])) == 0;
}

/* Square matrices are positive definite where they are symmetric, and never singular. Others stay random,
 * also where they have as many rows as columns: singular values of a dominant one take 1.4 times as long.
 * Real diagonals serve Hermitian ones too. */
static void fill_diagonal(const struct design_point *point, const struct problem *problem, uint32_t index,
                          void *data)
{
    const struct argument *argument = &problem->arguments[index];
    const struct shape *shape = &point->shapes[index];
    struct layout layout;
    if (!is_square(argument) || shape->dims[0] != shape->dims[1] ||
        problem_layout(problem, index, point->scope, shape->dims, &layout, NULL) != ESP_OK)
        return;
    size_t size = base_type_size(argument->type);
    for (int64_t i = 0; i < shape->dims[0]; i++) {
        int64_t at = layout_index(&layout, i, i);
        if (at < 0 || (uint64_t)at >= shape->count)
            continue;
        memset((unsigned char *)data + (uint64_t)at * size, 0, size);
        double value = (double)shape->dims[0];
        float single = (float)value;
        bool is_single = argument->type == TYPE_FLOAT || argument->type == TYPE_COMPLEX;
        memcpy((unsigned char *)data + (uint64_t)at * size, is_single ? (void *)&single : (void *)&value,
               is_single ? sizeof single : sizeof value);
    }
}

/* A vector with one element more than another one is the diagonal of a tridiagonal matrix: it dominates the
 * others, so that the matrix is positive definite where it is symmetric. Its eigenvalues are as far apart as
 * before. */
static void fill_tridiagonal(const struct design_point *point, const struct problem *problem, uint32_t index,
                             void *data)
{
    const struct argument *argument = &problem->arguments[index];
    const struct shape *shape = &point->shapes[index];
    const size_t size = base_type_size(argument->type);
    bool is_diagonal = false;
    for (uint32_t i = 0; i < problem->n_arguments && shape->n_dims == 1; i++) {
        const struct shape *other = &point->shapes[i];
        is_diagonal |= i != index && argument_is_input(&problem->arguments[i]) && other->n_dims == 1 &&
                       problem->arguments[i].type >= TYPE_FLOAT && other->dims[0] + 1 == shape->dims[0];
    }
    for (uint64_t i = 0; is_diagonal && i < shape->count; i++) {
        float single;
        double value;
        if (argument->type == TYPE_FLOAT || argument->type == TYPE_COMPLEX) {
            memcpy(&single, (unsigned char *)data + i * size, sizeof single);
            value = single;
        } else {
            memcpy(&value, (unsigned char *)data + i * size, sizeof value);
        }
        store(argument, DOMINANT + value, data, i);
    }
}

void design_fill(const struct design_point *point, const struct problem *problem, uint32_t index,
                 struct random *random, void *data)
{
    const struct argument *argument = &problem->arguments[index];
    const struct shape *shape = &point->shapes[index];
    size_t size = base_type_size(argument->type);
    const struct scope scope = {point->scope, problem->n_arguments};
    unsigned char raw[16];
    struct number number = {.kind = NUMBER_UNKNOWN};
    if (design_sparse_fill(point, problem, index, data))
        return;
    if (argument->n_dims == 0)
        number = point->scope[index];
    else if (argument->initial)
        expr_eval(argument->initial, &scope, &number, NULL);
    if (number.kind != NUMBER_UNKNOWN && number_store(&number, argument->type, raw, NULL) == ESP_OK) {
        for (uint64_t i = 0; i < shape->count; i++)
            memcpy((unsigned char *)data + i * size, raw, size);
        return;
    }
    if (argument->type >= TYPE_FLOAT && argument->type <= TYPE_DOUBLE_COMPLEX) {
        fill_random(argument, shape->count, random, data);
        fill_diagonal(point, problem, index, data);
        fill_tridiagonal(point, problem, index, data);
        return;
    }
    for (uint64_t i = 0; i < shape->count; i++) {
        number = (struct number){.kind = NUMBER_INTEGER,
                                 .integer = argument->type == TYPE_CHAR ? 'N' : (int64_t)(i % 30000) + 1};
        if (argument->type != TYPE_CHAR && argument->type != TYPE_SHORT)
            number.integer = (int64_t)i + 1;
        if (number_store(&number, argument->type, raw, NULL) == ESP_OK)
            memcpy((unsigned char *)data + i * size, raw, size);
    }
}
