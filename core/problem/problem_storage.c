/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the clauses after the dimensions of an array: how its elements are stored, how many come back,
 * when none travel to the server, and the range of indices. */
#include "core/problem/expr.h"
#include "core/problem/problem.h"
#include "core/problem/problem_parser.h"
#include "core/problem/section.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const parser_storage_words[N_STORAGE_WORDS] = {
    "packed", "banded", "csc", "csr", "index", "signed-index", "count", "unread", "triangle"};
enum { WORD_INDEX = 4, WORD_SIGNED_INDEX, WORD_COUNT, WORD_UNREAD, WORD_TRIANGLE };

const char *storage_name(enum storage storage)
{
    if (storage == STORAGE_PIECES)
        return "block-cyclic";
    return storage == STORAGE_FULL ? "" : parser_storage_words[storage - STORAGE_PACKED];
}

/* Reads (expression, expression ...): between `least` and `most` expressions. */
static bool read_layout(struct parser *parser, struct argument *argument, unsigned least, unsigned most,
                        const char *what)
{
    struct lexer *lexer = &parser->lexer;
    unsigned n = 0;
    if (!lexer_at_symbol(lexer, '('))
        return lexer_expected(lexer, what, NULL);
    do {
        if (n == most)
            return lexer_expected(lexer, "')'", NULL);
        if (!lexer_advance(lexer) || !parser_expression(parser, USAGE_DIMENSION, &argument->layout[n++]))
            return false;
    } while (lexer_at_symbol(lexer, ','));
    if (n < least)
        return lexer_expected(lexer, "an operator or ','", NULL);
    return lexer_take_symbol(lexer, ')', "an operator, ',' or ')'");
}

static bool read_array_name(struct parser *parser, const char *what, const char **name)
{
    return lexer_advance(&parser->lexer) && parser_name(parser, what, name);
}

/* Reads (pointers, indices [, base]). */
static bool read_sparse(struct parser *parser, struct argument *argument)
{
    struct lexer *lexer = &parser->lexer;
    uint32_t index = parser->problem->n_arguments;
    parser->sparse[index].offset = lexer->token.offset;
    if (!lexer_at_symbol(lexer, '('))
        return lexer_expected(lexer, "'(' and the arrays of pointers and of numbers", NULL);
    if (!read_array_name(parser, "the name of the array of pointers", &parser->sparse[index].pointers))
        return false;
    if (!lexer_at_symbol(lexer, ','))
        return lexer_expected(lexer, "',' and the array of numbers", NULL);
    if (!read_array_name(parser, "the name of the array of numbers", &parser->sparse[index].indices))
        return false;
    if (lexer_at_symbol(lexer, ',')) {
        if (!lexer_advance(lexer))
            return false;
        if (lexer->token.kind != TOKEN_INTEGER || lexer->token.integer > 1)
            return lexer_expected(lexer, "0 or 1, the number of the first row", NULL);
        argument->base = (uint32_t)lexer->token.integer;
        if (!lexer_advance(lexer))
            return false;
    }
    return lexer_take_symbol(lexer, ')', "',' or ')'");
}

static bool read_count(struct parser *parser, struct argument *argument, uint32_t offset)
{
    struct lexer *lexer = &parser->lexer;
    if (argument->n_dims == 0 || (argument->mode != MODE_OUT && argument->mode != MODE_INOUT))
        return lexer_fail(lexer, offset, "only an array that comes back can have a count");
    if (argument->count)
        return lexer_fail(lexer, offset, "a count was given already");
    if (base_type_is_variable(argument->type))
        return lexer_fail(lexer, offset, "an array of %ss has no count", base_type_name(argument->type));
    if (argument->is_section)
        return lexer_fail(lexer, offset, "an array has a section or a count, not both");
    if (argument->storage != STORAGE_FULL || (argument->properties & PROPERTY_ROW_MAJOR))
        return lexer_fail(lexer, offset, "only an array that is stored in full by columns can have a count");
    return lexer_take_symbol(lexer, '(', "'(' and how many of the last dimension come back") &&
           parser_expression(parser, USAGE_COUNT, &argument->count) &&
           lexer_take_symbol(lexer, ')', "an operator or ')'");
}

