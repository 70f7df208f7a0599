/* SPDX-License-Identifier: Apache-2.0
 *
 * One command on another machine, over ssh as the user has set it up: with keys, without a question.
 */
#ifndef COMMAND_REMOTE_H
#define COMMAND_REMOTE_H

#include "util/error.h"

#include <stdint.h>

/* Runs `words` (ending with NULL; quoted for the shell there) on `host` ("name" or "user@name") with `input`
 * as its standard input. *output, to be freed, is what it wrote to standard output (64 KiB at most); its
 * standard error is ours. ESP_NOT_FOUND: there is no ssh here; ESP_UNREACHABLE: ssh did not get there (it has
 * said why); ESP_FAILED: the command failed there; ESP_TIMEOUT; ESP_LIMIT; ESP_SYSTEM. */
enum esp_status remote_run(const char *host, const char *const *words, const char *input, int64_t timeout_ns,
                           char **output, struct esp_error *error);

#endif
