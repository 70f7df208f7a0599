/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a platform that runs on this machine keeps its files, and which processes belong to it.
 */
#ifndef COMMAND_PLATFORM_STATE_H
#define COMMAND_PLATFORM_STATE_H

#include "util/error.h"
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#define PLATFORM_DEFAULT_NAME "default"
#define PLATFORM_MAX_NAME     64
#define PLATFORM_PATH         (PATH_MAX / 2)

struct platform_state {
    char name[PLATFORM_MAX_NAME];
    char dir[PLATFORM_PATH];
    int lock;     /* -1: not held */
    bool created; /* by this process: released with nothing in it, it goes */
};

/* $XDG_RUNTIME_DIR/espalier/NAME or /tmp/espalier-UID/NAME. `name` may be a platform file: its name without
 * folder and ".conf" counts. Nothing is created. ESP_INVALID: not a name. */
enum esp_status platform_state_locate(const char *name, struct platform_state *state,
                                      struct esp_error *error);
/* The names of the platforms that were started here, as "a, b": as many as fit. Empty: none. */
void platform_state_names(char *names, size_t size);
/* The platform on this machine whose client.conf that is. False: it is of none. */
bool platform_state_of_config(const char *config, char name[PLATFORM_MAX_NAME]);
/* The same as platform_state_locate(), and nobody else runs up or down for it until platform_state_release().
 * `create`: makes the folder, private to the user, which goes again when it is released and nothing has come
 * into it. ESP_NOT_FOUND: there is none; ESP_REFUSED: another up or down is at work, or the folder belongs to
 * somebody else. */
enum esp_status platform_state_acquire(const char *name, bool create, struct platform_state *state,
                                       struct esp_error *error);
void platform_state_release(struct platform_state *state);
/* Removes the folder and what is in it. */
void platform_state_remove(const struct platform_state *state);

/* One line of the list of what was started: a process, told from a later one with the same number by its
 * start time, or a control group. */
struct platform_record {
    char kind[16]; /* "redirector", "master", "leader", "server", "load", "cgroup", "host" */
    pid_t pid;
    unsigned long long start; /* clock ticks after boot */
    char name[256];           /* node, the group's folder, or what a "host" is and has (deploy.h) */
};
enum esp_status platform_record_add(const struct platform_state *state, const struct platform_record *record,
                                    struct esp_error *error);
/* Takes out those of that kind and name: no failure when there is none. Both from any thread. */
enum esp_status platform_record_remove(const struct platform_state *state,
                                       const struct platform_record *record, struct esp_error *error);
/* *records is the caller's to free. No list: none. */
enum esp_status platform_record_list(const struct platform_state *state, struct platform_record **records,
                                     size_t *n, struct esp_error *error);
/* Forgets all. */
void platform_record_clear(const struct platform_state *state);

/* 0 when there is no such process (a zombie is none). */
unsigned long long process_start_time(pid_t pid);
bool platform_record_runs(const struct platform_record *record);

/* Ends what the records name: SIGTERM, after `patience_ms` SIGKILL, also to what is left of their sessions;
 * then control groups are removed. Forgets the records. Returns how many processes had to be killed. */
unsigned platform_stop(const struct platform_state *state, const struct platform_record *records, size_t n,
                       int patience_ms);

#endif
