/* SPDX-License-Identifier: Apache-2.0
 *
 * The main function of espalier-redirector, espalier-agent and espalier-sed. Each of these programs links
 * daemon/main.c and defines `daemon_program`, which says what is its own.
 */
#ifndef DAEMON_PROGRAM_H
#define DAEMON_PROGRAM_H

#include "core/transport.h"
#include "services/daemon.h"

struct daemon_program {
    const char *name;        /* "espalier-agent" */
    const char *text;        /* one line for --help */
    const char *path;        /* default configuration file */
    enum settings_kind kind; /* SETTINGS_REDIRECTOR, SETTINGS_AGENT or SETTINGS_SED */
    /* Waits for what the node cannot be made without, and completes the settings with that. *ends: a signal
     * has ended the wait. NULL: the node needs nothing. */
    enum esp_status (*await)(union settings_any *settings, struct daemon *daemon, bool *ends,
                             struct esp_error *error);
    /* Makes the node, runs it until the daemon is told to stop, and ends it. Returns why it could not be
     * made. */
    enum esp_status (*serve)(const union settings_any *settings, struct daemon *daemon,
                             struct esp_error *error);
};

extern const struct daemon_program daemon_program;

/* Opens the ORB as the settings of the node say; transport_destroy() ends it. ESP_SYSTEM, ESP_SECURITY,
 * ESP_CONFIG. */
enum esp_status daemon_open_transport(const struct settings_node *node, struct transport **transport,
                                      struct esp_error *error);

#endif
