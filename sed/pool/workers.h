/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool of workers under a server daemon, as its state machine sees it: a table of operations, so that
 * tests and simulations put a pool of their own in place of processes (sed/pool/processes.h is the real one).
 */
#ifndef SED_WORKERS_H
#define SED_WORKERS_H

#include "core/problem/problem_parallel.h"
#include "util/error.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Arguments that are not in the segment may take this much in all, 64 bytes more counted for each. */
#define WORKERS_INLINE_BYTES (128 * 1024)

/* Of a datum: its struct datum_key (core/data/datum.h). None has 0. */
struct job_key {
    uint64_t high, low;
};

static inline bool job_key_equal(struct job_key a, struct job_key b)
{
    return a.high == b.high && a.low == b.low;
}

static inline bool job_key_is_none(struct job_key key)
{
    return key.high == 0 && key.low == 0;
}

/* Memory of a datum, or of a client: so many bytes of a memory file. */
struct job_file {
    int fd;
    uint64_t offset, bytes;
    bool in_pieces; /* a matrix, or (of a result) to become one, in pieces (core/redistribution/pieces.h) of
                       that layout */
    struct block_cyclic_matrix layout;
    bool lazy;          /* a worker looks at its pages when it needs them, not all at once before the call */
    struct job_key key; /* of the datum that it is, or is to become; none: it is no datum. Of one that was
                         * laid otherwise on this server: of the one it was laid from, */
    bool laid;
    struct block_cyclic_matrix before; /* and how that lies */
};

/* One argument's memory as the server daemon holds it. */
struct job_argument {
    void *data; /* NULL with bytes > 0: scratch memory, neither copied in nor out (work arrays) */
    uint64_t bytes;
    bool writable;   /* the routine may write (out, inout, work) */
    bool in_segment; /* lies in the job's segment at `offset`, or in `file`; else the pool copies it in and
                        out */
    bool blank; /* with in_segment: what is there now is of earlier calls, and becomes 0 before this one */
    uint64_t offset;
    const struct job_file *file; /* with in_segment: here, mapped into the worker as it is */
    const struct job_file
        *source; /* with in_segment: the worker fills the argument from there before the call */
    /* A result whose length only the call told (an output string or file of a command): malloc'ed by the
     * pool, before it reports the end; `data` and `bytes` are its own then. The server daemon frees it. */
    void *owned;
};

/* On which process grid, and how long that takes, with what is handed to the ranks and back. */
struct parallel_proposal {
    struct process_grid grid;
    double seconds;
    double model_s; /* by the models alone; `seconds` is corrected by what calls took. 0: not known */
    double wait_s;  /* before that, until its ranks are free; 0 unless it was asked for */
    double
        peak_flops; /* more than this all ranks do not reach together, by what they measured; 0: not known */
};

/* A call to be made. Everything it points to stays valid until the job has ended. */
struct job {
    uint64_t id; /* unique among running jobs */
    const struct problem *problem;
    const struct implementation *implementation;
    struct job_argument *arguments; /* problem->n_arguments of them, work arrays included */
    const struct number *scope;     /* values of the scalar arguments, for expressions in the call */
    int segment_fd;                 /* memfd with the arguments that are in_segment; -1: none */
    uint64_t segment_bytes;
    bool timed;                 /* what it takes by itself is wanted too (cpu_s) */
    bool attended;              /* a thread comes at once to `help`: nobody else need be woken by the end */
    int64_t time_limit_ms;      /* 0: none; after it the worker is killed */
    const char *checkpoint;     /* file for the state that the routine saves; NULL: it saves none */
    uint64_t checkpoint_number; /* of the state that is in it; 0: none */
    uint64_t state;             /* the call works on the state that this job left behind; 0: on none */
    struct process_grid grid;   /* of a parallel implementation: the ranks that compute it */
    struct parallel_proposal proposal; /* of which this call is to be heeded; model_s 0: of none */
};

struct job_end {
    struct esp_error error; /* status ESP_OK (the text: what the routine's note clause says of its results,
                             * or ""), ESP_FAILED (its error clause), ESP_CRASHED, ESP_CANCELLED, ESP_TIMEOUT,
                             * ESP_SYSTEM (it could not be called: library, symbol, memory), with a text for
                             * the user */
    double compute_s;       /* inside the routine */
    bool keeps_state;       /* the worker is parked with a state, found by the id of the job that made it */
    uint32_t first_rank;    /* of the grid, where ranks computed it */
    double cpu_s;        /* processor time of all its threads in there, and time in which it waited by itself
                          * (sed/crd/crd_time.c); 0: not timed */
    double waited_s;     /* of that, the time in which it waited */
    uint64_t peak_bytes; /* of a command: memory of the largest of its processes; else 0 */
    /* Its worker was ended by somebody else, as far as can be seen: killed from outside (which a routine can
     * do to itself, and the kernel for want of memory), or with the process that starts workers. Of a
     * command: the command was. Of ranks: one of them, or mpirun, or another call has ended them all. */
    bool lost;
    bool unbegun; /* with `lost`: surely nothing of it was executed */
    bool intact;  /* with `lost`, of ranks: surely its arguments are as they were */
};

