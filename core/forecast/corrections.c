/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/corrections.h"

#include "util/crc32c.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADING  "espalier-corrections 1\n"
#define END_LINE 13 /* "end " with eight digits and a line end */

/* Computes a checksum of everything in the model except its correction. False without memory. */
static bool fingerprint(const struct cost_model *model, uint32_t *print)
{
    struct cost_model copy = *model;
    const struct cost_set one = {.models = &copy, .n = 1};
    struct arena arena = {0};
    uint32_t length;
    copy.factor = 1;
    const uint8_t *bytes = cost_encode(&one, &arena, &length);
    if (bytes)
        *print = crc32c(0, bytes, length);
    arena_clear(&arena);
    return bytes != NULL;
}

/* ---- writing ---- */

static void write_line(FILE *file, uint32_t print, const struct cost_correction *correction)
{
    const uint32_t oldest = correction->n < COST_WINDOW ? 0 : correction->next;
    fprintf(file, "%08" PRIx32, print);
    for (uint32_t i = 0; i < correction->n; i++)
        fprintf(file, " %.6g", correction->ratios[(oldest + i) % COST_WINDOW]);
    fputc('\n', file);
}

char *corrections_write(const struct cost_set *set, const struct cost_correction *corrections,
                        const struct corrections_beside *beside, size_t *length)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, length);
    uint32_t print;
    if (!file)
        return NULL;
    fputs(HEADING, file);
    for (uint32_t i = 0; i < set->n; i++)
        if (corrections[i].n > 0 && fingerprint(&set->models[i], &print))
            write_line(file, print, &corrections[i]);
    if (beside)
        beside->write(beside->arg, file);
    fflush(file);
    fprintf(file, "end %08" PRIx32 "\n", crc32c(0, text, *length));
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- reading ---- */

static enum esp_status check(const char *text, size_t length, struct esp_error *error)
{
    char expected[END_LINE + 1];
    if (length < strlen(HEADING) + END_LINE || strncmp(text, "espalier-corrections ", 21) != 0)
        return error_set(error, ESP_INVALID,
                         "expected corrections of models, found another file or a cut one");
    snprintf(expected, sizeof expected, "end %08" PRIx32 "\n", crc32c(0, text, length - END_LINE));
    if (memcmp(expected, text + length - END_LINE, END_LINE) != 0)
        return error_set(error, ESP_INVALID, "it is damaged or cut: its checksum is missing or wrong");
    if (strncmp(text, HEADING, strlen(HEADING)) != 0)
        return error_set(error, ESP_INVALID, "expected version 1, found '%.*s'", (int)strcspn(text, "\n"),
                         text);
    return ESP_OK;
}

static void read_ratios(char *words, struct cost_correction *correction)
{
    char *end;
    *correction = (struct cost_correction){0};
    for (double ratio = strtod(words, &end); end != words && correction->n < COST_WINDOW;
         words = end, ratio = strtod(words, &end))
        if (isfinite(ratio) && ratio > 0)
            correction->ratios[correction->n++] = fmin(fmax(ratio, 1 / COST_MOST_FACTOR), COST_MOST_FACTOR);
    correction->next = correction->n % COST_WINDOW;
}

static bool take_line(char *line, struct cost_set *set, struct cost_correction *corrections)
{
    char *rest;
    const uint32_t wanted = (uint32_t)strtoul(line, &rest, 16);
    for (uint32_t i = 0; rest == line + 8 && i < set->n; i++) {
        uint32_t print;
        if (!fingerprint(&set->models[i], &print) || print != wanted)
            continue;
        read_ratios(rest, &corrections[i]);
        set->models[i].factor = cost_correct(&corrections[i], 0, 0);
        return true;
    }
    return false;
}

enum esp_status corrections_read(const char *text, size_t length, struct cost_set *set,
                                 struct cost_correction *corrections, const struct corrections_beside *beside,
                                 uint32_t *taken, struct esp_error *error)
{
    char *copy, *next;
    *taken = 0;
    if (check(text, length, error) != ESP_OK)
        return error->status;
    if (!(copy = strndup(text, length - END_LINE)))
        return error_no_memory(error, "the corrections of models");
    strtok_r(copy, "\n", &next);
    for (char *line = strtok_r(NULL, "\n", &next); line; line = strtok_r(NULL, "\n", &next))
        if (take_line(line, set, corrections))
            ++*taken;
        else if (beside)
            beside->take(beside->arg, line);
    free(copy);
    cost_set_bound(set);
    return ESP_OK;
}
