/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading abstract problems:
 *
 *   abstract solve "Solve A X = B"
 *       in      A "the matrix", B "right-hand sides"
 *       out     X "the solution"
 *       try     ?posv giving X = B when A symmetric positive-definite
 *       take    ?gesv giving X = B when A square
 *       take    ?gels giving X = B
 */
#include "core/abstract.h"
#include "core/problem_parser.h"

#include <stdlib.h>
#include <string.h>

/* One abstract problem being read. */
struct reading {
    struct parser *parser;
    struct lexer *lexer;
    struct abstract *abstract;
    struct rule rules[ABSTRACT_MAX_RULES];
};

static bool take_text(struct reading *reading, const char **text)
{
    if (reading->lexer->token.kind != TOKEN_STRING)
        return lexer_expected(reading->lexer, "a text in quotes", NULL);
    *text = lexer_token_text(reading->lexer, reading->parser->arena);
    return *text && lexer_advance(reading->lexer);
}

static bool take_name(struct reading *reading, const char *what, const char **name)
{
    return parser_name(reading->parser, what, name);
}

/* The names behind `in` or `out`, each with a text if wanted. */
static bool read_names(struct reading *reading, const char **names, uint32_t *n)
{
    struct lexer *lexer = reading->lexer;
    const char *unused;
    do {
        if (*n == ABSTRACT_MAX_NAMES)
            return lexer_fail(lexer, lexer->token.offset,
                              "an abstract problem has at most %d inputs or outputs", ABSTRACT_MAX_NAMES);
        if (!lexer_advance(lexer) || !take_name(reading, "the name of an input or output", &names[*n]))
            return false;
        ++*n;
        if (lexer->token.kind == TOKEN_STRING && !take_text(reading, &unused))
            return false;
    } while (lexer_at_symbol(lexer, ','));
    return true;
}

static bool find_name(struct reading *reading, const char *const *names, uint32_t n, const char *what,
                      uint32_t *index)
{
    for (*index = 0; *index < n; ++*index)
        if (lexer_at_name(reading->lexer, names[*index]))
            return lexer_advance(reading->lexer);
    return lexer_expected_word(reading->lexer, what, names, n);
}

/* left = right {, left = right} */
static bool read_pairs(struct reading *reading, const char *left, const char *right, struct pair **pairs,
                       uint32_t *n, bool inner_first)
{
    struct lexer *lexer = reading->lexer;
    struct pair read[ABSTRACT_MAX_PAIRS];
    *n = 0;
    do {
        const char *first, *second;
        if (*n == ABSTRACT_MAX_PAIRS)
            return lexer_fail(lexer, lexer->token.offset, "at most %d names can be replaced",
                              ABSTRACT_MAX_PAIRS);
        if (!lexer_advance(lexer) || !take_name(reading, left, &first) ||
            !lexer_take_symbol(lexer, '=', "'='") || !take_name(reading, right, &second))
            return false;
        read[(*n)++] = inner_first ? (struct pair){first, second} : (struct pair){second, first};
    } while (lexer_at_symbol(lexer, ','));
    *pairs = parser_keep(reading->parser, read, *n, sizeof *read);
    return *pairs != NULL;
}

/* A name that may hold '?', which is a token of its own. */
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

static bool read_step(struct reading *reading, struct step *step)
{
    *step = (struct step){0};
    if (!read_problem_name(reading, &step->problem))
        return false;
    if (!lexer_at_symbol(reading->lexer, '('))
        return true;
    return read_pairs(reading, "the name of an argument of the problem", "what it is called here",
                      &step->renamed, &step->n_renamed, true) &&
           lexer_take_symbol(reading->lexer, ')', "',' or ')'");
}

