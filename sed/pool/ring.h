/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that a server daemon shares with one worker: two words to hand a call over and back, the job,
 * the answer, and an arena for small arguments.
 *
 *   +----------------+ request, sleeping        daemon wakes worker
 *   | words          | reply, attended          worker wakes daemon
 *   +----------------+
 *   | answer         | outcome of the job       written by the worker, not trusted
 *   +----------------+
 *   | job            | signature, operands, areas of the segment
 *   +----------------+ page
 *   | arena          | unused ... fence value fence value fence
 *   +----------------+ (the worker has a guard region after it)
 *   | bays           | each: fence array
 *   +----------------+ (the worker has a guard region after each, sed/pool/bays.h)
 *
 * The words are first, so that a routine that overruns a small argument hits fences and then a guard, and
 * not the words. Scalars, texts and the values of commands lie in the arena, arrays of routines in bays as
 * far as there are any. */
#ifndef SED_RING_H
#define SED_RING_H

#include "core/problem/problem_parallel.h"
#include "core/problem/problem_solves.h"
#include "core/problem/section.h"
#include "sed/pool/bays.h"
#include "sed/pool/signature.h"
#include "core/problem/problem_callback.h"
#include "sed/pool/workers.h"
#include <stdatomic.h>
#include <stddef.h>

#define RING_ARENA_BYTES                                                                                     \
    (WORKERS_INLINE_BYTES + 64 * 1024) /* fences, temporaries and results in addition                        \
                                        */
#define RING_FENCE_BYTES 32            /* least, before and after each value */
#define RING_ARRAY_FENCE 256           /* least, before and after each array */
#define RING_FRONT_FENCE (16 << 10)    /* before the first value, when there are arrays */
#define RING_GUARD_BYTES (4 << 20)     /* unmapped memory around arrays in workers */

/* A second copy of the end of the arena, for results of ranks that do not wait for each other
 * (ring_job.sure). */
#define RING_RESULTS_BYTES (32 << 10)
#define RING_RESULTS_FROM  (RING_ARENA_BYTES - RING_RESULTS_BYTES)

#define RING_MAX_QUERIES   8 /* of one call */
#define RING_MAX_CALLBACKS 8
#define RING_CALLBACK_TEXT 2048 /* bytes of a callback's signature */
#define RING_ANSWER_TEXT   2048

/* Values of `reply`. */
#define RING_IDLE    0u
#define RING_POSTED  1u
#define RING_DONE    2u
#define RING_WAITERS 0x80000000u /* with RING_POSTED: a thread sleeps on the word */

enum operand_place {
    OPERAND_ARENA,       /* offset from the arena, as mapped in the worker */
    OPERAND_AREA,        /* index of an area of the segment */
    OPERAND_NUMBER,      /* the number itself: a hidden length */
    OPERAND_QUERY,       /* index of a queried work array */
    OPERAND_SECTION,     /* index of a section */
    OPERAND_TEXTS,       /* index of an array of strings */
    OPERAND_CALLBACK,    /* index of a callback */
    OPERAND_PATH,        /* index of a file: the routine gets its path */
    OPERAND_PATH_LENGTH, /* index of a file: characters of its path, a hidden length of Fortran */
    OPERAND_STATE,       /* the worker's state between calls; 0: itself, 1: its address */
    /* of ranks that compute together (sed/mpi/prd.h) */
    OPERAND_PART,         /* index of a part */
    OPERAND_INTO,         /* index of a part: memory like it, whose contents replace it */
    OPERAND_DESCRIPTOR,   /* index of a part */
    OPERAND_COMMUNICATOR, /* 0: MPI_Comm, 1: the address of its Fortran handle */
    OPERAND_CONTEXT       /* 0: the address of the BLACS context; by value in C */
};

struct ring_operand {
    uint64_t value; /* offset, index or number */
    uint32_t place; /* enum operand_place */
    uint32_t unused;
};

