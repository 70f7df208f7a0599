/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/calibrate/calibrate_state.h"

#include "util/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- layout ---- */

/* A scalar's value; one that no size depends on (they are complex) is made by design_fill(). */
static bool scalar_value(const struct design_point *point, const struct argument *argument, uint32_t index,
                         unsigned char raw[16])
{
    struct number value = point->scope[index];
    if (value.kind == NUMBER_UNKNOWN)
        value = (struct number){.kind = NUMBER_INTEGER, .integer = 1};
    return argument->n_dims == 0 && number_store(&value, argument->type, raw, NULL) == ESP_OK;
}

static uint32_t name_arguments(const struct problem *problem, const struct design_point *point,
                               unsigned char (*raw)[16], struct call_argument *arguments)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        struct call_argument *to = &arguments[n];
        if (!argument_is_passed(argument))
            continue;
        *to = (struct call_argument){.index = i, .bytes = point->shapes[i].bytes};
        if (!argument_is_input(argument)) {
            to->kind = KIND_WANTED;
        } else if (argument->type == TYPE_STATE) { /* the job says which one */
            *to = (struct call_argument){
                .index = i, .kind = KIND_INLINE, .bytes = 1, .data = (const uint8_t *)"", .length = 1};
        } else if (scalar_value(point, argument, i, raw[i])) {
            to->kind = KIND_INLINE;
            to->data = raw[i];
            to->length = (uint32_t)to->bytes;
        } else {
            to->kind = KIND_BULK;
        }
        n++;
    }
    return n;
}

static enum esp_status make_plan(struct measured_call *call, struct esp_error *error)
{
    unsigned char raw[PROBLEM_MAX_ARGUMENTS][16];
    struct call_argument arguments[PROBLEM_MAX_ARGUMENTS];
    struct call_request request = {.arguments = arguments};
    request.n_arguments = name_arguments(call->problem, call->point, raw, arguments);
    enum esp_status status = call_plan_make(call->problem, &request, &call->plan, error);
    /* The values lie in this function's frame: design_fill() makes them again. */
    for (uint32_t i = 0; i < call->problem->n_arguments; i++)
        call->plan.arguments[i].data = NULL;
    return status;
}

static enum esp_status make_memory(struct measured_call *call, struct esp_error *error)
{
    const struct call_plan *plan = &call->plan;
    call->block = calloc(1, plan->block_bytes + 64);
    call->inputs = malloc(plan->segment_bytes + plan->block_bytes + 64);
    if (!call->block || !call->inputs)
        return error_no_memory(error, "the arguments of a call");
    if (plan->segment_bytes == 0)
        return ESP_OK;
    call->fd = memfd_create("espalier-calibrate", MFD_CLOEXEC);
    if (call->fd < 0 || ftruncate(call->fd, (off_t)plan->segment_bytes) != 0)
        return error_errno(error, "no memory for the arguments of a call");
    void *memory = mmap(NULL, plan->segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, call->fd, 0);
    if (memory == MAP_FAILED)
        return error_errno(error, "no memory for the arguments of a call");
    call->segment = memory;
    return ESP_OK;
}

/* Where the inputs of an argument are kept between repetitions. */
static unsigned char *input_of(struct measured_call *call, uint32_t index)
{
    const struct planned_argument *planned = &call->plan.arguments[index];
    return call->inputs + planned->offset + (planned->in_segment ? 0 : call->plan.segment_bytes);
}

static bool has_contents(const struct argument *argument)
{
    return argument_is_input(argument) && argument->type != TYPE_STATE;
}

static void fill_job(struct measured_call *call)
{
    const struct problem *problem = call->problem;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct planned_argument *planned = &call->plan.arguments[i];
        struct job_argument *argument = &call->arguments[i];
        *argument = (struct job_argument){.bytes = planned->bytes,
                                          .writable = problem->arguments[i].mode != MODE_IN,
                                          .in_segment = planned->in_segment,
                                          .offset = planned->in_segment ? planned->offset : 0};
        if (planned->in_segment)
            argument->data = call->segment + planned->offset;
        else if (argument_is_passed(&problem->arguments[i]))
            argument->data = call->block + planned->offset;
    }
    call->job = (struct job){.problem = problem,
                             .implementation = &problem->implementations[0],
                             .arguments = call->arguments,
                             .scope = call->plan.scope,
                             .segment_fd = call->fd,
                             .segment_bytes = call->plan.segment_bytes,
                             .timed = true};
}

enum esp_status measured_open(const struct problem *problem, const struct design_point *point,
                              struct random *random, struct measured_call *call, struct esp_error *error)
{
    *call = (struct measured_call){.problem = problem, .point = point, .fd = -1};
    enum esp_status status = make_plan(call, error);
    if (status == ESP_OK)
        status = make_memory(call, error);
    if (status != ESP_OK) {
        measured_close(call);
        return status;
    }
    fill_job(call);
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (has_contents(&problem->arguments[i]))
            design_fill(point, problem, i, random, input_of(call, i));
    return ESP_OK;
}