static bool read_steps(struct reading *reading, struct rule *rule)
{
    struct step steps[ABSTRACT_MAX_STEPS];
    uint32_t n = 0;
    do {
        if (n == ABSTRACT_MAX_STEPS)
            return lexer_fail(reading->lexer, reading->lexer->token.offset, "a rule has at most %d steps",
                              ABSTRACT_MAX_STEPS);
        if (!lexer_advance(reading->lexer) || !read_step(reading, &steps[n++]))
            return false;
    } while (lexer_at_name(reading->lexer, "then"));
    rule->steps = parser_keep(reading->parser, steps, n, sizeof *steps);
    rule->n_steps = n;
    return rule->steps != NULL;
}

static const char *const trait_words[] = {"real", "complex", "single", "double", "square",
                                          "tall", "wide",    "vector", "sparse"};
#define N_TRAITS (sizeof trait_words / sizeof *trait_words)

/* One word behind an input's name; *found is false at anything else. */
static bool read_wish_word(struct reading *reading, struct wish *wish, bool *found)
{
    struct lexer *lexer = reading->lexer;
    *found = false;
    if (lexer->token.kind != TOKEN_NAME)
        return true;
    if (!lexer_reread_word(lexer, true))
        return false;
    for (unsigned bit = 0; bit < N_TRAITS && !*found; bit++)
        if (lexer_at_name(lexer, trait_words[bit])) {
            wish->traits |= 1U << bit;
            *found = true;
        }
    for (unsigned bit = 0; property_name(bit) && !*found; bit++)
        if (lexer_at_name(lexer, property_name(bit))) {
            wish->properties |= 1U << bit;
            *found = true;
        }
    if (*found)
        return lexer_advance(lexer);
    return lexer_expected_word(
        lexer, "a property or one of real, complex, single, double, square, tall, wide, vector, sparse",
        trait_words, N_TRAITS);
}

