/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/patience.h"
#include "util/clock.h"

struct patience patience_begin(int64_t gone_ms, int64_t silent_ms, int64_t now_ns)
{
    return (struct patience){.gone_ns = gone_ms * NS_PER_MS,
                             .silent_ns = (silent_ms > gone_ms ? silent_ms : gone_ms) * NS_PER_MS,
                             .begun_ns = now_ns,
                             .silence_ns = now_ns};
}

bool patience_lasts(struct patience *patience, bool silent, int64_t now_ns)
{
    if (silent) {
        patience->silence_ns = now_ns;
        return now_ns - patience->begun_ns < patience->silent_ns;
    }
    return now_ns - patience->silence_ns < patience->gone_ns;
}

void patience_tell(const char *whom, int64_t since_ns, int64_t now_ns, struct esp_error *error)
{
    if (now_ns - since_ns >= NS_PER_S)
        error_prefix(error, "waited %.3g s for %s", (double)(now_ns - since_ns) / NS_PER_S, whom);
}
