/* SPDX-License-Identifier: Apache-2.0 */
#include "services/daemon_internal.h"
#include "services/environment.h"
#include "services/notify.h"
#include "util/clock.h"
#include "util/process_limits.h"
#include "util/random.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* As the `espalier` command has them: its manual page tells what they mean. */
enum { EXIT_FAILED = 1, EXIT_INPUT = 4 };

/* Where the process that was started waits for one byte, its exit code; -1: nobody waits. Not in the struct:
 * a failure must reach it also when there is no struct (any more). */
static int waiting = -1;

void daemon_tell_starter(int exit_code)
{
    unsigned char code = (unsigned char)exit_code;
    if (waiting < 0)
        return;
    while (write(waiting, &code, 1) < 0 && errno == EINTR)
        ;
    close(waiting);
    waiting = -1;
}

bool daemon_has_starter(void)
{
    return waiting >= 0;
}

int daemon_failed(const struct daemon_arguments *arguments, const struct esp_error *error)
{
    bool input = error->status == ESP_CONFIG || error->status == ESP_SYNTAX || error->status == ESP_NOT_FOUND;
    int exit_code = input ? EXIT_INPUT : EXIT_FAILED;
    fprintf(stderr, "%s: %s\n", arguments->program, error->text);
    if (log_is_file())
        log_error("stops: %s", error->text);
    daemon_tell_starter(exit_code);
    return exit_code;
}

/* ---- background ---- */

/* The process that was started: waits for the exit code, or for the end of the daemon. */
_Noreturn static void wait_for_daemon(int fd, pid_t daemon)
{
    unsigned char code;
    int status;
    ssize_t n;
    while ((n = read(fd, &code, 1)) < 0 && errno == EINTR)
        ;
    if (n == 1)
        _exit(code);
    /* It ended without a word: killed, or a crash. */
    while (waitpid(daemon, &status, 0) < 0 && errno == EINTR)
        ;
    _exit(1);
}

static enum esp_status go_to_background(struct esp_error *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_errno(error, "cannot make a pipe");
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        error_errno(error, "cannot go to the background");
        close(ends[0]);
        close(ends[1]);
        return ESP_SYSTEM;
    }
    if (child > 0) {
        close(ends[1]);
        wait_for_daemon(ends[0], child);
    }
    close(ends[0]);
    waiting = ends[1];
    setsid(); /* no terminal sends signals here any more */
    return ESP_OK;
}

enum esp_status daemon_open_log(const struct settings_node *settings, int level, struct esp_error *error)
{
    struct log_options options = {
        .node = settings->name, .path = settings->log_file, .level = (enum log_level)level};
    return log_open(&options, error);
}

/* Connections and segments are descriptors; shells hand out 1024 of them, which is one busy afternoon. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    const rlim_t enough = 65536; /* and not "infinity": programs we start may walk through them all */
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= enough)
        return;
    limit.rlim_cur = limit.rlim_max < enough ? limit.rlim_max : enough;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void log_limits(void)
{
    struct process_limits limits;
    char text[PROCESS_LIMITS_TEXT];
    process_limits_read(NULL, &limits);
    process_limits_text(&limits, text, sizeof text);
    log_notice("limits: %s", text);
}

static void clean_environment(const struct daemon_arguments *arguments)
{
    char names[400];
    if (environment_clean(arguments->drops_variable, names, sizeof names) > 0)
        log_notice("the environment's %s: dropped, as it would harm this daemon or what it starts", names);
}

enum esp_status daemon_start(const struct daemon_arguments *arguments, const struct settings_node *settings,
                             struct daemon **daemon, struct esp_error *error)
{
    *daemon = NULL;
    struct daemon *new = calloc(1, sizeof *new);
    if (!new)
        return error_no_memory(error, "a daemon");
    new->arguments = arguments;
    new->settings = settings;
    pthread_mutex_init(&new->lock, NULL);
    sigemptyset(&new->signals);
    sigaddset(&new->signals, SIGTERM);
    sigaddset(&new->signals, SIGINT);
    sigaddset(&new->signals, SIGHUP);
    sigaddset(&new->signals, SIGUSR2);
    enum esp_status status = daemon_open_log(settings, settings->log_level, error);
    if (status == ESP_OK && (status = settings_check_certificates(&settings->tls, error)) != ESP_OK)
        error_prefix(error, "%s", arguments->path);
    if (status == ESP_OK && !arguments->foreground)
        status = go_to_background(error);
    if (status == ESP_OK)
        status = daemon_lock(settings, error);
    if (status != ESP_OK) {
        pthread_mutex_destroy(&new->lock);
        free(new);
        return status;
    }
    clean_environment(arguments);
    daemon_note_begun(new);
    pthread_sigmask(SIG_BLOCK, &new->signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file beyond "ulimit -f" is an error of write(2), as on a full disk */
    raise_descriptor_limit();
    log_limits();
    /* Few arenas share what is free; see return_memory(). */
    mallopt(M_ARENA_MAX, 4);
    *daemon = new;
    return ESP_OK;
}

/* ---- memory ---- */

#define TRIM_S      2
#define TRIM_WORK_S 0.05

/* A moment in which many sessions are open leaves free memory behind in pieces. After some work it goes back
 * to the system. */
static void return_memory(double *worked_s)
{
    struct timespec worked;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &worked);
    double now_s = (double)worked.tv_sec + (double)worked.tv_nsec * 1e-9;
    if (now_s - *worked_s < TRIM_WORK_S)
        return;
    malloc_trim(0);
    *worked_s = now_s;
}

