/* SPDX-License-Identifier: Apache-2.0
 *
 * Log lines of the daemons: one line per event, "time level node message key=value ...".
 * Library code that runs inside a client program never calls this.
 */
#ifndef UTIL_LOG_H
#define UTIL_LOG_H

#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR_LEVEL, LOG_WARNING_LEVEL, LOG_NOTICE_LEVEL, LOG_DEBUG_LEVEL };

struct log_options {
    const char *node;     /* name shown in every line */
    const char *path;     /* file, appended to; NULL: standard error */
    enum log_level level; /* lines of a lower importance are dropped */
};

/* Opens the log of this process. Before that, lines go to standard error at LOG_NOTICE_LEVEL. */
enum esp_status log_open(const struct log_options *options, struct esp_error *error);

/* Opens the file again under the same name (after rotation, SIGHUP). */
enum esp_status log_reopen(struct esp_error *error);
void log_close(void);
/* Whether lines go to a file and not to standard error. */
bool log_is_file(void);
/* Returns the descriptor that lines are written to now, for the output of a child process; the log owns
 * it. */
int log_descriptor(void);

/* Writes one line; control characters in it are escaped, so that input cannot forge a second line.
 * `session` is the printed session id, or NULL. Any thread. */
void log_write(enum log_level level, const char *session, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether lines of that level are written: check this before computing something only for the log. Any
 * thread. */
bool log_wants(enum log_level level);

/* Limits frequent lines: so many are written in each second, further ones are counted. Zero-initialized
 * except for `most` and `what` ("small sessions done"). One thread at a time. */
struct log_quota {
    unsigned most;
    const char *what;
    int64_t second;
    unsigned written, left_out;
};
/* Whether one more line may be written at `now_ns` (a monotonic clock). Before the first one of a new
 * second, writes a line with the number of dropped ones. At the debug level no line is dropped. */
bool log_quota_take(struct log_quota *quota, int64_t now_ns);

#define log_error(...)   log_write(LOG_ERROR_LEVEL, NULL, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING_LEVEL, NULL, __VA_ARGS__)
#define log_notice(...)  log_write(LOG_NOTICE_LEVEL, NULL, __VA_ARGS__)
#define log_debug(...)   log_write(LOG_DEBUG_LEVEL, NULL, __VA_ARGS__)

#endif
