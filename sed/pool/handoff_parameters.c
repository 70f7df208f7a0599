/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/handoff_judge.h"
#include "sed/pool/handoff_write.h"
#include "core/problem/problem_solves.h"

#include <string.h>

/* The parameter that tells the routine the size of the queried array; the parser has seen to it. */
static uint32_t size_parameter(const struct implementation *implementation, uint32_t size)
{
    uint32_t i = 0;
    while (i + 1 < implementation->n_parameters &&
           !call_parameter_is_value_of(&implementation->parameters[i], size))
        i++;
    return i;
}

static enum esp_status put_query(struct writer *writer, uint32_t index, uint32_t parameter,
                                 struct ring_operand *operand)
{
    const struct job *job = &writer->handoff->job;
    const struct argument *argument = &job->problem->arguments[index];
    struct ring_job *to = &writer->ring->job;
    uint32_t size;
    expr_is_name(argument->dims[0], &size);
    if (to->n_queries == RING_MAX_QUERIES)
        return error_set(writer->error, ESP_LIMIT,
                         "problem %s: a call has at most %d work arrays with 'query'", job->problem->name,
                         RING_MAX_QUERIES);
    *operand = (struct ring_operand){.value = to->n_queries, .place = OPERAND_QUERY};
    to->queries[to->n_queries++] =
        (struct ring_query){.size = size_parameter(job->implementation, size),
                            .array = parameter,
                            .argument = index,
                            .size_type = (uint8_t)job->problem->arguments[size].type,
                            .array_type = (uint8_t)argument->type,
                            .least = (uint64_t)job->scope[size].integer};
    return ESP_OK;
}

/* A number that the call passes. */
static enum esp_status put_number(struct writer *writer, const void *raw, enum base_type type,
                                  struct ring_operand *operand)
{
    int32_t value = handoff_put_value(writer, raw, base_type_size(type), -1);
    if (value < 0)
        return ESP_LIMIT;
    *operand = (struct ring_operand){.value = writer->handoff->values[value].there, .place = OPERAND_ARENA};
    return ESP_OK;
}

/* The description's fault: the arguments were checked before. */
static enum esp_status number_failed(struct writer *writer, const char *parameter)
{
    const struct job *job = &writer->handoff->job;
    writer->error->status = ESP_FAILED;
    error_prefix(writer->error, "problem %s: parameter '%s' of %s", job->problem->name, parameter,
                 job->implementation->symbol);
    return ESP_FAILED;
}

static enum esp_status put_expression(struct writer *writer, const struct call_parameter *parameter,
                                      struct ring_operand *operand)
{
    const struct job *job = &writer->handoff->job;
    struct scope scope = {.values = job->scope, .n_values = job->problem->n_arguments};
    struct number number;
    _Alignas(16) unsigned char raw[16];
    enum esp_status status = expr_eval(parameter->value, &scope, &number, writer->error);
    if (status == ESP_OK)
        status = number_store(&number, parameter->type, raw, writer->error);
    return status == ESP_OK ? put_number(writer, raw, parameter->type, operand)
                            : number_failed(writer, expr_text(parameter->value));
}

/* leading(A), as LAPACK wants it: at least 1. */
static enum esp_status put_leading(struct writer *writer, const struct call_parameter *parameter,
                                   struct ring_operand *operand)
{
    const struct job *job = &writer->handoff->job;
    struct section section;
    _Alignas(16) unsigned char raw[16];
    enum esp_status status = handoff_columns(job, parameter->argument, &section, writer->error);
    const struct number number = {.kind = NUMBER_INTEGER,
                                  .integer = section.dims[0] > 1 ? section.dims[0] : 1};
    if (status == ESP_OK)
        status = number_store(&number, parameter->type, raw, writer->error);
    return status == ESP_OK ? put_number(writer, raw, parameter->type, operand)
                            : number_failed(writer, handoff_argument_name(job, (int32_t)parameter->argument));
}

/* C passes what a state is, unless the routine makes or ends it; Fortran always passes where it is. */
static bool passes_address(const struct job *job, const struct call_parameter *parameter)
{
    return job->implementation->convention == CONVENTION_FORTRAN ||
           job->problem->arguments[parameter->argument].mode != MODE_IN;
}

