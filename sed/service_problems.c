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
#include "util/clock.h"
#include "util/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How often a question that the spawner of workers could not answer is asked again, and when. */
#define MOST_TRIES 5
#define TRY_MS     500

/* Whether the fault is this machine's, at this moment, and none of the implementation. */
static bool is_of_machine(enum esp_status status)
{
    return status == ESP_SYSTEM || status == ESP_TIMEOUT || status == ESP_NO_MEMORY;
}

static enum esp_status ask(const struct service *service, const struct problem *problem,
                           const struct implementation *implementation, struct esp_error *error)
{
    if (implementation_is_parallel(implementation))
        return ranks_check(service->ranks, problem, implementation, error);
    enum esp_status status = processes_check(service->processes, problem, implementation, error);
    for (int tries = 1; is_of_machine(status) && tries < MOST_TRIES; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = TRY_MS * NS_PER_MS}, NULL);
        status = processes_check(service->processes, problem, implementation, error);
    }
    return status;
}

/* Whether the implementation can be called here. Without ranks those for ranks are none of this server's.
 * ESP_SYSTEM, ESP_TIMEOUT, ESP_NO_MEMORY: it could not be found out. ESP_OK: *error has the reason if the
 * implementation cannot be called. */
static enum esp_status is_callable(const struct service *service, const struct problem *problem,
                                   const struct implementation *implementation, bool *callable,
                                   struct esp_error *error)
{
    *callable = false;
    if (implementation_is_parallel(implementation) && !service->ranks)
        return ESP_OK;
    struct esp_error why = {0};
    enum esp_status status = ask(service, problem, implementation, &why);
    if (is_of_machine(status))
        return error_set(error, status, "%s:%u: it could not be found out whether %s can be called: %s",
                         problem->file, implementation->line, problem->name, why.text);
    if (status != ESP_OK)
        log_warning("%s:%u: %s by %s cannot be called: %s", problem->file, implementation->line,
                    problem->name, implementation->name, why.text);
    if (status != ESP_OK)
        *error = why;
    *callable = status == ESP_OK;
    return ESP_OK;
}

/* Keeps the first implementation for a worker that can be called here, then all for ranks: the server weighs
 * these against each other at each call. */
static enum esp_status choose_implementation(const struct service *service, struct problem *problem,
                                             struct esp_error *error)
{
    uint32_t n = 0;
    struct implementation *kept = malloc((problem->n_implementations + 1) * sizeof *kept);
    enum esp_status status = kept ? ESP_OK : error_no_memory(error, "the implementations of a problem");
    for (int parallel = 0; parallel < 2 && status == ESP_OK; parallel++) {
        bool found = false;
        for (uint32_t i = 0; i < problem->n_implementations && status == ESP_OK; i++) {
            if (implementation_is_parallel(&problem->implementations[i]) != parallel || (found && !parallel))
                continue;
            status = is_callable(service, problem, &problem->implementations[i], &found, error);
            if (found)
                kept[n++] = problem->implementations[i];
        }
    }
    if (status == ESP_OK) {
        if (problem->n_implementations == 0)
            log_warning("%s:%u: %s has no implementation", problem->file, problem->line, problem->name);
        for (uint32_t i = 0; i < n; i++)
            problem->implementations[i] = kept[i];
        problem->n_implementations = n;
    }
    free(kept);
    return status;
}

static bool is_for_ranks_only(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->n_implementations; i++)
        if (!implementation_is_parallel(&problem->implementations[i]))
            return false;
    return problem->n_implementations > 0;
}

/* `lacking`: of the problems that are left out, those for ranks, which this server has none of. */
static void log_callable(size_t n, size_t all, size_t lacking)
{
    char ranks[80] = "";
    if (lacking > 0)
        snprintf(ranks, sizeof ranks, "; %zu more need%s ranks, and this server has none", lacking,
                 lacking == 1 ? "s" : "");
    if (n + lacking < all)
        log_warning("%zu of %zu problems cannot be called on this machine%s", all - n - lacking, all, ranks);
    else
        log_notice("%zu problems can be called%s", n, ranks);
}

static void add_reason(struct service *service, const char *text, size_t length)
{
    memcpy(service->reasons + service->reasons_length, text, length);
    service->reasons[service->reasons_length + length] = '\0';
    service->reasons_length += (uint32_t)length + 1;
}

#define MOST_REASON 300 /* bytes of what a client hears */

/* Clients hear the reasons of as many problems as there is room for; the log has all of them. */
static void note_uncallable(struct service *service, const struct problem *problem, const char *why,
                            char *first, size_t size)
{
    const size_t name = strlen(problem->name), reason = strnlen(why, MOST_REASON);
    if (!*first)
        snprintf(first, size, "%.*s", (int)size - 1, why);
    if (reason == 0 || service->reasons_length + name + reason + 2 > sizeof service->reasons)
        return;
    add_reason(service, problem->name, name);
    add_reason(service, why, reason);
}

enum esp_status service_keep_callable(struct service *service, struct problem_set *problems,
                                      struct esp_error *error)
{
    size_t all = problems->n_problems, n = 0, lacking = 0;
    char first[301] = "";
    service->reasons_length = 0;
    for (size_t i = 0; i < all; i++) {
        struct problem *problem = problems->problems[i];
        struct esp_error why = {0};
        const bool lacks_ranks = !service->ranks && is_for_ranks_only(problem);
        enum esp_status status = problem->abstract ? ESP_OK : choose_implementation(service, problem, &why);
        if (status != ESP_OK) {
            *error = why;
            return status;
        }
        if (problem->abstract || problem->n_implementations > 0)
            problems->problems[n++] = problem;
        else if (lacks_ranks)
            lacking++;
        else
            note_uncallable(service, problem, why.text, first, sizeof first);
    }
    problems->n_problems = n;
    service->uncallable[0] = '\0';
    if (n + lacking < all)
        snprintf(service->uncallable, sizeof service->uncallable, "%zu of %zu problems cannot be called%s%s",
                 all - n - lacking, all, *first ? ", as " : "", first);
    if (all == 0 && service->directory && directory_watch_may_bring(service->directory)) {
        log_warning("there is no problem to solve until the directory can be read");
        return ESP_OK;
    }
    if (all == 0)
        return error_set(error, ESP_INVALID,
                         "there is no problem: the folders of the key \"problems\" are empty, the directory "
                         "has no description (or has not been read yet), or all are disabled");
    if (n == 0)
        return error_set(error, ESP_INVALID, "none of the %zu problems can be called on this machine%s%s",
                         all, *first ? ": " : "", first);
    service->n_uncallable = all - n - lacking;
    log_callable(n, all, lacking);
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
    server_set_uncallable(service->server, service->reasons, service->reasons_length);
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
    server_reloaded(service->server, status, &why, pending, service->uncallable);
    return status == ESP_OK;
}
