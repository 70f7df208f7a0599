/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/accuracy_line.h"
#include "sed/calibrate/calibrate_command.h"
#include "sed/calibrate/calibrate_order.h"
#include "sed/calibrate/calibrate_ranks.h"
#include "sed/calibrate/calibrate_run.h"
#include "sed/calibrate/calibrate_state.h"
#include "sed/ranks/ranks.h"
#include "services/fast/fit.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/regular_file.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void state_drop(struct calibration *calibration, uint64_t kept);
static enum esp_status calibrate_again(struct class_run *run, bool (*within)(const struct class_run *run),
                                       struct esp_error *error);

/* ---- layout ---- */

/* Gets a scalar's value; if no size depends on it (complex ones), design_fill() makes it. */
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

/* Returns where the inputs of an argument are stored between repetitions. */
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
        fputs("5", file); /* resets the peak (proc(5)) */
        fclose(file);
    }
}

/* Report of the pool.
 * ---- running ---- */
static void measured_ended(void *arg, uint64_t job_id, const struct job_end *end)
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
    /* The replacement of a dead worker needs a moment. */
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
    int32_t pid = calibration->pid; /* of the only worker, from the last job */
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

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* Whether the problem takes a state. */
static bool state_is_taken(const struct problem *problem)
{
    const int index = problem_state_index(problem);
    return index >= 0 && argument_is_input(&problem->arguments[index]);
}

/* Returns the first problem that is named in the text and leaves a state. */
static const struct problem *find_named(const struct problem_set *problems, const char *text)
{
    char word[PROBLEM_MAX_NAME + 1];
    while (*(text += strcspn(text, NAME_CHARACTERS))) {
        const size_t length = strspn(text, NAME_CHARACTERS);
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        const struct problem *found = length < sizeof word ? problem_find(problems, word) : NULL;
        const int index = found ? problem_state_index(found) : -1;
        if (index >= 0 && found->arguments[index].mode == MODE_OUT)
            return found;
        text += length;
    }
    return NULL;
}

static const struct problem *find_opener(const struct calibration *calibration, const struct problem *problem)
{
    const struct problem_set *problems = calibration->options.problems;
    const struct problem *found = NULL;
    if (!problems)
        return NULL;
    found = find_named(problems, problem->arguments[problem_state_index(problem)].text);
    if (!found)
        found = find_named(problems, problem->title);
    return found ? found : find_named(problems, problem->text);
}

/* Sets the sizes of the opening problem to those of the same names in the problem. False: it lacks one of
 * them. */
static bool take_sizes(const struct design *design, const struct problem *problem,
                       const struct design_point *point, int64_t *sizes)
{
    for (uint32_t i = 0; i < design->n_sizes; i++) {
        const int index = problem_argument_index(problem, design->problem->arguments[design->sizes[i]].name);
        if (index < 0 || problem->arguments[index].n_dims > 0)
            return false;
        sizes[i] = point ? point->scope[index].integer : 0;
    }
    return true;
}

/* Whether states for the problem can be made: one of the calibration's problems, named in this one's
 * texts, leaves such a state, and its sizes are among this one's. ESP_INVALID says what is missing. */
static enum esp_status state_check(const struct calibration *calibration, const struct problem *problem,
                                   struct esp_error *error)
{
    const struct problem *opener = find_opener(calibration, problem);
    int64_t sizes[COST_MOST_VARIABLES];
    struct design design;
    if (!opener)
        return error_set(error, ESP_INVALID,
                         "%s is not measured: its description names no problem here that leaves such a state",
                         problem->name);
    if (design_begin(opener, &design, error) != ESP_OK)
        return error_prefix(error, "%s is not measured", problem->name);
    return take_sizes(&design, problem, NULL, sizes)
               ? ESP_OK
               : error_set(error, ESP_INVALID,
                           "%s is not measured: it has not all sizes of %s, whose state it takes",
                           problem->name, opener->name);
}

/* Makes the state for a call: *kept is the job that left it, for state_drop(). Errors as for
 * measured_run(). */
