/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's list of jobs: a folder with one file for each. Only the user can read them, because the
 * secret in a file permits to cancel the job.
 */
#include "util/contents.h"
#include "client/jobs/job.h"
#include "client/session/session.h"
#include "services/state_folder.h"
#include "util/package.h"
#include "util/random.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
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

/* Writes under a temporary name first, so that no process reads half a file, and a full disk leaves no
 * file. */
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

/* ---- owner of the list ---- */

static bool read_owner(const char *path, uint8_t owner[OWNER_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool whole = read(fd, owner, OWNER_BYTES) == OWNER_BYTES;
    close(fd);
    return whole;
}

/* Of several programs, the first one draws the number for all. */
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

/* The id that begins so; an exact match goes before longer ids. */
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

/* ---- ends of jobs ---- */

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

/* A job that was reported as cancelled must stay so after a power failure: the name of its file must be on
 * the disk. */
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
    job_store_remove_call(id); /* first, so that no process calls the job again meanwhile */
    snprintf(path, sizeof path, "%s/%s" ENDING, folder, id);
    const bool gone = unlink(path) == 0 || errno == ENOENT;
    if (!gone)
        return error_errno(error, "cannot remove %s", path);
    job_store_remove_end(id);
    return ESP_OK;
}

/* The record of a job as a text: one JSON object. 64-bit numbers and values of scalars are hexadecimal,
 * because JSON's numbers are doubles. */

#define FORMAT 1

void job_record_clear(struct job_record *record)
{
    function_release(record->function);
    free(record->keepers);
    free(record->data);
    memset(record, 0, sizeof *record);
}

struct job_record *job_record_copy(const struct job_record *record)
{
    struct job_record *copy = malloc(sizeof *copy);
    char *keepers = record->keepers ? strdup(record->keepers) : NULL;
    struct left *data = left_copy(record->data);
    if (!copy || (record->keepers && !keepers) || (record->data && !data)) {
        free(copy);
        free(keepers);
        free(data);
        return NULL;
    }
    *copy = *record;
    copy->keepers = keepers;
    copy->data = data;
    copy->function = function_use(record->function);
    for (uint32_t i = 0; i < PROBLEM_MAX_ARGUMENTS; i++)
        copy->scalars[i] = record->scalars[i] ? copy->values[i] : NULL;
    return copy;
}

void job_record_destroy(struct job_record *record)
{
    if (record)
        job_record_clear(record);
    free(record);
}

static json_t *hex64(uint64_t number)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, number);
    return json_string(text);
}

const char *job_id(const struct job_record *record, char id[SESSION_TEXT])
{
    return session_id_text(&record->origin, id);
}

