/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/lexer.h"
#include "util/names.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NUMBER 40 /* characters of a number */
#define MAX_SHOWN  40 /* bytes of a token shown in a message */

/* Own tests instead of <ctype.h>: a description means the same in every locale. */
static bool is_letter(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static unsigned char peek(const struct lexer *lexer, size_t ahead)
{
    size_t at = lexer->position + ahead;
    return at < lexer->length ? (unsigned char)lexer->text[at] : 0;
}

/* Bytes of the well-formed UTF-8 character at text[0 .. n), or 0. */
static size_t utf8_length(const unsigned char *text, size_t n)
{
    static const struct {
        unsigned char from, to, second_from, second_to, length;
    } rows[] = {
        {0x00, 0x7f, 0x80, 0xbf, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (text[0] < rows[r].from || text[0] > rows[r].to)
            continue;
        if (rows[r].length > n)
            return 0;
        for (size_t i = 1; i < rows[r].length; i++) {
            unsigned char from = i == 1 ? rows[r].second_from : 0x80;
            unsigned char to = i == 1 ? rows[r].second_to : 0xbf;
            if (text[i] < from || text[i] > to)
                return 0;
        }
        return rows[r].length;
    }
    return 0;
}

/* Column in characters, from 1; reads no more than the line. */
static unsigned column_at(const char *text, size_t length, size_t offset)
{
    unsigned column = 1;
    for (size_t i = offset < length ? offset : length; i > 0 && text[i - 1] != '\n'; i--)
        column += ((unsigned char)text[i - 1] & 0xc0) != 0x80;
    return column;
}

/* Counts lines only when an error needs the number, because this reads all of the text before. */
static unsigned line_at(const char *text, size_t length, size_t offset)
{
    unsigned line = 1;
    for (size_t i = 0; i < offset && i < length; i++)
        line += text[i] == '\n';
    return line;
}

static uint32_t source_offset(const struct lexer_origin *origin, uint32_t offset)
{
    const struct lexer_span *span = origin->spans;
    for (size_t i = 1; i < origin->n_spans && origin->spans[i].offset <= offset; i++)
        span++;
    return span ? span->source + (span->literal ? offset - span->offset : 0) : 0;
}

/* Returns the lexer of the file itself, and converts *offset. */
static const struct lexer *outermost(const struct lexer *lexer, uint32_t *offset)
{
    while (lexer->outer) {
        *offset = lexer->outer_offset;
        lexer = lexer->outer;
    }
    return lexer;
}

/* Returns the text of the file that the token at *offset of `lexer` is in, and sets *offset to its offset
 * there. */
static const char *file_text(const struct lexer *lexer, uint32_t *offset, size_t *length)
{
    lexer = outermost(lexer, offset);
    const struct lexer_origin *origin = lexer->origin;
    *length = origin ? origin->length : lexer->length;
    if (!origin)
        return lexer->text;
    *offset = source_offset(origin, *offset);
    return origin->source;
}

unsigned lexer_column(const struct lexer *lexer, uint32_t offset)
{
    size_t length;
    const char *text = file_text(lexer, &offset, &length);
    return column_at(text, length, offset);
}

void lexer_place(const struct lexer *lexer, uint32_t offset, unsigned *line, unsigned *column)
{
    size_t length;
    const char *text = file_text(lexer, &offset, &length);
    *line = line_at(text, length, offset);
    *column = column_at(text, length, offset);
}

bool lexer_fail(const struct lexer *lexer, uint32_t offset, const char *format, ...)
{
    lexer = outermost(lexer, &offset);
    va_list arguments;
    va_start(arguments, format);
    error_vset(lexer->error, ESP_SYNTAX, format, arguments);
    va_end(arguments);
    unsigned line, column;
    if (lexer->origin)
        error_prefix(lexer->error, "in the member '%s'", lexer->origin->member);
    lexer_place(lexer, offset, &line, &column);
    error_prefix(lexer->error, "%s:%u:%u", lexer->file, line, column);
    return false;
}

bool lexer_no_memory(const struct lexer *lexer)
{
    while (lexer->outer)
        lexer = lexer->outer;
    error_no_memory(lexer->error, "a problem description");
    return false;
}

/* Describes the current token for a message. */
static void describe_token(const struct lexer *lexer, char *shown, size_t size)
{
    const struct token *token = &lexer->token;
    size_t n = token->length;
    const char *dots = "";
    if (n > MAX_SHOWN) {
        n = MAX_SHOWN - 3;
        while (n > 0 && ((unsigned char)lexer->text[token->offset + n] & 0xc0) == 0x80)
            n--;
        dots = "...";
    }
    const char *text = lexer->text + token->offset;
    if (token->kind == TOKEN_END)
        snprintf(shown, size, lexer->outer ? "the end of the expression" : "the end of the file");
    else if (token->kind == TOKEN_NEWLINE)
        snprintf(shown, size, "the end of the line");
    else if (token->kind == TOKEN_NAME || token->kind == TOKEN_SYMBOL)
        snprintf(shown, size, "'%.*s%s'", (int)n, text, dots);
    else
        snprintf(shown, size, "%.*s%s", (int)n, text, dots);
}

const char *lexer_nearest(const char *name, const char *const *candidates, size_t n_candidates)
{
    const char *near = names_closest(name, candidates, n_candidates);
    if (near && strlen(name) < 3 && names_distance(name, near, 0) > 0)
        return NULL;
    return near;
}

/* Whether the token is the first of a line inside an open bracket of an earlier line: most likely the
 * closing bracket was forgotten. */
static bool begins_after_bracket(const struct lexer *lexer)
{
    uint32_t at = lexer->token.offset;
    if (!lexer->nesting || lexer->line == lexer->opened_line)
        return false;
    while (at > 0 && (lexer->text[at - 1] == ' ' || lexer->text[at - 1] == '\t'))
        at--;
    return lexer->token.kind == TOKEN_END || (at > 0 && lexer->text[at - 1] == '\n');
}

bool lexer_expected(const struct lexer *lexer, const char *what, const char *hint)
{
    char shown[MAX_SHOWN + 8], own[120];
    describe_token(lexer, shown, sizeof shown);
    if (!hint && begins_after_bracket(lexer)) {
        unsigned line, column;
        lexer_place(lexer, lexer->opened, &line, &column);
        snprintf(own, sizeof own, "the '%c' in line %u, column %u has not been closed",
                 lexer->text[lexer->opened], line, column);
        hint = own;
    } else if (!hint && lexer_at_symbol(lexer, '?')) {
        hint = "'?' stands for the letter of a member, in families only: problem ?gesv for s, d, c, z";
    }
    return lexer_fail(lexer, lexer->token.offset, "expected %s, found %s%s%s", what, shown, hint ? ": " : "",
                      hint ? hint : "");
}

bool lexer_expected_word(const struct lexer *lexer, const char *what, const char *const *words,
                         size_t n_words)
{
    const struct token *token = &lexer->token;
    const char *near = NULL;
    char word[MAX_SHOWN + 1];
    if (token->kind == TOKEN_NAME && token->length <= MAX_SHOWN) {
        memcpy(word, lexer->text + token->offset, token->length);
        word[token->length] = 0;
        near = lexer_nearest(word, words, n_words);
    }
    char hint[100];
    snprintf(hint, sizeof hint, "did you mean '%s'?", near ? near : "");
    return lexer_expected(lexer, what, near ? hint : NULL);
}

/* Skips white space, comments, and line ends that have no meaning. Sets *newline. */
static void skip_space(struct lexer *lexer, bool *newline)
{
    *newline = false;
    for (;;) {
        unsigned char c = peek(lexer, 0);
        if (c == '\n') {
            lexer->line++;
            *newline = true;
        } else if (c == '#') {
            const char *from = lexer->text + lexer->position;
            const char *end = memchr(from, '\n', lexer->length - lexer->position);
            lexer->position = end ? (uint32_t)(end - lexer->text) : (uint32_t)lexer->length;
            continue;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
        lexer->position++;
    }
}

static bool read_number(struct lexer *lexer)
{
    struct token *token = &lexer->token;
    size_t n = 0;
    bool real = false;
    while (is_digit(peek(lexer, n)))
        n++;
    if (peek(lexer, n) == '.') {
        real = true;
        do
            n++;
        while (is_digit(peek(lexer, n)));
    }
    unsigned char c = peek(lexer, n);
    if (c == 'e' || c == 'E') {
        size_t digits = n + 1;
        if (peek(lexer, digits) == '+' || peek(lexer, digits) == '-')
            digits++;
        if (!is_digit(peek(lexer, digits)))
            return lexer_fail(lexer, token->offset, "a number with 'e' needs an exponent, as in 1e6");
        real = true;
        for (n = digits; is_digit(peek(lexer, n));)
            n++;
    }
    if (is_letter(peek(lexer, n)))
        return lexer_fail(lexer, token->offset,
                          "a name cannot begin with a digit, and a product is written with *");
    if (n > MAX_NUMBER)
        return lexer_fail(lexer, token->offset, "a number has at most %d characters, this one has %zu",
                          MAX_NUMBER, n);
    char digits[MAX_NUMBER + 1];
    memcpy(digits, lexer->text + lexer->position, n);
    digits[n] = 0;
    lexer->position += (uint32_t)n;
    if (real) {
        /* newlocale() of the C locale returns a constant object and does not allocate. */
        locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        token->real = c_locale ? strtod_l(digits, NULL, c_locale) : strtod(digits, NULL);
        if (c_locale)
            freelocale(c_locale);
        token->kind = TOKEN_REAL;
        if (token->real > 1.7e308)
            return lexer_fail(lexer, token->offset, "the number %s is too large", digits);
        return true;
    }
    token->kind = TOKEN_INTEGER;
    token->integer = 0;
    for (size_t i = 0; i < n; i++)
        if (__builtin_mul_overflow(token->integer, INT64_C(10), &token->integer) ||
            __builtin_add_overflow(token->integer, (int64_t)(digits[i] - '0'), &token->integer))
            return lexer_fail(lexer, token->offset, "the number %s is too large for a 64-bit integer",
                              digits);
    return true;
}

static bool read_string(struct lexer *lexer)
{
    uint32_t start = lexer->position++;
    for (;;) {
        unsigned char c = peek(lexer, 0);
        if (lexer->position >= lexer->length || c == '\n')
            return lexer_fail(lexer, start, "this text has no closing '\"' on its line");
        if (c == '"')
            break;
        if (c == '\\') {
            unsigned char escaped = peek(lexer, 1);
            if (escaped != '"' && escaped != '\\' && escaped != 'n')
                return lexer_fail(lexer, lexer->position,
                                  "unknown escape in a text: only \\\", \\\\ and \\n have a meaning");
            lexer->position += 2;
            continue;
        }
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return lexer_fail(lexer, lexer->position, "a text cannot contain the control character 0x%02x",
                              c);
        size_t n = c < 0x80 ? 1
                            : utf8_length((const unsigned char *)lexer->text + lexer->position,
                                          lexer->length - lexer->position);
        if (n == 0)
            return lexer_fail(lexer, lexer->position, "the byte 0x%02x is not UTF-8", c);
        lexer->position += (uint32_t)n;
    }
    lexer->position++;
    lexer->token.kind = TOKEN_STRING;
    return true;
}

static bool read_character(struct lexer *lexer)
{
    unsigned char c = peek(lexer, 1);
    if (c < ' ' || c > '~' || c == '\'' || peek(lexer, 2) != '\'')
        return lexer_fail(lexer, lexer->position, "expected one character between single quotes, as in 'U'");
    lexer->token.kind = TOKEN_CHARACTER;
    lexer->token.integer = c;
    lexer->position += 3;
    return true;
}

static bool read_symbol(struct lexer *lexer)
{
    static const char twos[][3] = {"<=", ">=", "==", "!=", "&&", "||", "**", "<>", "=>", "=<"};
    unsigned char c = peek(lexer, 0);
    lexer->token.kind = TOKEN_SYMBOL;
    for (size_t i = 0; i < sizeof twos / sizeof *twos; i++)
        if (c == (unsigned char)twos[i][0] && peek(lexer, 1) == (unsigned char)twos[i][1]) {
            lexer->token.symbol = SYMBOL2(c, peek(lexer, 1));
            lexer->position += 2;
            return true;
        }
    if (c == 0 || !strchr("+-*/%^()[]{},=<>!:;.&|?", c)) {
        if (c > ' ' && c < 0x7f)
            return lexer_fail(lexer, lexer->position, "the character '%c' has no meaning here", c);
        return lexer_fail(lexer, lexer->position,
                          "the byte 0x%02x has no meaning outside of texts and comments", c);
    }
    lexer->token.symbol = c;
    lexer->position++;
    if ((c == '(' || c == '[') && lexer->nesting++ == 0) {
        lexer->opened = lexer->token.offset;
        lexer->opened_line = lexer->line;
    }
    if ((c == ')' || c == ']') && lexer->nesting)
        lexer->nesting--;
    lexer->after_comma = c == ',';
    return true;
}

static bool read_token(struct lexer *lexer)
{
    unsigned char c = peek(lexer, 0);
    if (is_letter(c)) {
        while (is_letter(peek(lexer, 0)) || is_digit(peek(lexer, 0)))
            lexer->position++;
        lexer->token.kind = TOKEN_NAME;
        return true;
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1))))
        return read_number(lexer);
    if (c == '"')
        return read_string(lexer);
    if (c == '\'')
        return read_character(lexer);
    return read_symbol(lexer);
}

