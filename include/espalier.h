/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier.h: what Espalier offers a client program beyond the GridRPC standard (grpc.h).
 *
 * All functions may be called from any thread. No function prints, exits or touches signals (but for SIGSEGV,
 * and what a look at a lost result does, of sequences). Functions that return an esp_status leave a text
 * behind for esp_last_error() when they fail; outside grpc_initialize() .. grpc_finalize() those that need a
 * connection fail with ESP_INVALID.
 *
 * What a function hands out through a pointer to a pointer is the caller's, in one piece, and goes back to
 * the *_free() function named with it, which takes NULL.
 */
#ifndef ESPALIER_H
#define ESPALIER_H

#include "grpc.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* What a function of Espalier can come back with. The numbers are part of the contract on the wire:
 * they never change, new ones are added at the end. */
enum esp_status {
    ESP_OK = 0,
    ESP_INVALID = 1,         /* an argument of the call is wrong (the text says which and why) */
    ESP_SYNTAX = 2,          /* a file or text is malformed (the text says file:line) */
    ESP_NO_MEMORY = 3,       /* memory is exhausted, or the call can never fit the server's limit */
    ESP_SYSTEM = 4,          /* the operating system refused something (the text has its words) */
    ESP_NOT_FOUND = 5,       /* a file, session, datum or node does not exist */
    ESP_UNKNOWN_PROBLEM = 6, /* no server can solve it: none is missing */
    ESP_NO_SERVER = 7,       /* none that may solve it takes it, or is reached, now */
    ESP_UNREACHABLE = 8,     /* nobody answered; surely nothing was executed */
    ESP_MAYBE = 9,           /* the connection broke in the middle: executed, or not */
    ESP_TIMEOUT = 10,        /* the deadline passed */
    ESP_REFUSED = 11,        /* the other side declined (policy, drained, identity) */
    ESP_LIMIT = 12,          /* a configured cap was reached */
    ESP_VERSION = 13,        /* the other side speaks another version of the contract */
    ESP_STALE = 14,          /* the message was meant for an earlier incarnation of the node */
    ESP_FAILED = 15,         /* the routine itself reported a failure (LAPACK's info, an exit code) */
    ESP_CRASHED = 16,        /* the routine crashed, exited or was killed */
    ESP_CANCELLED = 17,      /* cancelled on request */
    ESP_PENDING = 18,        /* not finished yet */
    ESP_PROTOCOL = 19,       /* a message that the contract does not allow */
    ESP_SECURITY = 20,       /* TLS, certificate or permission */
    ESP_CONFIG = 21,         /* a configuration file or option is wrong */
    ESP_INTERNAL = 22,       /* a fault of Espalier itself: please report it */
    ESP_BUSY = 23,           /* what is needed is in use now: the same may succeed later */
    ESP_INACCURATE = 24      /* the routine returned a solution that does not solve its system */
};

/* The status and a text for people: what was expected, what was found, where. */
struct esp_error {
    enum esp_status status;
    char text[2048]; /* may have several lines */
};

/* A short constant English text for the status, never NULL ("deadline passed"). */
const char *esp_status_string(enum esp_status status);

/* What went wrong in the last call of a function of grpc.h or espalier.h that failed in this thread (and has
 * a text); status ESP_OK and "" when none has. Valid until the thread calls the next one. Never NULL. */
const struct esp_error *esp_last_error(void);

/* ---- begin ---- */

struct esp_options {
    const char *config; /* configuration file; NULL: as grpc_initialize(NULL) searches, none found: none */
    const char *redirector; /* "host:port" or "host", in place of what the file says; NULL: as it says */
    const char *agent;      /* "host:port" or "host" of a master agent: no redirector is asked; NULL: none */
    double call_timeout_s;  /* for each single remote call, at most, and for the patience with silent nodes
                             * when  a handle is made; 0: as the file says */
    int call_timeout_wins;  /* not 0: call_timeout_s also where the file says less, for who moves data and is
                             * ready to wait for room, or for a slow link; and at most so long for servers
                             * and agents that are gone and may come back */
    int servers_only; /* without redirector and agents, whatever the file says: for who asks servers whose
                       * addresses are known, as jobs know theirs; what needs an agent is ESP_CONFIG */
};

/* grpc_initialize() for programs that have addresses of their own. NULL: all as the file says.
 * ESP_INVALID: already initialized; ESP_NOT_FOUND, ESP_SYNTAX, ESP_CONFIG: the file, or it names neither
 * redirector nor agents. grpc_finalize() ends it. */
enum esp_status esp_initialize(const struct esp_options *options);

/* ---- problems ---- */

#define ESP_MAX_DIMS      7
#define ESP_MAX_ARGUMENTS 64

enum esp_mode { ESP_MODE_IN, ESP_MODE_OUT, ESP_MODE_INOUT };

enum esp_type {
    ESP_TYPE_ANY = 0, /* in a call: the caller does not say */
    ESP_TYPE_CHAR,
    ESP_TYPE_SHORT,
    ESP_TYPE_INT,   /* int32_t */
    ESP_TYPE_LONG,  /* int64_t */
    ESP_TYPE_INT64, /* int64_t */
    ESP_TYPE_FLOAT,
    ESP_TYPE_DOUBLE,
    ESP_TYPE_COMPLEX,        /* float complex */
    ESP_TYPE_DOUBLE_COMPLEX, /* double complex */
    ESP_TYPE_STRING,
    ESP_TYPE_FILE,
    ESP_TYPE_STATE,   /* what a server keeps for later calls: its identity, a text, passed as strings are */
    ESP_TYPE_CALLBACK /* a function of the caller, passed by its address (see esp_callback_fail()) */
};
/* As descriptions write it ("double"), never NULL; and the bytes of one element (0: string, file, any). */
const char *esp_type_name(enum esp_type type);
size_t esp_type_size(enum esp_type type);

