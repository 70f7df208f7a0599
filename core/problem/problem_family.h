/* SPDX-License-Identifier: Apache-2.0
 *
 * Families: one text that describes a routine in several types, as LAPACK's s, d, c and z. For each
 * member, a description is generated from the text (its letter for '?', its word of {a,b,c,d}) and parsed
 * like any other. */
#ifndef CORE_PROBLEM_FAMILY_H
#define CORE_PROBLEM_FAMILY_H

#include "core/problem/lexer.h"
#include "core/problem/problem.h"

#define MAX_MEMBERS     16
#define MAX_MEMBER_NAME 15

struct parser;

struct member {
    char name[MAX_MEMBER_NAME + 1]; /* replacement of '?' */
    enum base_type type;            /* replacement of `scalar` */
};

struct family {
    struct member members[MAX_MEMBERS];
    unsigned n_members;
    unsigned present; /* index of the member being read */
};

/* Returns the type of `scalar` (`real`: the type of the word `real`) for the present member. */
enum base_type family_type(const struct family *family, bool real);

/* A text of the description, generated for the present member. */
struct spelling {
    char *text; /* malloc'd, as are the spans */
    size_t length, size;
    struct lexer_span *spans;
    size_t n_spans, size_spans;
};

/* Generates source->text[from .. to) for the present member. On failure the error of `lexer`, which reads
 * the source, is filled. In both cases the caller calls spelling_clear(). */
bool spelling_make(struct spelling *spelling, const struct family *family, const struct lexer *lexer,
                   uint32_t from, uint32_t to);
void spelling_clear(struct spelling *spelling);

/* Whether a family begins at the lexer, whose token is the word `problem`. */
bool family_is_here(const struct lexer *lexer);

/* Reads the family into one problem for each member. The token is the word `problem`; afterwards the lexer
 * is behind the family. */
bool parser_family(struct parser *parser);

/* Reads a condition `when c or z:` in front of a clause or a parameter. The token is `when`; afterwards
 * the lexer is behind the colon. */
bool parser_when(struct parser *parser, bool *holds);

#endif
