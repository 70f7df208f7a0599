/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's list of jobs: a folder with one file for each, which only he can read, because who knows the
 * secret in it can cancel the job.
 */
#include "client/arguments/contents.h"
#include "client/jobs/job.h"
#include "client/session/package.h"
#include "client/state_folder.h"
#include "util/random.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING      ".json"
#define CALL_ENDING ".call"
#define END_ENDING  ".end"
#define MOST_BYTES  (1 << 20)
#define MOST_JOBS   1000000

static bool is_id(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length < SESSION_TEXT && strspn(text, "0123456789abcdef-") == length;
}

/* Under a temporary name first, so that nobody reads half of it, and a full disk leaves nothing. */
static enum esp_status write_file(const char *id, const char *ending, const char *text,
                                  struct esp_error *error)
{
    char folder[PATH_MAX], path[PATH_MAX + 64], fresh[PATH_MAX + 64];
    enum esp_status status = state_folder("jobs", folder, sizeof folder, error);
    if (status == ESP_OK)
        status = state_folder_make(folder, error);
    if (status != ESP_OK)
        return status;
    snprintf(path, sizeof path, "%s/%s%s", folder, id, ending);
    snprintf(fresh, sizeof fresh, "%s/.%s.XXXXXX", folder, id);
    int fd = mkstemp(fresh); /* 0600 */
    if (fd < 0)
        return error_errno(error, "cannot write %s", path);
    size_t length = strlen(text);
    bool good = write(fd, text, length) == (ssize_t)length && write(fd, "\n", 1) == 1 && fsync(fd) == 0;
    int why = errno;
    close(fd);
    if (good && rename(fresh, path) == 0)
        return ESP_OK;
    if (!good)
        errno = why;
    status = error_errno(error, "cannot write %s", path);
    unlink(fresh);
    return status;
}

enum esp_status job_store_write(const char *id, const char *token, struct esp_error *error)
{
    return write_file(id, ENDING, token, error);
}

/* ---- whose list it is ---- */

