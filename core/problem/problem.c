/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/problem.h"
#include "core/problem/abstract.h"
#include "core/problem/expr.h"
#include "core/problem/problem_parser.h"
#include "core/problem/problem_solves.h"
#include "core/problem/section.h"
#include "util/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
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

/* Finds the members of a family and the end of its text, and reads the text once for each member. */

enum base_type family_type(const struct family *family, bool real)
{
    enum base_type type = family->members[family->present].type;
    if (!real)
        return type;
    return type == TYPE_COMPLEX ? TYPE_FLOAT : type == TYPE_DOUBLE_COMPLEX ? TYPE_DOUBLE : type;
}

/* Advances to the word `for` of the line, after the name of the problem. */
static bool find_for(struct lexer *lexer)
{
    if (!lexer_advance(lexer))
        return false;
    while (!lexer_at_line_end(lexer) && lexer->token.kind != TOKEN_STRING) {
        if (!lexer_advance(lexer))
            return false;
        if (lexer_at_name(lexer, "for"))
            return true;
    }
    return false;
}

bool family_is_here(const struct lexer *lexer)
{
    struct lexer ahead = *lexer;
    struct esp_error unused;
    ahead.error = &unused;
    return find_for(&ahead);
}

/* The types of LAPACK's letters. */
static bool well_known_type(const char *name, enum base_type *type)
{
    static const struct {
        const char *name;
        enum base_type type;
    } letters[] = {{"s", TYPE_FLOAT}, {"d", TYPE_DOUBLE}, {"c", TYPE_COMPLEX}, {"z", TYPE_DOUBLE_COMPLEX}};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (strcmp(letters[i].name, name) == 0) {
            *type = letters[i].type;
            return true;
        }
    return false;
}

/* NAME [type] */
static bool read_member(struct parser *parser, struct family *family)
{
    struct lexer *lexer = &parser->lexer;
    const struct token *token = &lexer->token;
    uint32_t offset = token->offset;
    if (token->kind != TOKEN_NAME)
        return lexer_expected(lexer, "a member of the family, as in: for s, d, c, z", NULL);
    if (token->length > MAX_MEMBER_NAME)
        return lexer_fail(lexer, offset, "the name of a member has at most %d characters, this one has %u",
                          MAX_MEMBER_NAME, token->length);
    if (family->n_members == MAX_MEMBERS)
        return lexer_fail(lexer, offset, "a family has at most %d members", MAX_MEMBERS);
    struct member *member = &family->members[family->n_members];
    memcpy(member->name, lexer->text + offset, token->length);
    member->name[token->length] = 0;
    for (unsigned i = 0; i < family->n_members; i++)
        if (strcmp(family->members[i].name, member->name) == 0)
            return lexer_fail(lexer, offset, "the family has a member '%s' already", member->name);
    bool is_type;
    if (!lexer_advance(lexer) || !parser_type(parser, &member->type, &is_type))
        return false;
    if (!is_type && !well_known_type(member->name, &member->type))
        return lexer_fail(lexer, offset,
                          "the member '%s' needs a type, as in: %s double (s, d, c and z have theirs)",
                          member->name, member->name);
    if (base_type_is_variable(member->type))
        return lexer_fail(lexer, offset, "the type of a member is a number, not a %s",
                          base_type_name(member->type));
    family->n_members++;
    return true;
}

static bool read_members(struct parser *parser, struct family *family)
{
    struct lexer *lexer = &parser->lexer;
    family->n_members = 0;
    do
        if (!lexer_advance(lexer) || !read_member(parser, family))
            return false;
    while (lexer_at_symbol(lexer, ','));
    return lexer->token.kind == TOKEN_STRING ||
           lexer_expected(lexer, "',' or the title of the problem in quotes", NULL);
}

/* Advances to the next problem, or the end. */
static bool skip_family(struct lexer *lexer)
{
    while (lexer->token.kind != TOKEN_END) {
        bool new_line = lexer->token.kind == TOKEN_NEWLINE;
        if (!lexer_advance(lexer))
            return false;
        if (new_line && (lexer_at_name(lexer, "problem") || lexer_at_name(lexer, "abstract")))
            break;
    }
    return true;
}

