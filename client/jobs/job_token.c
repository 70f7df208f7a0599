/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of a job as a text: one JSON object. 64-bit numbers and values of scalars are hexadecimal,
 * because JSON's numbers are doubles.
 */
#include "client/jobs/job.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 1

void job_record_clear(struct job_record *record)
{
    function_release(record->function);
    free(record->keepers);
    free(record->data);
    memset(record, 0, sizeof *record);
}

struct job_record *job_record_copy(const struct job_record *record)
{
    struct job_record *copy = malloc(sizeof *copy);
    char *keepers = record->keepers ? strdup(record->keepers) : NULL;
    struct left *data = left_copy(record->data);
    if (!copy || (record->keepers && !keepers) || (record->data && !data)) {
        free(copy);
        free(keepers);
        free(data);
        return NULL;
    }
    *copy = *record;
    copy->keepers = keepers;
    copy->data = data;
    copy->function = function_use(record->function);
    for (uint32_t i = 0; i < PROBLEM_MAX_ARGUMENTS; i++)
        copy->scalars[i] = record->scalars[i] ? copy->values[i] : NULL;
    return copy;
}

void job_record_destroy(struct job_record *record)
{
    if (record)
        job_record_clear(record);
    free(record);
}

static json_t *hex64(uint64_t number)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, number);
    return json_string(text);
}

const char *job_id(const struct job_record *record, char id[SESSION_TEXT])
{
    return session_id_text(&record->origin, id);
}

