/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void text_open(struct text *text, char *buffer, size_t size)
{
    *text = (struct text){.data = buffer, .size = size};
    buffer[0] = 0;
}

void text_put_bytes(struct text *text, const char *piece, size_t n)
{
    if (text->length + 1 < text->size) {
        size_t room = text->size - 1 - text->length;
        size_t fits = n < room ? n : room;
        memcpy(text->data + text->length, piece, fits);
        text->data[text->length + fits] = 0;
    }
    text->length += n;
}

void text_put(struct text *text, const char *piece)
{
    text_put_bytes(text, piece, strlen(piece));
}

void text_printf(struct text *text, const char *format, ...)
{
    size_t used = text->length < text->size ? text->length : text->size - 1;
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text->data + used, text->size - used, format, arguments);
    va_end(arguments);
    if (n > 0)
        text->length += (size_t)n;
}

void text_pad(struct text *text, size_t column)
{
    size_t used = text->length < text->size ? text->length : text->size - 1;
    size_t at = 0;
    for (size_t i = used; i > 0 && text->data[i - 1] != '\n'; i--)
        at += ((unsigned char)text->data[i - 1] & 0xc0) != 0x80;
    for (; at < column; at++)
        text_put_bytes(text, " ", 1);
}
