/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside espalier-prd, the parallel resource daemon: one rank of the MPI job of a server. It waits for calls
 * on its own channel, not in MPI, so that it takes no processor time while there are none.
 */
#ifndef SED_MPI_PRD_H
#define SED_MPI_PRD_H

#include "sed/crd/crd.h"
#include "sed/mpi/redistribute.h"
#include "sed/ranks/rank_board.h"
#include "sed/ranks/rank_far.h"

#include <mpi.h>

/* ---- process grids (prd_grid.c) ---- */

/* Consecutive ranks as a grid, with this one's place in it. Kept from call to call. */
struct rank_grid {
    uint32_t first, rows, cols;
    int row, col;
    MPI_Comm communicator;
    int handle;  /* of the communicator in Fortran */
    int context; /* of the BLACS */
    struct rank_grid *next;
};

/* Called by all ranks of the grid, and by no others. ESP_FAILED with MPI's words. */
enum esp_status rank_grid_find(uint32_t first, uint32_t rows, uint32_t cols, const struct rank_grid **grid,
                               struct esp_error *error);

/* ---- our own way between the ranks of a communicator (prd_way.c) ---- */

struct rank_way;

/* All ranks at the same time; kept with the communicator. NULL: there is no memory on this one. */
struct rank_way *rank_way_of(MPI_Comm communicator);
/* 0, or an errno: the worst of those that all ranks of it say. */
int rank_way_worst(const struct rank_way *way, int mine);
/* Those `bytes` of every rank, one behind the other. */
int rank_way_gather(const struct rank_way *way, const void *mine, size_t bytes, void *all);
/* Carries out the redistribution by the plan that is best for it: all ranks, unless the `status` of one is
 * not 0. An errno otherwise; then parts hold anything. */
int rank_way_move(const struct rank_way *way, const struct redistribution *what,
                  const struct mpi_parts *parts, int status);

/* ---- parts of data that a rank on another host keeps (prd_kept.c) ---- */

/* In memory files of their own, between calls and in them. Calls are one thread's; those of the rank's porter
 * only find what is whole, hold it and let it go. */
struct kept {
    struct job_key name; /* of the datum, as the daemon tells it */
    struct block_cyclic_matrix layout;
    int64_t row, col; /* place in its grid */
    uint32_t element_bytes;
    uint64_t bytes;
    int file;
    char *data;       /* the part, by columns without gaps */
    unsigned holders; /* who need it now */
    bool whole;       /* it is the part; else it is being filled */
    struct kept *prev, *next;
};

/* Which part of which datum. */
struct kept_part {
    struct job_key name; /* of the datum, as the daemon tells it */
    const struct block_cyclic_matrix *layout;
    int64_t row, col;
    uint32_t element_bytes;
};

/* So much may be kept. */
void kept_begin(uint64_t bytes);
/* Who has it from these holds it until kept_let(). NULL: it is not there. */
struct kept *kept_find(const struct kept_part *part);
/* Any piece of a datum in pieces of that layout, and whose. */
struct kept *kept_find_piece(struct job_key name, const struct block_cyclic_matrix *layout,
                             uint32_t element_bytes, int64_t *rank);
/* Memory for it, to be filled by who says then kept_filled(); what is let go of before is forgotten.
 * NULL: there is no room for it, or the datum has no name. */
struct kept *kept_make(const struct kept_part *part, uint64_t bytes);
/* It is the part from now on. */
void kept_filled(struct kept *kept);
/* NULL is nothing to do. */
void kept_let(struct kept *kept);
/* What is whole, for porters of other servers that know its name; and room for what the daemon wants to be
 * fetched from there. */
struct porter_keeper;
extern const struct porter_keeper kept_keeper;

/* ---- parts of distributed arrays (prd_parts.c) ---- */

struct rank_part {
    char *data, *into;           /* `into`: NULL, or memory of the same size that the result is in */
    struct kept *input, *result; /* far: where it is kept, or is to be; NULL: nowhere */
    bool in_place;               /* far: `data` shows what is kept of the input */
    int descriptor[9];
    int64_t row, col; /* this rank's place in the layout */
    int64_t leading;  /* elements between columns */
    uint64_t bytes;   /* of each of the two */
};

