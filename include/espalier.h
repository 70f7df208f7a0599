/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier.h: what Espalier offers a client program beyond the GridRPC standard (grpc.h).
 *
 * Threads: all functions may be called from any thread. No function prints, exits or changes signals.
 * Sequences of calls are the exception: they handle SIGSEGV, and abort the process when a lost result cannot
 * be computed again.
 *
 * Errors: a function that returns an esp_status and fails leaves a text for esp_last_error(). A function that
 * needs a connection returns ESP_INVALID outside grpc_initialize() .. grpc_finalize().
 *
 * Memory: what a function returns through a pointer to a pointer is one block that the caller owns. The
 * caller frees it with the *_free() function declared beside it, or with free() where the comment says so.
 * Every
 * *_free() function accepts NULL.
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

/* The result of a function of Espalier. The numbers are part of the contract on the wire: they never change,
 * and new ones are added at the end. */
enum esp_status {
    ESP_OK = 0,
    ESP_INVALID = 1,         /* an argument of the call is wrong (the text says which and why) */
    ESP_SYNTAX = 2,          /* a file or text is malformed (the text says file:line) */
    ESP_NO_MEMORY = 3,       /* memory is exhausted, or the call can never fit the server's limit */
    ESP_SYSTEM = 4,          /* the operating system refused something (the text has its words) */
    ESP_NOT_FOUND = 5,       /* a file, session, datum or node does not exist */
    ESP_UNKNOWN_PROBLEM = 6, /* no server solves the problem, and no server is missing */
    ESP_NO_SERVER = 7,       /* no server that may solve the problem accepts it or can be reached now */
    ESP_UNREACHABLE = 8,     /* no node answered; certainly nothing was executed */
    ESP_MAYBE = 9,           /* the connection broke during the call: it was executed or it was not */
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
    ESP_BUSY = 23,           /* something is in use now: the same call may succeed later */
    ESP_INACCURATE = 24      /* the routine returned a solution that does not solve its system */
};

/* A status and a text for people, which says what was expected, what was found, and where. */
struct esp_error {
    enum esp_status status;
    char text[2048]; /* may have several lines */
};

/* Returns a short constant English text for the status ("deadline passed"). Never NULL. */
const char *esp_status_string(enum esp_status status);

/* Returns the error of the last function of grpc.h or espalier.h that failed in this thread and has a text;
 * status ESP_OK and "" if none has. The pointer is valid until this thread calls the next function. Never
 * NULL. */
const struct esp_error *esp_last_error(void);

/* ---- begin ---- */

struct esp_options {
    const char *config;     /* configuration file; NULL: the file that grpc_initialize(NULL) would find, or
                             * no file if there is none */
    const char *redirector; /* "host:port" or "host", replaces the redirector of the file; NULL: the file's */
    const char *agent;      /* "host:port" or "host" of a master agent; no redirector is asked; NULL: none */
    double call_timeout_s;  /* limit of each remote call, and of the wait for silent nodes when a handle is
                             * made; the file's limit stays where it is smaller; 0: the file's */
    int call_timeout_wins;  /* not 0: call_timeout_s also replaces a smaller limit of the file, and caps the
                             * wait for lost servers and agents (`agent_patience`). For programs that
                             * transfer data and can wait for space or for a slow link */
    int servers_only;       /* not 0: use no redirector and no agent, whatever the file says. For programs
                             * that call only servers of known addresses, such as those of jobs. Functions
                             * that need an agent return ESP_CONFIG */
};

/* Does what grpc_initialize() does, with addresses and limits of the program. `options` NULL: the file has
 * them all. End with grpc_finalize(). ESP_INVALID: already initialized. ESP_NOT_FOUND, ESP_SYNTAX: the file.
 * ESP_CONFIG: the file is wrong, or neither redirector nor agent is named. */
enum esp_status esp_initialize(const struct esp_options *options);

/* Checks whether this build of the library can use the network. ESP_UNREACHABLE: it cannot, and cannot be
 * initialized; the text says what to install. */
enum esp_status esp_network_check(void);
/* Removes environment variables that configure the ORB of other programs and would also configure the ORB of
 * this process. Call it while the process has one thread. */
void esp_ignore_environment(void);

/* Sets a deadline for all requests of this thread: after so many seconds they end with ESP_TIMEOUT, unless
 * they have an earlier deadline; 0: no deadline. Sessions have deadlines of their own
 * (esp_call_options.deadline_s). Returns the previous deadline, which esp_deadline_end() restores. */
int64_t esp_deadline_begin(double seconds);
void esp_deadline_end(int64_t before);

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
    ESP_TYPE_STATE,   /* an object that a server keeps for later calls: its identity, passed as a string */
    ESP_TYPE_CALLBACK /* a function of the caller, passed by its address (see esp_callback_fail()) */
};
/* Returns the type's name in descriptions ("double"), never NULL. */
const char *esp_type_name(enum esp_type type);
/* Returns the bytes of one element; 0 for strings, files and ESP_TYPE_ANY. */
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

/* One argument that callers pass. */
struct esp_problem_argument {
    const char *name;
    const char *text; /* one line for people, or "" */
    enum esp_mode mode;
    enum esp_type type;
    unsigned properties;            /* a set of enum esp_property */
    unsigned n_dims;                /* 0: a scalar (strings and files are scalars) */
    const char *dims[ESP_MAX_DIMS]; /* expressions over scalar inputs, as text: "n", "max(1,n)" */
    const char *initial;            /* default of an input that may be left out, or NULL */
    const char *storage;            /* which part of a matrix is stored: "packed(uplo)", "banded(kl, ku)",
                                     * "csc(Ap, Ai)"; "": all of it */
    const char *callback;           /* signature of a callback: "(in double x): double"; or NULL */
    const char *count;              /* how many of the last dimension come back; NULL: all */
    const char *section;            /* "[n:0,n - 1,2]": dimensions, and start, end and skip of the elements
                                     * that are transferred (callers pass the whole array); "": all */
    const char *unread;             /* condition under which an inout array is not read: its content is then
                                     * not sent; NULL: it is always read */
    const char *index;              /* "index(n)", "signed-index(n)": each integer of an input array is from 1
                                     * to n, or from -1 to -n; or NULL */
    int follows; /* the input may be left out: it has a default, or follows from the extents of arrays, or
                  * from a matrix that the caller compresses or packs (pointers and indices of a compressed
                  * matrix, widths of a band) */
};

