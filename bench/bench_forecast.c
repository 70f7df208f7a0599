/* SPDX-License-Identifier: Apache-2.0
 *
 * How right forecasts are: six routines are calibrated on one processor of this machine, then called at
 * random sizes that the calibration has not seen. A size's actual time is the median of 15 calls, in three
 * visits at separate times. Between these visits the same is measured once more: what the two medians differ
 * by is the repeatability, beyond which no forecast can be right. Times are of the processor, as the core may
 * not be idle. Then the same beside a competitor that only the sensor knows of, in times of the clock; and
 * what an estimate costs inside a server.
 *
 * The whole takes more than an hour. With $BENCH_FORECAST_MINUTES it takes about so long: shorter
 * calibrations, and as many of the sizes as there is time for. $BENCH_FORECAST_BUDGET (60 s for a problem),
 * $BENCH_FORECAST_LONGEST (calls of up to 2 s) and $BENCH_FORECAST_SIZES (40 of each routine) set these
 * themselves; $BENCH_FORECAST_ONLY is one routine; $BENCH_FORECAST_KEEP keeps models that are there;
 * $BENCH_FORECAST_SHOW prints a line for each size: the forecast, the medians of what its calls took, and how
 * far the forecast is off the first of these.
 */
#include "bench/bench.h"
#include "bench/competitor.h"
#include "core/choice/estimate.h"
#include "core/forecast/predictor.h"
#include "core/problem/problem.h"
#include "sed/calibrate/calibrate.h"
#include "sed/pool/processes.h"
#include "services/fast/design.h"
#include "services/nws/processor.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CALLS        15
#define VISIT        5 /* of them, one after the other */
#define ROUNDS       (2 * CALLS / VISIT)
#define MODEL_FOLDER "bench-models"

#define ROUTINES 6
/* Of the time that is given, what calibrations get; the rest is for calls, which take twice as long beside a
 * competitor, and of which each visit makes one more that does not count. Each is measured twice. */
#define CALIBRATION_SHARE 0.4
#define CALLS_SHARE       0.5
#define RUNS              3.0
#define VISIT_RUNS        (VISIT + 1.0)
/* A budget is for all classes of a problem's options; sizes that deserve another look take half as much at
 * most. */
#define AGAIN 1.3

struct setting {
    double budget_s, longest_s;
    int sizes;
    double calls_s; /* for the calls of one size each, of one routine */
};

static double number_of(const char *name, double initial)
{
    const char *text = getenv(name);
    return text ? atof(text) : initial;
}

/* All of them, or the one that is wanted. */
struct routines {
    const char *names[ROUTINES];
    size_t n;
};

static struct routines routines_wanted(void)
{
    static const char *const names[ROUTINES] = {"dgemm", "dgesv", "dposv", "dgeqrf", "dsyev", "dgesvd"};
    const char *only = getenv("BENCH_FORECAST_ONLY");
    struct routines wanted = {.n = 0};
    for (size_t i = 0; i < ROUTINES; i++)
        if (!only || strcmp(only, names[i]) == 0)
            wanted.names[wanted.n++] = names[i];
    if (wanted.n == 0)
        bench_fail("BENCH_FORECAST_ONLY is %s: expected one of dgemm, dgesv, dposv, dgeqrf, dsyev, dgesvd",
                   only);
    return wanted;
}

static struct setting settings(const struct routines *routines)
{
    const double minutes = number_of("BENCH_FORECAST_MINUTES", 0);
    const double each_s = 60 * minutes / (double)routines->n;
    return (struct setting){
        .budget_s = number_of("BENCH_FORECAST_BUDGET", minutes > 0 ? CALIBRATION_SHARE * each_s / AGAIN : 60),
        .longest_s = number_of("BENCH_FORECAST_LONGEST", 2),
        .sizes = (int)number_of("BENCH_FORECAST_SIZES", 40),
        .calls_s = minutes > 0 ? CALLS_SHARE * each_s / (RUNS * ROUNDS * VISIT_RUNS) : HUGE_VAL};
}

static struct problem_set *load(void)
{
    struct problem_set *set;
    struct esp_error error;
    char path[2][4096];
    const char *source = getenv("top_srcdir");
    const char *paths[] = {path[0], path[1]};
    snprintf(path[0], sizeof path[0], "%s/problems/blas", source ? source : "..");
    snprintf(path[1], sizeof path[1], "%s/problems/lapack", source ? source : "..");
    if (problem_load_all(paths, 2, &set, &error) != ESP_OK)
        bench_fail("%s", error.text);
    return set;
}

