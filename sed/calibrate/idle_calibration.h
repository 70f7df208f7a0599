/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibration by a server that has nothing to do: espalier-calibrate runs beside it, for all problems that
 * have no models yet, and is killed the moment work comes. What it has measured is in its journals, and the
 * next one goes on from there.
 */
#ifndef SED_IDLE_CALIBRATION_H
#define SED_IDLE_CALIBRATION_H

#include "sed/server/server.h"
#include "services/settings.h"

struct idle_calibration;

struct idle_calibration_options {
    const struct settings_sed *settings; /* borrowed; with a state_dir, where models are kept */
    struct server *server;               /* its endpoint is open */
    /* There are models that were not there before; called from the calibration's thread. */
    void (*fresh)(void *arg);
    void *arg;
};

/* Its thread begins to wait for idleness. ESP_CONFIG: there is no state_dir. ESP_SYSTEM. */
enum esp_status idle_calibration_create(const struct idle_calibration_options *options,
                                        struct idle_calibration **created, struct esp_error *error);
/* Problems have changed: looks again what has no model. NULL is nothing to do. */
void idle_calibration_renew(struct idle_calibration *calibration);
/* Before the server's endpoint is closed. NULL is nothing to do. */
void idle_calibration_destroy(struct idle_calibration *calibration);

#endif
