/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/sensors.h"

#include "sed/corrections_file.h"

#include "core/forecast/gauge.h"
#include "services/nws/memory.h"
#include "services/nws/processor.h"
#include "services/nws/series.h"
#include "util/clock.h"
#include "util/log.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

/* Readings, and active tests: 30 ms of a processor every two minutes are 0.025 % of it. A test is several
 * turns of the scheduler long: a shorter one would be let through at once and see no competitor. */
#define READ_NS       NS_PER_S
#define TEST_EVERY    15
#define TEST_NS       (30 * NS_PER_MS)
#define SAVE_EVERY    60  /* what calls have taught is saved: a server that is killed forgets a minute */
#define WORTH_TESTING 0.2 /* processors that others take: without any there is nothing to correct */
/* Of what is shown: readings in one value of a plot, readings ahead that forecasts are made for. */
#define PER_VALUE 5
#define AHEAD     5

enum { AVAILABLE_CPU, CURRENT_CPU, FREE_MEMORY, FREE_DISK, GAUGES };

struct sensors {
    struct server *server;
    char *folder;
    struct processor_sensor *processor;
    struct series *series; /* of readings, kept over restarts */
    struct gauge *gauges[GAUGES];
    pthread_t thread;
    pthread_mutex_t lock; /* of the gauges, and of what follows */
    pthread_cond_t wake;
    bool stop;
};

static double free_memory(void)
{
    const uint64_t available = memory_available(NULL);
    return available < UINT64_MAX ? (double)available : 0;
}

static double free_disk(const char *folder)
{
    struct statvfs disk;
    return folder && statvfs(folder, &disk) == 0 ? (double)disk.f_bavail * (double)disk.f_frsize : 0;
}

/* What people are shown; what is not known is NAN. */
static void note(struct sensors *sensors, double available, double current, double memory, double disk)
{
    const double values[GAUGES] = {available, current, memory / 1e6, disk / 1e6};
    const int64_t now_s = time(NULL);
    pthread_mutex_lock(&sensors->lock);
    for (int i = 0; i < GAUGES; i++)
        if (isfinite(values[i]))
            gauge_add(sensors->gauges[i], values[i], now_s);
    pthread_mutex_unlock(&sensors->lock);
}

void sensors_tell(struct sensors *sensors, const char *node, struct outlook_page *page)
{
    static const char *const resources[GAUGES] = {"availableCpu", "currentCpu", "freeMemory", "freeDisk"};
    if (!sensors)
        return;
    const int64_t now_s = time(NULL);
    pthread_mutex_lock(&sensors->lock);
    for (int i = 0; i < GAUGES; i++) {
        struct outlook outlook = {.resource = resources[i], .from = node, .to = "", .step_s = PER_VALUE};
        if (gauge_outlook(sensors->gauges[i], AHEAD, now_s, &outlook))
            outlook_page_add(page, &outlook);
    }
    pthread_mutex_unlock(&sensors->lock);
}

static void read_all(struct sensors *sensors, unsigned turn)
{
    struct processor_reading reading;
    double session_s;
    const double got = server_processor_got(sensors->server, &session_s);
    if (got > 0)
        processor_sensor_learn(sensors->processor, got, session_s);
    if (!processor_sensor_read(sensors->processor, &reading))
        return;
    if (turn % TEST_EVERY == 1 && reading.own < 0.05 && reading.competing > WORTH_TESTING)
        processor_sensor_learn(sensors->processor, processor_active_test(TEST_NS), TEST_NS / 1e9);
    if (sensors->folder && turn % SAVE_EVERY == SAVE_EVERY - 1)
        corrections_file_save(sensors->server, sensors->folder);
    /* What computes beside the server ends when work comes. */
    const double available = server_has_beside(sensors->server) ? reading.alone_cpu : reading.available_cpu;
    series_add(sensors->series, &(struct link_measurement){.bandwidth = available, .time_s = time(NULL)});
    const uint64_t left = memory_available(NULL);
    const double memory = left < UINT64_MAX ? (double)left : 0, disk = free_disk(sensors->folder);
    note(sensors, available, reading.current_cpu, memory > 0 ? memory : NAN,
         sensors->folder ? disk : NAN); /* a full disk has 0 */
    server_sense_memory(sensors->server, left, reading.below_bytes);
    server_sense(sensors->server, available, memory, disk);
}