/* ---- waiting for the end ---- */

/* Its node still answers: a lock that nobody gives back would keep us here, and systemd would notice. */
static void show_life(struct daemon *daemon)
{
    char detail[DAEMON_HEALTH], lines[DAEMON_HEALTH + 40];
    daemon_node_health(daemon, detail, sizeof detail);
    snprintf(lines, sizeof lines, "WATCHDOG=1\nSTATUS=%s", detail);
    notify_systemd(lines);
}

static void end_wait(struct daemon *daemon, int number)
{
    daemon_again.wanted = number == SIGUSR2;
    log_notice("stopping on %s%s",
               number == SIGTERM  ? "SIGTERM"
               : number == SIGINT ? "SIGINT"
                                  : "SIGUSR2",
               daemon_again.wanted ? ", to start again" : "");
    if (daemon_again.wanted)
        notify_reloading(); /* systemd would see to it that what stops stays away */
    else
        notify_systemd("STOPPING=1");
    daemon_lock_ending(daemon->settings->name);
    daemon_look_away(daemon);
}

bool daemon_runs_again(void)
{
    return daemon_again.wanted;
}

/* What ends and cannot begin again serves nobody: what is wrong with its files is logged, and it goes on. */
static bool may_end(const struct daemon *daemon, int number)
{
    struct esp_error error;
    if (number != SIGUSR2 ||
        settings_check(daemon_kind(daemon->arguments), daemon->arguments->path, &error) == ESP_OK)
        return true;
    log_error("SIGUSR2: does not start again, and goes on as it was: %s", error.text);
    return false;
}

bool daemon_ends_on(struct daemon *daemon, int number)
{
    const bool ends = (number == SIGTERM || number == SIGINT || number == SIGUSR2) && may_end(daemon, number);
    if (ends)
        end_wait(daemon, number);
    return ends;
}

void daemon_wait(struct daemon *daemon, daemon_reloader *reload, void *arg)
{
    int64_t pause_ns = TRIM_S * NS_PER_S;
    double worked_s = 0;
    if (daemon->watchdog_ns > 0 && daemon->watchdog_ns < pause_ns)
        pause_ns = daemon->watchdog_ns;
    const struct timespec patience = {.tv_sec = pause_ns / NS_PER_S, .tv_nsec = pause_ns % NS_PER_S};
    for (;;) {
        int number = sigtimedwait(&daemon->signals, NULL, &patience);
        if (number < 0) {
            return_memory(&worked_s);
            daemon_notes_again(daemon);
            daemon_threads_look(daemon);
        }
        if (daemon->watchdog_ns > 0)
            show_life(daemon);
        if (daemon_ends_on(daemon, number))
            return;
        if (number == SIGHUP)
            daemon_read_again(daemon, reload, arg);
    }
}

void daemon_stop(struct daemon *daemon)
{
    if (!daemon)
        return;
    http_close(daemon->http);
    if (!daemon_again.wanted)
        daemon_notes_remove(daemon);
    if (daemon->was_ready) /* else it never ran: the log's last line is why */
        log_notice("stopped");
    log_close();
    daemon_unlock();
    daemon_forget_read(daemon);
    pthread_mutex_destroy(&daemon->lock);
    free(daemon);
}

uint64_t daemon_incarnation(void)
{
    uint64_t number = 0;
    if (random_bytes(&number, sizeof number, NULL) != ESP_OK || number == 0) {
        /* Not secret, only different from the last start. */
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        number = (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 40;
    }
    return number ? number : 1;
}
