/* SPDX-License-Identifier: Apache-2.0
 *
 * Rate-limits repeated log lines: a line is written once, and then rarely, with the number of dropped
 * repetitions. Pure data. */
#ifndef UTIL_TOLD_H
#define UTIL_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#define TOLD_KINDS                                                                                           \
    64 /* kinds remembered; beyond, the kind written longest ago is forgotten and counts as new */
#define TOLD_AGAIN_NS (INT64_C(600) * 1000000000)

/* Zero-initialized: no line was written. */
struct told {
    struct told_kind {
        uint64_t kind;
        int64_t told_ns;
        unsigned left_out;
        bool used;
    } kinds[TOLD_KINDS];
};

/* Whether a line of that kind (a digest of what distinguishes it) may be written now; *left_out is how
 * many were dropped since the last one. */
bool told_take(struct told *told, uint64_t kind, int64_t now_ns, unsigned *left_out);

#endif
