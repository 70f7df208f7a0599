/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/worker_rig.h"

#include "util/clock.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WAIT_S         60
#define RANKS_LIMIT_MS 20000 /* ranks that wait for each other for ever are a failure, not a hang */

static void on_end(void *arg, uint64_t job_id, const struct job_end *end)
{
    struct rig *rig = arg;
    pthread_mutex_lock(&rig->lock);
    struct rig_job *job = &rig->jobs[job_id % RIG_JOBS];
    if (job->job.id == job_id) {
        job->end = *end;
        job->ended++;
    }
    pthread_cond_broadcast(&rig->changed);
    pthread_mutex_unlock(&rig->lock);
}

void rig_output(void *arg, uint64_t job_id, const char *line)
{
    struct rig *rig = arg;
    (void)job_id;
    pthread_mutex_lock(&rig->lock);
    if (getenv("RIG_VERBOSE"))
        fprintf(stderr, "%s", line);
    snprintf(rig->last_line, sizeof rig->last_line, "%.*s", (int)strcspn(line, "\n"), line);
    pthread_cond_broadcast(&rig->changed);
    pthread_mutex_unlock(&rig->lock);
    atomic_fetch_add(&rig->lines, strchr(line, '\n') != NULL);
    atomic_fetch_add(&rig->printed, strlen(line));
}

void rig_open(struct rig *rig, const char *text, uint32_t slots, uint32_t spares, uint32_t threads)
{
    rig_open_with(rig, text,
                  &(struct processes_options){.slots = slots, .spares = spares, .threads = threads});
}

void rig_open_with(struct rig *rig, const char *text, const struct processes_options *wanted)
{
    const char *build = getenv("top_builddir");
    char file[PATH_MAX];
    snprintf(file, sizeof file, "%s/tests/unit/.libs/test.esp", build ? build : ".");
    struct problem_set *problems;
    struct esp_error error = {.status = ESP_OK};
    if (problem_parse(text, strlen(text), file, &problems, &error) != ESP_OK)
        fail_msg("%s", error.text);
    rig_open_set(rig, problems, wanted);
}

static void begin(struct rig *rig, struct problem_set *problems)
{
    memset(rig, 0, sizeof *rig);
    rig->problems = problems;
    pthread_mutex_init(&rig->lock, NULL);
    pthread_cond_init(&rig->changed, NULL);
}

void rig_open_set(struct rig *rig, struct problem_set *problems, const struct processes_options *wanted)
{
    begin(rig, problems);
    const char *build = getenv("top_builddir");
    char program[PATH_MAX];
    snprintf(program, sizeof program, "%s/sed/espalier-crd", build ? build : ".");
    struct esp_error error = {.status = ESP_OK};
    struct processes_options options = *wanted;
    options.problems = rig->problems;
    if (!options.program)
        options.program = program;
    options.output = rig_output;
    options.output_arg = rig;
    if (processes_create(&options, &rig->workers, &error) != ESP_OK)
        fail_msg("%s", error.text);
    rig->workers->ended = on_end;
    rig->workers->arg = rig;
}

void rig_adopt(struct rig *rig, struct problem_set *problems, struct workers *workers)
{
    begin(rig, problems);
    rig->workers = workers;
    rig->workers->ended = on_end;
    rig->workers->arg = rig;
}

void rig_close(struct rig *rig)
{
    for (size_t i = 0; i < RIG_JOBS; i++)
        rig_finish(&rig->jobs[i]);
    rig->workers->ops->destroy(rig->workers);
    problem_set_destroy(rig->problems);
    pthread_mutex_destroy(&rig->lock);
    pthread_cond_destroy(&rig->changed);
}

/* Arrays end at a page border, aligned to 16 bytes, each in pages of its own. */
static void lay_out(struct rig_job *job, void *const *values)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = 0;
    for (uint32_t i = 0; i < job->job.problem->n_arguments; i++) {
        if (!job->arguments[i].in_segment)
            continue;
        uint64_t bytes = (job->arguments[i].bytes + 15) & ~UINT64_C(15);
        uint64_t end = at + ((bytes + page - 1) & ~(page - 1));
        job->arguments[i].offset = end - bytes;
        at = end;
    }
    if (at == 0)
        return;
    job->job.segment_fd = memfd_create("segment", MFD_CLOEXEC);
    job->job.segment_bytes = at;
    assert_int_equal(ftruncate(job->job.segment_fd, (off_t)at), 0);
    job->segment = mmap(NULL, at, PROT_READ | PROT_WRITE, MAP_SHARED, job->job.segment_fd, 0);
    assert_ptr_not_equal(job->segment, MAP_FAILED);
    for (uint32_t i = 0; i < job->job.problem->n_arguments; i++) {
        if (!job->arguments[i].in_segment)
            continue;
        job->arguments[i].data = job->segment + job->arguments[i].offset;
        if (values[i])
            memcpy(job->arguments[i].data, values[i], job->arguments[i].bytes);
    }
}

