/* SPDX-License-Identifier: Apache-2.0 */
#include "services/daemon.h"
#include "config.h"
#include "services/http.h"
#include "services/notify.h"
#include "services/process_metrics.h"
#include "util/clock.h"
#include "util/random.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct daemon {
    const struct daemon_arguments *arguments;
    const struct settings_node *settings;
    sigset_t signals;
    pthread_mutex_t lock;    /* of `node`, which the HTTP port's thread looks at too */
    struct daemon_node node; /* all NULL: not there (yet, or any more) */
    struct http *http;
    bool was_ready;
    int64_t watchdog_ns; /* 0: nobody wants signs of life */
};

/* Where the process that was started waits for one byte, its exit code; -1: nobody waits. Not in the struct:
 * a failure must reach it also when there is no struct (any more). */
static int waiting = -1;

/* What the next life of this process needs to know. Outlasts the struct. */
static struct {
    bool wanted;
    char listen[256], http[256];
} again;

static void tell_waiting(int exit_code)
{
    unsigned char code = (unsigned char)exit_code;
    if (waiting < 0)
        return;
    while (write(waiting, &code, 1) < 0 && errno == EINTR)
        ;
    close(waiting);
    waiting = -1;
}

/* ---- command line ---- */

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

/* As the `espalier` command has them: its manual page tells what they mean. */
enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INPUT = 4 };

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
        default: /* getopt_long() has said what is wrong */
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

int daemon_failed(const struct daemon_arguments *arguments, const struct esp_error *error)
{
    bool input = error->status == ESP_CONFIG || error->status == ESP_SYNTAX || error->status == ESP_NOT_FOUND;
    int exit_code = input ? EXIT_INPUT : EXIT_FAILED;
    fprintf(stderr, "%s: %s\n", arguments->program, error->text);
    if (log_is_file())
        log_error("stops: %s", error->text);
    tell_waiting(exit_code);
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

static enum esp_status open_log(const struct settings_node *settings, int level, struct esp_error *error)
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
    enum esp_status status = open_log(settings, settings->log_level, error);
    if (status == ESP_OK && !arguments->foreground)
        status = go_to_background(error);
    if (status != ESP_OK) {
        pthread_mutex_destroy(&new->lock);
        free(new);
        return status;
    }
    pthread_sigmask(SIG_BLOCK, &new->signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    /* Few arenas share what is free; see return_memory(). */
    mallopt(M_ARENA_MAX, 4);
    *daemon = new;
    return ESP_OK;
}

/* ---- what is to be seen of it ---- */

/* The node is about to go: nobody may look at it from now on. */
static void daemon_look_away(struct daemon *daemon)
{
    pthread_mutex_lock(&daemon->lock);
    daemon->node = (struct daemon_node){0};
    pthread_mutex_unlock(&daemon->lock);
}

static bool node_health(struct daemon *daemon, char *text, size_t size)
{
    bool good = false;
    snprintf(text, size, "stopping");
    pthread_mutex_lock(&daemon->lock);
    if (daemon->node.health)
        good = daemon->node.health(daemon->node.self, text, size);
    pthread_mutex_unlock(&daemon->lock);
    return good;
}

static bool daemon_health_page(void *self, char *text, size_t size)
{
    struct daemon *daemon = self;
    char detail[512];
    bool good = node_health(daemon, detail, sizeof detail);
    snprintf(text, size, "%s %s: %s", good ? "ok" : "not ok", daemon->settings->name, detail);
    return good;
}

static void daemon_metrics_page(void *self, struct metrics *metrics)
{
    struct daemon *daemon = self;
    char detail[512];
    metrics_family(metrics, "espalier_node_info", METRIC_GAUGE, "Which node this is; always 1.");
    metrics_sample(metrics, 1, "node", daemon->settings->name, "program", daemon->arguments->program,
                   "version", PACKAGE_VERSION, (const char *)NULL);
    metrics_gauge(metrics, "espalier_healthy", node_health(daemon, detail, sizeof detail),
                  "1 while /health says ok.");
    process_metrics(metrics);
    pthread_mutex_lock(&daemon->lock);
    if (daemon->node.metrics)
        daemon->node.metrics(daemon->node.self, metrics);
    pthread_mutex_unlock(&daemon->lock);
}

/* ---- ready ---- */

/* The address of the HTTP port stands beside the daemon's own. */
#define HTTP_SUFFIX ".http"

static enum esp_status write_address(const char *path, const char *address, struct esp_error *error)
{
    char temporary[4096];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid()) >= sizeof temporary)
        return error_set(error, ESP_CONFIG, "address_file: the path \"%.100s...\" is too long", path);
    FILE *file = fopen(temporary, "we");
    if (!file)
        return error_errno(error, "cannot write the address file \"%s\"", temporary);
    bool good = fprintf(file, "%s\n", address) > 0;
    if (fclose(file) == 0 && good && rename(temporary, path) == 0)
        return ESP_OK;
    error_errno(error, "cannot write the address file \"%s\"", path);
    unlink(temporary);
    return ESP_SYSTEM;
}

