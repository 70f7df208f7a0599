/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/platform_state.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_RECORDS 100000

static bool is_name(const char *name)
{
    if (!*name || *name == '.' || strlen(name) >= PLATFORM_MAX_NAME)
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("._-", *name))
            return false;
    return true;
}

static void base_folder(char *path, size_t size)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime && *runtime == '/' && access(runtime, W_OK) == 0)
        snprintf(path, size, "%s/espalier", runtime);
    else
        snprintf(path, size, "/tmp/espalier-%lu", (unsigned long)geteuid());
}

enum esp_status platform_state_locate(const char *name, struct platform_state *state, struct esp_error *error)
{
    char base[PLATFORM_PATH / 2];
    const char *slash = strrchr(name, '/');
    size_t length = strlen(slash ? slash + 1 : name);
    *state = (struct platform_state){.lock = -1};
    snprintf(state->name, sizeof state->name, "%s", slash ? slash + 1 : name);
    if (length < sizeof state->name && length > 5 && strcmp(state->name + length - 5, ".conf") == 0)
        state->name[length - 5] = 0;
    if (length >= sizeof state->name || !is_name(state->name))
        return error_set(error, ESP_INVALID,
                         "'%.100s' is not a platform's name: expected letters, digits, '.', '_', '-'", name);
    base_folder(base, sizeof base);
    snprintf(state->dir, sizeof state->dir, "%s/%s", base, state->name);
    return ESP_OK;
}

void platform_state_names(char *names, size_t size)
{
    char base[PLATFORM_PATH / 2], client[PATH_MAX];
    base_folder(base, sizeof base);
    names[0] = '\0';
    DIR *folder = opendir(base);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        const size_t n = strlen(names);
        snprintf(client, sizeof client, "%s/%s/client.conf", base, entry->d_name);
        if (!is_name(entry->d_name) || access(client, R_OK) != 0 || n + strlen(entry->d_name) + 3 > size)
            continue;
        snprintf(names + n, size - n, "%s%s", n > 0 ? ", " : "", entry->d_name);
    }
    if (folder)
        closedir(folder);
}

bool platform_state_of_config(const char *config, char name[PLATFORM_MAX_NAME])
{
    static const char file[] = "/client.conf";
    char folder[PLATFORM_PATH];
    const size_t n = strlen(config);
    if (n < sizeof file || n >= sizeof folder || strcmp(config + n - (sizeof file - 1), file) != 0)
        return false;
    snprintf(folder, sizeof folder, "%.*s", (int)(n - (sizeof file - 1)), config);
    struct platform_state state;
    const char *last = strrchr(folder, '/');
    if (!last || platform_state_locate(last + 1, &state, NULL) != ESP_OK || strcmp(state.dir, folder) != 0)
        return false;
    snprintf(name, PLATFORM_MAX_NAME, "%s", state.name);
    return true;
}

/* A folder of ours that nobody else can write to: /tmp is everybody's. */
static enum esp_status own_folder(const char *path, bool create, bool *created, struct esp_error *error)
{
    struct stat there;
    *created = create && mkdir(path, 0700) == 0;
    if (create && !*created && errno != EEXIST)
        return error_errno(error, "cannot create %s", path);
    if (lstat(path, &there) != 0)
        return errno == ENOENT ? error_set(error, ESP_NOT_FOUND, "%s does not exist", path)
                               : error_errno(error, "cannot look at %s", path);
    if (!S_ISDIR(there.st_mode) || there.st_uid != geteuid() || (there.st_mode & 022))
        return error_set(error, ESP_REFUSED, "%s is not a folder that only you can write to", path);
    return ESP_OK;
}

static void lock_path(const struct platform_state *state, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/lock", state->dir);
}

/* Whoever held it before may have removed it together with the folder. */
static bool is_there_still(int lock, const char *path)
{
    struct stat held, there;
    return fstat(lock, &held) == 0 && stat(path, &there) == 0 && held.st_dev == there.st_dev &&
           held.st_ino == there.st_ino;
}

enum esp_status platform_state_acquire(const char *name, bool create, struct platform_state *state,
                                       struct esp_error *error)
{
    char base[PLATFORM_PATH / 2], path[PATH_MAX];
    bool base_created;
    enum esp_status status = platform_state_locate(name, state, error);
    if (status != ESP_OK)
        return status;
    base_folder(base, sizeof base);
    status = own_folder(base, create, &base_created, error);
    if (status == ESP_OK)
        status = own_folder(state->dir, create, &state->created, error);
    if (status == ESP_NOT_FOUND)
        return error_set(error, ESP_NOT_FOUND, "no platform '%s' was started here", state->name);
    if (status != ESP_OK)
        return status;
    lock_path(state, path);
    state->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (state->lock < 0)
        return error_errno(error, "cannot open %s", path);
    if (flock(state->lock, LOCK_EX | LOCK_NB) == 0 && is_there_still(state->lock, path))
        return ESP_OK;
    state->created = false; /* it is in use */
    platform_state_release(state);
    return error_set(error, ESP_REFUSED, "another 'espalier up' or 'espalier down' of '%s' is at work",
                     state->name);
}

