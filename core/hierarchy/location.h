/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent's table of data: through which children each datum is reached, and which changes its own parent
 * does not know yet.
 *
 * An agent may know several 100,000 data, so an entry has 32 bytes, the table is at most three quarters
 * full, and a lookup touches one entry. A datum below several children has several places. Changes are
 * gathered and reported to the parent in batches. A datum that came and went in between is not reported.
 *
 * Pure data; one thread at a time. */
#ifndef CORE_LOCATION_H
#define CORE_LOCATION_H

#include "core/data/datum.h"

struct location;

struct location_options {
    uint32_t most_data; /* 0: 1,000,000 */
    uint64_t seed;      /* unpredictable, so that no one can construct keys that collide in the table */
    bool track;         /* remember changes for location_changes(): there is a parent */
};

enum esp_status location_create(const struct location_options *options, struct location **location,
                                struct esp_error *error);
/* NULL is ignored. */
void location_destroy(struct location *location);

/* Returns a number for a new child; it is reused after location_child_remove(). ESP_NO_MEMORY. */
enum esp_status location_child(struct location *location, uint32_t *child, struct esp_error *error);
/* Forgets the child and all data that are reached through it only. Takes time in proportion to all data. */
void location_child_remove(struct location *location, uint32_t child);

/* Notes that the datum is below that child; repeated calls change nothing. ESP_LIMIT: the table is full;
 * ESP_NO_MEMORY; ESP_INVALID: key 0. */
enum esp_status location_add(struct location *location, uint32_t child, struct datum_key key, uint64_t bytes,
                             struct esp_error *error);
/* Notes that the datum is no longer below that child. False: it was not. */
bool location_remove(struct location *location, uint32_t child, struct datum_key key);

/* Starts a complete list of the child's data. Until location_replace_end(), its data are added under the
 * number *stand_in; then they replace those known before. Meanwhile lookups find both. */
enum esp_status location_replace_begin(struct location *location, uint32_t *stand_in,
                                       struct esp_error *error);
void location_replace_end(struct location *location, uint32_t child, uint32_t stand_in);

/* Finds through which children the datum is reached: stores at most `capacity` of their numbers and
 * returns how many there are; 0: the datum is not known below. `bytes` may be NULL. O(1). */
uint32_t location_find(const struct location *location, struct datum_key key, uint64_t *bytes,
                       uint32_t *children, uint32_t capacity);

struct location_change {
    struct datum_key key;
    uint64_t bytes;
    bool here; /* false: the datum is no longer below this agent */
};

/* Returns the next changes for the parent, at most `capacity`, and marks them as reported. Fewer than
 * `capacity`: none is left. */
uint32_t location_changes(struct location *location, struct location_change *changes, uint32_t capacity);
/* Whether changes are waiting. */
bool location_has_changes(const struct location *location);
/* The parent knows no data: all must be reported. ESP_NO_MEMORY. */
enum esp_status location_tell_all(struct location *location, struct esp_error *error);

/* Packs changes as the value of a report's extension, LOCATION_BYTES each: key (16), bytes (8), here (1),
 * all little-endian. The value lies in the arena; the caller sets the tag. False without memory. */
#define LOCATION_BYTES 25
bool location_pack(const struct location_change *changes, uint32_t n, struct arena *arena,
                   struct extension *extension);
/* Reads change `i`. False after the last one, and when the value is malformed (its length is no multiple,
 * key 0, more than 2^62 bytes): ignore the rest then. */
bool location_unpack(const struct extension *extension, uint32_t i, struct location_change *change);

/* Number of known data, and memory of the table. */
uint32_t location_count(const struct location *location);
uint64_t location_memory(const struct location *location);

/* Locations of data in reports to the parent (core/hierarchy/location.h). */

/* Tag of an extension of a report: data that came or went below, LOCATION_CHANGE_BYTES each: the key (two
 * little-endian numbers of 8 bytes, the high half first), the bytes (one such number), 1 (here) or 0
 * (gone). A complete report lists all data in its parts. */
#define EXTENSION_DATA        42
#define LOCATION_CHANGE_BYTES 25
/* Most changes in one report: half a megabyte. The rest follow with the next report. */
#define LOCATION_REPORT_MOST 20000u

/* Adds waiting changes to the report (`complete`: all data). False without memory: no further change is
 * marked as reported. */
bool location_tell(struct location *location, bool complete, struct message *report);

/* Reads the changes in a report of that child. Returns how many there were. Malformed or excessive ones
 * are skipped. */
uint32_t location_hear(struct location *location, uint32_t child, const struct report *report);

#endif
