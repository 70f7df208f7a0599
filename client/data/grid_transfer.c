/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/grid_transfer.h"
#include "client/data/data.h"
#include "util/fork_lock.h"

#include <stdlib.h>
#include <string.h>

struct transfer {
    struct thread_job job;
    struct grid_data *grid;
    struct engine *engine;
    bool anew;
    struct holding_due due;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static unsigned under_way;

static void count(int more)
{
    pthread_mutex_lock(&lock);
    under_way += (unsigned)more;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
}

void grid_transfers_end(void)
{
    pthread_mutex_lock(&lock);
    while (under_way > 0)
        pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
}

static void run(void *arg)
{
    struct transfer *transfer = arg;
    struct grid_data *grid = transfer->grid;
    struct esp_error error = {0};
    char datum[DATUM_TEXT];
    enum esp_status status = grid_take_in(grid, transfer->engine, transfer->anew, &error);
    if (status == ESP_OK)
        status = grid_keep(grid, transfer->engine, &error);
    if (status == ESP_OK)
        status = grid_bring_transferred(grid, transfer->engine, &error);
    if (status == ESP_OK)
        holding_arrived(grid->holding, &transfer->due, holding_datum(grid->holding, datum) ? datum : "",
                        NULL);
    else
        holding_arrived(grid->holding, &transfer->due, NULL, &error);
    grid_drop_old(grid, transfer->engine, false);
    grid_release(grid);
    free(transfer);
    count(-1);
}

enum esp_status grid_transfer(struct grid_data *grid, struct engine *engine, bool anew,
                              struct esp_error *error)
{
    if (grid_sync(grid, error) != ESP_OK)
        return error->status;
    struct transfer *transfer = malloc(sizeof *transfer);
    if (!transfer)
        return error_no_memory(error, "a transfer");
    holding_wait(grid->holding, NULL);
    *transfer = (struct transfer){.grid = grid_use_number(grid->number), .engine = engine, .anew = anew};
    holding_enter(&grid->holding, &(struct holding_due *){&transfer->due}, 1);
    transfer->job = (struct thread_job){.run = run, .arg = transfer};
    count(1);
    if (!thread_pool_submit(engine->runners, &transfer->job))
        run(transfer); /* no thread can be had: it takes this one's time */
    return ESP_OK;
}

struct deletion {
    struct thread_job job;
    struct engine *engine;
    char datum[DATUM_TEXT];
};

static void drop(void *arg)
{
    struct deletion *deletion = arg;
    data_drop(deletion->engine, deletion->datum, NULL, false, NULL); /* what is gone already need not go */
    free(deletion);
    count(-1);
}

void grid_drop_old(struct grid_data *grid, struct engine *engine, bool even_read)
{
    char datum[DATUM_TEXT];
    while (!grid->is_container && holding_take_old(grid->holding, even_read, datum)) {
        struct deletion *deletion = malloc(sizeof *deletion);
        if (!deletion)
            return;
        *deletion = (struct deletion){.engine = engine, .job = {.run = drop, .arg = deletion}};
        memcpy(deletion->datum, datum, sizeof datum);
        count(1);
        if (!thread_pool_submit(engine->runners, &deletion->job))
            drop(deletion);
    }
}

bool grid_transfers_after_fork(void)
{
    ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    under_way = 0;
    return fork_lock_was_free(&lock);
}
