/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/corrections_file.h"

#include "util/log.h"
#include "util/regular_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME       "corrections"
#define MOST_BYTES (4 << 20)

static void set_aside(const char *path, const struct esp_error *why)
{
    char aside[4200];
    snprintf(aside, sizeof aside, "%s.damaged", path);
    log_warning("%s: %s; it is set aside as %s, and corrections begin anew", path, why->text, aside);
    if (rename(path, aside) != 0)
        log_warning("%s cannot be renamed: %s", path, strerror(errno));
}

void corrections_file_load(struct server *server, const char *state_dir)
{
    char path[4100];
    struct esp_error error = {0};
    snprintf(path, sizeof path, "%s/" NAME, state_dir);
    FILE *file = regular_file_open(path, "r", &error);
    if (!file && error.status == ESP_INVALID)
        set_aside(path, &error);
    if (!file)
        return;
    char *text = malloc(MOST_BYTES);
    const size_t length = text ? fread(text, 1, MOST_BYTES, file) : 0;
    fclose(file);
    uint32_t taken = 0;
    if (text && server_take_corrections(server, text, length, &taken, &error) == ESP_INVALID)
        set_aside(path, &error);
    else if (taken)
        log_notice("%u cost models go on with the corrections they had", taken);
    free(text);
}

static bool write_whole(const char *path, const char *text, size_t length)
{
    FILE *file = regular_file_open(path, "w", NULL);
    bool whole =
        file && fwrite(text, 1, length, file) == length && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file && fclose(file) != 0)
        whole = false;
    return whole;
}

void corrections_file_save(struct server *server, const char *state_dir)
{
    char path[4100], fresh[4200];
    size_t length;
    char *text = server_corrections(server, &length);
    if (!text)
        return;
    snprintf(path, sizeof path, "%s/" NAME, state_dir);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    if (!write_whole(fresh, text, length) || rename(fresh, path) != 0)
        log_warning("%s cannot be written: %s", path, strerror(errno));
    free(text);
}
