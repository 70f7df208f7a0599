/* SPDX-License-Identifier: Apache-2.0
 *
 * The script of a batch job and the files in its folder:
 *
 *     script    this script
 *     owner     the batch system's id of the job that runs, or ran, here
 *     started   written when the script starts: seconds since 1970 and the node
 *     exit      the exit code of the command, written last: 128 + n after signal n
 *     output    standard output of the command and of the script
 *     errors    standard error of the command and of the script
 *
 * A job that was submitted twice, because the first submission got no answer, runs once: the second script
 * finds the owner and ends. A job that the batch system requeues keeps its id and runs again.
 */
#ifndef SED_BATCH_SCRIPT_H
#define SED_BATCH_SCRIPT_H

#include "util/error.h"

#include <stddef.h>
#include <stdint.h>

#define BATCH_SCRIPT_BYTES (256 * 1024) /* a longer script is refused */
#define BATCH_FILE_SCRIPT  "script"
#define BATCH_FILE_OWNER   "owner"
#define BATCH_FILE_STARTED "started"
#define BATCH_FILE_EXIT    "exit"
#define BATCH_FILE_OUTPUT  "output"
#define BATCH_FILE_ERRORS  "errors"

/* Appends `word` in quotes that make a POSIX shell take it as one word, whatever bytes it has. Returns the
 * length that the text in `to` would have, as snprintf() does; `to` always ends with NUL when size > 0. */
size_t batch_script_quote(char *to, size_t size, size_t used, const char *word);

/* The script that runs `words` (the argument vector; NULL at the end) in `folder`. `id` is what the shell
 * expands to the batch system's id of the job, such as "$SLURM_JOB_ID". *script is for free(). ESP_LIMIT: the
 * script would be longer than BATCH_SCRIPT_BYTES; ESP_NO_MEMORY; ESP_INVALID: no words. */
enum esp_status batch_script_make(const char *name, const char *folder, const char *id,
                                  const char *const *words, char **script, struct esp_error *error);

/* Reads the contents of an exit-code file. -1: it is no exit code, or is not whole yet. */
int32_t batch_script_read_exit(const char *text, size_t length);

#endif