static bool has_lock_only(const struct platform_state *state)
{
    DIR *folder = opendir(state->dir);
    bool other = false;
    for (struct dirent *entry; folder && !other && (entry = readdir(folder));)
        other = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                strcmp(entry->d_name, "lock") != 0;
    if (folder)
        closedir(folder);
    return folder && !other;
}

void platform_state_release(struct platform_state *state)
{
    char path[PATH_MAX];
    lock_path(state, path);
    if (state->lock >= 0 && state->created && has_lock_only(state) && unlink(path) == 0)
        rmdir(state->dir);
    if (state->lock >= 0)
        close(state->lock);
    state->lock = -1;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

void platform_state_remove(const struct platform_state *state)
{
    nftw(state->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void records_path(const struct platform_state *state, char *path, size_t size)
{
    snprintf(path, size, "%s/processes", state->dir);
}

/* Of the file of records: machines are reached side by side. */
static pthread_mutex_t records_lock = PTHREAD_MUTEX_INITIALIZER;

static void put_record(FILE *stream, const struct platform_record *record)
{
    fprintf(stream, "%s %ld %llu %s\n", record->kind, (long)record->pid, record->start, record->name);
}

enum esp_status platform_record_add(const struct platform_state *state, const struct platform_record *record,
                                    struct esp_error *error)
{
    char path[PATH_MAX];
    enum esp_status status = ESP_OK;
    records_path(state, path, sizeof path);
    pthread_mutex_lock(&records_lock);
    FILE *stream = fopen(path, "ae");
    if (stream)
        put_record(stream, record);
    if (!stream || fclose(stream) != 0)
        status = error_errno(error, "cannot write %s", path);
    pthread_mutex_unlock(&records_lock);
    return status;
}

/* With the lock held. */
static enum esp_status write_without(const struct platform_state *state, const struct platform_record *gone,
                                     struct esp_error *error)
{
    char path[PATH_MAX], temporary[PATH_MAX + 4];
    struct platform_record *records;
    size_t n;
    enum esp_status status = platform_record_list(state, &records, &n, error);
    if (status != ESP_OK)
        return status;
    records_path(state, path, sizeof path);
    snprintf(temporary, sizeof temporary, "%s.new", path);
    FILE *stream = fopen(temporary, "we");
    for (size_t i = 0; stream && i < n; i++)
        if (strcmp(records[i].kind, gone->kind) != 0 || strcmp(records[i].name, gone->name) != 0)
            put_record(stream, &records[i]);
    free(records);
    if (!stream || fclose(stream) != 0 || rename(temporary, path) != 0)
        status = error_errno(error, "cannot write %s", path);
    return status;
}

enum esp_status platform_record_remove(const struct platform_state *state,
                                       const struct platform_record *record, struct esp_error *error)
{
    pthread_mutex_lock(&records_lock);
    const enum esp_status status = write_without(state, record, error);
    pthread_mutex_unlock(&records_lock);
    return status;
}

enum esp_status platform_record_list(const struct platform_state *state, struct platform_record **records,
                                     size_t *n, struct esp_error *error)
{
    char path[PATH_MAX];
    *records = NULL;
    *n = 0;
    records_path(state, path, sizeof path);
    FILE *stream = fopen(path, "re");
    if (!stream)
        return errno == ENOENT ? ESP_OK : error_errno(error, "cannot read %s", path);
    struct platform_record record;
    long pid;
    while (*n < MAX_RECORDS &&
           fscanf(stream, "%15s %ld %llu %255[^\n]", record.kind, &pid, &record.start, record.name) == 4) {
        record.pid = (pid_t)pid;
        struct platform_record *more = realloc(*records, (*n + 1) * sizeof *more);
        if (!more) {
            fclose(stream);
            return error_no_memory(error, "the list of processes");
        }
        *records = more;
        more[(*n)++] = record;
    }
    fclose(stream);
    return ESP_OK;
}

void platform_record_clear(const struct platform_state *state)
{
    char path[PATH_MAX];
    records_path(state, path, sizeof path);
    unlink(path);
}