static enum esp_status state_make(struct calibration *calibration, const struct problem *problem,
                                  const struct design_point *point, uint64_t *kept, struct esp_error *error)
{
    const struct problem *opener = find_opener(calibration, problem);
    int64_t sizes[COST_MOST_VARIABLES];
    struct design_point opened = {.x = {0}};
    struct measured_call call;
    struct design design;
    double seconds, cpu_s;
    *kept = 0;
    if (!opener)
        return state_check(calibration, problem, error);
    enum esp_status status = design_begin(opener, &design, error);
    if (status == ESP_OK &&
        (!take_sizes(&design, problem, point, sizes) || !design_at(&design, 0, sizes, &opened)))
        status = error_set(error, ESP_INVALID, "%s takes no such sizes", opener->name);
    if (status == ESP_OK)
        status = measured_open(opener, &opened, &calibration->random, &call, error);
    if (status != ESP_OK)
        return status;
    call.keeps = true;
    status = measured_run(calibration, &call, &seconds, &cpu_s, NULL, error);
    if (status == ESP_OK && !calibration->end.keeps_state)
        status = error_set(error, ESP_FAILED, "%s has left no state", opener->name);
    if (status == ESP_OK)
        *kept = call.job.id;
    measured_close(&call);
    return status;
}

/* 0 is ignored. */
static void state_drop(struct calibration *calibration, uint64_t kept)
{
    const struct workers_ops *ops = calibration->workers->ops;
    if (kept && ops->drop)
        ops->drop(calibration->workers, kept);
}

#define LEAST_POINTS    24
#define POINTS_PER_SIZE 96
#define LEAST_S         5e-6 /* below, the time is mainly that of the call itself */
#define REPETITIONS     5
#define MOST_REPEATED   31
#define REPEAT_S        0.02 /* short calls are repeated for this long */

/* A call of this length is made twice, and a third time if these differ by this much; a longer one once:
 * other sizes give more information, and one far off the fit is repeated (sed/calibrate/calibrate.c). */
#define LONG_S        0.1
#define LONG_AT_LEAST 2
#define LONG_AT_MOST  3
#define LONG_APART    0.02
#define LONGEST_S     0.5

/* Sizes whose calls fail are skipped. A routine that fails for most or all sizes is given up: after this
 * many failures at least, and this many for each measured size. */
#define LEAST_FAILED   6
#define FAILED_FOR_ONE 4

/* Beyond this, making arguments would take most of the calibration's time. */
#define MOST_BYTES 512e6

enum esp_status calibration_create(const struct calibrate_options *options, struct workers *workers,
                                   struct calibration **result, struct esp_error *error)
{
    struct calibration *calibration = calloc(1, sizeof *calibration);
    if (!calibration)
        return error_no_memory(error, "a calibration");
    calibration->options = *options;
    calibration->workers = workers;
    pthread_mutex_init(&calibration->lock, NULL);
    pthread_cond_init(&calibration->changed, NULL);
    workers->ended = measured_ended;
    workers->arg = calibration;
    *result = calibration;
    return ESP_OK;
}

void calibration_destroy(struct calibration *calibration)
{
    if (!calibration)
        return;
    pthread_mutex_destroy(&calibration->lock);
    pthread_cond_destroy(&calibration->changed);
    free(calibration);
}

static bool is_stopped(const struct calibration *calibration)
{
    return calibration->options.stop && atomic_load(calibration->options.stop);
}

/* ---- one point ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts them. *spread: relative, half the width of the middle half. */
static double middle_half(double *times, unsigned n, double *spread)
{
    qsort(times, n, sizeof *times, by_value);
    unsigned low = (n + 1) / 4, high = n - low; /* of three, the middle one */
    double sum = 0;
    for (unsigned i = low; i < high; i++)
        sum += times[i];
    double mean = sum / (high - low);
    *spread = mean > 0 ? (times[high - 1] - times[low]) / 2 / mean : 0;
    return mean;
}

/* Returns the cost of a call by processor time if possible; see sed/calibrate/calibrate.h. */
static double cost_of(const struct calibration *calibration, double seconds, double cpu_s)
{
    return calibration->options.threads == 1 && cpu_s > 0 ? cpu_s : seconds;
}

/* Opens a call with its state. */
static enum esp_status open_call(struct calibration *calibration, const struct problem *problem,
                                 const struct design_point *point, struct measured_call *call,
                                 struct esp_error *error)
{
    uint64_t kept = 0;
    enum esp_status status = ESP_OK;
    if (state_is_taken(problem))
        status = state_make(calibration, problem, point, &kept, error);
    if (status == ESP_OK)
        status = measured_open(problem, point, &calibration->random, call, error);
    if (status != ESP_OK)
        state_drop(calibration, kept);
    else
        call->kept = kept;
    return status;
}

