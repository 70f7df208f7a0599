/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/calibrate/idle_calibration.h"

#include "core/forecast/cost_model.h"
#include "sed/pool/program.h"
#include "util/clock.h"
#include "util/log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS (NS_PER_S / 2) /* interval of checks of the server and the process */
/* New models are read while others are measured, but not after every one. */
#define FRESH_NS (60 * NS_PER_S)

extern char **environ;

struct idle_calibration {
    struct idle_calibration_options options;
    char *program;
    char config[4096], output[4096], folder[4096];
    pthread_t thread;
    pthread_mutex_t lock; /* guards the following members; taken under the server's */
    pthread_cond_t wake;
    pid_t pid; /* 0: none runs. Reaped only with the lock, so that a kill never hits another process */
    bool killed, complete, stop;
    /* Of the thread alone: */
    struct timespec models_ns; /* when the folder was last changed, as far as reported */
    int64_t told_ns;
    bool told_crowded; /* waiting was logged since a process was last started */
};

/* ---- the process ---- */

/* Work has arrived. Under the server's lock. */
static void on_work(void *arg)
{
    struct idle_calibration *calibration = arg;
    pthread_mutex_lock(&calibration->lock);
    if (calibration->pid && !calibration->killed) {
        calibration->killed = true;
        kill(calibration->pid, SIGKILL); /* its workers end with it */
    }
    pthread_mutex_unlock(&calibration->lock);
}

static int spawn(const struct idle_calibration *calibration, char *const *words, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, calibration->output, O_WRONLY | O_CREAT | O_TRUNC, 0640);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    const int why = posix_spawn(pid, words[0], &files, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return why;
}

/* Call it with the lock. */
static void begin(struct idle_calibration *calibration)
{
    char budget[32], longest[32];
    const struct settings_sed *settings = calibration->options.settings;
    snprintf(budget, sizeof budget, "%" PRId64 "ms", settings->calibrate_budget_ns / NS_PER_MS);
    snprintf(longest, sizeof longest, "%" PRId64 "ms", settings->calibrate_longest_ns / NS_PER_MS);
    const char *const words[] = {
        calibration->program, "--config", calibration->config, "--all", "--background",
        "--budget",           budget,     "--longest",         longest, (char *)NULL};
    const int why = spawn(calibration, (char **)(uintptr_t)words, &calibration->pid);
    if (why == 0) {
        log_notice("idle: problems without a model are being measured; %s tells how", calibration->output);
        return;
    }
    calibration->pid = 0;
    calibration->complete = true;
    log_warning("nothing is calibrated: %s cannot be started: %s", calibration->program, strerror(why));
}

/* Call it with the lock. False: it still runs. */
static bool has_ended(struct idle_calibration *calibration)
{
    int status = 0;
    if (waitpid(calibration->pid, &status, WNOHANG) == 0)
        return false;
    calibration->pid = 0;
    if (calibration->killed)
        log_notice("calibration stops, there is work; it goes on when the server is idle again");
    else if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
        log_notice("calibration is complete; %s tells what has no model", calibration->output);
    else
        log_warning("calibration has failed (wait status %d): see %s", status, calibration->output);
    calibration->complete = !calibration->killed;
    calibration->killed = false;
    return true;
}

/* ---- the thread ---- */

static void tell_models(struct idle_calibration *calibration, bool now)
{
    struct stat stat_;
    const int64_t now_ns = clock_now_ns(&clock_system);
    if (stat(calibration->folder, &stat_) != 0)
        return;
    const struct timespec *changed = &stat_.st_mtim, *told = &calibration->models_ns;
    if ((changed->tv_sec == told->tv_sec && changed->tv_nsec == told->tv_nsec) ||
        (!now && now_ns - calibration->told_ns < FRESH_NS))
        return;
    calibration->models_ns = *changed;
    calibration->told_ns = now_ns;
    calibration->options.fresh(calibration->options.arg);
}

/* Logs why there is no model, for users who wait for one. */
static void tell_crowded(struct idle_calibration *calibration)
{
    double left;
    if (calibration->told_crowded ||
        !server_is_crowded(calibration->options.server, calibration->options.settings->calibrate_after_ns,
                           &left))
        return;
    calibration->told_crowded = true;
    log_notice("idle, but other programs leave %.0f %% of a processor: problems without a model are measured "
               "when it is %.0f %%, or so much of what quotas allow (calibrate = yes)",
               100 * left, 100 * SERVER_QUIET);
}

