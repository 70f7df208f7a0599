/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "flow/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES 600

struct journal {
    int fd;
    char *path;
    int failure; /* errno of a line that could not be written; 0: none */
};

typedef void tell_entry(void *arg, const struct journal_entry *entry);

static bool read_hex(const char *text, unsigned char *bytes)
{
    for (unsigned i = 0; i < 16; i++) {
        unsigned byte;
        if (sscanf(text + (size_t)2 * i, "%2x", &byte) != 1)
            return false;
        bytes[i] = (unsigned char)byte;
    }
    return text[32] == 0;
}

static bool read_line(const char *line, tell_entry *tell, void *arg)
{
    struct journal_entry entry = {.kind = JOURNAL_DONE};
    unsigned output = 0;
    char text[LINE_BYTES];
    if (sscanf(line, "data %" SCNu32 " %u %500s", &entry.task, &output, text) == 3) {
        entry.kind = JOURNAL_DATA;
        entry.id = text;
    } else if (sscanf(line, "scalar %" SCNu32 " %u %500s", &entry.task, &output, text) == 3) {
        entry.kind = JOURNAL_SCALAR;
        if (!read_hex(text, entry.scalar))
            return false;
    } else if (sscanf(line, "done %" SCNu32, &entry.task) != 1) {
        return false;
    }
    if (output > UINT8_MAX)
        return false;
    entry.output = (uint8_t)output;
    tell(arg, &entry);
    return true;
}

/* The whole file, ended by a zero; for free(). */
static enum esp_status read_all(struct journal *journal, char **text, size_t *length, struct esp_error *error)
{
    struct stat status;
    *text = NULL;
    if (fstat(journal->fd, &status) != 0)
        return error_set(error, ESP_SYSTEM, "%s: %s", journal->path, strerror(errno));
    if (status.st_size > JOURNAL_MOST_BYTES)
        return error_set(error, ESP_LIMIT, "%s: a journal has at most %d bytes", journal->path,
                         JOURNAL_MOST_BYTES);
    *length = (size_t)status.st_size;
    *text = malloc(*length + 1);
    if (!*text)
        return error_no_memory(error, journal->path);
    ssize_t n = pread(journal->fd, *text, *length, 0);
    if (n < 0 || (size_t)n != *length) {
        free(*text);
        *text = NULL;
        return error_set(error, ESP_SYSTEM, "%s: cannot be read", journal->path);
    }
    (*text)[*length] = 0;
    return ESP_OK;
}

/* The lines behind the first one. *whole: the bytes of the lines that are whole. */
static enum esp_status read_lines(const struct journal *journal, char *text, size_t *whole, tell_entry *tell,
                                  void *arg, struct esp_error *error)
{
    unsigned number = 1;
    char *line = strchr(text, '\n') + 1;
    for (char *end = strchr(line, '\n'); end; end = strchr(line, '\n')) {
        *end = 0;
        number++;
        if (!read_line(line, tell, arg))
            return error_set(error, ESP_SYNTAX, "%s:%u: expected a line of a flow's journal, found '%.40s'",
                             journal->path, number, line);
        line = end + 1;
    }
    *whole = (size_t)(line - text);
    return ESP_OK;
}

static bool read_head(const char *text, uint64_t *digest, long *pid)
{
    return strchr(text, '\n') && sscanf(text, "espalier flow 1 %16" SCNx64 " %ld", digest, pid) == 2;
}

static void write_line(struct journal *journal, const char *line, size_t length)
{
    if (!journal->failure && write(journal->fd, line, length) != (ssize_t)length)
        journal->failure = errno ? errno : ENOSPC;
}

static enum esp_status open_file(const char *path, int flags, struct journal **journal,
                                 struct esp_error *error)
{
    struct journal *made = calloc(1, sizeof *made);
    *journal = NULL;
    if (!made || !(made->path = strdup(path))) {
        free(made);
        return error_no_memory(error, "a journal");
    }
    made->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | flags, 0600);
    if (made->fd < 0) {
        enum esp_status status =
            error_set(error, errno == ENOENT ? ESP_NOT_FOUND : ESP_SYSTEM, "%s: %s", path, strerror(errno));
        free(made->path);
        free(made);
        return status;
    }
    *journal = made;
    return ESP_OK;
}