/* A problem's signature. Work arrays are not in it, because callers do not pass them. */
struct esp_problem {
    const char *name;
    const char *title;                /* one line */
    const char *text;                 /* more for people, or "" */
    const char *gams;                 /* GAMS class, or "" */
    const char *source;               /* the text of the description */
    const char *const *preconditions; /* as text: "n >= 0" */
    size_t n_preconditions;
    const char *work;   /* floating point operations as an expression, or NULL */
    const char *memory; /* bytes beyond the arguments as an expression, or NULL */
    int idempotent;     /* a repetition is harmless: if a server dies, another one may run the call again */
    uint64_t digest;    /* equal digests mean equal signatures */
    unsigned servers;   /* how many servers have it */
    const char *signatures; /* servers that have this signature, and servers that have another one; NULL: all
                             * servers have this one */
    const struct esp_problem_argument *arguments;
    size_t n_arguments;
};

/* Gets the signature of a problem from the hierarchy. ESP_UNKNOWN_PROBLEM, ESP_UNREACHABLE, ... */
enum esp_status esp_problem_describe(const char *name, struct esp_problem **problem);
void esp_problem_free(struct esp_problem *problem);

struct esp_problem_entry {
    const char *name;
    const char *title;
    const char *gams;
    uint64_t digest;
    unsigned servers;
};

/* Lists the problems below all master agents, sorted by name. A problem that is disabled on all its servers
 * has 0 `servers` and a title that says where it is disabled. Behind the last entry, at (*entries)[*n], is an
 * entry without a name; its title names the master agents that did not answer and whose problems are missing,
 * or is
 * "". ESP_UNREACHABLE: no master agent answered. */
enum esp_status esp_problem_list(struct esp_problem_entry **entries, size_t *n);
void esp_problem_list_free(struct esp_problem_entry *entries);

/* ---- memory that need not be copied ----
 *
 * A server on the same host, run by the same user, uses large arguments and results of a call in place when
 * they lie in memory of esp_alloc(). For any other server this memory is like all other memory. An argument
 * may lie anywhere in it. A result must begin at the address that esp_alloc() returned and fill the block.
 * After fork() the child shares this memory with its parent. */

/* Allocates zeroed memory, aligned to 8 bytes. Returns NULL and sets errno if there is none. Free it with
 * esp_free() only. */
void *esp_alloc(size_t bytes);
/* Frees memory of esp_alloc(). No call may be using it. NULL is allowed. ESP_INVALID: the memory is not from
 * esp_alloc(), or was freed already. */
enum esp_status esp_free(void *memory);

/* ---- data that live on servers ----
 *
 * A datum is an array that has an identity, "SERVER:32 hexadecimal digits", which names the server that made
 * it and cannot be guessed. A datum never changes: a call that overwrites one makes a new datum. */

enum esp_data_mode {
    ESP_DATA_VOLATILE,          /* may be dropped when memory is short */
    ESP_DATA_PERSISTENT,        /* on the server's disk before it is acknowledged; never dropped */
    ESP_DATA_PERSISTENT_RETURN, /* of a result: persistent, and a copy comes back too */
    ESP_DATA_STICKY,            /* persistent, and never moves to another server (copies may be made) */
    ESP_DATA_STICKY_RETURN      /* of a result: sticky, and a copy comes back too */
};

/* A block-cyclic layout, as ScaLAPACK defines it: a matrix in pieces, one for each rank of a process grid.
 * Ranks are numbered row by row. The first rank has the first block. Each piece is stored by columns without
 * gaps. */
struct esp_data_layout {
    unsigned rows, cols;          /* of the grid; 0: the matrix is in one piece */
    int64_t row_block, col_block; /* rows and columns of a block */
};

/* Which elements of a matrix are stored, and in which order. The problem decides how a result is stored. */
enum esp_data_storage {
    ESP_DATA_FULL,         /* all elements */
    ESP_DATA_PACKED_UPPER, /* one triangle, as LAPACK packs it */
    ESP_DATA_PACKED_LOWER,
    ESP_DATA_BANDED /* diagonals, as LAPACK stores a band */
};

/* One datum on one server. */
struct esp_data_info {
    const char *id;
    const char *server, *address; /* the server that has it */
    const char *owner;            /* name in the certificate of the client that put it; "" without TLS */
    enum esp_type type;
    unsigned n_dims;
    int64_t dims[ESP_MAX_DIMS];
    uint64_t bytes;
    enum esp_data_mode mode;
    int replica; /* the original is on another server */
    int in_memory, on_disk;
    unsigned users;               /* sessions and transfers that have it open now */
    uint64_t gets;                /* how often it was opened */
    uint64_t bytes_in, bytes_out; /* transferred since it arrived, or since the server's start */
    double created_s;             /* seconds since 1970 */
    double idle_s;                /* since its last use */
    struct esp_data_layout layout;
    enum esp_data_storage storage;
    int64_t below, above, front; /* ESP_DATA_BANDED: diagonals, and rows in front of them */
    int by_rows;                 /* not 0: stored by rows; 0: by columns */
    int unique;                  /* other servers may not have copies (GRPC_UNIQUE_STICKY) */
};

struct esp_argument;

/* Called by any thread with the transferred fraction, from 0 to 1. Must not call the library. NULL is allowed
 * wherever a function takes one. */
typedef void esp_data_progress(void *arg, double fraction);

/* Puts a column-major array (type, n_dims, dims and data of `array`), or a vector of strings (data: a char
 * **), on `server`. *id is for free(). If a connection breaks, the transfer continues where it stopped.
 * ESP_NOT_FOUND: no such server. ESP_NO_MEMORY: the datum can never fit there. ESP_LIMIT: the server's disk
 * is full. ESP_REFUSED: the server keeps no data, or none of that mode. */
enum esp_status esp_data_put(const char *server, const struct esp_argument *array, enum esp_data_mode mode,
                             esp_data_progress *progress, void *arg, char **id);
/* Reads a whole datum, as it is stored, from a server that has it. `bytes` must be exactly the size of the
 * datum (else ESP_INVALID); a packed or banded matrix is smaller than its extents suggest (see
 * esp_data_look()). ESP_NOT_FOUND: no server has it. ESP_REFUSED: it belongs to another user. */
enum esp_status esp_data_get(const char *id, void *memory, uint64_t bytes, esp_data_progress *progress,
                             void *arg);
/* Reads an array of strings. *strings is one block for free() with *n pointers and their texts. ESP_INVALID:
 * the datum is not an array of strings. Otherwise as esp_data_get(). */
