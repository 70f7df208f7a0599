/* SPDX-License-Identifier: Apache-2.0 */
#include "util/escape.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 4 /* most bytes of one escaped byte */

/* Returns how many bytes of the next character may be copied unchanged; 0 when the first byte must be
 * escaped. Terminals obey C1 controls (U+0080 to U+009F) too, so those are escaped. */
static size_t harmless(const unsigned char *text)
{
    if (text[0] < 0x80)
        return text[0] >= 0x20 && text[0] != 0x7f && text[0] != '\\';
    size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] < 0xc2 || text[0] > 0xf4 || (text[0] == 0xc2 && text[1] < 0xa0))
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

static size_t escape_byte(unsigned char byte, char *out)
{
    const char *names = "\\\\\nn\tt\rr";
    for (; *names; names += 2)
        if ((unsigned char)names[0] == byte)
            return (size_t)sprintf(out, "\\%c", names[1]);
    return (size_t)sprintf(out, "\\x%02x", byte);
}

size_t escape_append(char *to, size_t size, size_t used, const char *text)
{
    while (*text && used + LONGEST < size) {
        size_t length = harmless((const unsigned char *)text);
        if (length == 0) {
            used += escape_byte((unsigned char)*text++, to + used);
            continue;
        }
        memcpy(to + used, text, length);
        used += length;
        text += length;
    }
    return used;
}

const char *escape(const char *text, char to[ESCAPED_TEXT])
{
    to[escape_append(to, ESCAPED_TEXT, 0, text)] = '\0';
    return to;
}
