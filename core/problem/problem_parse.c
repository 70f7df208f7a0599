/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/problem_parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first word of a line determines its clause. */
enum part { PART_PROBLEM, PART_SIGNATURE, PART_IMPLEMENTATION };

struct clause {
    const char *name;
    enum part part;
    bool once; /* at most once in a problem */
    bool (*read)(struct parser *parser);
};

static bool read_text(struct parser *parser, size_t most, const char *what, const char **text)
{
    const struct token *token = &parser->lexer.token;
    if (token->kind != TOKEN_STRING)
        return lexer_expected(&parser->lexer, what, NULL);
    if (token->length - 2 > most)
        return lexer_fail(&parser->lexer, token->offset, "a text here has at most %zu bytes, this one has %u",
                          most, token->length - 2);
    *text = lexer_token_text(&parser->lexer, parser->arena);
    return *text && lexer_advance(&parser->lexer);
}

/* Detects a name with '?' or words in braces but without `for`, where the lexer's own error would not
 * help. */
static bool is_family_without_members(const struct lexer *lexer)
{
    return lexer_at_symbol(lexer, '?') || lexer_at_symbol(lexer, '{');
}

/* Reads MODULE/ENTRY, as clients of Ninf-G name problems. The lexer is after the first part. */
static bool read_entry(struct parser *parser, const char **name)
{
    struct lexer *lexer = &parser->lexer;
    if (!lexer_at_symbol(lexer, '/'))
        return true;
    if (!lexer_advance(lexer))
        return false;
    if (lexer->token.kind != TOKEN_NAME)
        return lexer_expected(lexer, "the name of the entry, as in: problem module/entry", NULL);
    const uint32_t offset = lexer->token.offset;
    const char *entry = lexer_token_text(lexer, parser->arena);
    if (!entry)
        return false;
    const size_t length = strlen(*name) + 1 + strlen(entry);
    if (length > PROBLEM_MAX_NAME)
        return lexer_fail(lexer, offset, "a name has at most %d characters, this one has %zu",
                          PROBLEM_MAX_NAME, length);
    char *whole = arena_alloc(parser->arena, length + 1);
    if (!whole)
        return lexer_no_memory(lexer);
    sprintf(whole, "%s/%s", *name, entry);
    *name = whole;
    return lexer_advance(lexer);
}

static bool read_problem_name(struct parser *parser)
{
    static const char hint[] = "a family names its members: problem ?gesv for s, d, c, z";
    struct lexer *lexer = &parser->lexer;
    parser->problem_offset = lexer->token.offset;
    parser->problem->column = lexer_column(lexer, lexer->token.offset);
    if (is_family_without_members(lexer))
        return lexer_expected(lexer, "the name of the problem", hint);
    if (!parser_name(parser, "the name of the problem", &parser->problem->name) ||
        !read_entry(parser, &parser->problem->name))
        return false;
    if (is_family_without_members(lexer))
        return lexer_expected(lexer, "the title of the problem in quotes", hint);
    /* Skip the members, which were read before. */
    while (parser->family && lexer->token.kind != TOKEN_STRING && !lexer_at_line_end(lexer))
        if (!lexer_advance(lexer))
            return false;
    return true;
}

static bool read_title(struct parser *parser)
{
    uint32_t offset = parser->lexer.token.offset;
    const char *title;
    if (!read_text(parser, MAX_TITLE, "the title of the problem in quotes", &title))
        return false;
    parser->problem->title = title;
    return title[strspn(title, " ")] ||
           lexer_fail(&parser->lexer, offset, "a problem needs a title: one line that says what it does");
}

