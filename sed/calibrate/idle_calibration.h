/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibration by an idle server: espalier-calibrate runs beside it, for all problems without models, and
 * is killed when work arrives. Its measurements are in its journals, and the next run continues from
 * there. */
#ifndef SED_IDLE_CALIBRATION_H
#define SED_IDLE_CALIBRATION_H

#include "sed/server/server.h"
#include "services/settings.h"

struct idle_calibration;

struct idle_calibration_options {
    const struct settings_sed *settings; /* borrowed; with a state_dir, where models are saved */
    struct server *server;               /* its endpoint is open */
    /* There are new models; called from the calibration's thread. */
    void (*fresh)(void *arg);
    void *arg;
};

/* Starts its thread, which waits until the server is idle. ESP_CONFIG: there is no state_dir. ESP_SYSTEM. */
enum esp_status idle_calibration_create(const struct idle_calibration_options *options,
                                        struct idle_calibration **created, struct esp_error *error);
/* Problems have changed: checks again which have no model. NULL is ignored. */
void idle_calibration_renew(struct idle_calibration *calibration);
/* Call it before the server's endpoint is closed. NULL is ignored. */
void idle_calibration_destroy(struct idle_calibration *calibration);

#endif