static bool read_spelt_out(struct parser *parser, const struct lexer *source, struct lexer_origin *origin,
                           unsigned line, const struct spelling *spelling)
{
    origin->spans = spelling->spans;
    origin->n_spans = spelling->n_spans;
    return lexer_open_spelt(&parser->lexer, spelling->text, spelling->length, source, origin, line) &&
           parser_read_clauses(parser) && parser_end_problem(parser);
}

/* Whether the members' names differ. `begin` is before the name, `end` after it. */
static bool name_differs(const struct lexer *begin, uint32_t end)
{
    struct lexer name = *begin;
    for (uint32_t i = begin->token.offset; i < end; i++)
        if (begin->text[i] == '?' || begin->text[i] == '{')
            return true;
    return lexer_advance(&name) &&
           lexer_fail(
               &name, name.token.offset,
               "the name of a family has a place for that of its members: problem ?gesv for s, d, c, z");
}

bool parser_family(struct parser *parser)
{
    struct lexer begin = parser->lexer;
    struct family family;
    if (!find_for(&parser->lexer))
        return false;
    uint32_t name_end = parser->lexer.token.offset;
    if (!read_members(parser, &family) || (family.n_members > 1 && !name_differs(&begin, name_end)) ||
        !skip_family(&parser->lexer))
        return false;
    struct lexer end = parser->lexer;
    parser->family = &family;
    bool read = true;
    for (family.present = 0; read && family.present < family.n_members; family.present++) {
        struct spelling spelling;
        struct lexer_origin origin = {.member = family.members[family.present].name};
        read = spelling_make(&spelling, &family, &begin, begin.token.offset, end.token.offset) &&
               read_spelt_out(parser, &begin, &origin, begin.token.line, &spelling);
        spelling_clear(&spelling);
    }
    parser->family = NULL;
    parser->lexer = end;
    return read;
}

static bool unknown_member(struct parser *parser)
{
    const struct family *family = parser->family;
    const char *words[MAX_MEMBERS];
    char what[40 + MAX_MEMBERS * (MAX_MEMBER_NAME + 4)] = "a member of the family (";
    size_t length = strlen(what);
    for (unsigned i = 0; i < family->n_members; i++) {
        words[i] = family->members[i].name;
        length += (size_t)snprintf(what + length, sizeof what - length, "%s%s", i ? ", " : "", words[i]);
    }
    snprintf(what + length, sizeof what - length, ")");
    return lexer_expected_word(&parser->lexer, what, words, family->n_members);
}

bool parser_when(struct parser *parser, bool *holds)
{
    struct lexer *lexer = &parser->lexer;
    const struct family *family = parser->family;
    *holds = false;
    do {
        if (!lexer_advance(lexer))
            return false;
        unsigned i = 0;
        while (i < family->n_members && !lexer_at_name(lexer, family->members[i].name))
            i++;
        if (i == family->n_members)
            return unknown_member(parser);
        *holds = *holds || i == family->present;
        if (!lexer_advance(lexer))
            return false;
    } while (lexer_at_name(lexer, "or"));
    return lexer_take_symbol(lexer, ':', "'or' or ':'");
}

/* Recognises declarations in the style of Fortran or C, and suggests the form of descriptions. */

/* Words and signs of other languages, and the form of descriptions. */
static const struct {
    const char *word, *hint;
} foreign_types[] = {
    {"integer", "Fortran's INTEGER is written 'int'"},
    {"INTEGER", "Fortran's INTEGER is written 'int'"},
    {"REAL", "Fortran's REAL is written 'float', its DOUBLE PRECISION 'double'"},
    {"DOUBLE", "Fortran's DOUBLE PRECISION is written 'double'"},
    {"COMPLEX", "Fortran's COMPLEX is written 'complex', its COMPLEX*16 'double complex'"},
    {"logical", "a LOGICAL of Fortran is passed as an 'int', 0 for .FALSE. and 1 for .TRUE."},
    {"LOGICAL", "a LOGICAL of Fortran is passed as an 'int', 0 for .FALSE. and 1 for .TRUE."},
    {"character", "a text is a 'string', a single letter a 'char'"},
    {"CHARACTER", "a text is a 'string', a single letter a 'char'"},
    {"const", "'in' says that the routine does not change it: in double x[n]"},
    {"unsigned", "there are no unsigned types: 'int' has 32 bits, 'int64' has 64"},
    {"size_t", "sizes are written 'int64' (or 'int' where the routine takes 32 bits)"},
    {"int32_t", "32 bits are written 'int'"},
    {"int64_t", "64 bits are written 'int64'"},
    {"bool", "truth values are passed as an 'int', 0 or 1"},
    {"void", "a memory address that callers keep is a 'state', an array has the type of its elements"},
};

