/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier flow run: a flow graph on the servers of a platform; espalier flow cancel: ends it.
 */
#include "config.h"

#include "command/bar.h"
#include "command/session.h"
#include "command/table.h"
#include "command/values.h"
#include "command/verbs.h"
#include "flow/catalogue.h"
#include "flow/outputs.h"
#include "flow/settings.h"
#include "simulate/picture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES        10000
#define CANCEL_PATIENCE_S 30.0

struct flow_verb {
    const struct command_line *command;
    struct bar bar;
    struct catalogue *catalogue;
    struct flow_program *program;
    struct flow_plan *plan;
    struct flow_servers servers;
    struct inputs inputs;
    struct execution_result result;
    const struct matrix_format *format;
    uint32_t n_nodes;
};

/* ---- while it runs ---- */

static void show_progress(void *self, uint64_t done, uint64_t all)
{
    struct flow_verb *verb = self;
    bar_draw(&verb->bar, all ? (double)done / (double)all : 0, "%" PRIu64 " of %" PRIu64 " tasks", done, all);
}

static bool is_stopped(void *self)
{
    (void)self;
    return session_interrupted();
}

/* ---- results ---- */

/* The file that -o names for a result, for free(); NULL: none. "x" stands for all elements of x. */
static char *path_of(const struct command_line *command, const char *name)
{
    const char *found = NULL;
    size_t base = strcspn(name, "[");
    for (int i = 0; i < command->n_options; i++) {
        const char *value = command->options[i].value;
        const char *equals = strchr(value, '=');
        if (strcmp(command->options[i].name, "output") != 0 || !equals)
            continue;
        size_t length = (size_t)(equals - value);
        if ((length == strlen(name) || length == base) && strncmp(value, name, length) == 0)
            found = equals + 1;
    }
    return found ? inputs_spell(found, name) : NULL;
}

static enum esp_status save(const struct flow_verb *verb, const struct execution_output *output,
                            const char *path, struct esp_error *error)
{
    struct matrix matrix;
    enum esp_status status = output_matrix(output, &matrix, error);
    if (status != ESP_OK)
        return status;
    struct matrix_file file = matrix_as_file(&matrix);
    if (output_is_integer(output))
        file.field = FIELD_INTEGER;
    file.is_vector = output->array.shape.n_dims == 1;
    fflush(stdout);
    status = matrix_save(path, &file, verb->format, error);
    matrix_clear(&matrix);
    return status;
}

/* Fails before anything is computed. */
static enum esp_status check_outputs(struct flow_verb *verb, struct esp_error *error)
{
    enum esp_status status = values_format(verb->command, &verb->format, error);
    for (int i = 0; i < verb->command->n_options && status == ESP_OK; i++) {
        const char *value = verb->command->options[i].value, *equals = strchr(value, '=');
        if (strcmp(verb->command->options[i].name, "output") != 0)
            continue;
        if (!equals || !equals[1])
            status = error_set(error, ESP_INVALID, "--output: expected NAME=FILE, found '%.60s'", value);
        else if (!verb->format && strcmp(equals + 1, "-") != 0)
            status = matrix_check_ending(equals + 1, error);
    }
    return status;
}

static enum esp_status save_all(const struct flow_verb *verb, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < verb->result.n_outputs && status == ESP_OK; i++) {
        char *path = path_of(verb->command, verb->result.outputs[i].name);
        if (path)
            status = save(verb, &verb->result.outputs[i], path, error);
        free(path);
    }
    return status;
}

static json_t *output_json(const struct execution_output *output)
{
    struct matrix matrix;
    struct esp_error error;
    if (output_matrix(output, &matrix, &error) != ESP_OK)
        return command_json_text(error.text);
    json_t *value = matrix_json(&matrix, output->array.shape.n_dims < 2, output_is_integer(output));
    matrix_clear(&matrix);
    return value;
}

