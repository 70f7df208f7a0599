/* SPDX-License-Identifier: Apache-2.0
 *
 * One daemon for a state folder, and for an address file: a second one of the same file would write what the
 * first one keeps, and at its end remove what the first one is found by.
 *
 * The locks are the kernel's, of this process alone: they end with it, however it ends, and workers that
 * outlive it for a moment have none. What is in the file is for people, and tells that its daemon is ending.
 */
#include "services/daemon_internal.h"
#include "util/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX    ".lock"
#define ENDING    "ending"
#define STEP_MS   20
#define DYING_MS  1000  /* for one that was killed: its memory goes first */
#define ENDING_MS 10000 /* for one that was told to end, and has sessions */

/* Not in the struct: a failure must let go of them also when there is no struct (any more). */
static struct held {
    int fd; /* 0: not held */
    char path[PATH_MAX];
} locks[2];
static int held_folder; /* 0: none */
static bool had_state;  /* the state folder has been locked */

static bool is_locked(int fd, bool set, pid_t *holder)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (set && fcntl(fd, F_SETLK, &lock) == 0)
        return false;
    if (set && errno != EACCES && errno != EAGAIN)
        return false; /* a file system without locks */
    lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    *holder = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
    return true;
}

/* Who ends removes the file: a lock on one that has been removed keeps nobody out. */
static bool is_that_file(int fd, const char *path)
{
    struct stat here, there;
    return fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_ino == there.st_ino &&
           here.st_dev == there.st_dev;
}

static bool is_ending(int fd)
{
    char text[sizeof ENDING] = "";
    return pread(fd, text, sizeof text - 1, 0) > 0 && strcmp(text, ENDING) == 0;
}

static void say(int fd, const char *what, const char *name)
{
    char text[300];
    const int n = snprintf(text, sizeof text, "%s %ld %s\n", what, (long)getpid(), name);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n)
        return; /* a full disk: the lock is what counts */
}

enum outcome { HELD, AGAIN, TAKEN };

static enum outcome try(const char *path, const char *name, int *fd, bool *ending, pid_t *holder)
{
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd < 0)
        return HELD; /* what cannot be written down is not written over either: the caller looks at *fd */
    *ending = is_ending(*fd);
    const bool taken = is_locked(*fd, true, holder);
    if (!taken && is_that_file(*fd, path)) {
        say(*fd, "held", name);
        return HELD;
    }
    close(*fd);
    return taken ? TAKEN : AGAIN;
}

/* `what` is the key of the configuration file, and `thing` its value. */
static enum esp_status lock(struct held *held, const char *what, const char *thing, const char *name,
                            struct esp_error *error)
{
    const struct timespec step = {.tv_nsec = STEP_MS * NS_PER_MS};
    const int64_t begun_ns = clock_now_ns(&clock_system);
    for (;;) {
        bool ending = false;
        pid_t holder = 0;
        int fd;
        const enum outcome outcome = try(held->path, name, &fd, &ending, &holder);
        if (outcome == HELD) {
            held->fd = fd > 0 ? fd : 0;
            if (fd < 0)
                log_warning("cannot make sure that no other daemon uses %s: %s: %s", thing, held->path,
                            strerror(errno));
            return ESP_OK;
        }
        const int64_t passed_ms = (clock_now_ns(&clock_system) - begun_ns) / NS_PER_MS;
        if (outcome == TAKEN && passed_ms >= (ending ? ENDING_MS : DYING_MS))
            return error_set(error, ESP_BUSY,
                             "%s \"%s\" is in use by process %ld: expected one daemon for it, found a second "
                             "one (stop that one first, or give this one a file of its own)",
                             what, thing, (long)holder);
        nanosleep(&step, NULL);
    }
}

/* systemd-tmpfiles leaves locked folders of /tmp alone, where files are old that nobody reads: `espalier up`
 * without XDG_RUNTIME_DIR has its files there. The lock goes with this process. */
static void hold_folder(const char *file)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(file, '/');
    if (held_folder > 0 ||
        snprintf(folder, sizeof folder, "%.*s/", (int)(slash ? slash - file : 0), file) >= (int)sizeof folder)
        return;
    held_folder = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (held_folder >= 0)
        flock(held_folder, LOCK_SH | LOCK_NB);
}

static enum esp_status lock_state(const struct settings_node *settings, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    if (snprintf(locks[0].path, sizeof locks[0].path, "%s/lock", settings->state_dir) < PATH_MAX)
        status = lock(&locks[0], "state_dir", settings->state_dir, settings->name, error);
    had_state |= locks[0].fd > 0;
    return status;
}

bool daemon_lock_is_removed(void)
{
    return had_state && access(locks[0].path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

enum esp_status daemon_lock_again(const struct settings_node *settings, struct esp_error *error)
{
    if (locks[0].fd > 0)
        close(locks[0].fd);
    locks[0].fd = 0;
    return lock_state(settings, error);
}

enum esp_status daemon_lock(const struct settings_node *settings, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    if (settings->state_dir) {
        mkdir(settings->state_dir, 0700); /* where it cannot be, opening says so */
        status = lock_state(settings, error);
    }
    if (status == ESP_OK && settings->address_file &&
        snprintf(locks[1].path, sizeof locks[1].path, "%s" SUFFIX, settings->address_file) < PATH_MAX)
        status = lock(&locks[1], "address_file", settings->address_file, settings->name, error);
    if (status != ESP_OK)
        daemon_unlock();
    else if (settings->address_file)
        hold_folder(settings->address_file);
    return status;
}

void daemon_lock_ending(const char *name)
{
    for (size_t i = 0; i < 2; i++)
        if (locks[i].fd > 0)
            say(locks[i].fd, ENDING, name);
}

void daemon_unlock(void)
{
    if (held_folder > 0)
        close(held_folder);
    held_folder = 0;
    for (size_t i = 0; i < 2; i++) {
        if (locks[i].fd <= 0)
            continue;
        unlink(locks[i].path);
        close(locks[i].fd);
        locks[i].fd = 0;
    }
}
