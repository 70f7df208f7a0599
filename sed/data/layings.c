/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/data/layings.h"

static uint32_t place_of(const struct layings *layings, struct datum_key as)
{
    uint32_t i = 0;
    while (i < LAYINGS_MOST && !datum_key_equal(layings->all[i].as, as))
        i++;
    return i;
}

const struct laying *layings_find(const struct layings *layings, struct datum_key as)
{
    const uint32_t i = datum_key_is_none(as) ? LAYINGS_MOST : place_of(layings, as);
    return i < LAYINGS_MOST ? &layings->all[i] : NULL;
}

void layings_note(struct layings *layings, struct datum_key as, struct datum_key of,
                  const struct block_cyclic_matrix *before)
{
    const struct laying *earlier = layings_find(layings, of);
    const struct laying made = {.as = as, .value = earlier ? earlier->value : of, .before = *before};
    uint32_t at =
        place_of(layings, as); /* a client may give the new datum up, and order it again from another datum */
    if (at == LAYINGS_MOST) {
        at = layings->next;
        layings->next = (at + 1) % LAYINGS_MOST;
    }
    layings->all[at] = made;
}