static struct workers *open_workers(const struct problem_set *set)
{
    struct workers *workers;
    struct esp_error error;
    const char *build = getenv("top_builddir");
    char program[4096];
    snprintf(program, sizeof program, "%s/sed/espalier-crd", build ? build : ".");
    const struct processes_options options = {.slots = 1, .threads = 1, .problems = set, .program = program};
    if (processes_create(&options, &workers, &error) != ESP_OK)
        bench_fail("%s", error.text);
    return workers;
}

static void make_call(const struct problem *problem, const struct design_point *point,
                      struct scalar_value *scalars, struct request *request)
{
    *request = (struct request){.problem = problem->name, .digest = problem->digest, .scalars = scalars};
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        request->memory_bytes += point->shapes[i].bytes;
        if (point->scope[i].kind != NUMBER_UNKNOWN && argument_is_input(&problem->arguments[i]))
            scalars[request->n_scalars++] =
                (struct scalar_value){.index = i,
                                      .is_real = point->scope[i].kind == NUMBER_REAL,
                                      .integer = point->scope[i].integer,
                                      .real = point->scope[i].real};
    }
    uint64_t beyond;
    if (problem_work(problem, point->scope, &request->work_flop, NULL) != ESP_OK ||
        problem_memory(problem, point->scope, &beyond, NULL) != ESP_OK)
        bench_fail("%s: its work or its memory cannot be told", problem->name);
    request->memory_bytes += beyond;
}

/* Random sizes, square or with aspects up to 4, that are forecast to take between 10 ms and the longest. */
static bool draw(const struct design *design, const struct cost_set *models, const struct setting *setting,
                 struct random *random, struct design_point *point, struct request *request,
                 struct scalar_value *scalars)
{
    for (int i = 0; i < 10000; i++) {
        double scale = exp(log(60) + random_real(random) * log(60));
        int64_t sizes[COST_MOST_VARIABLES];
        struct request_cost cost;
        for (uint32_t k = 0; k < design->n_sizes; k++)
            sizes[k] = (int64_t)(scale * exp2(2 * random_real(random) - 1));
        if (!design_at(design, 0, sizes, point))
            continue;
        make_call(design->problem, point, scalars, request);
        estimate_cost(request, &(struct computer){.speed_flops = 1e10, .models = models}, &cost);
        if (cost.compute_s >= 0.010 && cost.compute_s <= setting->longest_s)
            return true;
    }
    return false;
}

/* ---- sizes, visited at separate times ---- */

/* A size and what its calls took: what disturbs the machine for a while disturbs one visit of each. Visits
 * count for the actual time and for its repetition in turns. */
struct visited {
    const struct problem *problem;
    struct design_point point;
    struct request request;
    struct scalar_value scalars[PROBLEM_MAX_ARGUMENTS];
    double forecast_s[CALLS], taken_s[CALLS], again_s[CALLS];
    int n;
};

struct visits {
    struct calibration *calibration;
    const struct cost_set *models;
    struct visited *all;
    int n;
    /* With a competitor: what the sensor tells, and times of the clock; else all zero, and those of the
     * processor. */
    struct processor_sensor *sensor;
    struct predictor *predictor;
};

/* At least two, and while there is time. */
static void draw_all(struct visits *visits, const struct problem *problem, const struct setting *setting)
{
    struct design design;
    struct esp_error error;
    struct random random;
    random_seed(&random, 4711);
    if (design_begin(problem, &design, &error) != ESP_OK)
        bench_fail("%s", error.text);
    int found = 0;
    double calls_s = 0;
    for (; found < setting->sizes && (found < 2 || calls_s < setting->calls_s); found++) {
        struct visited *visited = &visits->all[visits->n];
        *visited = (struct visited){.problem = problem};
        if (!draw(&design, visits->models, setting, &random, &visited->point, &visited->request,
                  visited->scalars))
            break;
        struct request_cost cost;
        visited->request.scalars = visited->scalars;
        estimate_cost(&visited->request, &(struct computer){.speed_flops = 1e10, .models = visits->models},
                      &cost);
        calls_s += cost.compute_s;
        visits->n++;
    }
    if (found == 0)
        bench_fail("%s: no size takes long enough", problem->name);
}

