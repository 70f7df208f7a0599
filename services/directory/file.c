/* SPDX-License-Identifier: Apache-2.0
 *
 * The lock is the kernel's, on a separate file, because the LDIF file itself is replaced, and a lock on a
 * replaced file protects nothing. It is a lock of an open file description, because a lock of the process
 * would let two threads in. NFS supports both. */
#include "services/directory/directory.h"
#include "services/directory/file_turn.h"
#include "services/directory/ldif.h"
#include "util/clock.h"
#include "util/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX  ".lock"
#define STEP_MS 10

struct file_turn {
    int fd;
    char path[PATH_MAX];
};

/* Whether the descriptor is still the lock file: the end of a turn removes the file, and a lock on a
 * removed file protects nothing. */
static bool is_that_file(const struct file_turn *turn)
{
    struct stat here, there;
    return fstat(turn->fd, &here) == 0 && stat(turn->path, &there) == 0 && here.st_ino == there.st_ino &&
           here.st_dev == there.st_dev;
}

/* Writes the owner of the lock into the file, for people and for the error message of waiting processes. */
static void say_who(const struct file_turn *turn)
{
    char text[32];
    const int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(turn->fd, 0) != 0 || pwrite(turn->fd, text, (size_t)n, 0) != n)
        return; /* a full disk: only the lock matters */
}

static long who(const struct file_turn *turn)
{
    char text[32] = "";
    return pread(turn->fd, text, sizeof text - 1, 0) > 0 ? strtol(text, NULL, 10) : 0;
}

enum outcome { MINE, ANOTHERS, GONE, WRONG };

static enum outcome try(struct file_turn *turn, long *holder, struct esp_error *error)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    turn->fd = regular_file_descriptor(turn->path, O_RDWR | O_CREAT | O_NOFOLLOW, error);
    if (turn->fd < 0) {
        error_prefix(error, "what keeps two from writing it at once");
        return WRONG;
    }
    enum outcome outcome = MINE;
    if (fcntl(turn->fd, F_OFD_SETLK, &whole) != 0) {
        outcome = errno == EACCES || errno == EAGAIN ? ANOTHERS : WRONG;
        *holder = who(turn);
        if (outcome == WRONG)
            error_errno(error, "%s cannot be locked, and two that write at once would lose entries",
                        turn->path);
    } else if (!is_that_file(turn)) {
        outcome = GONE;
    }
    if (outcome != MINE) {
        close(turn->fd);
        turn->fd = -1;
    }
    return outcome;
}

static enum esp_status wait_for(struct file_turn *turn, const char *path, int64_t timeout_ms,
                                struct esp_error *error)
{
    const struct timespec step = {.tv_nsec = STEP_MS * NS_PER_MS};
    const int64_t until_ns = clock_now_ns(&clock_system) + timeout_ms * NS_PER_MS;
    for (;;) {
        long holder = 0;
        const enum outcome outcome = try(turn, &holder, error);
        if (outcome == MINE) {
            say_who(turn);
            return ESP_OK;
        }
        if (outcome == WRONG)
            return error->status;
        if (clock_now_ns(&clock_system) >= until_ns)
            return error_set(error, ESP_BUSY,
                             "%s: expected to be the one that writes it within %g s, found process %ld still "
                             "writing (%s says so); nothing was written: try again, or wait for longer",
                             path, (double)timeout_ms / 1e3, holder, turn->path);
        if (outcome == ANOTHERS)
            nanosleep(&step, NULL);
    }
}

/* Waits for at most that long until no one else writes the file (which need not exist yet), and excludes
 * others until file_turn_end(): processes (also on other machines, if the file system supports it), and
 * other turns of this one. ESP_BUSY: another turn lasts longer (the text names its process); ESP_SYSTEM:
 * the file "PATH.lock", which exists during a turn, cannot be created or locked. Any thread. */
static enum esp_status file_turn_begin(const char *path, int64_t timeout_ms, struct file_turn **turn,
                                       struct esp_error *error)
{
    struct esp_error own;
    struct file_turn *new = malloc(sizeof *new);
    error = error ? error : &own;
    if (!new)
        return error_no_memory(error, "the lock of a file");
    enum esp_status status = ESP_OK;
    if (snprintf(new->path, sizeof new->path, "%s" SUFFIX, path) >= (int)sizeof new->path)
        status = error_set(error, ESP_CONFIG, "the path \"%.60s...\" is too long", path);
    if (status == ESP_OK)
        status = regular_file_replaceable(path, error);
    if (status == ESP_OK)
        status = wait_for(new, path, timeout_ms, error);
    if (status == ESP_OK)
        *turn = new;
    else
        free(new);
    return status;
}

