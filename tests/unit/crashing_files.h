/* SPDX-License-Identifier: Apache-2.0
 *
 * A disk of the tests' own, in memory: it keeps what was synced, and after a power cut any part of the rest.
 *
 * Worse than most real disks: of what was written and not synced, each page may be there or not; of names
 * that were created, renamed or removed and whose folder was not synced, each change may be there or not; and
 * what was written before a sync that failed is lost, whatever is synced later.
 */
#ifndef TESTS_CRASHING_FILES_H
#define TESTS_CRASHING_FILES_H

#include "services/data/files.h"
#include <stdbool.h>

struct disk;

struct disk *disk_create(uint64_t seed);
void disk_destroy(struct disk *disk);

/* Files over it, as the store wants them. One at a time. */
struct files *disk_mount(struct disk *disk);

/* Power goes at the n-th operation from now (which may be done in part); from then on all fail. 0: never. */
void disk_crash_at(struct disk *disk, uint64_t n);
bool disk_crashed(const struct disk *disk);
uint64_t disk_operations(const struct disk *disk);

/* Power is back: what survived is what there is. No files are open. */
void disk_power_cut(struct disk *disk);

/* About so many of a thousand operations that change something fail: as a full disk, or with an error. */
void disk_fail_some(struct disk *disk, unsigned full_per_mille, unsigned error_per_mille);

/* That it says to have left. 0: it does not say. */
void disk_say_left(struct disk *disk, uint64_t bytes);

/* The n-th file, NULL behind the last. */
const char *disk_name(const struct disk *disk, size_t n);
/* Turns one bit of a file over, on the disk itself. False: it has no such byte. */
bool disk_flip(struct disk *disk, const char *name, uint64_t offset);
/* Cuts it there. */
void disk_cut(struct disk *disk, const char *name, uint64_t bytes);
/* Writes a file as it should be after the disk's owner made it, durable. */
void disk_plant(struct disk *disk, const char *name, const void *data, size_t bytes);

#endif
