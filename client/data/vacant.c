/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/vacant.h"
#include "util/random.h"

#include <pthread.h>
#include <string.h>

#define QUIET_DOUBLE UINT32_C(0x7ff80000) /* upper half; as a float a quiet NaN, too */
#define QUIET_FLOAT  UINT32_C(0x7fc00000)

/* The halves of a word as they lie in memory, so that one of floats can be looked at by itself. */
static uint32_t mark[2];

static void draw(void)
{
    uint32_t drawn[2] = {0x5a5a5u, 0x3c3c3cu}; /* without random numbers: one that programs do not write */
    random_bytes(drawn, sizeof drawn, NULL);
    const uint64_t word = (uint64_t)(QUIET_DOUBLE | (drawn[0] & ~UINT32_C(0x7ff00000))) << 32 |
                          (QUIET_FLOAT | (drawn[1] & ~UINT32_C(0x7f800000)));
    memcpy(mark, &word, sizeof word);
}

static const uint32_t *the_mark(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, draw);
    return mark;
}

bool vacant_can_be(enum base_type type)
{
    return type == TYPE_FLOAT || type == TYPE_COMPLEX || type == TYPE_DOUBLE || type == TYPE_DOUBLE_COMPLEX ||
           type == TYPE_LONG || type == TYPE_INT64;
}

void vacant_mark(void *memory, uint64_t bytes)
{
    const uint32_t *halves = the_mark();
    char *at = memory;
    uint64_t done = 0;
    for (; done + sizeof mark <= bytes; done += sizeof mark)
        memcpy(at + done, halves, sizeof mark);
    memcpy(at + done, halves, bytes - done);
}

/* The unit that is written as a whole. */
static uint64_t unit_of(enum base_type type)
{
    return type == TYPE_FLOAT || type == TYPE_COMPLEX ? sizeof(float) : sizeof(double);
}

/* Whether the unit at that place (a multiple of the unit) is marked; after the_mark(). */
static bool is_marked(const char *memory, uint64_t at, uint64_t unit)
{
    uint64_t word;
    uint32_t half;
    if (unit == sizeof word) {
        memcpy(&word, mark, sizeof word);
        return memcmp(memory + at, &word, sizeof word) == 0;
    }
    memcpy(&half, memory + at, sizeof half);
    return half == mark[at / sizeof half % 2];
}

enum vacancy vacant_look(const void *memory, uint64_t bytes, enum base_type type)
{
    const uint64_t unit = unit_of(type);
    the_mark();
    const bool first = bytes > 0 && is_marked(memory, 0, unit);
    for (uint64_t at = unit; at < bytes; at += unit)
        if (is_marked(memory, at, unit) != first)
            return VACANT_PARTLY;
    return first ? VACANT_WHOLLY : VACANT_NOT;
}

void vacant_fill(void *memory, const void *from, uint64_t bytes, enum base_type type)
{
    const uint64_t unit = unit_of(type);
    the_mark();
    for (uint64_t at = 0; at < bytes; at += unit)
        if (is_marked(memory, at, unit))
            memcpy((char *)memory + at, (const char *)from + at, unit);
}
