/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flow/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum esp_status read_text(const char *path, char **text, size_t *length, struct esp_error *error)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return error_set(error, errno == ENOENT ? ESP_NOT_FOUND : ESP_SYSTEM, "%s: %s", path,
                         strerror(errno));
    *text = malloc(PROGRAM_MAX_BYTES + 1);
    *length = *text ? fread(*text, 1, PROGRAM_MAX_BYTES + 1, file) : 0;
    bool failed = ferror(file) != 0;
    fclose(file);
    if (!*text)
        return error_no_memory(error, path);
    return failed ? error_set(error, ESP_SYSTEM, "%s: cannot be read", path) : ESP_OK;
}

enum esp_status flow_program_load(const char *path, struct flow_problems problems,
                                  struct flow_program **program, struct esp_error *error)
{
    char *text = NULL;
    size_t length = 0;
    *program = NULL;
    enum esp_status status = read_text(path, &text, &length, error);
    if (status == ESP_OK)
        status = flow_program_parse(text, length, path, problems, program, error);
    free(text);
    return status;
}
