/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits a problem description into tokens: names, numbers, characters, texts, symbols and line ends.
 *
 * `token` is the current token; lexer_advance() goes to the next. A function that returns false has filled
 * *error ("file:line:column: ...", ESP_SYNTAX). */
#ifndef CORE_LEXER_H
#define CORE_LEXER_H

#include "util/arena.h"
#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>

enum token_kind {
    TOKEN_END,     /* of the text */
    TOKEN_NEWLINE, /* one for any number of empty lines; none within brackets, after a comma, or before a text
                    */
    TOKEN_NAME,    /* letter or _, then letters, digits, _ */
    TOKEN_INTEGER, /* 12 */
    TOKEN_REAL,    /* 1.5, 2e9, .5d0 is not one */
    TOKEN_CHARACTER, /* 'U' */
    TOKEN_STRING,    /* "text", on one line; \" \\ and \n are escapes */
    TOKEN_SYMBOL     /* + <= ... */
};

/* The code of a symbol of two characters; the code of a single character is that character. */
#define SYMBOL2(first, second) ((first) | (second) << 8)

struct token {
    enum token_kind kind;
    int symbol;
    uint32_t offset, length; /* position in the text, quotes included */
    unsigned line;
    int64_t integer; /* value of TOKEN_INTEGER and TOKEN_CHARACTER */
    double real;     /* value of TOKEN_REAL */
};

/* A piece of a generated text: copied from the source, or substituted for a word there. */
struct lexer_span {
    uint32_t offset; /* where it begins; it ends where the next piece begins */
    uint32_t source; /* its position in the source */
    bool literal;
};

/* The origin of a text that was generated for a member of a family. */
struct lexer_origin {
    const char *source; /* the source text: messages give positions in it */
    size_t length;
    const char *member;
    const struct lexer_span *spans; /* in the order of their offsets */
    size_t n_spans;
};

struct lexer {
    const char *text;
    size_t length;
    const char *file; /* for messages */
    struct esp_error *error;
    struct token token; /* the current token */
    uint32_t position;
    unsigned line;
    unsigned nesting; /* open brackets and parentheses */
    uint32_t opened;  /* offset of the outermost one */
    unsigned opened_line;
    bool after_comma;
    /* For a lexer over a text inside another one: messages give positions in the outer text. */
    const struct lexer *outer;
    uint32_t outer_offset;
    const struct lexer_origin *origin; /* NULL: the text is not generated */
};

/* Opens a lexer on text[0 .. length), which must outlive it, and reads the first token. */
bool lexer_open(struct lexer *lexer, const char *text, size_t length, const char *file,
                struct esp_error *error);
/* Opens a lexer for a text inside the token at `offset` of `outer`; errors are reported there. */
bool lexer_open_inner(struct lexer *lexer, const char *text, size_t length, const struct lexer *outer,
                      uint32_t offset);
/* Opens a lexer for a text that was generated from the text of `source` according to *origin (which must
 * outlive the lexer; its source and length are set here). `line` is where it begins. */
bool lexer_open_spelt(struct lexer *lexer, const char *text, size_t length, const struct lexer *source,
                      struct lexer_origin *origin, unsigned line);

bool lexer_advance(struct lexer *lexer);

/* Rereads the token as a word of any characters but white space, quotes, commas and parentheses (a
 * library's file name), or, with `hyphened`, as a name with hyphens (positive-definite). */
bool lexer_reread_word(struct lexer *lexer, bool hyphened);

bool lexer_at_symbol(const struct lexer *lexer, int symbol);
bool lexer_at_name(const struct lexer *lexer, const char *name);
/* Whether the line or the text ends at the current token. */
bool lexer_at_line_end(const struct lexer *lexer);

/* Moves past `symbol`, or fails with "expected WHAT, found ...". */
bool lexer_take_symbol(struct lexer *lexer, int symbol, const char *what);

/* Returns a copy of the current token's text; NULL when out of memory (*error filled). Of TOKEN_STRING:
 * without quotes, escapes replaced. */
char *lexer_token_text(struct lexer *lexer, struct arena *arena);

/* Computes the position in the file of the token at `offset`. Reads the file up to there: for errors, not
 * for each token. */
void lexer_place(const struct lexer *lexer, uint32_t offset, unsigned *line, unsigned *column);
/* Computes the column of the token at `offset`; reads only its line. */
unsigned lexer_column(const struct lexer *lexer, uint32_t offset);

/* Sets the error "file:line:column: ..." for the token at `offset`; for a member of a family
 * "file:line:column: in the member 'd': ...". Always returns false. */
bool lexer_fail(const struct lexer *lexer, uint32_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "expected WHAT, found TOKEN", and ": HINT" unless it is NULL. */
bool lexer_expected(const struct lexer *lexer, const char *what, const char *hint);
/* Fails with "expected WHAT, found TOKEN", and suggests the most similar of the words. */
bool lexer_expected_word(const struct lexer *lexer, const char *what, const char *const *words,
                         size_t n_words);
bool lexer_no_memory(const struct lexer *lexer);

/* Returns the candidate most similar to `name`, or NULL. Names of one or two letters are matched only if
 * their case differs. */
const char *lexer_nearest(const char *name, const char *const *candidates, size_t n_candidates);

#endif
