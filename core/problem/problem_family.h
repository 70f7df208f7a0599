/* SPDX-License-Identifier: Apache-2.0
 *
 * Families: one text that describes a routine in several types, as LAPACK's s, d, c and z. For each member
 * the text is spelt out (its letter for '?', its word of {a,b,c,d}) and read as any other description.
 */
#ifndef CORE_PROBLEM_FAMILY_H
#define CORE_PROBLEM_FAMILY_H

#include "core/problem/lexer.h"
#include "core/problem/problem.h"

#define MAX_MEMBERS     16
#define MAX_MEMBER_NAME 15

struct parser;

struct member {
    char name[MAX_MEMBER_NAME + 1]; /* what '?' stands for */
    enum base_type type;            /* what `scalar` stands for */
};

struct family {
    struct member members[MAX_MEMBERS];
    unsigned n_members;
    unsigned present; /* the member that is being read */
};

/* The type that `scalar`, or with `real` the type that `real`, is for the present member. */
enum base_type family_type(const struct family *family, bool real);

/* A text of the description spelt out for the present member. */
struct spelling {
    char *text; /* malloc'd, as are the spans */
    size_t length, size;
    struct lexer_span *spans;
    size_t n_spans, size_spans;
};

/* Spells out source->text[from .. to). On failure `lexer`, which reads the source, has its error filled.
 * In both cases the caller calls spelling_clear(). */
bool spelling_make(struct spelling *spelling, const struct family *family, const struct lexer *lexer,
                   uint32_t from, uint32_t to);
void spelling_clear(struct spelling *spelling);

/* Whether the lexer, which stands on the word `problem`, is at the beginning of a family. */
bool family_is_here(const struct lexer *lexer);

/* Reads the family: a problem for each member. The lexer stands on the word `problem`, and then behind all
 * of the family. */
bool parser_family(struct parser *parser);

/* A condition `when c or z:` in front of a clause or a parameter. The lexer stands on `when` and then behind
 * the colon. */
bool parser_when(struct parser *parser, bool *holds);

#endif
