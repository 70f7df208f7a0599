/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/surprise.h"

bool surprise_counts(struct surprise *surprise, double expected_s, double seconds, int64_t now_ns)
{
    if (!(expected_s > 0) || seconds <= SURPRISE_TIMES * expected_s || seconds <= expected_s + SURPRISE_S) {
        *surprise = (struct surprise){0};
        return true;
    }
    const int64_t begun_ns = now_ns - (int64_t)(seconds * 1e9);
    surprise->believed = surprise->believed || (surprise->until_ns != 0 && begun_ns >= surprise->until_ns);
    surprise->until_ns = now_ns;
    return surprise->believed;
}