static bool read_owner(const char *path, uint8_t owner[OWNER_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool whole = read(fd, owner, OWNER_BYTES) == OWNER_BYTES;
    close(fd);
    return whole;
}

/* Whoever of several programs is first has drawn it for all. */
static bool draw_owner(const char *path)
{
    char fresh[PATH_MAX + 64];
    uint8_t owner[OWNER_BYTES];
    if (random_bytes(owner, sizeof owner, NULL) != ESP_OK)
        return false;
    snprintf(fresh, sizeof fresh, "%s.XXXXXX", path);
    int fd = mkstemp(fresh); /* 0600 */
    if (fd < 0)
        return false;
    bool there = write(fd, owner, sizeof owner) == (ssize_t)sizeof owner &&
                 (link(fresh, path) == 0 || errno == EEXIST);
    close(fd);
    unlink(fresh);
    return there;
}

bool job_store_owner(uint8_t owner[OWNER_BYTES])
{
    char folder[PATH_MAX], path[PATH_MAX + 16];
    if (state_folder("jobs", folder, sizeof folder, NULL) != ESP_OK ||
        state_folder_make(folder, NULL) != ESP_OK)
        return false;
    snprintf(path, sizeof path, "%s/.owner", folder);
    return read_owner(path, owner) || (draw_owner(path) && read_owner(path, owner));
}

/* ---- the folder ---- */

struct entry {
    char id[SESSION_TEXT];
    struct timespec when;
};

static int by_age(const void *one, const void *other)
{
    const struct entry *a = one, *b = other;
    if (a->when.tv_sec != b->when.tv_sec)
        return a->when.tv_sec < b->when.tv_sec ? -1 : 1;
    if (a->when.tv_nsec != b->when.tv_nsec)
        return a->when.tv_nsec < b->when.tv_nsec ? -1 : 1;
    return strcmp(a->id, b->id);
}

/* "c0ffee12-1.json" */
static bool take_name(const char *name, struct entry *entry)
{
    size_t length = strlen(name), ending = strlen(ENDING);
    if (length <= ending || length - ending >= sizeof entry->id ||
        strcmp(name + length - ending, ENDING) != 0)
        return false;
    memcpy(entry->id, name, length - ending);
    entry->id[length - ending] = 0;
    return is_id(entry->id);
}

static enum esp_status read_folder(const char *folder, struct entry **entries, size_t *n,
                                   struct esp_error *error)
{
    DIR *dir = opendir(folder);
    struct dirent *found;
    size_t capacity = 0;
    *entries = NULL;
    *n = 0;
    if (!dir)
        return errno == ENOENT ? ESP_OK : error_errno(error, "cannot read the list of jobs, %s", folder);
    while ((found = readdir(dir)) && *n < MOST_JOBS) {
        struct entry entry;
        struct stat about;
        if (!take_name(found->d_name, &entry) || fstatat(dirfd(dir), found->d_name, &about, 0) != 0)
            continue;
        entry.when = about.st_mtim;
        if (*n == capacity) {
            void *grown = realloc(*entries, (capacity = capacity ? 2 * capacity : 64) * sizeof **entries);
            if (!grown) {
                free(*entries);
                closedir(dir);
                return error_no_memory(error, "the list of jobs");
            }
            *entries = grown;
        }
        (*entries)[(*n)++] = entry;
    }
    closedir(dir);
    if (*n > 1)
        qsort(*entries, *n, sizeof **entries, by_age);
    return ESP_OK;
}

enum esp_status job_store_list(const char *const **ids, size_t *n, struct esp_error *error)
{
    char folder[PATH_MAX];
    struct entry *entries = NULL;
    enum esp_status status = state_folder("jobs", folder, sizeof folder, error);
    if (status == ESP_OK)
        status = read_folder(folder, &entries, n, error);
    if (status != ESP_OK)
        return status;
    const char **package = package_create((*n + 1) * sizeof *package);
    for (size_t i = 0; package && i < *n; i++)
        if (!(package[i] = package_text(package, entries[i].id))) {
            package_destroy(package);
            package = NULL;
        }
    free(entries);
    *ids = package;
    return package ? ESP_OK : error_no_memory(error, "the list of jobs");
}

/* The id that begins so; one that is meant exactly is taken before those that only begin so. */
static enum esp_status resolve(const char *folder, const char *prefix, char *id, struct esp_error *error)
{
    struct entry *entries = NULL;
    size_t n = 0, matches = 0;
    enum esp_status status = read_folder(folder, &entries, &n, error);
    for (size_t i = 0; i < n && status == ESP_OK; i++) {
        if (strncmp(entries[i].id, prefix, strlen(prefix)) != 0)
            continue;
        matches++;
        strcpy(id, entries[i].id);
        if (strcmp(id, prefix) == 0) {
            matches = 1;
            break;
        }
    }
    free(entries);
    if (status != ESP_OK)
        return status;
    if (!is_id(prefix) || matches == 0)
        return error_set(error, ESP_NOT_FOUND,
                         "no job '%.60s' is in your list: 'espalier jobs' shows those that are", prefix);
    if (matches > 1)
        return error_set(error, ESP_INVALID, "%zu jobs begin with '%.60s': expected more of the id", matches,
                         prefix);
    return ESP_OK;
}

enum esp_status job_store_read(const char *prefix, char **token, struct esp_error *error)
{
    char folder[PATH_MAX], path[PATH_MAX + 64], id[SESSION_TEXT];
    void *data = NULL;
    uint64_t bytes = 0;
    enum esp_status status = state_folder("jobs", folder, sizeof folder, error);
    if (status == ESP_OK)
        status = resolve(folder, prefix, id, error);
    if (status != ESP_OK)
        return status;
    snprintf(path, sizeof path, "%s/%s" ENDING, folder, id);
    status = contents_load(path, &data, &bytes, error);
    if (status == ESP_OK && bytes > MOST_BYTES)
        status = error_set(error, ESP_SYNTAX, "%s: expected the record of a job, found %llu bytes", path,
                           (unsigned long long)bytes);
    char *text = status == ESP_OK ? malloc((size_t)bytes + 1) : NULL;
    if (status == ESP_OK && !text)
        status = error_no_memory(error, "the record of a job");
    if (status == ESP_OK) {
        memcpy(text, data, (size_t)bytes);
        text[bytes] = 0;
        *token = text;
    }
    free(data);
    return status;
}

enum esp_status job_store_call_path(const char *id, char *path, size_t size, struct esp_error *error)
{
    enum esp_status status = state_folder("jobs", path, size, error);
    const size_t length = status == ESP_OK ? strlen(path) : 0;
    if (status == ESP_OK)
        snprintf(path + length, size - length, "/%s" CALL_ENDING, id);
    return status;
}

void job_store_remove_call(const char *id)
{
    char path[PATH_MAX];
    if (job_store_call_path(id, path, sizeof path, NULL) == ESP_OK)
        unlink(path);
}

/* ---- how it ended ---- */

static bool path_of(const char *id, const char *ending, char *path, size_t size)
{
    char folder[PATH_MAX];
    return state_folder("jobs", folder, sizeof folder, NULL) == ESP_OK &&
           snprintf(path, size, "%s/%s%s", folder, id, ending) < (int)size;
}

bool job_store_has(const char *id)
{
    char path[PATH_MAX];
    return path_of(id, ENDING, path, sizeof path) && access(path, F_OK) == 0;
}

/* A job that was said to be cancelled is that after a power failure, too: its name must be on the disk. */
static enum esp_status sync_folder(struct esp_error *error)
{
    char folder[PATH_MAX];
    enum esp_status status = state_folder("jobs", folder, sizeof folder, error);
    const int fd = status == ESP_OK ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (status == ESP_OK && (fd < 0 || fsync(fd) != 0))
        status = error_errno(error, "cannot sync %s", folder);
    if (fd >= 0)
        close(fd);
    return status;
}

enum esp_status job_store_write_end(const char *id, const char *text, struct esp_error *error)
{
    enum esp_status status = write_file(id, END_ENDING, text, error);
    return status == ESP_OK ? sync_folder(error) : status;
}

bool job_store_read_end(const char *id, char **text)
{
    char path[PATH_MAX];
    void *data = NULL;
    uint64_t bytes = 0;
    *text = NULL;
    if (!path_of(id, END_ENDING, path, sizeof path) || access(path, F_OK) != 0)
        return false;
    if (contents_load(path, &data, &bytes, NULL) == ESP_OK && bytes <= MOST_BYTES)
        *text = strndup(data, (size_t)bytes);
    free(data);
    return *text != NULL;
}

void job_store_remove_end(const char *id)
{
    char path[PATH_MAX];
    if (path_of(id, END_ENDING, path, sizeof path))
        unlink(path);
}

enum esp_status job_store_remove(const char *id, struct esp_error *error)
{
    char folder[PATH_MAX], path[PATH_MAX + 64];
    enum esp_status status = state_folder("jobs", folder, sizeof folder, error);
    if (status != ESP_OK)
        return status;
    job_store_remove_call(id); /* first: nobody calls again what is being forgotten */
    snprintf(path, sizeof path, "%s/%s" ENDING, folder, id);
    const bool gone = unlink(path) == 0 || errno == ENOENT;
    if (!gone)
        return error_errno(error, "cannot remove %s", path);
    job_store_remove_end(id);
    return ESP_OK;
}
