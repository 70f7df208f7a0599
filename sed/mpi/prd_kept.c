/* SPDX-License-Identifier: Apache-2.0
 *
 * A cache of data parts on a rank on another host, so that they need not be sent again: received inputs
 * and computed results. Data never change, so a cached part is always valid; the least recently used is
 * dropped. Each is a memory file, which a call maps like ranks of the daemon's host map pieces: read-only
 * if it only reads. Threads of the rank's porter lend them to other servers, and add to them, at the same
 * time: hence the lock. */
#include "sed/mpi/prd.h"

#include "core/redistribution/pieces.h"
#include "sed/porter/porter.h"
#include "services/nws/memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#define KEPT_MOST    256        /* parts: each needs a descriptor, and MPI and routines need some, too */
#define OTHERS_PART  8          /* 1/n of the host's free memory is left to others */
#define LEAST_LOOKED (1u << 20) /* bytes of a part above which the host's memory is checked */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept *all; /* the most recently used first */
static uint64_t most, used;
static uint32_t n_kept;

void kept_begin(uint64_t bytes)
{
    most = bytes;
}

static void forget(struct kept *kept)
{
    DL_DELETE(all, kept);
    used -= kept->bytes;
    n_kept--;
    munmap(kept->data, kept->bytes);
    close(kept->file);
    free(kept);
}

static bool is_of(const struct kept *kept, struct job_key name, const struct block_cyclic_matrix *layout,
                  uint32_t element_bytes)
{
    return job_key_equal(kept->name, name) && kept->element_bytes == element_bytes &&
           pieces_are_alike(&kept->layout, layout);
}

static struct kept *hold(struct kept *kept)
{
    kept->holders++;
    DL_DELETE(all, kept);
    DL_PREPEND(all, kept);
    return kept;
}

static struct kept *look_up(const struct kept_part *part)
{
    struct kept *kept;
    DL_FOREACH(all, kept)
    {
        if (is_of(kept, part->name, part->layout, part->element_bytes) && kept->row == part->row &&
            kept->col == part->col)
            return kept;
    }
    return NULL;
}

struct kept *kept_find(const struct kept_part *part)
{
    pthread_mutex_lock(&lock);
    struct kept *kept = job_key_is_none(part->name) ? NULL : look_up(part);
    kept = kept && kept->whole ? hold(kept) : NULL;
    pthread_mutex_unlock(&lock);
    return kept;
}

