/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/calibrate/calibrate_run.h"
#include "sed/calibrate/calibrate_state.h"

#include "services/fast/fit.h"
#include "util/clock.h"
#include "util/log.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST_POINTS    24
#define POINTS_PER_SIZE 96
#define LEAST_S         5e-6 /* below it a call's own cost is all there is */
#define REPETITIONS     5
#define MOST_REPEATED   31
#define REPEAT_S        0.02 /* short calls are repeated for so long */
/* A call so long is made twice, and once more where these differ by that; a longer one once: other sizes tell
 * more than it, and one that is far off them is called again (sed/calibrate/calibrate_again.c). */
#define LONG_S        0.1
#define LONG_AT_LEAST 2
#define LONG_AT_MOST  3
#define LONG_APART    0.02
#define LONGEST_S     0.5
/* Sizes whose calls fail are left out. A routine that fails for most sizes, or for all, is given up: so many
 * at least, and so many for each one that could be measured. */
#define LEAST_FAILED   6
#define FAILED_FOR_ONE 4
/* To make arguments takes longer than to look at them: beyond this a calibration would do nothing else. */
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
    unsigned low = (n + 1) / 4, high = n - low; /* of three, the one between the others */
    double sum = 0;
    for (unsigned i = low; i < high; i++)
        sum += times[i];
    double mean = sum / (high - low);
    *spread = mean > 0 ? (times[high - 1] - times[low]) / 2 / mean : 0;
    return mean;
}

/* What a call costs by the clock of the processor where that can be told; see sed/calibrate/calibrate.h. */
static double cost_of(const struct calibration *calibration, double seconds, double cpu_s)
{
    return calibration->options.threads == 1 && cpu_s > 0 ? cpu_s : seconds;
}

/* With the state that it works on. */
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

/* The first call loads the library and touches the memory: it counts only where it is so long that this is
 * nothing. The second one tells what the routine takes in memory; where there is to be none, the first one
 * does, unless its worker is not known yet. */
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

/* Memory beyond the arguments, and what the description asks for: of a routine what its worker grew by, of a
 * command what its processes have. */
static double memory_beyond(const struct measured_call *call, double peak, double bytes)
{
    double arguments = 0;
    if (call->beside <= 0)
        return fmax(peak - bytes, 0);
    for (uint32_t i = 0; i < call->problem->n_arguments; i++)
        arguments += (double)call->point->shapes[i].bytes + (double)call->point->shapes[i].whole_bytes;
    return fmax(call->beside - (bytes - arguments), 0);
}

enum esp_status calibration_measure(struct calibration *calibration, const struct problem *problem,
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

/* Of the time for this model, by the clock: a crowded machine shall not make a calibration last for ever. */
static double spent(const struct class_run *run)
{
    const struct calibration *calibration = run->calibration;
    double budget_s = calibration->options.budget_s / run->design->n_classes;
    return (double)(clock_now_ns(&clock_system) - run->begun_ns) / 1e9 / budget_s;
}

/* Shapes are of one kind more with each size. */
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
    /* Too few points make no model: the budget gives way to that, by as much again. */
    return spent(run) < (run->model.n_measurements < LEAST_POINTS ? 2 : 1);
}

/* "n=700, nrhs=1" */
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

/* A failure of the calibration, and not of what it calls. */
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

#define SET_ASIDE ".damaged" /* no name of a model */

/* False as well, and told, when it is damaged or of a later version: it stays until there is another one. */
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

/* A journal that was begun beside the model is of a measurement anew that was interrupted: it goes on. */
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

/* A little more than the budget, for what deserves another look. */
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
        *at = '+'; /* of module/entry: no other name has a '+' in it */
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
        unlink(run->journal); /* the model has it all */
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
