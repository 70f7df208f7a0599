/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/workers_joined.h"

#include <stdlib.h>

struct joined {
    struct workers workers; /* first */
    struct workers *processes, *ranks;
};

/* ---- what they report ---- */

static void ended(void *arg, uint64_t job_id, const struct job_end *end)
{
    const struct joined *joined = arg;
    joined->workers.ended(joined->workers.arg, job_id, end);
}

static void lost(void *arg, uint64_t state)
{
    const struct joined *joined = arg;
    if (joined->workers.lost)
        joined->workers.lost(joined->workers.arg, state);
}

static void asked(void *arg, uint64_t job_id)
{
    const struct joined *joined = arg;
    if (joined->workers.asked)
        joined->workers.asked(joined->workers.arg, job_id);
}

static bool changed(void *arg, bool news)
{
    struct joined *joined = arg;
    bool (*told)(void *, bool) = atomic_load(&joined->workers.changed);
    return told && told(joined->workers.arg, news);
}

/* ---- orders to both pools ---- */

static enum esp_status start(struct workers *workers, const struct job *job, struct esp_error *error)
{
    const struct joined *joined = (struct joined *)workers;
    struct workers *to = implementation_is_parallel(job->implementation) ? joined->ranks : joined->processes;
    return to->ops->start(to, job, error);
}

static void cancel(struct workers *workers, uint64_t job_id)
{
    const struct joined *joined = (struct joined *)workers;
    joined->processes->ops->cancel(joined->processes, job_id);
    joined->ranks->ops->cancel(joined->ranks, job_id);
}

static bool help(struct workers *workers, uint64_t job_id, int64_t until_ns)
{
    const struct joined *joined = (struct joined *)workers;
    return joined->processes->ops->help(joined->processes, job_id, until_ns) ||
           joined->ranks->ops->help(joined->ranks, job_id, until_ns);
}

static void drop(struct workers *workers, uint64_t state)
{
    const struct joined *joined = (struct joined *)workers;
    joined->processes->ops->drop(joined->processes, state);
}

static double progress(struct workers *workers, uint64_t job_id)
{
    const struct joined *joined = (struct joined *)workers;
    const double of_worker = joined->processes->ops->progress(joined->processes, job_id);
    return of_worker >= 0 ? of_worker : joined->ranks->ops->progress(joined->ranks, job_id);
}

static bool question(struct workers *workers, uint64_t job_id, struct job_question *asks, void *data)
{
    const struct joined *joined = (struct joined *)workers;
    return joined->processes->ops->question(joined->processes, job_id, asks, data);
}

static void answer(struct workers *workers, uint64_t job_id, uint64_t number, enum esp_status status,
                   const void *data, uint32_t length)
{
    const struct joined *joined = (struct joined *)workers;
    joined->processes->ops->answer(joined->processes, job_id, number, status, data, length);
}

static bool propose(struct workers *workers, const struct parallel_question *question,
                    struct parallel_proposal *proposal)
{
    const struct joined *joined = (struct joined *)workers;
    return joined->ranks->ops->propose(joined->ranks, question, proposal);
}

static enum esp_status admits(struct workers *workers, struct esp_error *error)
{
    const struct joined *joined = (struct joined *)workers;
    return joined->ranks->ops->admits(joined->ranks, error);
}

static char *knows(struct workers *workers, size_t most)
{
    const struct joined *joined = (struct joined *)workers;
    return joined->ranks->ops->knows(joined->ranks, most);
}

static void destroy(struct workers *workers)
{
    struct joined *joined = (struct joined *)workers;
    joined->ranks->ops->destroy(joined->ranks);
    joined->processes->ops->destroy(joined->processes);
    free(joined);
}

static const struct workers_ops ops = {.start = start,
                                       .cancel = cancel,
                                       .help = help,
                                       .drop = drop,
                                       .progress = progress,
                                       .question = question,
                                       .answer = answer,
                                       .propose = propose,
                                       .admits = admits,
                                       .knows = knows,
                                       .destroy = destroy};

enum esp_status workers_join(struct workers *processes, struct workers *ranks, struct workers **workers,
                             struct esp_error *error)
{
    struct joined *joined = calloc(1, sizeof *joined);
    if (!joined) {
        ranks->ops->destroy(ranks);
        processes->ops->destroy(processes);
        return error_no_memory(error, "a pool of workers");
    }
    *joined = (struct joined){.workers = {.ops = &ops}, .processes = processes, .ranks = ranks};
    struct workers *both[] = {processes, ranks};
    for (int i = 0; i < 2; i++) {
        both[i]->ended = ended;
        both[i]->lost = lost;
        both[i]->asked = asked;
        both[i]->arg = joined;
        atomic_store(&both[i]->changed, changed);
    }
    *workers = &joined->workers;
    return ESP_OK;
}
