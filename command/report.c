/* SPDX-License-Identifier: Apache-2.0
 *
 * How a run of the command ends: messages, JSON, exit codes.
 */
#include "config.h"

#include "command/command.h"
#include "command/json_write.h"
#include "command/session.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum exit_code command_exit_code(enum esp_status status)
{
    switch (status) {
    case ESP_OK:
        return EXIT_DONE;
    case ESP_INVALID:
    case ESP_UNKNOWN_PROBLEM:
        return EXIT_USAGE;
    case ESP_UNREACHABLE:
    case ESP_TIMEOUT:
    case ESP_NO_SERVER:
    case ESP_SECURITY:
    case ESP_VERSION:
        return EXIT_UNREACHABLE;
    case ESP_SYNTAX:
    case ESP_NOT_FOUND:
    case ESP_CONFIG:
        return EXIT_INPUT;
    default:
        return EXIT_FAILED;
    }
}

/* As espalier.h has them. */
static const char *const status_names[] = {
    [ESP_OK] = "ESP_OK",
    [ESP_INVALID] = "ESP_INVALID",
    [ESP_SYNTAX] = "ESP_SYNTAX",
    [ESP_NO_MEMORY] = "ESP_NO_MEMORY",
    [ESP_SYSTEM] = "ESP_SYSTEM",
    [ESP_NOT_FOUND] = "ESP_NOT_FOUND",
    [ESP_UNKNOWN_PROBLEM] = "ESP_UNKNOWN_PROBLEM",
    [ESP_NO_SERVER] = "ESP_NO_SERVER",
    [ESP_UNREACHABLE] = "ESP_UNREACHABLE",
    [ESP_MAYBE] = "ESP_MAYBE",
    [ESP_TIMEOUT] = "ESP_TIMEOUT",
    [ESP_REFUSED] = "ESP_REFUSED",
    [ESP_LIMIT] = "ESP_LIMIT",
    [ESP_VERSION] = "ESP_VERSION",
    [ESP_STALE] = "ESP_STALE",
    [ESP_FAILED] = "ESP_FAILED",
    [ESP_CRASHED] = "ESP_CRASHED",
    [ESP_INACCURATE] = "ESP_INACCURATE",
    [ESP_CANCELLED] = "ESP_CANCELLED",
    [ESP_PENDING] = "ESP_PENDING",
    [ESP_PROTOCOL] = "ESP_PROTOCOL",
    [ESP_SECURITY] = "ESP_SECURITY",
    [ESP_CONFIG] = "ESP_CONFIG",
    [ESP_INTERNAL] = "ESP_INTERNAL",
    [ESP_BUSY] = "ESP_BUSY",
};

json_t *status_json(enum esp_status status)
{
    bool known = (size_t)status < sizeof status_names / sizeof *status_names;
    return json_pack("{s:i, s:s}", "code", (int)status, "status",
                     status_names[known ? status : ESP_INTERNAL]);
}

void command_error_json(enum esp_status status, const char *text)
{
    json_t *error = status_json(status);
    json_object_set_new(error, "text", command_json_text(text));
    command_json(json_pack("{s:o}", "error", error));
}

enum esp_status command_check_output(const char *path, struct esp_error *error)
{
    struct stat there;
    if (strcmp(path, "-") == 0)
        return ESP_OK;
    if (stat(path, &there) == 0 && S_ISDIR(there.st_mode)) {
        errno = EISDIR;
        return error_errno(error, "cannot write %s", path);
    }
    /* A regular file is replaced by a new one beside it, a device or a pipe is written to. */
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return access(path, W_OK) == 0 ? ESP_OK : error_errno(error, "cannot write %s", path);
    char *copy = strdup(path);
    if (!copy)
        return error_no_memory(error, "a file name");
    enum esp_status status =
        access(dirname(copy), W_OK | X_OK) == 0 ? ESP_OK : error_errno(error, "cannot write %s", path);
    free(copy);
    return status;
}

