/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside espalier-crd: the parts of a worker process. A worker is single-threaded but for what its routines
 * start and a thread that goes before them (crd_ahead.c), and belongs to one daemon.
 */
#ifndef SED_CRD_H
#define SED_CRD_H

#include "sed/crd/invoke.h"
#include "sed/pool/ring.h"
#include "sed/crd/spawner.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- libraries and symbols (crd_library.c) ---- */

/* The symbol's address, from a library that stays loaded; `folder` is searched first. ESP_NOT_FOUND with the
 * loader's words, or naming library and symbol. */
enum esp_status library_symbol(const char *folder, const char *library, const char *symbol,
                               void (**routine)(void), struct esp_error *error);
/* Loads it, for good. */
enum esp_status library_load(const char *folder, const char *library, struct esp_error *error);
bool library_is_loaded(const char *folder, const char *library);
/* The file that a loaded library came from. False: the loader does not tell. */
bool library_file(const char *folder, const char *library, char *path, size_t size);
/* Gives every BLAS that is loaded, and will be, this many threads. Never in a process that forks later. */
void library_set_threads(unsigned threads);

/* ---- looking before there is a server (crd.c) ---- */

/* ---- whether what is loaded is still what is on disk (crd_watch.c) ---- */

/* From now on this file, or those of all that is loaded, are watched: as they are now. */
void watch_file(const char *path);
void watch_loaded(void);
/* A watched file that is not as it was; NULL: none. */
const char *watch_changed(void);

/* ---- a session's segment (crd_areas.c) ---- */

/* An argument as it is mapped: guards of RING_GUARD_BYTES on both sides of whole pages. */
struct area {
    char *pages; /* NULL: not mapped */
    size_t page_bytes;
    char *data;
    uint64_t bytes;
    uint32_t argument;
    bool writable, lazy;
    bool own; /* memory of the process, and not of a file */
};

#define AREAS_MAX (2 * PROBLEM_MAX_ARGUMENTS) /* those of the segment, and those that are added */

/* The thread that goes before the routine (crd_ahead.c). */
struct ahead {
    pthread_t thread;
    bool runs;
    atomic_bool stop;
    uint32_t n; /* of the areas, how many were there when it began */
};

struct areas {
    uint32_t n;
    struct area items[AREAS_MAX];
    struct ahead ahead;
};

/* Makes the pages of mapped areas present, in their order: of small ones at once, of large ones beside the
 * routine. */
void ahead_begin(struct areas *areas);
/* Ends that thread, wherever it is. */
void ahead_end(struct areas *areas);

/* Maps the areas of the job from the files that came with it, and fills those that have a source. ESP_SYSTEM,
 * ESP_INTERNAL. */
enum esp_status areas_map(const struct ring_job *job, const int *files, uint32_t n_files, struct areas *areas,
                          struct esp_error *error);
void areas_unmap(struct areas *areas);
/* The area around whose data the routine has written, in what is left of its pages; *before tells the side.
 * NULL: none. What lies farther away is the guards' to notice. */
const struct area *areas_find_damage(const struct areas *areas, bool *before);
/* Lets routines read in the guards, as the kernels of BLAS read ahead: for processes without the handlers of
 * crd_faults.c, which let that pass. ESP_SYSTEM. */
enum esp_status areas_let_read(const struct areas *areas, struct esp_error *error);
/* Maps fresh memory of so many bytes with guards around it. ESP_SYSTEM, ESP_LIMIT. */
enum esp_status areas_add(struct areas *areas, uint32_t argument, uint64_t bytes, struct esp_error *error);
/* Bytes of those. */
uint64_t areas_own_bytes(const struct areas *areas);

/* Maps a range of a file whose pages hold what is others' too: no fences are written around it. ESP_SYSTEM,
 * ESP_LIMIT, ESP_INTERNAL. */
enum esp_status areas_share(struct areas *areas, uint32_t argument, int file, uint64_t offset, uint64_t bytes,
                            bool writable, struct esp_error *error);
/* Fills the part of the rank at (row, col) of layout `to` from a datum in pieces, wherever these lie. */
enum esp_status areas_take(int file, const struct ring_pieces *from, const struct block_cyclic_matrix *to,
                           int64_t row, int64_t col, void *part, int64_t leading, uint32_t element_bytes,
                           struct esp_error *error);

/* ---- ranges of files that come again (crd_recurring.c) ---- */

