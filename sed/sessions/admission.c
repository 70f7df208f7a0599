/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/sessions/admission.h"

#include <stddef.h>
#include <utlist.h>

void admission_init(struct admission *admission, uint64_t total_bytes)
{
    *admission = (struct admission){.total = total_bytes};
}

static bool fits(const struct admission *admission, uint64_t bytes)
{
    return admission->used <= admission->total && bytes <= admission->total - admission->used;
}

/* Whether one that fits may go before the first in line. */
static bool may_overtake(const struct admission *admission, uint64_t bytes)
{
    return admission->overtaken <= admission->total && bytes <= admission->total - admission->overtaken;
}

/* Of those in line that there is memory for, if it were all free. */
static struct admission_entry *first_in_line(const struct admission *admission)
{
    struct admission_entry *entry = admission->line;
    while (entry && entry->bytes > admission->total)
        entry = entry->next;
    return entry;
}

/* Behind those whose turn is the same or an earlier one. */
static void join_line(struct admission *admission, struct admission_owner *owner,
                      struct admission_entry *entry)
{
    struct admission_entry *before = admission->line ? admission->line->prev : NULL;
    bool follows = owner->waiting > 0 && owner->turn > admission->turn;
    owner->turn = (follows ? owner->turn : admission->turn) + 1;
    owner->waiting++;
    entry->turn = owner->turn;
    entry->owner = owner;
    entry->waiting = true;
    while (before && before->turn > entry->turn)
        before = before == admission->line ? NULL : before->prev;
    if (before)
        DL_APPEND_ELEM(admission->line, before, entry);
    else
        DL_PREPEND(admission->line, entry);
    admission->waiting++;
}

enum admission_answer admission_request(struct admission *admission, struct admission_owner *owner,
                                        struct admission_entry *entry, uint64_t bytes)
{
    if (bytes > admission->total)
        return ADMISSION_NEVER;
    entry->bytes = bytes;
    const bool overtakes = first_in_line(admission) != NULL;
    if (fits(admission, bytes) && (!overtakes || may_overtake(admission, bytes))) {
        if (overtakes)
            admission->overtaken += bytes;
        admission->used += bytes;
        return ADMISSION_GRANTED;
    }
    join_line(admission, owner, entry);
    return ADMISSION_WAITS;
}

void admission_resize(struct admission *admission, uint64_t total_bytes)
{
    admission->total = total_bytes;
}

void admission_release(struct admission *admission, uint64_t bytes)
{
    admission->used -= bytes < admission->used ? bytes : admission->used;
}

static void take_out(struct admission *admission, struct admission_entry *entry)
{
    if (entry == first_in_line(admission))
        admission->overtaken = 0; /* the next one is the first now */
    DL_DELETE(admission->line, entry);
    entry->owner->waiting--;
    entry->owner = NULL;
    entry->waiting = false;
    entry->prev = entry->next = NULL;
    admission->waiting--;
}

struct admission_entry *admission_next(struct admission *admission)
{
    struct admission_entry *entry = first_in_line(admission);
    if (!entry || admission->used >= admission->total)
        return NULL;
    if (!fits(admission, entry->bytes)) {
        do
            entry = entry->next;
        while (entry && !(fits(admission, entry->bytes) && may_overtake(admission, entry->bytes)));
        if (!entry)
            return NULL;
        admission->overtaken += entry->bytes;
    } else if (entry->turn > admission->turn) {
        admission->turn = entry->turn;
    }
    take_out(admission, entry);
    admission->used += entry->bytes;
    return entry;
}

void admission_leave(struct admission *admission, struct admission_entry *entry)
{
    if (entry->waiting)
        take_out(admission, entry);
}

uint32_t admission_ahead(const struct admission *admission, const struct admission_entry *entry)
{
    uint32_t ahead = 0;
    if (!entry->waiting)
        return 0;
    for (const struct admission_entry *other = admission->line; other != entry; other = other->next)
        ahead++;
    return ahead;
}

void admission_admit(struct admission *admission)
{
    struct admission_entry *entry;
    while ((entry = admission_next(admission)))
        admission->admitted(admission->arg, entry);
}
