/* SPDX-License-Identifier: Apache-2.0
 *
 * Text from outside, in texts for people: control characters are escaped ("\n", "\x1b", "\\"), so that nobody
 * forges a second line or moves a terminal. UTF-8 stays as it is.
 */
#ifndef UTIL_ESCAPE_H
#define UTIL_ESCAPE_H

#include <stddef.h>

/* Appends `text` at to[used], without a final zero, for which one byte of `size` stays free; what has no room
 * is left out. Returns the new length. */
size_t escape_append(char *to, size_t size, size_t used, const char *text);

#define ESCAPED_TEXT 256
/* A name for a message, cut to this; returns `to`. */
const char *escape(const char *text, char to[ESCAPED_TEXT]);

#endif