bool lexer_advance(struct lexer *lexer)
{
    bool newline;
    uint32_t before = lexer->position;
    skip_space(lexer, &newline);
    bool meant = lexer->nesting == 0 && !lexer->after_comma && peek(lexer, 0) != '"';
    lexer->token = (struct token){.kind = TOKEN_NEWLINE, .offset = before, .line = lexer->line};
    if (newline && meant && lexer->token.offset > 0)
        return true;
    lexer->after_comma = false;
    lexer->token.offset = lexer->position;
    if (lexer->position >= lexer->length) {
        lexer->token.kind = TOKEN_END;
        return true;
    }
    bool read = read_token(lexer);
    lexer->token.length = lexer->position - lexer->token.offset;
    return read;
}

bool lexer_open(struct lexer *lexer, const char *text, size_t length, const char *file,
                struct esp_error *error)
{
    *lexer = (struct lexer){.text = text, .length = length, .file = file, .error = error, .line = 1};
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        lexer->position = 3;       /* the byte order mark of UTF-8 that some editors write */
        lexer->after_comma = true; /* a line end after a comma has no meaning */
    }
    return lexer_advance(lexer);
}

bool lexer_open_inner(struct lexer *lexer, const char *text, size_t length, const struct lexer *outer,
                      uint32_t offset)
{
    *lexer =
        (struct lexer){.text = text, .length = length, .outer = outer, .outer_offset = offset, .line = 1};
    return lexer_advance(lexer);
}

