/* SPDX-License-Identifier: Apache-2.0
 *
 * Allows one daemon per state folder and per address file: a second one with the same file would overwrite
 * the first one's state, and at its end remove the first one's address.
 *
 * The locks are the kernel's and belong to this process: they end with it, however it ends, and workers
 * that outlive it briefly do not hold them. The file's text is for people, and says when its daemon is
 * ending. */
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
#define DYING_MS  1000  /* wait for a killed daemon, whose memory is freed first */
#define ENDING_MS 10000 /* wait for a daemon that is ending and has sessions */

/* Not in the struct, because a failure must release them even when there is no struct. */
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
        return false; /* the file system does not support locks */
    lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    *holder = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
    return true;
}

/* Whether the descriptor is still the file at the path: a daemon that ends removes the file, and a lock on
 * a removed file protects nothing. */
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
        return; /* a full disk: only the lock matters */
}

enum outcome { HELD, AGAIN, TAKEN };

static enum outcome try(const char *path, const char *name, int *fd, bool *ending, pid_t *holder)
{
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd < 0)
        return HELD; /* without a lock, nothing is overwritten either: the caller checks *fd */
    *ending = is_ending(*fd);
    const bool taken = is_locked(*fd, true, holder);
    if (!taken && is_that_file(*fd, path)) {
        say(*fd, "held", name);
        return HELD;
    }
    close(*fd);
    return taken ? TAKEN : AGAIN;
}

/* `what` is the key in the configuration file, and `thing` its value. */
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

/* systemd-tmpfiles removes old files from /tmp, except in locked folders: `espalier up` without
 * XDG_RUNTIME_DIR has its files there. The lock ends with this process. */
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
        mkdir(settings->state_dir, 0700); /* on failure, opening the lock reports the error */
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