enum esp_property {
    ESP_PROPERTY_UPPER = 1 << 0,
    ESP_PROPERTY_LOWER = 1 << 1,
    ESP_PROPERTY_SYMMETRIC = 1 << 2,
    ESP_PROPERTY_POSITIVE_DEFINITE = 1 << 3,
    ESP_PROPERTY_ROW_MAJOR = 1 << 4,
    ESP_PROPERTY_UNIT_DIAGONAL = 1 << 5,
    ESP_PROPERTY_HERMITIAN = 1 << 7,
    ESP_PROPERTY_FINITE = 1 << 8 /* NaN and infinity are refused */
};

/* One argument as callers pass it. */
struct esp_problem_argument {
    const char *name;
    const char *text; /* one line for people, or "" */
    enum esp_mode mode;
    enum esp_type type;
    unsigned properties;            /* enum esp_property, a set */
    unsigned n_dims;                /* 0: a scalar (strings and files are scalars) */
    const char *dims[ESP_MAX_DIMS]; /* expressions over scalar inputs, as text: "n", "max(1,n)" */
    const char *initial;            /* default of an input that may be left out, or NULL */
    const char *storage;            /* "packed(uplo)", "banded(kl, ku)", "csc(Ap, Ai)": what of a matrix is
                                     * stored, if not all; or "" */
    const char *callback;           /* what a callback takes and gives: "(in double x): double"; or NULL */
    const char *count;              /* how many of the last dimension come back, or NULL: all */
    const char *section;            /* "[n:0,n - 1,2]": the dimensions with start, end and skip of the
                                     * elements that travel (the array is passed whole); or "": all do */
    const char *unread;             /* the calls that do not read an inout array: what is in it is not sent
                                     * then; or NULL: all do */
    const char *index;              /* "index(n)", "signed-index(n)": each integer of an input array is from 1
                                     * to n, or from -1 to -n; or NULL */
    int follows; /* an input that may be left out: it has a default, or follows from the extents of arrays, or
                  * (pointers and indices of a compressed matrix, widths of a band) from the matrix that the
                  * caller compresses or packs */
};

/* A problem's signature. Work arrays are not shown: callers do not pass them. */
struct esp_problem {
    const char *name;
    const char *title;                /* one line */
    const char *text;                 /* more for people, or "" */
    const char *gams;                 /* GAMS class, or "" */
    const char *source;               /* the description itself */
    const char *const *preconditions; /* as text: "n >= 0" */
    size_t n_preconditions;
    const char *work;   /* floating point operations as an expression, or NULL */
    const char *memory; /* bytes beyond the arguments as an expression, or NULL */
    int idempotent;     /* a repetition is harmless: it may be tried on another server when one dies */
    uint64_t digest;    /* equal digests mean equal signatures */
    unsigned servers;   /* that have it */
    const struct esp_problem_argument *arguments;
    size_t n_arguments;
};

/* The signature of a problem as the hierarchy has it. ESP_UNKNOWN_PROBLEM, ESP_UNREACHABLE, ... */
enum esp_status esp_problem_describe(const char *name, struct esp_problem **problem);
void esp_problem_free(struct esp_problem *problem);

struct esp_problem_entry {
    const char *name;
    const char *title;
    const char *gams;
    uint64_t digest;
    unsigned servers;
};

/* All problems of the hierarchy in the order of their names, below whichever master agent. Behind the last of
 * them is an entry without a name, whose title is "", or tells which master agents did not answer: what is
 * below those is not in the list. What is disabled on all servers that have it has no servers, and a title
 * that says where that is. ESP_UNREACHABLE: none of them answered. */
enum esp_status esp_problem_list(struct esp_problem_entry **entries, size_t *n);
void esp_problem_list_free(struct esp_problem_entry *entries);

/* ---- memory that need not be copied ----
 *
 * Arrays in memory of esp_alloc() that are large arguments of a call, or its results, are used where they are
 * by a server that runs on the same host as the same user; with any other server they are as all others. The
 * array of a result begins where esp_alloc() said and is as long as it was asked for. After a fork() the
 * memory is shared with the child. */

/* Zeroed memory, at a multiple of 8 bytes; NULL, and errno, without it. Goes back by esp_free() only. */
void *esp_alloc(size_t bytes);
/* No call may be using it. NULL is nothing to do; ESP_INVALID: it did not come from esp_alloc(), or went back
 * already. */
enum esp_status esp_free(void *memory);

/* ---- data that live on servers ----
 *
 * A datum is an array with an identity, "SERVER:32 hexadecimal digits", which names the server that made it
 * and which nobody can guess. It never changes; a result that overwrites it is another one. */

enum esp_data_mode {
    ESP_DATA_VOLATILE,          /* may be dropped when memory is short */
    ESP_DATA_PERSISTENT,        /* on the server's disk before it is acknowledged; never dropped */
    ESP_DATA_PERSISTENT_RETURN, /* the same; of results: a copy comes back too */
    ESP_DATA_STICKY,            /* persistent, and never moves to another server (copies may be made) */
    ESP_DATA_STICKY_RETURN
};

/* How a matrix lies in pieces, one for each rank of a process grid: block-cyclic, as ScaLAPACK has it. Ranks
 * are numbered row by row, the first has the first block; each piece is stored by columns without gaps. */
struct esp_data_layout {
    unsigned rows, cols;          /* of the grid; 0: the matrix is in one piece */
    int64_t row_block, col_block; /* rows and columns of a block */
};

