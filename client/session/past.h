/* SPDX-License-Identifier: Apache-2.0
 *
 * The state or result of a session, as the program sees it, and the part that is stored after its end,
 * which is a small fraction of the session itself.
 */
#ifndef CLIENT_PAST_H
#define CLIENT_PAST_H

#include "client/session/session.h"

struct past {
    struct session_id id; /* without the secret */
    const char *problem, *server, *state, *text;
    enum esp_status status; /* ESP_PENDING: it is not over */
    double submit_s, transfer_s, fetch_s, total_s;
    double forecast_s, forecast_compute_s, forecast_error_s;
    struct session_timings timings;
    struct session_ranks ranks;
    uint32_t capable;
    bool asked;
    double progress;
    const struct left *left; /* client/session/left.h; NULL: nothing */
};

/* Fills `past` from the session; its texts are borrowed from the session. For a running session, called
 * with the engine's marks lock held. */
void past_view(struct past *past, struct session *session);

/* Returns a copy with its own texts, in one block for free(); NULL without memory. */
struct past *past_keep(struct session *session);

/* Makes the program's view of an existing session, with candidates. For an ended session, the engine is
 * not accessed. */
enum esp_status past_tell_session(struct session *session, struct esp_session_info **info,
                                  struct esp_error *error);

/* Makes the program's view of a stored session, without candidates. Returns NULL without memory. */
struct esp_session_info *past_tell(const struct past *past);

#endif