/* As a server's sensor does it. */
static double available_now(struct visits *visits)
{
    struct processor_reading reading;
    struct prediction prediction;
    if (!visits->sensor)
        return 0;
    if (processor_sensor_read(visits->sensor, &reading))
        predictor_add(visits->predictor, reading.available_cpu);
    return predictor_forecast(visits->predictor, 5, &prediction) ? prediction.value : 0;
}

static void visit(struct visits *visits, struct visited *visited, bool again)
{
    double seconds[VISIT], cpu_s[VISIT];
    struct request_cost cost;
    struct esp_error error;
    const struct computer computer = {
        .speed_flops = 1e10, .models = visits->models, .available = available_now(visits)};
    visited->request.scalars = visited->scalars;
    estimate_cost(&visited->request, &computer, &cost);
    if (calibration_call(visits->calibration, visited->problem, &visited->point, VISIT, seconds, cpu_s,
                         &error) != ESP_OK)
        bench_fail("%s", error.text);
    for (int k = 0; k < VISIT; k++) {
        if (!again)
            visited->forecast_s[visited->n + k] = cost.compute_s;
        (again ? visited->again_s : visited->taken_s)[visited->n + k] =
            visits->sensor ? seconds[k] : cpu_s[k];
        if (visits->sensor && seconds[k] >= 0.1)
            processor_sensor_learn(visits->sensor, cpu_s[k] / seconds[k], seconds[k]);
    }
    visited->n += again ? VISIT : 0;
}

/* How far off, and how far apart what was repeated is: sums over the sizes of a problem (NULL: of all). */
struct errors {
    double off, repeat;
    int n;
};

static struct errors errors_of(const struct visits *visits, const struct problem *problem)
{
    struct errors errors = {0};
    for (int i = 0; i < visits->n; i++) {
        struct visited *visited = &visits->all[i]; /* bench_median() sorts */
        if (problem && visited->problem != problem)
            continue;
        const double actual = bench_median(visited->taken_s, CALLS);
        errors.repeat += fabs(bench_median(visited->again_s, CALLS) - actual) / actual;
        errors.off += fabs(bench_median(visited->forecast_s, CALLS) - actual) / actual;
        errors.n++;
    }
    return errors;
}

static void row_of(const struct visits *visits, const struct problem *problem, double least, double factor,
                   const char *how)
{
    const struct errors errors = errors_of(visits, problem);
    char name[96];
    snprintf(name, sizeof name, "%s%s: mean error of %d sizes in %%", problem ? problem->name : "all", how,
             errors.n);
    const struct bench_case which = {"forecast", name, "%", BENCH_AT_MOST, 1};
    bench_row(&which, 100 * errors.off / errors.n, 100 * fmax(least, factor * errors.repeat / errors.n));
}

static void show_all(const struct visits *visits, const char *how)
{
    for (int i = 0; i < visits->n && getenv("BENCH_FORECAST_SHOW"); i++) {
        struct visited visited = visits->all[i];
        struct design design;
        if (design_begin(visited.problem, &design, NULL) != ESP_OK)
            continue;
        printf("# %s", visited.problem->name);
        for (uint32_t k = 0; k < design.n_sizes; k++)
            printf(" %s=%.0f", visited.problem->arguments[design.sizes[k]].name, visited.point.x[k]);
        const double forecast_s = bench_median(visited.forecast_s, CALLS);
        const double taken_s = bench_median(visited.taken_s, CALLS);
        printf("%s: forecast %.5f s, actual %.5f s and %.5f s, off by %+.1f %%\n", how, forecast_s, taken_s,
               bench_median(visited.again_s, CALLS), 100 * (forecast_s / taken_s - 1));
    }
}

static void rows_of(const struct visits *visits, const struct problem_set *set,
                    const struct routines *routines, double least, double factor, const char *how)
{
    show_all(visits, how);
    for (size_t i = 0; i < routines->n; i++)
        row_of(visits, problem_find(set, routines->names[i]), least, factor, how);
    row_of(visits, NULL, least, factor, how);
}

static void visit_all(struct visits *visits)
{
    for (int i = 0; i < visits->n; i++)
        visits->all[i].n = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < visits->n; i++)
            visit(visits, &visits->all[i], round % 2);
}

/* ---- beside a competitor ---- */

