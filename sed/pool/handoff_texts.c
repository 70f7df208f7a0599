/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/handoff_write.h"

#include "core/problem/texts.h"

#include <inttypes.h>

enum esp_status handoff_check_texts(const struct job *job, uint32_t index, uint64_t *n,
                                    struct esp_error *error)
{
    const struct argument *argument = &job->problem->arguments[index];
    const struct job_argument *value = &job->arguments[index];
    const struct scope scope = {.values = job->scope, .n_values = job->problem->n_arguments};
    int64_t size;
    enum esp_status status = expr_eval_size(argument->dims[0], &scope, &size, error);
    *n = (uint64_t)size;
    if (status == ESP_OK && argument_is_input(argument))
        status = texts_check(value->data, value->bytes, *n, argument->type == TYPE_STRING, error);
    if (status != ESP_OK)
        error_prefix(error, "%s: %s", job->problem->name, argument->name);
    return status;
}

/* Of the texts that came, at least 1: Fortran's elements are never empty here. */
static uint64_t longest_text(const struct job *job, uint32_t index, uint64_t n, uint64_t *which)
{
    struct text_item item = {0};
    uint64_t longest = 1;
    *which = 0;
    for (uint64_t i = 0; i < n; i++) {
        texts_next(job->arguments[index].data, i, &item);
        if (item.length > longest) {
            longest = item.length;
            *which = i;
        }
    }
    return longest;
}

/* How many characters Fortran's elements have: what the description says, else those of the longest. */
static enum esp_status set_width(const struct job *job, const struct call_parameter *parameter,
                                 struct ring_texts *texts, struct esp_error *error)
{
    const struct scope scope = {.values = job->scope, .n_values = job->problem->n_arguments};
    const char *name = job->problem->arguments[parameter->argument].name;
    uint64_t which = 0, bytes;
    uint64_t longest = texts->goes_in ? longest_text(job, parameter->argument, texts->n, &which) : 1;
    int64_t width = (int64_t)longest;
    if (parameter->width) {
        enum esp_status status = expr_eval_size(parameter->width, &scope, &width, error);
        if (status != ESP_OK) {
            error_prefix(error, "%s: character(%s)", job->problem->name, name);
            return status;
        }
    }
    if (width < 1)
        return error_set(error, ESP_INVALID,
                         "%s: %s: expected elements of at least 1 character, found %" PRId64,
                         job->problem->name, name, width);
    if (longest > (uint64_t)width)
        return error_set(error, ESP_INVALID,
                         "%s: %s: element %" PRIu64 " has %" PRIu64
                         " bytes, the routine takes at most %" PRId64,
                         job->problem->name, name, which + 1, longest, width);
    if (__builtin_mul_overflow(texts->n, (uint64_t)width, &bytes) || bytes > TEXTS_MOST_BYTES)
        return error_set(error, ESP_LIMIT,
                         "%s: %s: %" PRIu64 " elements of %" PRId64 " characters have more than %d MiB",
                         job->problem->name, name, texts->n, width, TEXTS_MOST_BYTES >> 20);
    texts->width = (uint64_t)width;
    return ESP_OK;
}

enum esp_status handoff_put_texts(struct writer *writer, const struct call_parameter *parameter,
                                  struct ring_operand *operand)
{
    const struct job *job = &writer->handoff->job;
    uint32_t index = parameter->argument;
    const struct argument *argument = &job->problem->arguments[index];
    struct ring_job *to = &writer->ring->job;
    uint32_t i = 0;
    while (i < to->n_texts && to->texts[i].argument != index)
        i++;
    *operand = (struct ring_operand){.value = i, .place = OPERAND_TEXTS};
    if (i < to->n_texts)
        return ESP_OK;
    struct ring_texts *texts = &to->texts[to->n_texts++];
    *texts = (struct ring_texts){.argument = index,
                                 .bytes = job->arguments[index].bytes,
                                 .goes_in = argument_is_input(argument),
                                 .comes_back = argument_is_output(argument)};
    enum esp_status status = handoff_check_texts(job, index, &texts->n, writer->error);
    if (status == ESP_OK && job->implementation->convention == CONVENTION_FORTRAN)
        status = set_width(job, parameter, texts, writer->error);
    return status == ESP_OK && texts->goes_in ? handoff_put_argument(writer, index, &texts->value) : status;
}
