/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that their owners have given up while servers that may have them could not be reached: what a master
 * agent remembers of that, so that those servers hear of it when they are back. In its state folder the file
 * "given-up" has them, which is replaced as a whole.
 */
#ifndef SERVICES_DISOWNED_H
#define SERVICES_DISOWNED_H

#include "core/data/datum.h"

#define DISOWNED_MOST   4096
#define DISOWNED_KEPT_S (INT64_C(365) * 24 * 3600)

struct disowned;

/* Reads the file in the folder; none, or `folder` NULL: nothing was given up, and with NULL nothing is
 * written. `now_s`: since 1970, here and below. ESP_CONFIG: the file is of another version, or malformed
 * (file and line); ESP_SYSTEM, ESP_NO_MEMORY. */
enum esp_status disowned_load(const char *folder, int64_t now_s, struct disowned **disowned,
                              struct esp_error *error);
/* NULL is nothing to do. */
void disowned_destroy(struct disowned *disowned);

/* The datum was given up by that owner ("": who has no certificate), and is in the file when it returns.
 * What is older than DISOWNED_KEPT_S is forgotten; beyond DISOWNED_MOST the owner's oldest goes, and the
 * oldest of all where he has none. ESP_INVALID: a name that is too long, or has control characters;
 * ESP_NO_MEMORY, ESP_SYSTEM: then it is as it was. */
enum esp_status disowned_note(struct disowned *disowned, const struct datum_id *id, const char *owner,
                              int64_t now_s, struct esp_error *error);

struct disowned_datum {
    struct datum_id id;
    const char *owner; /* of both until the next one is noted */
};

/* ---- what another master agent knows ---- */

/* The same of two that know the same, 0 of none. What is old is forgotten first. */
uint64_t disowned_sum(struct disowned *disowned, int64_t now_s);
/* All of it, as EXTENSION_GIVEN_UP_LIST, in `arena`. False without memory. */
bool disowned_list(const struct disowned *disowned, struct arena *arena, struct extension *list);
/* Notes what the list has, with the time at which it was given up there, and is not known here; `news` is
 * told of each, and notes none. What is old, makes no sense, or came before all that fills the place of its
 * owner is left out. ESP_SYSTEM: it is noted, but not in the file. */
enum esp_status disowned_take(struct disowned *disowned, const struct extension *list, int64_t now_s,
                              void (*news)(void *arg, const struct disowned_datum *datum), void *arg,
                              struct esp_error *error);

/* Whether the datum was given up. */
bool disowned_find(const struct disowned *disowned, struct datum_key key, struct disowned_datum *found);
/* All of them, the oldest first. `visit` notes none. */
void disowned_each(const struct disowned *disowned,
                   void (*visit)(void *arg, const struct disowned_datum *datum), void *arg);
size_t disowned_count(const struct disowned *disowned);

#endif
