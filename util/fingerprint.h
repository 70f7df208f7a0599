/* SPDX-License-Identifier: Apache-2.0
 *
 * A number by which to tell whether memory has changed, at about the speed of reading it. Not against
 * somebody who wants two contents to look the same.
 */
#ifndef UTIL_FINGERPRINT_H
#define UTIL_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

/* Contents that differ in one 8-byte word only (counted from the beginning) have different numbers; others
 * have the same one with a probability of about 2^-64. */
uint64_t fingerprint(const void *data, size_t bytes);

#endif
