/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside espalier-calibrate: what its files share.
 */
#ifndef SED_CALIBRATE_COMMAND_H
#define SED_CALIBRATE_COMMAND_H

#include "sed/calibrate/calibrate.h"
#include "services/settings.h"

enum { EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_INPUT = 4 };

struct calibrating {
    const char *config, *models;
    double budget_s, longest_s;
    bool again, all, json, background;
    struct settings_sed settings;
    char folder[4096];
    struct problem_set *problems;
    struct workers *workers, *ranks; /* ranks: NULL: the server has none */
    struct calibration *together;    /* of the ranks */
    bool on_ranks;                   /* it is their turn with the problem */
    unsigned n_problems, n_done, failed;
    unsigned skipped; /* of all: those that cannot be measured */
};

/* Removes the progress bar from the terminal. */
void calibrate_clear_bar(void);

/* ---- sed/calibrate/calibrate.c ---- */

/* EXIT_DONE, or what to end with: an error was printed. */
int calibrate_parse(int argc, char **argv, struct calibrating *command);
/* Prints it with the word that is wrong; EXIT_USAGE. */
int calibrate_usage(const char *text, const char *word);

/* Starts the ranks of the server's file; what they know, and what they learn here, is in the `ranks` of its
 * state_dir. Where they cannot be started workers are measured all the same: it says so. */
void calibrate_open_ranks(struct calibrating *command);
/* Measures the problem's parallel implementation and tells of it. ESP_NOT_FOUND: it has none that the ranks
 * can call. *error says what went wrong. */
enum esp_status calibrate_together(struct calibrating *command, const struct problem *problem,
                                   struct esp_error *error);

#endif
