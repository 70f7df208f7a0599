/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking nodes for the weather, many at a time: one that hangs keeps nobody waiting but for itself.
 */
#include "config.h"

#include "client/command/bar.h"
#include "client/command/session.h"
#include "client/command/weather.h"
#include "core/message/message_basic.h"
#include "util/thread_pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PAGES 1000 /* of one node */
#define AT_A_TIME  64

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

struct round {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t answered;
};

/* A node that is asked, by a thread. */
struct asked {
    struct thread_job job;
    struct round *round;
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
    pthread_mutex_lock(&asked->round->lock);
    asked->round->answered++;
    pthread_cond_signal(&asked->round->changed);
    pthread_mutex_unlock(&asked->round->lock);
}

static void ask_all(struct asked *all, size_t n, struct round *round)
{
    struct thread_pool *pool = NULL;
    struct esp_error error;
    struct bar bar;
    if (thread_pool_create(AT_A_TIME, &pool, &error) != ESP_OK)
        pool = NULL; /* one after the other, then */
    bar_init(&bar);
    for (size_t i = 0; i < n; i++)
        if (!pool || !thread_pool_submit(pool, &all[i].job))
            ask(&all[i]);
    pthread_mutex_lock(&round->lock);
    while (round->answered < n) {
        bar_draw(&bar, (double)round->answered / (double)n, "%zu of %zu nodes", round->answered, n);
        pthread_cond_wait(&round->changed, &round->lock);
    }
    pthread_mutex_unlock(&round->lock);
    thread_pool_destroy(pool);
    bar_clear(&bar);
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
    struct round round = {.answered = 0};
    struct asked *all = calloc(n + 1, sizeof *all);
    if (!all) {
        command_complain(command->verb->name, "no memory for the answers of nodes");
        return EXIT_FAILED;
    }
    pthread_mutex_init(&round.lock, NULL);
    pthread_cond_init(&round.changed, NULL);
    for (size_t i = 0; i < n; i++) {
        const struct esp_node *node = &view->nodes[wanted[i]], *top = view_top(view, node);
        all[i] = (struct asked){.job = {.run = ask, .arg = &all[i]},
                                .round = &round,
                                .name = node->name,
                                .address = top ? top->address : node->address};
    }
    ask_all(all, n, &round);
    for (size_t i = 0; i < n; i++) {
        take(&all[i], rows, missing);
        weather_clear(&all[i].rows);
    }
    pthread_cond_destroy(&round.changed);
    pthread_mutex_destroy(&round.lock);
    free(all);
    return EXIT_DONE;
}