/* To be told of each mapping, at `data` (pages_reserve()), of these bytes of a file, while none is in use by
 * another thread of this process: of a range that has come before, it
 * has a few pages more made large. Whether it tried. */
bool recurring_pages(int file, uint64_t offset, void *data, uint64_t bytes);

/* ---- what a call takes by itself (crd_time.c) ---- */

struct rusage;
struct own_time {
    int64_t clock_ns, cpu_ns;
    long left, taken_off; /* switches of this thread: by itself, and by the kernel */
};

void own_time_begin(struct own_time *begun);
/* Processor time of this process since then, and (*waited, alone) the time in which this thread waited by
 * itself. */
int64_t own_time_since(const struct own_time *begun, int64_t *waited);
/* The processor time alone, and the time by the clock. */
int64_t own_time_computed(const struct own_time *begun);
int64_t own_time_clock(const struct own_time *begun);
/* The same as own_time_since() of a process that has ended, with those that it has waited for, which was
 * there for so long; not more than that. */
int64_t own_time_of(const struct rusage *usage, int64_t clock_ns, int64_t *waited);

/* ---- work arrays whose size the routine tells (crd_query.c) ---- */

/* Sets operands[] of the queries to memory for the first element, and of their sizes to -1. */
void query_begin(const struct ring_job *job, void **operands);
/* After the routine was called with these: gives each array memory of the size it told (at least what the
 * description says, which will do when there is not more), and its size to the routine. ESP_SYSTEM. */
enum esp_status query_end(const struct ring_job *job, void **operands, struct areas *areas,
                          struct esp_error *error);

/* ---- whether a solution solves its system (crd_system.c) ----
 * The residual is seen through random signs, so that a matrix which the routine overwrites need not be
 * copied: for a vector v of signs, v'(B - A X) = v'B - (A'v)'X, of which v'B and A'v are formed before the
 * call. (R. Freivalds, Probabilistic machines can use less running time, IFIP Congress 1977.) */

#define SYSTEM_LOOKS 2 /* vectors of signs */

/* What a rank has of an array that is distributed over a grid. */
struct system_part {
    const struct block_cyclic_matrix *layout;
    int64_t row, col; /* the rank's place in the layout */
    int64_t leading;  /* elements between columns */
    const char *data;
    bool counts; /* false: another rank has the same elements, and counts them */
};

/* One of several ranks that look at a system together. */
struct system_parts {
    struct system_part matrix, rhs, solution;
    bool is_first; /* this rank counts what belongs to no part */
    /* Each of the n values becomes the sum, or the largest one, of the values of all ranks. All ranks call it
     * at the same time. */
    void (*agree)(const struct system_parts *parts, double *values, int64_t n, bool adds);
    void *arg;
};

struct system_look {
    bool looks;
    double *seen;   /* owned: for each vector of signs A'v, then v'B, in complex numbers */
    double norm;    /* of the matrix, by rows; times 2^-scale */
    int scale;      /* the matrix is taken times 2^-scale, so that nothing overflows */
    double *b_norm; /* of each right-hand side; in the memory of `seen` */
    /* The largest elements of columns of the matrix, and of right-hand sides, where rows are scaled so that
     * their largest elements are 1. */
    double *column_size; /* owned */
    double *rhs_size;    /* in the memory of `column_size` */
    /* After the call, in that memory too. */
    double *norms, *conditions; /* of each solution */
    double *is_spoilt;          /* 1: an element of a solution is not finite; behind the conditions */
    double *sums;               /* room for what the vectors of signs see */
};

/* Before the call: what the matrix and the right-hand sides are like. Without memory nobody looks. `parts`:
 * NULL, or what this rank has of the arrays, in place of operands. */
void system_look_begin(const struct ring_job *job, void *const *operands, const struct system_parts *parts,
                       struct system_look *look);
/* After it: whether the solution is wrong; *backward_error is NaN when it is not finite. *condition: the
 * condition number of the matrix, whose rows and columns are scaled, is at least that, so that no digit of
 * the solution is sure; 0: it may be smaller. Frees. */
bool system_look_end(const struct ring_job *job, void *const *operands, const struct system_parts *parts,
                     struct system_look *look, double *backward_error, double *condition);

/* Before the call of a solver whose solution is not looked at: drops results that are not finite before, and
 * all of them when an input is not. */
