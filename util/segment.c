/* SPDX-License-Identifier: Apache-2.0 */
#include "util/segment.h"

#include "util/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#define LEAST_BYTES   (64u * 1024)
#define IDLE_SEGMENTS 16
#define WORTH_ASKING  (1u << 20)
/* Idle segments are zeroed after CLEAN_AFTER_NS, so that a client that calls repeatedly gets its own
 * segment back unchanged. They are freed after KEEP_NS. */
#define CLEAN_AFTER_NS NS_PER_S
#define KEEP_NS        (30 * NS_PER_S)

struct segments {
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_t thread;
    bool threaded, stopping;
    bool asleep; /* the thread waits for a signal */
    uint64_t idle_bytes;
    uint32_t idle_segments;
    struct segment *busy;   /* segments in use */
    struct segment *idle;   /* idle segments, the one idle for longest first */
    struct segment *doomed; /* removed from the pool, to be unmapped */
    struct segments_counters counters;
};

uint64_t segment_place(uint64_t *end, uint64_t bytes)
{
    uint64_t pages;
    if (__builtin_add_overflow(bytes, SEGMENT_PAGE - 1, &pages))
        return UINT64_MAX;
    pages &= ~(uint64_t)(SEGMENT_PAGE - 1);
    if (__builtin_add_overflow(*end, pages, end))
        return UINT64_MAX;
    return *end - bytes;
}

/* Rounds up to four sizes per doubling, so that segments fit other sessions too. */
static uint64_t round_size(uint64_t bytes)
{
    if (bytes <= LEAST_BYTES)
        return LEAST_BYTES;
    uint64_t step = (UINT64_C(1) << (63 - __builtin_clzll(bytes - 1))) / 4;
    uint64_t rounded = (bytes + step - 1) / step * step;
    return (rounded + SEGMENT_PAGE - 1) & ~(uint64_t)(SEGMENT_PAGE - 1);
}

static void unmap(struct segment *segment)
{
    munmap(segment->data, segment->bytes);
    close(segment->fd);
    free(segment);
}

