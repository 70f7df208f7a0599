/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters of a call that ranks make together: each array that is distributed becomes a part.
 */
#include "sed/pool/handoff_write.h"

#include "core/redistribution/pieces.h"

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

/* Ranks take their parts of a datum straight from where it lies, in pieces or in one: what the routine writes
 * over is not filled as a whole first. */
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
        writer->ring->job.areas[part->whole.value].blank = false; /* its parts are */
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

enum esp_status handoff_put_part(struct writer *writer, const struct call_parameter *parameter,
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
