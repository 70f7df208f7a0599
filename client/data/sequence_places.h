/* SPDX-License-Identifier: Apache-2.0
 *
 * The arrays of all sequences, for who comes upon their memory from outside: another thread that calls with
 * it, and who gives it back. Any thread.
 */
#ifndef CLIENT_SEQUENCE_PLACES_H
#define CLIENT_SEQUENCE_PLACES_H

#include "client/data/sequence_again.h"

bool sequence_overlaps(const struct sequence_entry *entry, const void *memory, uint64_t bytes);

void sequence_place_add(struct sequence_entry *entry);
void sequence_place_remove(struct sequence_entry *entry);

/* Whether a result of a sequence other than `own` (NULL: none is) belongs there, and has not come. */
bool sequence_place_is_due(const void *memory, uint64_t bytes, const struct sequence *own);
/* Whether its memory can be read: a program may have freed it, which only the system can tell. */
bool sequence_place_is_there(const struct sequence_entry *entry);
/* The program gives that memory back: no sequence reads it, or brings anything there, any more. */
void sequence_place_gone(const void *memory, uint64_t bytes);

#endif