/* The file is new, or of the same run. */
static enum esp_status take_file(struct journal *journal, uint64_t digest, tell_entry *tell, void *arg,
                                 struct esp_error *error)
{
    char *text, line[LINE_BYTES];
    size_t length, whole = 0;
    uint64_t found;
    long pid;
    enum esp_status status = read_all(journal, &text, &length, error);
    if (status == ESP_OK && length > 0 && !read_head(text, &found, &pid))
        status = error_set(error, ESP_INVALID, "%s: expected the journal of a flow", journal->path);
    else if (status == ESP_OK && length > 0 && found != digest)
        status = error_set(error, ESP_INVALID,
                           "%s: the journal is of another flow, or of other parameters, inputs or nodes",
                           journal->path);
    else if (status == ESP_OK && length > 0)
        status = read_lines(journal, text, &whole, tell, arg, error);
    /* The first line names this process now: it is as long as before. */
    int n = snprintf(line, sizeof line, "espalier flow 1 %016" PRIx64 " %010ld\n", digest, (long)getpid());
    if (status == ESP_OK && whole == 0)
        write_line(journal, line, (size_t)n);
    if (status == ESP_OK && whole > 0) {
        int fd = open(journal->path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || ftruncate(fd, (off_t)whole) != 0 || pwrite(fd, line, (size_t)n, 0) != n)
            journal->failure = errno;
        if (fd >= 0)
            close(fd);
    }
    free(text);
    return status == ESP_OK ? journal_error(journal, error) : status;
}

enum esp_status journal_open(const char *path, uint64_t digest, tell_entry *tell, void *arg,
                             struct journal **journal, struct esp_error *error)
{
    enum esp_status status = open_file(path, O_CREAT, journal, error);
    if (status != ESP_OK)
        return status;
    if (flock((*journal)->fd, LOCK_EX | LOCK_NB) != 0)
        status = error_set(error, ESP_BUSY, "%s: another run has this journal", path);
    else
        status = take_file(*journal, digest, tell, arg, error);
    if (status != ESP_OK) {
        journal_close(*journal, false);
        *journal = NULL;
    }
    return status;
}

enum esp_status journal_inspect(const char *path, tell_entry *tell, void *arg, long *pid,
                                struct journal **journal, struct esp_error *error)
{
    char *text;
    size_t length, whole;
    uint64_t digest;
    enum esp_status status = open_file(path, 0, journal, error);
    if (status != ESP_OK)
        return status;
    bool is_free = flock((*journal)->fd, LOCK_EX | LOCK_NB) == 0;
    status = read_all(*journal, &text, &length, error);
    if (status == ESP_OK && !read_head(text, &digest, pid))
        status = error_set(error, ESP_INVALID, "%s: expected the journal of a flow", path);
    if (status == ESP_OK && is_free) {
        *pid = 0;
        status = read_lines(*journal, text, &whole, tell, arg, error);
    }
    free(text);
    if (status != ESP_OK) {
        journal_close(*journal, false);
        *journal = NULL;
    }
    return status;
}

void journal_close(struct journal *journal, bool remove)
{
    if (!journal)
        return;
    if (remove)
        unlink(journal->path);
    close(journal->fd);
    free(journal->path);
    free(journal);
}

void journal_add_data(struct journal *journal, uint32_t task, uint8_t output, const char *id)
{
    char line[LINE_BYTES];
    int n = snprintf(line, sizeof line, "data %" PRIu32 " %u %.500s\n", task, output, id);
    write_line(journal, line, (size_t)n);
}

void journal_add_scalar(struct journal *journal, uint32_t task, uint8_t output, const void *bytes)
{
    char line[LINE_BYTES];
    int n = snprintf(line, sizeof line, "scalar %" PRIu32 " %u ", task, output);
    for (unsigned i = 0; i < 16; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, "%02x", ((const unsigned char *)bytes)[i]);
    line[n++] = '\n';
    write_line(journal, line, (size_t)n);
}

void journal_add_done(struct journal *journal, uint32_t task)
{
    char line[LINE_BYTES];
    int n = snprintf(line, sizeof line, "done %" PRIu32 "\n", task);
    write_line(journal, line, (size_t)n);
}

enum esp_status journal_error(const struct journal *journal, struct esp_error *error)
{
    if (!journal->failure)
        return ESP_OK;
    return error_set(error, ESP_SYSTEM, "%s: %s", journal->path, strerror(journal->failure));
}