/* The one for ranks, where they are and it suits; else the first. */
static const struct implementation *choose(const struct rig *rig, const struct problem *problem,
                                           const struct number *scope)
{
    for (uint32_t i = 0; rig->grid.rows > 0 && i < problem->n_implementations; i++)
        if (implementation_is_parallel(&problem->implementations[i]) &&
            implementation_suits(problem, &problem->implementations[i], scope))
            return &problem->implementations[i];
    return &problem->implementations[0];
}

struct rig_job *rig_prepare(struct rig *rig, const char *name, void *const *values, bool in_segment)
{
    const struct problem *problem = problem_find(rig->problems, name);
    if (!problem)
        fail_msg("no problem %s", name);
    /* A thread may be held up while others make many calls: its job's place stays its own. */
    uint64_t id = ++rig->next_id;
    for (int i = 0; i < RIG_JOBS && rig->jobs[id % RIG_JOBS].used; i++)
        id = ++rig->next_id;
    struct rig_job *job = &rig->jobs[id % RIG_JOBS];
    rig_finish(job);
    memset(job, 0, sizeof *job);
    job->used = true;
    struct esp_error error;
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {0};
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        inputs[i] = argument_is_input(&problem->arguments[i]) ? values[i] : NULL;
    if (problem_bind(problem, inputs, job->scope, job->shapes, &error) != ESP_OK)
        fail_msg("%s", error.text);
    job->job = (struct job){.id = id,
                            .problem = problem,
                            .implementation = choose(rig, problem, job->scope),
                            .arguments = job->arguments,
                            .scope = job->scope,

                            .grid = rig->grid,
                            .segment_fd = -1};
    job->job.time_limit_ms = job->job.implementation->time_limit_ms;
    if (rig->grid.rows > 0 && job->job.time_limit_ms == 0)
        job->job.time_limit_ms = RANKS_LIMIT_MS;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        struct job_argument *to = &job->arguments[i];
        bool string = values[i] && (argument->type == TYPE_STRING || argument->type == TYPE_FILE);
        to->bytes = string ? strlen(values[i]) : job->shapes[i].bytes;
        to->writable = argument->mode != MODE_IN;
        to->in_segment = in_segment && argument->n_dims > 0 && to->bytes > 0;
        to->data = values[i] ? values[i] : job->scratch[i];
        if (!values[i] && (argument->mode == MODE_WORK || to->bytes > sizeof job->scratch[i]))
            to->data = NULL;
        if (!values[i] && argument_is_input(argument) && argument->initial)
            problem_default(problem, i, job->scope, job->scratch[i], &error);
    }
    lay_out(job, values);
    return job;
}

void rig_start(struct rig *rig, struct rig_job *job)
{
    struct esp_error error;
    enum esp_status status = rig->workers->ops->start(rig->workers, &job->job, &error);
    /* Ranks that are being started again are there in a moment. */
    for (int i = 0; i < 3000 && status == ESP_LIMIT && rig->grid.rows > 0; i++) {
        usleep(10000);
        status = rig->workers->ops->start(rig->workers, &job->job, &error);
    }
    if (status != ESP_OK)
        fail_msg("%s", error.text);
}

const struct job_end *rig_wait(struct rig *rig, struct rig_job *job, bool help)
{
    if (help)
        while (rig->workers->ops->help(rig->workers, job->job.id, clock_now_ns(&clock_system) + NS_PER_S))
            ;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    int late = 0;
    pthread_mutex_lock(&rig->lock);
    while (!job->ended && late == 0)
        late = pthread_cond_timedwait(&rig->changed, &rig->lock, &until);
    pthread_mutex_unlock(&rig->lock);
    if (late)
        fail_msg("the job did not end within %d s", WAIT_S);
    assert_int_equal(job->ended, 1);
    return &job->end;
}

void rig_finish(struct rig_job *job)
{
    for (uint32_t i = 0; job->used && i < PROBLEM_MAX_ARGUMENTS; i++)
        free(job->arguments[i].owned);
    job->used = false;
    if (!job->segment)
        return;
    munmap(job->segment, job->job.segment_bytes);
    close(job->job.segment_fd);
    job->segment = NULL;
}

struct esp_error rig_call(struct rig *rig, const char *problem, void *const *values, bool in_segment)
{
    struct rig_job *job = rig_prepare(rig, problem, values, in_segment);
    rig_start(rig, job);
    struct esp_error error = rig_wait(rig, job, true)->error;
    for (uint32_t i = 0; i < job->job.problem->n_arguments; i++)
        if (job->arguments[i].in_segment && job->arguments[i].writable && values[i])
            memcpy(values[i], job->arguments[i].data, job->arguments[i].bytes);
    rig_finish(job);
    return error;
}
