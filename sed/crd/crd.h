/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of espalier-crd: the parts of a worker process. A worker is single-threaded, except for
 * threads of its routines and one that populates memory in advance (crd_ahead.c), and belongs to one
 * daemon. */
#ifndef SED_CRD_H
#define SED_CRD_H

#include "sed/crd/invoke.h"
#include "sed/pool/ring.h"
#include "sed/crd/spawner.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- libraries and symbols (crd_library.c) ---- */

/* Returns the symbol's address, from a library that stays loaded; `folder` is searched first.
 * ESP_NOT_FOUND with the loader's text, or naming library and symbol. */
enum esp_status library_symbol(const char *folder, const char *library, const char *symbol,
                               void (**routine)(void), struct esp_error *error);
/* Loads the library, which is never unloaded. */
enum esp_status library_load(const char *folder, const char *library, struct esp_error *error);
bool library_is_loaded(const char *folder, const char *library);
/* Gets the file of a loaded library. False: the loader does not say. */
bool library_file(const char *folder, const char *library, char *path, size_t size);
/* Sets the number of threads of every BLAS that is loaded, now or later. Never in a process that forks
 * later. */
void library_set_threads(unsigned threads);

/* ---- checks before there is a server (crd.c) ---- */

/* ---- whether loaded files have changed on disk (crd_watch.c) ---- */

/* Starts watching this file, or those of all loaded libraries, in their present state. */
void watch_file(const char *path);
void watch_loaded(void);
/* Returns a watched file that has changed; NULL: none. */
const char *watch_changed(void);

/* ---- a session's segment (crd_areas.c) ---- */

/* A mapped argument: whole pages with guards of RING_GUARD_BYTES on both sides. */
struct area {
    char *pages; /* NULL: not mapped */
    size_t page_bytes;
    char *data;
    uint64_t bytes;
    uint32_t argument;
    bool writable, lazy;
    bool own; /* anonymous memory, not of a file */
};

#define AREAS_MAX (2 * PROBLEM_MAX_ARGUMENTS) /* those of the segment, and added ones */

/* The thread that populates memory ahead of the routine (crd_ahead.c). */
struct ahead {
    pthread_t thread;
    bool runs;
    atomic_bool stop;
    uint32_t n; /* number of areas when it started */
};

struct areas {
    uint32_t n;
    struct area items[AREAS_MAX];
    struct ahead ahead;
};

/* Populates the pages of mapped areas, in their order: of small ones at once, of large ones while the
 * routine runs. */
void ahead_begin(struct areas *areas);
/* Stops that thread, wherever it is. */
void ahead_end(struct areas *areas);

/* Maps the areas of the job from its files, and fills those with a source. ESP_SYSTEM, ESP_INTERNAL. */
enum esp_status areas_map(const struct ring_job *job, const int *files, uint32_t n_files, struct areas *areas,
                          struct esp_error *error);
void areas_unmap(struct areas *areas);
/* Returns the area in whose unused part of the pages the routine has written; *before says on which side.
 * NULL: none. Writes farther away hit the guards. */
const struct area *areas_find_damage(const struct areas *areas, bool *before);
/* Lets routines read the guards, because BLAS kernels read ahead: for processes without the handlers of
 * crd_faults.c, which permit that. ESP_SYSTEM. */
enum esp_status areas_let_read(const struct areas *areas, struct esp_error *error);
/* Maps fresh memory of that many bytes with guards around it. ESP_SYSTEM, ESP_LIMIT. */
enum esp_status areas_add(struct areas *areas, uint32_t argument, uint64_t bytes, struct esp_error *error);
/* Returns the bytes of added areas. */
uint64_t areas_own_bytes(const struct areas *areas);

/* Maps a range of a file whose pages also contain other data: no fences are written around it. ESP_SYSTEM,
 * ESP_LIMIT, ESP_INTERNAL. */
enum esp_status areas_share(struct areas *areas, uint32_t argument, int file, uint64_t offset, uint64_t bytes,
                            bool writable, struct esp_error *error);
/* Fills the part of the rank at (row, col) of layout `to` from a datum in pieces. */
enum esp_status areas_take(int file, const struct ring_pieces *from, const struct block_cyclic_matrix *to,
                           int64_t row, int64_t col, void *part, int64_t leading, uint32_t element_bytes,
                           struct esp_error *error);

/* ---- recurring ranges of files (crd_recurring.c) ---- */

