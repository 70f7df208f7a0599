/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/lost_problems.h"

#include "core/hierarchy/absent.h"
#include "core/problem/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lost_problem {
    uint64_t problem;
    int64_t until_ns;
    UT_hash_handle hh; /* hash that keeps the order of insertion */
};

uint64_t lost_problem(const char *name)
{
    return digest_text(name, strlen(name));
}

uint64_t lost_node(const char *name)
{
    char text[CAP_NAME + 2];
    snprintf(text, sizeof text, " %s", name);
    return lost_problem(text);
}

void lost_problems_note_any(struct lost_problems *lost, int64_t until_ns)
{
    if (until_ns > lost->unsure_ns)
        lost->unsure_ns = until_ns;
}

static void drop(struct lost_problems *lost, struct lost_problem *item)
{
    HASH_DEL(lost->first, item);
    free(item);
}

static struct lost_problem *find(const struct lost_problems *lost, uint64_t problem)
{
    struct lost_problem *item;
    HASH_FIND(hh, lost->first, &problem, sizeof problem, item);
    return item;
}

void lost_problems_note(struct lost_problems *lost, uint64_t problem, int64_t until_ns)
{
    struct lost_problem *item = find(lost, problem);
    if (item) {
        if (item->until_ns > until_ns)
            until_ns = item->until_ns;
        drop(lost, item);
    }
    if (HASH_COUNT(lost->first) == LOST_PROBLEMS_MOST) {
        lost_problems_note_any(lost, lost->first->until_ns);
        drop(lost, lost->first);
    }
    item = calloc(1, sizeof *item);
    if (item) {
        *item = (struct lost_problem){.problem = problem, .until_ns = until_ns};
        HASH_ADD(hh, lost->first, problem, sizeof item->problem, item);
    }
    if (!item || !item->hh.tbl) {
        lost_problems_note_any(lost, until_ns);
        free(item);
    }
}

bool lost_problems_may(const struct lost_problems *lost, uint64_t problem, int64_t now_ns)
{
    if (now_ns < lost->unsure_ns)
        return true;
    const struct lost_problem *item = find(lost, problem);
    return item && now_ns < item->until_ns;
}

/* ---- the list as an extension for parent agents ---- */

#define BYTES_EACH 8

static void put(uint8_t *to, uint64_t problem)
{
    for (int i = 0; i < BYTES_EACH; i++)
        to[i] = (uint8_t)(problem >> 8 * i);
}

static uint64_t get(const uint8_t *from)
{
    uint64_t problem = 0;
    for (int i = BYTES_EACH - 1; i >= 0; i--)
        problem = problem << 8 | from[i];
    return problem;
}

bool lost_problems_tell(const struct lost_problems *lost, int64_t now_ns, struct arena *arena,
                        struct extension *extension)
{
    uint32_t n = 0;
    const struct lost_problem *item;
    if (now_ns < lost->unsure_ns)
        return false;
    for (item = lost->first; item; item = item->hh.next)
        n += now_ns < item->until_ns;
    uint8_t *value = n <= LOST_PROBLEMS_TOLD ? arena_alloc(arena, n * BYTES_EACH + 1) : NULL;
    if (!value)
        return false;
    *extension = (struct extension){EXTENSION_LOST_PROBLEMS, value, n * BYTES_EACH};
    for (item = lost->first; item; item = item->hh.next)
        if (now_ns < item->until_ns) {
            put(value, item->problem);
            value += BYTES_EACH;
        }
    return true;
}

bool lost_problems_told(const struct extensions *extensions, uint64_t problem)
{
    const struct extension *absent = extension_find(extensions, EXTENSION_ABSENT);
    const struct extension *told = extension_find(extensions, EXTENSION_LOST_PROBLEMS);
    if (!told)
        return absent && absent->length > 0;
    for (uint32_t at = 0; at + BYTES_EACH <= told->length; at += BYTES_EACH)
        if (get(told->value + at) == problem)
            return true;
    return false;
}

void lost_problems_inherit(struct lost_problems *lost, const struct extensions *extensions, int64_t until_ns)
{
    const struct extension *absent = extension_find(extensions, EXTENSION_ABSENT);
    const struct extension *told = extension_find(extensions, EXTENSION_LOST_PROBLEMS);
    if (!told && absent && absent->length > 0)
        lost_problems_note_any(lost, until_ns);
    for (uint32_t at = 0; told && at + BYTES_EACH <= told->length; at += BYTES_EACH)
        lost_problems_note(lost, get(told->value + at), until_ns);
}

void lost_problems_release(struct lost_problems *lost)
{
    struct lost_problem *item, *next;
    HASH_ITER(hh, lost->first, item, next)
    {
        drop(lost, item);
    }
}