static bool read_index(struct parser *parser, struct argument *argument, bool is_signed, uint32_t offset)
{
    struct lexer *lexer = &parser->lexer;
    if (argument->n_dims == 0 || !argument_is_input(argument) || argument->type < TYPE_INT ||
        argument->type > TYPE_INT64)
        return lexer_fail(lexer, offset, "only an input array of int, long or int64 can hold indices");
    if (argument->index_of)
        return lexer_fail(lexer, offset, "what it is an index of was said already");
    argument->index_signed = is_signed;
    return lexer_take_symbol(lexer, '(', "'(' and the largest index") &&
           parser_expression(parser, USAGE_REQUIRE, &argument->index_of) &&
           lexer_take_symbol(lexer, ')', "an operator or ')'");
}

static bool read_unread(struct parser *parser, struct argument *argument, uint32_t offset)
{
    struct lexer *lexer = &parser->lexer;
    if (argument->n_dims == 0 || argument->mode != MODE_INOUT)
        return lexer_fail(lexer, offset,
                          "only an inout array can be unread: what is never read is declared 'out'");
    if (argument->unread)
        return lexer_fail(lexer, offset, "when it is unread was said already");
    if (base_type_is_variable(argument->type))
        return lexer_fail(lexer, offset, "an array of %ss is always read", base_type_name(argument->type));
    return lexer_take_symbol(lexer, '(', "'(' and the calls that do not read it") &&
           parser_expression(parser, USAGE_UNREAD, &argument->unread) &&
           lexer_take_symbol(lexer, ')', "an operator or ')'");
}

/* Reads triangle(uplo) or triangle(uplo, diag). */
static bool read_triangle(struct parser *parser, struct argument *argument, uint32_t offset)
{
    struct lexer *lexer = &parser->lexer;
    if (argument->n_dims != 2 || !argument_is_input(argument))
        return lexer_fail(lexer, offset,
                          "only a matrix (two dimensions) that goes in is read by one triangle");
    if (argument->triangle)
        return lexer_fail(lexer, offset, "the triangle was given already");
    if (!lexer_take_symbol(lexer, '(', "'(' and which triangle is read") ||
        !parser_expression(parser, USAGE_DIMENSION, &argument->triangle))
        return false;
    if (lexer_at_symbol(lexer, ',') &&
        (!lexer_advance(lexer) || !parser_expression(parser, USAGE_DIMENSION, &argument->unit)))
        return false;
    return lexer_take_symbol(lexer, ')', "an operator, ',' or ')'");
}

bool parser_storage(struct parser *parser, struct argument *argument, bool *found)
{
    struct lexer *lexer = &parser->lexer;
    uint32_t offset = lexer->token.offset;
    unsigned word = 0;
    while (word < N_STORAGE_WORDS && !lexer_at_name(lexer, parser_storage_words[word]))
        word++;
    *found = word < N_STORAGE_WORDS;
    if (!*found)
        return true;
    if (!lexer_advance(lexer))
        return false;
    enum storage storage = (enum storage)(STORAGE_PACKED + word);
    if (word == WORD_TRIANGLE)
        return read_triangle(parser, argument, offset);
    if (word == WORD_UNREAD)
        return read_unread(parser, argument, offset);
    if (word == WORD_COUNT)
        return read_count(parser, argument, offset);
    if (word == WORD_INDEX || word == WORD_SIGNED_INDEX)
        return read_index(parser, argument, word == WORD_SIGNED_INDEX, offset);
    if (argument->n_dims != 2)
        return lexer_fail(lexer, offset, "only a matrix (two dimensions) can be %s",
                          parser_storage_words[word]);
    if (argument->is_section)
        return lexer_fail(lexer, offset, "an array with a section is stored in full");
    if (argument->storage != STORAGE_FULL)
        return lexer_fail(lexer, offset, "the matrix is %s already", storage_name(argument->storage));
    if (argument->count)
        return lexer_fail(lexer, offset, "an array with a count is stored in full");
    argument->storage = storage;
    if (storage == STORAGE_PACKED)
        return !lexer_at_symbol(lexer, '(') || read_layout(parser, argument, 1, 1, "");
    if (storage == STORAGE_BANDED)
        return read_layout(parser, argument, 2, 3,
                           "'(' and the numbers of diagonals below and above the main one");
    return read_sparse(parser, argument);
}

