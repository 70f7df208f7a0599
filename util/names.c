/* SPDX-License-Identifier: Apache-2.0 */
#include "util/names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define MAX_NAME 64 /* longer names are not compared */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Optimal string alignment over three rows: the current one, the one before, and the one before that
 * (for swaps). */
size_t names_distance(const char *a, const char *b, size_t most)
{
    size_t n = strlen(a), m = strlen(b);
    size_t rows[3][MAX_NAME + 1];
    if (n > MAX_NAME || m > MAX_NAME || (n > m ? n - m : m - n) > most)
        return most + 1;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t cost = same(a[i - 1], b[j - 1]) ? 0 : 1;
            now[j] = smaller(smaller(before[j] + 1, now[j - 1] + 1), before[j - 1] + cost);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                now[j] = smaller(now[j], earlier[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *names_closest(const char *name, const char *const *candidates, size_t n_candidates)
{
    size_t most = (strlen(name) + 2) / 3;
    const char *closest = NULL;
    for (size_t i = 0; i < n_candidates; i++) {
        size_t distance = names_distance(name, candidates[i], most);
        if (distance > most || (closest && distance == most))
            continue;
        closest = candidates[i];
        most = distance;
    }
    return closest;
}

const char *names_closest_word(const char *name, const char *const *candidates, size_t n_candidates)
{
    const char *closest = names_closest(name, candidates, n_candidates);
    return closest && strlen(name) < 3 && strcasecmp(name, closest) != 0 ? NULL : closest;
}