/* Gives each part of the job its memory (areas, or kept memory when it is small), filled from the whole
 * array, which `whole` finds by its operand, or from a datum in one of the files that came with the job. What
 * lies as the call wants it is used where it is. Those of `later`, a bit each, of data, are left to
 * parts_fill(). ESP_SYSTEM, ESP_LIMIT name the argument that does not fit.
 */
enum esp_status parts_begin(const struct ring_job *job, const struct rank_grid *grid, const int *files,
                            uint32_t n_files, uint64_t later, struct areas *areas,
                            char *(*whole)(void *arg, const struct ring_operand *operand), void *arg,
                            struct rank_part *parts, struct esp_error *error);
enum esp_status parts_fill(const struct ring_job *job, const int *files, uint64_t which,
                           const struct rank_part *parts, struct esp_error *error);
/* The same without filling it, far: `data` and `into` are memory of this rank's own. What it keeps of data
 * is found; who calls lets go of `input` and `result`, also of those of a failure (parts that are not begun
 * have none). */
enum esp_status parts_make(const struct ring_job *job, const struct rank_grid *grid, struct areas *areas,
                           struct rank_part *parts, struct esp_error *error);
/* Elements of the part, without gaps between columns. */
uint64_t part_element_bytes(const struct ring_part *of, const struct rank_part *part);
/* Puts this rank's elements of what comes back to their places in the whole arrays. */
void parts_end(const struct ring_job *job, const struct rank_grid *grid,
               char *(*whole)(void *arg, const struct ring_operand *operand), void *arg,
               const struct rank_part *parts);

/* The argument beside one of whose small parts something was written; -1: none. Areas have guards. */
int64_t parts_find_damage(const struct ring_job *job, const struct rank_part *parts);

/* ---- how fast it is (prd_measure.c, prd_kernels.c) ---- */

/* Called by all ranks at the same time; some tens of milliseconds. All find the same: a grid is as fast as
 * its slowest rank. What cannot be measured is 0: all of it where each says that it is `known`. */
void rank_measure(struct parallel_speed *speed, bool known);
/* The kernels of it (services/fast/fit.h makes polynomials of what each takes), and column_s. */
void rank_measure_kernels(struct parallel_speed *speed);

/* ---- a call (prd_call.c) ---- */

/* Layouts that a value may be there in: the datum's, and the one that it was laid from. */
#define MOVE_WAYS 2

/* A piece of one of them that a rank on another host keeps, and holds while others may want it. */
struct rank_offered {
    struct kept *kept;
    int64_t piece; /* its number; -1: none */
};

struct rank_state {
    struct ring *ring; /* shared with the daemon, or (far) this rank's own */
    bool far;          /* the daemon is on another host */
    const struct rank_grid *grid;
    uint32_t place; /* among the ranks of the grid; 0: the first */
    struct areas areas;
    uint32_t shared_areas;   /* of them: arrays that all ranks see */
    char *memory[AREAS_MAX]; /* of each shared area, as this rank's call sees it */
    struct rank_part parts[PROBLEM_MAX_ARGUMENTS];
    struct rank_offered offered[PROBLEM_MAX_ARGUMENTS][MOVE_WAYS];
    uint64_t moved;                        /* of these, a bit each: other ranks have sent them */
    unsigned char arena[RING_ARENA_BYTES]; /* own copies of the small values */
    /* what came of it */
    struct esp_error why; /* this rank could not make the call; ESP_OK: it could */
    uint64_t compute_ns;
    uint64_t refused_bytes; /* that the routine could not allocate; 0: none */
    int64_t strayed;        /* the argument beside whose part was written, or -1 */
    struct ring_verdict verdict;
};

/* Makes the call in the ring together with the other ranks of its grid, and answers when it is the last.
 * Others may still be in the routine when it returns: rank_wait() keeps their messages going. */
void rank_call(struct ring *ring, uint32_t rank, const int *descriptors, uint32_t n_descriptors, int bell);

/* The same where the daemon is on another host, whose envoy has sent the job into `ring`, which is this
 * rank's own. False: the connection is lost. */
bool rank_call_far(struct ring *ring, uint32_t rank, int socket);

/* ---- whether what the ranks have computed is right (prd_look.c) ---- */

struct rank_look {
    struct system_parts parts;
    struct system_look system;
    uint32_t n_results;
    double bad[PROBLEM_MAX_ARGUMENTS]; /* not 0: of that result an element was not finite before the call */
};

