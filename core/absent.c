/* SPDX-License-Identifier: Apache-2.0 */
#include "core/absent.h"

#include <stdlib.h>
#include <string.h>

struct absent {
    char *name, *address;
    enum node_role role;
    uint64_t incarnation;
    int64_t heard_ns;
    struct absent *prev, *next;
};

static void drop(struct absentees *absentees, struct absent *absent)
{
    if (!absent)
        return;
    DL_DELETE(absentees->first, absent);
    absentees->n--;
    free(absent->name);
    free(absent->address);
    free(absent);
}

void absent_forget(struct absentees *absentees, const char *name)
{
    struct absent *absent;
    DL_FOREACH(absentees->first, absent)
    {
        if (strcmp(absent->name, name) == 0)
            break;
    }
    drop(absentees, absent);
}

void absent_note(struct absentees *absentees, const struct child *child)
{
    absent_forget(absentees, child->name);
    if (absentees->n == ABSENT_MOST)
        drop(absentees, absentees->first);
    struct absent *absent = calloc(1, sizeof *absent);
    if (!absent)
        return;
    absent->name = strdup(child->name);
    absent->address = strdup(child->address);
    absent->role = child->role;
    absent->incarnation = child->incarnation;
    absent->heard_ns = child->heard_ns;
    DL_APPEND(absentees->first, absent);
    absentees->n++;
    if (!absent->name || !absent->address)
        drop(absentees, absent);
}

uint32_t absent_count(struct absentees *absentees, int64_t now_ns)
{
    while (absentees->first && now_ns - absentees->first->heard_ns >= ABSENT_KEPT_NS)
        drop(absentees, absentees->first);
    return absentees->n;
}

bool absent_records(const struct absentees *absentees, const char *parent, int64_t now_ns,
                    struct arena *arena, struct node_record *records)
{
    static struct extension unreachable = {.tag = EXTENSION_UNREACHABLE, .value = (const uint8_t *)""};
    const struct absent *absent;
    DL_FOREACH(absentees->first, absent)
    {
        *records = (struct node_record){.name = arena_strdup(arena, absent->name),
                                        .parent = arena_strdup(arena, parent),
                                        .address = arena_strdup(arena, absent->address),
                                        .role = absent->role,
                                        .incarnation = absent->incarnation,
                                        .age_s = (double)(now_ns - absent->heard_ns) / 1e9,
                                        .extensions = {&unreachable, 1}};
        if (!records->name || !records->parent || !records->address)
            return false;
        records++;
    }
    return true;
}

void absent_release(struct absentees *absentees)
{
    while (absentees->first)
        drop(absentees, absentees->first);
}
