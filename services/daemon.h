/* SPDX-License-Identifier: Apache-2.0
 *
 * What every daemon does around its own work: command line, log, standing in the background, signals, the
 * file with its address. The main function (daemon/main.c) reads:
 *
 *     daemon_parse_arguments(...);            its options and which file to read
 *     settings_load_...(...);
 *     daemon_start(...);                      log, background, signals blocked
 *     daemon_await(daemon, need, ...);        where there is something that it cannot do without
 *     ... fork helpers, open the transport, create the node ...
 *     daemon_watch(daemon, node, ...);        HTTP port
 *     daemon_ready(daemon, address, ...);     address file; whoever started it goes on
 *     daemon_wait(daemon);                    until SIGTERM or SIGINT
 *     ... stop the node ...
 *     daemon_stop(daemon);
 *     return daemon_end(argv, exit_code);     where it is to run again, it does
 */
#ifndef SERVICES_DAEMON_H
#define SERVICES_DAEMON_H

#include "services/settings.h"
#include "util/error.h"
#include "util/log.h"
#include "util/metrics.h"
#include <stdbool.h>

struct daemon_arguments {
    const char *program; /* "espalier-agent" */
    const char *text;    /* one line for --help */
    const char *path;    /* configuration file */
    bool foreground;     /* stay in the foreground */
    /* Which further variables ("NAME=value") the daemon drops from its environment; NULL: none. */
    bool (*drops_variable)(const char *entry);
};

/* Reads the command line: [-f|--foreground] [-h|--help] [-V|--version] [CONFIG]. `program`, `text` and the
 * default `path` are the caller's. Answers --help and --version itself, and a wrong command line, by
 * printing and returning false with the exit code in *exit_code. */
bool daemon_parse_arguments(int argc, char **argv, struct daemon_arguments *arguments, int *exit_code);

/* Prints "program: text" to standard error (and the log when it is open), tells the process that waits for
 * daemon_ready() that nothing came of it, and returns the exit code (4 for ESP_CONFIG, ESP_SYNTAX and
 * ESP_NOT_FOUND, else 1). */
int daemon_failed(const struct daemon_arguments *arguments, const struct esp_error *error);

struct daemon;

/* When this is a program that SIGUSR2 has started again: it listens where it did, so that those who know its
 * addresses find it, where `settings` leaves the ports open. To be called before daemon_start(), once. */
void daemon_take_addresses(struct settings_node *settings, struct arena *arena);

/* Opens the log and, unless `foreground`, goes to the background: the process that was started waits until
 * daemon_ready() or a failure, and exits with 0 or 1, so that whoever started it knows. Blocks SIGTERM,
 * SIGINT, SIGHUP and SIGUSR2 for this thread and all that it makes (a helper process that is forked later
 * should unblock them), ignores SIGPIPE, and allows itself as many descriptors as it may have (65536 at
 * most). ESP_CONFIG when the certificates that the file names are no good: before anything else is done.
 * To be called before any thread exists. The settings are borrowed until daemon_stop(). */
enum esp_status daemon_start(const struct daemon_arguments *arguments, const struct settings_node *settings,
                             struct daemon **daemon, struct esp_error *error);

/* Something outside that a node cannot be made without. */
struct daemon_need {
    void *self;
    const char *what; /* "the directory" */
    /* Looks for it. ESP_OK: it is there; ESP_CONFIG, ESP_NO_MEMORY: waiting is no use; else: not yet. */
    enum esp_status (*look)(void *self, struct esp_error *error);
    int64_t every_ns; /* once it has been away for a while */
};

/* Waits until it is there. Meanwhile the HTTP port (which is closed again then) and the log say what for, and
 * why it is not; whoever started the daemon hears so after 3 s. *ends: a signal has ended the wait, and the
 * program is to end in good order. After daemon_start(). Errors that waiting is no use for, and those of
 * daemon_watch(). */
enum esp_status daemon_await(struct daemon *daemon, const struct daemon_need *need, bool *ends,
                             struct esp_error *error);

/* How the node is looked at from outside its own work: by the HTTP port and by systemd's watchdog. Called
 * from other threads, one call at a time, until daemon_wait() has returned. */
struct daemon_node {
    void *self;
    /* Whether it can do its work, and a few words on how it stands (below which parent, draining). */
    bool (*health)(void *self, char *text, size_t size);
    /* What it counts. */
    void (*metrics)(void *self, struct metrics *metrics);
    /* Whether those above have all that it told them; else `why` not (yet). NULL: there is nobody above. */
    bool (*settled)(void *self, char *why, size_t size);
};

/* The node is there: opens the HTTP port if the file names one (http), and writes its address beside the
 * daemon's own ("ADDRESS_FILE.http"), as daemon_ready() does. `node` is copied. Before daemon_ready().
 * ESP_CONFIG, ESP_SYSTEM. */
enum esp_status daemon_watch(struct daemon *daemon, const struct daemon_node *node, struct esp_error *error);

/* The node answers on `address`: writes the address file (first under a temporary name; where the disk is
 * full, when there is room, and /health says so until then), notes the address in its state_dir, where it
 * stays when the daemon ends, and logs it. Then it
 * lets the waiting process go, and tells systemd when it asked (NOTIFY_SOCKET): those two hear of it when the
 * node is settled, or after 3 s, and then a warning says why it is not. */
enum esp_status daemon_ready(struct daemon *daemon, const char *address, struct esp_error *error);

/* A daemon's file has been read again. */
struct daemon_reload {
    enum esp_status status; /* else why it could not be; then nothing is to be changed */
    const struct esp_error *error;
    const union settings_any *settings; /* of the daemon's kind; NULL: it could not be */
    const char
        *pending; /* keys that are others than at the start and count at the next one: "listen, slots" */
};
/* True when it has taken the settings over, which then live until the next ones are. */
typedef bool daemon_reloader(void *arg, const struct daemon_reload *read);

/* Waits for SIGTERM, SIGINT or SIGUSR2 (which is logged and passed over where the daemon's file, or what it
 * names, would not let it start again); then the HTTP port says that the daemon stops. On SIGHUP the log is
 * opened again and the log level is read again from the file; `reload` (may be NULL) is called with it, on
 * this thread. systemd is told of all this, and that the node is alive when it wants to know (WATCHDOG_USEC).
 */
void daemon_wait(struct daemon *daemon, daemon_reloader *reload, void *arg);

/* Whether it was SIGUSR2 that ended the wait. */
bool daemon_runs_again(void);

/* Closes the HTTP port, removes the address files (unless it runs again) and closes the log. NULL is nothing
 * to do. */
void daemon_stop(struct daemon *daemon);

/* The end of main(), when no other thread is left. After SIGUSR2, and when all went well, the program runs
 * again as the same process: what is installed now, with its file as it is now, and does not return. Else:
 * `exit_code`. */
int daemon_end(char **argv, int exit_code);

/* A number for this start of the node: random, never 0. */
uint64_t daemon_incarnation(void);

#endif
