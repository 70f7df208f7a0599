/* SPDX-License-Identifier: Apache-2.0
 *
 * What a routine or command prints, on standard error: whole lines, and nothing that would move the cursor.
 */
#ifndef COMMAND_PRINTING_H
#define COMMAND_PRINTING_H

#include <stdbool.h>
#include <stddef.h>

/* All zero at the beginning. */
struct printing {
    bool within; /* a line that has not ended */
};

/* Control characters but tabs and ends of lines become blanks. */
void printing_put(struct printing *printing, const char *text, size_t length);
/* Ends the line, if one has begun: what comes next begins a line of its own. */
void printing_end(struct printing *printing);

#endif
