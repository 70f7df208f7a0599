/* SPDX-License-Identifier: Apache-2.0 */
#include "command/namesakes.h"

#include <stdlib.h>
#include <string.h>

static bool are_namesakes(const struct esp_node *a, const struct esp_node *b)
{
    return strcmp(a->name, b->name) == 0 && !a->unreachable && !b->unreachable &&
           strcmp(a->address, b->address) != 0;
}

const struct esp_node *namesake_of(const struct esp_node *nodes, size_t n, const struct esp_node *node)
{
    for (size_t i = 0; i < n; i++)
        if (are_namesakes(&nodes[i], node))
            return &nodes[i];
    return NULL;
}

/* Those that are reached first. */
static int by_name(const void *left, const void *right)
{
    const struct esp_node *a = *(const struct esp_node *const *)left,
                          *b = *(const struct esp_node *const *)right;
    const int order = strcmp(a->name, b->name);
    return order ? order : a->unreachable - b->unreachable;
}

bool *namesakes_all(const struct esp_node *nodes, size_t n)
{
    const struct esp_node **sorted = calloc(n + 1, sizeof *sorted);
    bool *all = calloc(n + 1, sizeof *all);
    if (!sorted || !all) {
        free(sorted);
        free(all);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        sorted[i] = &nodes[i];
    qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 1; i < n; i++)
        if (are_namesakes(sorted[i - 1], sorted[i]))
            all[sorted[i - 1] - nodes] = all[sorted[i] - nodes] = true;
    free(sorted);
    return all;
}
