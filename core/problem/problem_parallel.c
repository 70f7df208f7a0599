/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/problem_parallel.h"

#include "core/problem/problem_parser.h"

#include <string.h>

/* ---- reading ---- */

bool parser_parallel(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    bool fortran = lexer_at_name(lexer, "fortran");
    if (!fortran && !lexer_at_name(lexer, "c"))
        return lexer_expected(
            lexer, "'fortran' or 'c'",
            "parallel fortran SYMBOL(PARAMETERS) in LIBRARY is what all ranks call together");
    memset(parser->spreads, 0, sizeof parser->spreads);
    parser->parallel_offset = lexer->token.offset;
    parser->implementation->spreads = parser->spreads;
    return lexer_advance(lexer) && parser_call(parser, fortran ? CONVENTION_FORTRAN : CONVENTION_C);
}

/* Reads the argument named by the current token. */
static bool read_argument(struct parser *parser, uint32_t *index)
{
    for (*index = 0; *index < parser->problem->n_arguments; ++*index)
        if (lexer_at_name(&parser->lexer, parser->arguments[*index].name))
            return lexer_advance(&parser->lexer);
    return lexer_expected(&parser->lexer, "the name of an argument", NULL);
}

static bool is_matrix(const struct argument *argument)
{
    return argument->n_dims == 2 && argument->storage == STORAGE_FULL && !argument->is_section &&
           !(argument->properties & PROPERTY_ROW_MAJOR) && !base_type_is_variable(argument->type);
}

static bool read_matrix(struct parser *parser, uint32_t *index)
{
    uint32_t offset = parser->lexer.token.offset;
    if (!read_argument(parser, index))
        return false;
    const struct argument *argument = &parser->arguments[*index];
    return is_matrix(argument) ||
           lexer_fail(&parser->lexer, offset, "'%s' is not a matrix stored in full, column by column",
                      argument->name);
}

bool parser_of_matrix(struct parser *parser, struct call_parameter *parameter)
{
    return lexer_advance(&parser->lexer) &&
           lexer_take_symbol(&parser->lexer, '(', "'(' before the name of a matrix") &&
           read_matrix(parser, &parameter->argument) &&
           lexer_take_symbol(&parser->lexer, ')', "')' behind the name of a matrix");
}

bool parser_parallel_parameter(struct parser *parser, struct call_parameter *parameter, bool *found)
{
    static const struct {
        const char *word;
        int kind;
    } words[] = {{"desc", PARAMETER_DESCRIPTOR},
                 {"into", PARAMETER_INTO},
                 {"communicator", PARAMETER_COMMUNICATOR},
                 {"context", PARAMETER_CONTEXT}};
    *found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!lexer_at_name(&parser->lexer, words[i].word))
            continue;
        *found = true;
        *parameter = (struct call_parameter){.kind = words[i].kind, .type = TYPE_INT};
        return i < 2 ? parser_of_matrix(parser, parameter) : lexer_advance(&parser->lexer);
    }
    return true;
}

bool parser_spread(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    uint32_t offset = lexer->token.offset, index, along;
    if (!parser->implementation->spreads)
        return lexer_fail(lexer, offset, "'spread' belongs behind a 'parallel' call");
    if (!read_argument(parser, &index))
        return false;
    if (parser->arguments[index].n_dims != 1 || base_type_is_variable(parser->arguments[index].type))
        return lexer_fail(lexer, offset,
                          "'%s' is no vector: only vectors go with the rows or columns of a matrix",
                          parser->arguments[index].name);
    bool rows = lexer_at_name(lexer, "rows");
    if (!rows && !lexer_at_name(lexer, "columns"))
        return lexer_expected(lexer, "'rows' or 'columns'", "spread VECTOR rows of MATRIX");
    if (!lexer_advance(lexer))
        return false;
    if (!lexer_at_name(lexer, "of"))
        return lexer_expected(lexer, "'of'", "spread VECTOR rows of MATRIX");
    if (!lexer_advance(lexer) || !read_matrix(parser, &along))
        return false;
    parser->spreads[index].kind = rows ? SPREAD_ROWS : SPREAD_COLUMNS;
    parser->spreads[index].along = along;
    return true;
}

bool parser_suits(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct name_list names = {.last = &names.first};
    struct expr *suits;
    if (!parser->implementation->spreads)
        return lexer_fail(lexer, lexer->token.offset, "'suits' belongs behind a 'parallel' call");
    if (!expr_read(lexer, parser->arena, &names, &suits) ||
        !parser_resolve(parser, lexer, names.first, USAGE_CALL, 0) || !parser_check_parts(parser, suits))
        return false;
    parser->implementation->suits = suits;
    return true;
}

/* Rejects arguments that can neither be distributed nor be copied to every rank. */
static bool check_argument(struct parser *parser, uint32_t index)
{
    const struct argument *argument = &parser->arguments[index];
    if (!base_type_is_variable(argument->type) && argument->storage == STORAGE_FULL && !argument->is_section)
        return true;
    return lexer_fail(&parser->lexer, parser->parallel_offset,
                      "a parallel routine cannot take '%s': it takes numbers, and arrays of them that are "
                      "stored in full",
                      argument->name);
}