bool lexer_open_spelt(struct lexer *lexer, const char *text, size_t length, const struct lexer *source,
                      struct lexer_origin *origin, unsigned line)
{
    origin->source = source->text;
    origin->length = source->length;
    *lexer = (struct lexer){.text = text,
                            .length = length,
                            .file = source->file,
                            .error = source->error,
                            .line = line,
                            .origin = origin};
    return lexer_advance(lexer);
}

bool lexer_reread_word(struct lexer *lexer, bool hyphened)
{
    struct token *token = &lexer->token;
    if (token->kind == TOKEN_END || token->kind == TOKEN_NEWLINE || token->kind == TOKEN_STRING)
        return true;
    uint32_t end = token->offset;
    for (; end < lexer->length; end++) {
        unsigned char c = (unsigned char)lexer->text[end];
        bool inside = hyphened ? is_letter(c) || is_digit(c) || c == '-'
                               : c > ' ' && c < 0x7f && !strchr("\"'#()[],", c);
        if (!inside)
            break;
    }
    if (end <= lexer->position && token->kind != TOKEN_NAME)
        return true; /* not a word */
    token->kind = TOKEN_NAME;
    token->length = end - token->offset;
    lexer->position = end;
    return true;
}

bool lexer_at_symbol(const struct lexer *lexer, int symbol)
{
    return lexer->token.kind == TOKEN_SYMBOL && lexer->token.symbol == symbol;
}

