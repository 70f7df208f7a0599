/* SPDX-License-Identifier: Apache-2.0 */
#include "util/told.h"

bool told_take(struct told *told, uint64_t kind, int64_t now_ns, unsigned *left_out)
{
    struct told_kind *place = &told->kinds[0];
    *left_out = 0;
    for (struct told_kind *at = told->kinds; at < told->kinds + TOLD_KINDS; at++) {
        if (at->used && at->kind == kind) {
            place = at;
            break;
        }
        if (place->used && (!at->used || at->told_ns < place->told_ns))
            place = at;
    }
    if (place->used && place->kind == kind) {
        if (now_ns - place->told_ns < TOLD_AGAIN_NS) {
            place->left_out++;
            return false;
        }
        *left_out = place->left_out;
    }
    *place = (struct told_kind){.kind = kind, .told_ns = now_ns, .used = true};
    return true;
}