static enum esp_status make(uint64_t bytes, struct segment **result, struct esp_error *error)
{
    struct segment *segment = calloc(1, sizeof *segment);
    if (!segment)
        return error_no_memory(error, "a segment");
    segment->bytes = bytes;
    segment->fd = memfd_create("espalier-session", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (segment->fd < 0) {
        free(segment);
        return error_errno(error, "a memory file of %llu bytes for a session", (unsigned long long)bytes);
    }
    void *data = MAP_FAILED;
    if (ftruncate(segment->fd, (off_t)bytes) == 0 &&
        fcntl(segment->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, 0);
    if (data == MAP_FAILED) {
        enum esp_status status =
            error_errno(error, "a memory file of %llu bytes for a session", (unsigned long long)bytes);
        close(segment->fd);
        free(segment);
        return status;
    }
    segment->data = data;
    *result = segment;
    return ESP_OK;
}

static bool owned_by(const struct segment *segment, const uint64_t owner[2])
{
    return segment->owner[0] == owner[0] && segment->owner[1] == owner[1];
}

static void leave_pool(struct segments *segments, struct segment *segment)
{
    DL_DELETE(segments->idle, segment);
    segments->counters.idle--;
    segments->counters.idle_bytes -= segment->bytes;
}

static void join_pool(struct segments *segments, struct segment *segment)
{
    DL_APPEND(segments->idle, segment);
    segments->counters.idle++;
    segments->counters.idle_bytes += segment->bytes;
}

static void doom(struct segments *segments, struct segment *segment)
{
    leave_pool(segments, segment);
    DL_APPEND(segments->doomed, segment);
    segments->counters.destroyed++;
}

static void enforce_caps(struct segments *segments)
{
    while (segments->idle && (segments->counters.idle_bytes > segments->idle_bytes ||
                              segments->counters.idle > segments->idle_segments))
        doom(segments, segments->idle);
}

/* Finds the smallest idle one that holds `bytes` without wasting more than half. */
static struct segment *find_idle(struct segments *segments, uint64_t bytes, const uint64_t owner[2])
{
    struct segment *best = NULL;
    for (struct segment *segment = segments->idle; segment; segment = segment->next) {
        if (segment->bytes < bytes || segment->bytes / 2 > bytes)
            continue;
        bool usable = segment->dirty == 0 || owned_by(segment, owner);
        if (usable && (!best || segment->bytes < best->bytes))
            best = segment;
    }
    return best;
}

enum esp_status segments_take(struct segments *segments, uint64_t bytes, const uint64_t owner[2],
                              struct segment **result, struct esp_error *error)
{
    if (bytes > INT64_MAX / 2)
        return error_set(error, ESP_NO_MEMORY, "a segment of %llu bytes", (unsigned long long)bytes);
    uint64_t size = round_size(bytes);
    pthread_mutex_lock(&segments->lock);
    struct segment *segment = find_idle(segments, size, owner);
    if (segment) {
        leave_pool(segments, segment);
        segments->counters.recycled++;
    }
    pthread_mutex_unlock(&segments->lock);
    bool fresh = !segment;
    if (fresh) {
        enum esp_status status = make(size, &segment, error);
        if (status != ESP_OK)
            return status;
    }
    segment->used = bytes;
    segment->fresh = fresh;
    segment->owner[0] = owner[0];
    segment->owner[1] = owner[1];
    if (segment->dirty < bytes)
        segment->dirty = bytes;
    pthread_mutex_lock(&segments->lock);
    segments->counters.made += fresh;
    DL_PREPEND(segments->busy, segment);
    segments->counters.in_use++;
    segments->counters.in_use_bytes += segment->bytes;
    pthread_mutex_unlock(&segments->lock);
    *result = segment;
    return ESP_OK;
}

static void end_use(struct segments *segments, struct segment *segment)
{
    DL_DELETE(segments->busy, segment);
    segments->counters.in_use--;
    segments->counters.in_use_bytes -= segment->bytes;
}

void segments_give(struct segments *segments, struct segment *segment)
{
    if (!segment)
        return;
    segment->idle_ns = clock_now_ns(&clock_system);
    pthread_mutex_lock(&segments->lock);
    end_use(segments, segment);
    join_pool(segments, segment);
    enforce_caps(segments);
    if (segments->asleep || segments->doomed)
        pthread_cond_signal(&segments->work);
    pthread_mutex_unlock(&segments->lock);
}

void segments_drop(struct segments *segments, struct segment *segment)
{
    if (!segment)
        return;
    pthread_mutex_lock(&segments->lock);
    end_use(segments, segment);
    segments->counters.destroyed++;
    DL_APPEND(segments->doomed, segment);
    pthread_cond_signal(&segments->work);
    pthread_mutex_unlock(&segments->lock);
}

/* Called with the lock held, which is released while memory is unmapped. */
static void free_doomed(struct segments *segments)
{
    while (segments->doomed) {
        struct segment *segment = segments->doomed;
        DL_DELETE(segments->doomed, segment);
        pthread_mutex_unlock(&segments->lock);
        unmap(segment);
        pthread_mutex_lock(&segments->lock);
    }
}

static struct segment *find_dirty(struct segments *segments, int64_t before_ns)
{
    struct segment *segment = segments->idle;
    while (segment && (segment->dirty == 0 || segment->idle_ns > before_ns))
        segment = segment->next;
    return segment;
}

/* Zeroes only written parts: reserved and unused parts have no memory, and must not get any. */
static void zero(const struct segment *segment)
{
    off_t end = (off_t)segment->dirty;
    for (off_t from = 0, to; from < end; from = to) {
        from = lseek(segment->fd, from, SEEK_DATA);
        if (from < 0 && errno == ENXIO)
            return;
        to = from < 0 ? end : lseek(segment->fd, from, SEEK_HOLE);
        if (from < 0)
            from = 0; /* the file system does not support this */
        if (to <= from || to > end)
            to = end;
        if (from < to)
            memset(segment->data + from, 0, (size_t)(to - from));
    }
}

static void clean_idle(struct segments *segments, int64_t before_ns)
{
    struct segment *segment;
    while (!segments->stopping && (segment = find_dirty(segments, before_ns))) {
        leave_pool(segments, segment); /* other threads cannot take it meanwhile */
        pthread_mutex_unlock(&segments->lock);
        zero(segment);
        segment->dirty = 0;
        pthread_mutex_lock(&segments->lock);
        join_pool(segments, segment);
        enforce_caps(segments);
    }
}

void segments_clean(struct segments *segments)
{
    pthread_mutex_lock(&segments->lock);
    clean_idle(segments, INT64_MAX);
    free_doomed(segments);
    pthread_mutex_unlock(&segments->lock);
}

void segments_trim(struct segments *segments)
{
    pthread_mutex_lock(&segments->lock);
    while (segments->idle)
        doom(segments, segments->idle);
    free_doomed(segments);
    pthread_mutex_unlock(&segments->lock);
}

/* Removes segments that have been unused for long. */
static void doom_old(struct segments *segments, int64_t before_ns)
{
    struct segment *segment, *next;
    DL_FOREACH_SAFE(segments->idle, segment, next)
    {
        if (segment->idle_ns <= before_ns)
            doom(segments, segment);
    }
}

static void wait_for_work(struct segments *segments)
{
    if (!segments->idle) {
        segments->asleep = true;
        pthread_cond_wait(&segments->work, &segments->lock);
        segments->asleep = false;
        return;
    }
    bool dirty = find_dirty(segments, INT64_MAX);
    int64_t until_ns = clock_now_ns(&clock_system) + (dirty ? CLEAN_AFTER_NS : KEEP_NS);
    struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    segments->asleep = !dirty;
    pthread_cond_timedwait(&segments->work, &segments->lock, &until);
    segments->asleep = false;
}

static void *keep_clean(void *arg)
{
    struct segments *segments = arg;
    pthread_mutex_lock(&segments->lock);
    while (!segments->stopping) {
        int64_t now_ns = clock_now_ns(&clock_system);
        doom_old(segments, now_ns - KEEP_NS);
        free_doomed(segments);
        clean_idle(segments, now_ns - CLEAN_AFTER_NS);
        if (!segments->stopping && !segments->doomed)
            wait_for_work(segments);
    }
    pthread_mutex_unlock(&segments->lock);
    return NULL;
}

enum esp_status segments_create(const struct segments_options *options, struct segments **result,
                                struct esp_error *error)
{
    struct segments *segments = calloc(1, sizeof *segments);
    if (!segments)
        return error_no_memory(error, "the pool of segments");
    segments->idle_bytes = options->idle_bytes;
    segments->idle_segments = options->idle_segments ? options->idle_segments : IDLE_SEGMENTS;
    pthread_mutex_init(&segments->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&segments->work, &attributes);
    pthread_condattr_destroy(&attributes);
    if (options->background) {
        errno = pthread_create(&segments->thread, NULL, keep_clean, segments);
        if (errno) {
            enum esp_status status = error_errno(error, "a thread for the pool of segments");
            segments_destroy(segments);
            return status;
        }
        segments->threaded = true;
    }
    *result = segments;
    return ESP_OK;
}

void segments_destroy(struct segments *segments)
{
    if (!segments)
        return;
    if (segments->threaded) {
        pthread_mutex_lock(&segments->lock);
        segments->stopping = true;
        pthread_cond_signal(&segments->work);
        pthread_mutex_unlock(&segments->lock);
        pthread_join(segments->thread, NULL);
    }
    segments_trim(segments);
    pthread_cond_destroy(&segments->work);
    pthread_mutex_destroy(&segments->lock);
    free(segments);
}

void segments_count(struct segments *segments, struct segments_counters *counters)
{
    pthread_mutex_lock(&segments->lock);
    *counters = segments->counters;
    pthread_mutex_unlock(&segments->lock);
}

/* Small segments are not queried: their pages are soon resident. */
static uint64_t resident_bytes(const struct segment *segments)
{
    const struct segment *segment;
    uint64_t bytes = 0;
    DL_FOREACH(segments, segment)
    {
        struct stat is;
        const bool asks = segment->bytes >= WORTH_ASKING && fstat(segment->fd, &is) == 0;
        bytes += asks ? (uint64_t)is.st_blocks * 512 : segment->bytes;
    }
    return bytes;
}

uint64_t segments_resident(struct segments *segments)
{
    pthread_mutex_lock(&segments->lock);
    const uint64_t bytes = resident_bytes(segments->busy) + resident_bytes(segments->idle);
    pthread_mutex_unlock(&segments->lock);
    return bytes;
}