void command_complain(const char *verb, const char *text)
{
    fprintf(stderr, "espalier%s%s: ", *verb ? " " : "", verb);
    for (; *text; text++)
        if (((unsigned char)*text < ' ' && *text != '\n') || *text == 0x7f)
            fprintf(stderr, "\\x%02x", (unsigned char)*text);
        else
            fputc(*text, stderr);
    fputc('\n', stderr);
}

/* What to do next, where the text cannot know; NULL: nothing. */
static const char *advice(enum esp_status status)
{
    switch (status) {
    case ESP_UNKNOWN_PROBLEM:
        return "'espalier problems' lists what can be solved, 'espalier tree' which servers are there.";
    case ESP_NO_SERVER:
        return "'espalier tree' shows which servers are there and how busy they are.";
    default:
        return NULL;
    }
}

enum exit_code command_fail(const struct command_line *command, const struct esp_error *error)
{
    struct esp_error own = *error;
    session_explain(&own);
    const char *next = advice(own.status);
    command_complain(command->verb->name, own.text);
    if (next)
        fprintf(stderr, "%s\n", next);
    if (command->json)
        command_error_json(own.status, own.text);
    return command_exit_code(own.status);
}

enum exit_code command_usage(const struct command_line *command, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    command_complain(command->verb->name, text);
    fprintf(stderr, "Try 'espalier %s --help'.\n", command->verb->name);
    if (command->json)
        command_error_json(ESP_INVALID, text);
    return EXIT_USAGE;
}

json_t *command_json_real(double value)
{
    if (isfinite(value))
        return json_real(value);
    return json_string(isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

/* Bytes of the well-formed character of UTF-8 at the beginning of the text, or 0. */
static size_t utf8_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    const size_t n = at[0] < 0x80 ? 1 : at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    char one[5] = "";
    for (size_t i = 1; i < n; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    memcpy(one, text, n);
    json_t *string = json_string(one); /* knows which are well-formed */
    json_decref(string);
    return string ? n : 0;
}

json_t *command_json_text(const char *text)
{
    json_t *string = text ? json_string(text) : json_null();
    char *shown = string ? NULL : malloc(4 * strlen(text) + 1), *to = shown;
    if (!shown)
        return string;
    while (*text) {
        size_t n = utf8_length(text);
        if (n)
            memcpy(to, text, n);
        else
            sprintf(to, "\\x%02x", (unsigned char)*text);
        to += n ? n : 4;
        text += n ? n : 1;
    }
    *to = 0;
    string = json_string(shown);
    free(shown);
    return string;
}

enum exit_code command_json(json_t *value)
{
    const bool is_dumped = value && json_write(value, stdout);
    json_decref(value);
    if (!is_dumped && !ferror(stdout)) {
        fputs("espalier: the result cannot be written as JSON\n", stderr);
        return EXIT_FAILED;
    }
    fputc('\n', stdout);
    return command_flush();
}

enum exit_code command_flush(void)
{
    const int before = errno; /* of an earlier write */
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_DONE;
    fprintf(stderr, "espalier: cannot write the result: %s\n", strerror(errno ? errno : before));
    return EXIT_FAILED;
}

void command_progress(const struct command_line *command, const char *format, ...)
{
    if (command->json)
        return;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

enum exit_code command_watch(const struct command_line *command,
                             enum exit_code (*show)(const struct command_line *command))
{
    static const char home_and_clear[] = "\033[H\033[J";
    const struct timespec pause = {.tv_sec = 1};
    const bool terminal = isatty(STDOUT_FILENO);
    for (;;) {
        if (terminal)
            fputs(home_and_clear, stdout);
        show(command);
        if (!terminal && !command->json)
            putchar('\n');
        if (fflush(stdout) != 0)
            return command_flush();
        nanosleep(&pause, NULL);
    }
}
