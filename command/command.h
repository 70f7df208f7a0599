/* SPDX-License-Identifier: Apache-2.0
 *
 * What every verb of the `espalier` command uses: its command line, and how it ends.
 *
 * Results go to standard output (tables for people, one JSON value with --json), everything else to
 * standard error. One thread.
 */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "util/error.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum exit_code {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,      /* the computation, or whatever was asked for, failed */
    EXIT_USAGE = 2,       /* the command line is wrong: arguments, their types and shapes included */
    EXIT_UNREACHABLE = 3, /* the platform, or a server that could, is not reached, or the time is over */
    EXIT_INPUT = 4,       /* an input file is missing or wrong */
    EXIT_GONE = 5         /* a state, a datum or a job is not there (any more) */
};

struct command_option {
    char letter;          /* 0: none */
    const char *name;     /* "output" */
    const char *argument; /* "NAME=FILE"; NULL: a switch */
    const char *text;
};

struct command_line;

/* Options that several verbs have. */
enum { WITH_INPUT = 1, WITH_CONSTRAINTS = 2, WITH_PLATFORM = 4 };

struct verb {
    const char *name;                     /* "solve", "config check" */
    const char *operands;                 /* "A [B]" */
    const char *title;                    /* one line */
    const char *text;                     /* paragraphs for --help, lines broken */
    const struct command_option *options; /* its own, ending with a row without a name; or NULL */
    unsigned shared;                      /* and those of these tables */
    int least, most;                      /* operands; most < 0: any number */
    enum exit_code (*run)(const struct command_line *command);
};

/* Tables of shared options: of values that are given, of the servers that may have a call, of the platform.
 */
extern const struct command_option input_options[], constraint_options[], platform_options[];
/* The tables of a verb's options, its own and those that it shares (those of every verb too); NULL behind the
 * last. */
const struct command_option *command_options(const struct verb *verb, unsigned index);

/* One run of a verb, as the command line says it. */
struct command_line {
    const struct verb *verb;
    bool json;
    char **operands;
    int n_operands;
    struct option_value {
        const char *name;
        const char *value; /* "" for a switch */
    } * options;
    int n_options;
};

/* The value of the option given last, or NULL. */
const char *command_option_value(const struct command_line *command, const char *name);

/* Which exit code tells of a status. */
enum exit_code command_exit_code(enum esp_status status);

/* "espalier VERB: text" (`verb` "": "espalier: text") and the end of the line on standard error. Names in the
 * text come from anywhere: control characters show as \x1b. */
void command_complain(const char *verb, const char *text);
/* "espalier solve: text" and what to do next on standard error and, with --json, {"error": ...} on
 * standard output.
 * Returns the exit code of the status. */
enum exit_code command_fail(const struct command_line *command, const struct esp_error *error);
/* The same for a command line that is wrong, with a pointer to --help. */
enum exit_code command_usage(const struct command_line *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A number; JSON has neither NaN nor infinity: "NaN", "Infinity" and "-Infinity" are texts. */
json_t *command_json_real(double value);
/* A text that may have any bytes, such as a file's name or what a routine gave: those that are no UTF-8
 * become \x1b. NULL becomes null. Returns NULL without memory. */
json_t *command_json_text(const char *text);
/* Prints the value as JSON, and lets go of it. EXIT_FAILED when standard output takes it not. */
enum exit_code command_json(json_t *value);

/* Whether a file of that name could be written now ('-': standard output): ESP_SYSTEM with the reason. */
enum esp_status command_check_output(const char *path, struct esp_error *error);

/* {"error": {"code": 1, "status": "ESP_INVALID", "text": ...}} on standard output. */
void command_error_json(enum esp_status status, const char *text);

/* {"code": 8, "status": "ESP_UNREACHABLE"}: for programs. */
json_t *status_json(enum esp_status status);

/* Standard output flushed: EXIT_DONE, or EXIT_FAILED with a message (a full disk). */
enum exit_code command_flush(void);

/* Shows something again every second, until interrupted or nobody reads any more. That it cannot be shown for
 * a while is one of the things to be watched. */
enum exit_code command_watch(const struct command_line *command,
                             enum exit_code (*show)(const struct command_line *command));

/* A line of progress, for people only. */
void command_progress(const struct command_line *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
