/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/service_internal.h"

#include "sed/corrections_file.h"
#include "sed/directory_watch.h"
#include "sed/server/server.h"
#include "util/log.h"

#include <math.h>

static void tell_wrong(void *arg, const struct esp_error *error, bool stays)
{
    (void)arg;
    log_warning("a cost model is left %s: %s", stays ? "as it was before" : "out", error->text);
}

/* Models of other numbers of threads, or of problems that are described otherwise now, serve nobody. */
static enum esp_status usable_models(const struct service *service, struct cost_set *all,
                                     struct cost_set *models, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    *models = (struct cost_set){0};
    for (uint32_t i = 0; i < all->n && status == ESP_OK; i++)
        if (all->models[i].threads == (uint32_t)service->settings->threads)
            status = cost_set_add(models, &all->models[i], false, error);
    if (status != ESP_OK)
        cost_set_clear(models);
    return status;
}

/* What the calibration has left in the server's folder, and what the directory has where that has nothing. */
static enum esp_status read_models(struct service *service, struct cost_set *all, struct esp_error *error)
{
    char folder[4096];
    enum esp_status status = ESP_OK;
    *all = (struct cost_set){.fastest_s_per_flop = HUGE_VAL};
    if (service->directory)
        status = directory_watch_models(service->directory, all, error);
    if (status == ESP_OK && service->settings->node.state_dir) {
        cost_folder(service->settings->node.state_dir, folder, sizeof folder);
        status = cost_files_read(&service->measured, folder, tell_wrong, NULL, error);
    }
    if (status == ESP_OK)
        status = cost_files_add(&service->measured, all, error);
    if (status != ESP_OK)
        cost_set_clear(all);
    return status;
}

static void renew_models(struct service *service)
{
    struct cost_set all, models;
    struct esp_error error = {0};
    const char *state_dir = service->settings->node.state_dir;
    if (!state_dir && !service->directory)
        return;
    /* Read again: models that are the same ones go on with what was learned. */
    if (state_dir)
        corrections_file_save(service->server, state_dir);
    enum esp_status status = read_models(service, &all, &error);
    if (status == ESP_OK && (status = usable_models(service, &all, &models, &error)) != ESP_OK)
        cost_set_clear(&all);
    if (status != ESP_OK) {
        log_warning("cost models stay as they were: %s", error.text);
        return;
    }
    uint32_t found = all.n, n = models.n;
    cost_set_clear(&all);
    if (server_set_models(service->server, &models, &error) != ESP_OK) {
        log_warning("cost models stay as they were: %s", error.text);
        return;
    }
    if (found)
        log_notice("%u cost models, %u of them for %u threads", found, n,
                   (unsigned)service->settings->threads);
    if (state_dir)
        corrections_file_load(service->server, state_dir);
}

void service_load_models(void *arg)
{
    struct service *service = arg;
    pthread_mutex_lock(&service->loading);
    renew_models(service);
    pthread_mutex_unlock(&service->loading);
}
