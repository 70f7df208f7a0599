/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of a problem description: names, numbers, characters, texts, symbols and line ends.
 *
 * A lexer always stands on one token, `token`; lexer_advance() goes to the next. All functions that
 * return bool have filled *error ("file:line:column: ...", ESP_SYNTAX) when they return false.
 */
#ifndef CORE_LEXER_H
#define CORE_LEXER_H

#include "util/arena.h"
#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>

enum token_kind {
    TOKEN_END,     /* of the text */
    TOKEN_NEWLINE, /* one for any number of empty lines; none within brackets, after a comma, before a text */
    TOKEN_NAME,    /* letter or _, then letters, digits, _ */
    TOKEN_INTEGER, /* 12 */
    TOKEN_REAL,    /* 1.5, 2e9, .5d0 is not one */
    TOKEN_CHARACTER, /* 'U' */
    TOKEN_STRING,    /* "text", on one line; \" \\ and \n are escapes */
    TOKEN_SYMBOL     /* + <= ... */
};

/* The code of a symbol of two characters; one of a single character is that character. */
#define SYMBOL2(first, second) ((first) | (second) << 8)

struct token {
    enum token_kind kind;
    int symbol;
    uint32_t offset, length; /* in the text, quotes included */
    unsigned line;
    int64_t integer; /* value of TOKEN_INTEGER and TOKEN_CHARACTER */
    double real;     /* value of TOKEN_REAL */
};

/* A piece of a text that was made from another one: literal, or in place of a word there. */
struct lexer_span {
    uint32_t offset; /* where it begins; it ends where the next one begins */
    uint32_t source; /* where it comes from */
    bool literal;
};

/* Where a text that was spelt out for a member of a family comes from. */
struct lexer_origin {
    const char *source; /* the text that messages point into */
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
    struct token token; /* where the lexer stands */
    uint32_t position;
    unsigned line;
    unsigned nesting; /* open brackets and parentheses */
    uint32_t opened;  /* where the outermost of them is */
    unsigned opened_line;
    bool after_comma;
    /* Set for a lexer over a piece of text inside another one: where messages point to. */
    const struct lexer *outer;
    uint32_t outer_offset;
    const struct lexer_origin *origin; /* or NULL: the text is the file's */
};

/* Stands on the first token of text[0 .. length), which must outlive the lexer. */
bool lexer_open(struct lexer *lexer, const char *text, size_t length, const char *file,
                struct esp_error *error);
/* The same for a text inside the token at `offset` of `outer`, where its errors are reported. */
bool lexer_open_inner(struct lexer *lexer, const char *text, size_t length, const struct lexer *outer,
                      uint32_t offset);
/* The same for a text that was made from the one of `source` as *origin tells (which outlives the lexer; its
 * source and length are set here). `line` is where it begins. */
bool lexer_open_spelt(struct lexer *lexer, const char *text, size_t length, const struct lexer *source,
                      struct lexer_origin *origin, unsigned line);

bool lexer_advance(struct lexer *lexer);

/* Makes the token a word of any characters but white space, quotes, commas and parentheses (a
 * library's file name), or, with `hyphened`, a name with hyphens (positive-definite). */
bool lexer_reread_word(struct lexer *lexer, bool hyphened);

bool lexer_at_symbol(const struct lexer *lexer, int symbol);
bool lexer_at_name(const struct lexer *lexer, const char *name);
/* Whether the line or the text ends here. */
bool lexer_at_line_end(const struct lexer *lexer);

/* Goes behind `symbol`, or fails with "expected WHAT, found ...". */
bool lexer_take_symbol(struct lexer *lexer, int symbol, const char *what);

/* The text of the current token, copied; NULL when out of memory (*error filled).
 * Of TOKEN_STRING: without quotes, escapes replaced. */
char *lexer_token_text(struct lexer *lexer, struct arena *arena);

/* Where the token at `offset` is in its file. Reads the file up to there: for errors, not for each token. */
void lexer_place(const struct lexer *lexer, uint32_t offset, unsigned *line, unsigned *column);
/* Its column alone, which takes no more than a look at its line. */
unsigned lexer_column(const struct lexer *lexer, uint32_t offset);

/* Both always return false. The text ends up as "file:line:column: ..." of the token at `offset`; for a
 * member of a family "file:line:column: in the member 'd': ...". */
bool lexer_fail(const struct lexer *lexer, uint32_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "expected WHAT, found TOKEN", and ": HINT" unless it is NULL. */
bool lexer_expected(const struct lexer *lexer, const char *what, const char *hint);
/* "expected WHAT, found TOKEN", and the nearest of the words, if one is near the token. */
bool lexer_expected_word(const struct lexer *lexer, const char *what, const char *const *words,
                         size_t n_words);
bool lexer_no_memory(const struct lexer *lexer);

/* The candidate that is probably meant by `name`, or NULL. Names of one or two letters differ too little
 * for that: only their case may be wrong. */
const char *lexer_nearest(const char *name, const char *const *candidates, size_t n_candidates);

#endif
