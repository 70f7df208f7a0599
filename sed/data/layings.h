/* SPDX-License-Identifier: Apache-2.0
 *
 * Which data were made here of which by laying them otherwise (`data cp --grid`): both have the same value,
 * so that ranks which keep pieces of the one need not be sent the other. A memory of the last ones: who asks
 * for another learns only that nothing is known, and its value is sent.
 */
#ifndef SED_LAYINGS_H
#define SED_LAYINGS_H

#include "core/data/datum.h"

#define LAYINGS_MOST 128

struct laying {
    struct datum_key as, value; /* `value`: of the datum that it goes back to */
    struct block_cyclic_matrix before;
};

struct layings {
    struct laying all[LAYINGS_MOST]; /* zeroed: none */
    uint32_t next;
};

/* The datum `as` is `of`, which lies as `before` says, laid otherwise. */
void layings_note(struct layings *layings, struct datum_key as, struct datum_key of,
                  const struct block_cyclic_matrix *before);
/* NULL: nothing is known. Valid until the next is noted. */
const struct laying *layings_find(const struct layings *layings, struct datum_key as);

#endif
