/* SPDX-License-Identifier: Apache-2.0
 *
 * A fast hash to detect whether memory has changed, at about the speed of reading it. Not secure against
 * deliberate collisions. */
#ifndef UTIL_FINGERPRINT_H
#define UTIL_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

/* Contents that differ in one 8-byte word only (counted from the beginning) have different hashes; others
 * collide with a probability of about 2^-64. */
uint64_t fingerprint(const void *data, size_t bytes);

#endif
