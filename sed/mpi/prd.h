/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of espalier-prd, the parallel resource daemon: one rank of a server's MPI job. It waits for
 * calls on its own channel, not in MPI, so that it uses no processor time while there are none. */
#ifndef SED_MPI_PRD_H
#define SED_MPI_PRD_H

#include "sed/crd/crd.h"
#include "sed/mpi/redistribute.h"
#include "sed/ranks/rank_board.h"
#include "sed/ranks/rank_far.h"

#include <mpi.h>

/* ---- process grids (prd_grid.c) ---- */

/* Consecutive ranks as a grid, with this rank's place in it. Kept between calls. */
struct rank_grid {
    uint32_t first, rows, cols;
    int row, col;
    MPI_Comm communicator;
    int handle;  /* of the communicator in Fortran */
    int context; /* the BLACS context */
    struct rank_grid *next;
};

/* Called by all ranks of the grid, and by no others. ESP_FAILED with MPI's text. */
enum esp_status rank_grid_find(uint32_t first, uint32_t rows, uint32_t cols, const struct rank_grid **grid,
                               struct esp_error *error);

/* ---- our own communication between the ranks of a communicator (prd_way.c) ---- */

struct rank_way;

/* All ranks call it at the same time; the result is cached with the communicator. NULL: no memory on this
 * rank. */
struct rank_way *rank_way_of(MPI_Comm communicator);
/* Returns 0, or an errno: the worst of all ranks' values. */
int rank_way_worst(const struct rank_way *way, int mine);
/* Gathers these `bytes` of every rank, one after the other. */
int rank_way_gather(const struct rank_way *way, const void *mine, size_t bytes, void *all);
/* Executes the redistribution by its best plan, on all ranks, unless a rank's `status` is not 0. Returns
 * an errno in that case or on failure; the parts are undefined then. */
int rank_way_move(const struct rank_way *way, const struct redistribution *what,
                  const struct mpi_parts *parts, int status);

/* ---- cache of data parts on a rank on another host (prd_kept.c) ---- */

/* In separate memory files, between and during calls. Calls run on one thread; the threads of the rank's
 * porter only find complete parts, hold and release them. */
struct kept {
    struct job_key name; /* of the datum, from the daemon */
    struct block_cyclic_matrix layout;
    int64_t row, col; /* place in its grid */
    uint32_t element_bytes;
    uint64_t bytes;
    int file;
    char *data;       /* the part, by columns without gaps */
    unsigned holders; /* users now */
    bool whole;       /* it is complete; else it is being filled */
    struct kept *prev, *next;
};

/* Identifies a part of a datum. */
struct kept_part {
    struct job_key name; /* of the datum, from the daemon */
    const struct block_cyclic_matrix *layout;
    int64_t row, col;
    uint32_t element_bytes;
};

/* Sets the limit of the cache. */
void kept_begin(uint64_t bytes);
/* Returns a part, which the caller holds until kept_let(). NULL: it is not there. */
struct kept *kept_find(const struct kept_part *part);
/* Returns any piece of a datum in pieces with that layout, and its rank. */
struct kept *kept_find_piece(struct job_key name, const struct block_cyclic_matrix *layout,
                             uint32_t element_bytes, int64_t *rank);
/* Allocates memory for a part, to be filled by the caller, who then calls kept_filled(); if released
 * before, it is dropped. NULL: there is no room for it, or the datum has no name. */
struct kept *kept_make(const struct kept_part *part, uint64_t bytes);
/* Marks the part as complete. */
void kept_filled(struct kept *kept);
/* NULL is ignored. */
void kept_let(struct kept *kept);
/* Complete parts, for porters of other servers that know their names; and room for parts that the daemon
 * orders to be fetched. */
struct porter_keeper;
extern const struct porter_keeper kept_keeper;

/* ---- parts of distributed arrays (prd_parts.c) ---- */

struct rank_part {
    char *data, *into;           /* `into`: NULL, or memory of the same size for the result */
    struct kept *input, *result; /* on another host: the cached part, present or future; NULL: none */
    bool in_place;               /* on another host: `data` is the cached input itself */
    int descriptor[9];
    int64_t row, col; /* this rank's place in the layout */
    int64_t leading;  /* elements between columns */
    uint64_t bytes;   /* of each of the two */
};