void results_look_begin(struct ring_job *job, void *const *operands);
/* The first of n numbers that is NaN, or infinite unless that is allowed; -1: there is none. */
int64_t results_first_bad(enum base_type type, const void *memory, int64_t n, bool allows_infinity);
/* After it: whether an element of a result is not finite: NaN, or infinite where an input is overwritten. */
bool results_look_end(const struct ring_job *job, void *const *operands, uint32_t *argument,
                      uint64_t *element);

/* ---- arrays of which only a section came (crd_values.c) ---- */

/* Gives each its memory, as areas, and puts the elements that came to their places. memory[i] is that of
 * section i. ESP_SYSTEM, ESP_INTERNAL. */
enum esp_status sections_begin(struct ring *ring, struct areas *areas, void **memory,
                               struct esp_error *error);
/* After the routine returned: gathers the elements that come back. */
void sections_end(struct ring *ring, const struct areas *areas, void *const *memory);

/* ---- arrays of strings (crd_values.c) ---- */

/* Gives each an array of pointers, as areas, to the texts that came. memory[i] is that of array i. */
enum esp_status texts_begin(struct ring *ring, struct areas *areas, void **memory, struct esp_error *error);
/* After the routine returned: hands over the texts that the pointers lead to now, and frees those that the
 * routine has allocated. False: answer.trouble and answer.argument say what is wrong. */
bool texts_end(struct ring *ring, const struct areas *areas, int socket, void *const *memory);

/* Writes a text of a routine up to and with its 0, which an address that leads nowhere does not crash. False:
 * there is no such memory, or no 0 within `most` bytes. */
bool text_write(int fd, const char *text, uint64_t most, uint64_t *length);

/* Hands over a file with a result whose length the daemon does not know. */
bool worker_send_output(struct ring *ring, int socket, uint32_t argument, int fd);

/* ---- memory of a worker's own (crd_memory.c) ---- */

/* From now on the process may have so many bytes more than it has (0: any amount), arguments not counted.
 * False: the system refuses (errno). */
bool memory_bound(uint64_t bytes);
/* The same for a process that is bound in routines only: between memory_enter(), with so many bytes of
 * arguments that do not count, and memory_leave(), which returns what memory_refused() would have. */
bool memory_bound_routines(uint64_t bytes);
void memory_enter(uint64_t more);
uint64_t memory_leave(void);
/* Bytes that it has more than then; looks closer when these seem more than `most`. Takes 10 us. */
uint64_t memory_kept(uint64_t most);
void memory_begin_call(void);
/* Whether anything of a megabyte or more was asked for in this call. */
bool memory_was_large(void);
/* The size of the allocation that was refused last, in this call; 0: none was. *most: the bound. Any thread;
 * async-signal-safe. */
uint64_t memory_refused(uint64_t *most);

/* ---- functions of the caller (crd_callback.c) ---- */

void callback_install(struct ring *ring, int bell);
/* The address of callback `index` of the job, valid until its next job. NULL: *error says why. */
void *callback_address(uint32_t index, struct esp_error *error);

/* ---- crashes, exits, illegal arguments (crd_faults.c) ---- */

/* Takes over the signals of crashes, on a stack of their own, and exit(). What happens inside a call is
 * written into the ring; outside one the process just ends. Never undone. */
void faults_install(struct ring *ring, const struct areas *areas, int bell);
/* Installs the handlers again where a routine has put its own. */
void faults_renew(void);
void faults_enter_call(void);
void faults_leave_call(void);
/* The first illegal argument that xerbla was told of since faults_enter_call(); 0: none. */
int faults_illegal(const char **routine);

/* Says that the answer is in the ring. Async-signal-safe. */
void worker_reply(struct ring *ring, int bell);

/* ---- what routines may call (crd_service.c) ---- */

void service_install(struct ring *ring);

/* ---- the life of a worker (crd_worker.c) ---- */

struct worker_descriptors {
    int socket; /* segments come over it */
    int ring;
    int bell;   /* eventfd: answers that nobody watches for */
    int output; /* pipe, not blocking: standard output and error */
    int folder; /* its private directory */
};

/* Serves calls until it is killed. The descriptors are renumbered; all others are closed. */
_Noreturn void worker_run(const struct worker_descriptors *descriptors, const struct spawner_setup *setup);
/* Ends the process before its first call; the reason (errno), which is printed, reaches the server's log and
 * the call that waits for a worker. */
_Noreturn void worker_cannot_begin(int output, const char *what);

/* ---- the spawner (spawner.c) ---- */

/* Serves the daemon at `socket` until it closes. Returns the exit code. */
int spawner_run(int socket);

#endif
