/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/batch_folder.h"

#include "sed/batch/batch_script.h"
#include "sed/pool/folder.h"
#include "util/durable_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK "lock"

/* Another user must reach his run folder, and must not see what else is there. */
static mode_t mode_of(bool other_user)
{
    return other_user ? 0711 : 0700;
}

static enum esp_status check_path(const char *folder, struct esp_error *error)
{
    if (*folder != '/')
        return error_set(error, ESP_CONFIG, "batch_folder: expected an absolute path, found \"%.200s\"",
                         folder);
    if (strlen(folder) + BATCH_NAME_BYTES + 32 > PATH_MAX)
        return error_set(error, ESP_CONFIG, "batch_folder: the path \"%.100s...\" is too long", folder);
    for (const char *at = folder; *at; at++)
        if (*at == '%' || *at == '\\' || iscntrl((unsigned char)*at))
            return error_set(
                error, ESP_CONFIG,
                "batch_folder: expected a path without '%%', '\\' and control characters, which batch "
                "systems replace in names of files, found \"%.200s\"",
                folder);
    return ESP_OK;
}

static enum esp_status make(const char *path, mode_t mode, struct esp_error *error)
{
    if (mkdir(path, mode) != 0 && errno != EEXIST)
        return error_errno(error, "cannot make the folder %s", path);
    if (chmod(path, mode) != 0)
        return error_errno(error, "cannot set the mode of the folder %s", path);
    return ESP_OK;
}

enum esp_status batch_folder_open(const char *folder, bool other_user, int *lock, struct esp_error *error)
{
    char path[PATH_MAX];
    enum esp_status status = check_path(folder, error);
    if (status == ESP_OK)
        status = make(folder, mode_of(other_user), error);
    if (status != ESP_OK)
        return status;
    snprintf(path, sizeof path, "%s/" LOCK, folder);
    *lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*lock < 0)
        return error_errno(error, "cannot open %s", path);
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0)
        return ESP_OK;
    status = errno == EWOULDBLOCK
                 ? error_set(error, ESP_BUSY, "another server uses the folder of batch jobs %s", folder)
                 : error_errno(error, "cannot lock %s", path);
    close(*lock);
    *lock = -1;
    return status;
}

bool batch_folder_run(const char *folder, const char *name, char *run)
{
    return snprintf(run, PATH_MAX, "%s/%s/" BATCH_FOLDER_RUN, folder, name) < PATH_MAX;
}

enum esp_status batch_folder_make(const char *folder, const char *name, bool other_user,
                                  struct esp_error *error)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    enum esp_status status = make(path, mode_of(other_user), error);
    if (status == ESP_OK && batch_folder_run(folder, name, path))
        status = make(path, 0700, error);
    return status;
}

/* ---- the script, and who owns what ---- */

struct writing {
    const char *text;
};

static bool write_text(FILE *file, const void *arg)
{
    return fputs(((const struct writing *)arg)->text, file) >= 0;
}

/* The folder goes last: as long as it is the server's, nobody else can put links into it. */
static bool give(int folder, const struct batch_user *user)
{
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
    bool given = entries;
    for (const struct dirent *entry = entries ? readdir(entries) : NULL; entry; entry = readdir(entries)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        given = given && fchownat(folder, entry->d_name, user->uid, user->gid, AT_SYMLINK_NOFOLLOW) == 0;
    }
    if (entries)
        closedir(entries);
    else if (copy >= 0)
        close(copy);
    return given && fchown(folder, user->uid, user->gid) == 0;
}

enum esp_status batch_folder_hand_over(const char *run, const char *script, const struct batch_user *user,
                                       struct esp_error *error)
{
    const struct writing writing = {script};
    enum esp_status status = durable_file_replace(run, BATCH_FILE_SCRIPT, write_text, &writing, error);
    if (status != ESP_OK || !user || user->uid == geteuid())
        return status;
    const int folder = open(run, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 || !give(folder, user))
        status = error_errno(error, "cannot give %s to the user %s", run, user->name);
    if (folder >= 0)
        close(folder);
    return status;
}

/* ---- the record ---- */

enum esp_status batch_folder_save(const char *folder, const struct batch_record *record,
                                  struct esp_error *error)
{
    char path[PATH_MAX], text[BATCH_RECORD_BYTES];
    const struct writing writing = {text};
    batch_record_write(record, text);
    snprintf(path, sizeof path, "%s/%s", folder, record->name);
    return durable_file_replace(path, BATCH_FILE_RECORD, write_text, &writing, error);
}

/* The first bytes of a regular file. -1: there is none. */
static ssize_t read_start(int folder, const char *name, char *text, size_t size)
{
    struct stat is;
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = -1;
    if (fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode))
        n = read(fd, text, size);
    if (fd >= 0)
        close(fd);
    return n;
}

static int open_folder(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

enum esp_status batch_folder_load(const char *folder, const char *name, struct batch_record *record,
                                  struct esp_error *error)
{
    char path[PATH_MAX], text[BATCH_RECORD_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const int at = open_folder(path);
    const ssize_t n = at < 0 ? -1 : read_start(at, BATCH_FILE_RECORD, text, sizeof text);
    if (at >= 0)
        close(at);
    if (n < 0)
        return error_set(error, ESP_NOT_FOUND, "there is no file %s/" BATCH_FILE_RECORD, path);
    enum esp_status status = batch_record_read(text, (size_t)n, record, error);
    if (status == ESP_OK && strcmp(record->name, name) != 0)
        status = error_set(error, ESP_SYNTAX, "expected the job %s, found %s", name, record->name);
    if (status != ESP_OK)
        return error_prefix(error, "%s/" BATCH_FILE_RECORD, path);
    return ESP_OK;
}

/* ---- what the job has written ---- */

static void read_started(const char *text, struct batch_traces *traces)
{
    traces->started = sscanf(text, "%" SCNd64 " %127s", &traces->started_s, traces->node) >= 1;
    for (char *at = traces->node; *at; at++)
        if (!isprint((unsigned char)*at))
            *at = '?';
}

void batch_folder_look(const char *run, struct batch_traces *traces)
{
    char text[256];
    *traces = (struct batch_traces){.exit_code = -1};
    const int folder = open_folder(run);
    if (folder < 0)
        return;
    ssize_t n = read_start(folder, BATCH_FILE_STARTED, text, sizeof text - 1);
    if (n > 0) {
        text[n] = 0;
        read_started(text, traces);
    }
    n = read_start(folder, BATCH_FILE_EXIT, text, sizeof text);
    if (n > 0)
        traces->exit_code = batch_script_read_exit(text, (size_t)n);
    close(folder);
}

void batch_folder_remove(const char *folder, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    folder_remove(path);
}