enum esp_status esp_data_get_strings(const char *id, char ***strings, size_t *n);
/* A put in steps, for programs that make the array part by part, that ask for space before they read the
 * array, or that continue a put of an earlier process. Each step takes the array (type, n_dims and dims, not
 * of strings) and an identity in `id` of ESP_DATA_ID_BYTES. "" begins a new datum, and the step sets the
 * identity, whatever it returns
 * ("": no server knows the datum). */
#define ESP_DATA_ID_BYTES 320
/* Writes bytes [offset, offset + bytes) of a datum to `to`. Several threads of the library may call it at a
 * time, and more than once for the same part. A status other than ESP_OK, with a text in *error, ends the
 * put. */
struct esp_data_source {
    enum esp_status (*fill)(void *arg, uint64_t offset, uint64_t bytes, void *to, struct esp_error *error);
    void *arg;
};
/* Reserves space for the datum on the server, until a minute after the last contact about it. Errors: as
 * esp_data_put(). */
enum esp_status esp_data_reserve(const char *server, const struct esp_argument *array,
                                 enum esp_data_mode mode, char *id);
/* Cancels the put: frees the space, and deletes the parts on the server. */
void esp_data_unreserve(const char *server, const struct esp_argument *array, enum esp_data_mode mode,
                        const char *id);
/* Puts array->data, or the bytes of `source` if that is not NULL. Parts that the server has are not sent
 * again. */
enum esp_status esp_data_put_parts(const char *server, const struct esp_argument *array,
                                   enum esp_data_mode mode, const struct esp_data_source *source,
                                   esp_data_progress *progress, void *arg, char *id);
/* Returns the number of elements of piece `piece` of an array (n_dims 1 or 2, and dims, are read); 0 if there
 * is no such piece.
 *
 * Data in pieces serve parallel servers: a call on a grid of the same layout uses the pieces in place. All
 * other calls, and esp_data_get(), see the whole matrix. A datum has at most 4,096 pieces. */
uint64_t esp_data_piece_elements(const struct esp_argument *array, const struct esp_data_layout *layout,
                                 unsigned piece);
/* Puts an array as layout->rows * layout->cols pieces. `pieces` has the address of each piece, NULL for an
 * empty one. `pieces` NULL: the function cuts array->data into pieces. ESP_INVALID also when the layout is
 * impossible; otherwise as esp_data_put(). */
enum esp_status esp_data_put_pieces(const char *server, const struct esp_argument *array,
                                    const struct esp_data_layout *layout, const void *const *pieces,
                                    enum esp_data_mode mode, esp_data_progress *progress, void *arg,
                                    char **id);
/* Reads one piece; `bytes` must be exactly its size. ESP_INVALID: there is no such piece. Otherwise as
 * esp_data_get(). */
enum esp_status esp_data_get_piece(const char *id, unsigned piece, void *memory, uint64_t bytes,
                                   esp_data_progress *progress, void *arg);
/* Finds a datum: one entry for each server that has it, first the server that made it. ESP_NOT_FOUND: no
 * server has it. */
enum esp_status esp_data_look(const char *id, struct esp_data_info **infos, size_t *n);
/* Lists the data of a server (NULL: of all servers) that the caller may use. ESP_UNREACHABLE, ESP_TIMEOUT: a
 * server, which the text names, did not answer; *infos then has the data of the other servers. On any other
 * error *infos is NULL. */
enum esp_status esp_data_list(const char *server, struct esp_data_info **infos, size_t *n);
void esp_data_free(struct esp_data_info *infos);
/* Gets the names of servers that may have the original of a datum and do not answer, separated by ", ", for
 * free().
 * "": the server of the original answers, or the original was deleted. Errors: as esp_data_look(). */
enum esp_status esp_data_silent(const char *id, char **servers);
/* Deletes a datum and its replicas, including copies that are being transferred. Transfers and calls that
 * read it at this moment finish. ESP_NOT_FOUND: no server has it. ESP_UNREACHABLE: a server that has the
 * original, or stores the datum durably, is down and will still have it when it is back; all other servers
 * deleted it. */
enum esp_status esp_data_drop(const char *id);
/* Deletes a datum although servers that store it durably cannot be reached or never come back. *left is for
 * free() and names those servers, separated by ", "; "" if there are none. Master agents note for a year that
 * these servers must delete the datum when they are back. ESP_UNREACHABLE: no node could be asked.
 * ESP_VERSION and others: the servers that could be reached deleted it, but no master agent has noted it. */
enum esp_status esp_data_give_up(const char *id, char **left);
/* Moves a datum to `server`, as esp_data_copy() does. If the server that has the original is down, the copy
 * on `server` becomes the original; `server` fetches a copy from another server first if it has none. Use
 * this only for a server that never comes back: if it does, both servers have an original until the datum is
 * moved again. ESP_NOT_FOUND, ESP_UNREACHABLE: no server that is up has a copy. */
enum esp_status esp_data_adopt(const char *id, const char *server, esp_data_progress *progress, void *arg);
/* Lists the files of data that servers found damaged and put in quarantine: those of the caller's data, or
 * all for an administrator. `bytes` is the size of the file. If a file's header, length or name is damaged,
 * type is ESP_TYPE_ANY, and only identity (its server is a guess), server and bytes are known. Otherwise as
 * esp_data_list(). */
enum esp_status esp_data_list_damaged(const char *server, struct esp_data_info **infos, size_t *n);
/* Removes the damaged files of datum `id` from the quarantine of `server` (NULL: of all servers).
 * ESP_NOT_FOUND: there are none. ESP_REFUSED: the datum belongs to another user. */
enum esp_status esp_data_remove_damaged(const char *id, const char *server);
/* Has `server` fetch a datum from another server. `move` 0: as a replica; else in place of all other copies.
 * Blocks until the datum has arrived. The wait for space, and the time without any progress, are limited by
 * call_timeout. ESP_REFUSED: it is sticky, unique, or being moved to a third server. ESP_BUSY: there was no
 * space in that time. ESP_NOT_FOUND: there is no such server, or no server has the datum any more; of a move:
 * only replicas are left (see esp_data_adopt()). */
enum esp_status esp_data_copy(const char *id, const char *server, int move, esp_data_progress *progress,
                              void *arg);
/* Has `server` make a new datum of the same value and mode in another layout (layout->rows 0: in one piece).
 * *id is its identity, for free(). Ranks that have pieces of the old datum send them directly to the ranks
 * that get pieces of the new one. Blocks until the new datum is complete. A failure leaves nothing behind. If
 * the calling process ends meanwhile, the server deletes the new datum after ten seconds without contact.
 * ESP_INVALID: the datum is not a vector or matrix stored in full, or the layout is impossible. ESP_REFUSED:
 * it is sticky and unique, or `server` has certificates and the server that has the pieces cannot encrypt. */
