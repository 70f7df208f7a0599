/* SPDX-License-Identifier: Apache-2.0
 *
 * The process of a daemon. It writes its addresses into files. If the disk is full it still serves,
 * reports the missing files in its log and in /health, and tries again. */
#include "services/daemon.h"
#include "config.h"
#include "services/daemon_internal.h"
#include "services/environment.h"
#include "services/notify.h"
#include "services/process_metrics.h"
#include "util/bytes.h"
#include "util/clock.h"
#include "util/process_limits.h"
#include "util/random.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static enum esp_status daemon_open_log(const struct settings_node *settings, int level,
                                       struct esp_error *error);
static void daemon_look_away(struct daemon *daemon);
static bool daemon_node_health(struct daemon *daemon, char *text, size_t size);

/* Suffix of the file with the address of the HTTP port, beside the file with the daemon's own. */
#define HTTP_SUFFIX ".http"

static void path_of(const struct settings_node *settings, enum daemon_note what, char *path, size_t size)
{
    const char *folder = settings->state_dir, *file = settings->address_file;
    *path = '\0';
    if (what == DAEMON_NOTE_FORMER && folder)
        snprintf(path, size, "%s/" SETTINGS_FORMER_ADDRESS, folder);
    else if (what != DAEMON_NOTE_FORMER && file)
        snprintf(path, size, "%s%s", file, what == DAEMON_NOTE_HTTP ? HTTP_SUFFIX : "");
}

static bool says_so(const char *path, const char *text)
{
    char line[NOTED_TEXT + 2] = "";
    const size_t length = strlen(text);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    const bool same = fgets(line, sizeof line, file) && strncmp(line, text, length) == 0 &&
                      strcmp(line + length, "\n") == 0;
    fclose(file);
    return same;
}

/* Replaces the file atomically. Returns 0, or errno. */
static int replace(const char *path, const char *temporary, const char *text)
{
    FILE *file = fopen(temporary, "we");
    if (!file)
        return errno;
    errno = 0;
    const bool good = fprintf(file, "%s\n", text) > 0;
    int why = good ? 0 : errno ? errno : EIO;
    if (fclose(file) != 0 && why == 0)
        why = errno;
    if (why == 0 && rename(temporary, path) == 0)
        return 0;
    why = why ? why : errno;
    unlink(temporary);
    return why;
}

static bool is_full(int why)
{
    return why == ENOSPC || why == EDQUOT;
}

/* Writes the file. Returns 0, or errno. On failure removes the old one: the address of an earlier process
 * is wrong, and its space may be needed. */
static int write_down(const char *path, const char *text)
{
    char temporary[PATH_MAX];
    if (says_so(path, text))
        return 0;
    if (snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid()) >= (int)sizeof temporary)
        return ENAMETOOLONG;
    const int why = replace(path, temporary, text);
    return is_full(why) && unlink(path) == 0 ? replace(path, temporary, text) : why;
}

static const char *thing(enum daemon_note what)
{
    return what == DAEMON_NOTE_FORMER ? "its address for the next start in" : "the address file";
}

enum esp_status daemon_note(struct daemon *daemon, enum daemon_note what, const char *text,
                            struct esp_error *error)
{
    struct noted *note = &daemon->notes[what];
    snprintf(note->text, sizeof note->text, "%s", text);
    path_of(daemon->settings, what, note->path, sizeof note->path);
    if (!*note->path)
        return ESP_OK;
    if (what == DAEMON_NOTE_FORMER)
        mkdir(daemon->settings->state_dir, 0700);
    const int why = write_down(note->path, note->text);
    if (why != 0 && !is_full(why) && what != DAEMON_NOTE_FORMER) {
        errno = why;
        return error_errno(error, "cannot write %s \"%s\"", thing(what), note->path);
    }
    pthread_mutex_lock(&daemon->lock);
    note->why = why;
    pthread_mutex_unlock(&daemon->lock);
    if (why != 0)
        log_warning("cannot write %s \"%s\": %s; it serves all the same, and tries again", thing(what),
                    note->path, strerror(why));
    return ESP_OK;
}

