/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/absent.h"

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
    absent->heard_ns = child->arrivals.heard_ns;
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

const char *absent_next(const struct absentees *absentees, const struct absent **at)
{
    *at = *at ? (*at)->next : absentees->first;
    return *at ? (*at)->name : NULL;
}

struct extensions absent_mark(void)
{
    static struct extension unreachable = {.tag = EXTENSION_UNREACHABLE, .value = (const uint8_t *)""};
    return (struct extensions){&unreachable, 1};
}

bool absent_records(const struct absentees *absentees, const char *parent, int64_t now_ns,
                    struct arena *arena, struct node_record *records)
{
    const struct absent *absent;
    DL_FOREACH(absentees->first, absent)
    {
        *records = (struct node_record){.name = arena_strdup(arena, absent->name),
                                        .parent = arena_strdup(arena, parent),
                                        .address = arena_strdup(arena, absent->address),
                                        .role = absent->role,
                                        .incarnation = absent->incarnation,
                                        .age_s = (double)(now_ns - absent->heard_ns) / 1e9,
                                        .extensions = absent_mark()};
        if (!records->name || !records->parent || !records->address)
            return false;
        records++;
    }
    return true;
}

/* ---- the list as an extension for parent agents ---- */

/* Role, time, incarnation. */
#define FIXED_BYTES 17

static uint8_t *put_number(uint8_t *to, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        *to++ = (uint8_t)(number >> 8 * i);
    return to;
}

static uint64_t get_number(const uint8_t *from)
{
    uint64_t number = 0;
    for (int i = 7; i >= 0; i--)
        number = number << 8 | from[i];
    return number;
}

bool absent_pack(const struct absentees *absentees, int64_t now_ns, struct arena *arena,
                 struct extension *extension)
{
    size_t bytes = 0;
    const struct absent *absent, *first = absentees->first;
    for (uint32_t skip = absentees->n > ABSENT_TOLD ? absentees->n - ABSENT_TOLD : 0; skip > 0; skip--)
        first = first->next;
    DL_FOREACH(first, absent)
    {
        bytes += FIXED_BYTES + strlen(absent->name) + strlen(absent->address) + 2;
    }
    uint8_t *to = arena_alloc(arena, bytes + 1);
    if (!to)
        return false;
    *extension = (struct extension){EXTENSION_ABSENT, to, (uint32_t)bytes};
    DL_FOREACH(first, absent)
    {
        size_t name = strlen(absent->name) + 1, address = strlen(absent->address) + 1;
        *to++ = (uint8_t)absent->role;
        to = put_number(to, (uint64_t)((now_ns - absent->heard_ns) / NS_PER_MS));
        to = put_number(to, absent->incarnation);
        memcpy(to, absent->name, name);
        memcpy(to + name, absent->address, address);
        to += name + address;
    }
    return true;
}

/* Reads a text that ends with a zero; NULL when it is longer than `most` bytes without that zero. */
static const char *read_text(struct absent_reader *reader, size_t most)
{
    const char *text = (const char *)reader->at;
    size_t length = strnlen(text, reader->left);
    if (length == reader->left || length > most)
        return NULL;
    reader->at += length + 1;
    reader->left -= (uint32_t)length + 1;
    return text;
}

bool absent_read(struct absent_reader *reader, struct node_record *record)
{
    if (reader->left < FIXED_BYTES)
        return false;
    *record = (struct node_record){.role = reader->at[0],
                                   .age_s = (double)get_number(reader->at + 1) / 1e3,
                                   .incarnation = get_number(reader->at + 9)};
    reader->at += FIXED_BYTES;
    reader->left -= FIXED_BYTES;
    record->name = read_text(reader, CAP_NAME);
    record->address = record->name ? read_text(reader, CAP_ADDRESS) : NULL;
    return record->address != NULL && record->role <= ROLE_SERVER;
}

void absent_release(struct absentees *absentees)
{
    while (absentees->first)
        drop(absentees, absentees->first);
}