/* The system of equations that the call solves: what the worker or ranks need to check the solution. */
struct ring_system {
    uint32_t wanted;                /* 0: not checked, and the other members are unused */
    uint32_t matrix, rhs, solution; /* the parameters that pass them; for ranks: the parts */
    uint32_t pointers, indices;     /* of csc and csr */
    uint32_t times;                 /* the factor of the right-hand sides; SOLVES_NOTHING: 1 */
    uint8_t type;                   /* enum base_type, of all three arrays and the factor */
    uint8_t pointer_type, index_type;
    uint8_t base;
    uint8_t fits; /* only check that the solution is finite */
    struct system_shape shape;
};

/* An array of numbers that a solver reads or writes, whose solution is not checked. */
struct ring_result {
    uint32_t parameter, argument; /* for ranks: the part instead of the parameter */
    uint8_t type;                 /* enum base_type */
    uint8_t goes_in, comes_back;
    uint64_t count;
};

/* Most descriptors of one job: the session's segment, and memory of data. */
#define RING_MAX_DESCRIPTORS (1 + 2 * PROBLEM_MAX_ARGUMENTS)
#define RING_NO_SOURCE       UINT32_MAX

/* One argument in the session's segment or in a datum's memory, mapped separately with guards around it. */
struct ring_area {
    uint64_t offset, bytes;
    uint32_t argument;
    uint8_t writable, lazy;
    uint8_t blank;   /* it is zeroed before the call */
    uint32_t file;   /* index of the descriptor; RING_NO_SOURCE: the worker's own memory */
    uint32_t source; /* descriptor from which it is filled before the call, or RING_NO_SOURCE */
    uint64_t source_offset;
    uint32_t source_in_pieces, element_bytes; /* then, the layout of the value there: */
    struct block_cyclic_matrix source_layout;
};

/* A work array whose size the routine is asked for first: the worker allocates it. */
struct ring_query {
    uint32_t size, array; /* the parameters that pass them */
    uint32_t argument;
    uint8_t size_type, array_type; /* enum base_type */
    uint64_t least;                /* least number of elements */
};

/* An array of which only some elements were sent: the worker allocates it, with the other elements 0. */
struct ring_section {
    struct section section;
    struct ring_operand elements; /* OPERAND_ARENA or OPERAND_AREA */
    uint32_t argument;
    uint8_t goes_in, comes_back;
};

/* An array of strings: the routine gets an array of pointers, or of CHARACTER(width). */
struct ring_texts {
    struct ring_operand value; /* the packed texts (core/problem/texts.h): OPERAND_ARENA or OPERAND_AREA */
    uint64_t bytes;            /* of it */
    uint64_t n;
    uint64_t width; /* of Fortran's elements, padded with blanks; 0: pointers */
    uint32_t argument;
    uint8_t goes_in, comes_back;
};

/* A datum from which ranks take their parts, or into which they put them. */
struct ring_pieces {
    uint32_t there;
    uint32_t file; /* which descriptor */
    uint64_t offset;
    struct block_cyclic_matrix layout;
    struct job_key name; /* of the value among ranks on other hosts (envoys_name()); none: it has no name */
    uint32_t laid;       /* it was there before under that name, in this layout: */
    struct block_cyclic_matrix before;
};

/* An array that is distributed over the ranks of a process grid. */
struct ring_part {
    struct block_cyclic_matrix layout;
    struct ring_operand whole; /* OPERAND_ARENA or OPERAND_AREA, if one of these is missing: */
    struct ring_pieces from,
        to; /* `to` has the layout of the part: the result is computed in its final memory */
    uint32_t argument, element_bytes;
    uint8_t goes_in, comes_back;
    uint8_t blank;  /* without an input value, though other calls read one: it is zeroed before this call */
    uint8_t into;   /* the result is in separate memory */
    uint8_t vector; /* every rank of a row (or column) of the grid has a copy of its elements */
};

/* A callback: the worker makes a function that asks the caller. */
struct ring_callback {
    uint32_t argument;
    uint8_t fortran, returns;
    uint32_t n_outer;                   /* number of its last arguments that are scalars of the problem, */
    uint64_t outer[CALLBACK_MAX_OUTER]; /* and their raw elements */
    char text[RING_CALLBACK_TEXT];      /* its signature, as a problem */
};

