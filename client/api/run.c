/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of abstract problems, as espalier.h shows them.
 */
#include "client/abstract/abstract.h"
#include "client/arguments/describe.h"
#include "client/session/library.h"
#include "core/data/datum.h"

#include <stdlib.h>
#include <string.h>

struct esp_run {
    struct abstract_run run;
    bool is_callers[ABSTRACT_MAX_VARIABLES]; /* the caller owns the memory of input number i */
    struct esp_run_info info;
    const struct esp_session_info *steps[ABSTRACT_MAX_STEPS];
};

/* Inner functions of the interface may set errors of their own, so `why` is set last. */
static enum esp_status tell(enum esp_status status, const struct esp_error *why)
{
    if (status != ESP_OK)
        *library_error() = *why;
    return status;
}

static enum esp_status refuse_null(void)
{
    return error_set(library_error(), ESP_INVALID,
                     "expected a run, names and places for results, found NULL");
}

enum esp_status esp_run_create(const struct esp_problem *problem, const char *server, struct esp_run **run)
{
    struct esp_error *error = library_error();
    if (!problem || !run)
        return refuse_null();
    const struct problem *described = description_function(problem)->problem;
    if (!described->abstract)
        return error_set(error, ESP_INVALID, "expected an abstract problem, found %s", problem->name);
    struct esp_run *made = calloc(1, sizeof *made);
    char *copy = server ? strdup(server) : NULL;
    if (!made || (server && !copy) || abstract_open(&made->run, described, error) != ESP_OK) {
        free(made);
        free(copy);
        return error_no_memory(error, "an abstract problem");
    }
    made->run.server = copy;
    *run = made;
    return ESP_OK;
}

void esp_run_destroy(struct esp_run *run)
{
    if (!run)
        return;
    for (uint32_t i = 0; i < run->run.n_given; i++)
        if (run->is_callers[i])
            run->run.variables[i].matrix = (struct matrix){0};
    char *server = (char *)(uintptr_t)run->run.server;
    abstract_close(&run->run);
    free(server);
    free(run);
}

static struct matrix matrix_of(const struct esp_matrix *from)
{
    return (struct matrix){.rows = from->rows,
                           .cols = from->cols,
                           .is_complex = from->is_complex,
                           .values = from->values,
                           .starts = from->starts,
                           .indices = from->indices};
}

enum esp_status esp_run_give(struct esp_run *run, const char *name, const struct esp_matrix *matrix)
{
    struct esp_error *error = library_error();
    if (!run || !name || !matrix || !matrix->values || (matrix->starts && !matrix->indices))
        return refuse_null();
    if (run->run.n_given == ABSTRACT_MAX_VARIABLES)
        return error_set(error, ESP_LIMIT, "a run takes at most %d values", ABSTRACT_MAX_VARIABLES);
    struct matrix given = matrix_of(matrix);
    const uint32_t number = run->run.n_given;
    enum esp_status status = abstract_give(&run->run, name, &given, error);
    run->is_callers[number] = status == ESP_OK;
    return status;
}

enum esp_status esp_run_give_number(struct esp_run *run, const char *name, double value)
{
    struct esp_error *error = library_error();
    struct matrix one;
    if (!run || !name)
        return refuse_null();
    enum esp_status status = matrix_init(&one, 1, 1, false, 0, error);
    if (status != ESP_OK)
        return status;
    one.values[0] = value;
    return abstract_give(&run->run, name, &one, error);
}

enum esp_status esp_run_give_datum(struct esp_run *run, const char *name, const char *reference,
                                   enum esp_type type, int64_t rows, int64_t cols)
{
    if (!run || !name || !reference || type == ESP_TYPE_ANY)
        return refuse_null();
    return abstract_give_datum(&run->run, name, reference, (enum base_type)(type - 1), rows, cols,
                               library_error());
}

static enum esp_status find_output(const struct esp_run *run, const char *name, uint32_t *index)
{
    const int found = problem_argument_index(run->run.problem, name);
    if (found < 0 || !argument_is_output(&run->run.problem->arguments[found]))
        return error_set(library_error(), ESP_INVALID, "%s has no output %s", run->run.problem->name, name);
    *index = (uint32_t)found;
    return ESP_OK;
}

