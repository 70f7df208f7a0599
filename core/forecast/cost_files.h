/* SPDX-License-Identifier: Apache-2.0
 *
 * The models of a folder, as they were last good: who reads the folder again does not lose a model because
 * its file has been damaged meanwhile, or is of another version. One thread.
 */
#ifndef CORE_FORECAST_COST_FILES_H
#define CORE_FORECAST_COST_FILES_H

#include "core/forecast/cost_model.h"

struct cost_file {
    char *name;            /* in the folder */
    struct cost_set model; /* one, without its measurements */
};

/* All-zero is empty. */
struct cost_files {
    struct cost_file *files; /* in the order of their names */
    size_t n;
};

/* Reads the folder (again). `wrong` (may be NULL) is told of each file that cannot be read; `stays`: what it
 * said before, when it was read into *files, serves on; else it is left out. A file that is gone is gone; a
 * folder that is not there has none. ESP_SYSTEM, ESP_NO_MEMORY; then *files is as before. */
enum esp_status cost_files_read(struct cost_files *files, const char *folder,
                                void (*wrong)(void *arg, const struct esp_error *error, bool stays),
                                void *arg, struct esp_error *error);
/* Adds them all to the set. ESP_NO_MEMORY. */
enum esp_status cost_files_add(const struct cost_files *files, struct cost_set *set, struct esp_error *error);
void cost_files_clear(struct cost_files *files);

#endif