/* Finds the argument of that name, a one-dimensional array of integers. */
static bool find_numbers(struct parser *parser, const char *name, uint32_t offset, uint32_t *index)
{
    for (*index = 0; *index < parser->problem->n_arguments; ++*index) {
        const struct argument *argument = &parser->arguments[*index];
        if (strcmp(argument->name, name) != 0)
            continue;
        if (argument->is_section)
            return lexer_fail(&parser->lexer, offset, "'%s' has to be here as a whole: it has a section",
                              name);
        return (argument->n_dims == 1 && argument->type >= TYPE_INT && argument->type <= TYPE_INT64) ||
               lexer_fail(&parser->lexer, offset,
                          "'%s' has to be an array of int, long or int64 with one dimension", name);
    }
    return lexer_fail(&parser->lexer, offset, "there is no argument '%s'", name);
}

/* Checks that an input matrix has its pattern among the inputs too; an output may have the pattern of an
 * input. */
static bool goes_along(struct parser *parser, const struct argument *matrix, uint32_t numbers,
                       uint32_t offset)
{
    const struct argument *array = &parser->arguments[numbers];
    if (argument_is_input(matrix) ? argument_is_input(array) : argument_is_passed(array))
        return true;
    return lexer_fail(&parser->lexer, offset,
                      "'%s' goes along with '%s', which is '%s': expected %s, found '%s'", array->name,
                      matrix->name, argument_mode_name(matrix->mode),
                      argument_is_input(matrix) ? "'in' or 'inout'" : "'in', 'inout' or 'out'",
                      argument_mode_name(array->mode));
}

bool parser_check_storage(struct parser *parser, uint32_t index)
{
    struct argument *argument = &parser->arguments[index];
    uint32_t offset = parser->sparse[index].offset;
    if (argument->storage != STORAGE_CSC && argument->storage != STORAGE_CSR)
        return true;
    return find_numbers(parser, parser->sparse[index].pointers, offset, &argument->pointers) &&
           find_numbers(parser, parser->sparse[index].indices, offset, &argument->indices) &&
           goes_along(parser, argument, argument->pointers, offset) &&
           goes_along(parser, argument, argument->indices, offset);
}

static enum esp_status evaluate_bounds(const struct problem *problem, const struct argument *argument,
                                       uint32_t d, const struct number *scope_values, int64_t bounds[3],
                                       struct esp_error *error)
{
    const struct scope scope = {scope_values, problem->n_arguments};
    for (unsigned i = 0; i < 3; i++) {
        enum esp_status status = expr_eval_size(argument->section[d][i], &scope, &bounds[i], error);
        if (status != ESP_OK)
            return error_prefix(error, "%s: the section of %s", problem->name, argument->name);
    }
    return ESP_OK;
}

static enum esp_status check_bounds(const struct problem *problem, const struct argument *argument,
                                    uint32_t d, int64_t size, const int64_t bounds[3],
                                    struct esp_error *error)
{
    if (bounds[0] <= bounds[1] && bounds[1] < size && bounds[2] >= 1)
        return ESP_OK;
    return error_set(
        error, ESP_INVALID,
        "%s: the section of %s: expected 0 <= start <= end < %" PRId64
        " and skip >= 1 in dimension %u, found %" PRId64 " (%s), %" PRId64 " (%s), %" PRId64 " (%s)",
        problem->name, argument->name, size, d + 1, bounds[0], expr_text(argument->section[d][0]), bounds[1],
        expr_text(argument->section[d][1]), bounds[2], expr_text(argument->section[d][2]));
}

enum esp_status problem_section(const struct problem *problem, uint32_t index,
                                const struct number *scope_values, const int64_t *dims,
                                struct section *section, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[index];
    bool row_major = (argument->properties & PROPERTY_ROW_MAJOR) != 0;
    *section =
        (struct section){.n_dims = argument->n_dims, .element = (uint32_t)base_type_size(argument->type)};
    for (uint32_t d = 0; d < argument->n_dims; d++) {
        uint32_t k = row_major ? argument->n_dims - 1 - d : d;
        int64_t bounds[3] = {0, dims[d] - 1, 1};
        enum esp_status status = ESP_OK;
        if (argument->section[d][0])
            status = evaluate_bounds(problem, argument, d, scope_values, bounds, error);
        if (status == ESP_OK && argument->section[d][0])
            status = check_bounds(problem, argument, d, dims[d], bounds, error);
        if (status != ESP_OK)
            return status;
        section->dims[k] = dims[d];
        section->start[k] = bounds[0];
        section->skip[k] = bounds[2];
        section->count[k] = (bounds[1] - bounds[0]) / bounds[2] + 1;
    }
    return ESP_OK;
}