enum esp_status esp_run_keep(struct esp_run *run, const char *name, enum esp_data_mode mode, int in_pieces,
                             int64_t rows, int64_t cols)
{
    char word[64];
    uint32_t index;
    if (!run || !name)
        return refuse_null();
    const char *mode_name = mode == ESP_DATA_VOLATILE ? "" : datum_mode_name((enum datum_mode)mode);
    snprintf(word, sizeof word, "data:%s%s%s", mode_name, *mode_name && in_pieces ? "," : "",
             in_pieces ? "pieces" : "");
    enum esp_status status = find_output(run, name, &index);
    return status == ESP_OK ? abstract_keep(&run->run, index, word, rows, cols, library_error()) : status;
}

enum esp_status esp_run_leave_out(struct esp_run *run, const char *name)
{
    uint32_t index;
    if (!run || !name)
        return refuse_null();
    enum esp_status status = find_output(run, name, &index);
    return status == ESP_OK ? abstract_leave(&run->run, index, library_error()) : status;
}

enum esp_status esp_run_execute(struct esp_run *run, const struct esp_call_options *options, int foretell)
{
    static const struct esp_call_options none;
    struct esp_error why;
    if (!run)
        return refuse_null();
    run->run.options = options ? options : &none;
    run->run.foretells = foretell;
    const enum esp_status status = abstract_execute(&run->run, &why);
    run->run.options = NULL;
    return tell(status, &why);
}

enum esp_status esp_run_submit(struct esp_run *run, const struct esp_call_options *options, int listed,
                               struct esp_job **job)
{
    static const struct esp_call_options none;
    struct esp_error why;
    if (!run || !job)
        return refuse_null();
    run->run.options = options ? options : &none;
    const enum esp_status status = abstract_submit(&run->run, listed, job, &why);
    run->run.options = NULL;
    return tell(status, &why);
}

enum esp_status fast_forecast_run(struct esp_run *run, const struct esp_call_options *options,
                                  struct fast_step **steps, size_t *n)
{
    static const struct esp_call_options none;
    struct esp_error why;
    if (!run || !steps || !n)
        return refuse_null();
    run->run.options = options ? options : &none;
    const enum esp_status status = abstract_foresee(&run->run, steps, n, &why);
    run->run.options = NULL;
    return tell(status, &why);
}

enum esp_status esp_run_result(const struct esp_run *run, const char *name, int64_t rows, int64_t cols,
                               struct esp_matrix *matrix)
{
    uint32_t index;
    struct matrix result;
    if (!run || !name || !matrix)
        return refuse_null();
    enum esp_status status = find_output(run, name, &index);
    if (status == ESP_OK)
        status = abstract_result(&run->run, &run->run.problem->arguments[index], rows, cols, &result,
                                 library_error());
    if (status != ESP_OK)
        return status;
    *matrix = (struct esp_matrix){.rows = result.rows,
                                  .cols = result.cols,
                                  .is_complex = result.is_complex,
                                  .values = result.values,
                                  .starts = result.starts,
                                  .indices = result.indices};
    free(result.wide);
    return ESP_OK;
}

void esp_matrix_clear(struct esp_matrix *matrix)
{
    if (!matrix)
        return;
    free(matrix->values);
    free(matrix->starts);
    free(matrix->indices);
    *matrix = (struct esp_matrix){0};
}

enum esp_status esp_run_kept(const struct esp_run *run, const char *name, char **id)
{
    struct esp_error *error = library_error();
    uint32_t index;
    if (!run || !name || !id)
        return refuse_null();
    enum esp_status status = find_output(run, name, &index);
    const char *identity = status == ESP_OK && run->run.fates ? run->run.fates[index].identity : NULL;
    if (status == ESP_OK && !identity)
        return error_set(error, ESP_INVALID, "%s: %s has not left it on a server", name, run->run.taken);
    if (status == ESP_OK && !(*id = strdup(identity)))
        status = error_no_memory(error, "the identity of a datum");
    return status;
}

const struct esp_run_info *esp_run_info(struct esp_run *run)
{
    const struct abstract_run *from = &run->run;
    const struct esp_session_info *steps[ABSTRACT_MAX_STEPS];
    const uint32_t n = abstract_infos(from, steps);
    memcpy(run->steps, steps, n * sizeof *steps);
    run->info = (struct esp_run_info){.taken = from->taken,
                                      .rule = from->rule,
                                      .weighed = from->weighed,
                                      .passed_over = from->passed_over,
                                      .passed_status = from->passed_status,
                                      .server = from->at,
                                      .is_checked = from->is_checked,
                                      .backward_error = from->backward_error,
                                      .steps = run->steps,
                                      .n_steps = n};
    return &run->info;
}
