/* SPDX-License-Identifier: Apache-2.0
 *
 * No batch system: each job is a session of processes on this machine, which starts at once and outlives the
 * server.
 *
 * The id of a job is "PID.START.LIMIT": the process id of the script, its start time in clock ticks since the
 * boot of the machine (field 22 of /proc/PID/stat), and its time limit in seconds, 0 for none. So a process
 * id that the system has given to another process is not taken for the job.
 */
#include "sed/batch/batch_system.h"

#include "sed/batch/batch_script.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct local {
    struct batch_system system;
    struct batch_settings settings;
};

struct local_id {
    pid_t pid;
    uint64_t start;
    int64_t limit_s;
};

static bool read_id(const char *text, struct local_id *id)
{
    int end = 0;
    return sscanf(text, "%d.%" SCNu64 ".%" SCNd64 "%n", &id->pid, &id->start, &id->limit_s, &end) == 3 &&
           text[end] == 0 && id->pid > 1;
}

/* False: there is no such process, or only a zombie. */
static bool find_process(pid_t pid, uint64_t *start)
{
    char path[64], text[1024], state;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    const size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[n] = 0;
    /* The name of the program stands in parentheses and may contain some. */
    const char *behind = strrchr(text, ')');
    return behind &&
           sscanf(behind,
                  ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
                  &state, start) == 2 &&
           state != 'Z' && state != 'X';
}

static bool is_running(const struct local_id *id)
{
    uint64_t start;
    return find_process(id->pid, &start) && start == id->start;
}

/* ---- submit ---- */

/* The script leaves the session of the server, so that the job outlives the server. The shell reads no text
 * but this one: the folder is an argument. */
static const char starter[] =
    "cd \"$1\" || exit 1\n"
    "setsid sh ./" BATCH_FILE_SCRIPT " >" BATCH_FILE_OUTPUT " 2>" BATCH_FILE_ERRORS " </dev/null & echo $!";

static enum esp_status start_script(struct local *local, const struct batch_order *order, pid_t *pid,
                                    struct esp_error *error)
{
    const struct batch_settings *settings = &local->settings;
    const char *const words[] = {"sh", "-c", starter, "espalier-batch", order->folder, NULL};
    const struct batch_command command = {
        .words = words, .user = settings->user, .deadline_ms = settings->deadline_ms};
    struct batch_command_result result = {0};
    enum esp_status status = settings->runner->run(settings->runner, &command, &result, error);
    if (status == ESP_OK && (result.exit_code != 0 || sscanf(result.output, "%d", pid) != 1))
        status = error_set(error, ESP_REFUSED, "cannot start the script in %s: %.300s", order->folder,
                           result.errors);
    batch_command_clear(&result);
    return status;
}

static enum esp_status submit(struct batch_system *system, const struct batch_order *order, char *id,
                              struct esp_error *error)
{
    struct local *local = (struct local *)system;
    struct local_id job = {.limit_s = order->time_s > 0 ? order->time_s : local->settings.time_s};
    const enum esp_status status = start_script(local, order, &job.pid, error);
    if (status != ESP_OK)
        return status;
    find_process(job.pid, &job.start); /* a script that has ended already has start time 0 */
    snprintf(id, BATCH_ID_BYTES, "%d.%" PRIu64 ".%" PRId64, (int)job.pid, job.start, job.limit_s);
    return ESP_OK;
}

/* ---- query ---- */

static double running_s(const struct local_id *id)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - (double)id->start / (double)sysconf(_SC_CLK_TCK);
}

/* The script leads a session and a process group of its own. */
static void kill_job(const struct local_id *id)
{
    kill(-id->pid, SIGKILL);
}

static void look(const struct local_id *id, struct batch_sighting *sighting)
{
    const char *said = "ended";
    sighting->hint = BATCH_HINT_ENDED;
    if (is_running(id) && id->limit_s > 0 && running_s(id) > (double)id->limit_s) {
        kill_job(id);
        sighting->hint = BATCH_HINT_TIME_LIMIT;
        said = "killed at its time limit";
    } else if (is_running(id)) {
        sighting->hint = BATCH_HINT_RUNNING;
        said = "running";
    }
    snprintf(sighting->said, sizeof sighting->said, "%s", said);
}

