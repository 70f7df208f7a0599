/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/handoff_write.h"

#include <string.h>

/* At the end of its bay: what goes beyond that meets the guard at once. */
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

int32_t handoff_put_value(struct writer *writer, const void *from, uint64_t bytes, int32_t argument)
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
    uint32_t offset = handoff->used + more; /* the fence before it is there already, but for that much */
    ring_fence_write(arena + handoff->used, more);
    if (from)
        memcpy(arena + offset, from, bytes);
    handoff->used = offset + handoff_round_up(bytes) + fence;
    ring_fence_write(arena + offset + bytes, handoff->used - offset - bytes);
    handoff->values[handoff->n_values] = (struct handoff_value){
        .offset = offset, .there = offset, .bytes = (uint32_t)bytes, .argument = argument, .bay = -1};
    return (int32_t)handoff->n_values++;
}

uint32_t handoff_put_descriptor(struct writer *writer, int fd)
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

/* A datum in pieces is put together in memory of the worker's own, or where the routine writes over it. */
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

/* Strings go with the final 0 that C wants, whether or not the caller counted it. */
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

enum esp_status handoff_section(const struct job *job, uint32_t index, struct section *section,
                                struct esp_error *error)
{
    int64_t dims[PROBLEM_MAX_DIMS];
    enum esp_status status = dims_of(job, index, dims, error);
    return status == ESP_OK ? problem_section(job->problem, index, job->scope, dims, section, error) : status;
}

enum esp_status handoff_columns(const struct job *job, uint32_t index, struct section *section,
                                struct esp_error *error)
{
    int64_t dims[PROBLEM_MAX_DIMS] = {0};
    enum esp_status status = dims_of(job, index, dims, error);
    section_of_columns(&job->problem->arguments[index], dims, section);
    return status;
}

/* The worker makes the whole array from the elements that came. */
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

enum esp_status handoff_put_columns(struct writer *writer, uint32_t index, struct ring_operand *operand)
{
    struct section section;
    enum esp_status status = handoff_columns(&writer->handoff->job, index, &section, writer->error);
    if (status != ESP_OK)
        return status;
    return section.dims[0] == section.count[0] ? handoff_put_argument(writer, index, operand)
                                               : put_whole(writer, index, &section, operand);
}
