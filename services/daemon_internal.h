/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of a daemon, shared by daemon.c (background, signals, command line, readiness, reading its
 * file again, running again), daemon_lock.c (one daemon per file), daemon_state_dir.c and
 * daemon_threads.c. */
#ifndef SERVICES_DAEMON_INTERNAL_H
#define SERVICES_DAEMON_INTERNAL_H

#include "services/daemon.h"
#include "services/http.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>

/* Files that the daemon writes: the addresses of its HTTP port and of itself, for clients, and, in its
 * state_dir, its last address, which stays when it ends. */
enum daemon_note { DAEMON_NOTE_HTTP, DAEMON_NOTE_ADDRESS, DAEMON_NOTE_FORMER, DAEMON_NOTES };

#define NOTED_TEXT 256
struct noted {
    char path[PATH_MAX]; /* "": nowhere */
    char text[NOTED_TEXT];
    int why; /* errno while it is not written; 0: it is. Under the daemon's lock. */
};

#define DAEMON_HEALTH 1200 /* bytes for the text of a node's health */

struct daemon {
    const struct daemon_arguments *arguments;
    const struct settings_node *settings;
    sigset_t signals;
    pthread_mutex_t lock;    /* guards `node` and `notes`, which the HTTP port's thread reads too */
    struct daemon_node node; /* all NULL: the node does not exist (yet, or any more) */
    struct http *http;
    struct noted notes[DAEMON_NOTES];
    bool was_ready;
    char unthreaded[DAEMON_HEALTH /
                    2]; /* why no thread can be started; "": threads can be started. Under the lock. */
    char state_dir[DAEMON_HEALTH / 2]; /* the state_dir's part of /health; "": none. Under the lock. */
    bool stateless;                    /* the state_dir was removed and could not be created again */
    bool full;                         /* the log says that a disk of the daemon is full */
    int64_t watchdog_ns;               /* 0: no watchdog */
    /* The settings at the start and when last read; NULL: not read. */
    union settings_any *begun, *now;
};

/* Knowledge of this process for its next run. Outlives the struct. */
extern struct daemon_again {
    bool wanted;
    char listen[256], http[256];
} daemon_again;

/* ---- daemon_lock.c ---- */

/* Makes sure that no other process uses the state folder or the address file, until daemon_unlock() or the
 * end of the process; children do not inherit the lock. Waits for a daemon that is ending. ESP_BUSY. If
 * files cannot be locked, logs a warning. */
enum esp_status daemon_lock(const struct settings_node *settings, struct esp_error *error);
/* Marks the locks, so that the next daemon waits for this one to end. */
void daemon_lock_ending(const char *name);
void daemon_unlock(void);
/* Whether the lock file of the state folder has been removed, with the folder or alone. */
bool daemon_lock_is_removed(void);
/* Locks the state folder again after its removal, like daemon_lock(). */
enum esp_status daemon_lock_again(const struct settings_node *settings, struct esp_error *error);

/* ---- daemon.c ---- */

/* Writes the text into the file that the daemon's settings name, if any. On a full disk, or when no
 * process waits for it, it is written later. ESP_SYSTEM: it never can be. */
enum esp_status daemon_note(struct daemon *daemon, enum daemon_note what, const char *text,
                            struct esp_error *error);

/* ---- daemon_state_dir.c ---- */

/* Creates the state_dir again when another program has removed it, and logs that. Returns whether that was
 * done now. */
bool daemon_state_dir_look(struct daemon *daemon);
/* Appends what happened to the state_dir. Returns whether it is missing. With the daemon's lock. */
bool daemon_state_dir_tell(const struct daemon *daemon, char *text, size_t size);

/* ---- daemon_threads.c ---- */

/* Tries to start a thread. The log says when the system begins to refuse threads, and when it no longer
 * does. */
void daemon_threads_look(struct daemon *daemon);
/* Appends why no thread can be started. Returns whether that is so. With the daemon's lock. */
bool daemon_threads_tell(const struct daemon *daemon, char *text, size_t size);

/* ---- daemon.c ---- */

#endif