static bool read_problem(struct parser *parser)
{
    struct problem *problem = arena_alloc(parser->arena, sizeof *problem);
    if (!problem)
        return lexer_no_memory(&parser->lexer);
    problem->line = parser->lexer.line;
    problem->file = parser->file;
    problem->folder = parser->folder;
    problem->idempotent = true;
    problem->text = problem->gams = "";
    problem->arguments = parser->arguments;
    problem->preconditions = parser->preconditions;
    problem->implementations = parser->implementations;
    parser->problem = problem;
    parser->implementation = NULL;
    parser->abstract = NULL;
    parser->pending = NULL;
    parser->solves = NULL;
    parser->text_length = 0;
    parser->last_pending = &parser->pending;
    memset(parser->clause_line, 0, sizeof parser->clause_line);
    return read_problem_name(parser) && read_title(parser);
}

static bool read_abstract(struct parser *parser)
{
    return read_problem(parser) && parser_begin_abstract(parser);
}

static bool read_take(struct parser *parser)
{
    return parser_rule(parser, false);
}

static bool read_try(struct parser *parser)
{
    return parser_rule(parser, true);
}

static bool read_or(struct parser *parser)
{
    return parser_rival(parser);
}

/* Several text clauses are lines of one text; they are collected in the scratch buffer. */
static bool read_description(struct parser *parser)
{
    const char *text;
    uint32_t offset = parser->lexer.token.offset;
    if (!read_text(parser, PROBLEM_MAX_TEXT, "a text in quotes", &text))
        return false;
    size_t n = strlen(text), separator = parser->text_length > 0;
    if (parser->text_length + separator + n >= sizeof parser->scratch)
        return lexer_fail(&parser->lexer, offset, "the texts of one problem have at most %d bytes",
                          PROBLEM_MAX_TEXT);
    char *at = parser->scratch + parser->text_length;
    memcpy(at, "\n", separator);
    memcpy(at + separator, text, n);
    parser->text_length += separator + n;
    return true;
}

static bool keep_description(struct parser *parser)
{
    parser->scratch[parser->text_length] = 0;
    parser->problem->text = parser_keep(parser, parser->scratch, parser->text_length + 1, 1);
    return parser->problem->text != NULL;
}

/* Whether the name is a capital letter, then alternately a number and a small letter: D, D2, D2a, D2a1. */
static bool is_gams_class(const char *name, uint32_t length)
{
    bool letter = true; /* stands there */
    if (name[0] < 'A' || name[0] > 'Z')
        return false;
    for (uint32_t i = 1; i < length; i++) {
        bool digit = name[i] >= '0' && name[i] <= '9';
        if (!digit && (letter || name[i] < 'a' || name[i] > 'z'))
            return false;
        letter = !digit;
    }
    return true;
}

static bool read_gams(struct parser *parser)
{
    const struct token *token = &parser->lexer.token;
    if (token->kind != TOKEN_NAME || token->length > 16 ||
        !is_gams_class(parser->lexer.text + token->offset, token->length))
        return lexer_expected(&parser->lexer, "a GAMS class, as D2a1", NULL);
    parser->problem->gams = lexer_token_text(&parser->lexer, parser->arena);
    return parser->problem->gams && lexer_advance(&parser->lexer);
}

static bool read_in(struct parser *parser)
{
    return parser_declare(parser, MODE_IN);
}

static bool read_out(struct parser *parser)
{
    return parser_declare(parser, MODE_OUT);
}

static bool read_inout(struct parser *parser)
{
    return parser_declare(parser, MODE_INOUT);
}

/* Two names in a row cannot begin an expression, so the first one must be a type. */
static bool is_misspelt_type(struct lexer ahead)
{
    struct esp_error unused;
    ahead.error = &unused;
    return ahead.token.kind == TOKEN_NAME && lexer_advance(&ahead) && ahead.token.kind == TOKEN_NAME &&
           !lexer_at_name(&ahead, "and") && !lexer_at_name(&ahead, "or");
}

