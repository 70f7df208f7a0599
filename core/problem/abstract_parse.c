/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the rules of abstract problems:
 *
 *   abstract {s,,c,z}solve for s, d, c, z "Solve A X = B"
 *       in      int m, n, nrhs
 *       in      scalar A[m, n] "the matrix", B[m, nrhs] "right-hand sides"
 *       out     scalar X[n, nrhs] "the solution"
 *       try     ?posv giving X = B when A symmetric positive-definite
 *       take    ?gesv giving X = B when A square
 *       take    ?gels giving X = B
 *
 * The other clauses are parsed like those of any problem (problem_parse.c). */
#include "core/problem/abstract.h"
#include "core/problem/problem_parser.h"

#include <stdlib.h>
#include <string.h>

/* One rule being read. */
struct reading {
    struct parser *parser;
    struct lexer *lexer;
    const struct problem *problem;
};

static bool take_name(struct reading *reading, const char *what, const char **name)
{
    return parser_name(reading->parser, what, name);
}

/* Stores the position of the lexer. */
static void place(const struct reading *reading, unsigned *line, unsigned *column)
{
    *line = reading->lexer->token.line;
    *column = lexer_column(reading->lexer, reading->lexer->token.offset);
}

/* Reads the name of an input of the signature. */
static bool find_input(struct reading *reading, uint32_t *index)
{
    const struct problem *problem = reading->problem;
    const char *names[PROBLEM_MAX_ARGUMENTS];
    uint32_t n = 0;
    for (*index = 0; *index < problem->n_arguments; ++*index) {
        const struct argument *argument = &problem->arguments[*index];
        if (argument->mode != MODE_IN)
            continue;
        if (lexer_at_name(reading->lexer, argument->name))
            return lexer_advance(reading->lexer);
        names[n++] = argument->name;
    }
    return lexer_expected_word(reading->lexer, "the name of an input", names, n);
}

/* Reads a character or a number in place of a name; *found is false at any other token. */
static bool read_value(struct reading *reading, struct pair *pair, bool *found)
{
    struct lexer *lexer = reading->lexer;
    bool negative = lexer_at_symbol(lexer, '-');
    *found = true;
    if (negative && !lexer_advance(lexer))
        return false;
    if (lexer->token.kind == TOKEN_REAL)
        pair->value = lexer->token.real;
    else if (lexer->token.kind == TOKEN_INTEGER || lexer->token.kind == TOKEN_CHARACTER)
        pair->value = (double)lexer->token.integer;
    else if (negative)
        return lexer_expected(lexer, "a number", NULL);
    else
        return *found = false, true;
    pair->is_character = lexer->token.kind == TOKEN_CHARACTER;
    if (negative)
        pair->value = -pair->value;
    return lexer_advance(lexer);
}

/* left = right {, left = right} */
static bool read_pairs(struct reading *reading, const char *left, const char *right, struct pair **pairs,
                       uint32_t *n, bool inner_first)
{
    struct lexer *lexer = reading->lexer;
    struct pair read[ABSTRACT_MAX_PAIRS];
    *n = 0;
    do {
        const char *first, *second = NULL;
        struct pair *pair = &read[*n];
        bool is_value = false;
        *pair = (struct pair){0};
        if (*n == ABSTRACT_MAX_PAIRS)
            return lexer_fail(lexer, lexer->token.offset, "at most %d names can be replaced",
                              ABSTRACT_MAX_PAIRS);
        if (!lexer_advance(lexer))
            return false;
        if (inner_first)
            place(reading, &pair->line, &pair->column);
        if (!take_name(reading, left, &first) || !lexer_take_symbol(lexer, '=', "'='") ||
            (inner_first && !read_value(reading, pair, &is_value)))
            return false;
        if (!inner_first)
            place(reading, &pair->line, &pair->column);
        if (!is_value && !take_name(reading, right, &second))
            return false;
        pair->inner = inner_first ? first : second;
        pair->outer = inner_first ? second : first;
        ++*n;
    } while (lexer_at_symbol(lexer, ','));
    *pairs = parser_keep(reading->parser, read, *n, sizeof *read);
    return *pairs != NULL;
}

