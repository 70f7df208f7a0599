/* SPDX-License-Identifier: Apache-2.0
 *
 * Abstract problems: what is made of the arguments, and their complex namesakes.
 */
#include "config.h"

#include "command/call_abstract.h"
#include "command/constraints.h"
#include "command/session.h"
#include "command/steps_view.h"
#include "core/values/signature.h"
#include "core/values/values_storage.h"
#include "core/problem/abstract.h"

#include <stdio.h>
#include <string.h>

static enum esp_status store_result(struct values *values, size_t index, const struct matrix *matrix,
                                    struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    for (size_t k = 0; k < (size_t)(matrix->rows * matrix->cols); k++)
        if (!value_store_element(formal->type, values->slots[index].memory, k, matrix, k))
            return error_set(error, ESP_FAILED, "%s: element %zu cannot be a %s", formal->name, k + 1,
                             esp_type_name(formal->type));
    return ESP_OK;
}

/* A sparse result stays one: whole, it may not fit memory. */
static enum esp_status take_result(struct abstract_arguments *arguments, size_t index,
                                   struct esp_error *error)
{
    struct values *values = &arguments->values;
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    const int64_t *dims = values->arguments[index].dims;
    struct esp_matrix result;
    enum esp_status status =
        session_told(esp_run_result(arguments->run, formal->name, formal->n_dims ? dims[0] : 1,
                                    formal->n_dims > 1 ? dims[1] : 1, &result),
                     error);
    if (status != ESP_OK)
        return status;
    struct matrix matrix = abstract_take(&result);
    if (matrix_is_sparse(&matrix)) {
        values->slots[index].sparse = matrix;
        return value_memory(values, index, 1, error);
    }
    values->is_late = false;
    status = values->slots[index].memory ? ESP_OK : values_prepare_output(values, index, error);
    if (status == ESP_OK)
        status = store_result(values, index, &matrix, error);
    matrix_clear(&matrix);
    return status;
}

static enum esp_status take_identity(struct abstract_arguments *arguments, size_t index,
                                     struct esp_error *error)
{
    const char *name = arguments->values.problem->arguments[index].name;
    if (esp_run_kept(arguments->run, name, &arguments->values.slots[index].kept) == ESP_OK)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "%s: name a file", esp_last_error()->text);
}

static enum esp_status take_results(struct abstract_arguments *arguments, struct esp_error *error)
{
    struct values *values = &arguments->values;
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &values->problem->arguments[i];
        if (!argument_out(formal) || values_is_left(values, i))
            continue;
        enum esp_status status =
            values->slots[i].is_kept ? take_identity(arguments, i, error) : take_result(arguments, i, error);
        if (status != ESP_OK)
            return status;
    }
    values_look_at_kept(values);
    return values_cut(values, error);
}

/* The first note on a step's results; "" when there is none. */
static const char *noted_by(const struct esp_session_info *const *infos, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (*session_note(infos[i]))
            return session_note(infos[i]);
    return "";
}

static enum exit_code show(const struct command_line *command, const struct abstract_arguments *arguments)
{
    const struct esp_run_info *run = esp_run_info(arguments->run);
    const char *name = arguments->values.problem->name;
    const struct esp_session_info *const *infos = run->steps;
    const size_t n = run->n_steps;
    struct esp_error error = {0};
    if (!command->json && *run->passed_over)
        fprintf(stderr, "%s: warning: %s\n", name, run->passed_over);
    if (!command->json && *run->weighed && command_option_value(command, "verbose"))
        fprintf(stderr, "%s: weighed: %s\n", name, run->weighed);
    if (!command->json && command_option_value(command, "verbose"))
        fprintf(stderr, "%s: by its rule: %s\n", name, run->rule);
    if (!command->json)
        fprintf(stderr, "%s: done by %s on %s\n", name, run->taken, run->server);
    for (size_t i = 0; !command->json && i < n; i++)
        session_print_note(infos[i], name);
    if (!command->json && *arguments->overflow)
        fprintf(stderr, "%s: %s\n", name, arguments->overflow);
    if (!command->json)
        values_warn(&arguments->values, stderr);
    if (values_write(&arguments->values, &error) != ESP_OK)
        return command_fail(command, &error);
    if (command->json)
        return command_json(json_pack(
            "{s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "outputs", values_json(&arguments->values),
            "problem", name, "taken", run->taken, "rule", run->rule, "weighed", run->weighed, "passed_over",
            run->passed_over, "warning", *noted_by(infos, n) ? noted_by(infos, n) : arguments->overflow,
            "session", n > 0 ? session_json(infos[n - 1]) : json_null(), "steps", steps_json(infos, n),
            "sums", steps_sums_json(infos, n)));
    if (command_option_value(command, "verbose"))
        steps_print(infos, n, stdout);
    values_print(&arguments->values);
    return command_flush();
}