static void close_call(struct calibration *calibration, struct measured_call *call)
{
    state_drop(calibration, call->kept);
    measured_close(call);
}

/* The times of one size. */
struct repetitions {
    double times[MOST_REPEATED], total_s, peak;
    unsigned n;
    bool is_long, is_longest;
};

static bool wants_repetition(const struct repetitions *r)
{
    if (!r->is_long)
        return r->n < REPETITIONS || (r->total_s < REPEAT_S && r->n < MOST_REPEATED);
    if (r->is_longest && r->peak > 0)
        return false;
    return r->n < LONG_AT_LEAST ||
           (r->n < LONG_AT_MOST && fabs(r->times[1] - r->times[0]) > LONG_APART * r->times[0]);
}

/* The first call loads the library and touches the memory: it counts only if it is so long that this is
 * negligible. The second one measures the routine's memory; if there is none, the first one does, unless
 * its worker is not known yet. */
static enum esp_status repeat(struct calibration *calibration, struct measured_call *call,
                              struct repetitions *r, struct esp_error *error)
{
    double seconds = 0, cpu_s = 0;
    *r = (struct repetitions){.n = 0};
    enum esp_status status = measured_run(calibration, call, &seconds, &cpu_s, &r->peak, error);
    r->is_long = seconds > LONG_S;
    r->is_longest = seconds > LONGEST_S;
    if (r->is_long)
        r->times[r->n++] = cost_of(calibration, seconds, cpu_s);
    for (bool first = true; status == ESP_OK && wants_repetition(r) && !is_stopped(calibration);
         first = false) {
        status = measured_run(calibration, call, &seconds, &cpu_s, first ? &r->peak : NULL, error);
        if (status != ESP_OK)
            break;
        r->total_s += seconds;
        r->times[r->n++] = cost_of(calibration, seconds, cpu_s);
    }
    return status;
}

/* Returns the memory beyond the arguments and the description's `memory`: for a routine the growth of its
 * worker, for a command that of its processes. */
static double memory_beyond(const struct measured_call *call, double peak, double bytes)
{
    double arguments = 0;
    if (call->beside <= 0)
        return fmax(peak - bytes, 0);
    for (uint32_t i = 0; i < call->problem->n_arguments; i++)
        arguments += (double)call->point->shapes[i].bytes + (double)call->point->shapes[i].whole_bytes;
    return fmax(call->beside - (bytes - arguments), 0);
}

/* Calls it several times. ESP_CANCELLED: stopped; else the calls' status. */
static enum esp_status calibration_measure(struct calibration *calibration, const struct problem *problem,
                                           const struct design_point *point, uint32_t n_variables,
                                           struct cost_measurement *m, struct esp_error *error)
{
    struct measured_call call;
    struct repetitions repetitions;
    enum esp_status status = open_call(calibration, problem, point, &call, error);
    if (status != ESP_OK)
        return status;
    status = repeat(calibration, &call, &repetitions, error);
    close_call(calibration, &call);
    if (status != ESP_OK)
        return status;
    if (is_stopped(calibration))
        return error_set(error, ESP_CANCELLED, "told to stop");
    *m = (struct cost_measurement){.repetitions = repetitions.n};
    m->seconds = middle_half(repetitions.times, repetitions.n, &m->spread);
    memcpy(m->x, point->x, sizeof m->x);
    m->bytes = memory_beyond(&call, repetitions.peak, point->x[n_variables - 1]);
    return m->seconds > 0 ? ESP_OK : error_set(error, ESP_FAILED, "a call took no time");
}

enum esp_status calibration_call(struct calibration *calibration, const struct problem *problem,
                                 const struct design_point *point, unsigned times, double *seconds,
                                 double *cpu_s, struct esp_error *error)
{
    struct measured_call call;
    double ignored_s, ignored_cpu_s;
    enum esp_status status = open_call(calibration, problem, point, &call, error);
    if (status != ESP_OK)
        return status;
    status = measured_run(calibration, &call, &ignored_s, &ignored_cpu_s, NULL, error);
    for (unsigned i = 0; i < times && status == ESP_OK; i++)
        status = measured_run(calibration, &call, &seconds[i], &cpu_s[i], NULL, error);
    close_call(calibration, &call);
    return status;
}

/* ---- one model ---- */