/* Call it with each mapping, at `data` (pages_reserve()), of these bytes of a file, while no other thread
 * of this process uses it: converts a few pages of a recurring range to large ones. Returns whether it
 * tried. */
bool recurring_pages(int file, uint64_t offset, void *data, uint64_t bytes);

/* ---- the time of a call without competitors (crd_time.c) ---- */

struct rusage;
struct own_time {
    int64_t clock_ns, cpu_ns;
    long left, taken_off; /* context switches of this thread: voluntary and involuntary */
};

void own_time_begin(struct own_time *begun);
/* Returns the processor time of this process since then; *waited is the time that this thread waited
 * voluntarily. */
int64_t own_time_since(const struct own_time *begun, int64_t *waited);
/* Returns only the processor time, limited by the elapsed time. */
int64_t own_time_computed(const struct own_time *begun);
int64_t own_time_clock(const struct own_time *begun);
/* Like own_time_since(), for a process that has ended, including children that it waited for; it existed
 * for that long, which limits the result. */
int64_t own_time_of(const struct rusage *usage, int64_t clock_ns, int64_t *waited);

/* ---- work arrays whose size the routine returns (crd_query.c) ---- */

/* Sets operands[] of the queries to memory for the first element, and of their sizes to -1. */
void query_begin(const struct ring_job *job, void **operands);
/* After the routine was called with these: allocates each array with the size that it returned (at least
 * the least size in the description, which suffices if there is not more memory), and passes the size.
 * ESP_SYSTEM. */
enum esp_status query_end(const struct ring_job *job, void **operands, struct areas *areas,
                          struct esp_error *error);

/* ---- whether a solution solves its system (crd_system.c) ---- The residual is projected on random signs,
 * so that a matrix which the routine overwrites need not be copied: for a vector v of signs, v'(B - A X) =
 * v'B - (A'v)'X, of which v'B and A'v are computed before the call. (R. Freivalds, Probabilistic machines
 * can use less running time, IFIP Congress 1977.) */

#define SYSTEM_LOOKS 2 /* vectors of signs */

/* A rank's part of an array that is distributed over a grid. */
struct system_part {
    const struct block_cyclic_matrix *layout;
    int64_t row, col; /* the rank's place in the layout */
    int64_t leading;  /* elements between columns */
    const char *data;
    bool counts; /* false: another rank has the same elements, and counts them */
};

/* One of several ranks that check a system together. */
struct system_parts {
    struct system_part matrix, rhs, solution;
    bool is_first; /* this rank counts elements of no part */
    /* Replaces each of the n values by the sum, or the largest one, over all ranks. All ranks call it at
     * the same time. */
    void (*agree)(const struct system_parts *parts, double *values, int64_t n, bool adds);
    void *arg;
};

struct system_look {
    bool looks;
    double *seen;   /* owned: for each vector of signs A'v, then v'B, as complex numbers */
    double norm;    /* largest row sum of the matrix; times 2^-scale */
    int scale;      /* the matrix is multiplied by 2^-scale to avoid overflow */
    double *b_norm; /* of each right-hand side; in the memory of `seen` */
    /* The largest elements of columns of the matrix, and of right-hand sides, after scaling rows so that
     * their largest elements are 1. */
    double *column_size; /* owned */
    double *rhs_size;    /* in the memory of `column_size` */
    /* After the call, in the same memory. */
    double *norms, *conditions; /* of each solution */
    double *is_spoilt;          /* 1: an element of a solution is not finite; stored after the conditions */
    double *sums;               /* room for projections on the vectors of signs */
};

/* Before the call: computes the projections of the matrix and the right-hand sides. Without memory nothing
 * is checked. `parts`: NULL, or this rank's parts of the arrays, instead of operands. */
void system_look_begin(const struct ring_job *job, void *const *operands, const struct system_parts *parts,
                       struct system_look *look);
/* After the call: whether the solution is wrong; *backward_error is NaN when it is not finite. *condition:
 * a lower bound of the condition number of the matrix, after scaling rows and columns, if no digit of the
 * solution is reliable; 0: it may be smaller. Frees. */
bool system_look_end(const struct ring_job *job, void *const *operands, const struct system_parts *parts,
                     struct system_look *look, double *backward_error, double *condition);

/* Before the call of a solver whose solution is not checked: ignores results that are not finite
 * beforehand, and all of them when an input is not. */
void results_look_begin(struct ring_job *job, void *const *operands);
/* Returns the index of the first of n numbers that is NaN, or infinite unless that is allowed; -1: none. */
int64_t results_first_bad(enum base_type type, const void *memory, int64_t n, bool allows_infinity);
/* After the call: whether an element of a result is not finite: NaN, or infinite where an input is
 * overwritten. */