/* Reads a name that may contain '?', which is a token of its own. */
static bool read_problem_name(struct reading *reading, const char **name)
{
    struct lexer *lexer = reading->lexer;
    uint32_t from = lexer->token.offset, to = from;
    while (lexer->token.offset == to && (lexer->token.kind == TOKEN_NAME || lexer_at_symbol(lexer, '?'))) {
        to = lexer->token.offset + lexer->token.length;
        if (!lexer_advance(lexer))
            return false;
    }
    if (to == from)
        return lexer_expected(lexer, "the name of a problem", NULL);
    if (to - from > PROBLEM_MAX_NAME)
        return lexer_fail(lexer, from, "a name has at most %d characters, this one has %u", PROBLEM_MAX_NAME,
                          to - from);
    char text[PROBLEM_MAX_NAME + 1] = {0};
    memcpy(text, lexer->text + from, to - from);
    *name = arena_strdup(reading->parser->arena, text);
    return *name || lexer_no_memory(lexer);
}

/* Checks that the results of the last step are outputs. */
static bool check_results(struct reading *reading, const struct step *step, uint32_t offset)
{
    const struct problem *problem = reading->problem;
    for (uint32_t i = 0; i < step->n_results; i++) {
        uint32_t k = 0;
        while (k < problem->n_arguments && (problem->arguments[k].mode != MODE_OUT ||
                                            strcmp(problem->arguments[k].name, step->results[i].outer) != 0))
            k++;
        if (k == problem->n_arguments)
            return lexer_fail(reading->lexer, offset, "'%s' is no output of %s", step->results[i].outer,
                              problem->name);
    }
    return true;
}

static bool read_step(struct reading *reading, struct step *step)
{
    *step = (struct step){0};
    place(reading, &step->line, &step->column);
    if (!read_problem_name(reading, &step->problem))
        return false;
    if (lexer_at_symbol(reading->lexer, '(') &&
        !(read_pairs(reading, "the name of an argument of the problem", "what it is called here",
                     &step->renamed, &step->n_renamed, true) &&
          lexer_take_symbol(reading->lexer, ')', "',' or ')'")))
        return false;
    return !lexer_at_name(reading->lexer, "giving") ||
           read_pairs(reading, "an output", "the argument that it is", &step->results, &step->n_results,
                      false);
}

static bool read_steps(struct reading *reading, struct rule *rule, uint32_t offset)
{
    struct step steps[ABSTRACT_MAX_STEPS];
    struct lexer *lexer = reading->lexer;
    uint32_t n = 0;
    for (;;) {
        if (n == ABSTRACT_MAX_STEPS)
            return lexer_fail(lexer, lexer->token.offset, "a rule has at most %d steps", ABSTRACT_MAX_STEPS);
        if (!read_step(reading, &steps[n++]))
            return false;
        if (!lexer_at_name(lexer, "then"))
            break;
        if (!lexer_advance(lexer))
            return false;
    }
    rule->steps = parser_keep(reading->parser, steps, n, sizeof *steps);
    rule->n_steps = n;
    return rule->steps && check_results(reading, &steps[n - 1], offset);
}

/* Reads one word after an input's name; *found is false at any other token. */
static bool read_wish_word(struct reading *reading, struct wish *wish, bool *found)
{
    struct lexer *lexer = reading->lexer;
    const char *words[32];
    size_t n = 0;
    *found = false;
    if (lexer->token.kind != TOKEN_NAME)
        return true;
    if (!lexer_reread_word(lexer, true))
        return false;
    for (unsigned bit = 0; trait_name(bit) && !*found; bit++) {
        words[n++] = trait_name(bit);
        *found = lexer_at_name(lexer, trait_name(bit));
        wish->traits |= *found ? 1U << bit : 0;
    }
    for (unsigned bit = 0; property_name(bit) && !*found; bit++) {
        words[n++] = property_name(bit);
        *found = lexer_at_name(lexer, property_name(bit));
        wish->properties |= *found ? 1U << bit : 0;
    }
    if (*found)
        return lexer_advance(lexer);
    return lexer_expected_word(lexer,
                               "a property or one of real, complex, single, double, square, tall, wide, "
                               "vector, sparse, banded, large",
                               words, n);
}

