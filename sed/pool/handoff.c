/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/problem_solves.h"
#include "core/problem/texts.h"
#include "core/redistribution/pieces.h"
#include "sed/pool/handoff_judge.h"
#include "sed/pool/handoff_write.h"
#include "util/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Puts the value at the end of its bay, so that an access beyond it fails at once. */
static int32_t put_in_bay(struct writer *writer, const void *from, uint32_t bytes, int32_t argument)
{
    struct handoff *handoff = writer->handoff;
    uint32_t bay = (uint32_t)handoff->argument_bays[argument];
    uint32_t begin = RING_ARENA_BYTES + bay_offset(bay), end = begin + bay_bytes(bay);
    uint32_t offset = end - handoff_round_up(bytes);
    ring_fence_write(ring_room(writer->ring, begin), offset - begin);
    if (from)
        memcpy(ring_room(writer->ring, offset), from, bytes);
    ring_fence_write(ring_room(writer->ring, offset + bytes), end - offset - bytes);
    writer->ring->job.bay_arguments[bay] = (uint32_t)argument;
    handoff->values[handoff->n_values] =
        (struct handoff_value){.offset = offset,
                               .there = ring_bay_there(bay) + (offset - begin),
                               .bytes = bytes,
                               .argument = argument,
                               .bay = (int32_t)bay};
    return (int32_t)handoff->n_values++;
}

/* Puts a value of `bytes` into the arena, with a fence after it (and before: that of the last one). `from`
 * may be NULL. Returns its index among the values, or -1 when the arena is full. */
static int32_t handoff_put_value(struct writer *writer, const void *from, uint64_t bytes, int32_t argument)
{
    struct handoff *handoff = writer->handoff;
    if (argument >= 0 && handoff->argument_bays[argument] >= 0)
        return put_in_bay(writer, from, (uint32_t)bytes, argument);
    uint32_t fence = handoff_fence_bytes(&handoff->job, argument), more = fence - RING_FENCE_BYTES;
    if (bytes > RING_ARENA_BYTES || handoff->n_values >= HANDOFF_MAX_VALUES ||
        handoff->used + more + handoff_round_up(bytes) + fence > RING_ARENA_BYTES) {
        error_set(writer->error, ESP_LIMIT,
                  "problem %s: the small arguments take more than the %d bytes that "
                  "go to a worker beside the segment",
                  handoff->job.problem->name, WORKERS_INLINE_BYTES);
        return -1;
    }
    unsigned char *arena = writer->ring->arena;
    uint32_t offset = handoff->used + more; /* the fence before it exists already, except for that much */
    ring_fence_write(arena + handoff->used, more);
    if (from)
        memcpy(arena + offset, from, bytes);
    handoff->used = offset + handoff_round_up(bytes) + fence;
    ring_fence_write(arena + offset + bytes, handoff->used - offset - bytes);
    handoff->values[handoff->n_values] = (struct handoff_value){
        .offset = offset, .there = offset, .bytes = (uint32_t)bytes, .argument = argument, .bay = -1};
    return (int32_t)handoff->n_values++;
}

/* Returns the index of that descriptor among those sent with the job. */
static uint32_t handoff_put_descriptor(struct writer *writer, int fd)
{
    struct handoff *handoff = writer->handoff;
    uint32_t i = 0;
    while (i < handoff->n_descriptors && handoff->descriptors[i] != fd)
        i++;
    if (i == handoff->n_descriptors)
        handoff->descriptors[handoff->n_descriptors++] = fd;
    writer->ring->job.n_descriptors = handoff->n_descriptors;
    return i;
}

/* A datum in pieces is assembled in the worker's own memory, or where the routine overwrites it. */
static void put_source(struct writer *writer, uint32_t index, const struct job_file *source,
                       struct ring_area *area)
{
    area->source = handoff_put_descriptor(writer, source->fd);
    area->source_offset = source->offset;
    area->source_in_pieces = source->in_pieces;
    area->source_layout = source->layout;
    area->element_bytes = (uint32_t)base_type_size(writer->handoff->job.problem->arguments[index].type);
}