static bool set_spread(struct parser *parser, const struct call_parameter *parameter)
{
    struct spread *spread = &parser->spreads[parameter->argument];
    if (parameter->kind != PARAMETER_ARGUMENT && parameter->kind != PARAMETER_INTO)
        return true;
    if (!check_argument(parser, parameter->argument))
        return false;
    if (spread->kind == SPREAD_NONE)
        spread->kind = is_matrix(&parser->arguments[parameter->argument]) ? SPREAD_BLOCKS : SPREAD_WHOLE;
    spread->into |= parameter->kind == PARAMETER_INTO;
    return true;
}

bool parser_end_parallel(struct parser *parser)
{
    struct implementation *implementation = parser->implementation;
    uint32_t n = parser->problem->n_arguments;
    if (!implementation->spreads)
        return true;
    for (uint32_t i = 0; i < implementation->n_parameters; i++)
        if (!set_spread(parser, &implementation->parameters[i]))
            return false;
    implementation->spreads = parser_keep(parser, parser->spreads, n, sizeof *parser->spreads);
    return implementation->spreads != NULL;
}

/* ---- using it ---- */

bool implementation_suits(const struct problem *problem, const struct implementation *implementation,
                          const struct number *scope)
{
    struct number value;
    const struct scope values = {.values = scope, .n_values = problem->n_arguments};
    return !implementation->suits || (expr_eval(implementation->suits, &values, &value, NULL) == ESP_OK &&
                                      value.kind == NUMBER_INTEGER && value.integer != 0);
}

static enum esp_status extents(const struct problem *problem, uint32_t index, const struct number *scope,
                               int64_t *dims, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[index];
    const struct scope values = {.values = scope, .n_values = problem->n_arguments};
    enum esp_status status = ESP_OK;
    dims[0] = dims[1] = 1;
    for (uint32_t d = 0; d < argument->n_dims && d < 2 && status == ESP_OK; d++)
        status = expr_eval_size(argument->dims[d], &values, &dims[d], error);
    return status;
}

enum esp_status spread_layout(const struct problem *problem, const struct implementation *implementation,
                              uint32_t index, const struct number *scope, struct process_grid grid,
                              struct block_cyclic_matrix *layout, struct esp_error *error)
{
    int64_t dims[2];
    enum spread_kind kind = implementation->spreads[index].kind;
    enum esp_status status = extents(problem, index, scope, dims, error);
    if (status != ESP_OK)
        return status;
    bool rows = kind != SPREAD_COLUMNS, cols = kind != SPREAD_ROWS;
    struct block_cyclic whole = {.n = 1, .block = 1, .ranks = 1}, first = whole, second = whole;
    if (rows)
        first = (struct block_cyclic){.n = dims[0], .block = grid.block, .ranks = grid.rows};
    if (cols)
        second = (struct block_cyclic){
            .n = kind == SPREAD_COLUMNS ? dims[0] : dims[1], .block = grid.block, .ranks = grid.cols};
    *layout = (struct block_cyclic_matrix){.rows = first, .cols = second};
    return block_cyclic_matrix_check(layout, problem->arguments[index].name, error);
}

static uint64_t copies_of(const struct spread *spread, struct process_grid grid)
{
    uint64_t copies = spread->kind == SPREAD_ROWS      ? grid.cols
                      : spread->kind == SPREAD_COLUMNS ? grid.rows
                                                       : 1;
    return spread->into ? 2 * copies : copies;
}

uint64_t spread_bytes(const struct problem *problem, const struct implementation *implementation,
                      const struct number *scope, struct process_grid grid)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        struct block_cyclic_matrix layout;
        uint64_t bytes;
        if (implementation->spreads[i].kind < SPREAD_BLOCKS ||
            spread_layout(problem, implementation, i, scope, grid, &layout, NULL) != ESP_OK)
            continue;
        if (__builtin_mul_overflow((uint64_t)(layout.rows.n * layout.cols.n),
                                   base_type_size(problem->arguments[i].type), &bytes) ||
            __builtin_mul_overflow(bytes, copies_of(&implementation->spreads[i], grid), &bytes) ||
            __builtin_add_overflow(all, bytes, &all))
            return UINT64_MAX;
    }
    return all;
}

struct process_grid spread_cut_grid(const struct problem *problem,
                                    const struct implementation *implementation, const struct number *scope,
                                    struct process_grid grid)
{
    int64_t largest = 1;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        struct block_cyclic_matrix layout;
        if (implementation->spreads[i].kind == SPREAD_BLOCKS &&
            spread_layout(problem, implementation, i, scope, grid, &layout, NULL) == ESP_OK) {
            largest = layout.rows.n > largest ? layout.rows.n : largest;
            largest = layout.cols.n > largest ? layout.cols.n : largest;
        }
    }
    if (grid.block > (largest + 1) / 2)
        grid.block = (uint32_t)((largest + 1) / 2);
    return grid;
}
