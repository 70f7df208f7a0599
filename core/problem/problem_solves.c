/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the clauses `solves` and `fits`, and evaluates them for one call. */
#include "core/problem/problem_solves.h"
#include "core/problem/problem_parser.h"

#include <math.h>
#include <string.h>

/* ---- reading ---- */

/* Reads a word that begins the next part of the clause. */
static bool take_word(struct lexer *lexer, const char *word, bool *found)
{
    *found = lexer_at_name(lexer, word);
    return !*found || lexer_advance(lexer);
}

static bool read_giving(struct parser *parser, const char *unknown)
{
    struct lexer *lexer = &parser->lexer;
    const char *name;
    bool found;
    if (!take_word(lexer, "giving", &found) || !found)
        return !found;
    uint32_t offset = lexer->token.offset;
    if (!parser_name(parser, "the solution", &name))
        return false;
    if (strcmp(name, unknown) != 0)
        return lexer_fail(lexer, offset, "expected '%s', the solution of the equation, found '%s'", unknown,
                          name);
    return lexer_take_symbol(lexer, '=', "'='") &&
           parser_name(parser, "the argument that the solution is", &parser->roles.solution);
}

bool parser_solves(struct parser *parser, bool fits)
{
    struct lexer *lexer = &parser->lexer;
    struct solves *solves = arena_alloc(parser->arena, sizeof *solves);
    bool found;
    if (!solves)
        return lexer_no_memory(lexer);
    if (parser->solves)
        return lexer_fail(lexer, lexer->token.offset, "a problem has one equation");
    *solves = (struct solves){.fits = fits, .transposed = SOLVES_NOTHING, .times = SOLVES_NOTHING};
    parser->roles.offset = lexer->token.offset;
    parser->roles.transposed = parser->roles.times = NULL;
    if (!parser_name(parser, "the matrix", &parser->roles.matrix) ||
        !parser_name(parser, "the solution", &solves->unknown) || !lexer_take_symbol(lexer, '=', "'='") ||
        !parser_name(parser, "the right-hand side", &parser->roles.rhs))
        return false;
    parser->roles.solution = solves->unknown;
    parser->solves = solves;
    if (!read_giving(parser, solves->unknown) || !take_word(lexer, "transposed", &found) ||
        (found && !parser_name(parser, "the argument that says how", &parser->roles.transposed)))
        return false;
    if (!take_word(lexer, "times", &found) ||
        (found && !parser_name(parser, "the factor of the right-hand sides", &parser->roles.times)) ||
        !take_word(lexer, "right", &found) ||
        (found && !parser_expression(parser, USAGE_UNREAD, &solves->right)))
        return false;
    if (!take_word(lexer, "within", &found) ||
        (found && !parser_expression(parser, USAGE_COST, &solves->within)))
        return false;
    return take_word(lexer, "where", &found) &&
           (!found || parser_expression(parser, USAGE_UNREAD, &solves->where));
}

/* ---- checking ---- */

