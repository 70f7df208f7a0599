/* SPDX-License-Identifier: Apache-2.0
 *
 * Detects recurring ranges of files, of data that stay and of reused segments, and converts their pages to
 * large ones, so that mapping them for each call takes next to no time. Only numbers are stored between
 * calls, no mapping and no descriptor, so that the daemon can give the memory to another session, or back
 * to the system. If the system reuses a number, pages are converted too early, which is harmless. */
#include "sed/crd/crd.h"

#include "util/pages.h"

#include <sys/stat.h>

#define RANGES_KNOWN 32
/* Converting a range takes about as long as mapping it six times. */
#define FIRST_AT 3
/* Bytes converted at each use, so that no call is delayed much. */
#define STEP (2 * PAGES_LARGE)

struct range {
    dev_t device;
    ino_t file;
    uint64_t offset, bytes;
    uint64_t uses, next; /* the use at which conversion continues */
    uint64_t done;       /* bytes converted in this round */
    bool failed;         /* a conversion failed in this round */
    uint64_t last;       /* number of the last use, over all ranges */
};

static struct range ranges[RANGES_KNOWN];
static uint64_t clock_of_uses;

static struct range *find(const struct stat *is, uint64_t offset, uint64_t bytes)
{
    struct range *oldest = &ranges[0];
    for (size_t i = 0; i < RANGES_KNOWN; i++) {
        struct range *range = &ranges[i];
        if (range->uses > 0 && range->device == is->st_dev && range->file == is->st_ino &&
            range->offset == offset && range->bytes == bytes)
            return range;
        if (range->last < oldest->last)
            oldest = range;
    }
    *oldest = (struct range){
        .device = is->st_dev, .file = is->st_ino, .offset = offset, .bytes = bytes, .next = FIRST_AT};
    return oldest;
}

bool recurring_pages(int file, uint64_t offset, void *data, uint64_t bytes)
{
    struct stat is;
    if (bytes < PAGES_LARGE || fstat(file, &is) != 0)
        return false;
    struct range *range = find(&is, offset, bytes);
    range->last = ++clock_of_uses;
    range->uses++;
    if (range->uses < range->next)
        return false;
    uint64_t step = STEP, left = bytes - range->done;
    if (range->done == 0)
        step += -(uintptr_t)data % PAGES_LARGE; /* from there on each step begins with a large page */
    step = step < left ? step : left;
    range->failed = !pages_make_large((char *)data + range->done, step) || range->failed;
    range->done += step;
    if (range->done < bytes)
        return true;
    /* Failed conversions are tried again later; successful ones are not repeated. */
    range->next = range->failed ? 2 * range->uses : UINT64_MAX;
    range->done = 0;
    range->failed = false;
    return true;
}
