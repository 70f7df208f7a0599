/* SPDX-License-Identifier: Apache-2.0
 *
 * Escapes control characters ("\n", "\x1b", "\\") in texts from outside, so that they cannot forge a
 * second line or control a terminal. UTF-8 is unchanged. */
#ifndef UTIL_ESCAPE_H
#define UTIL_ESCAPE_H

#include <stddef.h>

/* Appends `text` at to[used], without a final zero, for which one byte of `size` stays free; text without
 * room is dropped. Returns the new length. */
size_t escape_append(char *to, size_t size, size_t used, const char *text);

#define ESCAPED_TEXT 256
/* Escapes a name for a message, cut to this; returns `to`. */
const char *escape(const char *text, char to[ESCAPED_TEXT]);

#endif