/* Returns the used part of this model's time, by wall time, so that a busy machine cannot extend a
 * calibration for ever. */
static double spent(const struct class_run *run)
{
    const struct calibration *calibration = run->calibration;
    double budget_s = calibration->options.budget_s / run->design->n_classes;
    return (double)(clock_now_ns(&clock_system) - run->begun_ns) / 1e9 / budget_s;
}

/* Returns the most points: each further size adds a kind of shapes. */
static uint32_t most_points(const struct class_run *run)
{
    const uint32_t most = POINTS_PER_SIZE * run->design->n_sizes;
    return most < CALIBRATE_MOST_POINTS ? most : CALIBRATE_MOST_POINTS;
}

static void show(const struct class_run *run)
{
    const struct calibrate_options *options = &run->calibration->options;
    double share = fmin(fmax(spent(run), (double)run->model.n_measurements / most_points(run)), 1);
    if (options->progress)
        options->progress(options->arg, run->design->problem->name,
                          (run->class_index + share) / run->design->n_classes, run->model.n_measurements);
}

static bool wants_more(const struct class_run *run)
{
    if (run->model.n_measurements >= most_points(run))
        return false;
    /* Too few points make no model, so the budget may then be exceeded up to twice. */
    return spent(run) < (run->model.n_measurements < LEAST_POINTS ? 2 : 1);
}

/* Writes "n=700, nrhs=1". */
static void name_sizes(const struct design *design, const struct design_point *point, char *text, size_t size)
{
    size_t used = 0;
    *text = 0;
    for (uint32_t i = 0; i < design->n_sizes && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s=%" PRId64, i ? ", " : "",
                                 design->problem->arguments[design->sizes[i]].name,
                                 point->scope[design->sizes[i]].integer);
}

static void leave_out(struct class_run *run, const struct design_point *point, const struct esp_error *why)
{
    char sizes[128];
    if (run->left_out++ > 0)
        return;
    name_sizes(run->design, point, sizes, sizeof sizes);
    error_set(&run->why_left_out, why->status, "%s: %s", sizes, why->text);
}

static bool is_hopeless(const struct class_run *run)
{
    return run->left_out >= LEAST_FAILED && run->left_out > FAILED_FOR_ONE * run->model.n_measurements;
}

/* Whether the calibration itself failed, and not the called routine. */
static bool is_own_failure(enum esp_status status)
{
    return status == ESP_CANCELLED || status == ESP_SYSTEM || status == ESP_NO_MEMORY;
}

static enum esp_status measure(struct class_run *run, struct esp_error *error)
{
    unsigned tried = run->model.n_measurements;
    struct calibration *calibration = run->calibration;
    const struct problem *problem = run->design->problem;
    while (wants_more(run) && run->left_out < most_points(run) && !is_hopeless(run)) {
        struct design_point point = {.x = {0}};
        show(run);
        if (is_stopped(calibration))
            return error_set(error, ESP_CANCELLED, "told to stop");
        random_seed(&calibration->random, problem->digest + 1000003 * run->class_index + tried);
        if (!design_next(run->design, run->class_index, tried++, &run->limits, &calibration->random, &point))
            return error_set(error, ESP_INVALID, "%s is not measured: no sizes meet its preconditions",
                             problem->name);
        struct cost_measurement *m = &run->measurements[run->model.n_measurements];
        enum esp_status status =
            calibration_measure(calibration, problem, &point, run->model.n_variables, m, error);
        if (is_own_failure(status))
            return status;
        if (status != ESP_OK) {
            leave_out(run, &point, error);
            continue;
        }
        run->model.n_measurements++;
        run->new_points++;
        journal_learn(run, m);
        if ((status = journal_note(run, m, error)) != ESP_OK)
            return status;
    }
    if (run->left_out > 0 && run->model.n_measurements < FIT_LEAST_MEASUREMENTS)
        return error_set(error, run->why_left_out.status,
                         "%s is not measured: calls of %u of %u sizes fail, the first with %s", problem->name,
                         run->left_out, run->left_out + run->model.n_measurements, run->why_left_out.text);
    return ESP_OK;
}

#define SET_ASIDE ".damaged" /* no valid name of a model */

/* Returns false, with a message, also when the model is damaged or of a later version: such a model stays
 * until another one replaces it. */