enum esp_status esp_data_redistribute(const char *from, const char *server,
                                      const struct esp_data_layout *layout, esp_data_progress *progress,
                                      void *arg, char **id);

/* ---- sequences of calls ----
 *
 * In a sequence, the calls of this thread (all but jobs) send no array twice, and results stay on the servers
 * that computed them. The program behaves as without the sequence. The library knows an array by its address.
 * It sends an array again only if the program has written to it. The pages of a result that stays on its
 * server are guarded (mprotect(2)). A thread that reads or writes there is stopped by SIGSEGV, waits until
 * the whole result has arrived, and continues. A result that no later call of the sequence takes arrives at
 * the end of the sequence at the latest. A result that a later call takes stays on its server, also after the
 * sequence, until the program reads or writes its memory; if the memory is freed or used for another result,
 * the server's copy is deleted.
 *
 * Limits:
 * - System calls are not stopped by guards: write(2), and fwrite(3) of large blocks, fail with EFAULT on
 * guarded memory. Read one element in the middle of the result first.
 * - The library handles SIGSEGV from the first result that stays on a server. It passes faults that are not
 * its own to the previous handler. Threads that read results must not block SIGSEGV.
 * - If a server is lost together with a result, the result is computed again when it is needed. If that is
 * not possible, the library names the result on stderr and aborts the process, because the instruction that
 * reads the memory cannot fail in another way. The same happens after grpc_finalize(), which deletes results
 * that were left on servers, and in a child that was forked meanwhile.
 * - Memory that cannot be guarded gets its results when their calls end: stacks, small blocks of malloc(),
 * and memory shared with other processes, except that of esp_alloc(). The first sequence makes glibc's
 * malloc() take blocks of 128 KiB and more directly from the system (mallopt(3), M_MMAP_THRESHOLD), unless
 * the environment sets that threshold.
 * - Arrays of less than 32 KiB, sections, texts, files, and results that are arrays of strings are
 * transferred with each call. So are results of abstract problems that the client derives from what the
 * routine returns (triangles, mirrored halves). */

/* Begins a sequence. ESP_INVALID: this thread is in a sequence already. */
enum esp_status esp_sequence_begin(void);
/* Hints that the program does not want the result in `memory`, although no call takes it (a factorisation
 * that comes with a solution): it need not arrive at the end. ESP_NOT_FOUND: no result of this sequence
 * belongs there. */
enum esp_status esp_sequence_passed_on(const void *memory);
/* Ends the sequence: fetches all results that no later call has taken, and deletes what the sequence has left
 * on servers, except results that later calls took. Returns ESP_OK, or why a result cannot be fetched; all
 * other results have then arrived, and the memory of the missing one stays guarded. */
enum esp_status esp_sequence_end(void);

/* ---- calls by argument vector ---- */

/* One argument of a call. A vector has one for each esp_problem_argument, in the same order. An all-zero
 * struct is an input that is left out or an output that is not wanted. */
struct esp_argument {
    /* Scalars and arrays: their memory. Strings: the text (in), or a char ** as in grpc.h (out, inout).
     * Files: the path. Arrays of strings and of paths of files: a char **. NULL: the argument is left out (an
     * input must then have a default or follow from the extents of arrays) or not wanted. */
    void *data;
    enum esp_type type;         /* of `data`, checked; ESP_TYPE_ANY: not checked */
    unsigned n_dims;            /* how many extents are given, checked; 0: not checked */
    int64_t dims[ESP_MAX_DIMS]; /* for esp_arguments_complete(): -1: not known */
    /* Set by esp_arguments_complete(): not 0: a scalar input was left out, and `value` is what it is. */
    int completed;
    union {
        int64_t integer; /* of all integer types */
        double real;     /* of float and double */
    } value;
    /* For arrays of numbers, characters or strings. If the description has a section, only `datum` is
     * allowed; it is the whole array, of which the server takes the section. */
    const char *datum; /* identity of an input that lives on servers. "ID[1:1000,1:500]" is a section of it,
                        * with indices from 1 (espalier(1)), which the server cuts out. Nothing is sent.
                        * `data` is then only the place for the result of an inout argument */
    char **kept;       /* not NULL: the result stays on the server as a datum, and *kept becomes its identity,
                        * for free(). NULL: the result comes to `data` */
    enum esp_data_mode kept_mode;
    int kept_in_pieces; /* a result of a parallel server stays in the layout of its ranks (esp_data_layout) */
    int unwanted;       /* the result of an inout array does not come back, and `data` does not change */
    int stays; /* set of enum esp_session_side, for esp_call(), esp_call_async() and jobs. INPUTS: the
                * input array stays on the server that takes the call. OUTPUTS: the result stays
                * there, and also comes to `data` unless that is NULL. Both stay in kept_mode.
                * esp_session_info.data names them (of a job, esp_job.data names the inputs).
                * Arguments that cannot be data, or are data, are not affected. ESP_INVALID for
                * abstract problems */
};

/* Completes a vector: scalar inputs that follow from the extents of arrays (n from A) or have a default, then
 * n_dims and dims of every array, so that the program can allocate outputs. Needs no connection. ESP_INVALID:
 * the text names the argument that is missing, contradicts another one, or violates a precondition. */
enum esp_status esp_arguments_complete(const struct esp_problem *problem, struct esp_argument *arguments,
                                       size_t n_arguments);
/* Counts the elements in memory of each argument, by position; 1 for a scalar. A packed or banded matrix has
 * fewer than its extents suggest. Needs no connection. ESP_INVALID: as esp_arguments_complete(). */
enum esp_status esp_arguments_elements(const struct esp_problem *problem,
                                       const struct esp_argument *arguments, size_t n_arguments,
                                       uint64_t *elements);
/* After a call: reduces the last extent of each output that has a count (esp_problem_argument.count) to that
 * count. The vector is that of the call, with its scalar outputs and the extents of esp_arguments_complete().
 * Needs no connection. ESP_FAILED: the routine returned an impossible count. */
enum esp_status esp_arguments_cut(const struct esp_problem *problem, struct esp_argument *arguments,
                                  size_t n_arguments);