#define LINE_BYTES    64
#define LEAST_COLUMNS 32  /* from this number on, the elements of a row do not fit one set of a cache */
#define LEAST_BYTES   512 /* of a column; shorter ones fit the first-level cache anyway */
#define MOST_BYTES    (UINT64_C(512) << 20) /* of a matrix; beyond, copying it costs too much */

void section_of_columns(const struct argument *argument, const int64_t *dims, struct section *section)
{
    const uint64_t element = base_type_size(argument->type);
    *section = (struct section){.n_dims = 2, .element = (uint32_t)element};
    for (uint32_t d = 0; d < 2; d++) {
        section->dims[d] = section->count[d] = dims[d];
        section->skip[d] = 1;
    }
    uint64_t column, bytes;
    if (dims[1] < LEAST_COLUMNS || __builtin_mul_overflow((uint64_t)dims[0], element, &column) ||
        column < LEAST_BYTES || __builtin_mul_overflow(column, (uint64_t)dims[1], &bytes) ||
        bytes > MOST_BYTES)
        return;
    const uint64_t lines = (column + LINE_BYTES - 1) / LINE_BYTES;
    section->dims[0] = (int64_t)((lines | 1) * LINE_BYTES / element);
}

static uint64_t product(const int64_t *factors, uint32_t n)
{
    uint64_t result = 1;
    for (uint32_t d = 0; d < n; d++)
        result *= (uint64_t)factors[d];
    return result;
}

uint64_t section_count(const struct section *section)
{
    return product(section->count, section->n_dims);
}

uint64_t section_whole(const struct section *section)
{
    return product(section->dims, section->n_dims);
}

bool section_is_sane(const struct section *section)
{
    uint64_t bytes = section->element, reach;
    if (section->n_dims == 0 || section->n_dims > PROBLEM_MAX_DIMS || section->element == 0 ||
        section->element > 16)
        return false;
    for (uint32_t d = 0; d < section->n_dims; d++) {
        if (section->dims[d] < 0 || section->count[d] < 0 || section->start[d] < 0 || section->skip[d] < 1)
            return false;
        if (section->count[d] > 0 &&
            (__builtin_mul_overflow((uint64_t)section->count[d] - 1, (uint64_t)section->skip[d], &reach) ||
             __builtin_add_overflow(reach, (uint64_t)section->start[d], &reach) ||
             reach >= (uint64_t)section->dims[d]))
            return false;
        if (__builtin_mul_overflow(bytes, (uint64_t)section->dims[d], &bytes) || bytes > INT64_MAX)
            return false;
    }
    return true;
}

/* ---- copying ---- */

/* Copies a run along the first dimension; inlined with a size that the compiler knows. */
static inline void copy_run(char *to, uint64_t to_step, const char *from, uint64_t from_step, int64_t n,
                            size_t size)
{
    for (int64_t i = 0; i < n; i++, to += to_step, from += from_step)
        memcpy(to, from, size);
}

static void copy_elements(char *to, uint64_t to_step, const char *from, uint64_t from_step, int64_t n,
                          size_t size)
{
    if (to_step == size && from_step == size)
        memcpy(to, from, (size_t)n * size);
    else if (size == 8)
        copy_run(to, to_step, from, from_step, n, 8);
    else if (size == 4)
        copy_run(to, to_step, from, from_step, n, 4);
    else if (size == 16)
        copy_run(to, to_step, from, from_step, n, 16);
    else
        copy_run(to, to_step, from, from_step, n, size);
}

/* Returns the offset in bytes of the run with index `at` in the whole array. */
static uint64_t run_offset(const struct section *section, const int64_t *at)
{
    uint64_t offset = 0;
    for (uint32_t d = section->n_dims; d-- > 0;)
        offset =
            offset * (uint64_t)section->dims[d] + (uint64_t)(section->start[d] + at[d] * section->skip[d]);
    return offset * section->element;
}