static bool is_readable(struct class_run *run)
{
    struct arena arena = {0};
    struct cost_model model;
    struct esp_error why;
    const enum esp_status status = cost_load(run->path, &arena, &model, &why);
    const bool same = status == ESP_OK && model.digest == run->model.digest;
    arena_clear(&arena);
    run->unreadable = status == ESP_INVALID || status == ESP_SYSTEM;
    if (run->unreadable)
        log_warning("%s; it is measured anew, and what is there is kept as %s%s then", why.text, run->path,
                    SET_ASIDE);
    return same;
}

/* A journal that was begun beside the model belongs to an interrupted new measurement, which continues. */
static bool is_made(struct class_run *run)
{
    return is_readable(run) && !run->calibration->options.again && journal_is_old(run);
}

static enum esp_status save(const struct class_run *run, struct esp_error *error)
{
    char aside[CALIBRATE_PATH + sizeof SET_ASIDE];
    snprintf(aside, sizeof aside, "%s%s", run->path, SET_ASIDE);
    if (run->unreadable && rename(run->path, aside) != 0)
        return error_errno(error, "%s cannot be set aside as %s", run->path, aside);
    return cost_save(&run->model, run->path, error);
}

/* Allows a little more than the budget, for repeated measurements. */
static bool has_time_left(const struct class_run *run)
{
    return spent(run) < 1.5 && !is_stopped(run->calibration);
}

static enum esp_status make_model(struct class_run *run, struct esp_error *error)
{
    enum esp_status status = measure(run, error);
    if (status == ESP_OK)
        status = fit_model(&run->model, &run->arena, error);
    if (status == ESP_OK)
        status = calibrate_again(run, has_time_left, error);
    return status == ESP_OK ? save(run, error) : status;
}

static enum esp_status begin_class(struct class_run *run, struct esp_error *error)
{
    const struct calibrate_options *options = &run->calibration->options;
    const struct problem *problem = run->design->problem;
    const struct implementation *implementation = &problem->implementations[0];
    enum esp_status status = design_model(run->design, run->class_index, implementation, options->machine,
                                          options->threads, &run->arena, &run->model, error);
    snprintf(run->path, sizeof run->path, "%s/%s-%s-%" PRIu32 "-%" PRIu32 COST_SUFFIX, options->folder,
             problem->name, implementation->name, options->threads, run->class_index);
    for (char *at = run->path + strlen(options->folder) + 1; (at = strchr(at, '/'));)
        *at = '+'; /* of module/entry: no other name contains a '+' */
    snprintf(run->journal, sizeof run->journal, "%s.points", run->path);
    run->model.measurements = run->measurements;
    run->limits = (struct design_limits){.least_s = LEAST_S,
                                         .most_s = options->longest_s,
                                         .bytes = fmin(options->bytes, MOST_BYTES),
                                         .speed_flops = 1e9,
                                         .call_s = 2e-5};
    run->begun_ns = clock_now_ns(&clock_system);
    return status;
}

static enum esp_status calibrate_class(struct class_run *run, struct calibrate_result *result,
                                       struct esp_error *error)
{
    enum esp_status status = begin_class(run, error);
    if (status != ESP_OK)
        return status;
    if (journal_is_old(run) && access(run->path, F_OK) == 0)
        unlink(run->journal); /* the model has everything */
    if (is_made(run))
        return ESP_OK;
    result->was_there = false;
    journal_read(run);
    if ((status = journal_begin(run, error)) == ESP_OK)
        status = make_model(run, error);
    result->points += run->new_points;
    if (run->left_out > 0 && result->left_out == 0)
        result->why_left_out = run->why_left_out;
    result->left_out += run->left_out;
    if (status != ESP_OK)
        return status;
    unlink(run->journal);
    result->models++;
    result->error = fmax(result->error, run->model.time.error);
    return ESP_OK;
}

enum esp_status calibrate_problem(struct calibration *calibration, const struct problem *problem,
                                  struct calibrate_result *result, struct esp_error *error)
{
    struct design design;
    *result = (struct calibrate_result){.was_there = true};
    enum esp_status status = design_begin(problem, &design, error);
    if (status == ESP_OK && state_is_taken(problem))
        status = state_check(calibration, problem, error);
    if (status == ESP_OK && mkdir(calibration->options.folder, 0750) != 0 && errno != EEXIST)
        status = error_errno(error, "the folder %s cannot be made", calibration->options.folder);
    for (uint32_t i = 0; i < design.n_classes && status == ESP_OK; i++) {
        struct class_run *run = calloc(1, sizeof *run);
        if (!run)
            return error_no_memory(error, "a calibration");
        run->calibration = calibration;
        run->design = &design;
        run->class_index = i;
        status = calibrate_class(run, result, error);
        arena_clear(&run->arena);
        free(run);
    }
    return status;
}

