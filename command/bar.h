/* SPDX-License-Identifier: Apache-2.0
 *
 * A bar of progress on standard error, for people at a terminal: otherwise nothing is drawn. It shows up when
 * a second has passed, and goes away when other text is to be printed or all is done. One thread at a time.
 */
#ifndef COMMAND_BAR_H
#define COMMAND_BAR_H

#include <stdbool.h>
#include <time.h>

struct bar {
    bool wanted, drawn;
    struct timespec since;
    char line[160];
};

void bar_init(struct bar *bar);
/* `fraction` from 0 to 1, and words behind the bar. */
void bar_draw(struct bar *bar, double fraction, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void bar_clear(struct bar *bar);

#endif
