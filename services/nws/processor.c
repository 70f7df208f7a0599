/* SPDX-License-Identifier: Apache-2.0 */
#include "services/nws/processor.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_PROCESSORS (16 * 64)
#define MOST_OWN        4096 /* most descendants of this process that are counted */
#define LEAST_TICKS     10   /* of a processor: the counters have a resolution of a hundredth of a second */
/* Evidence decays with each reading: half after about 70. */
#define FADE 0.99
/* Weight of the readings themselves, in seconds of evidence. */
#define BELIEVED_S 0.1
#define MOST_S     2 /* most evidence of one session */

/* Processors that competitors must use for a correction to count in full. */
#define COMPETING 0.2

/* Processor time, in clock ticks. */
struct counters {
    uint64_t total, busy; /* of the counted processors, and of all */
    uint64_t all_busy;
    uint64_t own, below_bytes;
    unsigned processors, own_running, running;
};

struct processor_sensor {
    char proc[256];
    int64_t pid;
    uint64_t mask[16];
    double (*quota)(void);
    struct counters last;
    double passive;   /* of the last reading, before correction */
    double competing; /* of the last reading */
    double got_s, expected_s,
        evidence_s; /* processor time received, and expected by readings; their wall time */
};

static bool counts(const struct processor_sensor *sensor, unsigned processor)
{
    return processor < MOST_PROCESSORS && (sensor->mask[processor / 64] >> processor % 64 & 1);
}

/* ---- the kernel's counters ---- */

static void add_line(const struct processor_sensor *sensor, const char *line, struct counters *counters)
{
    uint64_t t[8] = {0}, total = 0;
    unsigned processor;
    if (sscanf(line,
               "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64,
               &processor, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) < 5)
        return;
    for (int i = 0; i < 8; i++)
        total += t[i];
    const uint64_t busy = total - t[3] - t[4]; /* everything except idle and waiting for input or output */
    counters->all_busy += busy;
    if (!counts(sensor, processor))
        return;
    counters->processors++;
    counters->total += total;
    counters->busy += busy;
}

static bool read_stat(const struct processor_sensor *sensor, struct counters *counters)
{
    char path[512], line[1024];
    snprintf(path, sizeof path, "%s/stat", sensor->proc);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "cpu", 3) == 0 && line[3] != ' ')
            add_line(sensor, line, counters);
        else if (sscanf(line, "procs_running %u", &counters->running) == 1)
            break;
    }
    fclose(file);
    return counters->processors > 0;
}

/* Adds user and system time of the process and of its children that have ended, and its state. */
static bool add_process(const struct processor_sensor *sensor, int64_t pid, struct counters *counters)
{
    char path[512], text[1024], state;
    uint64_t user, system, waited_user, waited_system;
    snprintf(path, sizeof path, "%s/%" PRId64 "/stat", sensor->proc, pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = 0;
    const char *rest = strrchr(text, ')'); /* the name may contain any character */
    if (!rest ||
        sscanf(rest,
               ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &state, &user, &system, &waited_user, &waited_system) != 5)
        return false;
    counters->own += user + system + waited_user + waited_system;
    counters->own_running += state == 'R';
    return true;
}

/* Returns memory that the process does not share and that is not from a file. */
static uint64_t private_bytes(const struct processor_sensor *sensor, int64_t pid)
{
    char path[512];
    uint64_t resident = 0, shared = 0;
    snprintf(path, sizeof path, "%s/%" PRId64 "/statm", sensor->proc, pid);
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) != 2)
        resident = shared = 0;
    if (file)
        fclose(file);
    return resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Appends the children of all threads of the process to `pids` after the first `n`. */
static size_t add_children(const struct processor_sensor *sensor, int64_t pid, int64_t *pids, size_t n)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%" PRId64 "/task", sensor->proc, pid);
    DIR *tasks = opendir(path);
    const struct dirent *entry;
    while (tasks && (entry = readdir(tasks))) {
        snprintf(path, sizeof path, "%s/%" PRId64 "/task/%.20s/children", sensor->proc, pid, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
        while (file && n < MOST_OWN && fscanf(file, "%" SCNd64, &pids[n]) == 1)
            n++;
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return n;
}

static bool read_all(const struct processor_sensor *sensor, struct counters *counters)
{
    int64_t *pids = malloc(MOST_OWN * sizeof *pids);
    size_t n = 1;
    *counters = (struct counters){0};
    if (!pids || !read_stat(sensor, counters)) {
        free(pids);
        return false;
    }
    pids[0] = sensor->pid;
    for (size_t i = 0; i < n; i++) {
        if (!add_process(sensor, pids[i], counters))
            continue;
        n = add_children(sensor, pids[i], pids, n);
        counters->below_bytes += i > 0 ? private_bytes(sensor, pids[i]) : 0;
    }
    free(pids);
    return true;
}

/* ---- creation and end ---- */

static void own_mask(struct processor_sensor *sensor)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        CPU_ZERO(&set);
    for (unsigned i = 0; i < CPU_SETSIZE && i < MOST_PROCESSORS; i++)
        if (CPU_ISSET(i, &set) || CPU_COUNT(&set) == 0)
            sensor->mask[i / 64] |= UINT64_C(1) << i % 64;
}