bool parser_unknown_type(const struct lexer *lexer)
{
    static const char what[] = "a type (char, short, int, long, int64, float, double, complex, ...)";
    const char *names[N_TYPES];
    for (unsigned t = 0; t < N_TYPES; t++)
        names[t] = base_type_name((enum base_type)t);
    if (lexer_at_name(lexer, "scalar"))
        return lexer_expected(lexer, "a type", "this one is for families: problem ?gesv for s, d, c, z");
    if (lexer_at_name(lexer, "real"))
        return lexer_expected(lexer, "a type",
                              "this one is for families: problem ?gesv for s, d, c, z; Fortran's REAL is "
                              "written 'float', its DOUBLE PRECISION 'double'");
    for (size_t i = 0; i < sizeof foreign_types / sizeof *foreign_types; i++)
        if (lexer_at_name(lexer, foreign_types[i].word))
            return lexer_expected(lexer, what, foreign_types[i].hint);
    return lexer_expected_word(lexer, what, names, N_TYPES);
}

bool parser_check_sign(const struct lexer *lexer, enum base_type type)
{
    char hint[120];
    if (!lexer_at_symbol(lexer, '*'))
        return true;
    snprintf(hint, sizeof hint, "an array is declared with its extents: %s x[n]", base_type_name(type));
    return lexer_expected(lexer, "the name of an argument", hint);
}

bool parser_check_brackets(const struct lexer *lexer, const struct argument *argument)
{
    char hint[PROBLEM_MAX_NAME + 80];
    if (lexer_at_symbol(lexer, '(')) {
        snprintf(hint, sizeof hint, "extents stand in brackets: %s[n], %s[m, n]", argument->name,
                 argument->name);
        return lexer_expected(lexer, "',', '[' or the end of the line", hint);
    }
    if (lexer->token.kind == TOKEN_NAME && argument->type == TYPE_DOUBLE &&
        strcmp(argument->name, "precision") == 0)
        return lexer_expected(lexer, "',', '[' or the end of the line",
                              "Fortran's DOUBLE PRECISION is written 'double'");
    return true;
}

/* Writes the canonical text of a signature, which agents and clients receive instead of the file. */

static void write_quoted(struct text *text, const char *string)
{
    text_put(text, "\"");
    for (const char *at = string; *at;) {
        size_t plain = strcspn(at, "\n\"\\");
        text_put_bytes(text, at, plain);
        at += plain;
        if (*at)
            text_put(text, *at == '\n' ? "\\n" : *at == '"' ? "\\\"" : "\\\\");
        at += *at != 0;
    }
    text_put(text, "\"");
}

static void write_storage(struct text *text, const struct problem *problem, const struct argument *argument)
{
    text_put(text, storage_name(argument->storage));
    if (argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR)
        text_printf(text, "(%s, %s%s)", problem->arguments[argument->pointers].name,
                    problem->arguments[argument->indices].name, argument->base ? ", 1" : "");
    for (unsigned i = 0; i < 3 && argument->layout[i]; i++) {
        text_put(text, i ? ", " : "(");
        expr_write(argument->layout[i], text);
    }
    if (argument->layout[0])
        text_put(text, ")");
}

void problem_storage_text(const struct problem *problem, const struct argument *argument, char *text,
                          size_t size)
{
    struct text writer;
    text_open(&writer, text, size);
    write_storage(&writer, problem, argument);
}

void argument_write_index(struct text *text, const struct argument *argument)
{
    text_printf(text, "%s(%s)", argument->index_signed ? "signed-index" : "index",
                expr_text(argument->index_of));
}

static void write_argument(struct text *text, const struct problem *problem, const struct argument *argument);

static void write_callback(struct text *text, const struct argument *argument)
{
    const struct problem *callback = argument->callback;
    uint32_t n = callback_n_parameters(argument);
    text_put(text, "callback ");
    if (argument->callback_returns)
        text_printf(text, "%s ", base_type_name(callback->arguments[n].type));
    text_printf(text, "%s(", argument->name);
    for (uint32_t i = 0; i < n; i++) {
        text_put(text, i ? ", " : "");
        write_argument(text, callback, &callback->arguments[i]);
    }
    text_put(text, ")");
    if (*argument->text) {
        text_put(text, " ");
        write_quoted(text, argument->text);
    }
}