static void beside_competitor(struct visits *visits)
{
    static const struct timespec second = {.tv_sec = 1};
    const struct processor_options options = {0};
    struct esp_error error;
    if (processor_sensor_create(&options, &visits->sensor, &error) != ESP_OK ||
        predictor_create(&visits->predictor, &error) != ESP_OK)
        bench_fail("%s", error.text);
    const pid_t competitor = competitor_start();
    for (int i = 0; i < 10; i++) {
        nanosleep(&second, NULL);
        available_now(visits);
        if (i == 4)
            processor_sensor_learn(visits->sensor, processor_active_test(30000000), 0.03);
    }
    visit_all(visits);
    kill(competitor, SIGKILL);
    processor_sensor_destroy(visits->sensor);
    predictor_destroy(visits->predictor);
}

/* ---- what an estimate costs ---- */

struct estimating {
    struct request request;
    struct cost_set *models;
    struct load load;
    double sum;
};

static void estimate(void *context)
{
    struct estimating *e = context;
    struct server_estimate estimate = {0};
    struct arena arena = {0};
    const struct standing standing = {.memory_free = UINT64_MAX};
    if (!estimate_fill(&estimate, &e->request, &(struct computer){.speed_flops = 1e10, .models = e->models},
                       &e->load, &standing, 0, &arena))
        bench_fail("no memory");
    e->sum += estimate.compute_s;
    arena_clear(&arena);
}

static void cost_of_estimate(const struct problem *problem, struct cost_set *models)
{
    struct design design;
    struct design_point point = {.x = {0}};
    struct scalar_value scalars[PROBLEM_MAX_ARGUMENTS];
    static const int64_t sizes[] = {1000, 900, 800, 700};
    struct estimating e = {.models = models};
    if (design_begin(problem, &design, NULL) != ESP_OK || !design_at(&design, 0, sizes, &point) ||
        load_init(&e.load, 4, 0) != ESP_OK)
        bench_fail("no estimate");
    make_call(problem, &point, scalars, &e.request);
    enum { N = 100000 };
    double begin = bench_now();
    for (int i = 0; i < N; i++)
        estimate(&e);
    const struct bench_case which = {"forecast", "an estimate in a server", "us", BENCH_AT_MOST, 1};
    bench_row(&which, (bench_now() - begin) / N * 1e6, 5);
    load_release(&e.load);
}

int main(void)
{
    const struct routines routines = routines_wanted();
    const struct setting setting = settings(&routines);
    setvbuf(stdout, NULL, _IOLBF, 0); /* it takes long: what is known is shown */
    competitor_confine();             /* the workers too */
    struct problem_set *set = load();
    struct workers *workers = open_workers(set);
    struct calibration *calibration;
    struct cost_set models;
    struct esp_error error;
    const struct calibrate_options options = {.folder = MODEL_FOLDER,
                                              .machine = "bench",
                                              .threads = 1,
                                              .budget_s = setting.budget_s,
                                              .longest_s = setting.longest_s,
                                              .bytes = 1e9,
                                              .again = getenv("BENCH_FORECAST_KEEP") == NULL};
    if (calibration_create(&options, workers, &calibration, &error) != ESP_OK)
        bench_fail("%s", error.text);
    for (size_t i = 0; i < routines.n; i++) {
        struct calibrate_result result;
        const struct problem *problem = problem_find(set, routines.names[i]);
        if (!problem || calibrate_problem(calibration, problem, &result, &error) != ESP_OK)
            bench_fail("%s: %s", routines.names[i], problem ? error.text : "no such problem");
        printf("%s: %u models of %u calls, expected error %.1f %%\n", routines.names[i], result.models,
               result.points, 100 * result.error);
    }
    if (cost_load_folder(MODEL_FOLDER, NULL, NULL, &models, &error) != ESP_OK)
        bench_fail("%s", error.text);
    struct visits visits = {.calibration = calibration, .models = &models};
    if (!(visits.all =
              calloc((size_t)(ROUTINES * (setting.sizes > 0 ? setting.sizes : 1)), sizeof *visits.all)))
        bench_fail("no memory");
    for (size_t i = 0; i < routines.n; i++)
        draw_all(&visits, problem_find(set, routines.names[i]), &setting);
    visit_all(&visits);
    rows_of(&visits, set, &routines, 0.05, 1.3, "");
    beside_competitor(&visits);
    rows_of(&visits, set, &routines, 0.15, 1.5, ", with a competitor");
    free(visits.all);
    cost_of_estimate(problem_find(set, "dgemm"), &models);
    workers->ops->destroy(workers);
    calibration_destroy(calibration);
    cost_set_clear(&models);
    problem_set_destroy(set);
    return 0;
}
