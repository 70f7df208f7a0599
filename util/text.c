/* SPDX-License-Identifier: Apache-2.0 */
#include "util/text.h"

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
    for (size_t i = 0; i < n; i++)
        text->column = piece[i] == '\n' ? 0 : text->column + (((unsigned char)piece[i] & 0xc0) != 0x80);
}

void text_put(struct text *text, const char *piece)
{
    text_put_bytes(text, piece, strlen(piece));
}

void text_printf(struct text *text, const char *format, ...)
{
    char piece[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    text_put(text, piece);
}

void text_pad(struct text *text, size_t column)
{
    while (text->column < column)
        text_put_bytes(text, " ", 1);
}

void text_copy(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);
    if (length >= size)
        length = size - 1;
    memcpy(to, from, length);
    to[length] = 0;
}