/* A daemon in the background holds no terminal and no pipe of whoever started it, except standard error when
 * that is its log. */
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

/* What the daemon's own files are named; "" when it has none. */
static void http_address_file(const struct settings_node *settings, char *path, size_t size)
{
    *path = '\0';
    if (settings->address_file && strlen(settings->address_file) + sizeof HTTP_SUFFIX <= size)
        snprintf(path, size, "%s%s", settings->address_file, HTTP_SUFFIX);
}

enum esp_status daemon_watch(struct daemon *daemon, const struct daemon_node *node, struct esp_error *error)
{
    char path[4096];
    pthread_mutex_lock(&daemon->lock);
    daemon->node = *node;
    pthread_mutex_unlock(&daemon->lock);
    if (!daemon->settings->http)
        return ESP_OK;
    const struct http_pages pages = {daemon, daemon_health_page, daemon_metrics_page};
    enum esp_status status = http_open(daemon->settings->http, &pages, &daemon->http, error);
    http_address_file(daemon->settings, path, sizeof path);
    if (status == ESP_OK && *path)
        status = write_address(path, http_address(daemon->http), error);
    if (status == ESP_OK)
        log_notice("health and metrics at http://%s", http_address(daemon->http));
    else
        daemon_look_away(daemon);
    return status;
}

enum esp_status daemon_ready(struct daemon *daemon, const char *address, struct esp_error *error)
{
    if (daemon->settings->address_file) {
        enum esp_status status = write_address(daemon->settings->address_file, address, error);
        if (status != ESP_OK) {
            daemon_look_away(daemon);
            return status;
        }
    }
    daemon->was_ready = true;
    snprintf(again.listen, sizeof again.listen, "%s", address);
    if (daemon->http)
        snprintf(again.http, sizeof again.http, "%s", http_address(daemon->http));
    log_notice("ready address=%s pid=%ld", address, (long)getpid());
    daemon->watchdog_ns = notify_watchdog_ns();
    notify_systemd("READY=1");
    if (!daemon->arguments->foreground)
        let_go_of_streams(daemon->settings);
    tell_waiting(0);
    return ESP_OK;
}

/* ---- running ---- */

/* Of the file that it reads: "espalier-sed" one of kind "sed". */
static enum settings_kind kind_of(const struct daemon_arguments *arguments)
{
    const char *dash = strrchr(arguments->program, '-'), *word = dash ? dash + 1 : arguments->program;
    if (strcmp(word, settings_kind_name(SETTINGS_SED)) == 0)
        return SETTINGS_SED;
    return strcmp(word, settings_kind_name(SETTINGS_AGENT)) == 0 ? SETTINGS_AGENT : SETTINGS_REDIRECTOR;
}

/* The level that the file has now. */
static enum esp_status read_level(const struct daemon_arguments *arguments, int *level,
                                  struct esp_error *error)
{
    struct settings_agent agent;
    struct settings_sed sed;
    struct settings_redirector redirector;
    enum esp_status status;
    const enum settings_kind kind = kind_of(arguments);
    if (kind == SETTINGS_SED) {
        if ((status = settings_load_sed(arguments->path, &sed, error)) != ESP_OK)
            return status;
        *level = sed.node.log_level;
        settings_destroy(&sed.arena);
    } else if (kind == SETTINGS_AGENT) {
        if ((status = settings_load_agent(arguments->path, &agent, error)) != ESP_OK)
            return status;
        *level = agent.node.log_level;
        settings_destroy(&agent.arena);
    } else {
        if ((status = settings_load_redirector(arguments->path, &redirector, error)) != ESP_OK)
            return status;
        *level = redirector.node.log_level;
        settings_destroy(&redirector.arena);
    }
    return ESP_OK;
}

/* What is wrong with the file is logged; the daemon goes on as it was. */
static void read_again(const struct daemon *daemon)
{
    struct esp_error error;
    int level;
    notify_reloading();
    if (read_level(daemon->arguments, &level, &error) != ESP_OK) {
        log_error("the configuration is not read again: %s", error.text);
        if (log_reopen(&error) != ESP_OK)
            log_error("%s", error.text);
        return;
    }
    if (open_log(daemon->settings, level, &error) != ESP_OK)
        log_error("%s", error.text);
    log_notice("configuration read again");
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
    char detail[512], lines[600];
    node_health(daemon, detail, sizeof detail);
    snprintf(lines, sizeof lines, "WATCHDOG=1\nSTATUS=%s", detail);
    notify_systemd(lines);
}