static enum esp_status put_joined(struct writer *writer, uint32_t index, const struct job_argument *argument)
{
    struct ring_job *to = &writer->ring->job;
    struct ring_area *area = &to->areas[to->n_areas++];
    *area = (struct ring_area){
        .bytes = argument->bytes, .argument = index, .writable = true, .file = RING_NO_SOURCE};
    put_source(writer, index, argument->file, area);
    return ESP_OK;
}

static enum esp_status put_area(struct writer *writer, uint32_t index, const struct job_argument *argument)
{
    const struct job *job = &writer->handoff->job;
    if (argument->file && argument->file->in_pieces && !argument->writable)
        return put_joined(writer, index, argument);
    const struct job_file segment = {
        .fd = job->segment_fd, .offset = argument->offset, .bytes = job->segment_bytes - argument->offset};
    const struct job_file *file = argument->file ? argument->file : &segment;
    const struct job_file *source = argument->source;
    if (file->fd < 0 || (!argument->file && argument->offset > job->segment_bytes) ||
        argument->bytes > file->bytes || (source && source->bytes != argument->bytes))
        return error_set(writer->error, ESP_INTERNAL, "problem %s: argument '%s' lies outside its segment",
                         job->problem->name, job->problem->arguments[index].name);
    struct ring_job *to = &writer->ring->job;
    struct ring_area *area = &to->areas[to->n_areas++];
    *area = (struct ring_area){.offset = file->offset,
                               .bytes = argument->bytes,
                               .argument = index,
                               .writable = argument->writable,
                               .file = handoff_put_descriptor(writer, file->fd),
                               .lazy = file->lazy,
                               .blank = argument->blank,
                               .source = RING_NO_SOURCE};
    if (source)
        put_source(writer, index, source, area);
    return ESP_OK;
}

/* Strings are passed with C's final 0, whether or not the caller counted it. */
static int32_t put_string(struct writer *writer, uint32_t index, const struct job_argument *argument)
{
    int32_t value = handoff_put_value(writer, argument->data, argument->bytes + 1, (int32_t)index);
    if (value >= 0)
        writer->ring->arena[writer->handoff->values[value].offset + argument->bytes] = 0;
    return value;
}

enum esp_status handoff_put_argument(struct writer *writer, uint32_t index, struct ring_operand *operand)
{
    struct handoff *handoff = writer->handoff;
    const struct job_argument *argument = &handoff->job.arguments[index];
    bool string = handoff->job.problem->arguments[index].type == TYPE_STRING &&
                  handoff->job.problem->arguments[index].n_dims == 0;
    if (argument->in_segment && argument->bytes > 0 && !string) {
        for (uint32_t i = 0; i < writer->ring->job.n_areas; i++)
            if (writer->ring->job.areas[i].argument == index) {
                *operand = (struct ring_operand){.value = i, .place = OPERAND_AREA};
                return ESP_OK;
            }
        *operand = (struct ring_operand){.value = writer->ring->job.n_areas, .place = OPERAND_AREA};
        return put_area(writer, index, argument);
    }
    int32_t *value = &handoff->argument_values[index];
    if (*value < 0)
        *value = string ? put_string(writer, index, argument)
                        : handoff_put_value(writer, argument->data, argument->bytes, (int32_t)index);
    if (*value < 0)
        return ESP_LIMIT;
    *operand = (struct ring_operand){.value = handoff->values[*value].there, .place = OPERAND_ARENA};
    return ESP_OK;
}

static enum esp_status dims_of(const struct job *job, uint32_t index, int64_t *dims, struct esp_error *error)
{
    const struct argument *argument = &job->problem->arguments[index];
    const struct scope scope = {.values = job->scope, .n_values = job->problem->n_arguments};
    enum esp_status status = ESP_OK;
    for (uint32_t d = 0; d < argument->n_dims && status == ESP_OK; d++)
        status = expr_eval_size(argument->dims[d], &scope, &dims[d], error);
    return status;
}

