/* SPDX-License-Identifier: Apache-2.0
 *
 * State of a calibration for one model, shared by its files. */
#ifndef SED_CALIBRATE_RUN_H
#define SED_CALIBRATE_RUN_H

#include "sed/calibrate/calibrate_call.h"

#define CALIBRATE_MOST_POINTS 160
#define CALIBRATE_PATH        4096

struct class_run {
    struct calibration *calibration;
    const struct design *design;
    uint32_t class_index;
    struct cost_model model;
    struct cost_measurement measurements[CALIBRATE_MOST_POINTS];
    struct arena arena;
    char path[CALIBRATE_PATH], journal[CALIBRATE_PATH + 8];
    bool unreadable; /* the existing model is damaged, or of a later version */
    int64_t begun_ns;
    struct design_limits limits;
    unsigned new_points;
    unsigned left_out;             /* sizes whose calls failed */
    struct esp_error why_left_out; /* of the first: its sizes, and the error */
};

/* ---- sed/calibrate/calibrate_journal.c ---- */

/* Reads what an interrupted calibration has left: of a size that was measured twice, the later. Damaged
 * and impossible lines (no such size, faster than any processor) are skipped, and logged. */
void journal_read(struct class_run *run);
/* Call it after journal_read(). A new journal records which model it will replace, if there is one, so
 * that it is known to be newer, whatever the clock shows. ESP_SYSTEM. */
enum esp_status journal_begin(const struct class_run *run, struct esp_error *error);
/* Adds a line. ESP_SYSTEM. */
enum esp_status journal_note(struct class_run *run, const struct cost_measurement *m,
                             struct esp_error *error);
/* Updates the machine's speed by the measurement, for the choice of the next sizes. */
void journal_learn(struct class_run *run, const struct cost_measurement *m);
/* The model has been made since the journal was begun, or neither exists. */
bool journal_is_old(const struct class_run *run);

/* ---- sed/calibrate/calibrate.c ---- */

#endif