/* Before and after the call of the routine: all ranks of the grid at the same time. All find the same. */
void rank_look_begin(const struct rank_state *state, void *const *operands, struct rank_look *look);
void rank_look_end(const struct rank_state *state, void *const *operands, struct rank_look *look,
                   struct ring_verdict *verdict);

/* ---- data laid otherwise by the ranks (prd_moves.c) ---- */

/* Where ranks are on several hosts: the parts of the job, a bit each, that may come from other ranks of its
 * grid, or from those beside it, which keep pieces of the datum in another layout, or see them in the
 * daemon's memory. All ranks find the same. */
uint64_t moves_of(const struct ring_job *job);
/* Holds what this rank keeps of them, before there is room made for anything else; moves_make() lets go. */
void moves_hold(struct rank_state *state);
/* Moves what ranks on other hosts lack of these, as far as ranks of the grid have all of its pieces: all of
 * them at the same time, also those that cannot make the call (`can`). `files` are the call's (NULL: far).
 * state->moved tells what has come. */
void moves_make(struct rank_state *state, uint64_t which, const int *files, bool can);

/* ---- what its routines may have (prd_memory.c) ---- */

/* From now on they are bound as the server says. */
void rank_memory_begin(void);
/* After a call: how much they have kept, where that is too much, else 0. `own`: bytes that are there for the
 * call's arguments. Looks after calls that have asked for much, and seldom after others. */
uint64_t rank_keeps(uint64_t own);

/* ---- the arguments of a far call (prd_far_call.c) ---- */

/* Has the envoy send them into memory of this rank's own, unless there is none: then ESP_SYSTEM or ESP_LIMIT,
 * and it sends nothing. *lost: the connection is. */
enum esp_status far_take(struct rank_state *state, int socket, bool *lost, struct esp_error *error);
/* The call has ended: of what it took and gave nothing is held any more. */
void far_let_go(struct rank_state *state, bool returned);
/* Says what came of the call, with this rank's results when the routine has `returned`. False: it is lost. */
bool far_give_back(const struct rank_state *state, int socket, bool returned);

/* ---- a daemon on another host (prd_far.c) ---- */

/* Its connections: of the envoy, and of the rank's pulse, or -1. */
struct far_lines {
    int calls, pulse;
};

/* Connects to it, and each proves to the other that it belongs there. False: *error says why not. */
bool far_connect(const char *at, uint32_t rank, uint32_t size, struct far_lines *lines,
                 struct esp_error *error);
/* Sends back what came over the connection of the pulse. False: it is lost. */
bool far_beat(int pulse);
/* Measures how fast the rank is, then serves calls until the connection ends. */
void far_serve(int socket, uint32_t rank);
/* All of these bytes to the envoy. Several belong together from far_hold() to far_let(). False: it is lost.
 */
bool far_say(int socket, const void *data, uint64_t bytes);
void far_hold(void);
void far_let(void);
/* How it ends, unless something else is just being said. Also in a handler of signals. */
void far_say_end(int socket, const struct rank_message *last);

/* ---- what routines find in it (prd_service.c) ---- */

/* From now on esp_progress() tells of the call in that ring; `socket`: to its envoy, -1: the daemon sees the
 * ring. Until service_end(), after which nothing is written to either any more. */
void service_begin(struct ring *ring, int socket);
void service_end(void);

/* ---- its end (prd_end.c) ---- */

/* From now on the daemon at the other end of the socket, or (far) the envoy, is told how this process ends,
 * before it does. After MPI_Init(), which catches signals too. */
void rank_tells_its_end(int socket, bool far);
/* Ends at once, as the daemon wants it. */
_Noreturn void rank_end_as_told(void);

/* ---- between calls (prd_wait.c) ---- */

/* Where a rank stands. */
struct rank_post {
    struct rank_board *board;
    uint32_t rank, taken;  /* calls so far */
    struct ring *last;     /* of the last call, or NULL */
    uint32_t last_request; /* that it was */
    bool in_stream;        /* the last call came soon after the one before */
    unsigned shy;          /* calls to go without looking for them */
    unsigned shyness;      /* how many those were last time */
    unsigned found;        /* calls found by looking since then */
};

/* Waits for the next call: the number of its ring. */
uint32_t rank_wait(struct rank_post *post);

#endif
