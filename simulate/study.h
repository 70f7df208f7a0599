/* SPDX-License-Identifier: Apache-2.0
 *
 * What the command simulates: a flow file, or the LU factorization of simulate/applications/, with its
 * settings, on a platform file.
 */
#ifndef SIMULATE_STUDY_H
#define SIMULATE_STUDY_H

#include "core/flow/program.h"
#include "simulate/applications/lu.h"
#include "simulate/platform.h"
#include "simulate/simulation.h"

#define STUDY_LU            "application:lu"
#define STUDY_MOST_SETTINGS 100
#define STUDY_MOST_AXES     6
#define STUDY_MOST_VARIANTS 50
#define STUDY_MOST_VARIED   16   /* settings of one variant */
#define STUDY_MOST_VALUES   1000 /* of one axis */
#define STUDY_MOST_RUNS     10000

struct study {
    struct platform platform;
    struct flow_program *program; /* of a file */
    struct flow_plan *plan;
    struct lu *lu; /* of the application */
    struct flow_graph *graph;
    unsigned entry;
};

/* Reads the flow and plans it. `settings` are texts "name=value": of a parameter of the flow, or of a key of
 * the platform where the flow has no such parameter. `platform_path` NULL: `n_nodes` nodes and no durations,
 * for a check. */
enum esp_status study_open(const char *path, const char *platform_path, unsigned n_nodes,
                           const struct problem_set *problems, const char *const *settings, size_t n,
                           struct study *study, struct esp_error *error);
void study_close(struct study *study);
/* Once for each study. */
enum esp_status study_run(struct study *study, bool events, struct simulation_result *result,
                          struct esp_error *error);

/* "r=81,108" of a sweep. */
struct study_axis {
    const char *name;
    char *text; /* that the names and values lie in */
    const char *values[STUDY_MOST_VALUES];
    size_t n_values;
};

/* ESP_INVALID for a text that is no axis. study_axis_clear() frees. */
enum esp_status study_axis_read(const char *text, struct study_axis *axis, struct esp_error *error);
/* "latency=2us,bandwidth=*77" of --vary: the axis's name is "", its values are the settings. */
enum esp_status study_variant_read(const char *text, struct study_axis *axis, struct esp_error *error);
void study_axis_clear(struct study_axis *axis);

#endif