/* Allocates each part of the job (areas, or permanent memory when it is small), and fills it from the
 * whole array, which `whole` finds by its operand, or from a datum in one of the job's files. Data with
 * the wanted layout are used in place. Parts in `later`, a bit each, are filled by parts_fill().
 * ESP_SYSTEM, ESP_LIMIT name the argument that does not fit. */
enum esp_status parts_begin(const struct ring_job *job, const struct rank_grid *grid, const int *files,
                            uint32_t n_files, uint64_t later, struct areas *areas,
                            char *(*whole)(void *arg, const struct ring_operand *operand), void *arg,
                            struct rank_part *parts, struct esp_error *error);
enum esp_status parts_fill(const struct ring_job *job, const int *files, uint64_t which,
                           const struct rank_part *parts, struct esp_error *error);
/* Like parts_begin(), without filling, on another host: `data` and `into` are this rank's own memory.
 * Finds cached parts; the caller releases `input` and `result`, also after a failure (parts that were not
 * started have none). */
enum esp_status parts_make(const struct ring_job *job, const struct rank_grid *grid, struct areas *areas,
                           struct rank_part *parts, struct esp_error *error);
/* Returns the bytes of the part's elements, without gaps between columns. */
uint64_t part_element_bytes(const struct ring_part *of, const struct rank_part *part);
/* Puts this rank's elements of the results into the whole arrays. */
void parts_end(const struct ring_job *job, const struct rank_grid *grid,
               char *(*whole)(void *arg, const struct ring_operand *operand), void *arg,
               const struct rank_part *parts);

/* Returns the argument (-1: none) that has a small part next to which the routine wrote. Areas have guards
 * instead. */
int64_t parts_find_damage(const struct ring_job *job, const struct rank_part *parts);

/* ---- measurements (prd_measure.c, prd_kernels.c) ---- */

/* Called by all ranks at the same time; takes some tens of milliseconds. All get the same result, because
 * a grid is as fast as its slowest rank. Quantities that cannot be measured are 0: all of them if each
 * rank says `known`. */
void rank_measure(struct parallel_speed *speed, bool known);
/* Measures the kernels (services/fast/fit.h fits polynomials to their times), and column_s. */
void rank_measure_kernels(struct parallel_speed *speed);

/* ---- a call (prd_call.c) ---- */

/* Layouts in which a value may be present: the datum's, and that of the datum it was redistributed from. */
#define MOVE_WAYS 2

/* A cached piece of a rank on another host, which it holds while others may need it. */
struct rank_offered {
    struct kept *kept;
    int64_t piece; /* its number; -1: none */
};

struct rank_state {
    struct ring *ring; /* shared with the daemon, or, on another host, this rank's own */
    bool far;          /* the daemon is on another host */
    const struct rank_grid *grid;
    uint32_t place; /* within the grid; 0: the first */
    struct areas areas;
    uint32_t shared_areas;   /* number of arrays that all ranks share */
    char *memory[AREAS_MAX]; /* of each shared area, as mapped by this rank */
    struct rank_part parts[PROBLEM_MAX_ARGUMENTS];
    struct rank_offered offered[PROBLEM_MAX_ARGUMENTS][MOVE_WAYS];
    uint64_t moved;                        /* parts, a bit each, that other ranks have sent */
    unsigned char arena[RING_ARENA_BYTES]; /* own copies of the small values */
    /* what came of it */
    struct esp_error why; /* why this rank could not make the call; ESP_OK: it could */
    uint64_t compute_ns;
    uint64_t refused_bytes; /* that the routine could not allocate; 0: none */
    int64_t strayed;        /* the argument beside whose part it wrote, or -1 */
    struct ring_verdict verdict;
};

/* Makes the call in the ring together with the other ranks of its grid; the last rank answers. Other ranks
 * may still be in the routine when it returns: rank_wait() keeps serving their messages. */
void rank_call(struct ring *ring, uint32_t rank, const int *descriptors, uint32_t n_descriptors, int bell);

/* Like rank_call(), for a daemon on another host, whose envoy has sent the job into `ring`, which is this
 * rank's own. False: the connection is lost. */
bool rank_call_far(struct ring *ring, uint32_t rank, int socket);

/* ---- checking the ranks' results (prd_look.c) ---- */

struct rank_look {
    struct system_parts parts;
    struct system_look system;
    uint32_t n_results;
    double bad[PROBLEM_MAX_ARGUMENTS]; /* not 0: an element of that result was not finite before the call */
};

