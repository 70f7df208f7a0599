/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside a daemon: daemon.c (background, signals, command line, readiness, its file read again, its next
 * life), daemon_lock.c (that there is no other one of the same file), daemon_state_dir.c and
 * daemon_threads.c.
 */
#ifndef SERVICES_DAEMON_INTERNAL_H
#define SERVICES_DAEMON_INTERNAL_H

#include "services/daemon.h"
#include "services/http.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>

/* What it writes down of itself: the addresses of its HTTP port and of itself for others to find it, and, in
 * its state_dir, where it was, which stays when it ends. */
enum daemon_note { DAEMON_NOTE_HTTP, DAEMON_NOTE_ADDRESS, DAEMON_NOTE_FORMER, DAEMON_NOTES };

#define NOTED_TEXT 256
struct noted {
    char path[PATH_MAX]; /* "": nowhere */
    char text[NOTED_TEXT];
    int why; /* errno, that it is not written yet; 0: it is. Under the daemon's lock. */
};

#define DAEMON_HEALTH 1200 /* bytes for the text of a node's health */

struct daemon {
    const struct daemon_arguments *arguments;
    const struct settings_node *settings;
    sigset_t signals;
    pthread_mutex_t lock;    /* of `node` and `notes`, which the HTTP port's thread looks at too */
    struct daemon_node node; /* all NULL: not there (yet, or any more) */
    struct http *http;
    struct noted notes[DAEMON_NOTES];
    bool was_ready;
    char unthreaded[DAEMON_HEALTH / 2]; /* why no thread can be started; "": one can. Under the lock. */
    char state_dir[DAEMON_HEALTH / 2];  /* what /health says of the state_dir; "": nothing. Under the lock. */
    bool stateless;                     /* the state_dir was removed and could not be made again */
    int64_t watchdog_ns;                /* 0: nobody wants signs of life */
    /* Its file as it was when the daemon started and when it was last read; NULL: it was not. */
    union settings_any *begun, *now;
};

/* What the next life of this process needs to know. Outlasts the struct. */
extern struct daemon_again {
    bool wanted;
    char listen[256], http[256];
} daemon_again;

/* ---- daemon_lock.c ---- */

/* Makes sure that no other process uses the state folder or the address file, until daemon_unlock() or the
 * end of the process: a child has no part in it. Waits for one that is ending. ESP_BUSY. Where files cannot
 * be locked, a warning in the log. */
enum esp_status daemon_lock(const struct settings_node *settings, struct esp_error *error);
/* Who comes next may wait for this one. */
void daemon_lock_ending(const char *name);
void daemon_unlock(void);
/* Whether the lock of the state folder has been removed, with the folder or alone. */
bool daemon_lock_is_removed(void);
/* Locks the state folder again after that, like daemon_lock(). */
enum esp_status daemon_lock_again(const struct settings_node *settings, struct esp_error *error);

/* ---- daemon.c ---- */

/* Writes it where the daemon's file says, if it does; it is written again later where the disk is full, or
 * nobody waits for it. ESP_SYSTEM: it never could be. */
enum esp_status daemon_note(struct daemon *daemon, enum daemon_note what, const char *text,
                            struct esp_error *error);

/* ---- daemon_state_dir.c ---- */

/* Makes the state_dir again when another program has removed it; the log says so. Returns whether that was
 * done now. */
bool daemon_state_dir_look(struct daemon *daemon);
/* Appends what happened to the state_dir. Returns whether it is missing. With the daemon's lock. */
bool daemon_state_dir_tell(const struct daemon *daemon, char *text, size_t size);

/* ---- daemon_threads.c ---- */

/* Tries to start a thread. The log says when the system begins to refuse threads, and when it no longer does.
 */
void daemon_threads_look(struct daemon *daemon);
/* Appends why no thread can be started. Returns whether that is so. With the daemon's lock. */
bool daemon_threads_tell(const struct daemon *daemon, char *text, size_t size);

/* ---- daemon.c ---- */

#endif