/* Which elements of a matrix are there, and in which order: a result that stays is as its problem has it. */
enum esp_data_storage {
    ESP_DATA_FULL,         /* all of them */
    ESP_DATA_PACKED_UPPER, /* of one triangle, as LAPACK packs it */
    ESP_DATA_PACKED_LOWER,
    ESP_DATA_BANDED /* those of the diagonals, as LAPACK stores a band */
};

/* One datum on one server. */
struct esp_data_info {
    const char *id;
    const char *server, *address; /* who has it */
    const char *owner;            /* name in the certificate of who put it; "" without TLS */
    enum esp_type type;
    unsigned n_dims;
    int64_t dims[ESP_MAX_DIMS];
    uint64_t bytes;
    enum esp_data_mode mode;
    int replica; /* the original is elsewhere */
    int in_memory, on_disk;
    unsigned users;               /* who have it open now */
    uint64_t gets;                /* times it was opened */
    uint64_t bytes_in, bytes_out; /* since it came, or since the server's start */
    double created_s;             /* seconds since 1970 */
    double idle_s;                /* since its last use */
    struct esp_data_layout layout;
    enum esp_data_storage storage;
    int64_t below, above, front; /* ESP_DATA_BANDED: diagonals, and rows in front of them */
    int by_rows;                 /* by rows, else by columns */
    int unique;                  /* no copies of it may be made on other servers (GRPC_UNIQUE_STICKY) */
};

struct esp_argument;

/* Told how much has moved, from 0 to 1, by any thread; must not call the library. */
typedef void esp_data_progress(void *arg, double fraction);

/* Puts a column-major array (type, n_dims, dims and data of `array`), or a vector of strings (data: a char
 * **), on that server. *id is for free(). What a broken connection interrupted goes on where it was.
 * ESP_NOT_FOUND: no such server; ESP_NO_MEMORY: it can never fit there; ESP_LIMIT: the server's disk is full;
 * ESP_REFUSED: the server keeps no data, or none of that mode. `progress` may be NULL. */
enum esp_status esp_data_put(const char *server, const struct esp_argument *array, enum esp_data_mode mode,
                             esp_data_progress *progress, void *arg, char **id);
/* Reads all of a datum into memory of `bytes` (exactly as many as it has: ESP_INVALID; of a packed or banded
 * matrix these are fewer than its extents tell: esp_data_look()), as it is stored, from a server that has it.
 * ESP_NOT_FOUND: none has; ESP_REFUSED: it belongs to somebody else. */
enum esp_status esp_data_get(const char *id, void *memory, uint64_t bytes, esp_data_progress *progress,
                             void *arg);
/* Reads an array of strings: *n pointers and what they lead to, in one block for free(). ESP_INVALID: it is
 * none; else as esp_data_get(). */
enum esp_status esp_data_get_strings(const char *id, char ***strings, size_t *n);
/* In pieces, for parallel servers: calls on such a grid take them as they lie, all others as they take the
 * whole matrix, and esp_data_get() gives that. At most 4,096.
 *
 * The number of elements of piece `piece` of such an array (n_dims 1 or 2 and dims count); 0 also where there
 * is no such piece. */
uint64_t esp_data_piece_elements(const struct esp_argument *array, const struct esp_data_layout *layout,
                                 unsigned piece);
/* esp_data_put() of an array that lies in such pieces, or, `pieces` NULL, is to be cut into them
 * (array->data): layout->rows * layout->cols of them, whose memory may be NULL where nothing is in them.
 * ESP_INVALID too: a layout that cannot be. */
enum esp_status esp_data_put_pieces(const char *server, const struct esp_argument *array,
                                    const struct esp_data_layout *layout, const void *const *pieces,
                                    enum esp_data_mode mode, esp_data_progress *progress, void *arg,
                                    char **id);
/* esp_data_get() of one piece, of exactly its bytes. ESP_INVALID: there is no such piece. */
enum esp_status esp_data_get_piece(const char *id, unsigned piece, void *memory, uint64_t bytes,
                                   esp_data_progress *progress, void *arg);
/* Where a datum is, and what: one entry for each server that has it, its maker's first. ESP_NOT_FOUND: none.
 */
enum esp_status esp_data_look(const char *id, struct esp_data_info **infos, size_t *n);
/* All data of a server (NULL: of all servers) that the caller may use. ESP_UNREACHABLE, ESP_TIMEOUT: a server
 * did not answer, which the text names; *infos has what the others told then, and else NULL. */
enum esp_status esp_data_list(const char *server, struct esp_data_info **infos, size_t *n);
void esp_data_free(struct esp_data_info *infos);
/* Deletes it, with its replicas, also those that are on their way; who reads it at this moment reads on.
 * ESP_NOT_FOUND: no server has it; ESP_UNREACHABLE: a server that keeps it, or has the original, is down, and
 * has it when it is back; elsewhere it is deleted. */
enum esp_status esp_data_drop(const char *id);
/* The same, done with also when servers that keep it cannot be reached, or never come back: *left has their
 * names, by ", ", for free() ("": none). They delete it when they are back, as master agents note that (for a
 * year). ESP_UNREACHABLE: nobody could be asked; ESP_VERSION and others: it has gone where it could, and no
 * master agent has noted it. */
enum esp_status esp_data_give_up(const char *id, char **left);
/* Moves it to that server, as esp_data_copy() does; where the server with its original is not there, the copy
 * on that server becomes the original (it is fetched from another server that has one, if there is none). For
 * a server that never comes back: of one that does, both have it, until it is moved once more. ESP_NOT_FOUND,
 * ESP_UNREACHABLE: no server that is there has a copy. */
