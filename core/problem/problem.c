/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/problem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} types[] = {
    [TYPE_CHAR] = {"char", 1},         [TYPE_SHORT] = {"short", 2},
    [TYPE_INT] = {"int", 4},           [TYPE_LONG] = {"long", 8},
    [TYPE_INT64] = {"int64", 8},       [TYPE_FLOAT] = {"float", 4},
    [TYPE_DOUBLE] = {"double", 8},     [TYPE_COMPLEX] = {"complex", 8},
    [TYPE_STRING] = {"string", 1},     [TYPE_DOUBLE_COMPLEX] = {"double complex", 16},
    [TYPE_FILE] = {"file", 1},         [TYPE_STATE] = {"state", 1},
    [TYPE_CALLBACK] = {"callback", 1},
};

size_t base_type_size(enum base_type type)
{
    return types[type].size;
}

const char *base_type_name(enum base_type type)
{
    return types[type].name;
}

const char *argument_mode_name(enum argument_mode mode)
{
    static const char *const names[] = {"in", "out", "inout", "work"};
    return names[mode];
}

struct number number_load(enum base_type type, const void *raw)
{
    struct number number = {.kind = NUMBER_INTEGER};
    union {
        unsigned char c;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        float f;
        double d;
    } value;
    if (type > TYPE_DOUBLE)
        return (struct number){.kind = NUMBER_UNKNOWN};
    memcpy(&value, raw, base_type_size(type));
    switch (type) {
    case TYPE_CHAR:
        number.integer = value.c;
        break;
    case TYPE_SHORT:
        number.integer = value.i16;
        break;
    case TYPE_INT:
        number.integer = value.i32;
        break;
    case TYPE_FLOAT:
        return (struct number){.kind = NUMBER_REAL, .real = (double)value.f};
    case TYPE_DOUBLE:
        return (struct number){.kind = NUMBER_REAL, .real = value.d};
    default:
        number.integer = value.i64;
    }
    return number;
}

static void store_reals(double value, enum base_type type, void *raw)
{
    float narrow[2] = {(float)value, 0};
    double wide[2] = {value, 0};
    bool is_narrow = type == TYPE_FLOAT || type == TYPE_COMPLEX;
    memcpy(raw, is_narrow ? (void *)narrow : (void *)wide, base_type_size(type));
}

static enum esp_status store_integer(int64_t value, enum base_type type, void *raw, struct esp_error *error)
{
    size_t size = base_type_size(type);
    int64_t least = type == TYPE_CHAR ? 0 : size == 8 ? INT64_MIN : -(INT64_C(1) << (8 * size - 1));
    int64_t most = type == TYPE_CHAR ? 255 : size == 8 ? INT64_MAX : (INT64_C(1) << (8 * size - 1)) - 1;
    if (value < least || value > most)
        return error_set(error, ESP_INVALID, "%" PRId64 " does not fit %s (%zu bits)", value,
                         base_type_name(type), 8 * size);
    unsigned char byte = (unsigned char)value;
    int16_t i16 = (int16_t)value;
    int32_t i32 = (int32_t)value;
    const void *from = size == 1   ? (void *)&byte
                       : size == 2 ? (void *)&i16
                       : size == 4 ? (void *)&i32
                                   : (void *)&value;
    memcpy(raw, from, size);
    return ESP_OK;
}

enum esp_status number_store(const struct number *number, enum base_type type, void *raw,
                             struct esp_error *error)
{
    if (base_type_is_variable(type))
        return error_set(error, ESP_INVALID, "a number cannot be stored as a %s", base_type_name(type));
    if (number->kind == NUMBER_UNKNOWN)
        return error_set(error, ESP_INVALID, "expected a number, found an unknown value");
    if (type >= TYPE_FLOAT) {
        double value = number->kind == NUMBER_INTEGER ? (double)number->integer : number->real;
        bool narrow = type == TYPE_FLOAT || type == TYPE_COMPLEX;
        if (narrow && isfinite(value) && fabs(value) > 3.4028235677973366e38)
            return error_set(error, ESP_INVALID, "%g does not fit %s", value, base_type_name(type));
        store_reals(value, type, raw);
        return ESP_OK;
    }
    if (number->kind == NUMBER_REAL && !(fabs(number->real) <= 0x1p53 && trunc(number->real) == number->real))
        return error_set(error, ESP_INVALID, "expected an integer for %s, found %.15g", base_type_name(type),
                         number->real);
    if (number->kind == NUMBER_REAL)
        return store_integer((int64_t)number->real, type, raw, error);
    return store_integer(number->integer, type, raw, error);
}

bool implementation_leads(const struct implementation *implementation, uint32_t argument)
{
    for (uint32_t i = 0; i < implementation->n_parameters; i++)
        if (implementation->parameters[i].kind == PARAMETER_LEADING &&
            implementation->parameters[i].argument == argument)
            return true;
    return false;
}

int problem_argument_index(const struct problem *problem, const char *name)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (strcmp(problem->arguments[i].name, name) == 0)
            return (int)i;
    return -1;
}

const struct problem *problem_find(const struct problem_set *problem_set, const char *name)
{
    size_t low = 0, high = problem_set->n_problems;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, problem_set->problems[middle]->name);
        if (order == 0)
            return problem_set->problems[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

uint64_t digest_text(const char *text, size_t length)
{
    uint64_t digest = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < length; i++)
        digest = (digest ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return digest;
}

int problem_state_index(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (problem->arguments[i].type == TYPE_STATE)
            return (int)i;
    return -1;
}