static void look(struct idle_calibration *calibration)
{
    struct server *server = calibration->options.server;
    const bool idle = server_is_idle(server, calibration->options.settings->calibrate_after_ns);
    bool ended = false;
    pthread_mutex_lock(&calibration->lock);
    if (calibration->pid)
        ended = has_ended(calibration);
    else if (idle && !calibration->complete)
        begin(calibration);
    const bool runs = calibration->pid != 0, waits = !runs && !calibration->complete;
    pthread_mutex_unlock(&calibration->lock);
    if (runs)
        calibration->told_crowded = false;
    else if (waits && !idle)
        tell_crowded(calibration);
    server_set_beside(server, runs);
    if (runs && !server_is_idle(server, 0)) /* work that arrived while the process was being started */
        on_work(calibration);
    if (ended || runs)
        tell_models(calibration, ended);
}

static void *run(void *self)
{
    struct idle_calibration *calibration = self;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    pthread_mutex_lock(&calibration->lock);
    while (!calibration->stop) {
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / NS_PER_S;
        until.tv_nsec %= NS_PER_S;
        if (pthread_cond_timedwait(&calibration->wake, &calibration->lock, &until) == 0)
            continue;
        pthread_mutex_unlock(&calibration->lock);
        look(calibration);
        clock_gettime(CLOCK_MONOTONIC, &until);
        pthread_mutex_lock(&calibration->lock);
    }
    pthread_mutex_unlock(&calibration->lock);
    return NULL;
}

/* ---- creation and end ---- */

static enum esp_status start(struct idle_calibration *calibration, struct esp_error *error)
{
    sigset_t all, before;
    sigfillset(&all); /* signals are for the main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&calibration->thread, NULL, run, calibration);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0)
        return error_set(error, ESP_SYSTEM, "no thread for calibration (error %d)", code);
    server_watch_work(calibration->options.server, on_work, calibration);
    return ESP_OK;
}

/* The server's settings say what to measure, and with how many threads. */
static enum esp_status prepare(struct idle_calibration *calibration, struct esp_error *error)
{
    const struct settings_sed *settings = calibration->options.settings;
    const char *state_dir = settings->node.state_dir;
    if (!state_dir)
        return error_set(error, ESP_CONFIG, "state_dir is missing: models are kept there");
    mkdir(state_dir, 0700); /* errors are reported when a file is written */
    snprintf(calibration->config, sizeof calibration->config, "%s/calibrate.conf", state_dir);
    snprintf(calibration->output, sizeof calibration->output, "%s/calibrate.log", state_dir);
    cost_folder(state_dir, calibration->folder, sizeof calibration->folder);
    calibration->program = program_find("sed/espalier-calibrate");
    if (!calibration->program)
        return error_no_memory(error, "calibration");
    return settings_save(SETTINGS_SED, settings,
                         "What the server's own calibration reads: the server writes it.",
                         calibration->config, error);
}

enum esp_status idle_calibration_create(const struct idle_calibration_options *options,
                                        struct idle_calibration **created, struct esp_error *error)
{
    pthread_condattr_t attributes;
    struct idle_calibration *calibration = calloc(1, sizeof *calibration);
    if (!calibration)
        return error_no_memory(error, "calibration");
    calibration->options = *options;
    pthread_mutex_init(&calibration->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&calibration->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    enum esp_status status = prepare(calibration, error);
    if (status == ESP_OK)
        status = start(calibration, error);
    if (status == ESP_OK) {
        *created = calibration;
        return ESP_OK;
    }
    free(calibration->program);
    free(calibration);
    return status;
}

void idle_calibration_renew(struct idle_calibration *calibration)
{
    if (!calibration)
        return;
    pthread_mutex_lock(&calibration->lock);
    calibration->complete = false;
    pthread_mutex_unlock(&calibration->lock);
}

void idle_calibration_destroy(struct idle_calibration *calibration)
{
    if (!calibration)
        return;
    server_watch_work(calibration->options.server, NULL, NULL);
    pthread_mutex_lock(&calibration->lock);
    calibration->stop = true;
    pthread_cond_signal(&calibration->wake);
    pthread_mutex_unlock(&calibration->lock);
    pthread_join(calibration->thread, NULL);
    if (calibration->pid) {
        kill(calibration->pid, SIGKILL);
        waitpid(calibration->pid, NULL, 0);
    }
    pthread_cond_destroy(&calibration->wake);
    pthread_mutex_destroy(&calibration->lock);
    free(calibration->program);
    free(calibration);
}
