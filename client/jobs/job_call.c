/* SPDX-License-Identifier: Apache-2.0
 *
 * What a job was called with, in the user's list beside its record: a line of JSON, padded with blanks to a
 * multiple of ALIGNMENT bytes, then each value that was sent, as it travels, padded likewise. 64-bit numbers
 * are hexadecimal, because JSON's are doubles.
 */
#include "client/jobs/job_call.h"
#include "client/arguments/contents.h"
#include "client/arguments/invocation_bind.h"
#include "util/clock.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT      1
#define ALIGNMENT   64 /* that of any type, and of a cache line */
#define MOST_HEADER (16 << 20)

void job_call_clear(struct job_call *call)
{
    invocation_release(&call->invocation);
    json_decref(call->texts);
    free(call->properties);
    memset(call, 0, sizeof *call);
}

static json_t *hex64(uint64_t number)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, number);
    return json_string(text);
}

static uint64_t padding(uint64_t bytes)
{
    return (ALIGNMENT - bytes % ALIGNMENT) % ALIGNMENT;
}

/* ---- whether ---- */

static uint64_t bytes_of(const struct invocation *invocation)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < invocation->n_values; i++)
        bytes += invocation->values[i].in ? invocation->values[i].bytes : 0;
    return bytes;
}

bool job_call_is_wanted(const struct session *session, uint64_t most_bytes)
{
    const struct problem *problem = session->invocation.function->problem;
    return problem->idempotent && !session->bound && !session->wishes.server &&
           problem_state_index(problem) < 0 && most_bytes > 0 && bytes_of(&session->invocation) <= most_bytes;
}

/* ---- writing ---- */

static json_t *value_json(const struct invocation *invocation, const struct value *value)
{
    json_t *json =
        json_pack("{s:s, s:o, s:b}", "name", invocation->function->problem->arguments[value->index].name,
                  "bytes", hex64(value->bytes), "sent", value->in != NULL);
    /* Where the value itself is sent again, a copy of it elsewhere need not live so long. */
    if (value->datum && !value->in) { /* its identity, and who has it now */
        json_object_set_new(json, "datum", json_stringn(value->datum, strcspn(value->datum, " ")));
        json_object_set_new(json, "holder", json_string(value->holder));
    }
    if (value->is_kept) {
        json_object_set_new(json, "kept", json_integer(value->kept_mode));
        json_object_set_new(json, "flags", json_integer(value->kept_flags));
    }
    return json;
}

static json_t *wishes_json(const struct wishes *wishes)
{
    json_t *properties = json_array();
    for (size_t i = 0; i < wishes->n_properties; i++)
        json_array_append_new(properties, json_string(wishes->properties[i]));
    return json_pack("{s:o, s:f, s:o}", "properties", properties, "finish", wishes->finish_s, "memory",
                     hex64(wishes->memory_bytes));
}

static char *header_text(const struct session *session)
{
    const struct invocation *invocation = &session->invocation;
    const bool limited = session->deadline_ns != CLOCK_NEVER;
    const double deadline_s =
        limited ? (double)(session->deadline_ns - session->started_ns) / (double)NS_PER_S : 0;
    json_t *values = json_array();
    for (uint32_t i = 0; i < invocation->n_values; i++)
        json_array_append_new(values, value_json(invocation, &invocation->values[i]));
    json_t *json = json_pack("{s:i, s:f, s:o, s:f, s:o, s:o}", "espalier_job_call", FORMAT, "work",
                             invocation->work_flop, "memory", hex64(invocation->memory_bytes), "deadline",
                             deadline_s, "wishes", wishes_json(&session->wishes), "values", values);
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(json);
    return text;
}

static bool put(FILE *file, const void *data, uint64_t bytes, char filling)
{
    char blanks[ALIGNMENT];
    memset(blanks, filling, sizeof blanks);
    return (bytes == 0 || fwrite(data, 1, (size_t)bytes, file) == bytes) &&
           fwrite(blanks, 1, (size_t)padding(bytes), file) == padding(bytes);
}

static bool put_all(FILE *file, const char *header, const struct invocation *invocation)
{
    const size_t length = strlen(header);
    bool good = fwrite(header, 1, length, file) == length;
    for (uint64_t i = padding(length + 1); good && i > 0; i--)
        good = putc(' ', file) != EOF;
    good = good && putc('\n', file) != EOF;
    for (uint32_t i = 0; good && i < invocation->n_values; i++)
        if (invocation->values[i].in)
            good = put(file, invocation->values[i].in, invocation->values[i].bytes, 0);
    return good;
}

/* Not synced: a machine that stops loses that the job can be called again, and a file that is too short is
 * noticed by its length. */