/* Computes which elements of its array such an argument has. */
static enum esp_status handoff_section(const struct job *job, uint32_t index, struct section *section,
                                       struct esp_error *error)
{
    int64_t dims[PROBLEM_MAX_DIMS];
    enum esp_status status = dims_of(job, index, dims, error);
    return status == ESP_OK ? problem_section(job->problem, index, job->scope, dims, section, error) : status;
}

/* For a matrix with leading(): computes the distance of its columns, and its memory. */
static enum esp_status handoff_columns(const struct job *job, uint32_t index, struct section *section,
                                       struct esp_error *error)
{
    int64_t dims[PROBLEM_MAX_DIMS] = {0};
    enum esp_status status = dims_of(job, index, dims, error);
    section_of_columns(&job->problem->arguments[index], dims, section);
    return status;
}

/* The worker makes the whole array from the received elements. */
static enum esp_status put_whole(struct writer *writer, uint32_t index, const struct section *which,
                                 struct ring_operand *operand)
{
    const struct argument *argument = &writer->handoff->job.problem->arguments[index];
    struct ring_job *to = &writer->ring->job;
    uint32_t i = 0;
    while (i < to->n_sections && to->sections[i].argument != index)
        i++;
    *operand = (struct ring_operand){.value = i, .place = OPERAND_SECTION};
    if (i < to->n_sections)
        return ESP_OK;
    struct ring_section *section = &to->sections[to->n_sections++];
    section->argument = index;
    section->goes_in = argument_is_input(argument);
    section->comes_back = argument_is_output(argument);
    section->section = *which;
    return handoff_put_argument(writer, index, &section->elements);
}

enum esp_status handoff_put_section(struct writer *writer, uint32_t index, struct ring_operand *operand)
{
    struct section section;
    enum esp_status status = handoff_section(&writer->handoff->job, index, &section, writer->error);
    return status == ESP_OK ? put_whole(writer, index, &section, operand) : status;
}

static enum esp_status handoff_put_columns(struct writer *writer, uint32_t index,
                                           struct ring_operand *operand)
{
    struct section section;
    enum esp_status status = handoff_columns(&writer->handoff->job, index, &section, writer->error);
    if (status != ESP_OK)
        return status;
    return section.dims[0] == section.count[0] ? handoff_put_argument(writer, index, operand)
                                               : put_whole(writer, index, &section, operand);
}

/* The parameters of a call that ranks compute together: each distributed array becomes a part. */

static void refer(struct writer *writer, const struct job_file *file,
                  const struct block_cyclic_matrix *layout, struct ring_pieces *pieces)
{
    *pieces = (struct ring_pieces){.there = 1,
                                   .file = handoff_put_descriptor(writer, file->fd),
                                   .offset = file->offset,
                                   .layout = *layout,
                                   .laid = file->laid,
                                   .before = file->before};
}

/* Ranks take their parts of a datum directly from its memory, in pieces or in one: an array that the
 * routine overwrites is not assembled first. */
static void put_pieces(struct writer *writer, uint32_t index, struct ring_part *part)
{
    const struct job_argument *argument = &writer->handoff->job.arguments[index];
    const struct job_file *input = argument->writable ? argument->source : argument->file;
    const struct block_cyclic_matrix whole = pieces_whole(part->layout.rows.n, part->layout.cols.n);
    if (part->goes_in && input && input->fd >= 0)
        refer(writer, input, input->in_pieces ? &input->layout : &whole, &part->from);
    if (part->comes_back && argument->writable && argument->file && argument->file->in_pieces)
        refer(writer, argument->file, &part->layout, &part->to);
}