static json_t *result_json(const struct flow_verb *verb)
{
    const struct execution_result *result = &verb->result;
    json_t *outputs = json_object(), *servers = json_array();
    for (size_t i = 0; i < result->n_outputs; i++) {
        char *path = path_of(verb->command, result->outputs[i].name);
        if (!path)
            json_object_set_new(outputs, result->outputs[i].name, output_json(&result->outputs[i]));
        free(path);
    }
    for (uint32_t i = 0; i < verb->servers.n_nodes; i++)
        json_array_append_new(servers, command_json_text(verb->servers.servers[verb->servers.nodes[i]].name));
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i}", "outputs",
                     outputs, "nodes", servers, "seconds", command_json_real(result->seconds), "operations",
                     (json_int_t)result->counts.instances, "messages", (json_int_t)result->counts.messages,
                     "remote_messages", (json_int_t)result->counts.remote_messages, "bytes",
                     (json_int_t)result->counts.bytes, "calls", (json_int_t)result->calls, "calls_again",
                     (json_int_t)result->again, "resumed", (json_int_t)result->resumed, "client_sent_bytes",
                     (json_int_t)result->sent_bytes, "client_received_bytes",
                     (json_int_t)result->received_bytes, "copied_bytes", (json_int_t)result->copied_bytes,
                     "lost_servers", (int)result->lost_servers);
}

static void print_output(const struct execution_output *output)
{
    struct matrix matrix;
    struct esp_error error;
    if (output_matrix(output, &matrix, &error) != ESP_OK) {
        printf("%s: %s\n", output->name, error.text);
        return;
    }
    if (matrix.rows * matrix.cols != 1)
        printf("%s (%" PRId64 " x %" PRId64 ")\n", output->name, matrix.rows, matrix.cols);
    else
        printf("%s =\n", output->name);
    matrix_print(&matrix, output_is_integer(output));
    matrix_clear(&matrix);
}

static void print_result(const struct flow_verb *verb)
{
    const struct execution_result *result = &verb->result;
    char time[QUANTITY_TEXT], sent[QUANTITY_TEXT], received[QUANTITY_TEXT], copied[QUANTITY_TEXT];
    for (size_t i = 0; i < result->n_outputs; i++) {
        char *path = path_of(verb->command, result->outputs[i].name);
        if (!path)
            print_output(&result->outputs[i]);
        free(path);
    }
    command_progress(
        verb->command,
        "%s: %s, %" PRIu64 " calls on %u nodes; %s sent by this client, %s received, %s between servers",
        flow_program_name(verb->program), quantity_seconds(result->seconds, time), result->calls,
        verb->servers.n_nodes, quantity_bytes(result->sent_bytes, sent),
        quantity_bytes(result->received_bytes, received), quantity_bytes(result->copied_bytes, copied));
    if (result->lost_servers)
        command_progress(verb->command, "%u servers were lost, %" PRIu64 " calls were made again",
                         result->lost_servers, result->again);
}

/* ---- pictures ---- */

static enum esp_status draw(const struct flow_verb *verb, const char *option,
                            void (*write)(const struct picture *picture, FILE *file), struct esp_error *error)
{
    const char *path = command_option_value(verb->command, option);
    if (!path)
        return ESP_OK;
    const char **names = calloc((size_t)verb->servers.n_nodes + 1, sizeof *names);
    FILE *file = names ? fopen(path, "w") : NULL;
    if (!file) {
        free(names);
        return names ? error_set(error, ESP_SYSTEM, "%s: %s", path, strerror(errno))
                     : error_no_memory(error, path);
    }
    for (uint32_t i = 0; i < verb->servers.n_nodes; i++)
        names[i] = verb->servers.servers[verb->servers.nodes[i]].name;
    struct picture picture = {.record = &verb->result.record,
                              .graph = flow_plan_graph(verb->plan),
                              .seconds = verb->result.seconds,
                              .n_nodes = verb->servers.n_nodes,
                              .nodes = names};
    write(&picture, file);
    bool failed = ferror(file) != 0;
    free(names);
    if (fclose(file) != 0 || failed)
        return error_set(error, ESP_SYSTEM, "%s: cannot be written", path);
    return ESP_OK;
}

/* ---- the whole ---- */