/* How one argument reaches a command and comes back, or a file a routine. */
struct ring_file {
    struct ring_operand operand; /* OPERAND_NUMBER: a result of unknown length */
    uint64_t bytes;              /* of the value */
    int64_t dims[PROBLEM_MAX_DIMS];
    uint32_t n_dims;
    uint32_t argument;
    uint8_t type;   /* enum base_type */
    uint8_t format; /* enum value_format */
    uint8_t stream; /* enum command_stream */
    uint8_t goes_in, comes_back, row_major;
    char name[COMMAND_MAX_FILE_NAME + 10]; /* STREAM_FILE; files of an array have .1, .2, ... appended */
};

#define RING_MAX_WORDS 4096 /* of a command, including those of arrays of strings and files */
#define RING_MAX_FILES (2 * PROBLEM_MAX_ARGUMENTS)

/* A program to run instead of a routine. */
struct ring_command {
    uint32_t n_words;            /* 0: it is a routine */
    uint64_t words, words_bytes; /* in the arena, one after the other, each with its final 0 */
    char program[SIGNATURE_MAX_PATH];
};

struct ring_job {
    uint32_t n_descriptors; /* received through the socket */
    uint32_t timed;         /* the answer must have cpu_ns */
    uint32_t n_areas;
    uint64_t segment_bytes;
    uint64_t result_offset; /* place of the function's result, in the arena */
    uint32_t n_queries;
    struct ring_query queries[RING_MAX_QUERIES];
    struct ring_system system;
    uint32_t n_results;
    struct ring_result results[PROBLEM_MAX_ARGUMENTS];
    uint32_t n_sections;
    struct ring_section sections[PROBLEM_MAX_ARGUMENTS];
    uint32_t n_texts;
    struct ring_texts texts[PROBLEM_MAX_ARGUMENTS];
    uint32_t n_parts;
    struct ring_part parts[PROBLEM_MAX_ARGUMENTS];
    struct process_grid grid; /* rows 0: no parallel job */
    uint32_t first_rank;      /* of the consecutive ranks of the grid, */
    uint32_t apart;           /* some of which are on other hosts */
    uint32_t beside;          /* ranks after them that only send their parts of data (sed/mpi/prd_moves.c) */
    uint32_t sure; /* no rank can fail before it enters the routine, so ranks do not wait for each other, and
                      results go to `results`, because other ranks may not have read the arena yet */
    uint32_t front, end;                 /* the filled part of the arena */
    uint64_t bays;                       /* used bays, a bit each, */
    uint32_t bay_arguments[BAYS];        /* and their arguments */
    char checkpoint[SIGNATURE_MAX_PATH]; /* file for the routine's state; "": it saves none */
    uint64_t checkpoint_number;          /* of the existing state; 0: none */
    uint32_t n_callbacks;
    struct ring_callback callbacks[RING_MAX_CALLBACKS];
    struct ring_area areas[PROBLEM_MAX_ARGUMENTS];
    struct ring_operand operands[SIGNATURE_MAX_PARAMETERS];
    struct call_signature signature;
    struct ring_command command;
    uint32_t n_files, fortran_files; /* paths for Fortran: padded with blanks, without a final 0 */
    uint64_t output_bytes;           /* most bytes of one output of a command, or file of a routine */
    struct ring_file files[RING_MAX_FILES];
};

/* Checks of a solver's results. */
struct ring_verdict {
    uint32_t is_wrong;     /* the solution was checked, and is wrong: */
    double backward_error; /* NaN: some of its elements are not finite, though the system is */
    double condition;      /* not 0: the matrix is nearly singular, and this is a lower bound of its condition
                              number */
    uint32_t is_spoilt;    /* an element of a solver's result is not finite, though all inputs are: */
    uint32_t spoilt_argument;
    uint64_t spoilt_element;
};