static json_t *hex_bytes(const unsigned char *bytes, size_t n)
{
    char text[33] = "";
    for (size_t i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return json_string(text);
}

static json_t *scalars_json(const struct job_record *record)
{
    const struct problem *problem = record->function->problem;
    json_t *scalars = json_object();
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (record->scalars[i])
            json_object_set_new(scalars, problem->arguments[i].name,
                                hex_bytes(record->values[i], base_type_size(problem->arguments[i].type)));
    return scalars;
}

/* The members of a session, among others. */
static void put_session(json_t *json, const struct session_id *session)
{
    json_object_set_new(json, "client_high", hex64(session->client_high));
    json_object_set_new(json, "client_low", hex64(session->client_low));
    json_object_set_new(json, "sequence", hex64(session->sequence));
    json_object_set_new(json, "secret", hex64(session->secret));
}

/* The members of a job that was called again, or that saves its state. */
static void put_past(json_t *json, const struct job_record *record)
{
    if (record->keepers)
        json_object_set_new(json, "keepers", json_string(record->keepers));
    if (record->losses == 0 && memcmp(&record->origin, &record->session, sizeof record->origin) == 0)
        return;
    json_t *origin = json_object(), *left = json_array();
    put_session(origin, &record->origin);
    for (uint32_t i = 0; i < record->n_left; i++) {
        json_t *one = json_pack("{s:s}", "address", record->left[i].address);
        put_session(one, &record->left[i].session);
        json_array_append_new(left, one);
    }
    json_object_set_new(json, "origin", origin);
    json_object_set_new(json, "left", left);
    json_object_set_new(json, "losses", json_integer(record->losses));
    json_object_set_new(json, "unsure", json_boolean(record->unsure));
}

static void put_data(json_t *json, const struct left *left)
{
    json_t *data = left ? json_array() : NULL;
    for (uint32_t i = 0; left && i < left->n; i++)
        json_array_append_new(data, json_pack("{s:s, s:i, s:b, s:b, s:s}", "argument", left->data[i].argument,
                                              "position", (int)left->data[i].position, "output",
                                              left->data[i].is_output, "own", left->data[i].own, "id",
                                              left->data[i].id));
    if (data)
        json_object_set_new(json, "data", data);
}

static void put_names(json_t *json, const struct job_record *record)
{
    json_t *names = record->n_names > 0 ? json_array() : NULL;
    for (uint32_t i = 0; i < record->n_names; i++)
        json_array_append_new(names,
                              json_pack("{s:s, s:s, s:I}", "name", record->names[i].name, "of",
                                        record->names[i].of, "rows", (json_int_t)record->names[i].rows));
    if (names)
        json_object_set_new(json, "names", names);
}

char *job_token_write(const struct job_record *record)
{
    const struct problem *problem = record->function->problem;
    json_t *json = json_pack("{s:i, s:s, s:s, s:o, s:f, s:s, s:o, s:o, s:s}", "espalier_job", FORMAT,
                             "server", record->server, "address", record->address, "incarnation",
                             hex64(record->incarnation), "submitted", record->submitted_s, "problem",
                             problem->name, "digest", hex64(record->function->digest), "scalars",
                             scalars_json(record), "description", problem->source);
    put_session(json, &record->session);
    put_past(json, record);
    put_data(json, record->data);
    put_names(json, record);
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(json);
    return text;
}

/* ---- reading ---- */

static bool read_hex(const char *text, unsigned char *bytes, size_t n)
{
    if (!text || strlen(text) != 2 * n || strspn(text, "0123456789abcdef") != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char pair[3] = {text[2 * i], text[2 * i + 1], 0};
        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return true;
}

static const char *member(json_t *json, const char *name, struct esp_error *error)
{
    const char *text = json_string_value(json_object_get(json, name));
    if (!text && error->status == ESP_OK)
        error_set(error, ESP_SYNTAX, "the record of a job: expected a text \"%s\", found none", name);
    return text ? text : "";
}

static uint64_t number(json_t *json, const char *name, struct esp_error *error)
{
    const char *text = member(json, name, error);
    unsigned char bytes[8];
    if (error->status == ESP_OK && !read_hex(text, bytes, sizeof bytes))
        error_set(error, ESP_SYNTAX,
                  "the record of a job: \"%s\": expected 16 hexadecimal digits, found '%.40s'", name, text);
    return error->status == ESP_OK ? strtoull(text, NULL, 16) : 0;
}

static void read_text(json_t *json, const char *name, char *text, size_t size, struct esp_error *error)
{
    const char *found = member(json, name, error);
    if (strlen(found) >= size && error->status == ESP_OK)
        error_set(error, ESP_SYNTAX, "the record of a job: \"%s\" has %zu characters; at most %zu", name,
                  strlen(found), size - 1);
    snprintf(text, size, "%s", found);
}

static void read_function(json_t *json, struct job_record *record, struct esp_error *error)
{
    const char *problem = member(json, "problem", error);
    struct describe_reply described = {.digest = number(json, "digest", error),
                                       .text = member(json, "description", error)};
    if (error->status != ESP_OK)
        return;
    if (function_create(problem, &described, &record->function, error) != ESP_OK) {
        error_prefix(error, "the record of a job");
        error->status = ESP_SYNTAX;
    }
}

static void read_scalars(json_t *json, struct job_record *record, struct esp_error *error)
{
    json_t *scalars = json_object_get(json, "scalars");
    const struct problem *problem = record->function->problem;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        json_t *value = json_object_get(scalars, argument->name);
        size_t size = base_type_size(argument->type);
        if (!value)
            continue;
        if (argument->n_dims > 0 || !argument_is_input(argument) || size == 0 || size > 16 ||
            !read_hex(json_string_value(value), record->values[i], size)) {
            error_set(error, ESP_SYNTAX, "the record of a job: \"%s\" is no value of type %s", argument->name,
                      base_type_name(argument->type));
            return;
        }
        record->scalars[i] = record->values[i];
    }
}

static struct session_id read_session(json_t *json, struct esp_error *error)
{
    return (struct session_id){.client_high = number(json, "client_high", error),
                               .client_low = number(json, "client_low", error),
                               .sequence = number(json, "sequence", error),
                               .secret = number(json, "secret", error)};
}

static void read_past(json_t *json, struct job_record *record, struct esp_error *error)
{
    json_t *origin = json_object_get(json, "origin"), *left = json_object_get(json, "left");
    const char *keepers = json_string_value(json_object_get(json, "keepers"));
    const json_int_t losses = json_integer_value(json_object_get(json, "losses"));
    record->origin = origin ? read_session(origin, error) : record->session;
    record->losses = losses > 0 && losses <= JOB_MOST_LOSSES ? (uint32_t)losses
                     : losses > 0                            ? JOB_MOST_LOSSES
                                                             : 0;
    record->unsure = json_is_true(json_object_get(json, "unsure"));
    for (size_t i = 0; i < json_array_size(left) && record->n_left < JOB_MOST_LOSSES; i++) {
        struct job_left *one = &record->left[record->n_left++];
        one->session = read_session(json_array_get(left, i), error);
        read_text(json_array_get(left, i), "address", one->address, sizeof one->address, error);
    }
    if (keepers && !(record->keepers = strdup(keepers)) && error->status == ESP_OK)
        error_no_memory(error, "the record of a job");
}

static void read_data(json_t *json, struct job_record *record, struct esp_error *error)
{
    json_t *list = json_object_get(json, "data");
    const size_t n = json_array_size(list);
    struct datum_id id;
    if (n == 0 || n > 2 * PROBLEM_MAX_ARGUMENTS)
        return;
    record->data = calloc(1, sizeof *record->data + n * sizeof *record->data->data);
    for (size_t i = 0; record->data && i < n; i++) {
        json_t *one = json_array_get(list, i);
        const json_int_t position = json_integer_value(json_object_get(one, "position"));
        struct left_datum *datum = &record->data->data[record->data->n++];
        *datum = (struct left_datum){
            .position = position > 0 && position < PROBLEM_MAX_ARGUMENTS ? (uint32_t)position : 0,
            .is_output = json_is_true(json_object_get(one, "output")),
            .own = json_is_true(json_object_get(one, "own"))};
        read_text(one, "argument", datum->argument, sizeof datum->argument, error);
        read_text(one, "id", datum->id, sizeof datum->id, error);
        if (error->status == ESP_OK && datum_id_parse(datum->id, &id, error) != ESP_OK)
            error_prefix(error, "the record of a job");
    }
    if (!record->data && error->status == ESP_OK)
        error_no_memory(error, "the record of a job");
}

static void read_names(json_t *json, struct job_record *record, struct esp_error *error)
{
    json_t *list = json_object_get(json, "names");
    for (size_t i = 0; i < json_array_size(list) && record->n_names < ABSTRACT_MAX_PAIRS; i++) {
        struct other_name *one = &record->names[record->n_names++];
        json_t *found = json_array_get(list, i), *rows = json_object_get(found, "rows");
        read_text(found, "name", one->name, sizeof one->name, error);
        read_text(found, "of", one->of, sizeof one->of, error);
        one->rows = json_is_integer(rows) ? json_integer_value(rows) : -1;
    }
}

enum esp_status job_token_read(const char *token, struct job_record *record, struct esp_error *error)
{
    json_error_t wrong;
    struct esp_error found = {0};
    memset(record, 0, sizeof *record);
    json_t *json = json_loads(token, 0, &wrong);
    if (!json)
        return error_set(error, ESP_SYNTAX, "the record of a job: %s in line %d, column %d", wrong.text,
                         wrong.line, wrong.column);
    json_int_t format = json_integer_value(json_object_get(json, "espalier_job"));
    if (format != FORMAT)
        error_set(&found, ESP_SYNTAX, "the record of a job: expected \"espalier_job\": %d, found %s", FORMAT,
                  json_object_get(json, "espalier_job") ? "another release's" : "none");
    record->session = read_session(json, &found);
    read_text(json, "server", record->server, sizeof record->server, &found);
    read_text(json, "address", record->address, sizeof record->address, &found);
    record->incarnation = number(json, "incarnation", &found);
    record->submitted_s = json_number_value(json_object_get(json, "submitted"));
    read_past(json, record, &found);
    read_data(json, record, &found);
    read_names(json, record, &found);
    read_function(json, record, &found);
    if (found.status == ESP_OK)
        read_scalars(json, record, &found);
    json_decref(json);
    if (found.status != ESP_OK)
        job_record_clear(record);
    return found.status == ESP_OK ? ESP_OK : error_set(error, found.status, "%s", found.text);
}