/* Writes the files that could not be written, or vanished with the state_dir. */
static void daemon_notes_again(struct daemon *daemon)
{
    struct noted *former = &daemon->notes[DAEMON_NOTE_FORMER];
    if (daemon_state_dir_look(daemon) && *former->path) {
        pthread_mutex_lock(&daemon->lock);
        former->why = ENOENT;
        pthread_mutex_unlock(&daemon->lock);
    }
    for (size_t i = 0; i < DAEMON_NOTES; i++) {
        struct noted *note = &daemon->notes[i];
        if (note->why == 0 || write_down(note->path, note->text) != 0)
            continue;
        pthread_mutex_lock(&daemon->lock);
        note->why = 0;
        pthread_mutex_unlock(&daemon->lock);
        log_notice("%s \"%s\" is written now", thing((enum daemon_note)i), note->path);
    }
}

/* Appends which files are not written yet; with the daemon's lock. */
static void daemon_notes_tell(const struct daemon *daemon, char *text, size_t size)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < DAEMON_NOTES && length < size; i++)
        if (daemon->notes[i].why != 0)
            length += (size_t)snprintf(text + length, size - length, "; cannot write %s \"%s\": %s",
                                       thing((enum daemon_note)i), daemon->notes[i].path,
                                       strerror(daemon->notes[i].why));
}

/* Removes the files by which clients find the daemon. */
static void daemon_notes_remove(const struct daemon *daemon)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < DAEMON_NOTES; i++) {
        path_of(daemon->settings, (enum daemon_note)i, path, sizeof path);
        if (i != DAEMON_NOTE_FORMER && *path)
            unlink(path);
    }
}

/* Whether a daemon's disks have room: a full disk loses log lines, results of jobs and data unnoticed, so
 * /health reports it. */

/* A disk with less free space than both of these counts as full. */
#define LEAST_BYTES (1024.0 * 1024.0)
#define LEAST_SHARE 0.01

/* Appends to the text when the folder's disk is full. If its free space cannot be read, it does not count
 * as full. */
static bool tell_full(const char *key, const char *folder, char *text, size_t size)
{
    struct statvfs disk;
    char amount[BYTES_TEXT];
    const size_t n = strlen(text);
    if (statvfs(folder, &disk) != 0 || disk.f_blocks == 0)
        return false;
    const double left = (double)disk.f_bavail * (double)disk.f_frsize,
                 all = (double)disk.f_blocks * (double)disk.f_frsize;
    const bool has_files = disk.f_files == 0 || disk.f_favail > 0;
    if ((left >= LEAST_BYTES || left >= LEAST_SHARE * all) && has_files)
        return false;
    if (has_files)
        snprintf(text + n, size - n, "; the disk of %s (%s) is full: %s are left", key, folder,
                 bytes_text((uint64_t)left, amount));
    else
        snprintf(text + n, size - n, "; the disk of %s (%s) is full: it can have no more files", key, folder);
    return true;
}

static bool tell_log(const char *file, char *text, size_t size)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(file, '/');
    const int length = slash ? (int)(slash - file) : 0;
    snprintf(folder, sizeof folder, "%.*s/", length, slash ? file : ".");
    return tell_full("log_file", slash ? folder : ".", text, size);
}

/* Appends which of the daemon's folders (state_dir, that of its log) are on a full disk. Returns whether
 * any is. Takes no lock. */
static bool daemon_disks_tell(const struct settings_node *settings, char *text, size_t size)
{
    bool full = settings->state_dir && tell_full("state_dir", settings->state_dir, text, size);
    if (settings->log_file)
        full |= tell_log(settings->log_file, text, size);
    return full;
}

/* The log says once that a disk is full, and when it no longer is. */
static void daemon_disks_look(struct daemon *daemon)
{
    char text[DAEMON_HEALTH] = "";
    const bool full = daemon_disks_tell(daemon->settings, text, sizeof text);
    if (full && !daemon->full)
        log_warning("%s", text + strlen("; "));
    else if (!full && daemon->full)
        log_notice("the disks of state_dir and log_file are no longer full");
    daemon->full = full;
}

/* Reads the daemon's file again: some keys apply at once, others after a restart. */

#define PENDING_TEXT 600

/* Returns the kind of file that the program reads: "espalier-sed" reads one of kind "sed". */
static enum settings_kind daemon_kind(const struct daemon_arguments *arguments)
{
    const char *dash = strrchr(arguments->program, '-'), *word = dash ? dash + 1 : arguments->program;
    if (strcmp(word, settings_kind_name(SETTINGS_SED)) == 0)
        return SETTINGS_SED;
    return strcmp(word, settings_kind_name(SETTINGS_AGENT)) == 0 ? SETTINGS_AGENT : SETTINGS_REDIRECTOR;
}

