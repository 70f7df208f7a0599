/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/outlook.h"

#include "util/c_numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LINE 2048 /* two names, and values of some twelve characters */

static const struct {
    const char *name, *unit;
} resources[] = {{"availableCpu", "fraction"}, {"currentCpu", "fraction"}, {"freeMemory", "MB"},
                 {"freeDisk", "MB"},           {"bandwidthTcp", "Mb/s"},   {"latencyTcp", "ms"},
                 {"connectTimeTcp", "ms"}};
#define RESOURCES (sizeof resources / sizeof *resources)

const char *outlook_resource(unsigned number)
{
    return number < RESOURCES ? resources[number].name : NULL;
}

const char *outlook_unit(const char *resource)
{
    for (size_t i = 0; i < RESOURCES; i++)
        if (strcmp(resources[i].name, resource) == 0)
            return resources[i].unit;
    return NULL;
}

/* ---- writing ---- */

bool outlook_page_begin(struct outlook_page *page, size_t first, struct arena *arena)
{
    *page = (struct outlook_page){.first = first, .text = arena_alloc(arena, OUTLOOK_PAGE_BYTES + 64)};
    if (page->text)
        *page->text = 0;
    return page->text != NULL;
}

bool outlook_is_single(const struct outlook *outlook)
{
    /* A shown value of a machine needs several measurements. */
    return outlook->n <= (outlook->step_s > 0 ? 0 : 1) && outlook->error == 0 &&
           outlook->forecast == outlook->now;
}

static bool is_name(const char *name)
{
    return !name[strcspn(name, "\t\n\r")];
}

/* Returns 0 when there is no room. */
static size_t write_line(const struct outlook *outlook, char *line, size_t size)
{
    const locale_t before = c_numbers_begin();
    int n = snprintf(line, size, "%s\t%s\t%s\t%.6g\t%.6g\t%.6g\t%.6g\t%.6g\t", outlook->resource,
                     outlook->from, outlook->to, outlook->now, outlook->forecast, outlook->error,
                     outlook->age_s, outlook->step_s);
    for (unsigned i = 0; i < outlook->n && n > 0 && (size_t)n < size; i++)
        n += snprintf(line + n, size - (size_t)n, "%s%.4g", i ? "," : "", outlook->recent[i]);
    c_numbers_end(before);
    if (n > 0 && (size_t)n < size)
        n += snprintf(line + n, size - (size_t)n, "\n");
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

void outlook_page_add(struct outlook_page *page, const struct outlook *outlook)
{
    char line[MOST_LINE];
    const size_t number = page->told;
    const size_t n =
        is_name(outlook->from) && is_name(outlook->to) ? write_line(outlook, line, sizeof line) : 0;
    if (n == 0)
        return;
    page->told++;
    if (number < page->first || page->next)
        return;
    if (page->used + n > OUTLOOK_PAGE_BYTES) {
        page->next = number;
        return;
    }
    memcpy(page->text + page->used, line, n + 1);
    page->used += n;
}

const char *outlook_page_end(struct outlook_page *page)
{
    if (page->next)
        snprintf(page->text + page->used, 64, "next\t%zu\n", page->next);
    return page->text;
}

/* ---- reading ---- */

static bool read_number(const char *text, double *value)
{
    char *end;
    const locale_t before = c_numbers_begin();
    *value = strtod(text, &end);
    c_numbers_end(before);
    return end != text && !*end && isfinite(*value) && *value >= 0;
}

static bool read_values(char *text, struct outlook *outlook)
{
    char *rest = NULL;
    outlook->n = 0;
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        if (outlook->n == OUTLOOK_RECENT || !read_number(word, &outlook->recent[outlook->n++]))
            return false;
    return true;
}

enum outlook_line outlook_read(char *line, struct outlook *outlook, size_t *next)
{
    char *parts[9];
    size_t n = 0;
    for (char *at = line; at && n < 9; n++) {
        parts[n] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = 0;
    }
    if (n == 2 && strcmp(parts[0], "next") == 0) {
        char *end;
        *next = strtoul(parts[1], &end, 10);
        return *next > 0 && !*end ? OUTLOOK_NEXT : OUTLOOK_NONSENSE;
    }
    if (n != 9 || !outlook_unit(parts[0]))
        return OUTLOOK_NONSENSE;
    *outlook = (struct outlook){.resource = parts[0], .from = parts[1], .to = parts[2]};
    double *const numbers[] = {&outlook->now, &outlook->forecast, &outlook->error, &outlook->age_s,
                               &outlook->step_s};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!read_number(parts[3 + i], numbers[i]))
            return OUTLOOK_NONSENSE;
    return read_values(parts[8], outlook) ? OUTLOOK_LINE : OUTLOOK_NONSENSE;
}