bool lexer_at_name(const struct lexer *lexer, const char *name)
{
    const struct token *token = &lexer->token;
    return token->kind == TOKEN_NAME && strncmp(lexer->text + token->offset, name, token->length) == 0 &&
           name[token->length] == 0;
}

bool lexer_at_line_end(const struct lexer *lexer)
{
    return lexer->token.kind == TOKEN_NEWLINE || lexer->token.kind == TOKEN_END;
}

bool lexer_take_symbol(struct lexer *lexer, int symbol, const char *what)
{
    if (!lexer_at_symbol(lexer, symbol))
        return lexer_expected(lexer, what, NULL);
    return lexer_advance(lexer);
}

char *lexer_token_text(struct lexer *lexer, struct arena *arena)
{
    const struct token *token = &lexer->token;
    const char *from = lexer->text + token->offset;
    size_t n = token->length;
    if (token->kind == TOKEN_STRING) {
        from++;
        n -= 2;
    }
    char *text = arena_alloc(arena, n + 1);
    if (!text) {
        lexer_no_memory(lexer);
        return NULL;
    }
    if (token->kind != TOKEN_STRING) {
        memcpy(text, from, n);
        return text;
    }
    char *to = text;
    for (size_t i = 0; i < n; i++) {
        bool escape = from[i] == '\\';
        i += escape;
        *to++ = escape && from[i] == 'n' ? '\n' : from[i];
    }
    return text;
}