enum answer_kind {
    ANSWER_NONE,
    ANSWER_RETURNED,  /* the routine returned */
    ANSWER_ILLEGAL,   /* it returned, but reported that one of its arguments is illegal (xerbla) */
    ANSWER_UNABLE,    /* it was not called: library, symbol or segment; `text` has the reason */
    ANSWER_SIGNALLED, /* it crashed with the signal `code` */
    ANSWER_EXITED,    /* it called exit(code) */
    ANSWER_KILLED,    /* the command was killed by the signal `code` */
    ANSWER_STOPPED,   /* the worker killed the command; `trouble` has the reason */
    ANSWER_NO_TEXT,   /* it returned, and `argument` is no valid array of texts: `trouble` */
    ANSWER_CALLBACK,  /* a callback failed, and the worker has ended; `text` has the reason */
    ANSWER_STRAYED /* it returned, and wrote directly beside an argument in the segment: `place`, `argument`
                    */
};

enum fault_place { FAULT_ELSEWHERE, FAULT_BEHIND, FAULT_BEFORE, FAULT_INSIDE, FAULT_ARENA, FAULT_STACK };

struct ring_answer {
    uint32_t kind;     /* enum answer_kind */
    int32_t code;      /* signal, exit code (of a command: its status) or number of the illegal parameter */
    uint64_t address;  /* of the faulting access */
    uint32_t place;    /* enum fault_place, of the address */
    uint32_t argument; /* that the address is after, before or inside */
    uint32_t access;   /* 1: a read, 2: a write, 0: not known */
    uint32_t alone;    /* the crashed process had no other thread that could still write */
    uint64_t compute_ns, cpu_ns, waited_ns;
    uint64_t peak_bytes; /* of a command: memory of its largest process */
    uint64_t refused_bytes,
        memory_bytes;            /* that it could not allocate (0: none), that it may allocate in all */
    char text[RING_ANSWER_TEXT]; /* ANSWER_UNABLE, ANSWER_CALLBACK: the reason; ANSWER_ILLEGAL: the routine's
                                    name; for a command: the end of its standard error */
    char trouble[256]; /* what is wrong with a command's output, or with a file of a routine; "": nothing */
    struct ring_verdict verdict;
    uint32_t keeps;     /* the routine has left a state */
    uint32_t n_outputs; /* results that come through the socket, each a struct ring_output */
};

/* Comes with the descriptor of a file that holds the result. */
struct ring_output {
    uint32_t argument;
};

/* A routine's question to a callback, and the answer. The worker writes the question before it increments
 * `asked`, the daemon the answer before it sets `answered` to that. */
struct ring_question {
    _Atomic uint32_t asked;
    _Atomic uint32_t answered; /* futex */
    uint32_t argument, bytes;
    uint32_t status, answer_bytes; /* enum esp_status; other than ESP_OK: `data` has the reason */
    _Alignas(CALLBACK_ALIGNMENT) unsigned char data[CALLBACK_MOST_BYTES];
};

/* Counters of ranks with one job: none calls the routine before all can, none answers before the last has
 * finished. */
struct ring_gang {
    _Atomic uint32_t prepared, unable;
    _Atomic uint32_t starved;    /* not 0: the first rank that failed had no memory left */
    _Atomic uint32_t touched;    /* not 0: the call's inputs may have been overwritten */
    _Atomic uint32_t left;       /* ranks that have not finished with it */
    _Atomic uint64_t compute_ns; /* in the routine, of the slowest rank */
    _Atomic uint32_t
        refuser; /* 1 + index of the first rank that could not allocate memory, and has returned; 0: none */
    _Atomic uint64_t refused; /* bytes that it could not allocate; 0: not known yet */
    _Atomic uint32_t strayed; /* 1 + the argument beside whose part a rank has written; 0: none */
};