struct kept *kept_find_piece(struct job_key name, const struct block_cyclic_matrix *layout,
                             uint32_t element_bytes, int64_t *rank)
{
    struct kept *kept;
    pthread_mutex_lock(&lock);
    DL_FOREACH(all, kept)
    {
        if (kept->whole && is_of(kept, name, layout, element_bytes)) {
            *rank = block_cyclic_matrix_rank(layout, kept->row, kept->col);
            hold(kept);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return kept;
}

/* Returns the least recently used part without users. */
static struct kept *next_to_go(void)
{
    struct kept *kept = all ? all->prev : NULL; /* the last is before the first */
    while (kept && kept->holders > 0)
        kept = kept == all ? NULL : kept->prev;
    return kept;
}

/* Returns the number of the job's ranks on this host, which check at the same moment, and need as much. */
static uint64_t ranks_here(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    const long n = text ? strtol(text, NULL, 10) : 1;
    return n > 0 ? (uint64_t)n : 1;
}

/* Whether the host, or this process's control group, has that much memory besides what is left to others;
 * cached parts are dropped for that. Not checked for small parts, because that would cost more than they
 * are worth. */
static bool is_there(uint64_t bytes)
{
    if (bytes < LEAST_LOOKED)
        return true;
    const uint64_t wanted = bytes * ranks_here();
    uint64_t available = memory_available(NULL);
    struct kept *kept;
    while (available - available / OTHERS_PART < wanted && (kept = next_to_go())) {
        available += kept->bytes;
        forget(kept);
    }
    return available - available / OTHERS_PART >= wanted;
}

static bool make_room(uint64_t bytes)
{
    struct kept *kept;
    if (bytes > most)
        return false;
    while ((used + bytes > most || n_kept == KEPT_MOST) && (kept = next_to_go()))
        forget(kept);
    return used + bytes <= most && n_kept < KEPT_MOST && is_there(bytes);
}

/* Allocates all memory at once, because a hole that cannot be filled later would kill the rank. */
static bool make_memory(struct kept *kept)
{
    kept->file = memfd_create("espalier-kept", MFD_CLOEXEC);
    if (kept->file < 0)
        return false;
    if (posix_fallocate(kept->file, 0, (off_t)kept->bytes) == 0) {
        kept->data = mmap(NULL, kept->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, kept->file, 0);
        if (kept->data != MAP_FAILED)
            return true;
    }
    close(kept->file);
    return false;
}

static struct kept *make(const struct kept_part *part, uint64_t bytes)
{
    struct kept *old = job_key_is_none(part->name) ? NULL : look_up(part);
    if (old && old->holders == 0)
        forget(old);
    else if (old)
        return NULL;
    if (job_key_is_none(part->name) || bytes == 0 || !make_room(bytes))
        return NULL;
    struct kept *kept = malloc(sizeof *kept);
    if (!kept)
        return NULL;
    *kept = (struct kept){.name = part->name,
                          .layout = *part->layout,
                          .row = part->row,
                          .col = part->col,
                          .element_bytes = part->element_bytes,
                          .bytes = bytes,
                          .holders = 1};
    if (!make_memory(kept)) {
        free(kept);
        return NULL;
    }
    used += bytes;
    n_kept++;
    DL_PREPEND(all, kept);
    return kept;
}

struct kept *kept_make(const struct kept_part *part, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    struct kept *kept = make(part, bytes);
    pthread_mutex_unlock(&lock);
    return kept;
}

void kept_filled(struct kept *kept)
{
    pthread_mutex_lock(&lock);
    kept->whole = true;
    pthread_mutex_unlock(&lock);
}

void kept_let(struct kept *kept)
{
    pthread_mutex_lock(&lock);
    if (kept && --kept->holders == 0 && !kept->whole)
        forget(kept);
    pthread_mutex_unlock(&lock);
}

/* ---- lent to other servers ---- */

static struct kept_part part_of(struct datum_key name, const struct block_cyclic_matrix *layout,
                                int64_t piece, uint32_t element_bytes)
{
    struct kept_part part = {.name = {name.high, name.low}, .layout = layout, .element_bytes = element_bytes};
    block_cyclic_matrix_place(layout, piece, &part.row, &part.col);
    return part;
}

static const char *lend(struct datum_key name, const struct block_cyclic_matrix *layout, int64_t piece,
                        uint32_t element_bytes, uint64_t bytes, void **held)
{
    const struct kept_part part = part_of(name, layout, piece, element_bytes);
    struct kept *kept = kept_find(&part);
    if (kept && kept->bytes == bytes && kept->layout.rows.n == layout->rows.n &&
        kept->layout.cols.n == layout->cols.n) {
        *held = kept;
        return kept->data;
    }
    kept_let(kept);
    return NULL;
}

static void let(void *held)
{
    kept_let(held);
}

/* ---- fetched from other servers ---- */

static char *make_piece(struct datum_key name, const struct block_cyclic_matrix *layout, int64_t piece,
                        uint32_t element_bytes, uint64_t bytes, void **held)
{
    const struct kept_part part = part_of(name, layout, piece, element_bytes);
    struct kept *kept = kept_make(&part, bytes);
    *held = kept;
    return kept ? kept->data : NULL;
}

static void filled(void *held)
{
    kept_filled(held);
}

const struct porter_keeper kept_keeper = {.hold = lend, .let = let, .make = make_piece, .filled = filled};