/* Checks, before a program makes or reads large arrays, whether a server has the memory for a call with these
 * arguments, which esp_arguments_complete() has completed. ESP_NO_SERVER: no server has; the text names the
 * largest. ESP_OK: a server has, the call is small, its memory is unknown (compressed matrices, abstract
 * problems), or no agent answers. */
enum esp_status esp_arguments_fit(const struct esp_problem *problem, const struct esp_argument *arguments,
                                  size_t n_arguments);

/* Options of a call. An all-zero struct has the defaults. */
struct esp_call_options {
    double deadline_s; /* limit of the whole session, in seconds; 0: the handle's */
    /* Not 0: fetch the session's output (lines that its routine or command prints) and progress while it
     * runs. They go to the functions below, or else to esp_session_output() and esp_session_info_get(). At
     * most 64 asynchronous sessions are followed at a time; the next one is followed when one of them ends.
     */
    int follow;
    /* Called with new output and progress by the thread that waits: the caller's in esp_call(), otherwise a
     * thread of the library. They must not call the library. NULL: not called. */
    void (*output)(void *arg, const char *text, size_t length); /* not terminated */
    void (*progress)(void *arg, double fraction);               /* from 0 to 1 */
    void *arg;
    /* Called while large arguments are sent to the server, also without `follow`, by any thread of the
     * library. Must not call the library. NULL: not called. */
    void (*sent)(void *arg, double fraction);
    /* Constraints on the server. If no server meets them, the session fails at once with ESP_NO_SERVER and a
     * text that says why. A handle that is bound to a server allows none (ESP_INVALID). */
    const char *server;            /* only this server; NULL: any */
    const char *const *properties; /* only servers whose `properties` (in their file) have all these words */
    size_t n_properties;
    double finish_s;       /* only servers whose forecast is that the results are back within so many seconds;
                            * 0: any. Unlike deadline_s it does not end a session that takes longer */
    uint64_t memory_bytes; /* only servers on which the call takes at most so much memory; 0: any */
    /* For esp_call_async(): a descriptor of the caller that takes 8 bytes without blocking, such as that of
     * eventfd(2). The library writes the number 1 there when the session has ended, so that a program can
     * poll(2) for the end beside other descriptors. It must stay open until then. 0: none. */
    int ended_fd;
    /* For esp_call_async(): not 0: the calling thread itself submits the session, and finishes it if the
     * server computes it within some tens of milliseconds. A small call then needs no switch of threads.
     * Abstract problems always run in a thread of the library. */
    int here;
};

enum esp_session_side { ESP_SESSION_INPUTS = 1, ESP_SESSION_OUTPUTS = 2 };

struct esp_job;

/* An array of a session that lives on servers. */
struct esp_session_datum {
    const char *argument; /* its name in the description */
    size_t position;      /* in the vector of the call */
    enum esp_session_side side;
    int own; /* 1: the session put or made it; 0: it was there before */
    const char *id;
};

/* A server that the agents proposed for a session. Times are in seconds. */
struct esp_candidate {
    const char *server;
    const char *address;
    double compute_s, queue_s, transfer_s; /* forecast */
    double error_s;                        /* expected error of the forecast */
    int tried;                             /* the client called this server */
    enum esp_status status;                /* if tried: ESP_OK: it took the session; else why not */
};
/* State and times of a session. Times are in seconds; 0: not known yet. */
struct esp_session_info {
    const char *id; /* as the daemons' logs print it */
    const char *problem;
    const char *server; /* that has or had the session, or "" */
    /* "submitting", "held back" (until a server has space), "waiting", "sending", "queued", "running",
     * "receiving", "ended" */
    const char *state;
    /* How the session ended; ESP_PENDING until then. With ESP_OK the text is "", or a note of the problem's
     * description on the results, such as that the factors are those of a singular matrix. */
    struct esp_error error;
    double submit_s;   /* to get candidates from the agents */
    double wait_s;     /* for memory on the server */
    double transfer_s; /* of arguments and results */
    double queue_s;
    double compute_s;
    double total_s;    /* from the call to the end */
    double forecast_s; /* forecast computation, queue and transfer of the server that took the session */
    double forecast_compute_s;
    double forecast_error_s;
    unsigned capable; /* how many servers could have taken the session */
    int asked;        /* 1: servers were asked; 0: agents answered from memory, or the handle is bound */
    double progress;  /* from 0 to 1 as the routine of a followed session reported it; below 0: no report */
    const struct esp_candidate *candidates; /* best first */
    size_t n_candidates;
    const struct esp_session_datum *data; /* after the end: arrays of the session that live on servers */
    size_t n_data;
    /* After the end: the ranks of a parallel server that computed the session: the first rank, the grid, and
     * rows and columns of a block. grid_rows 0: a worker process computed it, or nothing did. */
    unsigned first_rank, grid_rows, grid_cols, grid_block;
    double fetch_s; /* how long the server waited for data on other servers when it had everything else */
};
void esp_session_info_free(struct esp_session_info *info);

/* Does what grpc_call() does, with a vector. `info`, unless NULL, becomes the session's state and times, also
 * when it failed; NULL if there was no session. ESP_INVALID: wrong count, type, extents or values; the text
 * names the argument. Otherwise the status with which the session failed. */
enum esp_status esp_call(grpc_function_handle_t *handle, const struct esp_argument *arguments,
                         size_t n_arguments, const struct esp_call_options *options,
                         struct esp_session_info **info);

/* Does what grpc_call_async() does, with a vector. The functions of grpc.h wait for the session. The vector
 * itself may be freed when this returns. */
enum esp_status esp_call_async(grpc_function_handle_t *handle, const struct esp_argument *arguments,
                               size_t n_arguments, const struct esp_call_options *options,
                               grpc_sessionid_t *session);

/* ---- runs of abstract problems ----
 *
 * esp_call() calls an abstract problem like any other problem. A run offers more: its matrices may be sparse,
 * the program sees the rule and the times of each step, and gets results in the form of the steps. Only one
 * thread may use a run. */

struct esp_run;

/* A dense matrix (starts NULL) with rows * cols elements, column by column, or a sparse one by compressed
 * columns. */
struct esp_matrix {
    int64_t rows, cols;
    int is_complex;   /* an element is two doubles: real part, imaginary part */
    double *values;   /* never NULL */
    int64_t *starts;  /* cols + 1: column j has the entries from starts[j] to starts[j + 1] - 1 */
    int64_t *indices; /* the row of each entry, from 0, ascending in a column */
};
/* Frees the arrays that the library has allocated, and sets all members to zero. NULL is allowed. */
void esp_matrix_clear(struct esp_matrix *matrix);