static bool find(struct parser *parser, const char *name, uint32_t *index)
{
    const char *words[PROBLEM_MAX_ARGUMENTS];
    for (*index = 0; *index < parser->problem->n_arguments; ++*index) {
        words[*index] = parser->arguments[*index].name;
        if (strcmp(words[*index], name) == 0)
            return true;
    }
    const char *near = lexer_nearest(name, words, *index);
    return lexer_fail(&parser->lexer, parser->roles.offset, "unknown name '%s'%s%s%s", name,
                      near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static bool is_numbers(const struct argument *argument, unsigned least, unsigned most)
{
    return argument->type >= TYPE_FLOAT && argument->type <= TYPE_DOUBLE_COMPLEX &&
           argument->n_dims >= least && argument->n_dims <= most && argument->is_section == false;
}

bool parser_check_solves(struct parser *parser)
{
    struct solves *solves = parser->solves;
    const struct argument *arguments = parser->arguments;
    const uint32_t offset = parser->roles.offset;
    if (!solves)
        return true;
    if (!find(parser, parser->roles.matrix, &solves->matrix) ||
        !find(parser, parser->roles.rhs, &solves->rhs) ||
        !find(parser, parser->roles.solution, &solves->solution))
        return false;
    if (!is_numbers(&arguments[solves->matrix], 2, 2) || !argument_is_input(&arguments[solves->matrix]))
        return lexer_fail(&parser->lexer, offset, "'%s' has to be a matrix that goes in",
                          parser->roles.matrix);
    if (!is_numbers(&arguments[solves->rhs], 1, 2) || !argument_is_input(&arguments[solves->rhs]) ||
        arguments[solves->rhs].storage != STORAGE_FULL)
        return lexer_fail(&parser->lexer, offset, "'%s' has to be an array that goes in", parser->roles.rhs);
    if (!is_numbers(&arguments[solves->solution], 1, 2) ||
        !argument_is_output(&arguments[solves->solution]) ||
        arguments[solves->solution].storage != STORAGE_FULL)
        return lexer_fail(&parser->lexer, offset, "'%s' has to be an array that comes back",
                          parser->roles.solution);
    if (parser->roles.transposed && !find(parser, parser->roles.transposed, &solves->transposed))
        return false;
    if (solves->transposed != SOLVES_NOTHING &&
        (arguments[solves->transposed].type != TYPE_CHAR || arguments[solves->transposed].n_dims > 0 ||
         arguments[solves->transposed].mode != MODE_IN))
        return lexer_fail(&parser->lexer, offset, "'%s' has to be a character that goes in",
                          parser->roles.transposed);
    if (parser->roles.times && !find(parser, parser->roles.times, &solves->times))
        return false;
    if (solves->times != SOLVES_NOTHING &&
        (!is_numbers(&arguments[solves->times], 0, 0) || arguments[solves->times].mode != MODE_IN ||
         arguments[solves->times].type != arguments[solves->matrix].type))
        return lexer_fail(&parser->lexer, offset,
                          "'%s' has to be a number that goes in, of the type of the matrix",
                          parser->roles.times);
    parser->problem->solves = solves;
    return true;
}

/* ---- the canonical form ---- */

void solves_write(const struct problem *problem, struct text *text)
{
    const struct solves *solves = problem->solves;
    if (!solves)
        return;
    const char *solution = problem->arguments[solves->solution].name;
    text_printf(text, "%s %s %s = %s", solves->fits ? "fits" : "solves",
                problem->arguments[solves->matrix].name, solves->unknown,
                problem->arguments[solves->rhs].name);
    if (strcmp(solution, solves->unknown) != 0)
        text_printf(text, " giving %s = %s", solves->unknown, solution);
    if (solves->transposed != SOLVES_NOTHING)
        text_printf(text, " transposed %s", problem->arguments[solves->transposed].name);
    if (solves->times != SOLVES_NOTHING)
        text_printf(text, " times %s", problem->arguments[solves->times].name);
    if (solves->right) {
        text_put(text, " right ");
        expr_write(solves->right, text);
    }
    if (solves->within) {
        text_put(text, " within ");
        expr_write(solves->within, text);
    }
    if (solves->where) {
        text_put(text, " where ");
        expr_write(solves->where, text);
    }
    text_put(text, "\n");
}

bool problem_is_solver(const struct problem *problem)
{
    return problem->solves || strncmp(problem->gams, "D2", 2) == 0 || strncmp(problem->gams, "D9", 2) == 0;
}

/* ---- one call ---- */

/* Evaluates an expression to a letter, in capitals; 0: it has no value. */
static char letter_of(const struct problem *problem, const struct expr *expr, const struct number *scope)
{
    const struct scope names = {scope, problem->n_arguments};
    struct number number;
    if (!expr || expr_eval(expr, &names, &number, NULL) != ESP_OK || number.kind != NUMBER_INTEGER)
        return 0;
    return number.integer >= 'a' && number.integer <= 'z' ? (char)(number.integer - 'a' + 'A')
                                                          : (char)number.integer;
}

bool argument_reads_triangle(const struct problem *problem, uint32_t index, const struct number *scope,
                             bool *upper)
{
    const struct argument *argument = &problem->arguments[index];
    const char letter = letter_of(problem, argument->triangle, scope);
    *upper = letter == 'U';
    if (letter == 'U' || letter == 'L')
        return true;
    *upper = (argument->properties & PROPERTY_UPPER) != 0;
    return (argument->properties & (PROPERTY_UPPER | PROPERTY_LOWER)) != 0;
}

bool argument_has_unit_diagonal(const struct problem *problem, uint32_t index, const struct number *scope)
{
    const struct argument *argument = &problem->arguments[index];
    return letter_of(problem, argument->unit, scope) == 'U' ||
           (argument->properties & PROPERTY_UNIT_DIAGONAL) != 0;
}

static bool dims_of(const struct problem *problem, const struct argument *argument,
                    const struct number *scope, int64_t dims[2])
{
    const struct scope names = {scope, problem->n_arguments};
    dims[0] = dims[1] = 1;
    for (uint32_t d = 0; d < argument->n_dims; d++)
        if (expr_eval_size(argument->dims[d], &names, &dims[d], NULL) != ESP_OK)
            return false;
    return true;
}

static bool holds(const struct problem *problem, const struct expr *condition, const struct number *scope)
{
    const struct scope names = {scope, problem->n_arguments};
    bool result = false;
    return expr_eval_bool(condition, &names, &result, NULL) == ESP_OK && result;
}

/* X op(A) = B means op(A)^T X^T = B^T. */
static char transposed_from_right(char transposed)
{
    return transposed == 'N' ? 'T' : transposed == 'T' ? 'N' : 'J';
}

/* Returns the backward error that rounding allows, plus that of an iterative method. */
static double tolerance_of(const struct problem *problem, const struct number *scope, int64_t n)
{
    const enum base_type type = problem->arguments[problem->solves->matrix].type;
    const struct scope names = {scope, problem->n_arguments};
    double within = 0;
    if (problem->solves->within && expr_eval_real(problem->solves->within, &names, &within, NULL) != ESP_OK)
        within = 0;
    return solves_tolerance(type == TYPE_FLOAT || type == TYPE_COMPLEX, n) + within;
}

bool solves_shape(const struct problem *problem, const struct number *scope, struct system_shape *shape)
{
    const struct solves *solves = problem->solves;
    int64_t dims[2], rhs[2], solution[2];
    *shape = (struct system_shape){.transposed = 'N'};
    if (!solves || (solves->where && !holds(problem, solves->where, scope)))
        return false;
    shape->right = solves->right && holds(problem, solves->right, scope);
    const unsigned along = shape->right ? 1 : 0; /* the extent of a vector */
    const struct argument *matrix = &problem->arguments[solves->matrix];
    const bool is_complex = matrix->type == TYPE_COMPLEX || matrix->type == TYPE_DOUBLE_COMPLEX;
    if (!dims_of(problem, matrix, scope, dims) ||
        !dims_of(problem, &problem->arguments[solves->rhs], scope, rhs) ||
        !dims_of(problem, &problem->arguments[solves->solution], scope, solution) ||
        (dims[0] != dims[1] && !(solves->fits && matrix->storage == STORAGE_FULL)) ||
        rhs[1 - along] != solution[1 - along] ||
        problem_layout(problem, solves->matrix, scope, dims, &shape->layout, NULL) != ESP_OK)
        return false;
    const uint32_t mirrored = PROPERTY_SYMMETRIC | PROPERTY_HERMITIAN | PROPERTY_POSITIVE_DEFINITE;
    shape->nrhs = rhs[1 - along];
    shape->rhs_rows = rhs[0];
    shape->solution_rows = solution[0];
    shape->triangle = argument_reads_triangle(problem, solves->matrix, scope, &shape->upper);
    if (matrix->storage == STORAGE_PACKED) {
        shape->triangle = true;
        shape->upper = shape->layout.upper;
    } else if (matrix->storage == STORAGE_BANDED && !shape->triangle && (matrix->properties & mirrored)) {
        shape->triangle = shape->layout.below == 0 || shape->layout.above == 0;
        shape->upper = shape->layout.below == 0;
    }
    shape->mirrored = shape->triangle && (matrix->properties & mirrored);
    shape->conjugated = shape->mirrored && is_complex && !(matrix->properties & PROPERTY_SYMMETRIC);
    shape->unit = argument_has_unit_diagonal(problem, solves->matrix, scope);
    if (solves->transposed != SOLVES_NOTHING && scope[solves->transposed].kind == NUMBER_INTEGER)
        shape->transposed = (char)scope[solves->transposed].integer;
    if (shape->transposed >= 'a')
        shape->transposed = (char)(shape->transposed - 'a' + 'A');
    shape->tolerance = tolerance_of(problem, scope, dims[0]);
    if (shape->right)
        shape->transposed = transposed_from_right(shape->transposed);
    const bool is_transposed = shape->transposed == 'T' || shape->transposed == 'C';
    return rhs[along] >= dims[is_transposed ? 1 : 0] && solution[along] >= dims[is_transposed ? 0 : 1];
}