static enum exit_code show_job(const struct command_line *command, const struct abstract_arguments *arguments)
{
    const char *name = arguments->values.problem->name;
    const struct esp_job *job = arguments->job;
    if (command->json)
        return command_json(json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", job->id, "problem",
                                      job->problem->name, "abstract", name, "server", job->server, "address",
                                      job->address));
    fprintf(stderr, "%s: submitted as %s\n", name, job->problem->name);
    puts(job->id);
    return command_flush();
}

/* Matrices as they were given; of data that live on servers nothing is known. */
static void look_for_overflow(struct abstract_arguments *arguments)
{
    bool is_finite = !arguments->has_data;
    for (size_t i = 0; i < arguments->values.problem->n_arguments && is_finite; i++)
        is_finite = !arguments->given[i].values || matrix_is_finite(&arguments->given[i], NULL, NULL);
    if (!is_finite)
        return;
    overflow_look(&arguments->values, arguments->overflow);
}

static enum esp_status call_it(struct abstract_arguments *arguments, const struct esp_call_options *options,
                               struct esp_error *error)
{
    enum esp_status status =
        session_told(esp_run_execute(arguments->run, options, arguments->foretells), error);
    if (status == ESP_OK)
        status = take_results(arguments, error);
    if (status == ESP_OK)
        look_for_overflow(arguments);
    return status;
}

static enum esp_status submit_it(struct abstract_arguments *arguments, const struct esp_call_options *options,
                                 struct esp_error *error)
{
    return session_told(esp_run_submit(arguments->run, options, true, &arguments->job), error);
}

static enum esp_status run_it(const struct command_line *command, const struct abstract_use *use,
                              struct abstract_arguments *arguments, bool *too_real, struct esp_error *error)
{
    struct esp_call_options options = {0};
    struct constraint_words words;
    arguments->foretells = command->json || command_option_value(command, "verbose");
    enum esp_status status = session_told(
        esp_run_create(arguments->values.problem, constraints_bound(command), &arguments->run), error);
    if (status != ESP_OK)
        return status;
    status = session_look_begin(command, &arguments->values.look_ns, error);
    if (status == ESP_OK)
        status = constraints_read(command, &words, &options, error);
    if (status == ESP_OK)
        status = abstract_arguments_read(command, arguments, too_real, error);
    session_look_end(arguments->values.look_ns);
    if (status == ESP_OK)
        status = session_time_left(command, &options.deadline_s, error);
    return status != ESP_OK || *too_real ? status : use->run(arguments, &options, error);
}

static enum exit_code go(const struct command_line *command, const struct esp_problem *problem,
                         const struct abstract_use *use, problem_run *run_plain);

static enum exit_code go_complex(const struct command_line *command, const struct esp_problem *real,
                                 const struct abstract_use *use, problem_run *run_plain)
{
    struct esp_problem *problem = NULL;
    struct values values = {0};
    struct esp_error error = {0};
    char name[128];
    snprintf(name, sizeof name, "z%s", real->name);
    if (session_describe(command, name, &problem, &error) != ESP_OK) {
        if (error.status != ESP_TIMEOUT)
            error_set(&error, ESP_INVALID, "%s takes real matrices, found a complex one (and there is no %s)",
                      real->name, name);
        return command_fail(command, &error);
    }
    bool is_complex = false;
    for (size_t i = 0; i < problem->n_arguments; i++)
        is_complex |= problem->arguments[i].type == ESP_TYPE_DOUBLE_COMPLEX;
    enum exit_code code;
    if (is_complex && values_init(&values, problem, &values_library, &error) != ESP_OK) {
        code = command_fail(command, &error);
    } else if (is_complex) {
        code = values.described->problems[0]->abstract ? go(command, problem, use, run_plain)
                                                       : run_plain(command, problem, &values);
    } else {
        error_set(&error, ESP_INVALID, "%s takes real matrices, found a complex one", real->name);
        code = command_fail(command, &error);
    }
    values_clear(&values);
    esp_problem_free(problem);
    return code;
}