static enum esp_status put_callback(struct writer *writer, uint32_t index, struct ring_operand *operand)
{
    const struct job *job = &writer->handoff->job;
    const struct argument *argument = &job->problem->arguments[index];
    struct ring_job *to = &writer->ring->job;
    size_t bytes = strlen(argument->callback->source) + 1;
    if (to->n_callbacks == RING_MAX_CALLBACKS || bytes > RING_CALLBACK_TEXT)
        return error_set(writer->error, ESP_LIMIT,
                         "problem %s: callback '%s': a call passes at most %d, whose signatures have at most "
                         "%d bytes",
                         job->problem->name, argument->name, RING_MAX_CALLBACKS, RING_CALLBACK_TEXT - 1);
    *operand = (struct ring_operand){.value = to->n_callbacks, .place = OPERAND_CALLBACK};
    struct ring_callback *callback = &to->callbacks[to->n_callbacks++];
    callback->argument = index;
    callback->fortran = job->implementation->convention == CONVENTION_FORTRAN;
    callback->returns = argument->callback_returns;
    callback->n_outer = argument->callback->n_outer;
    memcpy(callback->text, argument->callback->source, bytes);
    return callback_outer_values(argument->callback, job->scope, callback->outer, writer->error);
}

/* The routine gets the path of the file, which the worker makes. */
static enum esp_status put_path(struct writer *writer, const struct call_parameter *parameter,
                                struct ring_operand *operand)
{
    const struct argument *argument = &writer->handoff->job.problem->arguments[parameter->argument];
    const struct command_file file = {.argument = parameter->argument,
                                      .stream = STREAM_FILE,
                                      .format = FORMAT_RAW,
                                      .name = parameter->name,
                                      .goes_in = argument_is_input(argument),
                                      .comes_back = argument_is_output(argument)};
    const struct ring_job *to = &writer->ring->job;
    uint32_t i = 0;
    while (i < to->n_files && to->files[i].argument != parameter->argument)
        i++;
    *operand = (struct ring_operand){.value = i, .place = OPERAND_PATH};
    return i < to->n_files ? ESP_OK : handoff_put_file(writer, &file);
}

/* What the routine gets of an argument that it takes. */
static enum esp_status put_passed(struct writer *writer, uint32_t index, struct ring_operand *operand)
{
    const struct job *job = &writer->handoff->job;
    const struct call_parameter *parameter = &job->implementation->parameters[index];
    const struct argument *argument = &job->problem->arguments[parameter->argument];
    if (argument_is_queried(argument))
        return put_query(writer, parameter->argument, index, operand);
    if (argument->type == TYPE_STATE) {
        *operand = (struct ring_operand){.place = OPERAND_STATE, .value = passes_address(job, parameter)};
        return ESP_OK;
    }
    if (argument->is_section)
        return handoff_put_section(writer, parameter->argument, operand);
    if (argument->type == TYPE_FILE)
        return put_path(writer, parameter, operand);
    if (argument_is_texts(argument))
        return handoff_put_texts(writer, parameter, operand);
    if (argument->type == TYPE_CALLBACK)
        return put_callback(writer, parameter->argument, operand);
    if (implementation_leads(job->implementation, parameter->argument))
        return handoff_put_columns(writer, parameter->argument, operand);
    return handoff_put_argument(writer, parameter->argument, operand);
}

/* Room for what the routine gives back through a parameter that is no argument. */
static enum esp_status put_room(struct writer *writer, uint32_t index, struct ring_operand *operand)
{
    static const unsigned char zeros[16];
    struct handoff *handoff = writer->handoff;
    const struct call_parameter *parameter = &handoff->job.implementation->parameters[index];
    int32_t value = handoff_put_value(writer, zeros, base_type_size(parameter->type), -1);
    if (value < 0)
        return ESP_LIMIT;
    handoff->parameter_values[index] = value;
    *operand = (struct ring_operand){.value = handoff->values[value].there, .place = OPERAND_ARENA};
    return ESP_OK;
}

static enum esp_status put_parameter(struct writer *writer, uint32_t index)
{
    struct handoff *handoff = writer->handoff;
    const struct call_parameter *parameter = &handoff->job.implementation->parameters[index];
    struct ring_operand *operand = &writer->ring->job.operands[index];
    handoff->parameter_values[index] = -1;
    if (implementation_is_parallel(handoff->job.implementation)) {
        bool found;
        enum esp_status status = handoff_put_part(writer, parameter, operand, &found);
        if (found || status != ESP_OK)
            return status;
    }
    switch (parameter->kind) {
    case PARAMETER_ARGUMENT:
        return put_passed(writer, index, operand);
    case PARAMETER_VALUE:
        return put_expression(writer, parameter, operand);
    case PARAMETER_LEADING:
        return put_leading(writer, parameter, operand);
    default:
        return put_room(writer, index, operand);
    }
}

/* Fortran's length of a CHARACTER parameter: of an array, that of one element when it has more than one
 * dimension (character*8 names(n)), else all of it (character*(n) name). */
