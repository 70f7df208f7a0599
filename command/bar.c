/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/bar.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WIDTH 40

void bar_init(struct bar *bar)
{
    *bar = (struct bar){.wanted = isatty(STDERR_FILENO)};
    clock_gettime(CLOCK_MONOTONIC, &bar->since);
}

static bool is_due(const struct bar *bar)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - bar->since.tv_sec) + (double)(now.tv_nsec - bar->since.tv_nsec) / 1e9 > 1;
}

void bar_draw(struct bar *bar, double fraction, const char *format, ...)
{
    static const char full[] = "########################################";
    char words[80], line[sizeof bar->line];
    va_list arguments;
    if (!bar->wanted || (!bar->drawn && !is_due(bar)))
        return;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    fraction = !(fraction > 0) ? 0 : fraction > 1 ? 1 : fraction;
    int done = (int)(fraction * WIDTH);
    snprintf(line, sizeof line, "[%.*s%*s] %3d %%  %s", done, full, WIDTH - done, "", (int)(fraction * 100),
             words);
    if (bar->drawn && strcmp(line, bar->line) == 0)
        return;
    strcpy(bar->line, line);
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    bar->drawn = true;
}

void bar_clear(struct bar *bar)
{
    if (bar->drawn)
        fputs("\r\033[K", stderr);
    bar->drawn = false;
}
