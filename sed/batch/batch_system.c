/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/batch_system.h"

#include <string.h>

static const struct row {
    const char *name;
    enum esp_status (*open)(const struct batch_settings *settings, struct batch_system **system,
                            struct esp_error *error);
} rows[] = {
    {"slurm", slurm_open},
    {"local", local_open},
};

const char *const batch_system_names[] = {"slurm", "local", NULL};

enum esp_status batch_system_open(const char *name, const struct batch_settings *settings,
                                  struct batch_system **system, struct esp_error *error)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].open(settings, system, error);
    return error_set(error, ESP_CONFIG, "batch = \"%.100s\": expected slurm or local", name);
}

void batch_system_close(struct batch_system *system)
{
    if (system)
        system->ops->destroy(system);
}
