/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/layings.h"

const struct laying *layings_find(const struct layings *layings, struct datum_key as)
{
    for (uint32_t i = 0; i < LAYINGS_MOST && !datum_key_is_none(as); i++)
        if (datum_key_equal(layings->all[i].as, as))
            return &layings->all[i];
    return NULL;
}

void layings_note(struct layings *layings, struct datum_key as, struct datum_key of,
                  const struct block_cyclic_matrix *before)
{
    const struct laying *earlier = layings_find(layings, of);
    const struct laying made = {.as = as, .value = earlier ? earlier->value : of, .before = *before};
    layings->all[layings->next] = made;
    layings->next = (layings->next + 1) % LAYINGS_MOST;
}
