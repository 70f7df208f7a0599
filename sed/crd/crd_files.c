/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/crd/crd_files.h"

#include "sed/pool/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES (COMMAND_MAX_FILE_NAME + 24) /* with a suffix like .1048576 */

bool file_is_texts(const struct ring_file *file)
{
    return (file->type == TYPE_STRING || file->type == TYPE_FILE) && file->n_dims > 0;
}

/* Writes the name of one element of an array, from 0, or of the argument itself. */
static void name_of(const struct ring_file *file, uint64_t element, char *name)
{
    const size_t length = strnlen(file->name, COMMAND_MAX_FILE_NAME);
    if (file_is_texts(file))
        snprintf(name, NAME_BYTES, "%.*s.%" PRIu64, (int)length, file->name, element + 1);
    else
        snprintf(name, NAME_BYTES, "%.*s", (int)length, file->name);
}

static enum esp_status malformed(struct esp_error *error)
{
    return error_set(error, ESP_INTERNAL, "the worker was handed a malformed call");
}

/* ---- writing ---- */

int file_create(int folder, const char *name)
{
    return openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static enum esp_status write_one(int folder, const char *name, const void *bytes, uint64_t n,
                                 struct esp_error *error)
{
    const int fd = file_create(folder, name);
    FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool good = stream && (n == 0 || fwrite(bytes, 1, n, stream) == n);
    if (stream)
        good = fclose(stream) == 0 && good;
    else if (fd >= 0)
        close(fd);
    return good ? ESP_OK : error_errno(error, "cannot write the input file '%s'", name);
}

enum esp_status file_write_each(int folder, const struct ring_file *file, const void *value,
                                struct esp_error *error)
{
    struct text_item item = {0};
    enum esp_status status = ESP_OK;
    if (!value || texts_check(value, file->bytes, (uint64_t)file->dims[0], false, NULL) != ESP_OK)
        return malformed(error);
    for (uint64_t i = 0; status == ESP_OK && i < (uint64_t)file->dims[0]; i++) {
        char name[NAME_BYTES];
        name_of(file, i, name);
        texts_next(value, i, &item);
        status = write_one(folder, name, item.bytes, item.length, error);
    }
    return status;
}

/* ---- reading ---- */

enum esp_status file_open_output(int folder, const char *name, uint64_t most, int *fd, off_t *size,
                                 struct esp_error *error)
{
    struct stat is;
    *fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0 && errno == ENOENT)
        return error_set(error, ESP_FAILED, "it did not write its output file '%s'", name);
    if (*fd < 0 || fstat(*fd, &is) != 0 || !S_ISREG(is.st_mode))
        return error_set(error, ESP_FAILED, "its output file '%s' is not a plain file that can be read",
                         name);
    *size = is.st_size;
    if ((uint64_t)is.st_size > most)
        return error_set(error, ESP_FAILED,
                         "its output file '%s' has %lld bytes: at most %" PRIu64 " are allowed (limit)", name,
                         (long long)is.st_size, most);
    return ESP_OK;
}

char *file_read_whole(int fd, size_t size)
{
    char *text = malloc(size + 1);
    size_t used = 0;
    while (text && used < size) {
        ssize_t n = pread(fd, text + used, size - used, (off_t)used);
        if (n <= 0 && errno != EINTR)
            break;
        used += n > 0 ? (size_t)n : 0;
    }
    if (text)
        text[used] = 0;
    return text;
}

enum esp_status file_send_texts(struct ring *ring, int socket, const struct ring_file *file,
                                const struct text_item *items, struct esp_error *error)
{
    void *value = NULL;
    uint64_t bytes;
    enum esp_status status = texts_pack(items, (uint64_t)file->dims[0], &value, &bytes, error);
    int fd = status == ESP_OK ? memfd_create("texts", MFD_CLOEXEC) : -1;
    if (status == ESP_OK && (fd < 0 || write(fd, value, bytes) != (ssize_t)bytes ||
                             !worker_send_output(ring, socket, file->argument, fd)))
        status = error_errno(error, "cannot hand over a result");
    if (fd >= 0)
        close(fd);
    free(value);
    return status;
}