/* Advances to the next run; false after the last. */
static bool next_run(const struct section *section, int64_t *at)
{
    for (uint32_t d = 1; d < section->n_dims; d++) {
        if (++at[d] < section->count[d])
            return true;
        at[d] = 0;
    }
    return false;
}

void section_gather(const struct section *section, const void *whole, void *elements)
{
    int64_t at[PROBLEM_MAX_DIMS] = {0};
    uint64_t size = section->element, step = size * (uint64_t)section->skip[0];
    char *to = elements;
    if (section_count(section) == 0)
        return;
    do {
        copy_elements(to, size, (const char *)whole + run_offset(section, at), step, section->count[0], size);
        to += (uint64_t)section->count[0] * size;
    } while (next_run(section, at));
}

void section_scatter(const struct section *section, const void *elements, void *whole)
{
    int64_t at[PROBLEM_MAX_DIMS] = {0};
    uint64_t size = section->element, step = size * (uint64_t)section->skip[0];
    const char *from = elements;
    if (section_count(section) == 0)
        return;
    do {
        copy_elements((char *)whole + run_offset(section, at), step, from, size, section->count[0], size);
        from += (uint64_t)section->count[0] * size;
    } while (next_run(section, at));
}

void argument_write_dims(struct text *text, const struct argument *argument)
{
    for (uint32_t d = 0; d < argument->n_dims; d++) {
        text_put(text, d ? ", " : "[");
        expr_write(argument->dims[d], text);
        for (unsigned i = 0; i < 3 && argument->section[d][0]; i++) {
            text_put(text, i ? "," : ":");
            expr_write(argument->section[d][i], text);
        }
    }
    if (argument->n_dims)
        text_put(text, "]");
}

/* Computes scalars that follow from the given arrays, so that users need not type n when A has n rows. */

/* Origin of a scalar's value. */
enum origin { FROM_CALLER = -1, FROM_DEFAULT = -2 }; /* else the index of an array */

struct inference {
    const struct problem *problem;
    const int64_t *const *known_dims;
    const uint32_t *n_known;
    struct number *values;
    int origin[PROBLEM_MAX_ARGUMENTS];
    struct esp_error *error;
};

static struct scope scope_of(const struct inference *inference)
{
    return (struct scope){inference->values, inference->problem->n_arguments};
}

/* Returns a dimension as in the file; missing ones are 1. */
static int64_t given_extent(const struct inference *inference, uint32_t index, uint32_t d)
{
    return d < inference->n_known[index] ? inference->known_dims[index][d] : 1;
}

static bool is_given(const struct inference *inference, uint32_t index, uint32_t d)
{
    return given_extent(inference, index, d) != -1;
}

/* Writes "4 rows", "1 column", "7 elements", "5 as dimension 3". */
static void describe_extent(const struct argument *argument, uint32_t d, int64_t extent, char *text,
                            size_t size)
{
    const char *word = argument->n_dims == 1 ? "element" : d == 0 ? "row" : "column";
    if (argument->n_dims > 2)
        snprintf(text, size, "%" PRId64 " as dimension %u", extent, d + 1);
    else
        snprintf(text, size, "%" PRId64 " %s%s", extent, word, extent == 1 ? "" : "s");
}

/* Writes " from A", " was given", " by default" after "n = 3". */
static void write_origins(const struct inference *inference, const struct expr *expr, struct text *text)
{
    for (unsigned i = 0; i < expr->n_operands; i++)
        write_origins(inference, expr->operands[i], text);
    if (expr->kind != EXPR_NAME || inference->values[expr->index].kind == NUMBER_UNKNOWN)
        return;
    const struct scope scope = scope_of(inference);
    char value[100];
    expr_describe_values(expr, &scope, value, sizeof value);
    if (strstr(text->data, value))
        return;
    int origin = inference->origin[expr->index];
    text_printf(text, "%s%s", text->length ? ", " : "", value);
    if (origin == FROM_CALLER)
        text_put(text, " was given");
    else if (origin == FROM_DEFAULT)
        text_put(text, " by default");
    else
        text_printf(text, " from %s", inference->problem->arguments[origin].name);
}

