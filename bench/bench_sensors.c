/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sensors of a server cost: the processor time of one reading a second (the kernel's counters, those
 * of the own processes, the battery of predictors), as a share of one processor; and of the active test,
 * which takes its 30 ms every two minutes at most. The reference is the bound.
 */
#include "bench/bench.h"
#include "core/forecast/predictor.h"
#include "services/nws/processor.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 6, READINGS = 40 };

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* As many processes below this one as a server with four slots has. */
static void start_workers(pid_t *workers)
{
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = fork();
        if (workers[i] == 0) {
            pause();
            _exit(0);
        }
    }
}

static void end_workers(const pid_t *workers)
{
    for (int i = 0; i < WORKERS; i++)
        if (workers[i] > 0) {
            kill(workers[i], SIGKILL);
            waitpid(workers[i], NULL, 0);
        }
}

int main(void)
{
    static const struct bench_case which = {"sensors", "one reading a second", "% of a core", BENCH_AT_MOST,
                                            1};
    static const struct timespec between = {.tv_nsec = 120000000}; /* counters have moved by then */
    const struct processor_options options = {0};
    struct processor_sensor *sensor;
    struct predictor *predictor;
    struct processor_reading reading;
    struct prediction prediction;
    struct esp_error error;
    pid_t workers[WORKERS];
    double samples[READINGS];
    start_workers(workers);
    if (processor_sensor_create(&options, &sensor, &error) != ESP_OK ||
        predictor_create(&predictor, &error) != ESP_OK)
        bench_fail("%s", error.text);
    for (int i = 0; i < READINGS; i++) {
        nanosleep(&between, NULL);
        const double begun_s = processor_s();
        if (processor_sensor_read(sensor, &reading)) {
            predictor_add(predictor, reading.available_cpu);
            predictor_forecast(predictor, 5, &prediction);
        }
        samples[i] = 100 * (processor_s() - begun_s);
    }
    const double tests = 100 * 0.030 / 120;
    bench_row(&which, bench_median(samples, READINGS) + tests, 0.5);
    processor_sensor_destroy(sensor);
    predictor_destroy(predictor);
    end_workers(workers);
    return 0;
}
