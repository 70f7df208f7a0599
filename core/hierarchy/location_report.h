/* SPDX-License-Identifier: Apache-2.0
 *
 * Where data are (core/hierarchy/location.h), as reports to parents carry it.
 */
#ifndef CORE_LOCATION_REPORT_H
#define CORE_LOCATION_REPORT_H

#include "core/hierarchy/location.h"

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
