/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier calibrate: runs espalier-calibrate, which measures with a server's own workers. It is a program of
 * its own because it links LAPACK, which this command should not wait for.
 */
#include "config.h"

#include "command/verbs.h"
#include "command/launch.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_WORDS 8

/* The words that the program takes: options have one name and at most one value. */
static size_t add_options(const struct command_line *command, const char **words)
{
    static const char *const names[] = {"models", "budget", "longest"};
    static const char *const switches[] = {"again", "all"};
    static const char *const spelled[] = {"--models", "--budget", "--longest"};
    static const char *const flags[] = {"--again", "--all"};
    const char *file = command_option_value(command, "sed");
    size_t n = 0;
    if (file) {
        words[n++] = "--config";
        words[n++] = file;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (command_option_value(command, names[i])) {
            words[n++] = spelled[i];
            words[n++] = command_option_value(command, names[i]);
        }
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (command_option_value(command, switches[i]))
            words[n++] = flags[i];
    if (command->json)
        words[n++] = "--json";
    return n;
}

enum exit_code verb_calibrate(const struct command_line *command)
{
    struct esp_error error = {0};
    char path[PATH_MAX];
    if (command->n_operands == 0 && !command_option_value(command, "all"))
        return command_usage(command, "expected names of problems, or --all");
    if (launch_find("espalier-calibrate", path, sizeof path, &error) != ESP_OK)
        return command_fail(command, &error);
    const char **words = calloc((size_t)command->n_operands + 2 * MOST_WORDS + 4, sizeof *words);
    if (!words) {
        error_no_memory(&error, "the arguments");
        return command_fail(command, &error);
    }
    size_t n = 0;
    words[n++] = path;
    n += add_options(command, words + n);
    words[n++] = "--";
    for (int i = 0; i < command->n_operands; i++)
        words[n++] = command->operands[i];
    /* Threads of the fit would only spin beside the workers. The workers' own number is set for them. */
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    execv(path, (char **)words);
    error_errno(&error, "cannot start %s", path);
    free(words);
    return command_fail(command, &error);
}
