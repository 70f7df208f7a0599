/* SPDX-License-Identifier: Apache-2.0
 *
 * How a server stands and what it counts, for its HTTP port.
 */
#include "sed/server/server_state.h"

#include <stdio.h>

static void on_ended(struct server *server, struct session *session)
{
    struct server_totals *totals = &server->totals;
    if (session->cut_short && !session->begun)
        return; /* given back, and called elsewhere */
    if (session->state != SESSION_DONE) {
        totals->failed++;
        status_count(&totals->failures, session->error.status);
        return;
    }
    totals->done++;
    histogram_add(&totals->queued_s, server_seconds(session->ready_ns, session->started_ns));
    histogram_add(&totals->computed_s, session->compute_s);
    histogram_add(&totals->took_s, server_seconds(session->arrived_ns, session->ended_ns));
    if (session->forecast_s > 0)
        histogram_add(&totals->ratio, session->compute_s / session->forecast_s);
    for (uint32_t i = 0; i < session->problem->n_arguments; i++) {
        const struct argument *argument = &session->problem->arguments[i];
        if (session->arguments[i].kind == KIND_ABSENT)
            continue;
        if (argument_is_input(argument) && session->arguments[i].kind != KIND_WANTED)
            totals->bytes_in += session->job.arguments[i].bytes;
        totals->bytes_out += argument_is_output(argument) ? session->job.arguments[i].bytes : 0;
    }
}

const struct session_observer figures_observer = {.ended = on_ended};

bool server_health(void *self, char *text, size_t size)
{
    struct server *server = self;
    endpoint_enter(server->endpoint);
    const char *parent = membership_parent_name(server->membership);
    const bool solves = server->shelf->set->n_problems > 0; /* none: those of the directory are to come */
    const bool good = parent && solves && !server->stage.draining;
    if (server->stage.draining)
        snprintf(text, size, "server draining: it takes no new sessions");
    else if (parent && !solves)
        snprintf(text, size, "server below \"%s\" has no problem to solve yet", parent);
    else if (parent)
        snprintf(text, size, "server below \"%s\", %u of %u slots in use", parent, server->slots.running,
                 server->options.slots);
    else
        snprintf(text, size, "no parent of this server is reached");
    char why[200];
    const size_t n = strlen(text);
    if (server_lacks_ranks(server, why, sizeof why))
        snprintf(text + n, size - n, "; %s", why);
    duty_tell_unwritten(&server->duty, text, size);
    endpoint_leave(server->endpoint);
    return good;
}

bool server_settled(void *self, char *why, size_t size)
{
    struct server *server = self;
    endpoint_enter(server->endpoint);
    const bool settled = membership_is_known_above(server->membership, why, size);
    endpoint_leave(server->endpoint);
    return settled;
}

static void now(const struct server *server, struct metrics *metrics)
{
    metrics_family(
        metrics, "espalier_server_sessions", METRIC_GAUGE,
        "Sessions that have not ended, by what they do: wait for memory, receive arguments, wait in "
        "the queue, run.");
    metrics_sample(metrics, server->sessions.waiting, "state", "waiting", (const char *)NULL);
    metrics_sample(metrics, server->sessions.receiving, "state", "receiving", (const char *)NULL);
    metrics_sample(metrics, server->queue.length, "state", "queued", (const char *)NULL);
    metrics_sample(metrics, server->slots.running, "state", "running", (const char *)NULL);
    metrics_gauge(metrics, "espalier_server_slots", server->options.slots, "Calls at a time.");
    metrics_gauge(metrics, "espalier_server_draining", server->stage.draining,
                  "1 while it takes no new sessions.");
    metrics_gauge(metrics, "espalier_server_joined", membership_joined(server->membership),
                  "1 while there is a tie to a parent.");
    metrics_gauge(
        metrics, "espalier_server_memory_bytes", (double)server->admission.total,
        "Memory for the arguments and results of all sessions, less what others on the machine hold.");
    metrics_gauge(metrics, "espalier_server_memory_used_bytes", (double)server->admission.used,
                  "What of it is reserved.");
    metrics_gauge(metrics, "espalier_server_clients", server->sessions.n_clients, "Clients that are known.");
    metrics_gauge(metrics, "espalier_server_kept_states", states_count(server->states),
                  "States kept for later calls.");
    metrics_gauge(metrics, "espalier_server_promises", promises_count(server->promises),
                  "Sessions that were promised to it and have not called yet.");
    metrics_gauge(metrics, "espalier_server_speed_flops", server->speed.measured,
                  "What one slot reaches, in operations a second.");
}

/* The pool that the memory of arguments, results and data comes from. */
static void pooled(const struct server *server, struct metrics *metrics)
{
    struct segments_counters counts;
    segments_count(server->segments, &counts);
    metrics_family(metrics, "espalier_server_segments", METRIC_GAUGE,
                   "Pieces of shared memory: those that arguments, results and data are in, and those that "
                   "wait in the pool to be used again.");
    metrics_sample(metrics, counts.in_use, "state", "in_use", (const char *)NULL);
    metrics_sample(metrics, counts.idle, "state", "idle", (const char *)NULL);
    metrics_family(metrics, "espalier_server_segment_bytes", METRIC_GAUGE, "Bytes of them.");
    metrics_sample(metrics, (double)counts.in_use_bytes, "state", "in_use", (const char *)NULL);
    metrics_sample(metrics, (double)counts.idle_bytes, "state", "idle", (const char *)NULL);
    metrics_counter(metrics, "espalier_server_segments_made_total", (double)counts.made,
                    "Pieces of shared memory that were made anew.");
    metrics_counter(metrics, "espalier_server_segments_recycled_total", (double)counts.recycled,
                    "Times that one was taken from the pool instead.");
}

void server_metrics(void *self, struct metrics *metrics)
{
    struct server *server = self;
    const struct server_totals *totals = &server->totals;
    endpoint_enter(server->endpoint);
    now(server, metrics);
    pooled(server, metrics);
    server_data_metrics(server->data, metrics);
    metrics_counter(metrics, "espalier_server_sessions_done_total", (double)totals->done,
                    "Sessions that ended well.");
    metrics_statuses(metrics, "espalier_server_sessions_failed_total", &totals->failures,
                     "Sessions that ended otherwise, by why.");
    metrics_statuses(metrics, "espalier_server_calls_refused_total", &totals->refusals,
                     "Calls that were not let in, by why.");
    metrics_counter(metrics, "espalier_server_extra_runs_total", (double)totals->extra_runs,
                    "Sessions begun here that clients have called elsewhere as this server was silent.");
    metrics_counter(metrics, "espalier_server_argument_bytes_total", (double)totals->bytes_in,
                    "Arguments of the sessions that ended well.");
    metrics_counter(metrics, "espalier_server_result_bytes_total", (double)totals->bytes_out,
                    "Results of the sessions that ended well.");
    metrics_counter(metrics, "espalier_server_lent_bytes_total", (double)server->totals.bytes_lent,
                    "Arguments and results that were used where clients of this host have them.");
    metrics_histogram(metrics, "espalier_server_queue_seconds", &totals->queued_s,
                      "Time that sessions waited for a slot, their arguments being there.");
    metrics_histogram(metrics, "espalier_server_compute_seconds", &totals->computed_s,
                      "Time that routines took.");
    metrics_histogram(metrics, "espalier_server_session_seconds", &totals->took_s,
                      "Time from the arrival of a call to the end of its session.");
    metrics_histogram(metrics, "espalier_server_forecast_ratio", &totals->ratio,
                      "Time that a routine took, divided by the forecast: 1 is a perfect one.");
    endpoint_leave(server->endpoint);
}
