/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that a server daemon shares with one worker: two words to hand a call over and back, the job,
 * the answer, and an arena for arguments that are small.
 *
 *   +----------------+ request, sleeping        daemon wakes worker
 *   | words          | reply, attended          worker wakes daemon
 *   +----------------+
 *   | answer         | what became of the job   written by the worker, believed by nobody
 *   +----------------+
 *   | job            | signature, operands, areas of the segment
 *   +----------------+ page
 *   | arena          | unused ... fence value fence value fence
 *   +----------------+ (the worker has a guard region behind it)
 *   | bays           | each: fence array
 *   +----------------+ (the worker has a guard region behind each, sed/pool/bays.h)
 *
 * The words are first, so that a routine that runs over a small argument meets fences and then a guard, and
 * not the words. Scalars, texts and what commands take lie in the arena, arrays of routines in bays as far as
 * there are some.
 */
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

#define RING_ARENA_BYTES (WORKERS_INLINE_BYTES + 64 * 1024) /* fences, temporaries and results besides */
#define RING_FENCE_BYTES 32                                 /* at least, before and behind each value */
#define RING_ARRAY_FENCE 256                                /* at least, before and behind each array */
#define RING_FRONT_FENCE (16 << 10) /* before the first value, when there are arrays */
#define RING_GUARD_BYTES (4 << 20)  /* memory around arrays in workers that is not there for them */

/* The end of the arena once more, for results of ranks that do not wait for each other (ring_job.sure). */
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
#define RING_WAITERS 0x80000000u /* with RING_POSTED: somebody sleeps on the word */

enum operand_place {
    OPERAND_ARENA,       /* offset from the arena, as the worker has mapped it */
    OPERAND_AREA,        /* index of an area of the segment */
    OPERAND_NUMBER,      /* the number itself: a hidden length */
    OPERAND_QUERY,       /* index of a queried work array */
    OPERAND_SECTION,     /* index of a section */
    OPERAND_TEXTS,       /* index of an array of strings */
    OPERAND_CALLBACK,    /* index of a callback */
    OPERAND_PATH,        /* index of a file: the routine gets its path */
    OPERAND_PATH_LENGTH, /* index of a file: characters of its path, a hidden length of Fortran */
    OPERAND_STATE,       /* what the worker keeps between calls; 0: itself, 1: its address */
    /* of ranks that compute together (sed/mpi/prd.h) */
    OPERAND_PART,         /* index of a part */
    OPERAND_INTO,         /* index of a part: memory like it, whose contents take its place */
    OPERAND_DESCRIPTOR,   /* index of a part */
    OPERAND_COMMUNICATOR, /* 0: MPI_Comm, 1: the address of its Fortran handle */
    OPERAND_CONTEXT       /* 0: the address of the BLACS context; by value in C */
};

struct ring_operand {
    uint64_t value; /* offset, index or number */
    uint32_t place; /* enum operand_place */
    uint32_t unused;
};

/* The system of equations that the call solves: what the worker or ranks need to look at the solution. */
struct ring_system {
    uint32_t wanted;                /* 0: nobody looks, and the rest means nothing */
    uint32_t matrix, rhs, solution; /* the parameters that pass them; of ranks: the parts */
    uint32_t pointers, indices;     /* of csc and csr */
    uint32_t times;                 /* the factor of the right-hand sides; SOLVES_NOTHING: 1 */
    uint8_t type;                   /* enum base_type, of all three arrays and the factor */
    uint8_t pointer_type, index_type;
    uint8_t base;
    uint8_t fits; /* only that the solution is finite is looked at */
    struct system_shape shape;
};

/* An array of numbers that a solver reads or writes, whose system nobody looks at. */
struct ring_result {
    uint32_t parameter, argument; /* of ranks: the part in place of the parameter */
    uint8_t type;                 /* enum base_type */
    uint8_t goes_in, comes_back;
    uint64_t count;
};

/* Descriptors that come with one job: the session's segment, and memory of data. */
#define RING_MAX_DESCRIPTORS (1 + 2 * PROBLEM_MAX_ARGUMENTS)
#define RING_NO_SOURCE       UINT32_MAX

/* One argument in the session's segment or in a datum's memory, mapped by itself with guards around it. */
struct ring_area {
    uint64_t offset, bytes;
    uint32_t argument;
    uint8_t writable, lazy;
    uint8_t blank;   /* it is 0 before the call, whatever is there */
    uint32_t file;   /* which descriptor; RING_NO_SOURCE: none, memory of the worker's own */
    uint32_t source; /* the one it is filled from before the call, or RING_NO_SOURCE */
    uint64_t source_offset;
    uint32_t source_in_pieces, element_bytes; /* then the value lies there so: */
    struct block_cyclic_matrix source_layout;
};

