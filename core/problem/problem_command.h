/* SPDX-License-Identifier: Apache-2.0
 *
 * An implementation that is a program: its argument vector, and how values reach its files and standard
 * streams and come back (doc/problem-description.md, "Commands"). */
#ifndef CORE_PROBLEM_COMMAND_H
#define CORE_PROBLEM_COMMAND_H

#include "core/problem/expr.h"

#define COMMAND_MAX_WORDS      128
#define COMMAND_MAX_PARTS      512 /* of all words */
#define COMMAND_MAX_FILE_NAME  63
#define COMMAND_DEFAULT_OUTPUT (UINT64_C(16) << 20) /* most bytes of one output without `limit` */

/* Format of a value in a file or on a standard stream. */
enum value_format {
    FORMAT_RAW,          /* its bytes */
    FORMAT_TEXT,         /* numbers between white space; a matrix row by row */
    FORMAT_MATRIX_MARKET /* array format, column by column */
};
#define N_VALUE_FORMATS 3
const char *value_format_name(enum value_format format);

enum command_stream { STREAM_FILE, STREAM_INPUT, STREAM_OUTPUT };

/* How one argument reaches the command, comes back, or both. */
struct command_file {
    uint32_t argument;
    enum command_stream stream;
    enum value_format format;
    const char *name; /* STREAM_FILE: file name in the command's private folder */
    bool goes_in, comes_back;
};

/* A word of the argument vector is a concatenation of parts. */
struct command_part {
    enum {
        PART_TEXT,   /* itself */
        PART_VALUE,  /* the value of an expression, as a number or a character */
        PART_STRING, /* the text of a string argument */
        PART_FILE    /* the name of the file of an argument */
    } kind;
    const char *text;
    struct expr *value;
    uint32_t argument; /* PART_STRING, PART_FILE */
};

struct command {
    struct command_part *parts;
    uint32_t *word_ends; /* word w has the parts word_ends[w - 1] .. word_ends[w]; word 0 is the program */
    uint32_t n_words;
    struct command_file *files;
    uint32_t n_files;
};

/* The file of the argument with this index, or NULL. */
const struct command_file *command_file_of(const struct command *command, uint32_t argument);

#endif