static void write_argument(struct text *text, const struct problem *problem, const struct argument *argument)
{
    if (argument->type == TYPE_CALLBACK) {
        write_callback(text, argument);
        return;
    }
    text_put(text, argument_mode_name(argument->mode));
    text_put(text, " ");
    text_put(text, base_type_name(argument->type));
    text_put(text, " ");
    text_put(text, argument->name);
    argument_write_dims(text, argument);
    for (unsigned bit = 0; property_name(bit); bit++)
        if (argument->properties & (1U << bit)) {
            text_put(text, " ");
            text_put(text, property_name(bit));
        }
    if (argument->storage != STORAGE_FULL) {
        text_put(text, " ");
        write_storage(text, problem, argument);
    }
    if (argument->count)
        text_printf(text, " count(%s)", expr_text(argument->count));
    if (argument->index_of) {
        text_put(text, " ");
        argument_write_index(text, argument);
    }
    if (argument->unread)
        text_printf(text, " unread(%s)", expr_text(argument->unread));
    if (argument->triangle) {
        text_put(text, " triangle(");
        expr_write(argument->triangle, text);
        if (argument->unit) {
            text_put(text, ", ");
            expr_write(argument->unit, text);
        }
        text_put(text, ")");
    }
    if (argument->initial) {
        text_put(text, " = ");
        expr_write(argument->initial, text);
    }
    if (*argument->text) {
        text_put(text, " ");
        write_quoted(text, argument->text);
    }
}

static void write_expression(struct text *text, const char *clause, const struct expr *expr)
{
    if (!expr)
        return;
    text_put(text, clause);
    text_put(text, " ");
    text_put(text, expr_text(expr));
    text_put(text, "\n");
}

static void write_precondition(struct text *text, const struct precondition *precondition)
{
    text_put(text, "require ");
    text_put(text, expr_text(precondition->condition));
    if (precondition->message.text) {
        text_put(text, " ");
        write_quoted(text, precondition->message.text);
    }
    text_put(text, "\n");
}

static void write_problem(struct text *text, const struct problem *problem)
{
    text_put(text, problem->abstract ? "abstract " : "problem ");
    text_put(text, problem->name);
    text_put(text, " ");
    write_quoted(text, problem->title);
    text_put(text, "\n");
    if (*problem->text) {
        text_put(text, "text ");
        write_quoted(text, problem->text);
        text_put(text, "\n");
    }
    if (*problem->gams) {
        text_put(text, "gams ");
        text_put(text, problem->gams);
        text_put(text, "\n");
    }
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        write_argument(text, problem, &problem->arguments[i]);
        text_put(text, "\n");
    }
    for (uint32_t i = 0; i < problem->n_preconditions; i++)
        write_precondition(text, &problem->preconditions[i]);
    solves_write(problem, text);
    write_expression(text, "work", problem->work);
    write_expression(text, "memory", problem->memory);
    if (!problem->idempotent)
        text_put(text, "idempotent no\n");
    if (problem->checkpoint)
        text_put(text, "checkpoint yes\n");
    for (uint32_t i = 0; problem->abstract && i < problem->abstract->n_rules; i++) {
        abstract_write_rule(problem, &problem->abstract->rules[i], text);
        text_put(text, "\n");
    }
}

bool parser_write_source(struct parser *parser)
{
    struct problem *problem = parser->problem;
    struct text text;
    text_open(&text, parser->scratch, sizeof parser->scratch);
    write_problem(&text, problem);
    if (text.length >= text.size)
        return lexer_fail(&parser->lexer, parser->problem_offset,
                          "the signature of '%s' takes more than %d bytes in its canonical form",
                          problem->name, PROBLEM_MAX_TEXT - 1);
    problem->source = parser_keep(parser, parser->scratch, text.length + 1, 1);
    problem->digest = digest_text(parser->scratch, text.length);
    return problem->source != NULL;
}

/* Computes where the elements of a matrix are stored. */

