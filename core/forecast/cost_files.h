/* SPDX-License-Identifier: Apache-2.0
 *
 * Caches the models of a folder. When the folder is read again, a model whose file has been damaged
 * meanwhile, or has another version, stays as it was last read. One thread. */
#ifndef CORE_FORECAST_COST_FILES_H
#define CORE_FORECAST_COST_FILES_H

#include "core/forecast/cost_model.h"

struct cost_file {
    char *name;            /* file name in the folder */
    struct cost_set model; /* one model, without its measurements */
};

/* All-zero is empty. */
struct cost_files {
    struct cost_file *files; /* in the order of their names */
    size_t n;
};

/* Reads the folder (again). Calls `wrong` (may be NULL) for each file that cannot be read; `stays` says
 * whether the model read from it before is still used, otherwise the file is skipped. Models of deleted
 * files are dropped; a missing folder has none. ESP_SYSTEM, ESP_NO_MEMORY; then *files is unchanged. */
enum esp_status cost_files_read(struct cost_files *files, const char *folder,
                                void (*wrong)(void *arg, const struct esp_error *error, bool stays),
                                void *arg, struct esp_error *error);
/* Adds all models to the set. ESP_NO_MEMORY. */
enum esp_status cost_files_add(const struct cost_files *files, struct cost_set *set, struct esp_error *error);
void cost_files_clear(struct cost_files *files);

#endif