static enum esp_status read_each(int folder, const struct ring_file *file, uint64_t most,
                                 struct text_item *items, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    uint64_t total = 0;
    for (uint64_t i = 0; status == ESP_OK && i < (uint64_t)file->dims[0]; i++) {
        char name[NAME_BYTES];
        int fd = -1;
        off_t size = 0;
        name_of(file, i, name);
        status = file_open_output(folder, name, most, &fd, &size, error);
        if (status == ESP_OK && (total += (uint64_t)size) > most)
            status =
                error_set(error, ESP_FAILED, "its output files '%s' have more than %" PRIu64 " bytes (limit)",
                          file->name, most);
        if (status == ESP_OK &&
            !(items[i] = (struct text_item){file_read_whole(fd, (size_t)size), (uint64_t)size}).bytes)
            status = error_no_memory(error, "a result");
        if (fd >= 0)
            close(fd);
    }
    return status;
}

enum esp_status file_send_each(struct ring *ring, int socket, int folder, const struct ring_file *file,
                               struct esp_error *error)
{
    const uint64_t n = (uint64_t)file->dims[0];
    struct text_item *items = n <= TEXTS_MOST ? calloc(n ? n : 1, sizeof *items) : NULL;
    if (!items)
        return error_no_memory(error, "a result");
    enum esp_status status = read_each(folder, file, ring->job.output_bytes, items, error);
    if (status == ESP_OK)
        status = file_send_texts(ring, socket, file, items, error);
    for (uint64_t i = 0; i < n; i++)
        free((void *)(uintptr_t)items[i].bytes);
    free(items);
    return status;
}

/* ---- files of a routine ---- */

/* Creates a folder for each call, because files of a state are in the folder above. */
static enum esp_status make_folder(struct paths *paths, struct esp_error *error)
{
    static unsigned number;
    char here[PATH_MAX];
    if (!getcwd(here, sizeof here))
        return error_errno(error, "the worker has no folder for the files of a call");
    for (unsigned attempts = 0; attempts < 100; attempts++) {
        const int length = snprintf(paths->folder, sizeof paths->folder, "%s/call-%u", here, ++number);
        if (length >= (int)sizeof paths->folder)
            break;
        if (mkdir(paths->folder, 0700) == 0)
            return ESP_OK;
        if (errno != EEXIST)
            break;
    }
    paths->folder[0] = 0;
    return error_errno(error, "cannot make a folder for the files of a call in %s", here);
}

static const void *value_of(struct ring *ring, const struct areas *areas, const struct ring_file *file)
{
    const struct ring_operand *from = &file->operand;
    if (from->place == OPERAND_AREA && from->value < areas->n &&
        areas->items[from->value].bytes >= file->bytes)
        return areas->items[from->value].data;
    return from->place == OPERAND_ARENA ? ring_value(ring, from, file->bytes) : NULL;
}

static enum esp_status write_input(struct ring *ring, const struct areas *areas, int folder,
                                   const struct ring_file *file, struct esp_error *error)
{
    const void *value = value_of(ring, areas, file);
    char name[NAME_BYTES];
    if (!value)
        return malformed(error);
    if (file_is_texts(file))
        return file_write_each(folder, file, value, error);
    name_of(file, 0, name);
    return write_one(folder, name, value, file->bytes, error);
}

/* The routine gets its own copies of the paths, so that overwriting them has no effect on reading the
 * files. */
