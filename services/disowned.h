/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists data that their owners have deleted while servers that may have them were unreachable. A master
 * agent remembers them, so that those servers learn of it when they are back. They are saved in the file
 * "given-up" in its state folder, which is replaced as a whole. */
#ifndef SERVICES_DISOWNED_H
#define SERVICES_DISOWNED_H

#include "core/data/datum.h"

#define DISOWNED_MOST   4096
#define DISOWNED_KEPT_S (INT64_C(365) * 24 * 3600)

struct disowned;

/* Reads the file in the folder; without a file the list is empty; `folder` NULL: nothing is saved.
 * `now_s`: seconds since 1970, here and below. ESP_CONFIG: the file is of another version, or malformed
 * (file and line); ESP_SYSTEM, ESP_NO_MEMORY. */
enum esp_status disowned_load(const char *folder, int64_t now_s, struct disowned **disowned,
                              struct esp_error *error);
/* NULL is ignored. */
void disowned_destroy(struct disowned *disowned);

/* Notes that the owner ("": without a certificate) deleted the datum, and has saved that when it returns.
 * Entries older than DISOWNED_KEPT_S are dropped; beyond DISOWNED_MOST the owner's oldest is dropped, or
 * the oldest of all if the owner has none. ESP_INVALID: a name that is too long, or has control
 * characters; ESP_NO_MEMORY, ESP_SYSTEM: then nothing has changed. */
enum esp_status disowned_note(struct disowned *disowned, const struct datum_id *id, const char *owner,
                              int64_t now_s, struct esp_error *error);

struct disowned_datum {
    struct datum_id id;
    const char *owner; /* both are valid until the next one is noted */
};

/* ---- exchange with other master agents ---- */

/* Returns a checksum of the list: equal for equal lists, 0 if empty. Drops old entries first. */
uint64_t disowned_sum(struct disowned *disowned, int64_t now_s);
/* Packs the whole list as EXTENSION_GIVEN_UP_LIST, in `arena`. False without memory. */
bool disowned_list(const struct disowned *disowned, struct arena *arena, struct extension *list);
/* Adds entries of the list that are not known here, with the time at which they were given up there; calls
 * `news` for each, which must not note any. Skips entries that are old, malformed, or older than all
 * entries of an owner whose room is full. ESP_SYSTEM: noted, but not saved. */
enum esp_status disowned_take(struct disowned *disowned, const struct extension *list, int64_t now_s,
                              void (*news)(void *arg, const struct disowned_datum *datum), void *arg,
                              struct esp_error *error);

/* Whether the datum was given up. */
bool disowned_find(const struct disowned *disowned, struct datum_key key, struct disowned_datum *found);
/* Visits all entries, the oldest first. `visit` must not note any. */
void disowned_each(const struct disowned *disowned,
                   void (*visit)(void *arg, const struct disowned_datum *datum), void *arg);
size_t disowned_count(const struct disowned *disowned);

#endif