enum esp_status esp_data_adopt(const char *id, const char *server, esp_data_progress *progress, void *arg);
/* Files of data that servers have found damaged, and set aside: as esp_data_list(), with `bytes` of the file;
 * of one whose header, length or name is wrong no more than identity (the origin is a guess), server and
 * bytes are known, and `type` is ESP_TYPE_ANY. Those of data of the caller's, or, for administrators, all. */
enum esp_status esp_data_list_damaged(const char *server, struct esp_data_info **infos, size_t *n);
/* Removes what that server (NULL: any) has set aside of it. ESP_NOT_FOUND: nothing; ESP_REFUSED: it belongs
 * to somebody else. */
enum esp_status esp_data_remove_damaged(const char *id, const char *server);
/* Has the server fetch it from another one: a replica, or (`move`) in place of the others. Blocks until it is
 * there; for room, and without anything coming, for as long as an answer may take (call_timeout).
 * ESP_REFUSED: it is sticky, or unique, or being moved to another server; ESP_BUSY: there was no room in that
 * time; ESP_NOT_FOUND: no such server, or it is not there any more; of a move: only replicas are
 * (esp_data_adopt()). */
enum esp_status esp_data_copy(const char *id, const char *server, int move, esp_data_progress *progress,
                              void *arg);
/* Has the server make another datum of the same value and mode that lies in such pieces (layout->rows 0: in
 * one), whose identity is then in *id for free(): the messages of the redistribution travel straight from
 * the ranks that have pieces of it to the ranks that are to have some. Blocks until it is there. Of a
 * failure nothing is left, nor of a process that ends meanwhile: the server deletes what it has made for a
 * client that it has not heard of for ten seconds. ESP_INVALID: it is no matrix or vector that is stored in
 * full, or the layout cannot be; ESP_REFUSED: it is sticky and unique, or the server has certificates and the
 * one that has the pieces cannot encrypt them. */
enum esp_status esp_data_redistribute(const char *from, const char *server,
                                      const struct esp_data_layout *layout, esp_data_progress *progress,
                                      void *arg, char **id);

/* ---- sequences of calls ----
 *
 * Between the two, the calls of this thread (blocking or not, of any function but those of jobs) send no
 * array twice, and their results stay where they are made; the program between is the same as without, and
 * sees the same. Arrays are known by their address: one that the program has written to is sent anew, one
 * that it hands over unchanged is not. Of a result that stays, the pages in the program's memory are guarded
 * (mprotect(2)): who reads or writes there is stopped by SIGSEGV, waits until all of it has come, and goes
 * on. Results that no later call of the sequence takes come at its end at the latest. Those that are only
 * passed on stay where they are until somebody looks, also behind the end, or their memory is used otherwise;
 * then they go from their servers.
 *
 * What the program should know:
 * - System calls are not stopped by guards: write(2), and fwrite(3) of much, fail with EFAULT where the
 * memory that they are given is guarded. Look at one element in the middle of the result before.
 * - The handler of SIGSEGV is the library's from the first result that stays on; faults that are not its own
 * go to the one that was there. Threads that look must not block SIGSEGV.
 * - A result that is lost with its server is computed again when it is needed, also for who looks. When that
 *   cannot be, a message on stderr says which one it was, and the process aborts: the instruction that looks
 *   has no other way to fail, and would go on with wrong numbers. So it is for who looks after
 * grpc_finalize(), which deletes what was passed on, or in a child that was forked meanwhile.
 * - Memory that cannot be guarded (stacks; what malloc() carves out of larger blocks; what is shared with
 * other processes, but memory of esp_alloc()) gets its results when their calls end. With the first sequence,
 *   glibc's malloc() is told to take blocks of 128 KiB and more from the system one by one (mallopt(3),
 *   M_MMAP_THRESHOLD), unless its environment says otherwise.
 *
 * Exceptions: arrays of less than 32 KiB, sections, texts (of arrays of strings: only results) and files come
 * and go with each call; so do results of abstract problems that are made of what their routine leaves
 * (triangles, mirrored halves). */

/* ESP_INVALID: this thread is in a sequence. */
enum esp_status esp_sequence_begin(void);
/* A hint: the program does not want the result that belongs to this memory, although no call takes it (a
 * factorisation that comes with a solution); it need not come at the end. ESP_NOT_FOUND: no result of this
 * sequence belongs there. */
enum esp_status esp_sequence_passed_on(const void *memory);
/* Brings all results that no later call has taken to where they belong, and deletes what the sequence has
 * left on servers, but what is only passed on (a copy that one has just fetched from another may stay until
 * its memory is wanted). ESP_OK, or why one of them cannot come (the others have come; its memory is
 * guarded). */
enum esp_status esp_sequence_end(void);

/* ---- calls by argument vector ---- */

/* One argument of a call; a vector has one for each esp_problem_argument, in their order. An all-zero struct
 * is an input that was left out or an output that nobody wants. */
struct esp_argument {
    /* Scalars and arrays: their memory. Strings: in: the text; out, inout: a char ** as in grpc.h.
     * Arrays of strings, and of the paths of files: a char **. Files: the
     * path. NULL: left out (an input must then have a default or follow from the extents of arrays), or not
     * wanted. */
    void *data;
    enum esp_type type;         /* of `data`: checked; ESP_TYPE_ANY: taken on trust */
    unsigned n_dims;            /* how many extents are given: checked; 0: taken on trust */
    int64_t dims[ESP_MAX_DIMS]; /* for esp_arguments_complete(), -1: not known */
    /* Set by esp_arguments_complete(): a scalar input that was left out and what it is. */
    int completed;
    union {
        int64_t integer; /* of all integer types */
        double real;     /* of float and double */
    } value;
    /* Of arrays of numbers or characters (of those with a section in the description only `datum`, which is
     * the whole array: the server takes the section out of it): */
    const char *datum; /* an input that lives on servers (esp_data_put(), or left by a call): its identity,
                        * or a section of it, which the server cuts out: "ID[1:1000,1:500]", indices from 1
                        * (espalier(1)). Nothing is sent; `data` is only where the result of an inout argument
                        * goes */
    char **kept;       /* the result stays on the server as a datum, and its identity comes here, for free().
                        * NULL: it comes to `data` */
    enum esp_data_mode kept_mode;
    int kept_in_pieces; /* where a parallel server computes it: as its ranks have it (esp_data_layout) */
    int unwanted;       /* of an inout array: its result does not come back, and `data` stays as it is */
    int stays; /* enum esp_session_side, or both; of esp_call(), esp_call_async() and jobs: the array that
                * goes in is left on the server that takes the call, the result is left there and
                * comes to `data` besides (NULL: it does not), in kept_mode; esp_session_info.data
                * names them (of a job, esp_job.data what goes in). What cannot be a datum, or is one,
                * comes and goes as ever. ESP_INVALID for abstract problems */
};