/* A work array whose size the routine is asked for first: the worker gives it memory. */
struct ring_query {
    uint32_t size, array; /* the parameters that pass them */
    uint32_t argument;
    uint8_t size_type, array_type; /* enum base_type */
    uint64_t least;                /* elements that will do */
};

/* An array of which only some elements came: the worker gives it memory, with the others 0. */
struct ring_section {
    struct section section;
    struct ring_operand elements; /* OPERAND_ARENA or OPERAND_AREA */
    uint32_t argument;
    uint8_t goes_in, comes_back;
};

/* An array of strings: the routine gets an array of pointers, or of CHARACTER(width). */
struct ring_texts {
    struct ring_operand value; /* what came (core/problem/texts.h): OPERAND_ARENA or OPERAND_AREA */
    uint64_t bytes;            /* of it */
    uint64_t n;
    uint64_t width; /* of Fortran's elements, filled up with blanks; 0: pointers */
    uint32_t argument;
    uint8_t goes_in, comes_back;
};

/* A datum that ranks take their parts from, or put them in. */
struct ring_pieces {
    uint32_t there;
    uint32_t file; /* which descriptor */
    uint64_t offset;
    struct block_cyclic_matrix layout;
    struct job_key name; /* of the value among ranks on other hosts (envoys_name()); none: it has none */
    uint32_t laid;       /* under that name it was there before, in this layout: */
    struct block_cyclic_matrix before;
};

/* An array that is distributed over the ranks of a process grid. */
struct ring_part {
    struct block_cyclic_matrix layout;
    struct ring_operand whole;   /* OPERAND_ARENA or OPERAND_AREA, where one of these is not there: */
    struct ring_pieces from, to; /* `to` has the layout of the part: the result is made where it will lie */
    uint32_t argument, element_bytes;
    uint8_t goes_in, comes_back;
    uint8_t blank;  /* nothing goes in of an array that is read by other calls: it is 0 before this one */
    uint8_t into;   /* the result is in memory of its own */
    uint8_t vector; /* every rank of a row (or column) of the grid has a copy of its elements */
};

/* A function of the caller: the worker makes one that asks. */
struct ring_callback {
    uint32_t argument;
    uint8_t fortran, returns;
    uint32_t n_outer;                   /* so many of its last arguments are scalars of the problem, */
    uint64_t outer[CALLBACK_MAX_OUTER]; /* whose raw elements these are */
    char text[RING_CALLBACK_TEXT];      /* its signature, as a problem */
};

/* One argument's way to a command and back, or a file's to a routine. */
struct ring_file {
    struct ring_operand operand; /* OPERAND_NUMBER: a result whose length is not known */
    uint64_t bytes;              /* of the value */
    int64_t dims[PROBLEM_MAX_DIMS];
    uint32_t n_dims;
    uint32_t argument;
    uint8_t type;   /* enum base_type */
    uint8_t format; /* enum value_format */
    uint8_t stream; /* enum command_stream */
    uint8_t goes_in, comes_back, row_major;
    char name[COMMAND_MAX_FILE_NAME + 10]; /* STREAM_FILE; files of an array have .1, .2, ... behind it */
};

#define RING_MAX_WORDS 4096 /* of a command, with those that arrays of strings and files become */
#define RING_MAX_FILES (2 * PROBLEM_MAX_ARGUMENTS)

/* A program to be run in place of a routine. */
struct ring_command {
    uint32_t n_words;            /* 0: it is a routine */
    uint64_t words, words_bytes; /* in the arena, one behind the other, each with its final 0 */
    char program[SIGNATURE_MAX_PATH];
};

struct ring_job {
    uint32_t n_descriptors; /* that come over the socket */
    uint32_t timed;         /* the answer says cpu_ns */
    uint32_t n_areas;
    uint64_t segment_bytes;
    uint64_t result_offset; /* where the function's result goes, in the arena */
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
    struct process_grid grid; /* rows 0: it is no parallel job */
    uint32_t first_rank;      /* of the consecutive ones in the grid, */
    uint32_t apart;           /* some of which are on other hosts */
    uint32_t beside;     /* ranks behind them that only send what they keep of data (sed/mpi/prd_moves.c) */
    uint32_t sure;       /* none of them can fail before it enters the routine: nobody waits, and what is put
                          * back goes to `results`, as others may not have looked at the arena yet */
    uint32_t front, end; /* of what of the arena is filled */
    uint64_t bays;       /* those that are used, a bit each, */
    uint32_t bay_arguments[BAYS];        /* and what for */
    char checkpoint[SIGNATURE_MAX_PATH]; /* file for the state of the routine; "": it saves none */
    uint64_t checkpoint_number;          /* of the one that is there; 0: none */
    uint32_t n_callbacks;
    struct ring_callback callbacks[RING_MAX_CALLBACKS];
    struct ring_area areas[PROBLEM_MAX_ARGUMENTS];
    struct ring_operand operands[SIGNATURE_MAX_PARAMETERS];
    struct call_signature signature;
    struct ring_command command;
    uint32_t n_files, fortran_files; /* paths are Fortran's: filled up with blanks, without a final 0 */
    uint64_t output_bytes;           /* that one output of a command, or file of a routine, may have */
    struct ring_file files[RING_MAX_FILES];
};

