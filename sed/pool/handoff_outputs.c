/* SPDX-License-Identifier: Apache-2.0
 *
 * Receives results of variable length from a command. */
#include "sed/pool/handoff.h"

#include "core/problem/texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Receives one result's descriptor; -1: there is none. */
static int receive_output(int socket, struct ring_output *output)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec data = {.iov_base = output, .iov_len = sizeof *output};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n;
    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    int fd = -1;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    if (n != sizeof *output && fd >= 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Reads instead of mapping, because another process with the file could truncate it. */
static enum esp_status read_output(int fd, struct job_argument *argument, uint64_t most,
                                   struct esp_error *error)
{
    struct stat is;
    if (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode) || (uint64_t)is.st_size > most)
        return error_set(error, ESP_INTERNAL, "a worker handed over something else than a result");
    size_t size = (size_t)is.st_size, used = 0;
    char *bytes = malloc(size + 1);
    if (!bytes)
        return error_no_memory(error, "a result");
    while (used < size) {
        ssize_t n = pread(fd, bytes + used, size - used, (off_t)used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    if (used < size) {
        free(bytes);
        return error_errno(error, "cannot read a result");
    }
    bytes[size] = 0;
    argument->owned = argument->data = bytes;
    argument->bytes = size;
    argument->in_segment = false;
    return ESP_OK;
}

static bool is_expected(const struct problem *problem, uint32_t index)
{
    if (index >= problem->n_arguments)
        return false;
    const struct argument *argument = &problem->arguments[index];
    return argument_is_output(argument) && (argument->type == TYPE_STRING || argument->type == TYPE_FILE);
}

static uint64_t most_bytes(const struct job *job, uint32_t index)
{
    const bool texts = !job->implementation->command && job->problem->arguments[index].type == TYPE_STRING;
    return (texts ? TEXTS_MOST_BYTES : job->implementation->output_bytes) +
           TEXTS_MOST * (sizeof(uint64_t) + 1) + sizeof(uint64_t); /* lengths of the elements of an array */
}

bool handoff_take_outputs(const struct ring *ring, const struct handoff *handoff, int socket,
                          struct job_end *end)
{
    const struct job *job = &handoff->job;
    uint32_t n = ring->answer.n_outputs;
    for (uint32_t i = 0; i < n && i < PROBLEM_MAX_ARGUMENTS; i++) {
        struct ring_output output;
        int fd = receive_output(socket, &output);
        if (fd < 0 || !is_expected(job->problem, output.argument) || job->arguments[output.argument].owned) {
            if (fd >= 0)
                close(fd);
            error_set(&end->error, ESP_INTERNAL, "%s: its results did not come as they were announced",
                      job->implementation->symbol);
            return false;
        }
        if (end->error.status == ESP_OK)
            read_output(fd, &job->arguments[output.argument], most_bytes(job, output.argument), &end->error);
        close(fd);
    }
    return true;
}