static enum esp_status evaluate(const struct problem *problem, const struct argument *argument,
                                const struct expr *expr, const struct number *scope_values, int64_t *value,
                                struct esp_error *error)
{
    const struct scope scope = {scope_values, problem->n_arguments};
    *value = 0;
    enum esp_status status = expr ? expr_eval_size(expr, &scope, value, error) : ESP_OK;
    if (status != ESP_OK)
        error_prefix(error, "%s: %s", problem->name, argument->name);
    return status;
}

static enum esp_status packed_layout(const struct problem *problem, const struct argument *argument,
                                     const struct number *scope_values, struct layout *layout,
                                     struct esp_error *error)
{
    int64_t letter;
    if (layout->rows != layout->cols)
        return error_set(error, ESP_INVALID,
                         "%s: %s is packed: expected a square matrix, found %" PRId64 " x %" PRId64,
                         problem->name, argument->name, layout->rows, layout->cols);
    layout->upper = !(argument->properties & PROPERTY_LOWER);
    if (!argument->layout[0])
        return ESP_OK;
    enum esp_status status = evaluate(problem, argument, argument->layout[0], scope_values, &letter, error);
    layout->upper = letter == 'U' || letter == 'u';
    return status;
}

enum esp_status problem_layout(const struct problem *problem, uint32_t index,
                               const struct number *scope_values, const int64_t *dims, struct layout *layout,
                               struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[index];
    *layout = (struct layout){.storage = argument->storage,
                              .row_major = (argument->properties & PROPERTY_ROW_MAJOR) != 0,
                              .rows = dims[0],
                              .cols = dims[1]};
    if (argument->storage == STORAGE_PACKED)
        return packed_layout(problem, argument, scope_values, layout, error);
    if (argument->storage != STORAGE_BANDED)
        return ESP_OK;
    int64_t *const widths[] = {&layout->below, &layout->above, &layout->front};
    for (unsigned i = 0; i < 3; i++) {
        enum esp_status status =
            evaluate(problem, argument, argument->layout[i], scope_values, widths[i], error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

/* Finds the name that gives the width in at least one branch of if(is(uplo, 'U'), 0, kd). */
static bool width_name(const struct expr *width, uint32_t *name)
{
    if (width->kind == EXPR_FUNCTION && width->code == FUNCTION_IF)
        return expr_is_name(width->operands[1], name) || expr_is_name(width->operands[2], name);
    return expr_is_name(width, name);
}

bool problem_band_width(const struct argument *argument, unsigned side, uint32_t *name, bool *both)
{
    uint32_t other;
    if (argument->storage != STORAGE_BANDED || side > 1 || !width_name(argument->layout[side], name))
        return false;
    *both = width_name(argument->layout[1 - side], &other) && other == *name;
    return true;
}

static bool band_rows(const struct layout *layout, uint64_t *rows)
{
    *rows = 1;
    return !__builtin_add_overflow(*rows, (uint64_t)layout->below, rows) &&
           !__builtin_add_overflow(*rows, (uint64_t)layout->above, rows) &&
           !__builtin_add_overflow(*rows, (uint64_t)layout->front, rows);
}

bool layout_count(const struct layout *layout, uint64_t *count)
{
    uint64_t rows = (uint64_t)layout->rows, cols = (uint64_t)layout->cols;
    switch (layout->storage) {
    case STORAGE_PACKED: /* one of n and n + 1 is even */
        return !__builtin_mul_overflow(cols % 2 ? cols : cols / 2, cols % 2 ? (cols + 1) / 2 : cols + 1,
                                       count);
    case STORAGE_BANDED:
        return band_rows(layout, &rows) && !__builtin_mul_overflow(rows, cols, count);
    default:
        return !__builtin_mul_overflow(rows, cols, count);
    }
}

int64_t layout_index(const struct layout *layout, int64_t row, int64_t col)
{
    int64_t i = layout->row_major ? col : row, j = layout->row_major ? row : col;
    bool upper = layout->row_major ? !layout->upper : layout->upper;
    int64_t above = layout->row_major ? layout->below : layout->above;
    int64_t below = layout->row_major ? layout->above : layout->below;
    switch (layout->storage) {
    case STORAGE_PACKED:
        if (upper)
            return i <= j ? i + j * (j + 1) / 2 : -1;
        return i >= j ? i - j + j * (2 * layout->cols - j + 1) / 2 : -1;
    case STORAGE_BANDED:
        if (i - j > below || j - i > above + layout->front)
            return -1;
        return layout->front + above + i - j + j * (layout->front + above + below + 1);
    case STORAGE_FULL:
        return i + j * (layout->row_major ? layout->cols : layout->rows);
    default:
        return -1;
    }
}

/* Messages of error clauses: `error info > 0 "U({info},{info}) is exactly zero"`. */

/* Names of the signature are resolved when all arguments are known. Their errors are reported at the
 * beginning of the message, because the message has been split by then. */
static bool resolve(struct parser *parser, struct lexer *inner, struct expr *names, enum usage usage,
                    uint32_t offset)
{
    if (usage == USAGE_ERROR)
        return parser_resolve(parser, inner, names, usage, 0);
    for (struct expr *name = names; name; name = name->next_name)
        name->offset = offset;
    return parser_postpone(parser, names, usage);
}

/* Reads one {expression}; *at is after the opening brace, and moves past the closing one. */
static bool read_value(struct parser *parser, enum usage usage, const char **at, uint32_t offset,
                       struct expr **expr)
{
    const char *end = strchr(*at, '}');
    if (!end)
        return lexer_fail(&parser->lexer, offset, "'{' without '}' in a message (write {{ for a brace)");
    struct lexer inner;
    struct name_list names = {.last = &names.first};
    if (!lexer_open_inner(&inner, *at, (size_t)(end - *at), &parser->lexer, offset) ||
        !expr_read(&inner, parser->arena, &names, expr))
        return false;
    if (inner.token.kind != TOKEN_END)
        return lexer_expected(&inner, "an operator or '}'", NULL);
    *at = end + 1;
    return parser_check_inner(parser, &inner, *expr) && resolve(parser, &inner, names.first, usage, offset);
}

bool parser_message(struct parser *parser, enum usage usage, struct failure_text *message)
{
    uint32_t offset = parser->lexer.token.offset;
    struct expr *values[MAX_EMBEDDED];
    uint32_t n = 0;
    if (parser->lexer.token.length - 2 > MAX_MESSAGE)
        return lexer_fail(&parser->lexer, offset, "a text here has at most %d bytes, this one has %u",
                          MAX_MESSAGE, parser->lexer.token.length - 2);
    if (!(message->text = lexer_token_text(&parser->lexer, parser->arena)))
        return false;
    for (const char *at = message->text; *at;) {
        char c = *at++;
        if ((c == '{' || c == '}') && *at == c) {
            at++;
        } else if (c == '}') {
            return lexer_fail(&parser->lexer, offset, "'}' without '{' in a message (write }} for a brace)");
        } else if (c == '{') {
            if (n == MAX_EMBEDDED)
                return lexer_fail(&parser->lexer, offset, "a message has at most %d expressions",
                                  MAX_EMBEDDED);
            if (!read_value(parser, usage, &at, offset, &values[n++]))
                return false;
        }
    }
    message->n_values = n;
    message->values = parser_keep(parser, values, n, sizeof *values);
    return message->values && lexer_advance(&parser->lexer);
}

/* ---- writing the message ---- */

static void write_value(struct text *text, const struct expr *expr, const struct scope *scope)
{
    struct number value;
    if (!scope)
        text_put(text, expr_text(expr));
    else if (expr_eval(expr, scope, &value, NULL) != ESP_OK)
        text_put(text, "?");
    else if (value.kind == NUMBER_REAL)
        text_printf(text, "%g", value.real);
    else if (expr->kind == EXPR_NAME && expr->names_character && value.integer > ' ' && value.integer < 0x7f)
        text_printf(text, "%c", (int)value.integer);
    else
        text_printf(text, "%" PRId64, value.integer);
}

void problem_failure_text(const struct failure_text *failure, const struct scope *scope, char *text,
                          size_t size)
{
    struct text writer;
    text_open(&writer, text, size);
    uint32_t n = 0;
    for (const char *at = failure->text; at && *at; at++) {
        bool doubled = (*at == '{' || *at == '}') && at[1] == *at;
        if (*at != '{' || doubled) {
            text_put_bytes(&writer, at, 1);
            at += doubled;
            continue;
        }
        write_value(&writer, failure->values[n++], scope);
        at = strchr(at, '}');
    }
}