/* What is known of a solver's results. */
struct ring_verdict {
    uint32_t is_wrong;     /* the solution was looked at, and is wrong: */
    double backward_error; /* NaN: elements of it are not finite, though all of the system are */
    double condition;      /* not 0: the matrix is nearly singular, its condition number is at least that */
    uint32_t is_spoilt;    /* an element of a solver's result is not finite, though all inputs are: */
    uint32_t spoilt_argument;
    uint64_t spoilt_element;
};

enum answer_kind {
    ANSWER_NONE,
    ANSWER_RETURNED,  /* the routine returned */
    ANSWER_ILLEGAL,   /* it returned, but said that one of its arguments is illegal (xerbla) */
    ANSWER_UNABLE,    /* it was not called: library, symbol or segment; `text` says why */
    ANSWER_SIGNALLED, /* it crashed with the signal `code` */
    ANSWER_EXITED,    /* it called exit(code) */
    ANSWER_KILLED,    /* the command was killed by the signal `code` */
    ANSWER_STOPPED,   /* the command was killed by the worker; `trouble` says why */
    ANSWER_NO_TEXT,   /* it returned, and `argument` is no array of texts: `trouble` */
    ANSWER_CALLBACK,  /* a callback failed, and the worker has ended; `text` says why */
    ANSWER_STRAYED /* it returned, and wrote right beside an argument in the segment: `place`, `argument` */
};

enum fault_place { FAULT_ELSEWHERE, FAULT_BEHIND, FAULT_BEFORE, FAULT_INSIDE, FAULT_ARENA, FAULT_STACK };

struct ring_answer {
    uint32_t kind;     /* enum answer_kind */
    int32_t code;      /* signal, exit code (of a command: its status) or number of the illegal parameter */
    uint64_t address;  /* that the crash was about */
    uint32_t place;    /* enum fault_place, of the address */
    uint32_t argument; /* that the address is behind, before or inside */
    uint32_t access;   /* 1: a read, 2: a write, 0: not known */
    uint32_t alone;    /* the crashed process had no other thread that could still write */
    uint64_t compute_ns, cpu_ns, waited_ns;
    uint64_t peak_bytes;                  /* of a command: memory of the largest of its processes */
    uint64_t refused_bytes, memory_bytes; /* that it could not allocate (0: none), that it may in all */
    char text[RING_ANSWER_TEXT]; /* ANSWER_UNABLE, ANSWER_CALLBACK: the reason; ANSWER_ILLEGAL: the routine's
                                  * name; of a command: the end of its standard error */
    char trouble[256]; /* what is wrong with what a command has written, or with a file of a routine; "":
                        * nothing */
    struct ring_verdict verdict;
    uint32_t keeps;     /* the routine has left a state behind */
    uint32_t n_outputs; /* results that come over the socket, each a struct ring_output */
};

/* Comes with the descriptor of a file that holds the result. */
struct ring_output {
    uint32_t argument;
};

/* What the routine asks of a function of the caller, and the answer. The worker writes the question before
 * it counts `asked` up, the daemon the answer before it sets `answered` to that. */
struct ring_question {
    _Atomic uint32_t asked;
    _Atomic uint32_t answered; /* futex */
    uint32_t argument, bytes;
    uint32_t status, answer_bytes; /* enum esp_status; other than ESP_OK: `data` says why */
    _Alignas(CALLBACK_ALIGNMENT) unsigned char data[CALLBACK_MOST_BYTES];
};

/* Ranks that have one job count themselves here: none calls the routine before all can, none answers before
 * the last is through. */
struct ring_gang {
    _Atomic uint32_t prepared, unable;
    _Atomic uint32_t starved;    /* not 0: who was unable first had no memory left */
    _Atomic uint32_t touched;    /* not 0: what the call was given may have been written over */
    _Atomic uint32_t left;       /* those that have not done with it */
    _Atomic uint64_t compute_ns; /* in the routine, of the slowest */
    _Atomic uint32_t refuser;    /* 1 + the place of the first one that could not allocate what it wanted, and
                                  * has returned; 0: none */
    _Atomic uint64_t refused;    /* bytes that it could not; 0: not told yet */
    _Atomic uint32_t strayed;    /* 1 + the argument beside whose part a rank has written; 0: none */
};

