/* SPDX-License-Identifier: Apache-2.0
 *
 * The problems of a server daemon: which descriptions it has, which of them can be called, and reading all of
 * it again.
 */
#include "sed/service_internal.h"

#include "sed/directory_watch.h"
#include "sed/kept_problems.h"
#include "sed/calibrate/idle_calibration.h"
#include "sed/pool/processes.h"
#include "sed/ranks/ranks.h"
#include "sed/server/server.h"
#include "util/log.h"

#include <stdlib.h>

/* Whether the implementation can be called here. Without ranks those for ranks are none of this server's. */
static bool is_callable(const struct service *service, const struct problem *problem,
                        const struct implementation *implementation)
{
    struct esp_error error = {0};
    bool parallel = implementation_is_parallel(implementation);
    if (parallel && !service->ranks)
        return false;
    enum esp_status status = parallel ? ranks_check(service->ranks, problem, implementation, &error)
                                      : processes_check(service->processes, problem, implementation, &error);
    if (status != ESP_OK)
        log_warning("%s:%u: %s by %s cannot be called: %s", problem->file, implementation->line,
                    problem->name, implementation->name, error.text);
    return status == ESP_OK;
}

/* Keeps the first implementation for a worker that can be called here, then the first for ranks; false when
 * there is neither. */
static bool choose_implementation(const struct service *service, struct problem *problem)
{
    uint32_t n = 0;
    struct implementation kept[2];
    for (int parallel = 0; parallel < 2; parallel++)
        for (uint32_t i = 0, found = 0; i < problem->n_implementations && !found; i++)
            if (implementation_is_parallel(&problem->implementations[i]) == parallel &&
                is_callable(service, problem, &problem->implementations[i])) {
                kept[n++] = problem->implementations[i];
                found = 1;
            }
    if (problem->n_implementations == 0)
        log_warning("%s:%u: %s has no implementation", problem->file, problem->line, problem->name);
    for (uint32_t i = 0; i < n; i++)
        problem->implementations[i] = kept[i];
    problem->n_implementations = n;
    return n > 0;
}

enum esp_status service_keep_callable(const struct service *service, struct problem_set *problems,
                                      struct esp_error *error)
{
    size_t all = problems->n_problems, n = 0;
    for (size_t i = 0; i < all; i++)
        if (problems->problems[i]->abstract || choose_implementation(service, problems->problems[i]))
            problems->problems[n++] = problems->problems[i];
    problems->n_problems = n;
    if (all == 0 && service->directory && directory_watch_may_bring(service->directory)) {
        log_warning("there is no problem to solve until the directory can be read");
        return ESP_OK;
    }
    if (all == 0)
        return error_set(error, ESP_INVALID,
                         "there is no problem: the folders of the key \"problems\" are empty, the directory "
                         "has no description (or has not been read yet), or all are disabled");
    if (n == 0)
        return error_set(error, ESP_INVALID, "none of the %zu problems can be called on this machine", all);
    log_notice("%zu of %zu problems can be called", n, all);
    return ESP_OK;
}

/* As was kept, or, without a folder for that, as was said since the server was started. */
static bool is_disabled(const struct service *service, const char *problem)
{
    return service->server ? server_disables(service->server, problem)
                           : place_is_disabled(&service->place, problem);
}

static void leave_out_disabled(const struct service *service, struct problem_set *problems)
{
    const size_t all = problems->n_problems;
    problems->n_problems = 0;
    for (size_t i = 0; i < all; i++)
        if (is_disabled(service, problems->problems[i]->name))
            log_notice("%s is disabled by an administrator", problems->problems[i]->name);
        else
            problems->problems[problems->n_problems++] = problems->problems[i];
}

enum esp_status service_load_problems(struct service *service, const struct config_strings *own,
                                      struct problem_set **problems, struct esp_error *error)
{
    const struct settings_sed *settings = service->settings;
    struct node_place place = {0};
    enum esp_status status = ESP_OK;
    if (settings->node.state_dir)
        status = place_load(settings->node.state_dir, settings->node.name, &place, error);
    if (status != ESP_OK)
        return status;
    place_release(&service->place);
    place_heed_file(&place, settings->parent);
    service->place = place;
    const char *folder = service->directory ? directory_watch_problems(service->directory) : NULL;
    status = kept_problems_load(settings, own, folder, problems, error);
    if (status == ESP_OK && service->directory)
        directory_watch_check(service->directory, *problems);
    if (status == ESP_OK)
        leave_out_disabled(service, *problems);
    return status;
}

/* The problems that its own file names now. */
static enum esp_status load_again(struct service *service, const struct settings_sed *now,
                                  struct esp_error *error)
{
    struct problem_set *problems = NULL;
    enum esp_status status = service_load_problems(service, &now->problems, &problems, error);
    if (status == ESP_OK)
        status = processes_renew(service->processes, problems, error);
    if (status == ESP_OK && service->ranks)
        ranks_renew(service->ranks);
    if (status == ESP_OK)
        status = service_keep_callable(service, problems, error);
    if (status != ESP_OK) {
        problem_set_destroy(problems);
        return status;
    }
    return server_set_problems(service->server, problems, error);
}

/* Those that the directory names now: it may have been away when the server was started. */
static void learn_parents(const struct service *service)
{
    char *told[DIRECTORY_PARENTS];
    if (!service->directory)
        return;
    const size_t n = directory_watch_parents(service->directory, told, DIRECTORY_PARENTS);
    const size_t learned = server_learn_parents(service->server, (const char *const *)told, n);
    if (learned > 0)
        log_notice("the directory names %zu more agents to join", learned);
    for (size_t i = 0; i < n; i++)
        free(told[i]);
}

bool service_reload(struct service *service, const struct settings_sed *now, const struct esp_error *error,
                    const char *pending)
{
    struct esp_error why = *error;
    service_load_models(service);
    learn_parents(service);
    enum esp_status status = now ? load_again(service, now, &why) : error->status;
    if (status != ESP_OK)
        log_error("the problems stay as they were: %s", why.text);
    else
        idle_calibration_renew(service->calibration);
    if (status == ESP_OK)
        server_set_administrators(service->server, &now->node.administrators);
    server_reloaded(service->server, status, &why, pending);
    return status == ESP_OK;
}
