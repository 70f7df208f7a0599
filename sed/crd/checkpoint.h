/* SPDX-License-Identifier: Apache-2.0
 *
 * The last state that a routine has saved of its call: one file, replaced as a whole. Written and read by the
 * worker that computes the call; the server daemon gives it its name and knows when it may go. Little-endian:
 *
 *     offset  bytes
 *          0      8  "ESPCKPT1"
 *          8      8  number: 1, 2, 3, ... in the life of the call
 *         16      8  bytes of the state
 *         24      4  checksum (CRC32C) of the state
 *         28      4  checksum of all before
 *         32         the state
 *
 * The number and the length come before what they are of, and the header's checksum is looked at before
 * anything else is believed: a file may have been copied from another server.
 */
#ifndef SED_CHECKPOINT_H
#define SED_CHECKPOINT_H

#include "util/error.h"

#include <stddef.h>
#include <stdint.h>

#define CHECKPOINT_HEADER_BYTES 32

/* Writes the state under a temporary name, syncs it, and renames it. When it returns, neither a crash nor a
 * power cut takes it away; when it fails, the one before is still there. Returns 0, or errno (ENOSPC). */
int checkpoint_save(const char *path, uint64_t number, const void *state, uint64_t bytes);
/* The number of the file's state, its length in *bytes; 0: there is none, or it is damaged in its header or
 * its length. */
uint64_t checkpoint_number(const char *path, uint64_t *bytes);
/* Copies the state, which must fit. Its number; 0: there is none, it is damaged, or it is larger. */
uint64_t checkpoint_load(const char *path, void *state, uint64_t capacity, uint64_t *bytes);
/* Checks a whole file's contents in memory, as they came from another server. */
uint64_t checkpoint_check(const void *file, uint64_t file_bytes);

#endif