bool results_look_end(const struct ring_job *job, void *const *operands, uint32_t *argument,
                      uint64_t *element);

/* ---- arrays with sections (crd_values.c) ---- */

/* Allocates each array, as areas, and puts the received elements into place. memory[i] is that of section
 * i. ESP_SYSTEM, ESP_INTERNAL. */
enum esp_status sections_begin(struct ring *ring, struct areas *areas, void **memory,
                               struct esp_error *error);
/* After the routine returned: gathers the elements that travel back. */
void sections_end(struct ring *ring, const struct areas *areas, void *const *memory);

/* ---- arrays of strings (crd_values.c) ---- */

/* Makes for each an array of pointers, as areas, to the received texts. memory[i] is that of array i. */
enum esp_status texts_begin(struct ring *ring, struct areas *areas, void **memory, struct esp_error *error);
/* After the routine returned: sends the texts that the pointers lead to now, and frees those that the
 * routine has allocated. False: answer.trouble and answer.argument say what is wrong. */
bool texts_end(struct ring *ring, const struct areas *areas, int socket, void *const *memory);

/* Writes a routine's text including its 0, without crashing on an invalid address. False: there is no such
 * memory, or no 0 within `most` bytes. */
bool text_write(int fd, const char *text, uint64_t most, uint64_t *length);

/* Sends a file with a result of variable length. */
bool worker_send_output(struct ring *ring, int socket, uint32_t argument, int fd);

/* ---- the worker's own memory (crd_memory.c) ---- */

/* From now on the process may allocate that many bytes (0: unlimited), not counting arguments. False: the
 * system refuses (errno). */
bool memory_bound(uint64_t bytes);
/* Sets the limit of a process that is limited in routines only: between memory_enter(), with the bytes of
 * arguments that do not count, and memory_leave(), which returns the result of memory_refused(). */
bool memory_bound_routines(uint64_t bytes);
void memory_enter(uint64_t more);
uint64_t memory_leave(void);
/* Returns how many bytes the process has more than at the limit's start; measures more exactly when these
 * seem more than `most`. Takes 10 us. */
uint64_t memory_kept(uint64_t most);
void memory_begin_call(void);
/* Whether an allocation of a megabyte or more was made in this call. */
bool memory_was_large(void);
/* Returns the size of the last failed allocation in this call; 0: none. *most: the limit. Any thread;
 * async-signal-safe. */
uint64_t memory_refused(uint64_t *most);

/* ---- callbacks (crd_callback.c) ---- */

void callback_install(struct ring *ring, int bell);
/* Returns the address of callback `index` of the job, valid until the next job. NULL: *error has the
 * reason. */
void *callback_address(uint32_t index, struct esp_error *error);

/* ---- crashes, exits, illegal arguments (crd_faults.c) ---- */

/* Installs handlers for the signals of crashes, with their own stack, and for exit(). Inside a call, they
 * write what happened into the ring; outside, the process just ends. Never undone. */
void faults_install(struct ring *ring, const struct areas *areas, int bell);
/* Installs the handlers again if a routine has replaced them. */
void faults_renew(void);
void faults_enter_call(void);
void faults_leave_call(void);
/* Returns the first illegal argument reported to xerbla since faults_enter_call(); 0: none. */
int faults_illegal(const char **routine);

/* Announces that the answer is in the ring. Async-signal-safe. */
void worker_reply(struct ring *ring, int bell);

/* ---- functions for routines (crd_service.c) ---- */

void service_install(struct ring *ring);

/* ---- the life of a worker (crd_worker.c) ---- */

struct worker_descriptors {
    int socket; /* receives segments */
    int ring;
    int bell;   /* eventfd: for answers that no thread waits for */
    int output; /* pipe, non-blocking: standard output and error */
    int folder; /* its private directory */
};

/* Serves calls until it is killed. The descriptors are renumbered; all others are closed. */
_Noreturn void worker_run(const struct worker_descriptors *descriptors, const struct spawner_setup *setup);
/* Ends the process before its first call; prints the reason (errno), which reaches the server's log and
 * the call that waits for a worker. */
_Noreturn void worker_cannot_begin(int output, const char *what);

/* ---- the spawner (spawner.c) ---- */

/* Serves the daemon at `socket` until it closes. Returns the exit code. */
int spawner_run(int socket);

#endif
