/* SPDX-License-Identifier: Apache-2.0
 *
 * How a run of the command ends: messages, JSON, exit codes.
 */
#include "config.h"

#include "client/command/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum exit_code command_exit_code(enum esp_status status)
{
    switch (status) {
    case ESP_OK:
        return EXIT_DONE;
    case ESP_INVALID:
    case ESP_UNKNOWN_PROBLEM:
        return EXIT_USAGE;
    case ESP_UNREACHABLE:
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

static void fail_json(const char *status, const char *text)
{
    command_json(json_pack("{s:{s:s,s:s}}", "error", "status", status, "text", text));
}

enum exit_code command_fail(const struct command_line *command, const struct esp_error *error)
{
    fprintf(stderr, "espalier %s: %s\n", command->verb->name, error->text);
    if (command->json)
        fail_json(esp_status_string(error->status), error->text);
    return command_exit_code(error->status);
}

enum exit_code command_usage(const struct command_line *command, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "espalier %s: %s\nTry 'espalier %s --help'.\n", command->verb->name, text,
            command->verb->name);
    if (command->json)
        fail_json("usage", text);
    return EXIT_USAGE;
}

enum exit_code command_json(json_t *value)
{
    if (!value || json_dumpf(value, stdout, JSON_REAL_PRECISION(17)) != 0) {
        fputs("espalier: the result cannot be written as JSON\n", stderr);
        json_decref(value);
        return EXIT_FAILED;
    }
    json_decref(value);
    fputc('\n', stdout);
    return command_flush();
}

enum exit_code command_flush(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_DONE;
    fprintf(stderr, "espalier: cannot write the result: %s\n", strerror(errno));
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
