/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon whose node is there: who looks at it, and who is told that it is ready.
 */
#include "config.h"
#include "services/daemon_internal.h"
#include "services/notify.h"
#include "services/process_metrics.h"
#include "util/clock.h"
#include "util/process_limits.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- what is to be seen of it ---- */

void daemon_look_away(struct daemon *daemon)
{
    pthread_mutex_lock(&daemon->lock);
    daemon->node = (struct daemon_node){0};
    pthread_mutex_unlock(&daemon->lock);
}

bool daemon_node_health(struct daemon *daemon, char *text, size_t size)
{
    bool good = false;
    snprintf(text, size, "stopping");
    pthread_mutex_lock(&daemon->lock);
    if (daemon->node.health)
        good = daemon->node.health(daemon->node.self, text, size);
    daemon_notes_tell(daemon, text, size);
    good &= !daemon_threads_tell(daemon, text, size);
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

void daemon_let_go(struct daemon *daemon)
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

/* So long a start waits for a parent: they may come in any order. */
#define SETTLE_MS      3000
#define SETTLE_STEP_MS 5

static bool is_to_stop(void)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT) || sigismember(&pending, SIGUSR2);
}

/* Who starts a server and then a client must not hear that nobody solves its problems. */
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
    if (settings_is_shut_in(daemon->settings->listen, why)) {
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
