/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/parallel_alike.h"

#include <stdio.h>
#include <string.h>

static const struct row {
    const char *name, *model;
    double part;
} rows[] = {
    {"gemm", "pdgemm", 1},   {"symm", "pdgemm", 1},   {"hemm", "pdgemm", 1},   {"syrk", "pdgemm", 0.5},
    {"herk", "pdgemm", 0.5}, {"trsm", "pdtrsm", 1},   {"getrf", "pdgetrf", 1}, {"getrs", "pdgetrs", 1},
    {"gesv", "pdgetrf", 1},  {"potrf", "pdpotrf", 1}, {"potrs", "pdgetrs", 1}, {"posv", "pdposv", 1},
    {"geqrf", "pdgeqrf", 1}, {"gels", "pdgels", 1},
};
#define ROWS (sizeof rows / sizeof *rows)

static double type_of(char letter)
{
    return letter == 's' ? 0.5 : letter == 'c' ? 2 : letter == 'z' ? 4 : 1;
}

static bool is_named(const char *rest, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(rest, name, length) == 0 && (!rest[length] || strcmp(rest + length, "_") == 0);
}

/* "esp_pdgesv_unequal_": its part "pdgesv". False: no such name. */
static bool strip_unequal(const char *name, char *bare, size_t size)
{
    static const char before[] = "esp_", behind[] = "_unequal";
    const char *end = strstr(name, behind);
    if (strncmp(name, before, sizeof before - 1) != 0 || !end || !is_named(end, behind))
        return false;
    const char *from = name + sizeof before - 1;
    return (size_t)snprintf(bare, size, "%.*s", (int)(end - from), from) < size;
}

bool parallel_alike(const char *name, struct parallel_alike *alike)
{
    char bare[16];
    if (strip_unequal(name, bare, sizeof bare)) {
        const bool known = parallel_alike(bare, alike);
        alike->unequal = true;
        return known;
    }
    *alike =
        (struct parallel_alike){.model = "pdgetrf", .part = 1, .type = name[0] == 'p' ? type_of(name[1]) : 1};
    if (name[0] != 'p' || !name[1] || !strchr("sdcz", name[1]))
        return false;
    for (size_t i = 0; i < ROWS; i++)
        if (is_named(name + 2, rows[i].name)) {
            alike->model = rows[i].model;
            alike->part = rows[i].part;
            return true;
        }
    return false;
}

bool parallel_alike_has_rhs(const struct parallel_alike *alike)
{
    return strcmp(alike->model, "pdgetrs") == 0 || strcmp(alike->model, "pdposv") == 0 ||
           strcmp(alike->model, "pdgels") == 0;
}

const char *parallel_alike_names(char *text, unsigned size)
{
    unsigned at = 0;
    *text = 0;
    for (size_t i = 0; i < ROWS && at < size; i++) {
        const char *joint = i == 0 ? "" : i + 1 < ROWS ? ", " : " or ";
        at += (unsigned)snprintf(text + at, size - at, "%s%s", joint, rows[i].name);
    }
    return text;
}
