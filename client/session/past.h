/* SPDX-License-Identifier: Apache-2.0
 *
 * How a session stands or went, as it is told to the program; and what is kept of one that is over, which is
 * a small fraction of the session itself.
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

/* Fills `past` with what is known; its texts are the session's. Of a session that runs, with the engine's
 * marks lock held. */
void past_view(struct past *past, struct session *session);

/* A copy with texts of its own, in one piece, for free(); NULL without memory. */
struct past *past_keep(struct session *session);

/* What the program gets of a session that is there, with candidates. Once it has ended, the engine is not
 * looked at. */
enum esp_status past_tell_session(struct session *session, struct esp_session_info **info,
                                  struct esp_error *error);

/* The same of what is kept, without candidates; NULL without memory. */
struct esp_session_info *past_tell(const struct past *past);

#endif
