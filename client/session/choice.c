/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/choice.h"
#include "client/session/excluded.h"
#include "core/choice/estimate.h"
#include "util/clock.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

bool choice_of(const struct submit_reply *reply, struct choice *choice)
{
    const uint32_t n = reply->n_candidates < MOST_CANDIDATES ? reply->n_candidates : MOST_CANDIDATES;
    *choice = (struct choice){.candidates = malloc((n ? n : 1) * sizeof *choice->candidates)};
    if (!choice->candidates)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct candidate *from = &reply->candidates[i];
        struct session_candidate *to = &choice->candidates[i];
        text_copy(to->server, sizeof to->server, from->server);
        text_copy(to->address, sizeof to->address, from->address);
        to->incarnation = from->incarnation;
        to->compute_s = from->compute_s;
        to->queue_s = from->queue_s;
        to->transfer_s = from->transfer_s;
        to->error_s = from->error_s;
        to->tried = false;
        to->status = ESP_OK;
    }
    choice->n = n;
    choice->master = reply->master;
    choice->placement = reply->placement;
    choice->capable = reply->capable;
    choice->asked = reply->asked;
    return true;
}

bool choice_copy(const struct choice *from, uint32_t first, struct choice *to)
{
    *to = *from;
    to->placement = 0;
    if (!(to->candidates = malloc(from->n * sizeof *to->candidates))) {
        *to = (struct choice){0};
        return false;
    }
    to->candidates[0] = from->candidates[first];
    for (uint32_t i = 0, at = 1; i < from->n; i++)
        if (i != first)
            to->candidates[at++] = from->candidates[i];
    return true;
}

void choice_release(struct choice *choice)
{
    free(choice->candidates);
    *choice = (struct choice){0};
}

enum esp_status choice_request(const struct session *session, int64_t timeout_ms, struct message *request,
                               struct esp_error *error)
{
    request->submit.time_left_ms = (uint64_t)timeout_ms;
    request->submit.request = (struct request){.session = session->id,
                                               .server = session->invocation.home,
                                               .excluded = (const char **)session->excluded,
                                               .n_excluded = session->n_excluded};
    enum esp_status status = invocation_request(&session->invocation, request, error);
    const double passed_s = (double)(clock_now_ns(session->engine->clock) - session->started_ns) / NS_PER_S;
    return status == ESP_OK ? wishes_tell(&session->wishes, passed_s, request, error) : status;
}

struct other_server {
    struct session *session;
    bool found;
};

static void find_other(void *arg, const char *address, const struct message *reply,
                       const struct esp_error *why)
{
    struct other_server *other = arg;
    (void)address;
    (void)why;
    for (uint32_t i = 0; reply && i < reply->submit_reply.n_candidates; i++)
        other->found |= strcmp(reply->submit_reply.candidates[i].server, other->session->server) != 0 &&
                        !excluded_has(other->session, reply->submit_reply.candidates[i].server);
}

bool choice_knows_other(struct session *session)
{
    struct engine *engine = session->engine;
    struct message request = {.kind = MESSAGE_SUBMIT};
    struct esp_error unread;
    struct other_server other = {.session = session};
    const int64_t left_ms = session_left_ms(session),
                  timeout_ms = left_ms < engine->call_timeout_ms ? left_ms : engine->call_timeout_ms;
    if (choice_request(session, timeout_ms, &request, &unread) == ESP_OK &&
        extension_add(&request.submit.request.extensions, EXTENSION_FORECAST, "", 0, &request.arena))
        route_ask_all(engine->route, &request, timeout_ms, find_other, &other, &unread);
    message_clear(&request);
    return other.found;
}
