/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon whose node cannot be made yet, as something that it needs is not there: it waits, and says so.
 */
#include "services/daemon_internal.h"
#include "services/notify.h"
#include "util/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The first look follows soon, as what is needed may be starting as well; then they come less and less often.
 */
#define FIRST_PAUSE_NS (NS_PER_S / 2)
/* So long whoever started the daemon is kept waiting, as by a node that finds no parent. */
#define STARTER_NS (3 * NS_PER_S)

struct awaiting {
    const struct daemon_need *need;
    pthread_mutex_t lock; /* of `why`, which the HTTP port's thread reads */
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
    (void)page; /* what every process has */
}

/* What will be no better for waiting. */
static bool is_final(enum esp_status status)
{
    return status == ESP_OK || status == ESP_CONFIG || status == ESP_NO_MEMORY;
}

/* The log has each reason once. */
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

/* Whoever started it hears that it runs, and why it does nothing yet. */
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

/* True: a signal says that it is to end. */
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

/* Looks until it is found, or never will be, or a signal ends the daemon. */
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
        http_close(daemon->http); /* it begins anew with the node */
        daemon->http = NULL;
    }
    pthread_mutex_destroy(&awaiting.lock);
    return status;
}
