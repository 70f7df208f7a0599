/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/printing.h"

#include <ctype.h>
#include <stdio.h>

void printing_put(struct printing *printing, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool kept = !iscntrl((unsigned char)text[i]) || text[i] == '\n' || text[i] == '\t';
        putc(kept ? text[i] : ' ', stderr);
    }
    if (length > 0)
        printing->within = text[length - 1] != '\n';
}

void printing_end(struct printing *printing)
{
    if (printing->within)
        putc('\n', stderr);
    printing->within = false;
}