static bool check_rank(const struct inference *inference, uint32_t index)
{
    const struct argument *argument = &inference->problem->arguments[index];
    if (argument->n_dims == 0) {
        error_set(inference->error, ESP_INVALID, "%s: %s is a scalar, found an array",
                  inference->problem->name, argument->name);
        return false;
    }
    for (uint32_t d = argument->n_dims; d < inference->n_known[index]; d++)
        if (inference->known_dims[index][d] != 1) {
            error_set(inference->error, ESP_INVALID, "%s: %s has %u dimension%s, found %u",
                      inference->problem->name, argument->name, argument->n_dims,
                      argument->n_dims == 1 ? "" : "s", inference->n_known[index]);
            return false;
        }
    return true;
}

static bool is_solvable(const struct argument *argument)
{
    bool integer = argument->type >= TYPE_SHORT && argument->type <= TYPE_INT64;
    return argument_is_input(argument) && argument->n_dims == 0 && integer;
}

static bool solve_for(struct inference *inference, uint32_t index, uint32_t d, uint32_t name,
                      int64_t solution)
{
    const struct argument *argument = &inference->problem->arguments[name];
    struct number value = {.kind = NUMBER_INTEGER, .integer = solution};
    unsigned char raw[16];
    if (number_store(&value, argument->type, raw, inference->error) != ESP_OK) {
        char extent[64];
        describe_extent(&inference->problem->arguments[index], d, given_extent(inference, index, d), extent,
                        sizeof extent);
        error_prefix(inference->error, "%s: %s has %s, but as %s", inference->problem->name,
                     inference->problem->arguments[index].name, extent, argument->name);
        return false;
    }
    inference->values[name] = value;
    inference->origin[name] = (int)index;
    return true;
}

/* Solves one dimension of one array. *solved says whether a scalar became known. */
static bool solve_dim(struct inference *inference, uint32_t index, uint32_t d, bool *solved)
{
    const struct argument *argument = &inference->problem->arguments[index];
    const struct scope scope = scope_of(inference);
    uint32_t name;
    int64_t slope, offset, rest, extent = given_extent(inference, index, d);
    if (!expr_is_linear(argument->dims[d], &scope, &name, &slope, &offset) ||
        !is_solvable(&inference->problem->arguments[name]) || __builtin_sub_overflow(extent, offset, &rest))
        return true;
    bool minus_one = slope == -1; /* INT64_MIN / -1 traps */
    if (minus_one ? rest == INT64_MIN : rest % slope != 0) {
        char has[64];
        describe_extent(argument, d, extent, has, sizeof has);
        error_set(inference->error, ESP_INVALID, "%s: %s has %s, but no %s makes %s = %" PRId64,
                  inference->problem->name, argument->name, has, inference->problem->arguments[name].name,
                  expr_text(argument->dims[d]), extent);
        return false;
    }
    *solved = true;
    return solve_for(inference, index, d, name, minus_one ? -rest : rest / slope);
}

static bool solve_all(struct inference *inference)
{
    bool solved = true;
    while (solved) { /* each round makes at least one scalar known */
        solved = false;
        for (uint32_t i = 0; i < inference->problem->n_arguments; i++)
            for (uint32_t d = 0; inference->known_dims[i] && d < inference->problem->arguments[i].n_dims; d++)
                if (is_given(inference, i, d) && !solve_dim(inference, i, d, &solved))
                    return false;
    }
    return true;
}

static bool is_expected(const struct argument *argument)
{
    return argument_is_input(argument) && argument->n_dims == 0 && argument->type <= TYPE_DOUBLE;
}

/* Applies the first default that can be computed; scalars that follow from it are solved before the next
 * one. */
static bool give_default(struct inference *inference, bool *given)
{
    *given = false;
    for (uint32_t i = 0; i < inference->problem->n_arguments && !*given; i++) {
        const struct argument *argument = &inference->problem->arguments[i];
        unsigned char raw[16];
        if (!is_expected(argument) || !argument->initial || inference->values[i].kind != NUMBER_UNKNOWN)
            continue;
        if (problem_default(inference->problem, i, inference->values, raw, NULL) != ESP_OK)
            continue;
        inference->values[i] = number_load(argument->type, raw);
        inference->origin[i] = FROM_DEFAULT;
        *given = true;
    }
    return true;
}

