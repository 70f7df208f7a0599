/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/signature.h"

#include <string.h>

static uint64_t mix(uint64_t digest, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (; bytes >= 8; at += 8, bytes -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        digest ^= digest >> 29;
    }
    for (; bytes > 0; at++, bytes--)
        digest = (digest ^ *at) * UINT64_C(0x100000001b3);
    return digest;
}

static uint64_t signature_key(const struct call_signature *signature)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325) ^ signature->n_parameters ^
                   (uint64_t)signature->returns << 32 ^ (uint64_t)signature->result_type << 40;
    key = mix(key, signature->symbol, strlen(signature->symbol) + 1);
    key = mix(key, signature->library, strlen(signature->library) + 1);
    key = mix(key, signature->folder, strlen(signature->folder) + 1);
    return mix(key, signature->parameters, signature->n_parameters * sizeof *signature->parameters);
}

static enum base_type parameter_type(const struct problem *problem, const struct call_parameter *parameter)
{
    return parameter->kind == PARAMETER_ARGUMENT ? problem->arguments[parameter->argument].type
                                                 : parameter->type;
}

bool signature_has_length(const struct problem *problem, const struct implementation *implementation,
                          const struct call_parameter *parameter)
{
    if (implementation->convention != CONVENTION_FORTRAN)
        return false;
    enum base_type type = parameter_type(problem, parameter);
    return type == TYPE_CHAR || type == TYPE_STRING || type == TYPE_FILE;
}

static bool goes_by_value(const struct problem *problem, const struct implementation *implementation,
                          const struct call_parameter *parameter)
{
    if (implementation->convention == CONVENTION_FORTRAN || parameter->kind == PARAMETER_RESULT)
        return false;
    if (parameter->kind == PARAMETER_VALUE)
        return parameter->type != TYPE_STRING;
    if (parameter->kind != PARAMETER_ARGUMENT)
        return parameter->kind == PARAMETER_CONTEXT || /* a communicator is a pointer */
               parameter->kind == PARAMETER_LEADING;
    const struct argument *argument = &problem->arguments[parameter->argument];
    return argument->n_dims == 0 && argument->mode == MODE_IN && argument->type != TYPE_STRING &&
           argument->type < TYPE_FILE; /* pointers are passed as addresses are */
}

static enum esp_status add_parameter(struct call_signature *signature, enum parameter_pass pass,
                                     enum base_type type, struct esp_error *error)
{
    if (signature->n_parameters >= SIGNATURE_MAX_PARAMETERS)
        return error_set(error, ESP_LIMIT, "a call has at most %d parameters", SIGNATURE_MAX_PARAMETERS);
    signature->parameters[signature->n_parameters++] =
        (struct parameter_form){.pass = (uint8_t)pass, .type = (uint8_t)type};
    return ESP_OK;
}

static enum esp_status add_parameters(const struct problem *problem,
                                      const struct implementation *implementation,
                                      struct call_signature *signature, struct esp_error *error)
{
    uint32_t n_lengths = 0;
    for (uint32_t i = 0; i < implementation->n_parameters; i++) {
        const struct call_parameter *parameter = &implementation->parameters[i];
        enum esp_status status = add_parameter(
            signature, goes_by_value(problem, implementation, parameter) ? PASS_VALUE : PASS_ADDRESS,
            parameter_type(problem, parameter), error);
        if (status != ESP_OK)
            return status;
        n_lengths += signature_has_length(problem, implementation, parameter);
    }
    for (; n_lengths > 0; n_lengths--)
        if (add_parameter(signature, PASS_LENGTH, TYPE_INT64, error) != ESP_OK)
            return ESP_LIMIT;
    return ESP_OK;
}

/* strncpy would fill the rest of these long fields, for every call. */
static bool copy_text(char *to, size_t size, const char *from, size_t length)
{
    if (length >= size)
        return false;
    memcpy(to, from, length);
    to[length] = 0;
    return true;
}

/* A description and its library often lie in one folder. */
static void set_folder(const struct problem *problem, struct call_signature *signature)
{
    signature->folder[0] = 0;
    if (signature->library[0] && signature->library[0] != '/')
        copy_text(signature->folder, sizeof signature->folder, problem->folder, strlen(problem->folder));
}

enum esp_status signature_build(const struct problem *problem, const struct implementation *implementation,
                                struct call_signature *signature, struct esp_error *error)
{
    signature->n_parameters = 0;
    signature->returns = implementation->returns;
    signature->result_type =
        implementation->returns ? (uint8_t)parameter_type(problem, &implementation->result) : 0;
    if (implementation->returns && base_type_is_variable((enum base_type)signature->result_type))
        return error_set(error, ESP_INVALID, "problem %s: a function cannot return a %s", problem->name,
                         base_type_name(signature->result_type));
    if (!copy_text(signature->symbol, sizeof signature->symbol, implementation->symbol,
                   strlen(implementation->symbol)))
        return error_set(error, ESP_LIMIT, "problem %s: the symbol '%.40s...' is longer than %d bytes",
                         problem->name, implementation->symbol, SIGNATURE_MAX_SYMBOL - 1);
    if (!copy_text(signature->library, sizeof signature->library, implementation->library,
                   strlen(implementation->library)))
        return error_set(error, ESP_LIMIT,
                         "problem %s: the library's name '%.40s...' is longer than %d bytes", problem->name,
                         implementation->library, SIGNATURE_MAX_PATH - 1);
    set_folder(problem, signature);
    enum esp_status status = add_parameters(problem, implementation, signature, error);
    if (status == ESP_OK)
        signature->key = signature_key(signature);
    return status;
}

static bool is_terminated(const char *text, size_t size)
{
    return memchr(text, 0, size) != NULL;
}

bool signature_is_sane(const struct call_signature *signature)
{
    if (signature->n_parameters > SIGNATURE_MAX_PARAMETERS || signature->result_type > TYPE_STATE ||
        !is_terminated(signature->symbol, sizeof signature->symbol) ||
        !is_terminated(signature->library, sizeof signature->library) ||
        !is_terminated(signature->folder, sizeof signature->folder))
        return false;
    for (uint32_t i = 0; i < signature->n_parameters; i++)
        if (signature->parameters[i].pass > PASS_LENGTH || signature->parameters[i].type > TYPE_CALLBACK)
            return false;
    return true;
}

void signature_copy(struct call_signature *to, const struct call_signature *from)
{
    to->key = from->key;
    to->n_parameters = from->n_parameters;
    to->returns = from->returns;
    to->result_type = from->result_type;
    memcpy(to->symbol, from->symbol, strlen(from->symbol) + 1);
    memcpy(to->library, from->library, strlen(from->library) + 1);
    memcpy(to->folder, from->folder, strlen(from->folder) + 1);
    memcpy(to->parameters, from->parameters, from->n_parameters * sizeof *from->parameters);
}

bool signature_equal(const struct call_signature *a, const struct call_signature *b)
{
    return a->key == b->key && a->n_parameters == b->n_parameters && a->returns == b->returns &&
           a->result_type == b->result_type && strcmp(a->symbol, b->symbol) == 0 &&
           strcmp(a->library, b->library) == 0 && strcmp(a->folder, b->folder) == 0 &&
           memcmp(a->parameters, b->parameters, a->n_parameters * sizeof *a->parameters) == 0;
}