/* Repeats measurements at some sizes, after all others; see services/fast/fit.h. */

struct again {
    struct class_run *run;
    bool (*within)(const struct class_run *run);
};

static enum esp_status visit(void *arg, const struct cost_measurement *m, struct cost_measurement *found,
                             struct esp_error *error)
{
    const struct again *again = arg;
    struct class_run *run = again->run;
    struct design_point point = {.x = {0}};
    int64_t sizes[COST_MOST_VARIABLES];
    for (uint32_t i = 0; i < run->design->n_sizes; i++)
        sizes[i] = (int64_t)m->x[i];
    if (!again->within(run) || !design_at(run->design, run->class_index, sizes, &point))
        return ESP_LIMIT;
    enum esp_status status = calibration_measure(run->calibration, run->design->problem, &point,
                                                 run->model.n_variables, found, error);
    if (status != ESP_FAILED && status != ESP_CRASHED && status != ESP_TIMEOUT)
        return status;
    *found = *m; /* a routine that sometimes fails: keeps the first measurement */
    return ESP_OK;
}

/* The model is fitted: calls fit_again(), as long as `within` says that there is time. Errors as for
 * calibration_measure(). */
static enum esp_status calibrate_again(struct class_run *run, bool (*within)(const struct class_run *run),
                                       struct esp_error *error)
{
    struct again again = {run, within};
    return fit_again(&run->model, visit, &again, &run->arena, error);
}

struct used {
    struct problem *problem;
    size_t index;
    double seconds;
};

static int by_name(const void *a, const void *b)
{
    const struct used *x = a, *y = b;
    return strcmp(x->problem->name, y->problem->name);
}

static int by_use(const void *a, const void *b)
{
    const struct used *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds > y->seconds ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Skips malformed lines, and problems that the server no longer has. */
static void add_file(const char *path, struct used *all, size_t n)
{
    char text[ACCURACY_LINE];
    struct accuracy_line line;
    FILE *file = regular_file_open(path, "r", NULL);
    while (file && fgets(text, sizeof text, file)) {
        struct problem named = {.name = line.problem};
        const struct used key = {.problem = &named};
        if (!accuracy_line_read(text, &line))
            continue;
        struct used *found = bsearch(&key, all, n, sizeof *all, by_name);
        if (found)
            found->seconds += (line.together > 0 ? line.together : 1) * line.actual_s;
    }
    if (file)
        fclose(file);
}

struct problem **calibrate_order(const struct problem_set *set, const char *state_dir)
{
    static const char *const files[] = {ACCURACY_FILE, ACCURACY_FILE ".old"};
    const size_t n = set->n_problems;
    char path[4096];
    struct used *all = calloc(n + 1, sizeof *all);
    struct problem **order = calloc(n + 1, sizeof *order);
    if (!all || !order) {
        free(all);
        free(order);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        all[i] = (struct used){set->problems[i], i, 0};
    qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; state_dir && i < sizeof files / sizeof *files; i++)
        if (snprintf(path, sizeof path, "%s/%s", state_dir, files[i]) < (int)sizeof path)
            add_file(path, all, n);
    qsort(all, n, sizeof *all, by_use);
    for (size_t i = 0; i < n; i++)
        order[i] = all[i].problem;
    free(all);
    return order;
}

static bool read_seconds(const char *text, double *seconds)
{
    char *end;
    *seconds = strtod(text, &end);
    while (*end == ' ')
        end++;
    if (strcmp(end, "ms") == 0)
        *seconds /= 1000;
    else if (strcmp(end, "min") == 0)
        *seconds *= 60;
    else if (strcmp(end, "h") == 0)
        *seconds *= 3600;
    else if (*end && strcmp(end, "s") != 0)
        return false;
    return *seconds > 0 && *seconds <= 86400;
}

int calibrate_usage(const char *text, const char *word)
{
    fprintf(stderr, "espalier calibrate: %s '%s'; see 'espalier calibrate --help'\n", text, word);
    return EXIT_USAGE;
}

int calibrate_parse(int argc, char **argv, struct calibrating *command)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"models", required_argument, NULL, 'm'},
        {"budget", required_argument, NULL, 'b'},
        {"longest", required_argument, NULL, 'l'},
        {"again", no_argument, NULL, 'a'},
        {"all", no_argument, NULL, 'A'},
        {"json", no_argument, NULL, 'j'},
        {"background", no_argument, NULL, 'B'},
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "c:m:b:l:a", options, NULL)) != -1) {
        if (option == 'c')
            command->config = optarg;
        else if (option == 'm')
            command->models = optarg;
        else if (option == 'a')
            command->again = true;
        else if (option == 'A')
            command->all = true;
        else if (option == 'j')
            command->json = true;
        else if (option == 'B')
            command->background = true;
        else if (option == '?')
            return EXIT_USAGE;
        else if (!read_seconds(optarg, option == 'b' ? &command->budget_s : &command->longest_s))
            return calibrate_usage(option == 'b' ? "--budget: expected a time up to 24 h, such as 30s, found"
                                                 : "--longest: expected a time up to 24 h, such as 1s, found",
                                   optarg);
    }
    return EXIT_DONE;
}

