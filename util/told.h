/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of a log that would come again and again, as what they tell of is tried again and again: each is told
 * once, and then rarely, with how many were left out. Pure data.
 */
#ifndef UTIL_TOLD_H
#define UTIL_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#define TOLD_KINDS    64 /* remembered; beyond, the one told longest ago is told as if it were new */
#define TOLD_AGAIN_NS (INT64_C(600) * 1000000000)

/* Zero-initialized, nothing has been told. */
struct told {
    struct told_kind {
        uint64_t kind;
        int64_t told_ns;
        unsigned left_out;
        bool used;
    } kinds[TOLD_KINDS];
};

/* Whether a line of that kind (a digest of what makes it different from others) is to be written now; then
 * *left_out is how many were not since the last one. */
bool told_take(struct told *told, uint64_t kind, int64_t now_ns, unsigned *left_out);

#endif
