/* SPDX-License-Identifier: Apache-2.0
 *
 * A whole server daemon as its configuration file wants it: descriptions, workers, the state machine, an
 * endpoint. Which transport it speaks is the caller's choice.
 */
#ifndef SED_SERVICE_H
#define SED_SERVICE_H

#include "core/transport.h"
#include "services/settings.h"
#include "util/metrics.h"

struct service;

struct links;

/* Reads the descriptions and starts the workers: to be called before the process has threads. Problems that
 * cannot be called on this machine are logged and left out. The settings are borrowed. ESP_SYNTAX,
 * ESP_NOT_FOUND, ESP_INVALID when no problem is left; what starting workers ends with. */
enum esp_status service_prepare(const struct settings_sed *settings, struct service **service,
                                struct esp_error *error);

/* Answers on that transport, joins the parent, measures the speed. */
enum esp_status service_open(struct service *service, struct transport *transport, uint64_t incarnation,
                             struct esp_error *error);
/* Where, once it is open. */
const char *service_address(const struct service *service);

/* For struct daemon_node, while it is open; `service` is a struct service. */
bool service_health(void *service, char *text, size_t size);
void service_metrics(void *service, struct metrics *metrics);
bool service_settled(void *service, char *why, size_t size);

/* Its file was read again: reads the descriptions that it names now; when something is wrong with them, that
 * is logged, and all stays as it was (false). `now` lives until it was read again and taken over; NULL: the
 * file is wrong, as `error` says. `pending`: keys that count at the next start. Any thread but the
 * transport's. */
bool service_reload(struct service *service, const struct settings_sed *now, const struct esp_error *error,
                    const char *pending);

/* Takes no new sessions, lets those that run end and their results be fetched (for a bounded time), says
 * goodbye, ends the workers and the endpoint, and frees all. `restarts`: the program runs again then. NULL is
 * nothing to do. */
void service_close(struct service *service, bool restarts);

#endif
