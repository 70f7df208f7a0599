/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of espalier-calibrate, shared by its files. */
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
    bool on_ranks;                   /* the ranks measure the problem now */
    unsigned n_problems, n_done, failed;
    unsigned skipped; /* problems that cannot be measured */
};

/* Removes the progress bar from the terminal. */
void calibrate_clear_bar(void);

/* ---- sed/calibrate/calibrate.c ---- */

/* Returns EXIT_DONE, or an exit code: an error was printed. */
int calibrate_parse(int argc, char **argv, struct calibrating *command);
/* Prints it with the wrong word; returns EXIT_USAGE. */
int calibrate_usage(const char *text, const char *word);

/* Starts the ranks of the server's file; their profile, which the measurements extend, is the file `ranks`
 * in its state_dir. If they cannot be started, prints that, and workers are measured nevertheless. */
void calibrate_open_ranks(struct calibrating *command);
/* Measures the problem's parallel implementation and reports it. ESP_NOT_FOUND: it has none that the ranks
 * can call. *error has the reason of a failure. */
enum esp_status calibrate_together(struct calibrating *command, const struct problem *problem,
                                   struct esp_error *error);

#endif
