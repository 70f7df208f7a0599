/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/kept_problems.h"

#include "util/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool kept_problems_path(const struct settings_sed *settings, char *path, size_t size)
{
    const char *folder = settings->node.state_dir;
    return settings->directory.url && folder &&
           snprintf(path, size, "%s/directory.problems", folder) < (int)size;
}

static void tell_passed_over(void *arg, const struct esp_error *error)
{
    (void)arg;
    log_debug("of the directory's descriptions: %s", error->text);
}

static enum esp_status load_both(const struct config_strings *own, const char *folder,
                                 struct problem_set **problems, struct esp_error *error)
{
    const char **paths = calloc(own->n + 1, sizeof *paths);
    if (!paths)
        return error_no_memory(error, "a list of problems");
    for (size_t i = 0; i < own->n; i++)
        paths[i] = own->items[i];
    paths[own->n] = folder;
    enum esp_status status = problem_load_good(paths, own->n + 1, tell_passed_over, NULL, problems, error);
    free(paths);
    return status;
}

enum esp_status kept_problems_load(const struct settings_sed *settings, const struct config_strings *own,
                                   const char *folder, struct problem_set **problems, struct esp_error *error)
{
    struct problem_set *all = NULL;
    enum esp_status status = settings_load_problems(settings, own, problems, error);
    if (status != ESP_OK || !folder || access(folder, R_OK) != 0)
        return status;
    status = load_both(own, folder, &all, error); /* its own ones are good */
    problem_set_destroy(*problems);
    *problems = all;
    return status;
}
