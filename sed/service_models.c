/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/service_internal.h"

#include "sed/corrections_file.h"
#include "sed/directory_watch.h"
#include "sed/server/server.h"
#include "util/log.h"

#include <math.h>
#include <string.h>

static void tell_wrong(void *arg, const struct esp_error *error, bool stays)
{
    (void)arg;
    log_warning("a cost model is left %s: %s", stays ? "as it was before" : "out", error->text);
}

/* Those that serve nobody, and those that may be of another machine. Texts live as long as the models. */
struct useless {
    uint32_t other_threads, stale;
    const char *first; /* of the stale ones: its problem */
    uint32_t foreign;
    const char *machine; /* of the first foreign one */
};

/* Models of other numbers of threads, and of problems that are not here or are described otherwise now, are
 * left out: calls are told from each other by their description. */
static enum esp_status usable_models(const struct service *service, const struct cost_set *all,
                                     struct cost_set *models, struct useless *useless,
                                     struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    *models = (struct cost_set){0};
    *useless = (struct useless){0};
    for (uint32_t i = 0; i < all->n && status == ESP_OK; i++) {
        const struct cost_model *model = &all->models[i];
        if (!server_solves(service->server, model->problem, model->digest)) {
            useless->first = useless->stale++ ? useless->first : model->problem;
        } else if (model->threads != (uint32_t)service->settings->threads) {
            useless->other_threads++;
        } else {
            if (strcmp(model->machine, service->settings->node.name) != 0)
                useless->machine = useless->foreign++ ? useless->machine : model->machine;
            status = cost_set_add(models, model, false, error);
        }
    }
    if (status != ESP_OK)
        cost_set_clear(models);
    return status;
}

static void log_models(const struct service *service, uint32_t used, const struct useless *useless)
{
    if (used + useless->other_threads + useless->stale == 0)
        return;
    log_notice("%u cost models, and %u for other numbers of threads than %u", used, useless->other_threads,
               (unsigned)service->settings->threads);
    if (useless->stale)
        log_notice(
            "%u cost models serve no problem of this server, the first of them %s: it is not here, or is "
            "described otherwise than when it was measured (espalier calibrate measures it anew)",
            useless->stale, useless->first);
    if (useless->foreign)
        log_notice(
            "%u of these cost models were measured as \"%s\"%s: where that is another machine, and not as "
            "quick as this one, calibrate here (espalier calibrate --again)",
            useless->foreign, useless->machine, useless->foreign > 1 ? ", or others" : "");
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
    struct useless useless;
    struct esp_error error = {0};
    const char *state_dir = service->settings->node.state_dir;
    if (!state_dir && !service->directory)
        return;
    /* Read again: models that are the same ones go on with what was learned. */
    if (state_dir)
        corrections_file_save(service->server, state_dir);
    enum esp_status status = read_models(service, &all, &error);
    if (status == ESP_OK && (status = usable_models(service, &all, &models, &useless, &error)) != ESP_OK)
        cost_set_clear(&all);
    if (status != ESP_OK) {
        log_warning("cost models stay as they were: %s", error.text);
        return;
    }
    log_models(service, models.n, &useless);
    cost_set_clear(&all);
    if (server_set_models(service->server, &models, &error) != ESP_OK) {
        log_warning("cost models stay as they were: %s", error.text);
        return;
    }
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
