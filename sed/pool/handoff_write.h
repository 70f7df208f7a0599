/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside handing over a job: values find their place (handoff_place.c), parameters of routines become
 * operands (handoff_parameters.c, handoff_texts.c, handoff_parallel.c), commands words (handoff_command.c).
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

/* Puts a value of `bytes` into the arena, with a fence behind (and before: the last one's). `from` may be
 * NULL. Returns its index among the values, or -1 when the arena is full. */
int32_t handoff_put_value(struct writer *writer, const void *from, uint64_t bytes, int32_t argument);

/* The number of that descriptor among those that go with the job. */
uint32_t handoff_put_descriptor(struct writer *writer, int fd);

/* Every argument that the call passes gets its memory, once. */
enum esp_status handoff_put_argument(struct writer *writer, uint32_t index, struct ring_operand *operand);

/* The same of one with argument.is_section: it gets its elements, and the worker makes the whole array. */
enum esp_status handoff_put_section(struct writer *writer, uint32_t index, struct ring_operand *operand);

/* Which elements of its array such an argument is. */
enum esp_status handoff_section(const struct job *job, uint32_t index, struct section *section,
                                struct esp_error *error);

/* Of a matrix of which the routine is told leading(): how its columns lie there; and its memory. */
enum esp_status handoff_columns(const struct job *job, uint32_t index, struct section *section,
                                struct esp_error *error);
enum esp_status handoff_put_columns(struct writer *writer, uint32_t index, struct ring_operand *operand);

/* Whether an array of strings or files is one (ESP_INVALID), and how many elements it has. */
enum esp_status handoff_check_texts(const struct job *job, uint32_t index, uint64_t *n,
                                    struct esp_error *error);

/* An array of strings as the routine's convention wants it: the worker makes it from what goes there. */
enum esp_status handoff_put_texts(struct writer *writer, const struct call_parameter *parameter,
                                  struct ring_operand *operand);

/* All parameters of the routine, with Fortran's hidden lengths behind them; and the place of what it returns.
 */
enum esp_status handoff_put_parameters(struct writer *writer);
enum esp_status handoff_put_result(struct writer *writer);

/* The equation of the problem, if the call solves one that the worker can look at. */
void handoff_put_system(struct writer *writer);

/* What a parameter of a parallel implementation is on a rank; *found false: what it is elsewhere too. */
enum esp_status handoff_put_part(struct writer *writer, const struct call_parameter *parameter,
                                 struct ring_operand *operand, bool *found);

/* A file: in the folder of a command, or of a call of a routine. */
enum esp_status handoff_put_file(struct writer *writer, const struct command_file *file);

/* The words and files of a command. */
enum esp_status handoff_put_command(struct writer *writer);

#endif
