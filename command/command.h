/* SPDX-License-Identifier: Apache-2.0
 *
 * The `espalier` command: a table of verbs, each with its options, from which the help is made.
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

/* Ends with a row without a name. */
extern const struct verb command_verbs[];

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

/* Runs the whole command. */
enum exit_code command_run(int argc, char **argv);

/* What could stand in the place of the last of `words` (those behind "espalier"), one a line. */
enum exit_code command_complete(int n, char **words);

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

/* The verbs. */
enum exit_code verb_up(const struct command_line *command);
enum exit_code verb_down(const struct command_line *command);
enum exit_code verb_problems(const struct command_line *command);
enum exit_code verb_problems_check(const struct command_line *command);
enum exit_code verb_call(const struct command_line *command);
enum exit_code verb_submit(const struct command_line *command);
enum exit_code verb_jobs(const struct command_line *command);
enum exit_code verb_fetch(const struct command_line *command);
enum exit_code verb_wait(const struct command_line *command);
enum exit_code verb_output(const struct command_line *command);
enum exit_code verb_cancel(const struct command_line *command);
enum exit_code verb_sweep(const struct command_line *command);
enum exit_code verb_solve(const struct command_line *command);
enum exit_code verb_accuracy(const struct command_line *command);
enum exit_code verb_weather(const struct command_line *command);
enum exit_code verb_forecast(const struct command_line *command);
enum exit_code verb_flow_cancel(const struct command_line *command);
enum exit_code verb_flow_run(const struct command_line *command);
enum exit_code verb_calibrate(const struct command_line *command);
enum exit_code verb_directory_export(const struct command_line *command);
enum exit_code verb_directory_import(const struct command_line *command);
enum exit_code verb_directory_show(const struct command_line *command);
enum exit_code verb_directory_client(const struct command_line *command);
enum exit_code verb_tree(const struct command_line *command);
enum exit_code verb_trace(const struct command_line *command);
enum exit_code verb_admin_move(const struct command_line *command);
enum exit_code verb_admin_drain(const struct command_line *command);
enum exit_code verb_admin_undrain(const struct command_line *command);
enum exit_code verb_admin_disable(const struct command_line *command);
enum exit_code verb_admin_enable(const struct command_line *command);
enum exit_code verb_admin_reload(const struct command_line *command);
enum exit_code verb_admin_add(const struct command_line *command);
enum exit_code verb_admin_apply(const struct command_line *command);
enum exit_code verb_admin_restart(const struct command_line *command);
enum exit_code verb_admin_stop(const struct command_line *command);
enum exit_code verb_admin_remove(const struct command_line *command);
enum exit_code verb_config_check(const struct command_line *command);
enum exit_code verb_data_put(const struct command_line *command);
enum exit_code verb_data_get(const struct command_line *command);
enum exit_code verb_data_ls(const struct command_line *command);
enum exit_code verb_data_info(const struct command_line *command);
enum exit_code verb_data_show(const struct command_line *command);
enum exit_code verb_data_rm(const struct command_line *command);
enum exit_code verb_data_cp(const struct command_line *command);
enum exit_code verb_data_mv(const struct command_line *command);
enum exit_code verb_flow_check(const struct command_line *command);
enum exit_code verb_flow_simulate(const struct command_line *command);
enum exit_code verb_matrix_info(const struct command_line *command);
enum exit_code verb_matrix_convert(const struct command_line *command);

#endif
