/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands behind the dimensions of an array about how its elements are stored, how many come back, when
 * none go in, and what indices lead to.
 */
#include "core/problem/problem_parser.h"

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

/* (expression, expression ...): between `least` and `most`. */
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

/* (pointers, indices [, base]) */
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

/* triangle(uplo) or triangle(uplo, diag) */
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

/* The argument of that name, an array of one dimension of integers. */
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

/* A matrix that goes in needs its pattern there, too; one that comes back may have that of an input. */
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