static enum exit_code go(const struct command_line *command, const struct esp_problem *problem,
                         const struct abstract_use *use, problem_run *run_plain)
{
    struct abstract_arguments arguments = {0};
    struct esp_error error = {0};
    bool too_real = false;
    enum esp_status status = values_init(&arguments.values, problem, &values_library, &error);
    if (status == ESP_OK)
        status = values_reading(command, &arguments.values.reading, &error);
    if (status == ESP_OK)
        status = run_it(command, use, &arguments, &too_real, &error);
    enum exit_code code = too_real           ? EXIT_DONE
                          : status != ESP_OK ? problem_fail(command, problem, &error)
                                             : use->show(command, &arguments);
    abstract_arguments_clear(&arguments);
    return too_real ? go_complex(command, problem, use, run_plain) : code;
}

/* Data are whole matrices: rules for sparse ones are none for them. NULL: there is no other. */
static const struct rule *first_of_whole(const struct abstract *abstract)
{
    for (uint32_t i = 0; i < abstract->n_rules; i++) {
        const struct rule *rule = &abstract->rules[i];
        bool sparse = false;
        for (uint32_t k = 0; k < rule->n_wishes; k++)
            sparse |= (rule->wishes[k].traits & TRAIT_SPARSE) != 0;
        if (!sparse)
            return rule;
    }
    return NULL;
}

/* The one problem that does it whatever is given, under the same names; false: it depends. */
static bool only_step(const struct problem *problem, char name[PROBLEM_MAX_NAME + 1])
{
    const struct rule *rule = first_of_whole(problem->abstract);
    const struct step *step = rule ? &rule->steps[0] : NULL;
    struct given first = {.type = TYPE_DOUBLE};
    for (uint32_t i = problem->n_arguments; i-- > 0;)
        if (problem->arguments[i].mode == MODE_IN && problem->arguments[i].n_dims > 0)
            first.type = problem->arguments[i].type;
    if (!rule || rule->n_wishes > 0 || rule->n_steps > 1 || step->n_renamed > 0 || step->n_results > 0)
        return false;
    abstract_step_name(step, &first, name, PROBLEM_MAX_NAME + 1);
    return true;
}

static bool takes_data(const struct command_line *command)
{
    for (int i = 1; i < command->n_operands; i++) {
        const char *equal = strchr(command->operands[i], '=');
        if (equal && values_is_data(equal + 1))
            return true;
    }
    return false;
}

/* Where one problem does it whatever is given, it takes data as they are. */
static enum exit_code go_with_data(const struct command_line *command, const struct esp_problem *problem,
                                   const struct abstract_use *use, problem_run *run_plain)
{
    struct values values = {0}, plain_values = {0};
    struct esp_problem *plain = NULL;
    struct esp_error error = {0};
    enum exit_code code = EXIT_FAILED;
    char name[PROBLEM_MAX_NAME + 1];
    enum esp_status status = values_init(&values, problem, &values_library, &error);
    bool depends = status == ESP_OK && !only_step(values.described->problems[0], name);
    values_clear(&values);
    if (depends)
        return go(command, problem, use, run_plain);
    if (status == ESP_OK && session_describe(command, name, &plain, &error) != ESP_OK)
        code = session_fail_with(command, &error);
    else if (status == ESP_OK &&
             (status = values_init(&plain_values, plain, &values_library, &error)) == ESP_OK)
        code = run_plain(command, plain, &plain_values);
    if (status != ESP_OK)
        code = command_fail(command, &error);
    values_clear(&plain_values);
    esp_problem_free(plain);
    return code;
}

enum exit_code use_abstract(const struct command_line *command, const struct esp_problem *problem,
                            const struct abstract_use *use, problem_run *run_plain)
{
    return takes_data(command) ? go_with_data(command, problem, use, run_plain)
                               : go(command, problem, use, run_plain);
}

enum exit_code call_abstract(const struct command_line *command, const struct esp_problem *problem,
                             problem_run *run_plain)
{
    static const struct abstract_use use = {call_it, show};
    return use_abstract(command, problem, &use, run_plain);
}

enum exit_code submit_abstract(const struct command_line *command, const struct esp_problem *problem,
                               problem_run *run_plain)
{
    static const struct abstract_use use = {submit_it, show_job};
    return use_abstract(command, problem, &use, run_plain);
}

enum exit_code refuse_to_leave(const struct command_line *command, const struct esp_problem *problem,
                               problem_run *run)
{
    (void)run;
    return command_usage(
        command,
        "--leave: %s chooses the problem that computes; name that one ('espalier call -v' shows it), or "
        "leave the result of a call with -o NAME=data:",
        problem->name);
}
