/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking nodes for the weather, many at a time: one that hangs keeps nobody waiting but for itself.
 */
#include "config.h"

#include "command/asking.h"
#include "command/session.h"
#include "command/weather.h"
#include "core/message/message_basic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PAGES 1000 /* of one node */

static enum esp_status add(struct weather_rows *rows, const struct outlook *outlook, struct esp_error *error)
{
    char key[2 * CAP_NAME + 64];
    struct weather_row *row;
    snprintf(key, sizeof key, "%s\t%s\t%s", outlook->resource, outlook->from, outlook->to);
    HASH_FIND_STR(rows->first, key, row);
    if (row)
        return ESP_OK;
    if (HASH_COUNT(rows->first) == WEATHER_MOST_ROWS)
        return error_set(error, ESP_LIMIT, "more than %d figures are told: use --node", WEATHER_MOST_ROWS);
    const char *own = arena_strdup(&rows->arena, key);
    row = own ? arena_alloc(&rows->arena, sizeof *row) : NULL;
    if (!row)
        return error_no_memory(error, "the weather");
    row->outlook = *outlook;
    row->outlook.resource = arena_strdup(&rows->arena, outlook->resource);
    row->outlook.from = arena_strdup(&rows->arena, outlook->from);
    row->outlook.to = arena_strdup(&rows->arena, outlook->to);
    if (row->outlook.resource && row->outlook.from && row->outlook.to)
        HASH_ADD_KEYPTR(hh, rows->first, own, strlen(own), row);
    return row->hh.tbl ? ESP_OK : error_no_memory(error, "the weather");
}

/* *next: 0 behind the last page. */
static enum esp_status read_page(char *text, struct weather_rows *rows, size_t *next, struct esp_error *error)
{
    char *rest = NULL;
    enum esp_status status = ESP_OK;
    const size_t asked = *next;
    *next = 0;
    for (char *line = strtok_r(text, "\n", &rest); line && status == ESP_OK;
         line = strtok_r(NULL, "\n", &rest)) {
        struct outlook outlook;
        switch (outlook_read(line, &outlook, next)) {
        case OUTLOOK_LINE:
            status = add(rows, &outlook, error);
            break;
        case OUTLOOK_NEXT:
            if (*next <= asked)
                return error_set(error, ESP_PROTOCOL, "its answer goes round in a circle");
            break;
        case OUTLOOK_NONSENSE:
            return error_set(error, ESP_PROTOCOL, "its answer has a line that is nonsense (\"%.40s\")", line);
        }
    }
    return status;
}

static enum esp_status ask_page(const char *address, const char *name, size_t first, char **text,
                                struct esp_error *error)
{
    char number[24];
    const char *const words[] = {number};
    snprintf(number, sizeof number, "%zu", first);
    const enum esp_status status = esp_administer(address, name, "weather", words, 1, NULL, text);
    if (status != ESP_OK)
        *error = *esp_last_error();
    return status;
}

/* ---- many of them ---- */

/* A node that is asked, by a thread. */
struct asked {
    const char *name, *address; /* who, and by whom it is asked */
    struct weather_rows rows;
    enum esp_status status;
    struct esp_error error;
};

static void ask(void *arg)
{
    struct asked *asked = arg;
    size_t next = 0;
    unsigned pages = 0;
    do {
        char *text = NULL;
        asked->status = ask_page(asked->address, asked->name, next, &text, &asked->error);
        if (asked->status == ESP_OK)
            asked->status = read_page(text, &asked->rows, &next, &asked->error);
        free(text);
    } while (asked->status == ESP_OK && next && ++pages < MOST_PAGES);
}

/* What it told goes behind what others did. */
static void take(struct asked *asked, struct weather_rows *rows, struct missing *missing)
{
    struct weather_row *row, *next;
    HASH_ITER(hh, asked->rows.first, row, next)
    {
        if (asked->status == ESP_OK)
            asked->status = add(rows, &row->outlook, &asked->error);
    }
    if (asked->status != ESP_OK)
        missing_add(missing, asked->name, asked->status, asked->error.text);
}

enum exit_code weather_ask_all(const struct command_line *command, const struct view *view,
                               const size_t *wanted, size_t n, struct weather_rows *rows,
                               struct missing *missing)
{
    struct asked *all = calloc(n + 1, sizeof *all);
    if (!all) {
        command_complain(command->verb->name, "no memory for the answers of nodes");
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < n; i++) {
        const struct esp_node *node = &view->nodes[wanted[i]], *top = view_top(view, node);
        all[i] = (struct asked){.name = node->name, .address = top ? top->address : node->address};
    }
    asking_all(ask, all, n, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        take(&all[i], rows, missing);
        weather_clear(&all[i].rows);
    }
    free(all);
    return EXIT_DONE;
}
