/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/memory_share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Whoever counts what is left and takes some of it holds this byte, far behind all that stand for memory, for
 * less than a millisecond. */
#define TURN_BYTE  ((off_t)1 << 60)
#define TURN_TRIES 2000
/* The bytes of control groups: so many ranges of 2^50, each for one group. */
#define GROUP_BITS 50
#define GROUPS     512

struct memory_share {
    int file;
};

static bool lock(int file, off_t start, off_t bytes)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = bytes};
    return fcntl(file, F_OFD_SETLK, &range) == 0;
}

static void unlock(int file, off_t start, off_t bytes)
{
    struct flock range = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = bytes};
    fcntl(file, F_OFD_SETLK, &range);
}

/* Visits what is free in [from, to): adds it up, and locks it while *need is not met. */
static uint64_t visit(int file, off_t from, off_t to, uint64_t *need)
{
    uint64_t left = 0;
    while (from < to) {
        struct flock taken = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = to - from};
        if (fcntl(file, F_OFD_GETLK, &taken) != 0)
            return left;
        off_t end = taken.l_type == F_UNLCK ? to : taken.l_start;
        if (taken.l_type != F_UNLCK && end > from) {
            left += visit(file, from, end, need); /* any of those in the way is told, not the first */
        } else if (end > from) {
            uint64_t free = (uint64_t)(end - from), take = *need < free ? *need : free;
            if (take > 0 && lock(file, from, (off_t)take))
                *need -= take;
            left += free;
        }
        if (taken.l_type == F_UNLCK || taken.l_len == 0)
            return left;
        from = taken.l_start + taken.l_len;
    }
    return left;
}

/* Without a turn (somebody keeps it) the worst is that two count the same memory as left. */
static void await_turn(int file)
{
    for (int i = 0; i < TURN_TRIES && !lock(file, TURN_BYTE, 1); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Without O_CREAT first: in a folder like /dev/shm the system refuses that for others' files. */
static int open_file(const char *path)
{
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file >= 0 || errno != ENOENT)
        return file;
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file >= 0)
        fchmod(file, 0666); /* whatever the umask is: servers of other users share the memory too */
    return file < 0 && errno == EEXIST ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : file;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Locks so many bytes of those from `first` on; returns how many there were. */
static uint64_t take(int file, off_t first, uint64_t size, uint64_t wanted)
{
    uint64_t need = wanted;
    visit(file, first, first + (off_t)size, &need);
    return wanted - need;
}

/* Where the bytes of a group begin. Two groups whose numbers are alike by chance count as one. */
static off_t first_of(uint64_t group_id)
{
    return (off_t)(group_id % GROUPS + 1) << GROUP_BITS;
}

static uint64_t take_all(int file, const struct memory_bounds *bounds, uint64_t wanted)
{
    const bool grouped = bounds->group > 0 && bounds->group < (uint64_t)1 << GROUP_BITS;
    const off_t first = first_of(bounds->group_id);
    uint64_t none = 0;
    if (!wanted) {
        wanted = visit(file, 0, (off_t)bounds->machine, &none) / 4 * 3;
        if (grouped)
            wanted = least(wanted, visit(file, first, first + (off_t)bounds->group, &none) / 4 * 3);
        if (bounds->most > 0)
            wanted = least(wanted, bounds->most);
    }
    const uint64_t of_group = grouped ? take(file, first, bounds->group, wanted) : wanted;
    return least(of_group, take(file, 0, bounds->machine, wanted));
}

enum esp_status memory_share_take(const char *path, const struct memory_bounds *bounds, uint64_t wanted,
                                  struct memory_share **result, uint64_t *bytes, struct esp_error *error)
{
    *result = NULL;
    struct memory_share *share = calloc(1, sizeof *share);
    if (!share)
        return error_no_memory(error, "a share of the memory");
    share->file = open_file(path);
    if (share->file < 0) {
        free(share);
        return error_errno(error, "cannot open %s, in which servers say how much memory they promise", path);
    }
    await_turn(share->file);
    *bytes = take_all(share->file, bounds, wanted);
    unlock(share->file, TURN_BYTE, 1);
    *result = share;
    return ESP_OK;
}

void memory_share_give(struct memory_share *share)
{
    if (!share)
        return;
    close(share->file);
    free(share);
}