void measured_close(struct measured_call *call)
{
    if (call->segment)
        munmap(call->segment, call->plan.segment_bytes);
    if (call->fd >= 0)
        close(call->fd);
    free(call->block);
    free(call->inputs);
}

/* ---- the worker's memory ---- */

struct resident {
    double now, peak, shared;
};

static struct resident resident_of(int32_t pid)
{
    struct resident resident = {0};
    char path[64], line[128];
    double kib;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = pid > 0 ? fopen(path, "re") : NULL;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %lf", &kib) == 1)
            resident.now = kib * 1024;
        else if (sscanf(line, "VmHWM: %lf", &kib) == 1)
            resident.peak = kib * 1024;
        else if (sscanf(line, "RssShmem: %lf", &kib) == 1)
            resident.shared = kib * 1024;
    if (file)
        fclose(file);
    return resident;
}

static void forget_peak(int32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/clear_refs", pid);
    FILE *file = pid > 0 ? fopen(path, "we") : NULL;
    if (file) {
        fputs("5", file); /* the peak begins again (proc(5)) */
        fclose(file);
    }
}

/* ---- running ---- */

void measured_ended(void *arg, uint64_t job_id, const struct job_end *end)
{
    struct calibration *calibration = arg;
    pthread_mutex_lock(&calibration->lock);
    if (calibration->awaited == job_id) {
        calibration->end = *end;
        calibration->awaited = 0;
        pthread_cond_broadcast(&calibration->changed);
    }
    pthread_mutex_unlock(&calibration->lock);
}

static enum esp_status start(struct calibration *calibration, struct measured_call *call,
                             struct esp_error *error)
{
    const struct workers_ops *ops = calibration->workers->ops;
    enum esp_status status = ESP_LIMIT;
    /* A worker that takes the place of a dead one needs a moment. */
    for (int i = 0; status == ESP_LIMIT && i < 1000; i++) {
        call->job.id = ++calibration->last_job;
        pthread_mutex_lock(&calibration->lock);
        calibration->awaited = call->job.id;
        pthread_mutex_unlock(&calibration->lock);
        status = ops->start(calibration->workers, &call->job, error);
        if (status == ESP_LIMIT)
            usleep(10000);
    }
    return status;
}

static void wait_for_end(struct calibration *calibration, uint64_t id)
{
    const struct workers_ops *ops = calibration->workers->ops;
    while (ops->help && ops->help(calibration->workers, id, clock_now_ns(&clock_system) + NS_PER_S))
        ;
    pthread_mutex_lock(&calibration->lock);
    while (calibration->awaited == id)
        pthread_cond_wait(&calibration->changed, &calibration->lock);
    pthread_mutex_unlock(&calibration->lock);
}

enum esp_status measured_run(struct calibration *calibration, struct measured_call *call, double *seconds,
                             double *cpu_s, double *peak_bytes, struct esp_error *error)
{
    for (uint32_t i = 0; i < call->problem->n_arguments; i++)
        if (has_contents(&call->problem->arguments[i]) && call->arguments[i].bytes)
            memcpy(call->arguments[i].data, input_of(call, i), call->arguments[i].bytes);
    call->job.state = call->kept;
    call->job.time_limit_ms = (int64_t)(1000 * (2 + 20 * calibration->options.longest_s));
    int32_t pid = calibration->pid; /* of the only worker, as the last job told it */
    struct resident before = {0};
    if (peak_bytes && pid > 0) {
        forget_peak(pid);
        before = resident_of(pid);
    }
    enum esp_status status = start(calibration, call, error);
    if (status != ESP_OK)
        return status;
    int32_t now = calibration->options.pid ? calibration->options.pid(calibration->workers, call->job.id) : 0;
    calibration->pid = now > 0 ? now : pid;
    wait_for_end(calibration, call->job.id);
    const struct job_end *end = &calibration->end;
    if (end->error.status != ESP_OK) {
        *error = end->error;
        return end->error.status;
    }
    *seconds = end->compute_s;
    *cpu_s = end->cpu_s;
    call->beside = (double)end->peak_bytes;
    if (end->keeps_state && !call->kept && !call->keeps)
        state_drop(calibration, call->job.id);
    if (peak_bytes) {
        struct resident after = resident_of(pid);
        bool same = pid > 0 && calibration->pid == pid && before.now > 0 && after.peak > 0;
        *peak_bytes = same ? fmax(after.peak - (before.now - before.shared), 0) : 0;
    }
    return ESP_OK;
}