static enum esp_status new_part(struct writer *writer, uint32_t index, struct ring_part *part)
{
    const struct job *job = &writer->handoff->job;
    const struct argument *argument = &job->problem->arguments[index];
    const struct spread *spread = &job->implementation->spreads[index];
    *part = (struct ring_part){.argument = index,
                               .element_bytes = (uint32_t)base_type_size(argument->type),
                               .goes_in = argument_is_input(argument) && !job->arguments[index].blank,
                               .blank = job->arguments[index].blank,
                               .comes_back = argument_is_output(argument),
                               .into = spread->into,
                               .vector = spread->kind != SPREAD_BLOCKS};
    enum esp_status status = spread_layout(job->problem, job->implementation, index, job->scope, job->grid,
                                           &part->layout, writer->error);
    if (status == ESP_OK)
        put_pieces(writer, index, part);
    bool whole = argument->mode != MODE_WORK &&
                 ((part->goes_in && !part->from.there) || (part->comes_back && !part->to.there));
    if (status == ESP_OK && whole)
        status = handoff_put_argument(writer, index, &part->whole);
    if (status == ESP_OK && whole && part->from.there && part->whole.place == OPERAND_AREA)
        writer->ring->job.areas[part->whole.value].source = RING_NO_SOURCE;
    if (status == ESP_OK && whole && part->whole.place == OPERAND_AREA)
        writer->ring->job.areas[part->whole.value].blank = false; /* the parts are zeroed instead */
    return status;
}

static enum esp_status put_part(struct writer *writer, uint32_t index, enum operand_place place,
                                struct ring_operand *operand)
{
    struct ring_job *to = &writer->ring->job;
    uint32_t i = 0;
    while (i < to->n_parts && to->parts[i].argument != index)
        i++;
    *operand = (struct ring_operand){.value = i, .place = place};
    if (i < to->n_parts)
        return ESP_OK;
    enum esp_status status = new_part(writer, index, &to->parts[i]);
    to->n_parts += status == ESP_OK;
    return status;
}

/* Makes a parameter of a parallel implementation for a rank; *found false: it is an ordinary parameter. */
static enum esp_status handoff_put_part(struct writer *writer, const struct call_parameter *parameter,
                                        struct ring_operand *operand, bool *found)
{
    const struct implementation *implementation = writer->handoff->job.implementation;
    *found = true;
    switch (parameter->kind) {
    case PARAMETER_DESCRIPTOR:
        return put_part(writer, parameter->argument, OPERAND_DESCRIPTOR, operand);
    case PARAMETER_INTO:
        return put_part(writer, parameter->argument, OPERAND_INTO, operand);
    case PARAMETER_COMMUNICATOR:
        *operand = (struct ring_operand){.place = OPERAND_COMMUNICATOR,
                                         .value = implementation->convention == CONVENTION_FORTRAN};
        return ESP_OK;
    case PARAMETER_CONTEXT:
        *operand = (struct ring_operand){.place = OPERAND_CONTEXT};
        return ESP_OK;
    case PARAMETER_ARGUMENT:
        if (implementation->spreads[parameter->argument].kind >= SPREAD_BLOCKS)
            return put_part(writer, parameter->argument, OPERAND_PART, operand);
        break;
    default:
        break;
    }
    *found = false;
    return ESP_OK;
}

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

/* Returns the longest text's length, at least 1, because Fortran's elements are never empty here. */
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

/* Sets the characters of Fortran's elements: according to the description, else those of the longest text. */
static enum esp_status set_width(const struct job *job, const struct call_parameter *parameter,
                                 struct ring_texts *texts, struct esp_error *error)
{
    const struct scope scope = {.values = job->scope, .n_values = job->problem->n_arguments};
    const char *name = job->problem->arguments[parameter->argument].name;
    char most[BYTES_TEXT];
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
                         "%s: %s: %" PRIu64 " elements of %" PRId64 " characters have more than %s",
                         job->problem->name, name, texts->n, width, bytes_text(TEXTS_MOST_BYTES, most));
    texts->width = (uint64_t)width;
    return ESP_OK;
}