static const struct settings_node *node_of(enum settings_kind kind, const union settings_any *settings)
{
    return kind == SETTINGS_SED     ? &settings->sed.node
           : kind == SETTINGS_AGENT ? &settings->agent.node
                                    : &settings->redirector.node;
}

static void release(union settings_any *settings)
{
    if (settings)
        settings_destroy(&settings->arena);
    free(settings);
}

/* Reads the file; NULL with the error. */
static union settings_any *read_file(const struct daemon *daemon, struct esp_error *error)
{
    union settings_any *settings = calloc(1, sizeof *settings);
    if (!settings)
        error_no_memory(error, "the settings");
    else if (settings_load(daemon_kind(daemon->arguments), daemon->arguments->path, settings, error) ==
             ESP_OK)
        return settings;
    free(settings);
    return NULL;
}

/* Keeps the settings as they are in the file, because the daemon may have completed its own copy from
 * other sources. */
static void daemon_note_begun(struct daemon *daemon)
{
    struct esp_error unread;
    daemon->begun = read_file(daemon, &unread);
}

static void daemon_forget_read(struct daemon *daemon)
{
    release(daemon->begun);
    release(daemon->now);
}

/* Reads the file and logs errors; the daemon then continues with the old settings. */
static void daemon_read_again(struct daemon *daemon, daemon_reloader *reload, void *arg)
{
    const enum settings_kind kind = daemon_kind(daemon->arguments);
    struct esp_error error = {0}, log = {0};
    char pending[PENDING_TEXT] = "";
    notify_reloading();
    union settings_any *now = read_file(daemon, &error);
    if (!now)
        log_error("the configuration is not read again: %s", error.text);
    else if (daemon->begun)
        config_differences(settings_schema(kind), daemon->begun, now, pending, sizeof pending);
    if ((now ? daemon_open_log(daemon->settings, node_of(kind, now)->log_level, &log) : log_reopen(&log)) !=
        ESP_OK)
        log_error("%s", log.text);
    if (now)
        log_notice("configuration read again%s%s", *pending ? "; what counts at the next start only: " : "",
                   pending);
    const struct daemon_reload read = {now ? ESP_OK : error.status, &error, now, pending};
    const bool taken = reload && reload(arg, &read);
    release(taken ? daemon->now : now);
    if (taken)
        daemon->now = now;
    notify_systemd("READY=1");
}

/* Exit codes of the `espalier` command, whose manual page explains them. */
enum { EXIT_FAILED = 1, EXIT_INPUT = 4 };

/* Pipe to the started process, which waits for its exit code in one byte; -1: no process waits. Not in the
 * struct, because a failure must reach it even when there is no struct. */
static int waiting = -1;

/* Sends the exit code to the started process, if it waits. */
static void daemon_tell_starter(int exit_code)
{
    unsigned char code = (unsigned char)exit_code;
    if (waiting < 0)
        return;
    while (write(waiting, &code, 1) < 0 && errno == EINTR)
        ;
    close(waiting);
    waiting = -1;
}

static bool daemon_has_starter(void)
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

/* Runs in the started process: waits for the exit code, or for the end of the daemon. */
static _Noreturn void wait_for_daemon(int fd, pid_t daemon)
{
    unsigned char code;
    int status;
    ssize_t n;
    while ((n = read(fd, &code, 1)) < 0 && errno == EINTR)
        ;
    if (n == 1)
        _exit(code);
    /* The daemon ended without sending a code: killed, or crashed. */
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
    setsid(); /* no terminal sends signals to the daemon any more */
    return ESP_OK;
}

static enum esp_status daemon_open_log(const struct settings_node *settings, int level,
                                       struct esp_error *error)
{
    struct log_options options = {
        .node = settings->name, .path = settings->log_file, .level = (enum log_level)level};
    return log_open(&options, error);
}

/* Connections and segments are descriptors; the usual limit of 1024 is too low. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    const rlim_t enough =
        65536; /* not "infinity": programs started by the daemon may loop over all descriptors */
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
    signal(SIGXFSZ, SIG_IGN); /* a file beyond "ulimit -f" is then an error of write(2), like a full disk */
    raise_descriptor_limit();
    log_limits();
    /* With few arenas, freed memory is reused; see return_memory(). */
    mallopt(M_ARENA_MAX, 4);
    *daemon = new;
    return ESP_OK;
}