/* Works out what was left out: scalar inputs that follow from the given extents of arrays (n from A) or have
 * a default, and then n_dims and dims of every array, so that outputs can be allocated. Needs no connection.
 * ESP_INVALID names the argument that is missing, contradicts another, or violates a precondition. */
enum esp_status esp_arguments_complete(const struct esp_problem *problem, struct esp_argument *arguments,
                                       size_t n_arguments);
/* How many elements of each array lie in memory, by position (of scalars 1): of a packed or banded matrix
 * these are fewer than its extents tell. Needs no connection. ESP_INVALID as esp_arguments_complete(). */
enum esp_status esp_arguments_elements(const struct esp_problem *problem,
                                       const struct esp_argument *arguments, size_t n_arguments,
                                       uint64_t *elements);
/* After a call: cuts the last extent of each output that has a count (esp_problem_argument.count) to what the
 * call has brought. The vector is that of the call, with its scalar outputs and the extents that
 * esp_arguments_complete() gave. Needs no connection. ESP_FAILED: the routine gave a count that cannot be. */
enum esp_status esp_arguments_cut(const struct esp_problem *problem, struct esp_argument *arguments,
                                  size_t n_arguments);

/* All zero: nothing special. */
struct esp_call_options {
    double deadline_s; /* for the whole session, in seconds; 0: the handle's */
    /* Bring the session's output (lines that its routine or command prints) and progress here while it runs,
     * for the functions below, else for esp_session_output() and esp_session_info_get(). Of asynchronous
     * sessions 64 are followed at a time: the others compute too, and are followed when one of these ends. */
    int follow;
    /* Called as they come, by the thread that waits: in esp_call() the caller's, else one of the library.
     * They must not call the library. NULL: not called. */
    void (*output)(void *arg, const char *text, size_t length); /* not terminated */
    void (*progress)(void *arg, double fraction);               /* from 0 to 1 */
    void *arg;
    /* Called in the same way while large arguments travel to the server, also when `follow` is not set, by
     * any thread of the library. NULL: not called. */
    void (*sent)(void *arg, double fraction);
    /* Constraints: which servers may take the session. When none fits it fails at once with ESP_NO_SERVER and
     * says why. A handle that is bound to a server takes none (ESP_INVALID). */
    const char *server;            /* this one only; NULL: any */
    const char *const *properties; /* those only that have all of these words as `properties` in their file */
    size_t n_properties;
    double finish_s;       /* those only where the results are expected within so many seconds; 0: whenever.
                            * Unlike deadline_s it ends no session that takes longer than forecast */
    uint64_t memory_bytes; /* those only where the call takes at most so much memory; 0: never mind */
    /* Of esp_call_async(): a descriptor of the caller's that takes 8 bytes without waiting, as those of
     * eventfd(2) do. The library writes the number 1 there when the session has ended, so that a program can
     * poll(2) for the end beside other things, and signals reach it while it waits. It must stay open until
     * then. 0: none. */
    int ended_fd;
};

/* What a session took, and what it made. */
enum esp_session_side { ESP_SESSION_INPUTS = 1, ESP_SESSION_OUTPUTS = 2 };

/* An array of a session that lives on servers. */
struct esp_session_datum {
    const char *argument; /* by the description */
    size_t position;      /* in the vector of the call */
    enum esp_session_side side;
    int own; /* the session put or made it; 0: it was there before */
    const char *id;
};

/* How a session stands or went. Times are in seconds; those not known (yet) are 0. */
struct esp_candidate {
    const char *server;
    const char *address;
    double compute_s, queue_s, transfer_s; /* forecast */
    double error_s;                        /* its expected error */
    int tried;                             /* this one was called */
    enum esp_status status;                /* when tried: ESP_OK: it took the session; else why not */
};
struct esp_session_info {
    const char *id; /* as the daemons' logs print it */
    const char *problem;
    const char *server; /* that has it or had it, or "" */
    /* "submitting"; "held back": until a server has room; "waiting", "sending", "queued", "running",
     * "receiving", "ended" */
    const char *state;
    /* How it ended; ESP_PENDING until then. ESP_OK: the text is "", or what the problem's description notes
     * on its results, as that the factors are those of a singular matrix. */
    struct esp_error error;
    double submit_s;   /* asking the agents for servers */
    double wait_s;     /* for memory on the server */
    double transfer_s; /* of arguments and results */
    double queue_s;
    double compute_s;
    double total_s;    /* from the call to the end */
    double forecast_s; /* computation, queue and transfer as forecast for the server that took it */
    double forecast_compute_s;
    double forecast_error_s;
    unsigned capable; /* servers that could have taken it, in all */
    int asked;        /* the tree was asked; 0: agents answered from memory, or the handle is bound */
    double progress;  /* from 0 to 1 as the routine has told a session that is followed; below 0: not told */
    const struct esp_candidate *candidates; /* best first */
    size_t n_candidates;
    const struct esp_session_datum *data; /* once it has ended: what of it lives on servers */
    size_t n_data;
    /* Once it has ended, the ranks of a parallel server that computed it: from first_rank on, as a grid, with
     * blocks of so many rows and columns. grid_rows 0: a worker process did, or nobody has. */
    unsigned first_rank, grid_rows, grid_cols, grid_block;
    double fetch_s; /* its server waited so long for data that live on servers, when it had all else */
};
void esp_session_info_free(struct esp_session_info *info);