static bool read_wishes(struct reading *reading, struct rule *rule)
{
    struct wish wishes[ABSTRACT_MAX_NAMES];
    uint32_t n = 0;
    do {
        bool found;
        struct wish *wish = &wishes[n];
        if (n == ABSTRACT_MAX_NAMES)
            return lexer_fail(reading->lexer, reading->lexer->token.offset,
                              "a rule has at most %d conditions", ABSTRACT_MAX_NAMES);
        *wish = (struct wish){0};
        if (!lexer_advance(reading->lexer) ||
            !find_name(reading, reading->abstract->inputs, reading->abstract->n_inputs,
                       "the name of an input", &wish->input))
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

static bool check_results(struct reading *reading, const struct rule *rule, uint32_t offset)
{
    const struct abstract *abstract = reading->abstract;
    for (uint32_t i = 0; i < rule->n_results; i++) {
        uint32_t k = 0;
        while (k < abstract->n_outputs && strcmp(abstract->outputs[k], rule->results[i].outer) != 0)
            k++;
        if (k == abstract->n_outputs)
            return lexer_fail(reading->lexer, offset, "'%s' is no output of %s", rule->results[i].outer,
                              abstract->name);
    }
    return true;
}

/* take / try STEP {then STEP} [giving ...] [when ...] */
static bool read_rule(struct reading *reading, bool may_fail)
{
    struct lexer *lexer = reading->lexer;
    uint32_t offset = lexer->token.offset;
    struct abstract *abstract = reading->abstract;
    if (abstract->n_rules == ABSTRACT_MAX_RULES)
        return lexer_fail(lexer, offset, "an abstract problem has at most %d rules", ABSTRACT_MAX_RULES);
    struct rule *rule = &reading->rules[abstract->n_rules++];
    *rule = (struct rule){.may_fail = may_fail, .line = lexer->token.line};
    if (!read_steps(reading, rule))
        return false;
    if (lexer_at_name(lexer, "giving") && (!read_pairs(reading, "an output", "the argument that it is",
                                                       &rule->results, &rule->n_results, false) ||
                                           !check_results(reading, rule, offset)))
        return false;
    return !lexer_at_name(lexer, "when") || read_wishes(reading, rule);
}

static bool read_line(struct reading *reading)
{
    static const char *const words[] = {"text", "gams", "in", "out", "take", "try"};
    struct lexer *lexer = reading->lexer;
    struct abstract *abstract = reading->abstract;
    if (lexer_at_name(lexer, "text"))
        return lexer_advance(lexer) && take_text(reading, &abstract->text);
    if (lexer_at_name(lexer, "gams")) {
        if (!lexer_advance(lexer))
            return false;
        if (lexer->token.kind != TOKEN_NAME)
            return lexer_expected(lexer, "a GAMS class, as D2a1", NULL);
        abstract->gams = lexer_token_text(lexer, reading->parser->arena);
        return abstract->gams && lexer_advance(lexer);
    }
    if (lexer_at_name(lexer, "in"))
        return read_names(reading, abstract->inputs, &abstract->n_inputs);
    if (lexer_at_name(lexer, "out"))
        return read_names(reading, abstract->outputs, &abstract->n_outputs);
    if (lexer_at_name(lexer, "take") || lexer_at_name(lexer, "try"))
        return read_rule(reading, lexer_at_name(lexer, "try"));
    return lexer_expected_word(lexer, "text, gams, in, out, take or try", words, 6);
}

static bool keep_abstract(struct reading *reading)
{
    struct parser *parser = reading->parser;
    struct abstract *abstract = reading->abstract;
    abstract->rules = parser_keep(parser, reading->rules, abstract->n_rules, sizeof *reading->rules);
    if (!abstract->rules)
        return false;
    size_t n = parser->n_abstracts;
    if ((n & (n - 1)) == 0) { /* full at each power of two */
        struct abstract **larger = realloc(parser->abstracts, (n ? 2 * n : 1) * sizeof(struct abstract *));
        if (!larger)
            return lexer_no_memory(reading->lexer);
        parser->abstracts = larger;
    }
    parser->abstracts[parser->n_abstracts++] = abstract;
    return true;
}

static bool begin_abstract(struct reading *reading)
{
    struct parser *parser = reading->parser;
    struct abstract *abstract = arena_alloc(parser->arena, sizeof *abstract);
    if (!abstract)
        return lexer_no_memory(reading->lexer);
    *abstract =
        (struct abstract){.text = "", .gams = "", .file = parser->file, .line = reading->lexer->token.line};
    reading->abstract = abstract;
    uint32_t offset;
    if (!lexer_advance(reading->lexer))
        return false;
    offset = reading->lexer->token.offset;
    if (!take_name(reading, "the name of the abstract problem", &abstract->name) ||
        !take_text(reading, &abstract->title))
        return false;
    for (size_t i = 0; i < parser->n_abstracts; i++)
        if (strcmp(parser->abstracts[i]->name, abstract->name) == 0)
            return lexer_fail(reading->lexer, offset, "the problem '%s' is described already in %s:%u",
                              abstract->name, parser->abstracts[i]->file, parser->abstracts[i]->line);
    return true;
}

bool parser_abstract(struct parser *parser)
{
    struct reading *reading = calloc(1, sizeof *reading);
    if (!reading)
        return lexer_no_memory(&parser->lexer);
    reading->parser = parser;
    struct lexer *lexer = reading->lexer = &parser->lexer;
    bool read = begin_abstract(reading) &&
                (lexer_at_line_end(lexer) || lexer_expected(lexer, "the end of the line", NULL));
    while (read && lexer->token.kind == TOKEN_NEWLINE) {
        read = lexer_advance(lexer);
        if (!read || lexer->token.kind == TOKEN_END || lexer_at_name(lexer, "problem") ||
            lexer_at_name(lexer, "abstract"))
            break;
        read = read_line(reading) &&
               (lexer_at_line_end(lexer) || lexer_expected(lexer, "the end of the line", NULL));
    }
    if (read && (reading->abstract->n_rules == 0 || reading->abstract->n_inputs == 0))
        read =
            lexer_fail(lexer, lexer->token.offset, "the abstract problem '%s' has no %s",
                       reading->abstract->name, reading->abstract->n_inputs ? "rule: take PROBLEM" : "input");
    read = read && keep_abstract(reading);
    free(reading);
    return read;
}
