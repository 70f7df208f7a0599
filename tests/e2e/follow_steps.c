/* SPDX-License-Identifier: Apache-2.0
 *
 * follow_steps N: calls the problem `steps` asynchronously, follows it, and writes what came of it: lines of
 * its output, and "told" when progress was seen before the end.
 */
#include "espalier.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, esp_last_error()->text);
    return 1;
}

static size_t show_output(grpc_sessionid_t session)
{
    char buffer[16]; /* small: pieces must come whole */
    size_t length = 0, all = 0;
    while (esp_session_output(session, buffer, sizeof buffer, &length) == ESP_OK && length > 0) {
        fwrite(buffer, 1, length, stdout);
        all += length;
    }
    return all;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 3;
    grpc_function_handle_t handle;
    grpc_sessionid_t session;
    struct esp_argument argument = {.data = &n, .type = ESP_TYPE_INT};
    struct esp_call_options options = {.follow = 1};
    struct esp_session_info *info;
    int told = 0, early = 0;
    if (grpc_initialize(NULL) != GRPC_NO_ERROR ||
        grpc_function_handle_default(&handle, (char *)"steps") != GRPC_NO_ERROR)
        return fail("begin");
    if (esp_call_async(&handle, &argument, 1, &options, &session) != ESP_OK)
        return fail("call");
    while (grpc_probe(session) == GRPC_NOT_COMPLETED) {
        early |= show_output(session) > 0;
        if (esp_session_info_get(session, &info) == ESP_OK) {
            told |= info->progress > 0;
            esp_session_info_free(info);
        }
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    show_output(session);
    if (grpc_wait(session) != GRPC_NO_ERROR)
        return fail("wait");
    printf("%s %s\n", told ? "told" : "untold", early ? "early" : "late");
    return grpc_finalize() != GRPC_NO_ERROR;
}