static bool read_wishes(struct reading *reading, struct rule *rule)
{
    struct wish wishes[ABSTRACT_MAX_WISHES];
    uint32_t n = 0;
    do {
        bool found;
        struct wish *wish = &wishes[n];
        if (n == ABSTRACT_MAX_WISHES)
            return lexer_fail(reading->lexer, reading->lexer->token.offset,
                              "a rule has at most %d conditions", ABSTRACT_MAX_WISHES);
        *wish = (struct wish){0};
        if (!lexer_advance(reading->lexer) || !find_input(reading, &wish->input))
            return false;
        do
            if (!read_wish_word(reading, wish, &found))
                return false;
        while (found);
        if (!wish->properties && !wish->traits)
            return lexer_expected(reading->lexer, "what the input has to be", NULL);
        n++;
    } while (lexer_at_symbol(reading->lexer, ','));
    rule->wishes = parser_keep(reading->parser, wishes, n, sizeof *wishes);
    rule->n_wishes = n;
    return rule->wishes != NULL;
}

bool parser_rule(struct parser *parser, bool may_fail)
{
    struct reading reading = {parser, &parser->lexer, parser->problem};
    uint32_t offset = parser->lexer.token.offset;
    struct abstract *abstract = parser->abstract;
    if (!abstract)
        return lexer_fail(&parser->lexer, offset, "rules (take, try) belong to an abstract problem");
    if (abstract->n_rules == ABSTRACT_MAX_RULES)
        return lexer_fail(&parser->lexer, offset, "an abstract problem has at most %d rules",
                          ABSTRACT_MAX_RULES);
    struct rule *rule = &abstract->rules[abstract->n_rules++];
    *rule = (struct rule){.may_fail = may_fail, .line = parser->lexer.token.line};
    if (!read_steps(&reading, rule, offset))
        return false;
    return !lexer_at_name(&parser->lexer, "when") || read_wishes(&reading, rule);
}

bool parser_rival(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    const struct abstract *abstract = parser->abstract;
    const bool may_fail = lexer_at_name(lexer, "try");
    if (abstract && abstract->n_rules == 0)
        return lexer_fail(lexer, lexer->token.offset, "or: expected a rule before it that it competes with");
    if (!may_fail && !lexer_at_name(lexer, "take"))
        return lexer_expected(lexer, "take or try behind or", NULL);
    if (!lexer_advance(lexer) || !parser_rule(parser, may_fail))
        return false;
    parser->abstract->rules[parser->abstract->n_rules - 1].rivals = true;
    return true;
}

bool parser_begin_abstract(struct parser *parser)
{
    struct abstract *abstract = arena_alloc(parser->arena, sizeof *abstract);
    struct rule *rules = arena_alloc(parser->arena, ABSTRACT_MAX_RULES * sizeof *rules);
    if (!abstract || !rules)
        return lexer_no_memory(&parser->lexer);
    *abstract = (struct abstract){.rules = rules};
    parser->abstract = abstract;
    parser->problem->abstract = abstract;
    return true;
}

bool parser_check_abstract(struct parser *parser)
{
    const struct problem *problem = parser->problem;
    const struct abstract *abstract = problem->abstract;
    if (!abstract)
        return true;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if ((argument->mode != MODE_IN && argument->mode != MODE_OUT) || argument->storage != STORAGE_FULL ||
            base_type_is_variable(argument->type) || argument->n_dims > 2 ||
            (argument->properties & PROPERTY_ROW_MAJOR))
            return lexer_fail(&parser->lexer, argument->offset,
                              "'%s' of the abstract problem '%s': expected numbers that go in or out, stored "
                              "in full by columns",
                              argument->name, problem->name);
    }
    return abstract->n_rules ||
           lexer_fail(&parser->lexer, parser->problem_offset,
                      "the abstract problem '%s' has no rule: take PROBLEM", problem->name);
}