enum esp_status job_call_write(const char *path, const struct session *session, struct esp_error *error)
{
    char *header = header_text(session);
    if (!header)
        return error_no_memory(error, "the arguments of a job");
    char *fresh = NULL;
    const int fd = asprintf(&fresh, "%s.XXXXXX", path) < 0 ? -1 : mkstemp(fresh); /* 0600 */
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    bool good = file && put_all(file, header, &session->invocation);
    good = (!file || fclose(file) == 0) && good && rename(fresh, path) == 0;
    enum esp_status status =
        good ? ESP_OK
             : error_errno(error, "cannot keep the arguments of the job in %s (job_arguments = 0 keeps none)",
                           path);
    if (!good && fd >= 0)
        unlink(fresh);
    if (!file && fd >= 0)
        close(fd);
    free(fresh);
    free(header);
    return status;
}

/* ---- reading ---- */

static enum esp_status damaged(const char *path, const char *what, struct esp_error *error)
{
    return error_set(error, ESP_SYNTAX, "%s: expected the arguments of a job, found %s", path, what);
}

static bool read_hex(const json_t *json, const char *name, uint64_t *number)
{
    const char *text = json_string_value(json_object_get(json, name));
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return false;
    *number = strtoull(text, NULL, 16);
    return true;
}

/* The bytes of what was sent lie at *at in the contents. */
static bool read_value(const json_t *json, const struct problem *problem, struct value *value,
                       const char *contents, uint64_t n_contents, uint64_t *at)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *datum = json_string_value(json_object_get(json, "datum"));
    const char *holder = json_string_value(json_object_get(json, "holder"));
    const json_t *kept = json_object_get(json, "kept");
    if (!name || strcmp(name, problem->arguments[value->index].name) != 0 ||
        !read_hex(json, "bytes", &value->bytes) || (holder && strlen(holder) > CAP_NAME))
        return false;
    value->is_kept = kept != NULL;
    value->kept_mode = (uint32_t)json_integer_value(kept);
    value->kept_flags = (uint32_t)json_integer_value(json_object_get(json, "flags"));
    if (holder)
        strcpy(value->holder, holder);
    if (datum && !(value->datum = strdup(datum)))
        return false;
    if (!json_is_true(json_object_get(json, "sent")))
        return true;
    if (value->bytes > n_contents || n_contents - value->bytes < *at ||
        *at + value->bytes + padding(value->bytes) > n_contents)
        return false;
    value->in = contents + *at;
    *at += value->bytes + padding(value->bytes);
    return true;
}

static bool read_wishes(const json_t *json, struct job_call *call)
{
    struct esp_call_options *options = &call->options;
    const json_t *properties = json_object_get(json, "properties");
    const size_t n = json_array_size(properties);
    options->finish_s = json_number_value(json_object_get(json, "finish"));
    call->properties = calloc(n + 1, sizeof *call->properties);
    if (!call->properties || !read_hex(json, "memory", &options->memory_bytes))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!(call->properties[i] = json_string_value(json_array_get(properties, i))))
            return false;
    options->properties = call->properties;
    options->n_properties = n;
    return true;
}

/* All that the line says; the contents go to the first value, which frees them. */
static bool read_all(struct job_call *call, char *contents, uint64_t n_contents, uint64_t at)
{
    struct invocation *invocation = &call->invocation;
    const json_t *values = json_object_get(call->texts, "values");
    bool good = json_array_size(values) == invocation->n_values;
    for (uint32_t i = 0; good && i < invocation->n_values; i++)
        good = read_value(json_array_get(values, i), invocation->function->problem, &invocation->values[i],
                          contents, n_contents, &at);
    invocation->work_flop = json_number_value(json_object_get(call->texts, "work"));
    call->options.deadline_s = json_number_value(json_object_get(call->texts, "deadline"));
    return good && at == n_contents && read_hex(call->texts, "memory", &invocation->memory_bytes) &&
           read_wishes(json_object_get(call->texts, "wishes"), call);
}

enum esp_status job_call_read(const char *path, struct function *function, struct job_call *call,
                              struct esp_error *error)
{
    void *contents = NULL;
    uint64_t bytes = 0;
    memset(call, 0, sizeof *call);
    enum esp_status status = contents_load(path, &contents, &bytes, error);
    if (status != ESP_OK)
        return status;
    const char *end = memchr(contents, '\n', bytes < MOST_HEADER ? (size_t)bytes : MOST_HEADER);
    const uint64_t at = end ? (uint64_t)(end - (const char *)contents) + 1 : 0;
    call->texts = end ? json_loadb(contents, (size_t)at, 0, NULL) : NULL;
    if (json_integer_value(json_object_get(call->texts, "espalier_job_call")) != FORMAT)
        status = damaged(path, call->texts ? "those of another release" : "something else", error);
    if (status == ESP_OK)
        status = invocation_begin(&call->invocation, function, error);
    if (status == ESP_OK && call->invocation.n_values > 0) {
        call->invocation.values[0].loaded = contents;
        contents = NULL;
    }
    if (status == ESP_OK &&
        !read_all(call, call->invocation.n_values > 0 ? call->invocation.values[0].loaded : contents, bytes,
                  at))
        status = damaged(path, "less than its first line says, or others", error);
    free(contents);
    if (status != ESP_OK)
        job_call_clear(call);
    return status;
}