/* Creates a run of a problem, which must outlive the run. `server`: every step goes to this server; NULL: the
 * agents choose. ESP_INVALID: the problem is not abstract. */
enum esp_status esp_run_create(const struct esp_problem *problem, const char *server, struct esp_run **run);
/* Frees a run. NULL is allowed. */
void esp_run_destroy(struct esp_run *run);

/* Sets an input: a matrix in memory of the caller, who must not change it while the run exists; a scalar; or
 * a matrix on servers ("ID" or "ID[section]"), with its type and extents. ESP_INVALID. ESP_LIMIT. */
enum esp_status esp_run_give(struct esp_run *run, const char *name, const struct esp_matrix *matrix);
enum esp_status esp_run_give_number(struct esp_run *run, const char *name, double value);
enum esp_status esp_run_give_datum(struct esp_run *run, const char *name, const char *reference,
                                   enum esp_type type, int64_t rows, int64_t cols);
/* Makes an output, which has these extents, stay on the server that computes it. ESP_INVALID: the library
 * derives this output from a step's result (a triangle, a mirrored half). */
enum esp_status esp_run_keep(struct esp_run *run, const char *name, enum esp_data_mode mode, int in_pieces,
                             int64_t rows, int64_t cols);
/* Marks an output as not wanted, so that it is not fetched if possible. */
enum esp_status esp_run_leave_out(struct esp_run *run, const char *name);

/* Takes the first rule that fits the inputs, and calls its problems. `foretell` not 0: also forecast steps
 * that are bound to a server. Blocks. ESP_INVALID: no rule fits. Otherwise the status of the rule; the text
 * names rules that were tried before it. */
enum esp_status esp_run_execute(struct esp_run *run, const struct esp_call_options *options, int foretell);
/* Submits a job of the problem that the rules choose, as esp_job_submit() does, instead of esp_run_execute().
 * ESP_INVALID: no rule of a single step fits. */
enum esp_status esp_run_submit(struct esp_run *run, const struct esp_call_options *options, int listed,
                               struct esp_job **job);

/* Gets an output of an executed run, cut to these extents, for esp_matrix_clear(). It is sparse if its step
 * made it so and nothing is cut. ESP_INVALID: the rule has not made the output, or the output is smaller. */
enum esp_status esp_run_result(const struct esp_run *run, const char *name, int64_t rows, int64_t cols,
                               struct esp_matrix *matrix);
/* Gets the identity of an output that stayed on a server, for free(). ESP_INVALID: it did not stay. */
enum esp_status esp_run_kept(const struct esp_run *run, const char *name, char **id);

/* Rule, steps and results of a run. */
struct esp_run_info {
    const char *taken;             /* the problems of the rule: "dgetrf, dgetri"; or "" */
    const char *rule;              /* the rule, as the description has it; or "" */
    const char *weighed;           /* forecasts of competing rules; or "" */
    const char *passed_over;       /* rules that were tried before, and why they failed; or "" */
    enum esp_status passed_status; /* of the first rule in passed_over */
    const char *server;            /* of the last step */
    int is_checked;                /* 1: the solution was checked, and backward_error is known */
    double backward_error;
    const struct esp_session_info *const *steps; /* sessions of the steps, in order */
    size_t n_steps;
};
/* Gets the information about a run. It belongs to the run, and is valid until the next function for this run.
 */
const struct esp_run_info *esp_run_info(struct esp_run *run);

/* Orders about the data of a session that has ended (info->data), after Scilab// (scilab-parallel, H.3.1).
 * `sides` is a set of enum esp_session_side. `argument` names one argument; NULL: all of these sides. If an
 * order fails for one array, it is still carried out for the others, and the first failure is returned.
 * ESP_NOT_FOUND: there is no such array, or no server has it any more. */

/* Has `server` fetch replicas of the arrays, as esp_data_copy() does. */
enum esp_status esp_session_send(const struct esp_session_info *info, int sides, const char *argument,
                                 const char *server, esp_data_progress *progress, void *arg);
/* Reads the arrays of one side into `data` of a vector like that of the call (type, n_dims and dims are
 * checked). An array whose `data` is NULL is not read. ESP_INVALID: a datum has other extents. */
enum esp_status esp_session_bring(const struct esp_session_info *info, int sides, const char *argument,
                                  const struct esp_argument *arguments, size_t n_arguments,
                                  esp_data_progress *progress, void *arg);
/* Deletes all data that the session put or made, everywhere. Data that existed before the session stay. */
enum esp_status esp_session_leave(const struct esp_session_info *info);

/* Makes the callback that calls this function fail: the library ignores its results, and the session ends
 * with ESP_FAILED and `text`. Outside a callback this does nothing.
 *
 * A callback is a function of the caller that the problem's routine calls while the session runs. It has the
 * C signature that the description gives. Scalar inputs are passed by value, all other arguments by address.
 * A string input is a const char *; a string output is set through a char **, or returned. The library copies
 * the text and frees nothing. grpc_call() and esp_call() run callbacks in the calling thread; asynchronous
 * sessions run them in a thread of the library (64 sessions at a time, as with esp_call_options.follow). A
 * session runs one callback at a time. If a session is tried on another server, its callbacks are called
 * again. Inside a callback the functions of this library return ESP_REFUSED. A cancelled session, or one
 * whose deadline passes, ends when the running callback has returned. */
void esp_callback_fail(const char *text);

/* Gets state and times of a session of grpc_call_async() or esp_call_async() that still runs or is among the
 * last 4096 that a wait function has reported. Candidates are known until a wait function has reported the
 * session. ESP_NOT_FOUND. */
enum esp_status esp_session_info_get(grpc_sessionid_t session, struct esp_session_info **info);

/* Takes new output of a session that is followed (esp_call_options without `output`): at most `size` bytes,
 * *length of them are written. The library buffers at most 64 KiB and drops the oldest bytes; it then inserts
 * "[N bytes of output are lost]". ESP_NOT_FOUND: as esp_session_info_get(). */
enum esp_status esp_session_output(grpc_sessionid_t session, char *buffer, size_t size, size_t *length);

/* Gets state and times of the last grpc_call() in this thread, without candidates. ESP_NOT_FOUND: there was
 * none. */
enum esp_status esp_last_session_info(struct esp_session_info **info);

/* Sets the deadline of later sessions of this handle: after so many seconds, transfers and queue included,
 * they end with ESP_TIMEOUT, and the server stops their computation. 0: as the configuration file says.
 * ESP_INVALID. */
