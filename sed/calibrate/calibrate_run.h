/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the calibration share about one model that is being made.
 */
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
    bool unreadable; /* the model that is there: damaged, or of a later version */
    int64_t begun_ns;
    struct design_limits limits;
    unsigned new_points;
    unsigned left_out;             /* sizes whose calls failed */
    struct esp_error why_left_out; /* of the first: its sizes, and how */
};

/* ---- sed/calibrate/calibrate_journal.c ---- */

/* What an interrupted calibration has left: of a size that was measured twice, the later. What is damaged,
 * and what cannot have been measured (no such size, quicker than any processor), is passed over, and told in
 * the log. */
void journal_read(struct class_run *run);
/* Behind journal_read(). A journal that there was not says which model it is to replace, if there is one: so
 * it is known as the later one, whatever the clock showed. ESP_SYSTEM. */
enum esp_status journal_begin(const struct class_run *run, struct esp_error *error);
/* Adds a line. ESP_SYSTEM. */
enum esp_status journal_note(struct class_run *run, const struct cost_measurement *m,
                             struct esp_error *error);
/* What the measurement tells of the machine's speed, for the sizes that come next. */
void journal_learn(struct class_run *run, const struct cost_measurement *m);
/* The model has been made since the journal was begun, or there is none of both. */
bool journal_is_old(const struct class_run *run);

/* ---- sed/calibrate/calibrate.c ---- */

#endif
