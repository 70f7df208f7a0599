/* SPDX-License-Identifier: Apache-2.0
 *
 * The ranks of a server that is calibrated.
 */
#include "sed/calibrate/calibrate_command.h"
#include "sed/calibrate/calibrate_ranks.h"
#include "sed/ranks/ranks.h"
#include "util/clock.h"

#include <math.h>
#include <stdio.h>

#define SAVE_NS (2 * NS_PER_S) /* whatever ends the calibration, no more is measured again */

static struct process_grid fixed_grid(const struct settings_sed *settings)
{
    return (struct process_grid){settings->grid_rows, settings->grid_cols, (uint32_t)settings->block};
}

static enum esp_status open_ranks(struct calibrating *command, struct esp_error *error)
{
    const struct settings_sed *settings = &command->settings;
    const char *state = settings->node.state_dir;
    char profile[4200], host[256];
    uint16_t port;
    snprintf(profile, sizeof profile, "%s/ranks", state ? state : command->folder);
    enum esp_status status = config_read_address(settings->node.listen, "0", host, sizeof host, &port, error);
    if (status != ESP_OK)
        return status;
    const struct ranks_options options = {.ranks = (uint32_t)settings->ranks,
                                          .grid = fixed_grid(settings),
                                          .mpirun = settings->mpirun,
                                          .hostfile = settings->hostfile,
                                          .host = host,
                                          .profile = profile,
                                          .profile_save_ns = SAVE_NS};
    status = ranks_create(&options, &command->ranks, error);
    return status == ESP_OK ? calibrate_ranks_await(command->ranks, error) : status;
}

void calibrate_open_ranks(struct calibrating *command)
{
    struct esp_error error;
    if (open_ranks(command, &error) == ESP_OK)
        return;
    fprintf(stderr, "espalier calibrate: without ranks: %s\n", error.text);
    if (command->ranks)
        command->ranks->ops->destroy(command->ranks);
    command->ranks = NULL;
}

static void tell(const struct calibrating *command, const struct problem *problem,
                 const struct calibrate_ranks_result *result)
{
    calibrate_clear_bar();
    if (command->json)
        printf("{\"problem\": \"%s\", \"grids\": %u, \"calls\": %u, \"error\": %.4g}\n", problem->name,
               result->grids, result->calls, result->error);
    else if (result->calls == 0)
        printf("%-12s on ranks is there already (--again measures it anew)\n", problem->name);
    else
        printf("%-12s on ranks: %u grids and block sizes, %u new calls, mean error of the last %.1f %%\n",
               problem->name, result->grids, result->calls, 100 * result->error);
    fflush(stdout);
}

/* The one that the ranks can call first. */
static bool choose_implementation(struct calibrating *command, const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->n_implementations; i++)
        if (implementation_is_parallel(&problem->implementations[i]))
            return ranks_check(command->ranks, problem, &problem->implementations[i], NULL) == ESP_OK;
    return false;
}

enum esp_status calibrate_together(struct calibrating *command, const struct problem *problem,
                                   struct esp_error *error)
{
    struct calibrate_ranks_result result;
    if (!command->together || !choose_implementation(command, problem))
        return ESP_NOT_FOUND;
    command->on_ranks = true;
    enum esp_status status = calibrate_ranks(command->together, (uint32_t)command->settings.ranks,
                                             fixed_grid(&command->settings), problem, &result, error);
    command->on_ranks = false;
    if (status == ESP_OK)
        tell(command, problem, &result);
    return status;
}