/* Called before and after the routine by all ranks of the grid at the same time. All get the same result. */
void rank_look_begin(const struct rank_state *state, void *const *operands, struct rank_look *look);
void rank_look_end(const struct rank_state *state, void *const *operands, struct rank_look *look,
                   struct ring_verdict *verdict);

/* ---- redistribution of data among the ranks (prd_moves.c) ---- */

/* For ranks on several hosts: returns the parts of the job, a bit each, that may come from other ranks of
 * the grid, or outside it, which have pieces of the datum in another layout in their cache, or access to
 * the daemon's memory. All ranks get the same result. */
uint64_t moves_of(const struct ring_job *job);
/* Holds this rank's cached pieces of them, before room is made for other parts; moves_make() releases
 * them. */
void moves_hold(struct rank_state *state);
/* Moves the missing pieces of these parts to ranks on other hosts, if the ranks of the grid together have
 * all of them. All ranks call it at the same time, even those that cannot make the call (`can`). `files`
 * are the call's (NULL: on another host). state->moved says what has arrived. */
void moves_make(struct rank_state *state, uint64_t which, const int *files, bool can);

/* ---- memory of routines (prd_memory.c) ---- */

/* Applies the server's limits from now on. */
void rank_memory_begin(void);
/* After a call: returns how much memory routines have kept if that exceeds the limit, else 0. `own`: bytes
 * allocated for the call's arguments. Checks after calls with large allocations, and rarely after others. */
uint64_t rank_keeps(uint64_t own);

/* ---- arguments of a call from another host (prd_far_call.c) ---- */

/* Lets the envoy send them into this rank's memory, unless there is no room: then ESP_SYSTEM or ESP_LIMIT,
 * and it sends nothing. *lost: the connection is lost. */
enum esp_status far_take(struct rank_state *state, int socket, bool *lost, struct esp_error *error);
/* The call has ended: releases the cached parts that it used. */
void far_let_go(struct rank_state *state, bool returned);
/* Sends the outcome of the call, with this rank's results when the routine has `returned`. False: the
 * connection is lost. */
bool far_give_back(const struct rank_state *state, int socket, bool returned);

/* ---- a daemon on another host (prd_far.c) ---- */

/* Connections to a daemon on another host: of the envoy, and of the heartbeat, or -1. */
struct far_lines {
    int calls, pulse;
};

/* Connects to it, with mutual authentication. False: *error has the reason. */
bool far_connect(const char *at, uint32_t rank, uint32_t size, struct far_lines *lines,
                 struct esp_error *error);
/* Returns the bytes of the heartbeat connection. False: it is lost. */
bool far_beat(int pulse);
/* Measures the rank's speed, then serves calls until the connection ends. */
void far_serve(int socket, uint32_t rank);
/* Sends all of these bytes to the envoy. Several calls from far_hold() to far_let() make one message.
 * False: the connection is lost. */
bool far_say(int socket, const void *data, uint64_t bytes);
void far_hold(void);
void far_let(void);
/* Sends how it ends, unless a message is just being sent. Also in a signal handler. */
void far_say_end(int socket, const struct rank_message *last);

/* ---- functions for routines (prd_service.c) ---- */

/* From now on esp_progress() reports for the call in that ring; `socket`: to its envoy, -1: the daemon
 * sees the ring. Until service_end(), after which neither is written to. */
void service_begin(struct ring *ring, int socket);
void service_end(void);

/* ---- its end (prd_end.c) ---- */

/* From now on this process reports its end, before it ends, to the daemon at the other end of the socket,
 * or (far) the envoy. Call it after MPI_Init(), which installs signal handlers too. */
void rank_tells_its_end(int socket, bool far);
/* Ends at once, as the daemon has ordered. */
_Noreturn void rank_end_as_told(void);

/* ---- between calls (prd_wait.c) ---- */

/* State of a rank between calls. */
struct rank_post {
    struct rank_board *board;
    uint32_t rank, taken;  /* calls so far */
    struct ring *last;     /* of the last call, or NULL */
    uint32_t last_request; /* that it was */
    bool in_stream;        /* the last call came soon after the one before */
    unsigned shy;          /* calls to go without polling */
    unsigned shyness;      /* their number the last time */
    unsigned found;        /* calls found by polling since then */
};

/* Waits for the next call; returns the number of its ring. */
uint32_t rank_wait(struct rank_post *post);

#endif
