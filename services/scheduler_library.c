/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scheduler_library.h"

#include <dlfcn.h>
#include <string.h>

#define SYMBOL "espalier_scheduler"
#define FLAGS  (ESP_SCHEDULER_RANDOM | ESP_SCHEDULER_EVERY)

static enum esp_status check(const char *path, const struct esp_scheduler *scheduler, struct esp_error *error)
{
    if (!scheduler)
        return error_set(error, ESP_CONFIG, "scheduler: %s: its %s() gave NULL: it cannot serve here", path,
                         SYMBOL);
    if (scheduler->version != ESP_SCHEDULER_VERSION)
        return error_set(
            error, ESP_CONFIG,
            "scheduler: %s: expected version %u of struct esp_scheduler, found %u: build it with "
            "the header of this version",
            path, ESP_SCHEDULER_VERSION, scheduler->version);
    if (scheduler->flags & ~(unsigned)FLAGS)
        return error_set(error, ESP_CONFIG, "scheduler: %s: expected no flags beyond %#x, found %#x", path,
                         FLAGS, scheduler->flags);
    if (!scheduler->name || !*scheduler->name)
        return error_set(error, ESP_CONFIG, "scheduler: %s: expected a name, found none", path);
    if (!scheduler->score && !(scheduler->flags & ESP_SCHEDULER_RANDOM))
        return error_set(error, ESP_CONFIG, "scheduler: %s: \"%s\" has no function `score`", path,
                         scheduler->name);
    return ESP_OK;
}

enum esp_status scheduler_library_open(const char *path, void **library,
                                       const struct esp_scheduler **scheduler, struct esp_error *error)
{
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*library)
        return error_set(error, ESP_CONFIG,
                         "scheduler: expected the path of a shared library, found \"%s\": %s", path,
                         dlerror());
    const struct esp_scheduler *(*ask)(void) = NULL;
    *(void **)&ask =
        dlsym(*library, SYMBOL); /* the cast that dlsym(3) recommends, because C has none between the two */
    enum esp_status status = ESP_OK;
    if (!ask)
        status =
            error_set(error, ESP_CONFIG,
                      "scheduler: %s: expected a library with the function %s(), found none", path, SYMBOL);
    else
        status = check(path, *scheduler = ask(), error);
    if (status == ESP_OK)
        return ESP_OK;
    scheduler_library_close(*library);
    *library = NULL;
    return status;
}

void scheduler_library_close(void *library)
{
    if (library)
        dlclose(library);
}

enum esp_status scheduler_library_check(const char *scheduler, struct esp_error *error)
{
    void *library;
    const struct esp_scheduler *found;
    if (!strchr(scheduler, '/'))
        return ESP_OK;
    enum esp_status status = scheduler_library_open(scheduler, &library, &found, error);
    if (status == ESP_OK)
        scheduler_library_close(library);
    return status;
}