struct ring {
    _Alignas(64) _Atomic uint32_t request; /* counts jobs; futex */
    _Atomic uint32_t sleeping;             /* the worker waits in the futex */
    _Atomic uint32_t poster;               /* the processor on which the last job was posted */
    _Alignas(64) _Atomic uint32_t reply;   /* RING_*; futex */
    _Atomic uint32_t attended;             /* threads of the daemon that watch `reply` */
    _Alignas(64) _Atomic uint32_t ready;   /* the worker has started up */
    _Atomic uint32_t taken;                /* the request that it has begun */
    _Atomic double progress;               /* that the routine has told; below 0: none */
    _Atomic uint64_t saved;                /* number of the last checkpoint; 0: none */
    _Atomic uint64_t kept; /* bytes that the worker kept after its last call, when it ends for that */
    struct ring_gang gang;
    struct ring_answer answer;
    struct ring_job job;
    struct ring_question question;
    _Alignas(64) unsigned char results[RING_RESULTS_BYTES];
    _Alignas(4096) unsigned char arena[RING_ARENA_BYTES];
    _Alignas(BAY_LEAST_BYTES) unsigned char bays[BAYS_BYTES]; /* memory that no call uses is never there */
};

/* The daemon has bays right behind the arena, the worker each behind a guard. Bytes from the arena's
 * beginning on: */
#define RING_ROOM_BYTES (RING_ARENA_BYTES + BAYS_BYTES)                       /* in the daemon */
#define RING_REACH      (RING_ROOM_BYTES + BAYS * (uint64_t)RING_GUARD_BYTES) /* in the worker */
static inline uint64_t ring_bay_there(uint32_t bay)
{
    return RING_ARENA_BYTES + bay_offset(bay) + (bay + 1) * (uint64_t)RING_GUARD_BYTES;
}
/* In the daemon: byte `offset` < RING_ROOM_BYTES of arena and bays. */
static inline unsigned char *ring_room(struct ring *ring, uint64_t offset)
{
    return (unsigned char *)ring + offsetof(struct ring, arena) + offset;
}
static inline const unsigned char *ring_room_read(const struct ring *ring, uint64_t offset)
{
    return (const unsigned char *)ring + offsetof(struct ring, arena) + offset;
}
/* In the worker: the value of an OPERAND_ARENA, or NULL when so many bytes there are none of the ring's. */
static inline void *ring_value(struct ring *ring, const struct ring_operand *operand, uint64_t bytes)
{
    if (bytes > RING_REACH || operand->value > RING_REACH - bytes)
        return NULL;
    return ring_room(ring, operand->value);
}

/* Makes a ring as a memory file of its own, mapped here. The caller owns both (close, ring_unmap). */
enum esp_status ring_create(struct ring **ring, int *fd, struct esp_error *error);
/* Maps it in a worker, with guard regions behind the arena and each bay. NULL when the system refuses
 * (errno). */
struct ring *ring_map_guarded(int fd);
void ring_unmap(struct ring *ring);

/* For the daemon: how far the routine has said it is, from 0 to 1; -1: it has not. One that scribbled over
 * the ring may have left anything there. */
double ring_progress(const struct ring *ring);
/* For the routine: notes what is outside as the nearest of the two, and NaN not at all. */
void ring_tell_progress(struct ring *ring, double fraction);

/* Sleeps while *word == value, at most until `until_ns` (CLOCK_MONOTONIC; CLOCK_NEVER: for ever).
 * Returns for any reason or none. */
void ring_sleep(_Atomic uint32_t *word, uint32_t value, int64_t until_ns);
void ring_wake(_Atomic uint32_t *word);

/* For the daemon: sleeps until `reply` has the answer to that request, until `until_ns`, or a little less.
 * Somebody else may collect the answer, and the next job be posted, before this thread has seen anything:
 * waiting on for that one would hold back a reply that is long ready, so it looks ten times a second whose
 * turn it is. */
void ring_await_answer(struct ring *ring, uint32_t request, int64_t until_ns);
/* Says that the answer is in the ring; `bell` is the eventfd for whom nobody watches. False: it is closed.
 * Async-signal-safe. */
bool ring_reply(struct ring *ring, int bell);
/* What a loop that waits for a word of the ring does between two looks. */
static inline void ring_pause(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("isb");
#endif
}

/* Looks for `bytes` damaged in the fence [from, from + bytes): the offset of the first, or -1. */
int64_t ring_fence_damage(const unsigned char *from, uint64_t bytes);
void ring_fence_write(unsigned char *from, uint64_t bytes);

#endif
