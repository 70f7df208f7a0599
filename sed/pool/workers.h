/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface of a pool of workers, as the server's state machine uses it: a table of operations, so
 * that tests and simulations can replace the processes (sed/pool/processes.h is the real one). */
#ifndef SED_WORKERS_H
#define SED_WORKERS_H

#include "core/problem/problem_parallel.h"
#include "util/error.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Most bytes of all arguments outside the segment, plus 64 bytes for each. */
#define WORKERS_INLINE_BYTES (128 * 1024)

/* Key of a datum: its struct datum_key (core/data/datum.h). No datum has 0. */
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

/* Memory of a datum, or of a client: that many bytes of a memory file. */
struct job_file {
    int fd;
    uint64_t offset, bytes;
    bool in_pieces; /* a matrix in pieces (core/redistribution/pieces.h), or a result that is to become one,
                       with                        that layout */
    struct block_cyclic_matrix layout;
    bool lazy;          /* a worker loads its pages when it uses them, not all before the call */
    struct job_key key; /* of the datum; none: it is no datum. If the datum was redistributed on this server:
                           of the original datum, */
    bool laid;
    struct block_cyclic_matrix before; /* and its layout */
};

/* One argument's memory in the server daemon. */
struct job_argument {
    void *data; /* NULL with bytes > 0: scratch memory, neither copied in nor out (work arrays) */
    uint64_t bytes;
    bool writable;   /* the routine may write (out, inout, work) */
    bool in_segment; /* lies in the job's segment at `offset`, or in `file`; else the pool copies it in and
                        out */
    bool blank;      /* with in_segment: has values of earlier calls, and is zeroed before this one */
    uint64_t offset;
    const struct job_file *file; /* with in_segment: the file that is mapped into the worker */
    const struct job_file
        *source; /* with in_segment: the worker fills the argument from there before the call */
    /* A result of variable length (an output string or file of a command): allocated by the pool with
     * malloc before it reports the end; sets `data` and `bytes`. The server daemon frees it. */
    void *owned;
};

/* A process grid, and the time on it, including distribution to the ranks and back. */
struct parallel_proposal {
    struct process_grid grid;
    double seconds;
    double model_s;    /* by the models alone; `seconds` is corrected by the times of calls. 0: not known */
    double wait_s;     /* time until its ranks are free; 0 unless asked for */
    double peak_flops; /* the speed of all ranks together cannot exceed this, by their measurements; 0: not
                          known */
};

/* A call to be made. Everything it points to must stay valid until the job has ended. */
struct job {
    uint64_t id; /* unique among running jobs */
    const struct problem *problem;
    const struct implementation *implementation;
    struct job_argument *arguments; /* problem->n_arguments of them, including work arrays */
    const struct number *scope;     /* values of the scalar arguments, for expressions in the call */
    int segment_fd;                 /* memfd with the arguments that are in_segment; -1: none */
    uint64_t segment_bytes;
    bool timed;            /* measure its processor time, too (cpu_s) */
    bool attended;         /* a thread is about to call `help`, so no other thread need be woken by the end */
    int64_t time_limit_ms; /* 0: none; after it the worker is killed */
    const char *checkpoint;            /* file for the state that the routine saves; NULL: none */
    uint64_t checkpoint_number;        /* of the saved state; 0: none */
    uint64_t state;                    /* the call uses the state that this job left; 0: none */
    struct process_grid grid;          /* for a parallel implementation: the ranks that compute it */
    struct parallel_proposal proposal; /* the proposal that this call confirms or corrects; model_s 0: none */
};

struct job_end {
    struct esp_error
        error; /* status ESP_OK (the text: the routine's note clause for its results, or ""), ESP_FAILED (its
                  error clause), ESP_CRASHED, ESP_CANCELLED, ESP_TIMEOUT, ESP_SYSTEM (it could not be called:
                  library, symbol, memory), with a text for the user */
    double compute_s; /* inside the routine */
    bool keeps_state; /* the worker is parked with a state, identified by the id of the job that created it */
    uint32_t first_rank; /* of the grid, if ranks computed it */
    double cpu_s;        /* processor time of all its threads in the routine, and time of waiting
                            (sed/crd/crd_time.c); 0: not measured */
    double waited_s;     /* part of it spent waiting */
    uint64_t peak_bytes; /* of a command: memory of its largest process; else 0 */
    /* The worker was ended from outside, as far as can be seen: killed (which a routine can do to itself,
     * and the kernel when memory is short), or together with the spawner. For a command: the command was.
     * For ranks: one of them, or mpirun, or another call has ended them all. */
    bool lost;
    bool unbegun; /* with `lost`: certainly nothing of it was executed */
    bool intact;  /* with `lost`, for ranks: its arguments are certainly unchanged */
};