static uint64_t hidden_length(const struct job *job, const struct ring_job *to,
                              const struct call_parameter *parameter)
{
    if (parameter->kind != PARAMETER_ARGUMENT)
        return 1;
    const struct argument *argument = &job->problem->arguments[parameter->argument];
    struct scope scope = {.values = job->scope, .n_values = job->problem->n_arguments};
    int64_t first;
    for (uint32_t i = 0; i < to->n_texts; i++)
        if (to->texts[i].argument == parameter->argument)
            return to->texts[i].width;
    if (argument->type == TYPE_CHAR && argument->n_dims > 1 &&
        expr_eval_size(argument->dims[0], &scope, &first, NULL) == ESP_OK)
        return (uint64_t)first;
    struct section section;
    if (argument->is_section)
        return handoff_section(job, parameter->argument, &section, NULL) == ESP_OK ? section_whole(&section)
                                                                                   : 0;
    return job->arguments[parameter->argument].bytes;
}

enum esp_status handoff_put_parameters(struct writer *writer)
{
    const struct job *job = &writer->handoff->job;
    const struct implementation *implementation = job->implementation;
    uint32_t n = implementation->n_parameters;
    for (uint32_t i = 0; i < implementation->n_parameters; i++) {
        enum esp_status status = put_parameter(writer, i);
        if (status != ESP_OK)
            return status;
        if (signature_has_length(job->problem, implementation, &implementation->parameters[i]))
            writer->ring->job.operands[n++] =
                writer->ring->job.operands[i].place == OPERAND_PATH
                    ? (struct ring_operand){.value = writer->ring->job.operands[i].value,
                                            .place = OPERAND_PATH_LENGTH}
                    : (struct ring_operand){
                          .value = hidden_length(job, &writer->ring->job, &implementation->parameters[i]),
                          .place = OPERAND_NUMBER};
    }
    return ESP_OK;
}

/* The parameter that passes that argument itself. */
static bool passing(const struct implementation *implementation, uint32_t argument, uint32_t *parameter)
{
    for (*parameter = 0; *parameter < implementation->n_parameters; ++*parameter)
        if (implementation->parameters[*parameter].kind == PARAMETER_ARGUMENT &&
            implementation->parameters[*parameter].argument == argument)
            return true;
    return false;
}

/* Ranks have parts of the arrays only, and columns that lie apart are in memory of the server's. */
void handoff_put_system(struct writer *writer)
{
    const struct job *job = &writer->handoff->job;
    const struct problem *problem = job->problem;
    const struct implementation *implementation = job->implementation;
    const struct solves *solves = problem->solves;
    struct ring_system *system = &writer->ring->job.system;
    if (!solves || implementation_is_parallel(implementation) ||
        !solves_shape(problem, job->scope, &system->shape))
        return;
    const struct argument *matrix = &problem->arguments[solves->matrix];
    const uint32_t arrays[] = {solves->matrix, solves->rhs, solves->solution};
    for (unsigned i = 0; i < 3; i++)
        if (problem->arguments[arrays[i]].type != matrix->type ||
            implementation_leads(implementation, arrays[i]) ||
            (problem->arguments[arrays[i]].properties & PROPERTY_ROW_MAJOR))
            return;
    if (!passing(implementation, solves->matrix, &system->matrix) ||
        !passing(implementation, solves->rhs, &system->rhs) ||
        !passing(implementation, solves->solution, &system->solution))
        return;
    if (matrix->storage >= STORAGE_CSC && (!passing(implementation, matrix->pointers, &system->pointers) ||
                                           !passing(implementation, matrix->indices, &system->indices)))
        return;
    if (matrix->storage >= STORAGE_CSC) {
        system->pointer_type = (uint8_t)problem->arguments[matrix->pointers].type;
        system->index_type = (uint8_t)problem->arguments[matrix->indices].type;
    }
    system->type = (uint8_t)matrix->type;
    system->base = (uint8_t)matrix->base;
    system->fits = solves->fits;
    system->wanted = 1;
}

enum esp_status handoff_put_result(struct writer *writer)
{
    struct handoff *handoff = writer->handoff;
    handoff->result_value = -1;
    if (!handoff->job.implementation->returns)
        return ESP_OK;
    const struct call_parameter *result = &handoff->job.implementation->result;
    int32_t argument = result->kind == PARAMETER_ARGUMENT ? (int32_t)result->argument : -1;
    if (argument >= 0 && handoff->argument_values[argument] < 0 &&
        !handoff->job.arguments[argument].in_segment) {
        struct ring_operand unused;
        enum esp_status status = handoff_put_argument(writer, (uint32_t)argument, &unused);
        if (status != ESP_OK)
            return status;
    }
    int32_t value = handoff_put_value(writer, NULL, 16, -1);
    if (value < 0)
        return ESP_LIMIT;
    handoff->result_value = value;
    writer->ring->job.result_offset = handoff->values[value].offset;
    return ESP_OK;
}