enum esp_status esp_handle_set_deadline(grpc_function_handle_t *handle, double seconds);

/* ---- argument stacks ---- */

/* The variant of calls that the drafts of GridRPC had and the standard (GFD.52) left out. A program that
 * learns the number of arguments at run time pushes them one by one, in the order of the description. Types
 * and extents are checked at the call. A stack may be called with any number of times. Only one thread may
 * use it at a time. All functions but the calls work also outside grpc_initialize() .. grpc_finalize(). */
typedef struct grpc_arg_stack_s grpc_arg_stack_t;

/* Creates an empty stack for at most `most` arguments. NULL if memory is exhausted, or `most` is more than
 * ESP_MAX_ARGUMENTS. */
grpc_arg_stack_t *grpc_arg_stack_new(size_t most);
/* Frees a stack. NULL is allowed. */
grpc_error_t grpc_arg_stack_destruct(grpc_arg_stack_t *stack);

/* Pushes the next argument: the address of its value, also for scalar inputs, which are read at the call;
 * arrays, texts and files as in esp_call(). NULL: an input that is left out, or an output that is not wanted.
 * GRPC_OTHER_ERROR_CODE: the stack is full. */
grpc_error_t grpc_arg_stack_push_arg(grpc_arg_stack_t *stack, void *argument);
/* Pushes an argument with its type and extents, which the call compares with the description. */
grpc_error_t grpc_arg_stack_push_typed(grpc_arg_stack_t *stack, void *argument, enum esp_type type,
                                       const int64_t *dims, unsigned n_dims);
/* Removes the newest argument and returns its address. NULL also when the stack is empty. */
void *grpc_arg_stack_pop_arg(grpc_arg_stack_t *stack);

/* Do what grpc_call() and grpc_call_async() do, with the arguments of a stack. GRPC_SESSION_FAILED also when
 * the stack has too many or too few arguments. */
grpc_error_t grpc_call_arg_stack(grpc_function_handle_t *handle, grpc_arg_stack_t *stack);
grpc_error_t grpc_call_arg_stack_async(grpc_function_handle_t *handle, grpc_sessionid_t *sessionID,
                                       grpc_arg_stack_t *stack);

/* ---- jobs: calls that outlive the program that made them ---- */

/* Another name of an output of a job. */
struct esp_job_name {
    const char *name;
    const char *of; /* name of the output in job->problem */
    int64_t rows;   /* number of its rows that belong to `name`; -1: all */
};

/* A job as it is known without asking its server: all that another process needs to use it. */
struct esp_job {
    const char *id;                    /* as the daemons' logs and `espalier jobs` print it */
    const struct esp_problem *problem; /* the signature when the job was submitted */
    const char *server, *address;      /* that has the job */
    double submitted_s;                /* seconds since 1970 */
    int again; /* 1: the job is called again when its server is lost (see esp_job_look()) */
    /* One for each esp_problem_argument, with the extents of all arrays. `data` of a scalar input points to
     * the value of the call; otherwise it is NULL. */
    const struct esp_argument *arguments;
    size_t n_arguments;
    const char *token; /* the job as a text for esp_job_read(). Its holder can fetch and cancel the job */
    const struct esp_session_datum *data; /* inputs that live on servers since the submission. Results are in
                                           * esp_session_info.data of a session of esp_job_attach() */
    size_t n_data;
    const struct esp_job_name
        *names; /* for a job of an abstract problem: the abstract problem's output names */
    size_t n_names;
};
void esp_job_free(struct esp_job *job);

/* Starts a job and returns when a server has it and all its arguments. The server computes it without this
 * program, and keeps all outputs, wanted or not, until esp_job_forget() or until the end of the server's
 * `job_lease`. Of `options` only deadline_s and sent are used. The job of an abstract problem is a job of the
 * problem that the library chooses (job->problem).
 * `listed`: the job is also written to the user's list of jobs, $XDG_STATE_HOME/espalier/jobs. Its arguments
 * are saved too (up to `job_arguments` bytes) if the problem is idempotent, no server was named, and no
 * argument is a state. A job with saved arguments survives the loss of its server. If the program dies inside
 * this function, either the job is in the list, or no server keeps it. ESP_INVALID: as esp_call(), and for
 * callbacks and chains. ESP_LIMIT: no server takes more jobs. ESP_SYSTEM: the list cannot be written. */
enum esp_status esp_job_submit(grpc_function_handle_t *handle, const struct esp_argument *arguments,
                               size_t n_arguments, const struct esp_call_options *options, int listed,
                               struct esp_job **job);

/* Gets the job of a token. Needs no connection. ESP_SYNTAX: the text is not a token. */
enum esp_status esp_job_read(const char *token, struct esp_job **job);

/* Lists the ids of the jobs in the user's list, oldest first. Needs no connection. ESP_SYNTAX: the file is
 * damaged. ESP_SYSTEM. */
enum esp_status esp_job_list(const char *const **ids, size_t *n);
void esp_job_list_free(const char *const *ids);
/* Finds the job of the list with this id, or the only one whose id begins with it. Needs no connection.
 * ESP_NOT_FOUND. ESP_INVALID: several ids begin so. Otherwise as esp_job_list(). */
enum esp_status esp_job_find(const char *id, struct esp_job **job);

/* Makes a session of this process that stands for the job. The functions of grpc.h wait for it. When it has
 * ended well, the results are in the outputs of the vector (NULL: not fetched; inputs are ignored). Any
 * process may do this any number of times while the server has the job. grpc_cancel() cancels the job;
 * grpc_finalize() does not. A deadline in `options` ends the wait, not the job. If the server is lost and the
 * job is called again (see esp_job_look()), the session continues with the new call, and its output starts
 * again. The session ends with the job's status. ESP_NOT_FOUND: the server was restarted or does not have the
 * job any more, and the job cannot be called again. ESP_UNREACHABLE: for `agent_patience` the server has not
 * answered, or no other server has taken the job. */
enum esp_status esp_job_attach(const struct esp_job *job, const struct esp_argument *arguments,
                               size_t n_arguments, const struct esp_call_options *options,
                               grpc_sessionid_t *session);

/* State of a job. Times are in seconds. */
struct esp_job_state {
    const char *state;      /* "waiting" (for memory), "queued", "running", "done", "failed", "cancelled" */
    struct esp_error error; /* how it ended; ESP_PENDING until then */
    unsigned ahead;         /* sessions before it in the queue */
    double progress;        /* from 0 to 1; below 0: the routine has reported none */
    double wait_s, transfer_s, queue_s, compute_s;
    double forecast_s; /* of the computation, by the job's server */
    double kept_s;     /* how long the server keeps the result from now; before the end: the whole lease */
};

