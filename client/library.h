/* SPDX-License-Identifier: Apache-2.0
 *
 * The one initialized library of a process: its life, who is inside it, and the last error of each thread.
 */
#ifndef CLIENT_LIBRARY_H
#define CLIENT_LIBRARY_H

#include "client/session/handle.h"
#include "client/session/past.h"
#include "client/session/session.h"
#include "client/session/table.h"
#include "services/settings.h"

struct library {
    struct settings_client settings;
    struct transport *transport;
    struct engine *engine;
    struct handles *handles;
    struct table *table;
};

/* Removes the variables of the environment that are settings for transports of other programs. For the
 * command: a program that uses the library may mean them. While there is one thread. */
void client_ignore_environment(void);

/* Chosen by the entry point (client/entry.c; tests have their own). The transport is destroyed with the
 * library. */
enum esp_status client_open_transport(const struct settings_client *settings, struct transport **transport,
                                      struct esp_error *error);
/* ESP_UNREACHABLE, with what to install, in a build that has no network. From the entry point as well, which
 * alone is another object there. */
enum esp_status client_check_network(struct esp_error *error);

/* ESP_INVALID: already initialized (*again). */
enum esp_status library_start(const struct esp_options *options, bool *again, struct esp_error *error);
enum esp_status library_stop(struct esp_error *error);

/* Every function of the interface is between these two. NULL: outside initialize .. finalize, or a forked
 * child (status ESP_REFUSED); `error` says which. */
struct library *library_enter(struct esp_error *error);
/* After a success the thread's last error is what it was before: what failed on the way was made up for. */
void library_leave(bool succeeded);

/* The calling thread's last error. */
struct esp_error *library_error(void);

/* Destroys a blocking session that has ended, and keeps how it went until the calling thread's next one. */
void library_keep(struct session *session);
/* NULL: there was none. */
const struct past *library_kept(void);

#endif
