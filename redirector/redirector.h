/* SPDX-License-Identifier: Apache-2.0
 *
 * The redirector: the one well-known address of a site. Master agents register with it under a lease, as
 * children do with an agent. Clients ask it once which master agent to use.
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
    const char *listen, *publish; /* as in struct endpoint_options */
    uint64_t incarnation;
    uint32_t masters;     /* most masters (1000) */
    int64_t heartbeat_ms; /* interval of the masters' heartbeats (2000) */
    int64_t lease_ms;     /* a master that is silent for so long is lost (8000) */
    int64_t learning_ms;  /* warm-up, in addition to the masters' longest search (0: 1 s) */
    /* For orders of administrators (reload, stop, restart), as in struct duty_options. */
    const struct config_strings *administrators; /* borrowed */
    void (*control)(void *arg, enum duty_control what);
};

/* Starts a redirector. Copies everything that the options point to. */
enum esp_status redirector_create(const struct redirector_options *options, struct transport *transport,
                                  struct redirector **redirector, struct esp_error *error);
const char *redirector_address(const struct redirector *redirector);
/* For struct daemon_node; `redirector` is a struct redirector. May be called from any thread, except from
 * inside an operation of the redirector. */
bool redirector_health(void *redirector, char *text, size_t size);
void redirector_metrics(void *redirector, struct metrics *metrics);
/* Takes over options after the configuration file was read again, as in struct daemon_reload: the
 * administrators (`administrators` is borrowed), heartbeat_ms and lease_ms. Answers the administrator who
 * ordered the reload. `now` is NULL if the file is wrong. */
void redirector_reloaded(struct redirector *redirector, const struct redirector_options *now,
                         const struct esp_error *error, const char *pending);
/* Dismisses the masters, stops serving and frees the redirector. Accepts NULL. */
void redirector_stop(struct redirector *redirector, const char *reason);

#endif