static enum esp_status tell_paths(const struct ring *ring, struct areas *areas, struct paths *paths,
                                  uint32_t index, struct esp_error *error)
{
    const struct ring_file *file = &ring->job.files[index];
    const bool many = file_is_texts(file);
    const uint64_t n = many ? (uint64_t)file->dims[0] : 1;
    char name[NAME_BYTES];
    name_of(file, n ? n - 1 : 0, name); /* the longest */
    const size_t folder = strlen(paths->folder), length = folder + 1 + strlen(name);
    const uint64_t pointers = many && !ring->job.fortran_files ? n * sizeof(char *) : 0;
    const uint64_t each = ring->job.fortran_files ? length : length + 1;
    enum esp_status status = areas_add(areas, file->argument, pointers + n * each, error);
    if (status != ESP_OK)
        return status;
    char **list = paths->items[index].memory = areas->items[areas->n - 1].data;
    char *at = (char *)list + pointers;
    paths->items[index].length = length;
    for (uint64_t i = 0; i < n; i++, at += each) {
        name_of(file, i, name);
        const size_t end = strlen(name);
        memset(at, ring->job.fortran_files ? ' ' : 0, each);
        memcpy(at, paths->folder, folder);
        at[folder] = '/';
        memcpy(at + folder + 1, name, end);
        if (pointers)
            list[i] = at;
    }
    return ESP_OK;
}

enum esp_status paths_begin(struct ring *ring, struct areas *areas, struct paths *paths,
                            struct esp_error *error)
{
    const struct ring_job *job = &ring->job;
    ring->answer.trouble[0] = paths->folder[0] = 0;
    if (job->n_files == 0)
        return ESP_OK;
    enum esp_status status = job->n_files <= PROBLEM_MAX_ARGUMENTS ? ESP_OK : malformed(error);
    if (status == ESP_OK)
        status = make_folder(paths, error);
    const int folder =
        status == ESP_OK ? open(paths->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (status == ESP_OK && folder < 0)
        status = error_errno(error, "cannot open %s", paths->folder);
    for (uint32_t i = 0; status == ESP_OK && i < job->n_files; i++) {
        if (file_is_texts(&job->files[i]) &&
            (job->files[i].dims[0] < 0 || job->files[i].dims[0] > TEXTS_MOST))
            status = malformed(error);
        if (status == ESP_OK && job->files[i].goes_in)
            status = write_input(ring, areas, folder, &job->files[i], error);
        if (status == ESP_OK)
            status = tell_paths(ring, areas, paths, i, error);
    }
    if (folder >= 0)
        close(folder);
    return status;
}

static enum esp_status send_one(struct ring *ring, int socket, int folder, const struct ring_file *file,
                                struct esp_error *error)
{
    char name[NAME_BYTES];
    int fd = -1;
    off_t size = 0;
    if (file_is_texts(file))
        return file_send_each(ring, socket, folder, file, error);
    name_of(file, 0, name);
    enum esp_status status = file_open_output(folder, name, ring->job.output_bytes, &fd, &size, error);
    if (status == ESP_OK && !worker_send_output(ring, socket, file->argument, fd))
        status = error_errno(error, "cannot hand over a result");
    if (fd >= 0)
        close(fd);
    return status;
}

void paths_end(struct ring *ring, int socket, const struct paths *paths)
{
    struct esp_error error;
    enum esp_status status = ESP_OK;
    if (!paths->folder[0])
        return;
    const int folder = open(paths->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (uint32_t i = 0; status == ESP_OK && i < ring->job.n_files && i < PROBLEM_MAX_ARGUMENTS; i++)
        if (ring->job.files[i].comes_back)
            status = folder >= 0 ? send_one(ring, socket, folder, &ring->job.files[i], &error)
                                 : error_set(&error, ESP_FAILED, "the folder of its output files is gone");
    if (folder >= 0)
        close(folder);
    if (status != ESP_OK)
        snprintf(ring->answer.trouble, sizeof ring->answer.trouble, "%.255s", error.text);
}

void paths_remove(struct paths *paths)
{
    if (paths->folder[0])
        folder_remove(paths->folder);
    paths->folder[0] = 0;
}
