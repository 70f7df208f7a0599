/* SPDX-License-Identifier: Apache-2.0
 *
 * The common part of all daemons: command line, log, running in the background, signals, the file with its
 * address. The main function (daemon/main.c) reads:
 *
 *     daemon_parse_arguments(...);            its options and which file to read
 *     settings_load_...(...);
 *     daemon_start(...);                      log, background, signals blocked
 *     daemon_await(daemon, need, ...);        waits for something outside, if the node needs it
 *     ... fork helpers, open the transport, create the node ...
 *     daemon_watch(daemon, node, ...);        HTTP port
 *     daemon_ready(daemon, address, ...);     address file; the caller's command returns
 *     daemon_wait(daemon);                    until SIGTERM or SIGINT
 *     ... stop the node ...
 *     daemon_stop(daemon);
 *     return daemon_end(argv, exit_code);     runs the program again after SIGUSR2 */
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
    /* Whether the daemon also drops this variable ("NAME=value") from its environment; NULL: no further
     * ones. */
    bool (*drops_variable)(const char *entry);
};

/* Reads the command line: [-f|--foreground] [-h|--help] [-V|--version] [CONFIG]. The caller sets
 * `program`, `text` and the default `path`. For --help, --version, and a wrong command line, prints the
 * answer and returns false with the exit code in *exit_code. */
bool daemon_parse_arguments(int argc, char **argv, struct daemon_arguments *arguments, int *exit_code);

/* Prints "program: text" to standard error (and the log when it is open), reports the failure to the
 * process that waits for daemon_ready(), and returns the exit code (4 for ESP_CONFIG, ESP_SYNTAX and
 * ESP_NOT_FOUND, else 1). */
int daemon_failed(const struct daemon_arguments *arguments, const struct esp_error *error);

struct daemon;

/* In a program that SIGUSR2 has started again: sets the addresses of the previous run if `settings` leaves
 * the ports open, so that other nodes find it. Call it once, before daemon_start(). */
void daemon_take_addresses(struct settings_node *settings, struct arena *arena);

/* Opens the log and, unless `foreground`, goes to the background: the started process waits until
 * daemon_ready() or a failure, and exits with 0 or 1, so that its caller knows. Blocks SIGTERM, SIGINT,
 * SIGHUP and SIGUSR2 for this thread and all threads created later (a helper process forked later should
 * unblock them), ignores SIGPIPE, and raises the limit of descriptors as far as possible (65536 at most).
 * ESP_CONFIG when the certificates named in the file are invalid: before anything else is done. Call it
 * before any thread exists. The settings are borrowed until daemon_stop(). */
enum esp_status daemon_start(const struct daemon_arguments *arguments, const struct settings_node *settings,
                             struct daemon **daemon, struct esp_error *error);

/* Something outside that a node needs before it can be created. */
struct daemon_need {
    void *self;
    const char *what; /* "the directory" */
    /* Checks for it. ESP_OK: it is there; ESP_CONFIG, ESP_NO_MEMORY: waiting cannot help; else: not yet. */
    enum esp_status (*look)(void *self, struct esp_error *error);
    int64_t every_ns; /* interval of the checks after a while */
};

/* Waits until it is there. Meanwhile the HTTP port (which is closed again then) and the log say what the
 * daemon waits for, and why; the caller of the daemon learns this after 3 s. *ends: a signal has ended the
 * wait, and the program should end in good order. Call it after daemon_start(). Fails with errors for
 * which waiting cannot help, and those of daemon_watch(). */
enum esp_status daemon_await(struct daemon *daemon, const struct daemon_need *need, bool *ends,
                             struct esp_error *error);

/* The view of the node for the HTTP port and systemd's watchdog. Called from other threads, one call at a
 * time, until daemon_wait() has returned. */
struct daemon_node {
    void *self;
    /* Whether the node can do its work, and a few words on its state (its parent, draining). */
    bool (*health)(void *self, char *text, size_t size);
    /* Writes its counters. */
    void (*metrics)(void *self, struct metrics *metrics);
    /* Whether the parents have all its reports; else `why` not (yet). NULL: there is no parent. */
    bool (*settled)(void *self, char *why, size_t size);
};

/* The node exists: opens the HTTP port if the file names one (http), and writes its address beside the
 * daemon's own ("ADDRESS_FILE.http"), as daemon_ready() does. `node` is copied. Call it before
 * daemon_ready(). ESP_CONFIG, ESP_SYSTEM. */
enum esp_status daemon_watch(struct daemon *daemon, const struct daemon_node *node, struct esp_error *error);

/* The node answers on `address`. Writes the address file (first under a temporary name; on a full disk,
 * when there is room, reported in /health until then), saves the address in its state_dir, where it stays
 * when the daemon ends, and logs it. Then lets the waiting process exit, and notifies systemd if it asked
 * (NOTIFY_SOCKET): when the node is settled, or after 3 s with a warning that says why it is not. */
enum esp_status daemon_ready(struct daemon *daemon, const char *address, struct esp_error *error);

/* The outcome of reading a daemon's file again. */
struct daemon_reload {
    enum esp_status status; /* the error if the file could not be read; then nothing may be changed */
    const struct esp_error *error;
    const union settings_any *settings; /* of the daemon's kind; NULL: the file could not be read */
    const char *pending;                /* changed keys that apply after a restart: "listen, slots" */
};
/* Returns true when it has taken over the settings, which then live until the next ones are taken over. */
typedef bool daemon_reloader(void *arg, const struct daemon_reload *read);

/* Waits for SIGTERM, SIGINT or SIGUSR2 (which is logged and ignored if the daemon's file, or files named
 * there, would not let it start again); then the HTTP port reports that the daemon stops. On SIGHUP, opens
 * the log again, reads the log level from the file, and calls `reload` (may be NULL) on this thread.
 * Notifies systemd of all this, and that the node is alive if it asks (WATCHDOG_USEC). */
void daemon_wait(struct daemon *daemon, daemon_reloader *reload, void *arg);

/* Whether SIGUSR2 ended the wait. */
bool daemon_runs_again(void);

/* Closes the HTTP port, removes the address files (unless the program runs again) and closes the log. NULL
 * is ignored. */
void daemon_stop(struct daemon *daemon);

/* The end of main(), when no other thread is left. After SIGUSR2 and without errors, executes the program
 * now installed, in the same process, with its present file, and does not return. Else returns
 * `exit_code`. */
int daemon_end(char **argv, int exit_code);

/* Returns a number for this start of the node: random, never 0. */
uint64_t daemon_incarnation(void);

#endif