/* Calibrates the ranks of a server. */

#define SAVE_NS (2 * NS_PER_S) /* longest time whose measurements can be lost */

static struct process_grid fixed_grid(const struct settings_sed *settings)
{
    return (struct process_grid){settings->grid_rows, settings->grid_cols, (uint32_t)settings->block};
}

static enum esp_status open_ranks(struct calibrating *command, struct esp_error *error)
{
    const struct settings_sed *settings = &command->settings;
    const char *state = settings->node.state_dir;
    char profile[4200], host[256];
    uint16_t port;
    snprintf(profile, sizeof profile, "%s/ranks", state ? state : command->folder);
    enum esp_status status = config_read_address(settings->node.listen, "0", host, sizeof host, &port, error);
    if (status != ESP_OK)
        return status;
    const struct ranks_options options = {.ranks = (uint32_t)settings->ranks,
                                          .grid = fixed_grid(settings),
                                          .mpirun = settings->mpirun,
                                          .hostfile = settings->hostfile,
                                          .host = host,
                                          .profile = profile,
                                          .profile_save_ns = SAVE_NS};
    status = ranks_create(&options, &command->ranks, error);
    return status == ESP_OK ? calibrate_ranks_await(command->ranks, error) : status;
}

void calibrate_open_ranks(struct calibrating *command)
{
    struct esp_error error;
    if (open_ranks(command, &error) == ESP_OK)
        return;
    fprintf(stderr, "espalier calibrate: without ranks: %s\n", error.text);
    if (command->ranks)
        command->ranks->ops->destroy(command->ranks);
    command->ranks = NULL;
}

static void tell(const struct calibrating *command, const struct problem *problem,
                 const struct calibrate_ranks_result *result)
{
    calibrate_clear_bar();
    if (command->json)
        printf("{\"problem\": \"%s\", \"grids\": %u, \"calls\": %u, \"error\": %.4g}\n", problem->name,
               result->grids, result->calls, result->error);
    else if (result->calls == 0)
        printf("%-12s on ranks is there already (--again measures it anew)\n", problem->name);
    else
        printf("%-12s on ranks: %u grids and block sizes, %u new calls, mean error of the last %.1f %%\n",
               problem->name, result->grids, result->calls, 100 * result->error);
    fflush(stdout);
}

/* Chooses the first one that the ranks can call. */
static bool choose_implementation(struct calibrating *command, const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->n_implementations; i++)
        if (implementation_is_parallel(&problem->implementations[i]))
            return ranks_check(command->ranks, problem, &problem->implementations[i], NULL) == ESP_OK;
    return false;
}

enum esp_status calibrate_together(struct calibrating *command, const struct problem *problem,
                                   struct esp_error *error)
{
    struct calibrate_ranks_result result;
    if (!command->together || !choose_implementation(command, problem))
        return ESP_NOT_FOUND;
    command->on_ranks = true;
    enum esp_status status = calibrate_ranks(command->together, (uint32_t)command->settings.ranks,
                                             fixed_grid(&command->settings), problem, &result, error);
    command->on_ranks = false;
    if (status == ESP_OK)
        tell(command, problem, &result);
    return status;
}