static enum esp_status prepare(struct flow_verb *verb, struct esp_error *error)
{
    const struct command_line *command = verb->command;
    enum esp_status status = check_outputs(verb, error);
    if (status == ESP_OK)
        status = catalogue_create(&verb->catalogue, error);
    if (status == ESP_OK)
        status = flow_program_load(command->operands[0], catalogue_problems(verb->catalogue), &verb->program,
                                   error);
    if (status == ESP_OK)
        status = flow_settings_take(verb->program, (const char *const *)command->operands + 1,
                                    (size_t)command->n_operands - 1, &verb->inputs, error);
    if (status == ESP_OK)
        status = flow_servers_find(&verb->servers, verb->program, verb->n_nodes, error);
    struct flow_plan_spec spec = {.n_nodes = verb->servers.n_nodes, .calls = true};
    if (status == ESP_OK)
        return flow_plan_create(verb->program, &spec, &verb->plan, error);
    /* A flow that could run nowhere is the better reason why no server has its problems. */
    struct esp_error why;
    spec.n_nodes = 1;
    if (status == ESP_NO_SERVER && flow_plan_create(verb->program, &spec, &verb->plan, &why) != ESP_OK)
        *error = why;
    return error->status;
}

static enum esp_status run(struct flow_verb *verb, struct esp_error *error)
{
    const struct command_line *command = verb->command;
    struct execution_spec spec = {.plan = verb->plan,
                                  .servers = &verb->servers,
                                  .inputs = &verb->inputs,
                                  .record = command_option_value(command, "trace") ||
                                            command_option_value(command, "gantt"),
                                  .journal = command_option_value(command, "journal"),
                                  .self = verb,
                                  .progress = show_progress,
                                  .stopped = is_stopped};
    bar_init(&verb->bar);
    enum esp_status status = execution_run(&spec, &verb->result, error);
    bar_clear(&verb->bar);
    if (status == ESP_OK)
        status = draw(verb, "trace", picture_trace, error);
    if (status == ESP_OK)
        status = draw(verb, "gantt", picture_gantt, error);
    return status == ESP_OK ? save_all(verb, error) : status;
}

static void close_verb(struct flow_verb *verb)
{
    execution_clear(&verb->result);
    flow_plan_destroy(verb->plan);
    flow_servers_clear(&verb->servers);
    flow_program_destroy(verb->program);
    catalogue_destroy(verb->catalogue);
    inputs_clear(&verb->inputs);
}

enum exit_code verb_flow_cancel(const struct command_line *command)
{
    struct esp_error error;
    long pid;
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    if (execution_cancel(command->operands[0], CANCEL_PATIENCE_S, &pid, &error) != ESP_OK)
        code = command_fail(command, &error);
    else if (command->json)
        code = command_json(json_pack("{s:I}", "ended_process", (json_int_t)pid));
    else
        command_progress(command, "%s: %s", command->operands[0],
                         pid ? "the run was ended, and its data are deleted" : "its data are deleted");
    grpc_finalize();
    return code;
}

enum exit_code verb_flow_run(const struct command_line *command)
{
    struct flow_verb verb = {.command = command};
    struct esp_error error = {0};
    const char *nodes = command_option_value(command, "nodes");
    if (nodes) {
        char *end;
        unsigned long n = strtoul(nodes, &end, 10);
        if (*nodes < '0' || *nodes > '9' || *end || n == 0 || n > MOST_NODES)
            return command_usage(command, "--nodes: expected a number from 1 to %d, found '%.40s'",
                                 MOST_NODES, nodes);
        verb.n_nodes = (uint32_t)n;
    }
    session_catch_signals();
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    enum esp_status status = prepare(&verb, &error);
    if (status == ESP_OK)
        status = run(&verb, &error);
    if (status != ESP_OK)
        code = command_fail(command, &error);
    else if (command->json)
        code = command_json(result_json(&verb));
    else
        print_result(&verb);
    close_verb(&verb);
    grpc_finalize();
    session_end_by_signal();
    return code == EXIT_DONE && !command->json ? command_flush() : code;
}