void file_turn_end(struct file_turn *turn)
{
    if (!turn)
        return;
    unlink(turn->path); /* before the lock is released, while the file is still this turn's */
    close(turn->fd);
    free(turn);
}

/* The backend for an LDIF file. */

static const char *path_of(const struct directory_options *options)
{
    const char *path = options->url + strlen(directory_file.scheme);
    return strncmp(path, "///", 3) == 0 ? path + 2 : path; /* file:///path has an empty host */
}

static enum esp_status read_file(const struct directory_options *options, struct directory_tree *tree,
                                 const char **base, struct esp_error *error)
{
    return ldif_load(path_of(options), tree, base, error);
}

/* Classes and the naming attribute of an existing entry stay; otherwise it would not be found. */
static bool stays(const char *attribute)
{
    return strcasecmp(attribute, "objectClass") == 0 || strcasecmp(attribute, "cn") == 0 ||
           strcasecmp(attribute, "ou") == 0;
}

/* The rule of LDAP: the attributes of an existing entry are replaced by ours, and its other attributes stay.
 */
static enum esp_status merge(struct directory_tree *to, const struct directory_entry *entry,
                             struct esp_error *error)
{
    const bool is_there = directory_tree_find(to, entry->name) != NULL;
    struct directory_entry *own = directory_tree_entry(to, entry->name, error);
    if (!own)
        return error->status;
    for (uint32_t i = 0; is_there && i < entry->n_values; i++)
        if (!stays(entry->values[i].attribute))
            directory_entry_drop(own, entry->values[i].attribute);
    for (uint32_t i = 0; i < entry->n_values; i++)
        if (!(is_there && stays(entry->values[i].attribute)) &&
            directory_tree_add(to, own, entry->values[i].attribute, entry->values[i].text,
                               entry->values[i].length, error) != ESP_OK)
            return error->status;
    return ESP_OK;
}

/* Removes entries that are not in the tree, except the base, which is the site's own. */
static void take_out_others(struct directory_tree *whole, const struct directory_tree *tree)
{
    size_t n = 0;
    for (size_t i = 0; i < whole->n; i++) {
        struct directory_entry *entry = whole->entries[i];
        if (!*entry->name || directory_tree_find(tree, entry->name))
            whole->entries[n++] = entry;
        else
            HASH_DELETE(hh, whole->by_name, entry);
    }
    whole->n = n;
}

static enum esp_status begin_file(const struct directory_options *options, struct file_turn **turn,
                                  struct esp_error *error)
{
    return file_turn_begin(path_of(options), options->timeout_ms, turn, error);
}

static enum esp_status replace_file(const struct directory_options *options, struct directory_tree *tree,
                                    bool prune, struct esp_error *error)
{
    struct directory_tree whole = {0};
    struct esp_error why = {0};
    const char *base = DIRECTORY_FILE_BASE;
    /* A damaged file is not overwritten, because its contents may exist nowhere else. */
    enum esp_status status = read_file(options, &whole, &base, &why);
    if (status == ESP_NOT_FOUND) {
        base = DIRECTORY_FILE_BASE;
    } else if (status != ESP_OK) {
        if (error)
            *error = why;
        return status;
    }
    if (prune)
        take_out_others(&whole, tree);
    status = ESP_OK;
    for (size_t i = 0; i < tree->n && status == ESP_OK; i++)
        status = merge(&whole, tree->entries[i], error);
    if (status == ESP_OK)
        status = ldif_save(&whole, base, path_of(options), error);
    directory_tree_clear(&whole);
    return status;
}

static enum esp_status write_file(const struct directory_options *options, struct directory_tree *tree,
                                  bool prune, directory_progress progress, void *arg, struct esp_error *error)
{
    struct file_turn *own = NULL;
    enum esp_status status = options->turn ? ESP_OK : begin_file(options, &own, error);
    if (status == ESP_OK)
        status = replace_file(options, tree, prune, error);
    file_turn_end(own);
    if (status == ESP_OK && progress)
        progress(arg, tree->n, tree->n);
    return status;
}

const struct directory_backend directory_file = {"file:", read_file, write_file, begin_file};
