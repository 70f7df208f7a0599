/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside handing over a job: handoff.c finds a place for each value and makes operands of a routine's
 * parameters, handoff_command.c makes words of a command's.
 */
#ifndef SED_HANDOFF_WRITE_H
#define SED_HANDOFF_WRITE_H

#include "sed/pool/handoff.h"

/* State of writing one job. */
struct writer {
    struct ring *ring;
    struct handoff *handoff;
    struct esp_error *error;
};

/* Values begin at multiples of 16 bytes. */
static inline uint32_t handoff_round_up(uint64_t bytes)
{
    return (uint32_t)((bytes + 15) & ~UINT64_C(15));
}

/* An index that is wrong by a little must not jump from one array into the next value. */
static inline uint32_t handoff_fence_bytes(const struct job *job, int32_t argument)
{
    return argument >= 0 && job->problem->arguments[argument].n_dims > 0 ? RING_ARRAY_FENCE
                                                                         : RING_FENCE_BYTES;
}

/* Every argument that the call passes gets its memory, once. */
enum esp_status handoff_put_argument(struct writer *writer, uint32_t index, struct ring_operand *operand);

/* The same of one with argument.is_section: it gets its elements, and the worker makes the whole array. */
enum esp_status handoff_put_section(struct writer *writer, uint32_t index, struct ring_operand *operand);

/* Whether an array of strings or files is one (ESP_INVALID), and how many elements it has. */
enum esp_status handoff_check_texts(const struct job *job, uint32_t index, uint64_t *n,
                                    struct esp_error *error);

/* A file: in the folder of a command, or of a call of a routine. */
enum esp_status handoff_put_file(struct writer *writer, const struct command_file *file);

/* The words and files of a command. */
enum esp_status handoff_put_command(struct writer *writer);

#endif