/* grpc_call() with a vector. `info`, unless NULL, receives what the session took, also when it failed (NULL
 * when there was none). ESP_INVALID: wrong count, type, extents or values, with the argument's name; else how
 * the session failed. */
enum esp_status esp_call(grpc_function_handle_t *handle, const struct esp_argument *arguments,
                         size_t n_arguments, const struct esp_call_options *options,
                         struct esp_session_info **info);

/* grpc_call_async() with a vector; the functions of grpc.h wait for the session. The vector itself is no
 * longer needed when this returns. */
enum esp_status esp_call_async(grpc_function_handle_t *handle, const struct esp_argument *arguments,
                               size_t n_arguments, const struct esp_call_options *options,
                               grpc_sessionid_t *session);

/* Orders about the data of a session that has ended (info->data), as Scilab// gives them to its servers
 * (scilab-parallel, H.3.1): one (`argument`) or all (NULL) of its inputs, of its outputs, or of both
 * (`sides`: of enum esp_session_side) go to another server or to the client, or the server forgets them.
 * Where one of several fails the others go all the same, and the first failure is told. ESP_NOT_FOUND: there
 * is no such array, or no server has it any more.
 *
 * To a server, which fetches them where they are: replicas there, as of esp_data_copy(). */
enum esp_status esp_session_send(const struct esp_session_info *info, int sides, const char *argument,
                                 const char *server, esp_data_progress *progress, void *arg);
/* To the client, into `data` of a vector as the call's, whose type, n_dims and dims count; where `data` is
 * NULL nothing comes. Of one side. ESP_INVALID: a datum has other extents. */
enum esp_status esp_session_bring(const struct esp_session_info *info, int sides, const char *argument,
                                  const struct esp_argument *arguments, size_t n_arguments,
                                  esp_data_progress *progress, void *arg);
/* Leave: what is the session's own is deleted everywhere; what was there before it stays. */
enum esp_status esp_session_leave(const struct esp_session_info *info);

/* Callbacks: functions of the caller that the problem's routine calls while the session runs. They have the C
 * signature that the description tells: scalars that go in by value, all else by address; of strings those
 * that go in as const char *, those that come back through a char **, or returned: the library copies them
 * and frees nothing. grpc_call() and esp_call() run them in the calling thread, asynchronous sessions in a
 * thread of the library (64 of them at a time, as with esp_call_options.follow); a session calls one at a
 * time. When a session is tried on another server, they are called anew. Inside one, the functions of this
 * library come back with ESP_REFUSED, and a session is cancelled, or its deadline heeded, when the function
 * has returned.
 *
 * Called by such a function before it returns: it has failed, and what it leaves is not looked at. The
 * session ends with ESP_FAILED and that text. Anywhere else it does nothing. */
void esp_callback_fail(const char *text);

/* Of a session of grpc_call_async() or esp_call_async(), as long as it is among the last 4096 that a wait
 * function has reported (candidates: until one has reported it). ESP_NOT_FOUND. */
enum esp_status esp_session_info_get(grpc_sessionid_t session, struct esp_session_info **info);

/* Takes what has come of the output of a session that is followed (esp_call_options without `output`): at
 * most `size` bytes, *length of them. At most 64 KiB are kept, the oldest go first; "[N bytes of output are
 * lost]" stands where some are missing. ESP_NOT_FOUND: as esp_session_info_get(). */
enum esp_status esp_session_output(grpc_sessionid_t session, char *buffer, size_t size, size_t *length);

/* Of the last grpc_call() in this thread, without candidates. ESP_NOT_FOUND: there was none. */
enum esp_status esp_last_session_info(struct esp_session_info **info);

/* Sessions of this handle end with ESP_TIMEOUT after so many seconds, transfers and queue included; their
 * computation is stopped. 0: as the configuration file says. ESP_INVALID. */
enum esp_status esp_handle_set_deadline(grpc_function_handle_t *handle, double seconds);

/* ---- argument stacks ---- */

/* The GridRPC drafts' alternative to variable arguments, which the standard (GFD.52) left out: arguments are
 * pushed one by one, in the order of the description, by a program that learns only as it runs how many there
 * are. Types and extents are checked at the call. A stack may be called with any number of times; it is not
 * for two threads at once. */
typedef struct grpc_arg_stack_s grpc_arg_stack_t;

/* An empty stack for at most so many arguments; NULL without memory, or for more than ESP_MAX_ARGUMENTS.
 * Works also outside grpc_initialize() .. grpc_finalize(), as all but the calls do. */
grpc_arg_stack_t *grpc_arg_stack_new(size_t most);
/* NULL is nothing to do. */
grpc_error_t grpc_arg_stack_destruct(grpc_arg_stack_t *stack);

/* The next argument: the address of the value, also of scalars that go in (their values are taken at the
 * call); arrays, texts and files as with esp_call(). NULL: an input that is left out, an output that nobody
 * wants. GRPC_OTHER_ERROR_CODE: it is full. */
