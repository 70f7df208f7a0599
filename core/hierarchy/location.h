/* SPDX-License-Identifier: Apache-2.0
 *
 * Where data are, as an agent knows it: through which of its children each is reached, and what its own
 * parent has still to be told.
 *
 * An agent may know 100,000s of data, so an entry is small (32 bytes, in a table that is three quarters full
 * at most) and found by one look. A datum below several children has several places. What changes is gathered
 * and told upward in batches; a datum that came and went in between is not mentioned.
 *
 * Pure data; one thread at a time.
 */
#ifndef CORE_LOCATION_H
#define CORE_LOCATION_H

#include "core/data/datum.h"

struct location;

struct location_options {
    uint32_t most_data; /* 0: 1,000,000 */
    uint64_t seed;      /* unpredictable, so that nobody can make keys that meet in the table */
    bool track;         /* remember changes for location_changes(): there is a parent */
};

enum esp_status location_create(const struct location_options *options, struct location **location,
                                struct esp_error *error);
/* NULL is nothing to do. */
void location_destroy(struct location *location);

/* A number for a new child; used again after location_child_remove(). ESP_NO_MEMORY. */
enum esp_status location_child(struct location *location, uint32_t *child, struct esp_error *error);
/* Forgets the child and all that is reached through it only. Takes time in proportion to all data. */
void location_child_remove(struct location *location, uint32_t child);

/* The datum is below that child. Said again: no change. ESP_LIMIT: as many data as there may be;
 * ESP_NO_MEMORY; ESP_INVALID: key 0. */
enum esp_status location_add(struct location *location, uint32_t child, struct datum_key key, uint64_t bytes,
                             struct esp_error *error);
/* It is not below that child any more. False: it was not. */
bool location_remove(struct location *location, uint32_t child, struct datum_key key);

/* The child tells all it has from the start: what it says next goes to the number *stand_in; then, at the
 * end, what it said replaces what was known. Meanwhile both are found. */
enum esp_status location_replace_begin(struct location *location, uint32_t *stand_in,
                                       struct esp_error *error);
void location_replace_end(struct location *location, uint32_t child, uint32_t stand_in);

/* Through which children the datum is reached: at most `capacity` of their numbers. Returns how many there
 * are, 0: not known below. `bytes` may be NULL. O(1). */
uint32_t location_find(const struct location *location, struct datum_key key, uint64_t *bytes,
                       uint32_t *children, uint32_t capacity);

struct location_change {
    struct datum_key key;
    uint64_t bytes;
    bool here; /* else: not below this agent any more */
};

/* What the parent has to be told next, at most `capacity` changes; they count as told. Returns how many;
 * fewer than `capacity`: that was all. */
uint32_t location_changes(struct location *location, struct location_change *changes, uint32_t capacity);
/* Whether there are some. */
bool location_has_changes(const struct location *location);
/* The parent knows nothing (any more): all is to be told. ESP_NO_MEMORY. */
enum esp_status location_tell_all(struct location *location, struct esp_error *error);

/* Changes as the value of an extension of a report, LOCATION_BYTES each: key (16), bytes (8), here (1), all
 * little-endian. It lies in the arena; the tag is the caller's to set. False without memory. */
#define LOCATION_BYTES 25
bool location_pack(const struct location_change *changes, uint32_t n, struct arena *arena,
                   struct extension *extension);
/* Reads change `i` of them. False behind the last, and where the value makes no sense (a length that is no
 * multiple, key 0, more than 2^62 bytes): from there on nothing of it is to be believed. */
bool location_unpack(const struct extension *extension, uint32_t i, struct location_change *change);

/* Data that are known, and the memory that knowing them takes. */
uint32_t location_count(const struct location *location);
uint64_t location_memory(const struct location *location);

/* Where data are (core/hierarchy/location.h), as reports to parents carry it. */

/* Tag of an extension of a report: data that have come and gone below, LOCATION_CHANGE_BYTES each: the key
 * (two little-endian numbers of 8 bytes, the high half first), the bytes (one such number), 1 (here) or 0
 * (gone). A complete report, in all its parts, tells of all data. */
#define EXTENSION_DATA        42
#define LOCATION_CHANGE_BYTES 25
/* Changes of one report: half a megabyte. More are told with the next. */
#define LOCATION_REPORT_MOST 20000u

/* Adds what has to be told to the report (`complete`: all there is, from the beginning). False without
 * memory: nothing counts as told then but what was. */
bool location_tell(struct location *location, bool complete, struct message *report);

/* Takes what a report tells: of that child. Returns how many changes there were. What is malformed or too
 * much is passed over. */
uint32_t location_hear(struct location *location, uint32_t child, const struct report *report);

#endif