/* `work double w[n]` declares a work array, `work 2*n` gives the cost: types are reserved words. */
static bool read_work(struct parser *parser)
{
    enum base_type type;
    bool is_type;
    struct lexer before = parser->lexer;
    if (!parser_type(parser, &type, &is_type))
        return false;
    parser->lexer = before;
    if (is_type || is_misspelt_type(before))
        return parser_declare(parser, MODE_WORK);
    if (parser->problem->work)
        return lexer_fail(&parser->lexer, before.token.offset, "'work' was given already in line %u",
                          parser->cost_line);
    parser->cost_line = before.token.line;
    return parser_expression(parser, USAGE_COST, &parser->problem->work);
}

static bool read_memory(struct parser *parser)
{
    return parser_expression(parser, USAGE_COST, &parser->problem->memory);
}

static bool read_idempotent(struct parser *parser)
{
    bool yes = lexer_at_name(&parser->lexer, "yes");
    if (!yes && !lexer_at_name(&parser->lexer, "no"))
        return lexer_expected(&parser->lexer, "yes or no", NULL);
    parser->problem->idempotent = yes;
    return lexer_advance(&parser->lexer);
}

static bool read_checkpoint(struct parser *parser)
{
    parser->checkpoint_offset = parser->lexer.token.offset;
    bool yes = lexer_at_name(&parser->lexer, "yes");
    if (!yes && !lexer_at_name(&parser->lexer, "no"))
        return lexer_expected(&parser->lexer, "yes or no", NULL);
    parser->problem->checkpoint = yes;
    return lexer_advance(&parser->lexer);
}

static bool read_require(struct parser *parser)
{
    struct problem *problem = parser->problem;
    uint32_t first = problem->n_preconditions;
    for (;;) {
        if (problem->n_preconditions == MAX_PRECONDITIONS)
            return lexer_fail(&parser->lexer, parser->lexer.token.offset,
                              "a problem has at most %d preconditions", MAX_PRECONDITIONS);
        struct precondition *precondition = &parser->preconditions[problem->n_preconditions++];
        precondition->message = (struct failure_text){0};
        if (!parser_expression(parser, USAGE_REQUIRE, &precondition->condition))
            return false;
        if (!lexer_at_symbol(&parser->lexer, ','))
            break;
        if (!lexer_advance(&parser->lexer))
            return false;
    }
    if (lexer_at_line_end(&parser->lexer))
        return true;
    struct failure_text message;
    if (parser->lexer.token.kind != TOKEN_STRING)
        return lexer_expected(&parser->lexer, "an operator, ',', a message in quotes or the end of the line",
                              NULL);
    if (!parser_message(parser, USAGE_REQUIRE, &message))
        return false;
    for (; first < problem->n_preconditions; first++)
        parser->preconditions[first].message = message;
    return true;
}

static bool read_solves(struct parser *parser)
{
    return parser_solves(parser, false);
}

static bool read_fits(struct parser *parser)
{
    return parser_solves(parser, true);
}

static bool read_fortran(struct parser *parser)
{
    return parser_call(parser, CONVENTION_FORTRAN);
}

static bool read_c(struct parser *parser)
{
    return parser_call(parser, CONVENTION_C);
}

static bool read_file(struct parser *parser)
{
    return parser_command_file(parser, STREAM_FILE);
}

static bool read_stdin(struct parser *parser)
{
    return parser_command_file(parser, STREAM_INPUT);
}

static bool read_stdout(struct parser *parser)
{
    return parser_command_file(parser, STREAM_OUTPUT);
}