static enum esp_status query(struct batch_system *system, const char *const *ids, size_t n,
                             struct batch_sighting **sightings, size_t *n_sightings, struct esp_error *error)
{
    (void)system;
    *n_sightings = 0;
    *sightings = calloc(n ? n : 1, sizeof **sightings);
    if (!*sightings)
        return error_no_memory(error, "the jobs of a batch system");
    for (size_t i = 0; i < n; i++) {
        struct local_id id;
        struct batch_sighting *sighting = &(*sightings)[*n_sightings];
        if (!read_id(ids[i], &id))
            continue;
        snprintf(sighting->id, sizeof sighting->id, "%s", ids[i]);
        look(&id, sighting);
        ++*n_sightings;
    }
    return ESP_OK;
}

/* ---- cancel, attach, describe ---- */

static enum esp_status cancel(struct batch_system *system, const char *text, struct esp_error *error)
{
    struct local_id id;
    (void)system;
    if (!read_id(text, &id))
        return error_set(error, ESP_INVALID, "expected the id of a local job, found \"%.60s\"", text);
    if (is_running(&id))
        kill_job(&id);
    return ESP_OK;
}

static bool read_owner(const char *folder, pid_t *pid)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" BATCH_FILE_OWNER, folder);
    FILE *file = fopen(path, "re");
    const bool found = file && fscanf(file, "%d", pid) == 1 && *pid > 1;
    if (file)
        fclose(file);
    return found;
}

/* The owner's process id may be another process's by now: only the script has its folder as the current one.
 */
static bool is_in_folder(pid_t pid, const char *folder)
{
    char path[64], at[PATH_MAX], real[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    const ssize_t n = readlink(path, at, sizeof at - 1);
    if (n < 0 || !realpath(folder, real))
        return false;
    at[n] = 0;
    return strcmp(at, real) == 0;
}

static enum esp_status attach(struct batch_system *system, const struct batch_order *order, char *id,
                              struct esp_error *error)
{
    struct local *local = (struct local *)system;
    struct local_id job = {.limit_s = order->time_s > 0 ? order->time_s : local->settings.time_s};
    if (!read_owner(order->folder, &job.pid))
        return error_set(error, ESP_NOT_FOUND, "no script has started in %s", order->folder);
    if (is_in_folder(job.pid, order->folder))
        find_process(job.pid, &job.start);
    snprintf(id, BATCH_ID_BYTES, "%d.%" PRIu64 ".%" PRId64, (int)job.pid, job.start, job.limit_s);
    return ESP_OK;
}

static enum esp_status describe(struct batch_system *system, char *text, size_t size, struct esp_error *error)
{
    (void)system;
    (void)error;
    snprintf(text, size, "no batch system: jobs start at once on this machine");
    return ESP_OK;
}

/* ---- the system itself ---- */

static void destroy(struct batch_system *system)
{
    free(system);
}

static const struct batch_system_ops local_ops = {
    .name = "local",
    .text = "no batch system: jobs start at once on this machine",
    .id_in_script = "$$",
    .submit = submit,
    .query = query,
    .cancel = cancel,
    .attach = attach,
    .describe = describe,
    .destroy = destroy,
};

static enum esp_status check(const struct batch_settings *settings, struct esp_error *error)
{
    const char *key = settings->partition                         ? "batch_partition"
                      : settings->account                         ? "batch_account"
                      : settings->qos                             ? "batch_qos"
                      : settings->gres                            ? "batch_gres"
                      : settings->options && settings->options[0] ? "batch_options"
                                                                  : NULL;
    if (!key)
        return ESP_OK;
    return error_set(error, ESP_CONFIG, "%s: expected a batch system that knows it, found batch = \"local\"",
                     key);
}

enum esp_status local_open(const struct batch_settings *settings, struct batch_system **system,
                           struct esp_error *error)
{
    if (check(settings, error) != ESP_OK)
        return ESP_CONFIG;
    struct local *local = calloc(1, sizeof *local);
    if (!local)
        return error_no_memory(error, "a batch system");
    local->system.ops = &local_ops;
    local->settings = *settings;
    if (local->settings.deadline_ms <= 0)
        local->settings.deadline_ms = BATCH_DEADLINE_MS;
    if (!local->settings.runner)
        local->settings.runner = &batch_runner_processes;
    *system = &local->system;
    return ESP_OK;
}
