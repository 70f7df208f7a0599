/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/remote.h"
#include "util/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_OUTPUT   (64 * 1024)
#define SSH_FAILED    255
#define NO_SUCH_THING 127

/* 'it'\''s': the shell there takes it as one word, whatever is in it. To be freed. */
static char *quoted_line(const char *const *words)
{
    char *line = NULL;
    size_t n = 0;
    FILE *stream = open_memstream(&line, &n);
    if (!stream)
        return NULL;
    for (; *words; words++) {
        fputc('\'', stream);
        for (const char *at = *words; *at; at++)
            if (*at == '\'')
                fputs("'\\''", stream);
            else
                fputc(*at, stream);
        fputs("' ", stream);
    }
    return fclose(stream) == 0 ? line : NULL;
}

/* A file rather than a pipe: nobody waits for anybody while it is read. -1 with errno. */
static int input_file(const char *text)
{
    const size_t n = strlen(text);
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, text, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* In the child. Only what may be called after fork(). */
_Noreturn static void become_ssh(const char *host, const char *line, int input, int output)
{
    char *arguments[] = {(char *)"ssh",
                         (char *)"-o",
                         (char *)"BatchMode=yes",
                         (char *)"-o",
                         (char *)"ConnectTimeout=10",
                         (char *)"--",
                         (char *)host,
                         (char *)line,
                         NULL};
    if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0)
        execvp("ssh", arguments);
    _exit(NO_SUCH_THING);
}

/* Until the end of the output. ESP_TIMEOUT, ESP_LIMIT. */
static enum esp_status read_all(const char *host, int fd, int64_t until_ns, char *text, size_t *n,
                                struct esp_error *error)
{
    for (;;) {
        const int64_t left_ms = (until_ns - clock_now_ns(&clock_system)) / NS_PER_MS;
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int found = left_ms > 0 ? poll(&ready, 1, (int)left_ms) : 0;
        if (found < 0 && errno == EINTR)
            continue;
        if (found <= 0)
            return error_set(error, ESP_TIMEOUT,
                             "%s: the command there did not end in time (does 'ssh %s true' end?)", host,
                             host);
        if (*n == MOST_OUTPUT)
            return error_set(error, ESP_LIMIT, "%s: the command there says more than %d bytes", host,
                             MOST_OUTPUT);
        ssize_t got = read(fd, text + *n, MOST_OUTPUT - *n);
        if (got <= 0)
            return ESP_OK;
        *n += (size_t)got;
    }
}

static enum esp_status judge(const char *host, const char *command, int how, struct esp_error *error)
{
    const int code = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
    if (code == 0)
        return ESP_OK;
    if (code == SSH_FAILED)
        return error_set(error, ESP_UNREACHABLE,
                         "%s: ssh does not get there without a question: 'ssh %s true' must work", host,
                         host);
    if (code == NO_SUCH_THING)
        return error_set(
            error, ESP_NOT_FOUND,
            "%s: there is no ssh here, or no command \"%s\" there (a platform file names another "
            "with the key \"command\")",
            host, command);
    return error_set(error, ESP_FAILED, "%s: the command there failed with exit code %d", host, code);
}

static enum esp_status talk(const char *host, const char *command, const char *line, int input, char *text,
                            size_t *n, int64_t timeout_ns, struct esp_error *error)
{
    int ends[2], how = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_errno(error, "cannot run ssh");
    pid_t child = fork();
    if (child == 0)
        become_ssh(host, line, input, ends[1]);
    close(ends[1]);
    enum esp_status status =
        child < 0 ? error_errno(error, "cannot run ssh")
                  : read_all(host, ends[0], clock_now_ns(&clock_system) + timeout_ns, text, n, error);
    close(ends[0]);
    if (child < 0)
        return status;
    if (status != ESP_OK)
        kill(child, SIGKILL);
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        ;
    return status == ESP_OK ? judge(host, command, how, error) : status;
}

enum esp_status remote_run(const char *host, const char *const *words, const char *input, int64_t timeout_ns,
                           char **output, struct esp_error *error)
{
    size_t n = 0;
    char *line = quoted_line(words), *text = malloc(MOST_OUTPUT + 1);
    int fd = input_file(input);
    enum esp_status status = line && text ? ESP_OK : error_no_memory(error, "a command");
    if (status == ESP_OK && fd < 0)
        status = error_errno(error, "cannot pass a daemon's file on");
    if (status == ESP_OK)
        status = talk(host, words[0], line, fd, text, &n, timeout_ns, error);
    if (fd >= 0)
        close(fd);
    free(line);
    if (status != ESP_OK) {
        free(text);
        return status;
    }
    text[n] = '\0';
    *output = text;
    return ESP_OK;
}
