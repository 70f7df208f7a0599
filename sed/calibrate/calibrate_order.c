/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/calibrate/calibrate_order.h"

#include "core/forecast/accuracy_line.h"
#include "util/regular_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct used {
    struct problem *problem;
    size_t index;
    double seconds;
};

static int by_name(const void *a, const void *b)
{
    const struct used *x = a, *y = b;
    return strcmp(x->problem->name, y->problem->name);
}

static int by_use(const void *a, const void *b)
{
    const struct used *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds > y->seconds ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Lines that are none are passed over, as problems are that the server no longer has. */
static void add_file(const char *path, struct used *all, size_t n)
{
    char text[ACCURACY_LINE];
    struct accuracy_line line;
    FILE *file = regular_file_open(path, "r", NULL);
    while (file && fgets(text, sizeof text, file)) {
        struct problem named = {.name = line.problem};
        const struct used key = {.problem = &named};
        if (!accuracy_line_read(text, &line))
            continue;
        struct used *found = bsearch(&key, all, n, sizeof *all, by_name);
        if (found)
            found->seconds += (line.together > 0 ? line.together : 1) * line.actual_s;
    }
    if (file)
        fclose(file);
}

struct problem **calibrate_order(const struct problem_set *set, const char *state_dir)
{
    static const char *const files[] = {ACCURACY_FILE, ACCURACY_FILE ".old"};
    const size_t n = set->n_problems;
    char path[4096];
    struct used *all = calloc(n + 1, sizeof *all);
    struct problem **order = calloc(n + 1, sizeof *order);
    if (!all || !order) {
        free(all);
        free(order);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        all[i] = (struct used){set->problems[i], i, 0};
    qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; state_dir && i < sizeof files / sizeof *files; i++)
        if (snprintf(path, sizeof path, "%s/%s", state_dir, files[i]) < (int)sizeof path)
            add_file(path, all, n);
    qsort(all, n, sizeof *all, by_use);
    for (size_t i = 0; i < n; i++)
        order[i] = all[i].problem;
    free(all);
    return order;
}