grpc_error_t grpc_arg_stack_push_arg(grpc_arg_stack_t *stack, void *argument);
/* The same with type and extents, which are then checked against the description. */
grpc_error_t grpc_arg_stack_push_typed(grpc_arg_stack_t *stack, void *argument, enum esp_type type,
                                       const int64_t *dims, unsigned n_dims);
/* Takes the newest one off: its address; NULL also when there is none. */
void *grpc_arg_stack_pop_arg(grpc_arg_stack_t *stack);

/* grpc_call() and grpc_call_async(). GRPC_SESSION_FAILED also when the stack has too many or too few
 * arguments. */
grpc_error_t grpc_call_arg_stack(grpc_function_handle_t *handle, grpc_arg_stack_t *stack);
grpc_error_t grpc_call_arg_stack_async(grpc_function_handle_t *handle, grpc_sessionid_t *sessionID,
                                       grpc_arg_stack_t *stack);

/* ---- jobs: calls that outlive the program that made them ---- */

/* What is known of a job without asking its server: all that another process needs to go on with it. */
struct esp_job {
    const char *id;                    /* as the daemons' logs and `espalier jobs` print it */
    const struct esp_problem *problem; /* as it was when the job was submitted */
    const char *server, *address;      /* that has it */
    double submitted_s;                /* when: seconds since 1970 */
    int again;                         /* it is called again when its server is lost: see esp_job_look() */
    /* One for each esp_problem_argument: extents of all arrays; `data` of scalar inputs points to what the
     * call was made with, and is NULL otherwise. */
    const struct esp_argument *arguments;
    size_t n_arguments;
    const char *token; /* the same as a text, for esp_job_read(). Who has it can fetch and cancel the job */
    const struct esp_session_datum *data; /* what of it lives on servers since it was submitted: inputs; who
                                           * attaches to it has the results, too, in esp_session_info.data */
    size_t n_data;
};
void esp_job_free(struct esp_job *job);

/* esp_call_async() for a job: returns when a server has it and all its arguments; the server goes on without
 * this program, and keeps the result until esp_job_forget(), at most for its lease of jobs (`job_lease`).
 * All outputs are kept, whether their `data` is given or not. `options`: deadline_s and sent count.
 * `listed`: it is also noted in the user's list of jobs, $XDG_STATE_HOME/espalier/jobs, with its arguments,
 * up to `job_arguments` bytes, when its problem is idempotent, no server was named, and no argument is a
 * state: such a job survives its server. A program that dies within this function leaves either a job in the
 * list, or none on the server. Of an abstract problem, the job is of the problem that does it (job->problem).
 * ESP_INVALID: as esp_call(), also for callbacks and for chains; ESP_LIMIT: no server takes more jobs;
 * ESP_SYSTEM: the list cannot be written.
 */
enum esp_status esp_job_submit(grpc_function_handle_t *handle, const struct esp_argument *arguments,
                               size_t n_arguments, const struct esp_call_options *options, int listed,
                               struct esp_job **job);

/* The job behind a token. Needs no connection. ESP_SYNTAX: it is none. */
enum esp_status esp_job_read(const char *token, struct esp_job **job);

/* The ids of the jobs in the user's list, oldest first; and the job with that id, or the only one whose id
 * begins so. Need no connection. ESP_NOT_FOUND; ESP_INVALID: several begin so; ESP_SYNTAX: the file is
 * damaged; ESP_SYSTEM. */
enum esp_status esp_job_list(const char *const **ids, size_t *n);
void esp_job_list_free(const char *const *ids);
enum esp_status esp_job_find(const char *id, struct esp_job **job);

/* A session of this process that is the job: the functions of grpc.h wait for it, and when it has ended well
 * its results are where the outputs of the vector say (NULL: not fetched; inputs are not looked at). May be
 * done any number of times, in any process, while the server has the job. grpc_cancel() cancels the job;
 * grpc_finalize() lets it go on. `options`: a deadline ends the waiting, not the job.
 * When its server is lost it is called again, as by esp_job_look(), and the session goes on with it; what it
 * prints begins anew then. The session's errors are those of the job; ESP_NOT_FOUND: its server was
 * restarted, or has it no more, and it could not be called again; ESP_UNREACHABLE: its server has not
 * answered, or nobody has taken it, for agent_patience. */
enum esp_status esp_job_attach(const struct esp_job *job, const struct esp_argument *arguments,
                               size_t n_arguments, const struct esp_call_options *options,
                               grpc_sessionid_t *session);

/* How a job stands. Times are in seconds. */
struct esp_job_state {
    const char *state;      /* "waiting" (for memory), "queued", "running", "done", "failed", "cancelled" */
    struct esp_error error; /* how it ended; ESP_PENDING until then */
    unsigned ahead;         /* sessions before it in the queue */
    double progress;        /* from 0 to 1; below 0: its routine has not told */
    double wait_s, transfer_s, queue_s, compute_s;
    double forecast_s; /* computation, as its server forecast it */
    double kept_s;     /* for so long will the result be kept; until it has ended: the whole lease */
};

/* Asks the server of the job. `patience_s`: waits so long for its end or progress beyond state->progress.
 * A job that was lost with its server (it was restarted, or does not answer and has left the tree) is called
 * again elsewhere, if job->again says so: from its last checkpoint, if it has one, and by one only of several
 * programs that look after it. Then server, address and token of the job are others, so that a job is for one
 * thread at a time. ESP_NOT_FOUND: it is lost, or its server has it no more; ESP_UNREACHABLE: its server does
 * not answer, or nobody takes it now: with job->again, look later; of a job that was cancelled in the list
 * while its server was away, which is told when it answers, *state says "cancelled" all the same. How a job
 * of the list ended that failed or was cancelled is noted there, and told from there when its server cannot
 * tell it any more. */
