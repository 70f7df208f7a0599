/* SPDX-License-Identifier: Apache-2.0
 *
 * What people write in declarations who think of Fortran or C, and what they should write.
 */
#include "core/problem/problem_parser.h"

#include <stdio.h>
#include <string.h>

/* Words and signs of other languages, where a description has its own. */
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
