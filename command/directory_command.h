/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the files of espalier-directory: the run of the program, and what its verbs share. One thread.
 */
#ifndef COMMAND_DIRECTORY_COMMAND_H
#define COMMAND_DIRECTORY_COMMAND_H

#include "command/bar.h"
#include "services/directory/directory.h"
#include "services/settings.h"

enum { EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_UNREACHABLE, EXIT_INPUT };

struct directory_command {
    const char *verb, *output;
    bool prune, json;
    struct directory_options directory;
    struct settings_sed sed; /* of --sed, whose directory it is then */
    struct directory_tree tree;
    struct bar bar;
    unsigned wrong;
};

/* The error on standard error; the exit code that it has. */
int directory_fail(const struct directory_command *command, const struct esp_error *error);
/* A command line that is wrong: EXIT_USAGE. */
int directory_usage(const struct directory_command *command, const char *text);
/* An entry that is wrong: told, and counted. For schema_check(); `command` is one. */
void directory_tell_wrong(void *command, const struct esp_error *error, bool stays);
/* EXIT_USAGE, with what to say, where no directory is named. */
int directory_need(const struct directory_command *command);
/* What the directory has, checked, into the tree. */
int directory_fetch(struct directory_command *command);

/* The verbs: command/directory_import.c, command/directory_show.c. */
int directory_run_import(struct directory_command *command, int n, char **files);
int directory_run_show(struct directory_command *command, int n, char **names);

#endif