/* ---- memory ---- */

#define TRIM_S      2
#define TRIM_WORK_S 0.05

/* A peak of open sessions leaves fragmented free memory. After some work it is returned to the system. */
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

/* Checks that the node still answers: if its lock is never released, this blocks, and systemd's watchdog
 * notices. */
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
        notify_reloading(); /* systemd restarts a daemon that stops without a request */
    else
        notify_systemd("STOPPING=1");
    daemon_lock_ending(daemon->settings->name);
    daemon_look_away(daemon);
}

bool daemon_runs_again(void)
{
    return daemon_again.wanted;
}

/* Whether the daemon may end for a restart: if its files would not let it start again, the errors are
 * logged and it continues. */
static bool may_end(const struct daemon *daemon, int number)
{
    struct esp_error error;
    if (number != SIGUSR2 ||
        settings_check(daemon_kind(daemon->arguments), daemon->arguments->path, &error) == ESP_OK)
        return true;
    log_error("SIGUSR2: does not start again, and goes on as it was: %s", error.text);
    return false;
}

/* Handles a signal that ends the daemon; logs it, or why the daemon continues. The HTTP port does not use
 * the node then. */
static bool daemon_ends_on(struct daemon *daemon, int number)
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
            daemon_disks_look(daemon);
        }
        if (daemon->watchdog_ns > 0)
            show_life(daemon);
        if (daemon_ends_on(daemon, number))
            return;
        if (number == SIGHUP) {
            daemon_notes_again(daemon);
            daemon_read_again(daemon, reload, arg);
        }
    }
}

void daemon_stop(struct daemon *daemon)
{
    if (!daemon)
        return;
    http_close(daemon->http);
    if (!daemon_again.wanted)
        daemon_notes_remove(daemon);
    if (daemon->was_ready) /* otherwise it never ran, and the log's last line says why */
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
        /* Need not be secret, only different from the last start. */
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        number = (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 40;
    }
    return number ? number : 1;
}

/* A daemon whose node exists: the HTTP port, and the report that it is ready. */

/* Closes the HTTP port's access to the node, which is about to be freed.
 * ---- health and metrics ---- */
static void daemon_look_away(struct daemon *daemon)
{
    pthread_mutex_lock(&daemon->lock);
    daemon->node = (struct daemon_node){0};
    pthread_mutex_unlock(&daemon->lock);
}

static bool daemon_node_health(struct daemon *daemon, char *text, size_t size)
{
    bool good = false;
    snprintf(text, size, "stopping");
    pthread_mutex_lock(&daemon->lock);
    if (daemon->node.health)
        good = daemon->node.health(daemon->node.self, text, size);
    daemon_notes_tell(daemon, text, size);
    good &= !daemon_threads_tell(daemon, text, size);
    good &= !daemon_state_dir_tell(daemon, text, size);
    pthread_mutex_unlock(&daemon->lock);
    return !daemon_disks_tell(daemon->settings, text, size) && good;
}

static bool daemon_health_page(void *self, char *text, size_t size)
{
    struct daemon *daemon = self;
    char detail[DAEMON_HEALTH], limits[PROCESS_LIMITS_TEXT];
    bool good = daemon_node_health(daemon, detail, sizeof detail);
    struct process_limits now;
    process_limits_read(NULL, &now);
    process_limits_text(&now, limits, sizeof limits);
    snprintf(text, size, "%s %s: %s\nlimits: %s", good ? "ok" : "not ok", daemon->settings->name, detail,
             limits);
    return good;
}

static void daemon_metrics_page(void *self, struct metrics *metrics)
{
    struct daemon *daemon = self;
    char detail[DAEMON_HEALTH];
    metrics_family(metrics, "espalier_node_info", METRIC_GAUGE, "Which node this is; always 1.");
    metrics_sample(metrics, 1, "node", daemon->settings->name, "program", daemon->arguments->program,
                   "version", PACKAGE_VERSION, (const char *)NULL);
    metrics_gauge(metrics, "espalier_healthy", daemon_node_health(daemon, detail, sizeof detail),
                  "1 while /health says ok.");
    process_metrics(metrics);
    pthread_mutex_lock(&daemon->lock);
    if (daemon->node.metrics)
        daemon->node.metrics(daemon->node.self, metrics);
    pthread_mutex_unlock(&daemon->lock);
}

/* ---- ready ---- */

