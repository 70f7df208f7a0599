/* SPDX-License-Identifier: Apache-2.0 */
#include "command/machines.h"

#include "util/error.h"

#include <string.h>

#define CONNECTIONS 8 /* to other machines, at the same time */

static void run_list(void *arg)
{
    for (struct machine_work *one = arg; one; one = one->next)
        one->run(one->arg);
}

/* The first of those for that one's machine; itself, when there is none before it. */
static struct machine_work *first_there(struct machine_work *work, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (work[k].host && strcmp(work[k].host, work[i].host) == 0)
            return &work[k];
    return &work[i];
}

static void append(struct machine_work *first, struct machine_work *one)
{
    while (first->next)
        first = first->next;
    first->next = one;
}

void machines_begin(struct machines *machines, struct machine_work *work, size_t n)
{
    struct esp_error unread;
    machines->pool = NULL;
    const bool pooled = thread_pool_create(CONNECTIONS, &machines->pool, &unread) == ESP_OK;
    for (size_t i = 0; i < n; i++) {
        work[i].job = (struct thread_job){.run = run_list, .arg = &work[i]};
        work[i].next = NULL;
        if (work[i].host && first_there(work, i) != &work[i])
            append(first_there(work, i), &work[i]);
    }
    for (size_t i = 0; i < n; i++)
        if (work[i].host && first_there(work, i) == &work[i] &&
            !(pooled && thread_pool_submit(machines->pool, &work[i].job)))
            run_list(&work[i]);
}

void machines_end(struct machines *machines)
{
    thread_pool_destroy(machines->pool);
    machines->pool = NULL;
}
