/* SPDX-License-Identifier: Apache-2.0 */
#include "util/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const char *const status_strings[] = {
    [ESP_OK] = "success",
    [ESP_INVALID] = "invalid argument",
    [ESP_SYNTAX] = "malformed input",
    [ESP_NO_MEMORY] = "not enough memory",
    [ESP_SYSTEM] = "the operating system refused",
    [ESP_NOT_FOUND] = "not found",
    [ESP_UNKNOWN_PROBLEM] = "unknown problem",
    [ESP_NO_SERVER] = "no server available",
    [ESP_UNREACHABLE] = "unreachable",
    [ESP_MAYBE] = "connection lost in the middle of a call",
    [ESP_TIMEOUT] = "deadline passed",
    [ESP_REFUSED] = "refused",
    [ESP_LIMIT] = "limit reached",
    [ESP_VERSION] = "incompatible version",
    [ESP_STALE] = "meant for an earlier incarnation",
    [ESP_FAILED] = "the routine reported a failure",
    [ESP_CRASHED] = "the routine crashed",
    [ESP_CANCELLED] = "cancelled",
    [ESP_PENDING] = "not finished yet",
    [ESP_PROTOCOL] = "protocol violation",
    [ESP_SECURITY] = "security",
    [ESP_CONFIG] = "wrong configuration",
    [ESP_INTERNAL] = "internal error",
    [ESP_BUSY] = "in use now",
    [ESP_INACCURATE] = "the solution is wrong",
};

const char *esp_status_string(enum esp_status status)
{
    size_t index = (size_t)status;
    if (index >= sizeof status_strings / sizeof *status_strings)
        return "unknown status";
    return status_strings[index];
}

enum esp_status error_vset(struct esp_error *error, enum esp_status status, const char *format,
                           va_list arguments)
{
    if (error) {
        error->status = status;
        vsnprintf(error->text, sizeof error->text, format, arguments);
    }
    return status;
}

enum esp_status error_set(struct esp_error *error, enum esp_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_vset(error, status, format, arguments);
    va_end(arguments);
    return status;
}

enum esp_status error_prefix(struct esp_error *error, const char *format, ...)
{
    if (!error)
        return ESP_INTERNAL;
    char old[sizeof error->text];
    memcpy(old, error->text, sizeof old);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length < sizeof error->text)
        snprintf(error->text + length, sizeof error->text - (size_t)length, ": %s", old);
    return error->status;
}

enum esp_status error_prefix_at(struct esp_error *error, const char *who, const char *address)
{
    if (error && strncmp(error->text, address, strlen(address)) == 0)
        return error_prefix(error, "%s", who);
    return error_prefix(error, "%s at %s", who, address);
}

enum esp_status error_no_memory(struct esp_error *error, const char *what)
{
    return error_set(error, ESP_NO_MEMORY, "out of memory for %s", what);
}

/* Appends the process's limit if that is the reason, because "File too large" does not suggest a limit. */
static void add_limit(int number, char *text, size_t size)
{
    struct rlimit limit;
    if (number != EFBIG && number != EMFILE)
        return;
    if (getrlimit(number == EFBIG ? RLIMIT_FSIZE : RLIMIT_NOFILE, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return;
    snprintf(text, size,
             number == EFBIG ? " (\"ulimit -f\" allows %llu bytes)" : " (\"ulimit -n\" allows %llu)",
             (unsigned long long)limit.rlim_cur);
}

enum esp_status error_errno(struct esp_error *error, const char *format, ...)
{
    int saved = errno;
    va_list arguments;
    va_start(arguments, format);
    error_vset(error, ESP_SYSTEM, format, arguments);
    va_end(arguments);
    if (error) {
        size_t length = strlen(error->text);
        snprintf(error->text + length, sizeof error->text - length, ": %s", strerror(saved));
        length = strlen(error->text);
        add_limit(saved, error->text + length, sizeof error->text - length);
    }
    return ESP_SYSTEM;
}
