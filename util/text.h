/* SPDX-License-Identifier: Apache-2.0
 *
 * A text written piece by piece into a buffer of fixed size. Like snprintf: text that does not fit is
 * counted and dropped, and the result always ends with NUL. */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *data;
    size_t size;   /* of the buffer, > 0 */
    size_t length; /* of everything written, including dropped parts; it fits when length < size */
    size_t column; /* characters since the last line end, dropped ones included */
};

void text_open(struct text *text, char *buffer, size_t size);
void text_put(struct text *text, const char *piece);
void text_put_bytes(struct text *text, const char *piece, size_t n);
/* For short pieces: at most 1023 bytes at a time, the rest is dropped. */
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds spaces until the current line is `column` characters long (UTF-8 counts as characters). */
void text_pad(struct text *text, size_t column);

/* Copies a text into a buffer of `size` bytes and cuts what is too long. Cheaper than snprintf(). */
void text_copy(char *to, size_t size, const char *from);

#endif