static const struct clause clauses[] = {
    {"problem", PART_PROBLEM, false, read_problem},
    {"abstract", PART_PROBLEM, false, read_abstract},
    {"take", PART_SIGNATURE, false, read_take},
    {"try", PART_SIGNATURE, false, read_try},
    {"or", PART_SIGNATURE, false, read_or},
    {"text", PART_SIGNATURE, false, read_description},
    {"gams", PART_SIGNATURE, true, read_gams},
    {"in", PART_SIGNATURE, false, read_in},
    {"out", PART_SIGNATURE, false, read_out},
    {"inout", PART_SIGNATURE, false, read_inout},
    {"callback", PART_SIGNATURE, false, parser_callback},
    {"require", PART_SIGNATURE, false, read_require},
    {"solves", PART_SIGNATURE, true, read_solves},
    {"fits", PART_SIGNATURE, true, read_fits},
    {"work", PART_SIGNATURE, false, read_work},
    {"memory", PART_SIGNATURE, true, read_memory},
    {"idempotent", PART_SIGNATURE, true, read_idempotent},
    {"checkpoint", PART_SIGNATURE, true, read_checkpoint},
    {"implementation", PART_SIGNATURE, false, parser_implementation},
    {"fortran", PART_IMPLEMENTATION, false, read_fortran},
    {"c", PART_IMPLEMENTATION, false, read_c},
    {"parallel", PART_IMPLEMENTATION, false, parser_parallel},
    {"spread", PART_IMPLEMENTATION, false, parser_spread},
    {"suits", PART_IMPLEMENTATION, false, parser_suits},
    {"command", PART_IMPLEMENTATION, false, parser_command},
    {"file", PART_IMPLEMENTATION, false, read_file},
    {"stdin", PART_IMPLEMENTATION, false, read_stdin},
    {"stdout", PART_IMPLEMENTATION, false, read_stdout},
    {"limit", PART_IMPLEMENTATION, false, parser_limit},
    {"error", PART_IMPLEMENTATION, false, parser_error_clause},
    {"note", PART_IMPLEMENTATION, false, parser_note_clause},
    {"success", PART_IMPLEMENTATION, false, parser_success_clause},
};
#define N_CLAUSES (sizeof clauses / sizeof *clauses)
_Static_assert(N_CLAUSES <= sizeof((struct parser *)0)->clause_line / sizeof(unsigned),
               "a line for each clause");

void *parser_keep(struct parser *parser, const void *items, size_t n, size_t size)
{
    void *kept = arena_memdup(parser->arena, items, n * size);
    if (!kept)
        lexer_no_memory(&parser->lexer);
    return kept;
}

static bool add_problem(struct parser *parser, struct problem *problem)
{
    if (parser->n_problems == parser->size_problems) {
        size_t size = parser->size_problems ? 2 * parser->size_problems : 8;
        struct problem **larger = realloc(parser->problems, size * sizeof(struct problem *));
        if (!larger)
            return lexer_no_memory(&parser->lexer);
        parser->problems = larger;
        parser->size_problems = size;
    }
    parser->problems[parser->n_problems++] = problem;
    return true;
}

/* A repeated attempt gets the arguments of the first one, and the client is not asked before it. */
static bool check_checkpoint(struct parser *parser)
{
    const struct problem *problem = parser->problem;
    const char *why = NULL;
    for (uint32_t i = 0; i < problem->n_arguments && !why; i++)
        if (parser->arguments[i].mode == MODE_INOUT)
            why = "has an inout argument, which its first attempt may have overwritten: use in and out";
        else if (parser->arguments[i].type == TYPE_STATE)
            why = "has a state, which does not outlive a crash";
    if (!problem->idempotent)
        why = "is not idempotent, and may not be called again";
    return !problem->checkpoint || !why ||
           lexer_fail(&parser->lexer, parser->checkpoint_offset, "checkpoint: '%s' %s", problem->name, why);
}

/* Completes the signature at the first implementation, the next problem or the end of the text. */
static bool end_signature(struct parser *parser)
{
    return keep_description(parser) && parser_resolve_pending(parser) && parser_end_callbacks(parser) &&
           parser_check_arguments(parser) && parser_check_solves(parser) && parser_check_constants(parser) &&
           parser_check_abstract(parser) && check_checkpoint(parser) && parser_write_source(parser);
}

