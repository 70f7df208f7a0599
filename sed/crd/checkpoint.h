/* SPDX-License-Identifier: Apache-2.0
 *
 * The last state that a routine has saved of its call: one file, replaced as a whole. The worker that
 * computes the call writes and reads it; the server daemon names it and removes it when it is not needed
 * any more. Little-endian:
 *
 *     offset  bytes
 *          0      8  "ESPCKPT1"
 *          8      8  number: 1, 2, 3, ... in the life of the call
 *         16      8  bytes of the state
 *         24      4  checksum (CRC32C) of the state
 *         28      4  checksum of all before
 *         32         the state
 *
 * The header's checksum is verified before any other field is used, because a file may have been copied
 * from another server. */
#ifndef SED_CHECKPOINT_H
#define SED_CHECKPOINT_H

#include "util/error.h"

#include <stddef.h>
#include <stdint.h>

#define CHECKPOINT_HEADER_BYTES 32

/* Writes the state under a temporary name, syncs it, and renames it. When it returns, the state survives a
 * crash or a power cut; when it fails, the state before is unchanged. Returns 0, or errno (ENOSPC). */
int checkpoint_save(const char *path, uint64_t number, const void *state, uint64_t bytes);
/* Returns the number of the file's state, its length in *bytes; 0: there is none, or its header or length
 * is damaged. */
uint64_t checkpoint_number(const char *path, uint64_t *bytes);
/* Copies the state, which must fit, and returns its number; 0: there is none, it is damaged, or it is
 * larger. */
uint64_t checkpoint_load(const char *path, void *state, uint64_t capacity, uint64_t *bytes);
/* Checks a whole file's contents in memory, received from another server. */
uint64_t checkpoint_check(const void *file, uint64_t file_bytes);

#endif