/* A routine's question to a callback. */
struct job_question {
    uint64_t number; /* 1, 2, 3, ... in its job */
    uint32_t argument;
    uint32_t bytes; /* core/problem/problem_callback.h describes their layout */
};

/* A grid on which some of a call's matrices lie already. */
struct parallel_place_taken {
    struct process_grid grid;
    uint64_t bytes; /* that need not move if this grid is used */
};
#define PARALLEL_PLACES 8

/* Asks for the best process grid for a call. */
struct parallel_question {
    const struct problem *problem;
    const struct implementation *implementation;
    const struct number *scope;
    double work_flop;
    uint64_t bytes;                                      /* of all arguments */
    struct parallel_place_taken places[PARALLEL_PLACES]; /* each grid once */
    uint32_t n_places;
    struct process_grid only; /* only this grid, and only this block; rows 0, block 0: the fastest */
    bool now;                 /* the call would start now, so waiting for busy ranks counts */
};

struct workers;

struct workers_ops {
    /* Gives the job to an idle worker. ESP_LIMIT when none is free (an error of the caller, which counts
     * slots). With the endpoint's lock held; does not block. */
    enum esp_status (*start)(struct workers *workers, const struct job *job, struct esp_error *error);
    /* Stops the job: the worker's process group is killed; the end is reported as ESP_CANCELLED. Lock
     * held. */
    void (*cancel)(struct workers *workers, uint64_t job_id);
    /* Waits for the end of the job on the thread that brought it, until the end or `until_ns`
     * (CLOCK_MONOTONIC), and reports it. Without the lock. True: it is still running. False: it has ended
     * (reported from here or from another thread, or about to be), or there is no such job. */
    bool (*help)(struct workers *workers, uint64_t job_id, int64_t until_ns);
    /* Ends the worker of a state that is not needed any more. Ignored if the state is missing, or has a
     * call in progress. Lock held. NULL: this pool keeps no states. */
    void (*drop)(struct workers *workers, uint64_t state);
    /* Returns the routine's reported progress, from 0 to 1; below 0: none, or no such job. Any thread.
     * NULL: not supported. */
    double (*progress)(struct workers *workers, uint64_t job_id);
    /* Gets the question that the routine waits on. `data` (CALLBACK_MOST_BYTES) receives it; NULL: not
     * wanted. False: there is none, or no such job. Any thread. NULL: not supported. */
    bool (*question)(struct workers *workers, uint64_t job_id, struct job_question *question, void *data);
    /* Answers question `number`; dropped if another is current. A status other than ESP_OK, with a text
     * instead of the answer, ends the job as ESP_FAILED, and so does an answer of the wrong length. Any
     * thread. */
    void (*answer)(struct workers *workers, uint64_t job_id, uint64_t number, enum esp_status status,
                   const void *data, uint32_t length);
    /* Proposes the process grid on which ranks would finish a call of a parallel implementation soonest.
     * False: the ranks are missing. Any thread. NULL: this pool has none. */
    bool (*propose)(struct workers *workers, const struct parallel_question *question,
                    struct parallel_proposal *proposal);
    /* Whether calls of parallel implementations are accepted, possibly after a moment. ESP_REFUSED with
     * the reason: the ranks could not be started. Any thread. NULL: this pool has none. */
    enum esp_status (*admits)(struct workers *workers, struct esp_error *error);
    /* Returns the profile of the ranks (core/forecast/parallel_profile.h), for free(): less than `most`
     * bytes, without the times of calls if it would be longer. NULL without memory. Any thread. NULL: this
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
    /* A worker that was parked with a state has died, or was ended. Called like `ended`; may be NULL. */
    void (*lost)(void *arg, uint64_t state);
    /* A routine asks a new question. Called like `ended`, but without a guarantee: it may have its answer,
     * or have ended. May be NULL. */
    void (*asked)(void *arg, uint64_t job_id);
    /* Proposals have changed: ranks have arrived, or calls have shown how long they take. Called on a
     * thread of the pool, without its locks; set and cleared at any time. Returns true if not everything
     * could be examined, and the call must be repeated soon, with `news` false if there are no further
     * changes. May be NULL. */
    bool (*_Atomic changed)(void *arg, bool news);
    void *arg;
};

#endif