static json_t *hex_bytes(const unsigned char *bytes, size_t n)
{
    char text[33] = "";
    for (size_t i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return json_string(text);
}

static json_t *scalars_json(const struct job_record *record)
{
    const struct problem *problem = record->function->problem;
    json_t *scalars = json_object();
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (record->scalars[i])
            json_object_set_new(scalars, problem->arguments[i].name,
                                hex_bytes(record->values[i], base_type_size(problem->arguments[i].type)));
    return scalars;
}

/* The members of a session, beside others. */
static void put_session(json_t *json, const struct session_id *session)
{
    json_object_set_new(json, "client_high", hex64(session->client_high));
    json_object_set_new(json, "client_low", hex64(session->client_low));
    json_object_set_new(json, "sequence", hex64(session->sequence));
    json_object_set_new(json, "secret", hex64(session->secret));
}

/* What there is of a job that was called again, or that saves its state. */
static void put_past(json_t *json, const struct job_record *record)
{
    if (record->keepers)
        json_object_set_new(json, "keepers", json_string(record->keepers));
    if (record->losses == 0 && memcmp(&record->origin, &record->session, sizeof record->origin) == 0)
        return;
    json_t *origin = json_object(), *left = json_array();
    put_session(origin, &record->origin);
    for (uint32_t i = 0; i < record->n_left; i++) {
        json_t *one = json_pack("{s:s}", "address", record->left[i].address);
        put_session(one, &record->left[i].session);
        json_array_append_new(left, one);
    }
    json_object_set_new(json, "origin", origin);
    json_object_set_new(json, "left", left);
    json_object_set_new(json, "losses", json_integer(record->losses));
    json_object_set_new(json, "unsure", json_boolean(record->unsure));
}

static void put_data(json_t *json, const struct left *left)
{
    json_t *data = left ? json_array() : NULL;
    for (uint32_t i = 0; left && i < left->n; i++)
        json_array_append_new(data, json_pack("{s:s, s:i, s:b, s:b, s:s}", "argument", left->data[i].argument,
                                              "position", (int)left->data[i].position, "output",
                                              left->data[i].is_output, "own", left->data[i].own, "id",
                                              left->data[i].id));
    if (data)
        json_object_set_new(json, "data", data);
}

char *job_token_write(const struct job_record *record)
{
    const struct problem *problem = record->function->problem;
    json_t *json = json_pack("{s:i, s:s, s:s, s:o, s:f, s:s, s:o, s:o, s:s}", "espalier_job", FORMAT,
                             "server", record->server, "address", record->address, "incarnation",
                             hex64(record->incarnation), "submitted", record->submitted_s, "problem",
                             problem->name, "digest", hex64(record->function->digest), "scalars",
                             scalars_json(record), "description", problem->source);
    put_session(json, &record->session);
    put_past(json, record);
    put_data(json, record->data);
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(json);
    return text;
}

/* ---- reading ---- */

static bool read_hex(const char *text, unsigned char *bytes, size_t n)
{
    if (!text || strlen(text) != 2 * n || strspn(text, "0123456789abcdef") != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char pair[3] = {text[2 * i], text[2 * i + 1], 0};
        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return true;
}

static const char *member(json_t *json, const char *name, struct esp_error *error)
{
    const char *text = json_string_value(json_object_get(json, name));
    if (!text && error->status == ESP_OK)
        error_set(error, ESP_SYNTAX, "the record of a job: expected a text \"%s\", found none", name);
    return text ? text : "";
}

static uint64_t number(json_t *json, const char *name, struct esp_error *error)
{
    const char *text = member(json, name, error);
    unsigned char bytes[8];
    if (error->status == ESP_OK && !read_hex(text, bytes, sizeof bytes))
        error_set(error, ESP_SYNTAX,
                  "the record of a job: \"%s\": expected 16 hexadecimal digits, found '%.40s'", name, text);
    return error->status == ESP_OK ? strtoull(text, NULL, 16) : 0;
}

static void read_text(json_t *json, const char *name, char *text, size_t size, struct esp_error *error)
{
    const char *found = member(json, name, error);
    if (strlen(found) >= size && error->status == ESP_OK)
        error_set(error, ESP_SYNTAX, "the record of a job: \"%s\" has %zu characters; at most %zu", name,
                  strlen(found), size - 1);
    snprintf(text, size, "%s", found);
}

static void read_function(json_t *json, struct job_record *record, struct esp_error *error)
{
    const char *problem = member(json, "problem", error);
    struct describe_reply described = {.digest = number(json, "digest", error),
                                       .text = member(json, "description", error)};
    if (error->status != ESP_OK)
        return;
    if (function_create(problem, &described, &record->function, error) != ESP_OK) {
        error_prefix(error, "the record of a job");
        error->status = ESP_SYNTAX;
    }
}

static void read_scalars(json_t *json, struct job_record *record, struct esp_error *error)
{
    json_t *scalars = json_object_get(json, "scalars");
    const struct problem *problem = record->function->problem;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        json_t *value = json_object_get(scalars, argument->name);
        size_t size = base_type_size(argument->type);
        if (!value)
            continue;
        if (argument->n_dims > 0 || !argument_is_input(argument) || size == 0 || size > 16 ||
            !read_hex(json_string_value(value), record->values[i], size)) {
            error_set(error, ESP_SYNTAX, "the record of a job: \"%s\" is no value of type %s", argument->name,
                      base_type_name(argument->type));
            return;
        }
        record->scalars[i] = record->values[i];
    }
}

static struct session_id read_session(json_t *json, struct esp_error *error)
{
    return (struct session_id){.client_high = number(json, "client_high", error),
                               .client_low = number(json, "client_low", error),
                               .sequence = number(json, "sequence", error),
                               .secret = number(json, "secret", error)};
}

static void read_past(json_t *json, struct job_record *record, struct esp_error *error)
{
    json_t *origin = json_object_get(json, "origin"), *left = json_object_get(json, "left");
    const char *keepers = json_string_value(json_object_get(json, "keepers"));
    const json_int_t losses = json_integer_value(json_object_get(json, "losses"));
    record->origin = origin ? read_session(origin, error) : record->session;
    record->losses = losses > 0 && losses <= JOB_MOST_LOSSES ? (uint32_t)losses
                     : losses > 0                            ? JOB_MOST_LOSSES
                                                             : 0;
    record->unsure = json_is_true(json_object_get(json, "unsure"));
    for (size_t i = 0; i < json_array_size(left) && record->n_left < JOB_MOST_LOSSES; i++) {
        struct job_left *one = &record->left[record->n_left++];
        one->session = read_session(json_array_get(left, i), error);
        read_text(json_array_get(left, i), "address", one->address, sizeof one->address, error);
    }
    if (keepers && !(record->keepers = strdup(keepers)) && error->status == ESP_OK)
        error_no_memory(error, "the record of a job");
}

static void read_data(json_t *json, struct job_record *record, struct esp_error *error)
{
    json_t *list = json_object_get(json, "data");
    const size_t n = json_array_size(list);
    struct datum_id id;
    if (n == 0 || n > 2 * PROBLEM_MAX_ARGUMENTS)
        return;
    record->data = calloc(1, sizeof *record->data + n * sizeof *record->data->data);
    for (size_t i = 0; record->data && i < n; i++) {
        json_t *one = json_array_get(list, i);
        const json_int_t position = json_integer_value(json_object_get(one, "position"));
        struct left_datum *datum = &record->data->data[record->data->n++];
        *datum = (struct left_datum){
            .position = position > 0 && position < PROBLEM_MAX_ARGUMENTS ? (uint32_t)position : 0,
            .is_output = json_is_true(json_object_get(one, "output")),
            .own = json_is_true(json_object_get(one, "own"))};
        read_text(one, "argument", datum->argument, sizeof datum->argument, error);
        read_text(one, "id", datum->id, sizeof datum->id, error);
        if (error->status == ESP_OK && datum_id_parse(datum->id, &id, error) != ESP_OK)
            error_prefix(error, "the record of a job");
    }
    if (!record->data && error->status == ESP_OK)
        error_no_memory(error, "the record of a job");
}

enum esp_status job_token_read(const char *token, struct job_record *record, struct esp_error *error)
{
    json_error_t wrong;
    struct esp_error found = {0};
    memset(record, 0, sizeof *record);
    json_t *json = json_loads(token, 0, &wrong);
    if (!json)
        return error_set(error, ESP_SYNTAX, "the record of a job: %s in line %d, column %d", wrong.text,
                         wrong.line, wrong.column);
    json_int_t format = json_integer_value(json_object_get(json, "espalier_job"));
    if (format != FORMAT)
        error_set(&found, ESP_SYNTAX, "the record of a job: expected \"espalier_job\": %d, found %s", FORMAT,
                  json_object_get(json, "espalier_job") ? "another release's" : "none");
    record->session = read_session(json, &found);
    read_text(json, "server", record->server, sizeof record->server, &found);
    read_text(json, "address", record->address, sizeof record->address, &found);
    record->incarnation = number(json, "incarnation", &found);
    record->submitted_s = json_number_value(json_object_get(json, "submitted"));
    read_past(json, record, &found);
    read_data(json, record, &found);
    read_function(json, record, &found);
    if (found.status == ESP_OK)
        read_scalars(json, record, &found);
    json_decref(json);
    if (found.status != ESP_OK)
        job_record_clear(record);
    return found.status == ESP_OK ? ESP_OK : error_set(error, found.status, "%s", found.text);
}
