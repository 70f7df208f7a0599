/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "flow/execution.h"
#include "flow/journal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAUSE_MS 100

/* The data that a journal names. */
struct left {
    char **ids;
    size_t n;
    bool out_of_memory;
};

static void take_entry(void *arg, const struct journal_entry *entry)
{
    struct left *left = arg;
    if (entry->kind != JOURNAL_DATA || left->out_of_memory)
        return;
    char **moved = realloc(left->ids, (left->n + 1) * sizeof *moved);
    if (moved)
        left->ids = moved;
    left->out_of_memory = !moved || !(left->ids[left->n] = strdup(entry->id));
    left->n += !left->out_of_memory;
}

static void clear(struct left *left)
{
    for (size_t i = 0; i < left->n; i++)
        free(left->ids[i]);
    free(left->ids);
    *left = (struct left){0};
}

/* Data that were deleted by the run itself are not there any more, which is as good. */
static enum esp_status drop_all(const struct left *left, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < left->n; i++) {
        enum esp_status dropped = esp_data_drop(left->ids[i]);
        if (dropped == ESP_OK || dropped == ESP_NOT_FOUND || status != ESP_OK)
            continue;
        *error = *esp_last_error();
        status = error_prefix(error, "%s", left->ids[i]);
    }
    return status;
}

enum esp_status execution_cancel(const char *path, double patience_s, long *pid, struct esp_error *error)
{
    struct left left = {0};
    struct journal *journal;
    long holder = 0;
    *pid = 0;
    for (double waited_s = 0;; waited_s += PAUSE_MS / 1e3) {
        clear(&left);
        enum esp_status status = journal_inspect(path, take_entry, &left, &holder, &journal, error);
        if (status != ESP_OK)
            return *pid && status == ESP_NOT_FOUND ? ESP_OK : status; /* the run has just ended well */
        if (holder == 0)
            break;
        journal_close(journal, false);
        if (*pid != holder && kill((pid_t)holder, SIGTERM) != 0)
            return error_set(error, ESP_SYSTEM, "process %ld, which runs the flow: %s", holder,
                             strerror(errno));
        *pid = holder;
        if (waited_s > patience_s)
            return error_set(error, ESP_TIMEOUT, "process %ld, which runs the flow, has not ended", holder);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
    }
    enum esp_status status =
        left.out_of_memory ? error_no_memory(error, "the data of a flow") : drop_all(&left, error);
    journal_close(journal, status == ESP_OK);
    clear(&left);
    return status;
}