static bool check_known(const struct inference *inference)
{
    for (uint32_t i = 0; i < inference->problem->n_arguments; i++) {
        const struct argument *argument = &inference->problem->arguments[i];
        unsigned char raw[16];
        if (!is_expected(argument) || inference->values[i].kind != NUMBER_UNKNOWN)
            continue;
        if (argument->initial && /* the arguments in it are known, because they are declared before it */
            problem_default(inference->problem, i, inference->values, raw, inference->error) != ESP_OK)
            return false;
        error_set(inference->error, ESP_INVALID, "%s: the input %s (%s) is missing%s",
                  inference->problem->name, argument->name, base_type_name(argument->type),
                  is_solvable(argument) ? " and does not follow from the arrays given" : "");
        return false;
    }
    return true;
}

/* Whether both extents of the matrix are the same name, but the given extents differ. */
static bool is_oblong(const struct inference *inference, uint32_t index)
{
    const struct argument *argument = &inference->problem->arguments[index];
    uint32_t rows, cols;
    return argument->n_dims == 2 && expr_is_name(argument->dims[0], &rows) &&
           expr_is_name(argument->dims[1], &cols) && rows == cols && is_given(inference, index, 0) &&
           is_given(inference, index, 1) &&
           given_extent(inference, index, 0) != given_extent(inference, index, 1);
}

static bool contradict(const struct inference *inference, uint32_t index, uint32_t d, int64_t wanted)
{
    const struct argument *argument = &inference->problem->arguments[index];
    char has[64], origins[200];
    struct text text;
    describe_extent(argument, d, given_extent(inference, index, d), has, sizeof has);
    text_open(&text, origins, sizeof origins);
    write_origins(inference, argument->dims[d], &text);
    if (is_oblong(inference, index))
        error_set(inference->error, ESP_INVALID,
                  "%s: %s must be square (%s x %s), found %" PRId64 " x %" PRId64, inference->problem->name,
                  argument->name, expr_text(argument->dims[0]), expr_text(argument->dims[0]),
                  given_extent(inference, index, 0), given_extent(inference, index, 1));
    else if (expr_is_name(argument->dims[d], NULL))
        error_set(inference->error, ESP_INVALID, "%s: %s has %s, but %s", inference->problem->name,
                  argument->name, has, origins);
    else
        error_set(inference->error, ESP_INVALID, "%s: %s has %s, but %s = %" PRId64 "%s%s%s",
                  inference->problem->name, argument->name, has, expr_text(argument->dims[d]), wanted,
                  text.length ? " (" : "", origins, text.length ? ")" : "");
    return false;
}

/* Checks that every given dimension equals its expression, if that can be computed. */
static bool check_dims(const struct inference *inference)
{
    const struct scope scope = scope_of(inference);
    for (uint32_t i = 0; i < inference->problem->n_arguments; i++)
        for (uint32_t d = 0; inference->known_dims[i] && d < inference->problem->arguments[i].n_dims; d++) {
            struct number wanted;
            if (is_given(inference, i, d) &&
                expr_eval(inference->problem->arguments[i].dims[d], &scope, &wanted, NULL) == ESP_OK &&
                wanted.kind == NUMBER_INTEGER && wanted.integer != given_extent(inference, i, d))
                return contradict(inference, i, d, wanted.integer);
        }
    return true;
}

enum esp_status problem_infer(const struct problem *problem, const int64_t *const *known_dims,
                              const uint32_t *n_known, struct number *scope_values, struct esp_error *error)
{
    struct esp_error own;
    struct inference inference = {.problem = problem,
                                  .known_dims = known_dims,
                                  .n_known = n_known,
                                  .values = scope_values,
                                  .error = error ? error : &own};
    bool good = true, given = true;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        inference.origin[i] = FROM_CALLER;
        good = good && (!known_dims[i] || check_rank(&inference, i));
    }
    while (good && given)
        good = solve_all(&inference) && give_default(&inference, &given);
    /* "n >= 0, found n = -1" is clearer than "A has 2 rows, but n = -1". */
    enum esp_status status = problem_check_known(problem, scope_values, inference.error);
    if (status != ESP_OK)
        return status;
    /* Contradictions first: "B has 4 rows" is clearer than a scalar that is missing because of it. */
    good = good && check_dims(&inference) && check_known(&inference);
    return good ? ESP_OK : inference.error->status;
}
