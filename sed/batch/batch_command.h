/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program of the batch system by argument vector, never by a shell, and waits for its end.
 *
 * The program gets a new environment: PATH, HOME, USER, LOGNAME, LC_ALL=C.UTF-8 and what its caller adds, so
 * that variables of the administrator's session cannot change what a batch system does.
 */
#ifndef SED_BATCH_COMMAND_H
#define SED_BATCH_COMMAND_H

#include "util/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BATCH_COMMAND_OUTPUT (4 << 20) /* bytes of standard output; a program that writes more is killed */
#define BATCH_COMMAND_ERRORS 2047      /* bytes of standard error that are kept; the rest is dropped */

/* The Unix user that runs programs of a batch system and its jobs. */
struct batch_user {
    uid_t uid;
    gid_t gid;
    char name[64];
    char home[256];
};

/* The user of this process where `name` is NULL. ESP_CONFIG: there is no such user, or only root may run
 * programs as that user. */
enum esp_status batch_user_find(const char *name, struct batch_user *user, struct esp_error *error);

struct batch_command {
    const char *const *words;       /* argument vector, NULL at the end; words[0] is searched in PATH */
    const char *const *environment; /* further variables "NAME=value", NULL at the end; or NULL: none */
    const struct batch_user *user;  /* NULL: as this process */
    int64_t deadline_ms;            /* afterwards the program and its process group are killed */
};

struct batch_command_result {
    int32_t exit_code; /* 128 + n after signal n */
    char *output;      /* all of standard output, with a NUL behind; for batch_command_clear() */
    size_t output_bytes;
    char errors[BATCH_COMMAND_ERRORS + 1]; /* word for word, without line ends at its end */
};

/* Runs programs for a batch system; tests and simulations have their own. */
struct batch_runner {
    /* ESP_OK: the program has ended, with whatever exit code. ESP_NOT_FOUND: the program cannot be started;
     * ESP_TIMEOUT: it was killed at its deadline; ESP_LIMIT: it has written too much and was killed;
     * ESP_SYSTEM; ESP_NO_MEMORY. On failure the result holds nothing but `errors`. Any thread; blocks until
     * the deadline. */
    enum esp_status (*run)(const struct batch_runner *runner, const struct batch_command *command,
                           struct batch_command_result *result, struct esp_error *error);
};

/* Runs real programs. */
extern const struct batch_runner batch_runner_processes;

void batch_command_clear(struct batch_command_result *result);

#endif
