/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that were made here from other data by another layout (`data cp --grid`). Both have the same value, so
 * ranks that keep pieces of one need not be sent the other. Only the last ones are remembered; the value of
 * any other datum is sent.
 */
#ifndef SED_LAYINGS_H
#define SED_LAYINGS_H

#include "core/data/datum.h"

#define LAYINGS_MOST 128

struct laying {
    struct datum_key as, value; /* `value`: the key of the first datum with that value */
    struct block_cyclic_matrix before;
};

struct layings {
    struct laying all[LAYINGS_MOST]; /* zeroed: none */
    uint32_t next;
};

/* Notes that the datum `as` was made from `of`, whose layout is `before`. */
void layings_note(struct layings *layings, struct datum_key as, struct datum_key of,
                  const struct block_cyclic_matrix *before);
/* NULL: unknown. Valid until layings_note() is called. */
const struct laying *layings_find(const struct layings *layings, struct datum_key as);

#endif