struct ring {
    _Alignas(64) _Atomic uint32_t request; /* counts jobs; futex */
    _Atomic uint32_t sleeping;             /* the worker waits in the futex */
    _Atomic uint32_t poster;               /* the processor on which the last job was posted */
    _Alignas(64) _Atomic uint32_t reply;   /* RING_*; futex */
    _Atomic uint32_t attended;             /* threads of the daemon that watch `reply` */
    _Alignas(64) _Atomic uint32_t ready;   /* the worker has started */
    _Atomic uint32_t taken;                /* the request that it has begun */
    _Atomic double progress;               /* reported by the routine; below 0: none */
    _Atomic uint64_t saved;                /* number of the last checkpoint; 0: none */
    _Atomic uint64_t kept; /* bytes that the worker kept after its last call, when it ends because of that */
    struct ring_gang gang;
    struct ring_answer answer;
    struct ring_job job;
    struct ring_question question;
    _Alignas(64) unsigned char results[RING_RESULTS_BYTES];
    _Alignas(4096) unsigned char arena[RING_ARENA_BYTES];
    _Alignas(BAY_LEAST_BYTES) unsigned char bays[BAYS_BYTES]; /* pages that no call uses have no memory */
};

/* The daemon maps bays directly after the arena, the worker each with a guard in front. Bytes from the
 * arena's beginning on: */
#define RING_ROOM_BYTES (RING_ARENA_BYTES + BAYS_BYTES)                       /* in the daemon */
#define RING_REACH      (RING_ROOM_BYTES + BAYS * (uint64_t)RING_GUARD_BYTES) /* in the worker */
static inline uint64_t ring_bay_there(uint32_t bay)
{
    return RING_ARENA_BYTES + bay_offset(bay) + (bay + 1) * (uint64_t)RING_GUARD_BYTES;
}
/* In the daemon: returns byte `offset` < RING_ROOM_BYTES of arena and bays. */
static inline unsigned char *ring_room(struct ring *ring, uint64_t offset)
{
    return (unsigned char *)ring + offsetof(struct ring, arena) + offset;
}
static inline const unsigned char *ring_room_read(const struct ring *ring, uint64_t offset)
{
    return (const unsigned char *)ring + offsetof(struct ring, arena) + offset;
}
/* In the worker: returns the value of an OPERAND_ARENA, or NULL when these bytes are outside the ring. */
static inline void *ring_value(struct ring *ring, const struct ring_operand *operand, uint64_t bytes)
{
    if (bytes > RING_REACH || operand->value > RING_REACH - bytes)
        return NULL;
    return ring_room(ring, operand->value);
}

/* Creates a ring as a memory file, mapped here. The caller owns both (close, ring_unmap). */
enum esp_status ring_create(struct ring **ring, int *fd, struct esp_error *error);
/* Maps it in a worker, with guard regions after the arena and each bay. NULL when the system refuses
 * (errno). */
struct ring *ring_map_guarded(int fd);
void ring_unmap(struct ring *ring);

/* For the daemon: returns the routine's reported progress, from 0 to 1; -1: none. A routine that overwrote
 * the ring may have left any value. */
double ring_progress(const struct ring *ring);
/* For the routine: stores the progress, limited to 0 to 1; ignores NaN. */
void ring_tell_progress(struct ring *ring, double fraction);

/* Sleeps while *word == value, at most until `until_ns` (CLOCK_MONOTONIC; CLOCK_NEVER: for ever). May
 * return early. */
void ring_sleep(_Atomic uint32_t *word, uint32_t value, int64_t until_ns);
void ring_wake(_Atomic uint32_t *word);

/* For the daemon: sleeps until `reply` has the answer to that request, until `until_ns`, or a little less.
 * Another thread may collect the answer, and post the next job, before this thread has noticed; it would
 * then wait for the wrong job and delay a finished reply. So it checks ten times a second which request is
 * current. */
void ring_await_answer(struct ring *ring, uint32_t request, int64_t until_ns);
/* Announces that the answer is in the ring; `bell` is the eventfd used when no thread watches. False: it
 * is closed. Async-signal-safe. */
bool ring_reply(struct ring *ring, int bell);
/* Pause of a polling loop between two checks. */
static inline void ring_pause(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("isb");
#endif
}

/* Checks the fence [from, from + bytes): returns the offset of the first damaged byte, or -1. */
int64_t ring_fence_damage(const unsigned char *from, uint64_t bytes);
void ring_fence_write(unsigned char *from, uint64_t bytes);

#endif