static void reload_all(struct daemon *daemon, void (*reload)(void *arg), void *arg)
{
    read_again(daemon);
    if (reload)
        reload(arg);
    notify_systemd("READY=1");
}

static void end_wait(struct daemon *daemon, int number)
{
    again.wanted = number == SIGUSR2;
    log_notice("stopping on %s%s",
               number == SIGTERM  ? "SIGTERM"
               : number == SIGINT ? "SIGINT"
                                  : "SIGUSR2",
               again.wanted ? ", to start again" : "");
    if (again.wanted)
        notify_reloading(); /* systemd would see to it that what stops stays away */
    else
        notify_systemd("STOPPING=1");
    daemon_look_away(daemon);
}

/* What ends and cannot begin again serves nobody: what is wrong with its files is logged, and it goes on. */
static bool may_end(const struct daemon *daemon, int number)
{
    struct esp_error error;
    if (number != SIGUSR2 ||
        settings_check(kind_of(daemon->arguments), daemon->arguments->path, &error) == ESP_OK)
        return true;
    log_error("SIGUSR2: does not start again, and goes on as it was: %s", error.text);
    return false;
}

void daemon_wait(struct daemon *daemon, void (*reload)(void *arg), void *arg)
{
    int64_t pause_ns = TRIM_S * NS_PER_S;
    double worked_s = 0;
    if (daemon->watchdog_ns > 0 && daemon->watchdog_ns < pause_ns)
        pause_ns = daemon->watchdog_ns;
    const struct timespec patience = {.tv_sec = pause_ns / NS_PER_S, .tv_nsec = pause_ns % NS_PER_S};
    for (;;) {
        int number = sigtimedwait(&daemon->signals, NULL, &patience);
        if (number < 0)
            return_memory(&worked_s);
        if (daemon->watchdog_ns > 0)
            show_life(daemon);
        if ((number == SIGTERM || number == SIGINT || number == SIGUSR2) && may_end(daemon, number)) {
            end_wait(daemon, number);
            return;
        }
        if (number == SIGHUP)
            reload_all(daemon, reload, arg);
    }
}

void daemon_stop(struct daemon *daemon)
{
    char path[4096];
    if (!daemon)
        return;
    http_close(daemon->http);
    http_address_file(daemon->settings, path, sizeof path);
    if (daemon->http && *path && !again.wanted)
        unlink(path);
    if (daemon->settings->address_file && !again.wanted)
        unlink(daemon->settings->address_file);
    if (daemon->was_ready) /* else it never ran: the log's last line is why */
        log_notice("stopped");
    log_close();
    pthread_mutex_destroy(&daemon->lock);
    free(daemon);
}

/* ---- again ---- */

#define AGAIN_LISTEN "ESPALIER_AGAIN_LISTEN"
#define AGAIN_HTTP   "ESPALIER_AGAIN_HTTP"

/* The same host, and the file leaves the port open. */
static bool is_kept(const char *wanted, const char *before)
{
    const char *port = strrchr(wanted, ':');
    return port && strcmp(port, ":0") == 0 && strncmp(wanted, before, (size_t)(port - wanted) + 1) == 0;
}

static void take_address(const char *variable, char **address, struct arena *arena)
{
    const char *before = getenv(variable);
    if (before && *address && is_kept(*address, before)) {
        char *copy = arena_strdup(arena, before);
        *address = copy ? copy : *address;
    }
    unsetenv(variable);
}

void daemon_take_addresses(struct settings_node *settings, struct arena *arena)
{
    take_address(AGAIN_LISTEN, &settings->listen, arena);
    take_address(AGAIN_HTTP, &settings->http, arena);
}

/* What is installed at this program's path now: a newer release, perhaps. */
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
    if (!again.wanted || exit_code != 0)
        return exit_code;
    if (!own_path(path, sizeof path)) {
        fprintf(stderr, "%s: cannot run again: it does not find its own file\n", argv[0]);
        return 1;
    }
    /* It stands where it is to stand: in the background, if it went there. The file is the last operand. */
    for (int i = 1; argv[i]; i++)
        if (argv[i][0] != '-')
            arguments[2] = argv[i];
    setenv(AGAIN_LISTEN, again.listen, 1);
    setenv(AGAIN_HTTP, again.http, 1);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    execv(path, arguments);
    fprintf(stderr, "%s: cannot run %s again: %s\n", argv[0], path, strerror(errno));
    return 1;
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