/* What a routine asks of a function of its caller. */
struct job_question {
    uint64_t number; /* 1, 2, 3, ... in its job */
    uint32_t argument;
    uint32_t bytes; /* core/problem/problem_callback.h tells how the values lie in them */
};

/* Where some of a call's matrices lie already. */
struct parallel_place_taken {
    struct process_grid grid;
    uint64_t bytes; /* that need not move when it is taken */
};
#define PARALLEL_PLACES 8

/* Which process grid for this call? */
struct parallel_question {
    const struct problem *problem;
    const struct implementation *implementation;
    const struct number *scope;
    double work_flop;
    uint64_t bytes;                                      /* of all arguments */
    struct parallel_place_taken places[PARALLEL_PLACES]; /* each grid once */
    uint32_t n_places;
    struct process_grid only; /* no other grid, and no other block; rows 0, block 0: whichever is fastest */
    bool now;                 /* it would begin now: ranks that are busy are waited for */
};

struct workers;

struct workers_ops {
    /* Hands the job to an idle worker. ESP_LIMIT when none is free (the caller counts slots, so that is a
     * fault). With the endpoint's lock held; does not block. */
    enum esp_status (*start)(struct workers *workers, const struct job *job, struct esp_error *error);
    /* Stops it: the worker's process group is killed; the end is reported as ESP_CANCELLED. Lock held. */
    void (*cancel)(struct workers *workers, uint64_t job_id);
    /* Waits for the end of the job from the thread that brought it, until the end or `until_ns`
     * (CLOCK_MONOTONIC), and reports it. Without the lock. True: it is still running. False: it has ended
     * (reported from here or from another thread, or about to be), or there is no such job. */
    bool (*help)(struct workers *workers, uint64_t job_id, int64_t until_ns);
    /* The state is not wanted any more: its worker ends. One that is not there, or has a call under way, is
     * left alone. Lock held. NULL: this pool keeps no states. */
    void (*drop)(struct workers *workers, uint64_t state);
    /* How far the routine says it is, from 0 to 1; below 0: it has not told, or there is no such job. Any
     * thread. NULL: this pool does not know. */
    double (*progress)(struct workers *workers, uint64_t job_id);
    /* The question that the routine waits for an answer to. `data` (CALLBACK_MOST_BYTES) takes it; NULL: it
     * is not wanted. False: there is none, or no such job. Any thread. NULL: routines ask nothing here. */
    bool (*question)(struct workers *workers, uint64_t job_id, struct job_question *question, void *data);
    /* The answer to question `number`: of another it is dropped. A status other than ESP_OK, with a text in
     * place of the answer, ends the job as ESP_FAILED; so does a length that is not what the routine
     * expects. Any thread. */
    void (*answer)(struct workers *workers, uint64_t job_id, uint64_t number, enum esp_status status,
                   const void *data, uint32_t length);
    /* The process grid on which ranks would compute a call of a parallel implementation soonest. False: the
     * ranks are not there. Any thread. NULL: this pool has none. */
    bool (*propose)(struct workers *workers, const struct parallel_question *question,
                    struct parallel_proposal *proposal);
    /* Whether calls of parallel implementations can be taken, if only in a moment. ESP_REFUSED with the
     * reason: the ranks could not be started. Any thread. NULL: this pool has none. */
    enum esp_status (*admits)(struct workers *workers, struct esp_error *error);
    /* What is known of the ranks, as core/forecast/parallel_profile.h writes it, for free(): less than `most`
     * bytes, without what calls took where that would be more. NULL without memory. Any thread. NULL: this
     * pool has none. */
    char *(*knows)(struct workers *workers, size_t most);
    void (*destroy)(struct workers *workers);
};

/* First member of an implementation. */
struct workers {
    const struct workers_ops *ops;
    /* Set by the server daemon before the first start. Called exactly once per started job, on any thread,
     * without the lock (the receiver takes it with endpoint_enter). */
    void (*ended)(void *arg, uint64_t job_id, const struct job_end *end);
    /* A worker that was parked with a state has died, or was made to. Like `ended`; NULL: nobody wants to
     * know. */
    void (*lost)(void *arg, uint64_t state);
    /* A routine asks something new. Like `ended`, but without a promise: it may have its answer, or have
     * ended. NULL: nobody wants to know. */
    void (*asked)(void *arg, uint64_t job_id);
    /* What is proposed has become other: ranks have come, or calls have told how long they take. On a thread
     * of the pool, without its locks; set and cleared at any time. True: not all could be looked at, and it
     * is to be told again soon, without `news` if there are none by then. NULL: nobody wants to know. */
    bool (*_Atomic changed)(void *arg, bool news);
    void *arg;
};

#endif