/* Asks the job's server for its state. Waits up to `patience_s` for the end of the job, or for progress
 * beyond state->progress. A job is lost when its server was restarted, or does not answer and has left the
 * tree. If job->again is set, this function then calls it again on another server, from its last checkpoint
 * if there is one. Of several programs that do this, only one makes the call. The call changes server,
 * address and token of *job, so that only one thread may use a struct esp_job at a time. The end of a failed
 * or cancelled job of the list is noted in the list, and taken from there when the server does not know it
 * any more. ESP_NOT_FOUND: the job is lost, or its server does not have it any more. ESP_UNREACHABLE: its
 * server does not answer, or no server takes it now; if job->again is set, try later. If the job was
 * cancelled in the list while its server was away, *state then says "cancelled", and the server learns it
 * when it answers. */
enum esp_status esp_job_look(const struct esp_job *job, double patience_s, struct esp_job_state *state);

/* Reads output of the job from byte *position on: at most `size` bytes, *length of them are written, and
 * *position advances (by more than *length if bytes were lost: the server keeps about 64 KiB). Waits up to
 * `patience_s` for output, but not longer than the job runs. */
enum esp_status esp_job_output(const struct esp_job *job, double patience_s, uint64_t *position, char *buffer,
                               size_t size, size_t *length);

/* Stops the job's computation, or removes it from the queue, and waits for its end, which can be fetched. A
 * job of the user's list is marked there as cancelled first, and is never called again. ESP_OK also when the
 * job had ended already; esp_job_look() says how. ESP_UNREACHABLE: the server does not answer and may still
 * compute the job; for a job of the list, the next esp_job_look() that reaches the server cancels it.
 * ESP_NOT_FOUND: the server does not have the job any more. */
enum esp_status esp_job_cancel(const struct esp_job *job);

/* Deletes the job and its result on the server (stopping it if it runs), and removes it from the user's list.
 * ESP_UNREACHABLE: it was removed from the list, but the server could not be reached. */
enum esp_status esp_job_forget(const struct esp_job *job);

/* ---- the hierarchy ---- */

enum esp_role { ESP_ROLE_CLIENT, ESP_ROLE_REDIRECTOR, ESP_ROLE_MASTER, ESP_ROLE_LEADER, ESP_ROLE_SERVER };
/* Returns the role in words: "redirector", "master agent", "leader agent", "server". Never NULL. */
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
    double bandwidth_bps; /* of that path, bytes per second */
    double age_s;         /* how long ago the node itself reported these values */
    int unreachable;      /* the node does not answer; its last contact was age_s ago (0: with no node that
                           * answers now) */
    /* servers: */
    double speed_flops; /* measured, of one slot */
    unsigned slots, threads;
    unsigned queued, running;
    uint64_t memory_total, memory_free; /* bytes for sessions */
    uint64_t completed, failed;         /* sessions since its start */
    double cpu_available; /* share of a processor that a session would get now beside other load, from 0 to 1;
                           * 0: the server has no sensor, or see `senses` */
    double cpu_forecast, cpu_error; /* cpu_available in the next seconds, and expected error */
    uint64_t machine_memory_free, machine_disk_free; /* bytes, of the whole machine; 0: not reported */
    double cpu_step_s;                               /* between the values of the history */
    unsigned n_cpu_history;
    double cpu_history[ESP_WEATHER_HISTORY]; /* of cpu_available, oldest first */
    /* agents: */
    uint64_t left_out; /* nodes below it for which the answer had no space */
    /* all: */
    double back_bps; /* of the path to its parent, bytes per second; 0: not measured, bandwidth_bps is used */
    /* servers: */
    unsigned disabled; /* problems that an administrator has disabled there */
    double expected_s; /* the server ended age_s ago and is expected to run again within so many seconds; 0:
                        * not expected */
    double host_bps;   /* bytes per second between daemons of its host, through memory; 0: not measured */
    double host_latency_s; /* of a message between daemons of its host, one way; 0: not measured */
    int loopback_only; /* other machines may not reach it: its published name means loopback, or no address */
    int senses;        /* it has a sensor, which has reported nothing yet if cpu_available is 0 */
};

/* Lists all nodes, parents before their children: the redirector (if one is configured), each master agent
 * and the nodes below it. A node that cannot be reached is marked, and the nodes below it are missing.
 * `address`: only the node at "host:port" and the nodes below it; NULL: all. */
enum esp_status esp_tree(const char *address, struct esp_node **nodes, size_t *n);
void esp_tree_free(struct esp_node *nodes);

/* ---- administration ---- */

/* Gives an order to a node. `verb` is "move" (words: the new parent's name), "drain", "undrain", "disable"
 * and "enable" (words: problems), "reload", "restart", "stop" (words: "cut" if nodes below it may be cut
 * off), "trace" (words: a session as logs call it), or "look". `address` is the "host:port" of an agent above
 * the node, or of the node itself. The agent checks the order and passes it down. `node` is the node's name;
 * NULL: the node at `address`. `generation` (NULL: not used) is a version of the tree below that agent: in,
 * the one that the caller has seen (0: any); out, the current one. `text` (NULL: not wanted) becomes the
 * answer or a remark, in lines, for free(). ESP_NOT_FOUND: no such node. ESP_INVALID: the order is impossible
 * (for example a loop). ESP_REFUSED: it would cut the tree. ESP_STALE: another administrator has changed the
 * tree since. ESP_BUSY: another administrator is changing it now. ESP_SECURITY: this client may not.
 * ESP_TIMEOUT: the node did not confirm the order. */
enum esp_status esp_administer(const char *address, const char *node, const char *verb,
                               const char *const *words, size_t n_words, uint64_t *generation, char **text);

struct esp_master {
    const char *name;
    const char *address;
    uint64_t incarnation;
    unsigned servers; /* below it */
    double load;      /* busy slots over slots */
};

/* Lists the master agents that the redirector names now, best first. If the configuration file names the
 * agents, the list is from there, with addresses only. */
enum esp_status esp_locate(struct esp_master **masters, size_t *n);
void esp_locate_free(struct esp_master *masters);

/* Asks the node at "host:port" for its name (into memory of the caller, at least 256 bytes) and its role;
 * either may be NULL. Otherwise returns why no node answers. */
enum esp_status esp_greet(const char *address, char *name, enum esp_role *role);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
