/* SPDX-License-Identifier: Apache-2.0 */
#include "util/log.h"
#include "util/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_LINE    4096 /* longest line: with O_APPEND one write() of this size stays in one piece */
#define MAX_MESSAGE 3072

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards node, path and descriptor */
static char node[128] = "-";
static char *path;
static int descriptor = STDERR_FILENO;
static atomic_int threshold = LOG_NOTICE_LEVEL;

static const char *const level_names[] = {"error", "warning", "notice", "debug"};

/* Called with the lock held. The calendar is computed once per second, because daemons write many lines. */
static size_t append_time(char *line)
{
    static time_t second = -1;
    static char calendar[40];
    static size_t length;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec != second) {
        struct tm parts;
        gmtime_r(&now.tv_sec, &parts);
        length = strftime(calendar, sizeof calendar, "%Y-%m-%dT%H:%M:%S", &parts);
        second = now.tv_sec;
    }
    memcpy(line, calendar, length);
    return length + (size_t)snprintf(line + length, 20, ".%06ldZ ", now.tv_nsec / 1000);
}

/* Short writes are completed. A full disk or a closed pipe loses the line, because the daemon must
 * continue. */
static void write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        data += n;
        length -= (size_t)n;
    }
}

bool log_wants(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&threshold, memory_order_relaxed);
}

void log_write(enum log_level level, const char *session, const char *format, ...)
{
    char message[MAX_MESSAGE], line[MAX_LINE];
    int saved = errno;
    if (!log_wants(level))
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);

    pthread_mutex_lock(&lock);
    size_t used = append_time(line);
    used += (size_t)snprintf(line + used, 20, "%s ", level_names[level]);
    used = escape_append(line, sizeof line - 2, used, node);
    if (session) {
        memcpy(line + used, " session=", 9);
        used = escape_append(line, sizeof line - 2, used + 9, session);
    }
    line[used++] = ' ';
    used = escape_append(line, sizeof line - 2, used, message);
    line[used++] = '\n';
    write_all(descriptor, line, used);
    pthread_mutex_unlock(&lock);
    errno = saved;
}

bool log_quota_take(struct log_quota *quota, int64_t now_ns)
{
    int64_t second = now_ns / INT64_C(1000000000);
    if (second != quota->second) {
        if (quota->left_out > 0)
            log_notice("%s: %u more in the second that the lines above are from", quota->what,
                       quota->left_out);
        quota->second = second;
        quota->written = quota->left_out = 0;
    }
    if (quota->written < quota->most || log_wants(LOG_DEBUG_LEVEL)) {
        quota->written++;
        return true;
    }
    quota->left_out++;
    return false;
}

static int open_file(const char *name)
{
    return open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

enum esp_status log_open(const struct log_options *options, struct esp_error *error)
{
    int fd = STDERR_FILENO;
    char *copy = NULL;
    if (options->path) {
        copy = strdup(options->path);
        if (!copy)
            return error_no_memory(error, "the log");
        fd = open_file(copy);
        if (fd < 0) {
            error_errno(error, "cannot open the log file \"%s\"", copy);
            free(copy);
            return ESP_SYSTEM;
        }
    }
    pthread_mutex_lock(&lock);
    snprintf(node, sizeof node, "%s", options->node ? options->node : "-");
    int old = descriptor;
    char *old_path = path;
    path = copy;
    descriptor = fd;
    pthread_mutex_unlock(&lock);
    if (old != STDERR_FILENO)
        close(old);
    free(old_path);
    atomic_store(&threshold, (int)options->level);
    return ESP_OK;
}

enum esp_status log_reopen(struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    pthread_mutex_lock(&lock);
    if (path) {
        int fd = open_file(path);
        if (fd < 0) {
            status = error_errno(error, "cannot open the log file \"%s\" again", path);
        } else {
            close(descriptor);
            descriptor = fd;
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

void log_close(void)
{
    pthread_mutex_lock(&lock);
    if (descriptor != STDERR_FILENO)
        close(descriptor);
    descriptor = STDERR_FILENO;
    free(path);
    path = NULL;
    pthread_mutex_unlock(&lock);
}

int log_descriptor(void)
{
    pthread_mutex_lock(&lock);
    int fd = descriptor;
    pthread_mutex_unlock(&lock);
    return fd;
}

bool log_is_file(void)
{
    pthread_mutex_lock(&lock);
    bool is_file = descriptor != STDERR_FILENO;
    pthread_mutex_unlock(&lock);
    return is_file;
}