bool parser_end_problem(struct parser *parser)
{
    struct problem *problem = parser->problem;
    if (!problem)
        return true;
    if (problem->n_implementations == 0 ? !end_signature(parser) : !parser_end_implementation(parser))
        return false;
    problem->arguments =
        parser_keep(parser, parser->arguments, problem->n_arguments, sizeof *problem->arguments);
    problem->preconditions =
        parser_keep(parser, parser->preconditions, problem->n_preconditions, sizeof *problem->preconditions);
    problem->implementations = parser_keep(parser, parser->implementations, problem->n_implementations,
                                           sizeof *problem->implementations);
    if (!problem->arguments || !problem->preconditions || !problem->implementations)
        return false;
    parser->problem = NULL;
    return add_problem(parser, problem);
}

/* Fails with the words that a line may begin with here. */
static bool expected_clause(struct parser *parser)
{
    if (!parser->problem) {
        static const char *const only[] = {"problem"};
        return lexer_expected_word(&parser->lexer, "'problem'", only, 1);
    }
    const char *words[N_CLAUSES];
    for (size_t i = 0; i < N_CLAUSES; i++)
        words[i] = clauses[i].name;
    return lexer_expected_word(
        &parser->lexer,
        parser->implementation
            ? "'fortran', 'c', 'parallel', 'command', 'limit', 'error', 'note', 'implementation' or 'problem'"
            : "a clause (in, out, inout, work, require, ...)",
        words, N_CLAUSES);
}

static bool clause_fits(struct parser *parser, const struct clause *clause)
{
    const struct lexer *lexer = &parser->lexer;
    if (clause->part == PART_PROBLEM)
        return true;
    if (!parser->problem)
        return lexer_expected(lexer, "'problem'", "a description begins with: problem NAME \"title\"");
    bool starts = clause->read == parser_implementation;
    if (starts && parser->abstract)
        return lexer_fail(lexer, lexer->token.offset,
                          "an abstract problem has rules (take PROBLEM), no implementation");
    if (clause->part == PART_IMPLEMENTATION && !parser->implementation)
        return lexer_fail(lexer, lexer->token.offset, "'%s' belongs behind an 'implementation NAME' line",
                          clause->name);
    if (clause->part == PART_SIGNATURE && parser->implementation && !starts)
        return lexer_fail(lexer, lexer->token.offset, "'%s' belongs before the first implementation",
                          clause->name);
    unsigned *line = &parser->clause_line[clause - clauses];
    if (clause->once && *line)
        return lexer_fail(lexer, lexer->token.offset, "'%s' was given already in line %u", clause->name,
                          *line);
    *line = lexer->token.line;
    return true;
}

static bool end_line(struct parser *parser)
{
    if (!lexer_at_line_end(&parser->lexer))
        return lexer_expected(&parser->lexer, "the end of the line", NULL);
    return parser->lexer.token.kind == TOKEN_END || lexer_advance(&parser->lexer);
}

/* Reads `when c or z:` before a clause of a family. */
static bool read_when(struct parser *parser, bool *holds)
{
    *holds = true;
    if (!lexer_at_name(&parser->lexer, "when"))
        return true;
    if (!parser->family)
        return lexer_fail(&parser->lexer, parser->lexer.token.offset,
                          "'when' chooses members of a family: problem ?gesv for s, d, c, z");
    if (!parser_when(parser, holds))
        return false;
    while (!*holds && !lexer_at_line_end(&parser->lexer))
        if (!lexer_advance(&parser->lexer))
            return false;
    return true;
}

static bool read_clause(struct parser *parser)
{
    bool holds;
    if (!read_when(parser, &holds))
        return false;
    if (!holds)
        return end_line(parser);
    size_t i = 0;
    while (i < N_CLAUSES && !lexer_at_name(&parser->lexer, clauses[i].name))
        i++;
    if (i == N_CLAUSES)
        return expected_clause(parser);
    const struct clause *clause = &clauses[i];
    if (!clause_fits(parser, clause))
        return false;
    if (clause->part == PART_PROBLEM && !parser_end_problem(parser))
        return false;
    if (clause->read == parser_implementation && !parser->implementation && !end_signature(parser))
        return false;
    return lexer_advance(&parser->lexer) && clause->read(parser) && end_line(parser);
}

