/* SPDX-License-Identifier: Apache-2.0
 *
 * One call through a ring, on the daemon's side: writes the job into the ring, then checks the answer,
 * explains errors and copies results out. The ring's contents are never trusted after a call, because a
 * routine may have overwritten them. */
#ifndef SED_HANDOFF_H
#define SED_HANDOFF_H

#include "sed/pool/ring.h"

#define HANDOFF_MAX_VALUES (PROBLEM_MAX_ARGUMENTS + PROBLEM_MAX_PARAMETERS + 1)

/* The daemon's record of a value in the arena or in a bay. */
struct handoff_value {
    uint32_t offset, bytes; /* relative to the arena's beginning */
    uint64_t there;         /* its offset in the worker */
    int32_t argument;       /* or -1: a temporary or a result */
    int32_t bay;            /* or -1: it lies in the arena */
};

/* The daemon's record of a job that a worker has. */
struct handoff {
    struct job job;
    bool has_state; /* the problem has a state, so its worker cannot take other jobs */
    bool has_texts; /* results that are arrays of strings, and files, come through the socket */
    uint32_t n_values;
    uint32_t used;       /* of the arena: where the next value goes */
    uint32_t front, end; /* the part of the arena filled with values and fences */
    struct handoff_value values[HANDOFF_MAX_VALUES];
    int descriptors[RING_MAX_DESCRIPTORS]; /* sent with it: the job's, borrowed */
    uint32_t n_descriptors;
    int32_t result_value;                             /* the function's result, or -1 */
    int32_t parameter_values[PROBLEM_MAX_PARAMETERS]; /* PARAMETER_RESULTs, or -1 */
    int32_t argument_values[PROBLEM_MAX_ARGUMENTS];   /* -1: in the segment, or not passed */
    int8_t argument_bays[PROBLEM_MAX_ARGUMENTS];      /* -1: it has none of its own */
};

/* Where a server looks for the program of a command that is not beside its description. */
#define HANDOFF_PATH "/usr/local/bin:/usr/bin:/bin"

/* Finds a command's program: an absolute path unchanged, else beside the description, else (a plain name)
 * in HANDOFF_PATH. `path` has SIGNATURE_MAX_PATH bytes. ESP_NOT_FOUND. */
enum esp_status handoff_find_program(const struct problem *problem,
                                     const struct implementation *implementation, char *path,
                                     struct esp_error *error);

/* Writes the job into the ring of an idle worker (without waking it). ESP_INVALID when the call cannot be
 * expressed or does not fit, never ESP_LIMIT (which callers take for temporary); the ring is still idle
 * then. */
enum esp_status handoff_write(struct ring *ring, const struct job *job, struct handoff *handoff,
                              struct esp_error *error);

/* The worker has answered: fills *end and copies outputs to the job's arguments when the call succeeded.
 * `elapsed_ns` since the start limits the times that the worker reports. Returns true when the worker may
 * be used again. *wait_for_death is set when its other threads may still write into the job's segment. */
bool handoff_read(const struct ring *ring, const struct handoff *handoff, int64_t elapsed_ns,
                  const char *last_words, struct job_end *end, bool *wait_for_death);

/* After an answer with outputs (n_outputs): reads the results of variable length from the worker's socket
 * into the job's arguments (job_argument.owned), or discards them when the call has failed. False: the
 * worker did not send what it announced, and *end says so. Does not block. */
bool handoff_take_outputs(const struct ring *ring, const struct handoff *handoff, int socket,
                          struct job_end *end);

/* Appends to the text that a routine could not allocate that many bytes; `may_have` is the limit of `who`,
 * of a server (0: the server does not limit them). */
void handoff_append_refusal(const char *who, uint64_t refused, uint64_t may_have, char *text, size_t size);

/* Whether the signal probably came from outside: routines rarely send it to themselves. */
bool handoff_is_from_outside(int signal_number);

/* The process ended without an answer, with this wait status. */
void handoff_lost(const struct handoff *handoff, int wait_status, const char *last_words,
                  struct job_end *end);

#endif
