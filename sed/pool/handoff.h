/* SPDX-License-Identifier: Apache-2.0
 *
 * One call through a ring, on the daemon's side: the job is written into it, and what comes back is checked,
 * turned into words and copied out. What a worker left in the ring is never believed: a routine may have
 * scribbled over it.
 */
#ifndef SED_HANDOFF_H
#define SED_HANDOFF_H

#include "sed/pool/ring.h"

#define HANDOFF_MAX_VALUES (PROBLEM_MAX_ARGUMENTS + PROBLEM_MAX_PARAMETERS + 1)

/* A value in the arena or in a bay, as the daemon remembers it. */
struct handoff_value {
    uint32_t offset, bytes; /* behind the arena's beginning */
    uint64_t there;         /* the same in the worker */
    int32_t argument;       /* or -1: a temporary or a result */
    int32_t bay;            /* or -1: it lies in the arena */
};

/* What the daemon remembers of a job that a worker has. */
struct handoff {
    struct job job;
    bool has_state; /* the problem has a state: its worker is of no other use */
    bool has_texts; /* results of arrays of strings, and files, come beside the answer */
    uint32_t n_values;
    uint32_t used;       /* of the arena: where the next value goes */
    uint32_t front, end; /* of what of the arena is filled with values and fences */
    struct handoff_value values[HANDOFF_MAX_VALUES];
    int descriptors[RING_MAX_DESCRIPTORS]; /* that go with it: the job's, borrowed */
    uint32_t n_descriptors;
    int32_t result_value;                             /* the function's result, or -1 */
    int32_t parameter_values[PROBLEM_MAX_PARAMETERS]; /* PARAMETER_RESULTs, or -1 */
    int32_t argument_values[PROBLEM_MAX_ARGUMENTS];   /* -1: in the segment, or not passed */
    int8_t argument_bays[PROBLEM_MAX_ARGUMENTS];      /* -1: none is its own */
};

/* Where a server looks for the program of a command that is not beside its description. */
#define HANDOFF_PATH "/usr/local/bin:/usr/bin:/bin"

/* The path of a command's program: as it is when it is absolute, else beside the description, else (a plain
 * name) in HANDOFF_PATH. `path` has SIGNATURE_MAX_PATH bytes. ESP_NOT_FOUND. */
enum esp_status handoff_find_program(const struct problem *problem,
                                     const struct implementation *implementation, char *path,
                                     struct esp_error *error);

/* Writes the job into the ring of an idle worker (without waking it). ESP_INVALID when the call cannot
 * be expressed or does not fit, never ESP_LIMIT (of which callers think that it passes); the ring is then
 * still idle. */
enum esp_status handoff_write(struct ring *ring, const struct job *job, struct handoff *handoff,
                              struct esp_error *error);

/* The worker has answered: fills *end and copies outputs to the job's arguments when the call succeeded.
 * `elapsed_ns` since the job was handed over bounds the time that the worker claims. Returns true when the
 * worker may be used again. *wait_for_death is set when others of its threads may still write into the job's
 * segment. */
bool handoff_read(const struct ring *ring, const struct handoff *handoff, int64_t elapsed_ns,
                  const char *last_words, struct job_end *end, bool *wait_for_death);

/* After an answer with outputs (n_outputs): takes the results whose length the call told from the worker's
 * socket into the job's arguments (job_argument.owned), or only out of the way when the call has failed.
 * False: the worker did not send what it said, and *end says so. Does not block. */
bool handoff_take_outputs(const struct ring *ring, const struct handoff *handoff, int socket,
                          struct job_end *end);

/* Appends to the text that a routine could not allocate so many bytes; `who`, of a server, may have how many
 * (0: it is not the server that bounds them). */
void handoff_append_refusal(const char *who, uint64_t refused, uint64_t may_have, char *text, size_t size);

/* Whether somebody else has ended the process, as far as can be seen: routines hardly do that to themselves.
 */
bool handoff_is_from_outside(int signal_number);

/* The process ended without an answer, with this wait status. */
void handoff_lost(const struct handoff *handoff, int wait_status, const char *last_words,
                  struct job_end *end);

#endif