enum esp_status esp_job_look(const struct esp_job *job, double patience_s, struct esp_job_state *state);

/* What the job has printed behind byte *position, at most `size` bytes, *length of them; *position moves on
 * (by more than *length when some were lost: about 64 KiB are kept). Waits for some for `patience_s`, not
 * longer than the job runs. */
enum esp_status esp_job_output(const struct esp_job *job, double patience_s, uint64_t *position, char *buffer,
                               size_t size, size_t *length);

/* Stops its computation, or takes it out of the queue, and waits for its end, which can be fetched. One in
 * the user's list is noted there as cancelled before its server is told, and never called again. ESP_OK also
 * when it had ended: esp_job_look() tells how. ESP_UNREACHABLE: its server does not answer, and may still
 * compute it; one in the list is told by the next esp_job_look() that reaches it. ESP_NOT_FOUND: the server
 * has it no more. */
enum esp_status esp_job_cancel(const struct esp_job *job);

/* The server drops the job with its result (and stops it when it runs), and it leaves the user's list.
 * ESP_UNREACHABLE: it has left the list, but the server could not be told. */
enum esp_status esp_job_forget(const struct esp_job *job);

/* ---- the hierarchy ---- */

enum esp_role { ESP_ROLE_CLIENT, ESP_ROLE_REDIRECTOR, ESP_ROLE_MASTER, ESP_ROLE_LEADER, ESP_ROLE_SERVER };
/* "redirector", "master agent", "leader agent", "server"; never NULL. */
const char *esp_role_name(enum esp_role role);

#define ESP_WEATHER_HISTORY 48
struct esp_node {
    const char *name;
    const char *parent; /* "" for a root */
    const char *address;
    enum esp_role role;
    uint64_t incarnation;
    int draining;         /* takes no new sessions */
    int link_known;       /* the path from its parent was measured */
    double latency_s;     /* of that path */
    double bandwidth_bps; /* bytes per second */
    double age_s;         /* how long ago the node itself said all this */
    int unreachable;      /* it does not answer; it was last heard of age_s ago (0: by nobody that answers) */
    /* servers: */
    double speed_flops; /* measured, of one slot */
    unsigned slots, threads;
    unsigned queued, running;
    uint64_t memory_total, memory_free; /* bytes for sessions */
    uint64_t completed, failed;         /* sessions since its start */
    double cpu_available;           /* share of a processor that a session would get now beside the load of
                                     * others, from 0 to 1; 0: the server has no sensor, or see `senses` */
    double cpu_forecast, cpu_error; /* of that, for the next seconds, with its expected error */
    uint64_t machine_memory_free, machine_disk_free; /* bytes, of the whole machine; 0: not told */
    double cpu_step_s;                               /* between the values of the history */
    unsigned n_cpu_history;
    double cpu_history[ESP_WEATHER_HISTORY]; /* of cpu_available, the oldest first */
    /* agents: */
    uint64_t left_out; /* nodes below it that the answer had no room for */
    /* all: */
    double back_bps; /* of the path to its parent, bytes per second; 0: not measured, taken for the same */
    /* servers: */
    unsigned disabled; /* problems that an administrator has disabled there */
    double
        expected_s; /* it was ended, age_s ago, and is expected to run again within so many seconds; 0: not */
    double host_bps;       /* bytes per second between daemons of its host, through memory; 0: not measured */
    double host_latency_s; /* of a message between daemons of its host, one way; 0: not measured */
    int loopback_only;     /* it listens on loopback only, though its file names an address for others */
    int senses;            /* it has a sensor, which has not told anything yet where cpu_available is 0 */
};

/* All nodes, parents before their children: the redirector (when one is configured), each master agent and
 * what is below it. A node that is known but cannot be reached is marked so, and nothing below it is shown.
 * `address`: only the node at "host:port" and what is below it; NULL: everything. */
enum esp_status esp_tree(const char *address, struct esp_node **nodes, size_t *n);
void esp_tree_free(struct esp_node *nodes);

/* ---- administration ---- */

/* Wants something of a node: `verb` is "move" (words: the new parent's name), "drain", "undrain", "disable"
 * and "enable" (words: problems), "reload", "restart", "stop" (words: "cut" when nodes below it may be cut
 * off), "trace" (words: a session as logs call it), or "look". The agent at `address`, "host:port", which is
 * above the node or the node itself, looks whether that can be, and the order goes down from there. `node`
 * NULL: the one at that address. `generation`: of the tree below that agent; in: as the caller has seen it,
 * 0: never mind; out: as it is now. NULL: not wanted. `text`: lines of what was asked for, or a remark on
 * what was done, to be freed by free(); NULL: not wanted. ESP_NOT_FOUND: no such node; ESP_INVALID: it cannot
 * be (a loop, among others); ESP_REFUSED: it would cut the tree; ESP_STALE: somebody else has changed the
 * tree since; ESP_BUSY: somebody else changes it now; ESP_SECURITY: not by this client; ESP_TIMEOUT: the node
 * does not say whether it has done it. */
enum esp_status esp_administer(const char *address, const char *node, const char *verb,
                               const char *const *words, size_t n_words, uint64_t *generation, char **text);

struct esp_master {
    const char *name;
    const char *address;
    uint64_t incarnation;
    unsigned servers; /* below it */
    double load;      /* busy slots over slots */
};

/* The master agents, best first, as the redirector names them now (or the file, then with addresses only). */
enum esp_status esp_locate(struct esp_master **masters, size_t *n);
void esp_locate_free(struct esp_master *masters);

/* Who answers at "host:port": ESP_OK and its name and role (memory of the caller's, at least 256 bytes for
 * the name; either may be NULL), or why nobody does. */
enum esp_status esp_greet(const char *address, char *name, enum esp_role *role);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