/* Prepares an array of strings for the routine's convention: the worker makes it from the packed texts. */
static enum esp_status handoff_put_texts(struct writer *writer, const struct call_parameter *parameter,
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

/* Returns the parameter that passes the size of the queried array; the parser has checked that it exists. */
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

/* Puts a number that the call passes. */
static enum esp_status put_number(struct writer *writer, const void *raw, enum base_type type,
                                  struct ring_operand *operand)
{
    int32_t value = handoff_put_value(writer, raw, base_type_size(type), -1);
    if (value < 0)
        return ESP_LIMIT;
    *operand = (struct ring_operand){.value = writer->handoff->values[value].there, .place = OPERAND_ARENA};
    return ESP_OK;
}

/* An error in the description, because the arguments were checked before. */
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

/* leading(A), at least 1 as LAPACK requires. */
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

/* C passes the value of a state, unless the routine creates or destroys it; Fortran always passes its
 * address. */
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

/* The routine gets the path of the file, which the worker creates. */
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

/* Puts what the routine gets for an argument. */
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

/* Makes room for a result that the routine returns through a parameter that is no argument. */
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

/* Returns Fortran's hidden length of a CHARACTER parameter: for an array with more than one dimension,
 * that of one element (character*8 names(n)), else of all of it (character*(n) name). */
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

/* Puts all parameters of the routine, then Fortran's hidden lengths, and the place of its result. */
static enum esp_status handoff_put_parameters(struct writer *writer)
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

/* Finds the parameter that passes that argument itself. */
static bool passing(const struct implementation *implementation, uint32_t argument, uint32_t *parameter)
{
    for (*parameter = 0; *parameter < implementation->n_parameters; ++*parameter)
        if (implementation->parameters[*parameter].kind == PARAMETER_ARGUMENT &&
            implementation->parameters[*parameter].argument == argument)
            return true;
    return false;
}

/* Finds the part into which a parallel call distributes an array. */
static bool distributed(const struct ring_job *job, uint32_t argument, uint32_t *part)
{
    for (*part = 0; *part < job->n_parts; ++*part)
        if (job->parts[*part].argument == argument)
            return true;
    return false;
}

/* Finds where a worker, or ranks, have the array. */
static bool reaching(const struct writer *writer, uint32_t argument, uint32_t *place)
{
    const struct implementation *implementation = writer->handoff->job.implementation;
    return implementation_is_parallel(implementation) ? distributed(&writer->ring->job, argument, place)
                                                      : passing(implementation, argument, place);
}

/* Describes the problem's equation, if the call solves one that the worker or the ranks can check. Padded
 * columns are in the server's memory. */
static void handoff_put_system(struct writer *writer)
{
    const struct job *job = &writer->handoff->job;
    const struct problem *problem = job->problem;
    const struct implementation *implementation = job->implementation;
    const struct solves *solves = problem->solves;
    struct ring_system *system = &writer->ring->job.system;
    if (!solves || !solves_shape(problem, job->scope, &system->shape))
        return;
    const struct argument *matrix = &problem->arguments[solves->matrix];
    if (implementation_is_parallel(implementation) && matrix->storage != STORAGE_FULL)
        return;
    const uint32_t arrays[] = {solves->matrix, solves->rhs, solves->solution};
    for (unsigned i = 0; i < 3; i++)
        if (problem->arguments[arrays[i]].type != matrix->type ||
            implementation_leads(implementation, arrays[i]) ||
            (problem->arguments[arrays[i]].properties & PROPERTY_ROW_MAJOR))
            return;
    if (!reaching(writer, solves->matrix, &system->matrix) || !reaching(writer, solves->rhs, &system->rhs) ||
        !reaching(writer, solves->solution, &system->solution))
        return;
    system->times = SOLVES_NOTHING;
    if (solves->times != SOLVES_NOTHING && !passing(implementation, solves->times, &system->times))
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

/* Lists the arrays of a solver whose solution is not checked. None, if a worker lacks the whole of one of
 * them, or one is not distributed over the ranks. */
static void handoff_put_results(struct writer *writer)
{
    const struct job *job = &writer->handoff->job;
    const struct problem *problem = job->problem;
    struct ring_job *to = &writer->ring->job;
    if (to->system.wanted || !problem_is_solver(problem))
        return;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        struct ring_result *result = &to->results[to->n_results];
        if (argument->type < TYPE_FLOAT || argument->type > TYPE_DOUBLE_COMPLEX || argument->n_dims == 0)
            continue;
        *result = (struct ring_result){.argument = i,
                                       .type = (uint8_t)argument->type,
                                       .goes_in = argument_is_input(argument),
                                       .comes_back = argument_is_output(argument)};
        if (!result->goes_in && !result->comes_back)
            continue;
        if (argument->is_section || implementation_leads(job->implementation, i) ||
            !reaching(writer, i, &result->parameter)) {
            to->n_results = 0;
            return;
        }
        result->count = job->arguments[i].bytes / base_type_size(argument->type);
        to->n_results++;
    }
}

static enum esp_status handoff_put_result(struct writer *writer)
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

/* Not for commands, which take values as files, nor for ranks, which use their own copy of the arena. */
static bool has_bays(const struct job *job)
{
    return !job->implementation->command && !implementation_is_parallel(job->implementation);
}

/* Returns the most bytes of the arena that a call's values take, including fences, when each array with a
 * bay uses it. *arrays: some have none. */
static uint64_t arena_need(const struct job *job, struct handoff *handoff, bool *arrays)
{
    uint64_t bays = 0;
    const struct implementation *implementation = job->implementation;
    uint64_t bytes = RING_FENCE_BYTES + (implementation->returns ? 16 + RING_FENCE_BYTES : 0);
    *arrays = false;
    for (uint32_t i = 0; i < job->problem->n_arguments; i++) {
        const struct argument *argument = &job->problem->arguments[i];
        if (argument_is_queried(argument) || argument->type == TYPE_STATE ||
            (job->arguments[i].in_segment && job->arguments[i].bytes > 0 && argument->type != TYPE_STRING))
            continue;
        if (argument->n_dims > 0 && job->arguments[i].bytes > 0 && has_bays(job))
            handoff->argument_bays[i] = (int8_t)bay_take(&bays, job->arguments[i].bytes);
        if (handoff->argument_bays[i] >= 0)
            continue;
        if (job->arguments[i].bytes >= RING_ARENA_BYTES)
            return RING_ARENA_BYTES;
        *arrays |= argument->n_dims > 0;
        bytes += handoff_round_up(job->arguments[i].bytes + 1) + 2 * handoff_fence_bytes(job, (int32_t)i) -
                 RING_FENCE_BYTES;
    }
    for (uint32_t i = 0; i < implementation->n_parameters; i++)
        if (implementation->parameters[i].kind != PARAMETER_ARGUMENT)
            bytes += 16 + RING_FENCE_BYTES;
    return bytes;
}

/* A routine's values lie at the end of the arena: writes beyond them meet fences and then the guard. */
static void begin_arena(struct ring *ring, const struct job *job, struct handoff *handoff)
{
    bool arrays = false;
    memset(handoff->argument_bays, -1, job->problem->n_arguments * sizeof *handoff->argument_bays);
    uint64_t need = job->implementation->command ? RING_ARENA_BYTES : arena_need(job, handoff, &arrays);
    uint32_t first = need < RING_ARENA_BYTES ? (uint32_t)(RING_ARENA_BYTES - need) & ~15u : 0;
    uint32_t fence = !arrays ? 0 : first < RING_FRONT_FENCE ? first : RING_FRONT_FENCE;
    handoff->front = first - fence;
    handoff->used = first + RING_FENCE_BYTES;
    ring_fence_write(ring->arena + handoff->front, handoff->used - handoff->front);
}

/* Lets the worker say whose guard was hit. */
static void tell_bays(struct ring *ring, const struct handoff *handoff)
{
    ring->job.bays = 0;
    for (uint32_t i = 0; i < handoff->n_values; i++)
        if (handoff->values[i].bay >= 0)
            ring->job.bays |= UINT64_C(1) << handoff->values[i].bay;
}

static void end_arena(struct ring *ring, struct handoff *handoff)
{
    handoff->end = RING_ARENA_BYTES;
    ring_fence_write(ring->arena + handoff->used, handoff->end - handoff->used);
}

static enum esp_status write_job(struct ring *ring, const struct job *job, struct handoff *handoff,
                                 struct esp_error *error)
{
    struct writer writer = {.ring = ring, .handoff = handoff, .error = error};
    enum esp_status status = ESP_OK;
    if (!job->implementation->command)
        status = signature_build(job->problem, job->implementation, &ring->job.signature, error);
    if (status != ESP_OK)
        return status;
    handoff->job = *job;
    handoff->has_state = problem_state_index(job->problem) >= 0;
    handoff->n_values = 0;
    handoff->has_texts = false;
    ring->answer.n_outputs = 0;
    begin_arena(ring, job, handoff);
    for (uint32_t i = 0; i < job->problem->n_arguments; i++)
        handoff->argument_values[i] = -1;
    atomic_store_explicit(&ring->progress, -1, memory_order_relaxed);
    ring->job.n_descriptors = handoff->n_descriptors = 0;
    ring->job.timed = job->timed;
    ring->job.n_areas = 0;
    ring->job.n_queries = ring->job.n_callbacks = 0;
    ring->job.system.wanted = 0;
    ring->job.n_results = 0;
    ring->answer.verdict = (struct ring_verdict){0};
    ring->job.n_sections = 0;
    ring->job.n_texts = 0;
    ring->job.n_parts = 0;
    ring->job.n_files = 0;
    ring->job.fortran_files = job->implementation->convention == CONVENTION_FORTRAN;
    ring->job.output_bytes = job->implementation->output_bytes;
    ring->job.grid = job->grid;
    snprintf(ring->job.checkpoint, sizeof ring->job.checkpoint, "%s", job->checkpoint ? job->checkpoint : "");
    ring->job.checkpoint_number = job->checkpoint_number;
    atomic_store_explicit(&ring->saved, job->checkpoint_number, memory_order_relaxed);
    atomic_store_explicit(&ring->question.asked, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->question.answered, 0, memory_order_relaxed);
    ring->job.segment_bytes = job->segment_bytes;
    ring->job.command.n_words = 0;
    if (job->implementation->command) {
        handoff->result_value = -1;
        status = handoff_put_command(&writer);
    } else {
        status = handoff_put_parameters(&writer);
        if (status == ESP_OK)
            status = handoff_put_result(&writer);
        handoff_put_system(&writer);
        handoff_put_results(&writer);
        handoff->has_texts = ring->job.n_texts > 0 || ring->job.n_files > 0;
        if (status == ESP_OK)
            end_arena(ring, handoff);
        tell_bays(ring, handoff);
        ring->job.front = handoff->front;
        ring->job.end = handoff->end;
    }
    ring->answer.kind = ANSWER_NONE;
    return status;
}

enum esp_status handoff_write(struct ring *ring, const struct job *job, struct handoff *handoff,
                              struct esp_error *error)
{
    enum esp_status status = write_job(ring, job, handoff, error);
    /* ESP_LIMIT of a start means that a worker will be free later, so a call that never fits must return
     * another status: otherwise it would be retried for ever and block the queue. */
    return status == ESP_LIMIT ? (error->status = ESP_INVALID) : status;
}