static double quota(void)
{
    return control_groups_quota(NULL);
}

/* What the server's former life has read: the predictors go on, and know how good they are. Without, what
 * control groups leave is known before the first reading: it counts for calls that come in the first second.
 */
static void recall(struct sensors *sensors)
{
    double readings[SERIES_RECORDS];
    const size_t n = series_history(sensors->series, readings, SERIES_RECORDS);
    for (size_t i = 0; i < n; i++) {
        note(sensors, readings[i], NAN, NAN, NAN);
        server_sense(sensors->server, readings[i], free_memory(), free_disk(sensors->folder));
    }
    if (n > 0)
        log_notice("%zu readings of the processor are known from before", n);
    else if (quota() < 1)
        server_sense(sensors->server, quota(), free_memory(), free_disk(sensors->folder));
}

static enum esp_status open_series(struct sensors *sensors, struct esp_error *error)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/processor.ring", sensors->folder ? sensors->folder : "");
    return series_open(sensors->folder ? path : NULL, &sensors->series, error);
}

static enum esp_status open_gauges(struct sensors *sensors, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (int i = 0; i < GAUGES && status == ESP_OK; i++)
        status = gauge_create(PER_VALUE, &sensors->gauges[i], error);
    return status;
}

/* True when it is time to end. */
static bool pause_for(struct sensors *sensors, int64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ns / NS_PER_S;
    pthread_mutex_lock(&sensors->lock);
    while (!sensors->stop && pthread_cond_timedwait(&sensors->wake, &sensors->lock, &until) == 0)
        ;
    const bool stop = sensors->stop;
    pthread_mutex_unlock(&sensors->lock);
    return stop;
}

static void *run(void *self)
{
    struct sensors *sensors = self;
    for (unsigned turn = 0; !pause_for(sensors, READ_NS); turn++)
        read_all(sensors, turn);
    return NULL;
}

static enum esp_status start(struct sensors *sensors, struct esp_error *error)
{
    pthread_condattr_t attributes;
    sigset_t all, before;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&sensors->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all); /* signals are for the main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&sensors->thread, NULL, run, sensors);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0 ? ESP_OK : error_set(error, ESP_SYSTEM, "no thread for the sensors (error %d)", code);
}

static void release(struct sensors *sensors)
{
    for (int i = 0; i < GAUGES; i++)
        gauge_destroy(sensors->gauges[i]);
    series_close(sensors->series);
    processor_sensor_destroy(sensors->processor);
    pthread_mutex_destroy(&sensors->lock);
    free(sensors->folder);
    free(sensors);
}

enum esp_status sensors_create(struct server *server, const char *folder, struct sensors **created,
                               struct esp_error *error)
{
    const struct processor_options options = {.quota = quota};
    struct sensors *sensors = calloc(1, sizeof *sensors);
    if (!sensors || (folder && !(sensors->folder = strdup(folder)))) {
        free(sensors);
        return error_no_memory(error, "the sensors");
    }
    sensors->server = server;
    pthread_mutex_init(&sensors->lock, NULL);
    enum esp_status status = processor_sensor_create(&options, &sensors->processor, error);
    if (status == ESP_OK)
        status = open_series(sensors, error);
    if (status == ESP_OK)
        status = open_gauges(sensors, error);
    if (status == ESP_OK) {
        recall(sensors);
        status = start(sensors, error);
    }
    if (status == ESP_OK) {
        *created = sensors;
        return ESP_OK;
    }
    release(sensors);
    return status;
}

void sensors_destroy(struct sensors *sensors)
{
    if (!sensors)
        return;
    pthread_mutex_lock(&sensors->lock);
    sensors->stop = true;
    pthread_cond_signal(&sensors->wake);
    pthread_mutex_unlock(&sensors->lock);
    pthread_join(sensors->thread, NULL);
    pthread_cond_destroy(&sensors->wake);
    release(sensors);
}
