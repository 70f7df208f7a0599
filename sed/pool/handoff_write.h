/* SPDX-License-Identifier: Apache-2.0
 *
 * Internal to writing a job into a ring: handoff.c finds a place for each value and makes operands of a
 * routine's parameters, handoff_command.c makes words of a command's. */
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

/* Returns the fence's size: a slightly wrong index must not skip from one array into the next value. */
static inline uint32_t handoff_fence_bytes(const struct job *job, int32_t argument)
{
    return argument >= 0 && job->problem->arguments[argument].n_dims > 0 ? RING_ARRAY_FENCE
                                                                         : RING_FENCE_BYTES;
}

/* Gives every argument that the call passes its memory, once. */
enum esp_status handoff_put_argument(struct writer *writer, uint32_t index, struct ring_operand *operand);

/* Like handoff_put_argument(), for one with argument.is_section: puts its elements, and the worker makes
 * the whole array. */
enum esp_status handoff_put_section(struct writer *writer, uint32_t index, struct ring_operand *operand);

/* Checks an array of strings or files (ESP_INVALID), and counts its elements. */
enum esp_status handoff_check_texts(const struct job *job, uint32_t index, uint64_t *n,
                                    struct esp_error *error);

/* Puts a file: in the folder of a command, or of a routine's call. */
enum esp_status handoff_put_file(struct writer *writer, const struct command_file *file);

/* Puts the words and files of a command. */
enum esp_status handoff_put_command(struct writer *writer);

#endif