/* A daemon in the background keeps no terminal and no pipe of its caller, except standard error when that
 * is its log. */
static void let_go_of_streams(const struct settings_node *settings)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (settings->log_file)
        dup2(null, STDERR_FILENO);
    close(null);
}

/* Lets the started process exit, and closes the caller's streams. */
static void daemon_let_go(struct daemon *daemon)
{
    if (!daemon->arguments->foreground)
        let_go_of_streams(daemon->settings);
    daemon_tell_starter(0);
}

enum esp_status daemon_watch(struct daemon *daemon, const struct daemon_node *node, struct esp_error *error)
{
    pthread_mutex_lock(&daemon->lock);
    daemon->node = *node;
    pthread_mutex_unlock(&daemon->lock);
    if (!daemon->settings->http)
        return ESP_OK;
    const struct http_pages pages = {daemon, daemon_health_page, daemon_metrics_page};
    enum esp_status status = http_open(daemon->settings->http, &pages, &daemon->http, error);
    if (status == ESP_OK)
        status = daemon_note(daemon, DAEMON_NOTE_HTTP, http_address(daemon->http), error);
    if (status == ESP_OK)
        log_notice("health and metrics at http://%s", http_address(daemon->http));
    else
        daemon_look_away(daemon);
    return status;
}

/* How long a start waits for a parent: nodes may be started in any order. */
#define SETTLE_MS      3000
#define SETTLE_STEP_MS 5

static bool is_to_stop(void)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT) || sigismember(&pending, SIGUSR2);
}

/* Waits until the parents know the node: a user who starts a server and then a client must not get
 * "unknown problem". */
static void wait_for_those_above(struct daemon *daemon)
{
    const struct daemon_node *node = &daemon->node;
    const struct timespec step = {.tv_nsec = SETTLE_STEP_MS * NS_PER_MS};
    const int64_t until_ns = clock_now_ns(&clock_system) + SETTLE_MS * NS_PER_MS;
    char why[512] = "";
    while (node->settled && !node->settled(node->self, why, sizeof why)) {
        if (is_to_stop())
            return;
        if (clock_now_ns(&clock_system) >= until_ns) {
            log_warning("ready, but %s; it goes on trying", why);
            if (log_is_file() && daemon_has_starter())
                fprintf(stderr, "%s: ready, but %s; it goes on trying\n", daemon->arguments->program, why);
            return;
        }
        nanosleep(&step, NULL);
    }
}

enum esp_status daemon_ready(struct daemon *daemon, const char *address, struct esp_error *error)
{
    enum esp_status status = daemon_note(daemon, DAEMON_NOTE_ADDRESS, address, error);
    if (status == ESP_OK)
        status = daemon_note(daemon, DAEMON_NOTE_FORMER, address, error);
    if (status != ESP_OK) {
        daemon_look_away(daemon);
        return status;
    }
    daemon->was_ready = true;
    snprintf(daemon_again.listen, sizeof daemon_again.listen, "%s", address);
    if (daemon->http)
        snprintf(daemon_again.http, sizeof daemon_again.http, "%s", http_address(daemon->http));
    log_notice("ready address=%s pid=%ld", address, (long)getpid());
    char why[SETTINGS_WHY];
    if (settings_is_shut_in(daemon->settings, why)) {
        log_warning("%s", why);
        if (log_is_file() && daemon_has_starter())
            fprintf(stderr, "%s: %s\n", daemon->arguments->program, why);
    }
    if (daemon_has_starter() || notify_wanted())
        wait_for_those_above(daemon);
    daemon->watchdog_ns = notify_watchdog_ns();
    notify_systemd("READY=1");
    daemon_let_go(daemon);
    return ESP_OK;
}

/* SIGUSR2: the program runs again in the same process, at the same addresses. */

struct daemon_again daemon_again;

#define AGAIN_LISTEN "ESPALIER_AGAIN_LISTEN"
#define AGAIN_HTTP   "ESPALIER_AGAIN_HTTP"

/* Whether the old address is kept: it has the same host, and the file leaves the port open. */
static bool is_kept(const char *wanted, const char *before)
{
    const char *port = strrchr(wanted, ':');
    return port && strcmp(port, ":0") == 0 && strncmp(wanted, before, (size_t)(port - wanted) + 1) == 0;
}

/* Whether the file names all addresses of this machine and leaves the port open: other nodes were given
 * the machine's name. */