/* Reads a clause within the size limit of one problem, however many a file has. *start is the beginning of
 * the problem. */
static bool read_bounded_clause(struct parser *parser, uint32_t *start)
{
    const struct problem *before = parser->problem;
    uint32_t offset = parser->lexer.token.offset;
    if (!read_clause(parser))
        return false;
    if (parser->problem != before)
        *start = offset;
    if (parser->lexer.token.offset - *start <= PROBLEM_MAX_TEXT)
        return true;
    return lexer_fail(&parser->lexer, *start, "the description of one problem has at most %d bytes",
                      PROBLEM_MAX_TEXT);
}

bool parser_read_clauses(struct parser *parser)
{
    uint32_t start = 0;
    while (parser->lexer.token.kind != TOKEN_END) {
        bool starts = lexer_at_name(&parser->lexer, "problem") || lexer_at_name(&parser->lexer, "abstract");
        bool family = !parser->family && starts && family_is_here(&parser->lexer);
        if (family ? !parser_end_problem(parser) || !parser_family(parser)
                   : !read_bounded_clause(parser, &start))
            return false;
    }
    return true;
}

/* Finds the beginning of the next problem by its line alone, because the text before it is malformed.
 * Returns 0 when there is none. */
static uint32_t next_problem(const struct lexer *lexer, uint32_t from)
{
    static const char *const words[] = {"problem ", "abstract "};
    for (uint32_t i = from; i < lexer->length; i++)
        for (unsigned w = 0; i > 0 && lexer->text[i - 1] == '\n' && w < 2; w++) {
            size_t n = strlen(words[w]);
            if (lexer->length - i >= n && memcmp(lexer->text + i, words[w], n) == 0)
                return i;
        }
    return 0;
}

bool parser_can_resume(const struct parser *parser)
{
    return next_problem(&parser->lexer, parser->lexer.token.offset) > parser->resumed;
}

bool parser_resume(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    uint32_t at = next_problem(lexer, lexer->token.offset);
    struct lexer next = {
        .text = lexer->text, .length = lexer->length, .file = lexer->file, .error = lexer->error};
    next.line = 1;
    for (uint32_t i = 0; i < at; i++)
        next.line += next.text[i] == '\n';
    next.position = parser->resumed = at;
    *lexer = next;
    parser->problem = NULL;
    parser->family = NULL;
    parser->implementation = NULL;
    /* The line end before the problem is a token of its own. */
    if (!lexer_advance(lexer) || (lexer->token.kind == TOKEN_NEWLINE && !lexer_advance(lexer)))
        return false;
    return parser_read_clauses(parser) && parser_end_problem(parser);
}

bool parser_read(struct parser *parser, const char *text, size_t length, struct esp_error *error)
{
    parser->problem = NULL;
    parser->family = NULL;
    parser->implementation = NULL;
    parser->lexer = (struct lexer){.text = ""};
    parser->resumed = 0;
    if (length > PROBLEM_MAX_FILE) {
        error_set(error, ESP_SYNTAX, "%s: a description file has at most %d bytes, this one has %zu",
                  parser->file, PROBLEM_MAX_FILE, length);
        return false;
    }
    if (!lexer_open(&parser->lexer, text, length, parser->file, error))
        return false;
    size_t before = parser->n_problems;
    if (!parser_read_clauses(parser))
        return false;
    if (!parser->problem && parser->n_problems == before)
        return lexer_expected(&parser->lexer, "'problem'",
                              "a description begins with: problem NAME \"title\"");
    return parser_end_problem(parser);
}