enum esp_status processor_sensor_create(const struct processor_options *options,
                                        struct processor_sensor **created, struct esp_error *error)
{
    static const uint64_t none[16];
    struct processor_sensor *sensor = calloc(1, sizeof *sensor);
    if (!sensor)
        return error_no_memory(error, "the sensor of the processor");
    snprintf(sensor->proc, sizeof sensor->proc, "%s", options->proc ? options->proc : "/proc");
    sensor->pid = options->pid ? options->pid : getpid();
    sensor->quota = options->quota;
    memcpy(sensor->mask, options->mask, sizeof sensor->mask);
    if (memcmp(sensor->mask, none, sizeof none) == 0)
        own_mask(sensor);
    if (!read_all(sensor, &sensor->last)) {
        error_set(error, ESP_SYSTEM, "%s/stat: expected counters of processors, found none", sensor->proc);
        free(sensor);
        return ESP_SYSTEM;
    }
    *created = sensor;
    return ESP_OK;
}

void processor_sensor_destroy(struct processor_sensor *sensor)
{
    free(sensor);
}

/* ---- a reading ---- */

static double within(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* A process that joins `own` processes of ours gets an equal part of what they all get: at least their
 * turn among the waiting processes, and all idle processors. */
static double share(double processors, double competing, double waiting, double own)
{
    double turn = processors * own / (waiting + own);
    return within(fmax(processors - competing, turn) / own, 0.01, 1);
}

static double quota_of(const struct processor_sensor *sensor)
{
    const double quota = sensor->quota ? sensor->quota() : HUGE_VAL;
    return quota > 0 ? quota : HUGE_VAL;
}

/* Returns received over expected processor time, with BELIEVED_S added to both. It describes competitors:
 * without any, nothing is corrected. */
static double correction(const struct processor_sensor *sensor)
{
    if (!(sensor->evidence_s > 0))
        return 1;
    const double believed_s = BELIEVED_S * sensor->expected_s / sensor->evidence_s;
    const double full = within((sensor->got_s + believed_s) / (sensor->expected_s + believed_s), 0.25, 4);
    return 1 + (full - 1) * within(sensor->competing / COMPETING, 0, 1);
}

/* Returns what competitors leave of a processor, limited by control groups. */
static double corrected(const struct processor_sensor *sensor, double passive, double quota)
{
    return within(fmin(passive * correction(sensor), quota), 0.01, 1);
}

bool processor_sensor_read(struct processor_sensor *sensor, struct processor_reading *reading)
{
    struct counters now;
    const struct counters last = sensor->last;
    if (!read_all(sensor, &now))
        return false;
    if (now.total < last.total || now.busy < last.busy || now.processors != last.processors) {
        sensor->last = now; /* a processor was added or removed */
        return false;
    }
    const double ticks = (double)(now.total - last.total) / now.processors;
    if (ticks < LEAST_TICKS)
        return false;
    sensor->last = now;
    /* The parent counts a child that has ended only after waiting for it. */
    reading->below_bytes = now.below_bytes;
    reading->own = now.own > last.own ? (double)(now.own - last.own) / ticks : 0;
    const double busy = (double)(now.busy - last.busy) / ticks;
    const double all = (double)(now.all_busy - last.all_busy) / ticks;
    reading->competing = within(busy - reading->own, 0, now.processors);
    /* A waiting process may wait for another processor: as many count as competitors are busy here. This
     * thread itself was running. */
    double waiting = (double)now.running - now.own_running - (now.own_running ? 0 : 1);
    if (all > 0)
        waiting *= within(busy / all, 0, 1);
    reading->waiting = fmax(waiting, 0);
    if (reading->competing < 0.05)
        reading->waiting = 0; /* it arrived just now */
    const double others = fmax(reading->waiting, ceil(reading->competing - 0.05));
    const double running = now.own_running;
    sensor->passive = share(now.processors, reading->competing, others, running + 1);
    sensor->competing = reading->competing;
    sensor->got_s *= FADE;
    sensor->expected_s *= FADE;
    sensor->evidence_s *= FADE;
    const double quota = quota_of(sensor);
    reading->alone_cpu = corrected(sensor, share(now.processors, reading->competing, others, 1), quota);
    reading->available_cpu = corrected(sensor, sensor->passive, quota / (running + 1));
    reading->current_cpu =
        corrected(sensor, share(now.processors, reading->competing, others, fmax(running, 1)),
                  quota / fmax(running, 1));
    return true;
}

void processor_sensor_learn(struct processor_sensor *sensor, double got, double seconds)
{
    if (!(got > 0) || got > 1.05 || !(seconds > 0) || !(sensor->passive > 0))
        return;
    const double evidence_s = fmin(seconds, MOST_S);
    sensor->got_s += evidence_s * fmin(got, 1);
    sensor->expected_s += evidence_s * sensor->passive;
    sensor->evidence_s += evidence_s;
}

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

double processor_active_test(int64_t duration_ns)
{
    const int64_t begun_ns = nanoseconds(CLOCK_MONOTONIC), cpu_ns = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    int64_t now_ns = begun_ns;
    while (now_ns - begun_ns < duration_ns)
        now_ns = nanoseconds(CLOCK_MONOTONIC);
    return (double)(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) / (double)(now_ns - begun_ns);
}