static bool is_any(const char *wanted)
{
    return strcmp(wanted, "*:0") == 0 || strcmp(wanted, "0.0.0.0:0") == 0 || strcmp(wanted, "[::]:0") == 0;
}

/* Takes the address of the previous run. `elsewhere`: other nodes were given another host than that of the
 * address. */
static void take_address(const char *variable, char **address, bool elsewhere, struct arena *arena)
{
    const char *before = getenv(variable);
    char any[300];
    if (before && *address && (elsewhere || is_any(*address)) && strrchr(before, ':')) {
        snprintf(any, sizeof any, "%.*s%.10s", (int)(strrchr(*address, ':') - *address), *address,
                 strrchr(before, ':'));
        before = any;
    }
    if (before && *address && is_kept(*address, before)) {
        char *copy = arena_strdup(arena, before);
        *address = copy ? copy : *address;
    }
    unsetenv(variable);
}

void daemon_take_addresses(struct settings_node *settings, struct arena *arena)
{
    take_address(AGAIN_LISTEN, &settings->listen, settings->publish != NULL, arena);
    take_address(AGAIN_HTTP, &settings->http, false, arena);
}

/* Returns the program that is installed at this program's path now, which may be a newer release. */
static bool own_path(char *path, size_t size)
{
    static const char replaced[] = " (deleted)";
    const size_t length = sizeof replaced - 1;
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    if ((size_t)n > length && strcmp(path + n - length, replaced) == 0)
        path[(size_t)n - length] = '\0';
    return true;
}

int daemon_end(char **argv, int exit_code)
{
    char path[4096], *arguments[] = {argv[0], (char *)"--foreground", NULL, NULL};
    if (!daemon_again.wanted || exit_code != 0)
        return exit_code;
    if (!own_path(path, sizeof path)) {
        fprintf(stderr, "%s: cannot run again: it does not find its own file\n", argv[0]);
        return 1;
    }
    /* Make paths absolute, because the program in the background has another current folder. The file is
     * the last operand. */
    for (int i = 1; argv[i]; i++)
        if (argv[i][0] != '-')
            arguments[2] = argv[i];
    setenv(AGAIN_LISTEN, daemon_again.listen, 1);
    setenv(AGAIN_HTTP, daemon_again.http, 1);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    execv(path, arguments);
    fprintf(stderr, "%s: cannot run %s again: %s\n", argv[0], path, strerror(errno));
    return 1;
}

/* Parses the command line of a daemon. */

static void print_usage(const struct daemon_arguments *arguments, FILE *file)
{
    fprintf(file,
            "Usage: %s [OPTION]... [FILE]\n"
            "%s\n\n"
            "Reads its configuration from FILE (else: %s).\n\n"
            "Options:\n"
            "  -f, --foreground  stay in the foreground\n"
            "  -h, --help        show this text\n"
            "  -V, --version     show which release this is\n",
            arguments->program, arguments->text, arguments->path);
}

/* Exit codes of the `espalier` command, whose manual page explains them. */
enum { EXIT_USAGE = 2 };

