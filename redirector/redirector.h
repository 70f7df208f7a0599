/* SPDX-License-Identifier: Apache-2.0
 *
 * The redirector: the one well-known address. Master agents register with it under a lease, as children do
 * with an agent; clients ask it once which master agent to use.
 */
#ifndef REDIRECTOR_REDIRECTOR_H
#define REDIRECTOR_REDIRECTOR_H

#include "core/transport.h"
#include "services/duty.h"
#include "util/metrics.h"

struct redirector;

/* A number that is 0 takes its default. */
struct redirector_options {
    const char *name;
    const char *listen, *publish; /* as struct endpoint_options has them */
    uint64_t incarnation;
    uint32_t masters;     /* at most (1000) */
    int64_t heartbeat_ms; /* that masters shall keep (2000) */
    int64_t lease_ms;     /* after which a silent master is dead (8000) */
    int64_t learning_ms;  /* beside their longest search, until all masters have found it (0: 1 s) */
    /* For administrators, as struct duty_options has them: it can be told to reload, stop and restart. */
    const struct config_strings *administrators; /* borrowed */
    void (*control)(void *arg, enum duty_control what);
};

/* Starts serving. What the options point to is copied. */
enum esp_status redirector_create(const struct redirector_options *options, struct transport *transport,
                                  struct redirector **redirector, struct esp_error *error);
const char *redirector_address(const struct redirector *redirector);
/* For struct daemon_node; `redirector` is a struct redirector. Any thread but from inside an operation. */
bool redirector_health(void *redirector, char *text, size_t size);
void redirector_metrics(void *redirector, struct metrics *metrics);
/* Its file was read again, as struct daemon_reload has it: who administers it is taken over (`administrators`
 * is borrowed), and how masters keep in touch (heartbeat_ms, lease_ms), and who ordered that is answered.
 * `now` NULL: the file is wrong. */
void redirector_reloaded(struct redirector *redirector, const struct redirector_options *now,
                         const struct esp_error *error, const char *pending);
/* Lets the masters look elsewhere, stops serving and frees all. NULL is nothing to do. */
void redirector_stop(struct redirector *redirector, const char *reason);

#endif
