/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments and results that stay in the client's own memory: a memory file of a process of this user on this
 * host, which the worker maps instead of a part of the session's segment. The transport has seen to it that
 * nobody can make the file smaller.
 *
 * Arguments that are checked (sed/server/server_contents.c) are not taken, as pieces are checked when they
 * arrive.
 */
#include "sed/server/server_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_LENT 256 /* descriptors at a time, of all sessions */

struct lent {
    struct job_file file;
    uint8_t *mapped;
    uint64_t mapped_bytes;
};

static struct message *taken(uint64_t bytes)
{
    struct message *reply = message_create(MESSAGE_CHUNK_REPLY);
    if (reply)
        reply->chunk_reply.length = bytes;
    return reply;
}

/* Whether that argument can lie elsewhere than in the segment, wholly. */
static bool may_be_lent(const struct session *session, const struct chunk *chunk)
{
    if (chunk->argument >= session->problem->n_arguments)
        return false;
    const struct argument *argument = &session->problem->arguments[chunk->argument];
    const struct session_argument *given = &session->arguments[chunk->argument];
    const struct job_argument *job = &session->job.arguments[chunk->argument];
    bool wanted = given->kind == KIND_BULK || (given->kind == KIND_WANTED && argument->mode == MODE_OUT);
    return wanted && job->in_segment && !given->in_store && chunk->offset == 0 && chunk->length > 0 &&
           chunk->length == job->bytes && argument->n_dims > 0 && !argument_is_texts(argument) &&
           !argument->is_section && !server_looks_at(session->problem, chunk->argument);
}

/* A worker that writes gets no more than the array: a guard page lies right behind it. */
static bool may_be_written(int file, uint64_t offset, uint64_t bytes)
{
    int seals = fcntl(file, F_GET_SEALS), flags = fcntl(file, F_GETFL);
    return seals >= 0 && !(seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) && flags >= 0 &&
           (flags & O_ACCMODE) == O_RDWR && (offset + bytes) % SEGMENT_PAGE == 0;
}

/* A worker that reads gets a descriptor with which it cannot write. */
static int for_worker(int file, bool write)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
}

static struct lent *map(int file, uint64_t offset, uint64_t bytes, bool write)
{
    uint64_t begin = offset & ~(uint64_t)(SEGMENT_PAGE - 1);
    struct lent *lent = calloc(1, sizeof *lent);
    if (!lent)
        return NULL;
    lent->mapped_bytes = offset + bytes - begin;
    lent->file =
        (struct job_file){.fd = for_worker(file, write), .offset = offset, .bytes = bytes, .lazy = true};
    lent->mapped = lent->file.fd < 0
                       ? MAP_FAILED
                       : mmap(NULL, lent->mapped_bytes, PROT_READ, MAP_SHARED, lent->file.fd, (off_t)begin);
    if (lent->mapped != MAP_FAILED)
        return lent;
    if (lent->file.fd >= 0)
        close(lent->file.fd);
    free(lent);
    return NULL;
}

static void put_in_place(struct session *session, uint32_t index, struct lent *lent, uint64_t page_offset)
{
    struct job_argument *job = &session->job.arguments[index];
    session->arguments[index].lent = lent;
    session->arguments[index].was_lent = true;
    if (session->problem->arguments[index].mode == MODE_INOUT) {
        job->source = &lent->file; /* the worker copies it to its place in the segment */
        return;
    }
    job->file = &lent->file;
    job->data = lent->mapped + page_offset;
}

struct message *server_on_lend(void *self, const struct message *header, int *file, uint64_t offset)
{
    struct server *server = self;
    const struct chunk *chunk = &header->chunk;
    struct esp_error error;
    if (chunk->flags & CHUNK_DATUM)
        return NULL;
    struct session *session = server_find_session(server, &chunk->session, &error);
    if (!session || !may_be_lent(session, chunk))
        return NULL; /* an error is reported when the argument is put */
    if (session->arguments[chunk->argument].was_lent)
        return taken(chunk->length); /* said again */
    bool write = session->problem->arguments[chunk->argument].mode == MODE_OUT;
    if (session->state != SESSION_RECEIVING || session->run_asked || server->sessions.n_lent >= MOST_LENT ||
        (write && !may_be_written(*file, offset, chunk->length)))
        return NULL;
    struct lent *lent = map(*file, offset, chunk->length, write);
    if (!lent)
        return NULL;
    struct session_argument *argument = &session->arguments[chunk->argument];
    if (argument->kind == KIND_BULK && ranges_add(&argument->arrived, 0, chunk->length, &error) != ESP_OK) {
        munmap(lent->mapped, lent->mapped_bytes);
        close(lent->file.fd);
        free(lent);
        return NULL;
    }
    server->sessions.n_lent++;
    server->totals.bytes_lent += chunk->length;
    session->heard_ns = server_now(server);
    put_in_place(session, chunk->argument, lent, offset % SEGMENT_PAGE);
    return taken(chunk->length);
}

/* Lets go of what was lent to the session. */
static void on_ended(struct server *server, struct session *session)
{
    for (uint32_t i = 0; i < session->problem->n_arguments; i++) {
        struct job_argument *job = &session->job.arguments[i];
        struct lent *lent = session->arguments[i].lent;
        if (!lent)
            continue;
        if (job->source == &lent->file)
            job->source = NULL;
        if (job->file == &lent->file) {
            job->file = NULL;
            job->data = NULL;
        }
        session->arguments[i].lent = NULL;
        munmap(lent->mapped, lent->mapped_bytes);
        close(lent->file.fd);
        free(lent);
        server->sessions.n_lent--;
    }
}

const struct session_observer lend_observer = {.ended = on_ended};