bool daemon_parse_arguments(int argc, char **argv, struct daemon_arguments *arguments, int *exit_code)
{
    static const struct option options[] = {
        {"foreground", no_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    int option;
    *exit_code = 0;
    while ((option = getopt_long(argc, argv, "fhV", options, NULL)) >= 0) {
        switch (option) {
        case 'f':
            arguments->foreground = true;
            break;
        case 'h':
            print_usage(arguments, stdout);
            return false;
        case 'V':
            printf("%s (Espalier) %s\n", arguments->program, PACKAGE_VERSION);
            return false;
        default: /* getopt_long() has printed the error */
            fprintf(stderr, "Try '%s --help'.\n", arguments->program);
            *exit_code = EXIT_USAGE;
            return false;
        }
    }
    if (argc - optind > 1) {
        fprintf(stderr, "%s: expected one configuration file, found %d\n", arguments->program, argc - optind);
        *exit_code = EXIT_USAGE;
        return false;
    }
    if (optind < argc)
        arguments->path = argv[optind];
    return true;
}

/* Waits, with a message, for something outside without which the node cannot be created. */

/* The first check comes soon, because the missing thing may be starting as well; then the checks become
 * less frequent. */
#define FIRST_PAUSE_NS (NS_PER_S / 2)

/* How long the caller of the daemon is kept waiting, as for a node that finds no parent. */
#define STARTER_NS (3 * NS_PER_S)

struct awaiting {
    const struct daemon_need *need;
    pthread_mutex_t lock; /* guards `why`, which the HTTP port's thread reads */
    char why[400];
};

static bool health(void *self, char *text, size_t size)
{
    struct awaiting *awaiting = self;
    pthread_mutex_lock(&awaiting->lock);
    snprintf(text, size, "waits for %s: %s", awaiting->need->what, awaiting->why);
    pthread_mutex_unlock(&awaiting->lock);
    return false;
}

static void metrics(void *self, struct metrics *page)
{
    (void)self;
    (void)page; /* metrics of the process only */
}

/* Whether waiting cannot help with that error. */
static bool is_final(enum esp_status status)
{
    return status == ESP_OK || status == ESP_CONFIG || status == ESP_NO_MEMORY;
}

/* Logs each reason once. */
static void take_reason(struct awaiting *awaiting, const struct esp_error *error)
{
    char why[sizeof awaiting->why];
    snprintf(why, sizeof why, "%.399s", error->text);
    pthread_mutex_lock(&awaiting->lock);
    const bool is_new = strcmp(awaiting->why, why) != 0;
    memcpy(awaiting->why, why, sizeof why);
    pthread_mutex_unlock(&awaiting->lock);
    if (is_new)
        log_warning("waits for %s: %s; it goes on trying", awaiting->need->what, why);
}

/* Tells the caller that the daemon runs, and what it waits for. */
static void let_starter_go(struct daemon *daemon, const struct awaiting *awaiting)
{
    if (log_is_file() && daemon_has_starter())
        fprintf(stderr, "%s: started, but it waits for %s: %s; it goes on trying\n",
                daemon->arguments->program, awaiting->need->what, awaiting->why);
    notify_systemd("READY=1");
    daemon->watchdog_ns = notify_watchdog_ns();
    daemon_let_go(daemon);
}

static int64_t shorter(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Waits; true: a signal ends the daemon. */
static bool pause_for(struct daemon *daemon, int64_t ns)
{
    const struct timespec pause = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    const int number = sigtimedwait(&daemon->signals, NULL, &pause);
    if (daemon->watchdog_ns > 0)
        notify_systemd("WATCHDOG=1");
    if (number == SIGHUP)
        daemon_read_again(daemon, NULL, NULL);
    return number > 0 && daemon_ends_on(daemon, number);
}

/* Checks until it is found, or cannot be found any more, or a signal ends the daemon. */
static enum esp_status look_again(struct daemon *daemon, struct awaiting *awaiting, bool *ends,
                                  struct esp_error *error)
{
    const struct daemon_need *need = awaiting->need;
    const int64_t starter_ns = clock_now_ns(&clock_system) + STARTER_NS;
    enum esp_status status;
    bool is_told = false;
    int64_t pause_ns = FIRST_PAUSE_NS;
    do {
        if (!is_told && clock_now_ns(&clock_system) >= starter_ns) {
            let_starter_go(daemon, awaiting);
            is_told = true;
        }
        int64_t next_ns = shorter(pause_ns, is_told ? need->every_ns : STARTER_NS / 2);
        if (daemon->watchdog_ns > 0)
            next_ns = shorter(next_ns, daemon->watchdog_ns);
        if ((*ends = pause_for(daemon, next_ns)))
            return ESP_OK;
        pause_ns = shorter(2 * pause_ns, need->every_ns);
        status = need->look(need->self, error);
        if (!is_final(status))
            take_reason(awaiting, error);
    } while (!is_final(status));
    return status;
}

enum esp_status daemon_await(struct daemon *daemon, const struct daemon_need *need, bool *ends,
                             struct esp_error *error)
{
    struct awaiting awaiting = {.need = need};
    const struct daemon_node node = {&awaiting, health, metrics, NULL};
    *ends = false;
    enum esp_status status = need->look(need->self, error);
    if (is_final(status))
        return status;
    pthread_mutex_init(&awaiting.lock, NULL);
    take_reason(&awaiting, error);
    status = daemon_watch(daemon, &node, error);
    if (status == ESP_OK)
        status = look_again(daemon, &awaiting, ends, error);
    daemon_look_away(daemon);
    if (status == ESP_OK && !*ends) {
        log_notice("%s is there", need->what);
        http_close(daemon->http); /* it is opened again with the node */
        daemon->http = NULL;
    }
    pthread_mutex_destroy(&awaiting.lock);
    return status;
}
