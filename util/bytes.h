/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats amounts of memory and disk for users. */
#ifndef UTIL_BYTES_H
#define UTIL_BYTES_H

#include <stdint.h>

/* Writes "640 bytes", "12.5 MB" (powers of 1000, as on the command line), into `text` of at least
 * BYTES_TEXT; returns it. */
#define BYTES_TEXT 24
const char *bytes_text(uint64_t bytes, char *text);

#endif
