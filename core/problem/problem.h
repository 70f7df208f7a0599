/* SPDX-License-Identifier: Apache-2.0
 *
 * A problem: a named computation with a typed signature, its cost and its implementations, as read
 * from a problem description (doc/problem-description.md has the grammar).
 *
 * Problems are immutable once parsed and may be shared between threads.
 */
#ifndef CORE_PROBLEM_H
#define CORE_PROBLEM_H

#include "core/problem/expr.h"
#include "core/problem/problem_command.h"
#include <stddef.h>

#define PROBLEM_MAX_DIMS       7
#define PROBLEM_MAX_ARGUMENTS  64
#define PROBLEM_MAX_NAME       63            /* bytes of a problem's or argument's name */
#define PROBLEM_MAX_TEXT       (64 * 1024)   /* bytes of one problem's description */
#define PROBLEM_MAX_FILE       (1024 * 1024) /* bytes of a description file */
#define PROBLEM_MAX_PARAMETERS 128           /* of one call */
#define PROBLEM_MAX_RESULTS    16            /* `out info` of one call */

/* A work array is memory for the routine that callers never see. A work scalar is a value computed from
 * the inputs (its `initial`), like the length of a work array. */
enum argument_mode { MODE_IN, MODE_OUT, MODE_INOUT, MODE_WORK };
const char *argument_mode_name(enum argument_mode mode);

enum base_type {
    TYPE_CHAR,
    TYPE_SHORT,
    TYPE_INT,   /* 32 bits: Fortran's INTEGER */
    TYPE_LONG,  /* 64 bits */
    TYPE_INT64, /* 64 bits */
    TYPE_FLOAT,
    TYPE_DOUBLE,
    TYPE_COMPLEX,        /* two floats */
    TYPE_DOUBLE_COMPLEX, /* two doubles */
    TYPE_STRING,         /* NUL-terminated text of variable length */
    TYPE_FILE,           /* contents of a file, of variable length */
    TYPE_STATE,   /* state that a routine keeps in its worker between calls; callers have its identity, a text
                   */
    TYPE_CALLBACK /* a function of the caller that the routine calls (core/problem/problem_callback.h) */
};

/* Returns the bytes of one element; 1 for types of variable length (base_type_is_variable). */
size_t base_type_size(enum base_type type);
const char *base_type_name(enum base_type type);
static inline bool base_type_is_variable(enum base_type type)
{
    return type == TYPE_STRING || type == TYPE_FILE || type == TYPE_STATE || type == TYPE_CALLBACK;
}

/* Converts a raw element (native byte order) to a value for expressions: char becomes its code;
 * NUMBER_UNKNOWN for complex numbers, strings and files. `raw` may be unaligned. */
struct number number_load(enum base_type type, const void *raw);

/* Converts a number to a raw element of `type` (complex: with imaginary part 0). ESP_INVALID when it does
 * not fit ("3000000000 does not fit int (32 bits)") or is a real where an integer is required. */
enum esp_status number_store(const struct number *number, enum base_type type, void *raw,
                             struct esp_error *error);

/* Properties an argument may be declared with (a set of bits). */
enum argument_property {
    PROPERTY_UPPER = 1 << 0,
    PROPERTY_LOWER = 1 << 1,
    PROPERTY_SYMMETRIC = 1 << 2,
    PROPERTY_POSITIVE_DEFINITE = 1 << 3,
    PROPERTY_ROW_MAJOR = 1 << 4, /* else column-major */
    PROPERTY_UNIT_DIAGONAL = 1 << 5,
    PROPERTY_QUERY = 1 << 6, /* of a work array: the routine returns its best size when asked (see below) */
    PROPERTY_HERMITIAN = 1 << 7,
    PROPERTY_FINITE = 1 << 8 /* NaN and infinity are refused */
};

/* Returns the word for the property with that bit number ("upper" for 0), NULL after the last. */
const char *property_name(unsigned bit);

/* Which elements of a matrix are stored, and where. The dimensions are always those of the whole matrix. */
enum storage {
    STORAGE_FULL,
    STORAGE_PACKED, /* one triangle, column by column: n*(n+1)/2 elements */
    STORAGE_BANDED, /* LAPACK's band storage: a row for each diagonal, the columns of the matrix */
    STORAGE_CSC,    /* compressed columns: the elements of column j from pointers[j] to pointers[j + 1] */
    STORAGE_CSR,    /* compressed rows */
    STORAGE_PIECES  /* only of data: distributed over a process grid (core/redistribution/pieces.h) */
};

/* "packed"; "" for STORAGE_FULL. */
const char *storage_name(enum storage storage);

struct problem;

struct argument {
    const char *name;
    const char *text; /* one line for people, or "" */
    enum argument_mode mode;
    enum base_type type;
    uint32_t properties;
    uint32_t n_dims; /* 0: a scalar */
    struct expr *dims[PROBLEM_MAX_DIMS];
    struct expr *section[PROBLEM_MAX_DIMS]
                        [3]; /* start, end and skip of the elements that travel, from 0; or NULL: all */
    bool is_section;         /* a dimension has a section (core/problem/section.h) */
    struct expr *initial;    /* default value of an optional input (of every element of an array), or NULL */
    enum storage storage;
    struct expr *layout[3]; /* packed: the triangle, 'U' or 'L' (NULL: as the property says, else U); banded:
                             * diagonals below and above the main one, and rows in front (or NULL) */
    uint32_t pointers,
        indices;           /* csc, csr: the arguments with the pointers, and with the row (column) numbers */
    uint32_t base;         /* csc, csr: the number of the first row and of the first element, 0 or 1 */
    struct expr *count;    /* of an output array: the extent of its last dimension after the call */
    struct expr *unread;   /* of an inout array: condition under which the routine does not read it, and sets
                              all of it; or NULL */
    struct expr *index_of; /* of an input array of integers: the maximum of each, from 1; or NULL */
    bool index_signed;     /* ... or from -1 to minus the maximum */
    struct expr *triangle; /* of a matrix: 'U' or 'L', the triangle that the routine reads; NULL: both */
    struct expr *unit;     /* of such a matrix: 'U' when its diagonal is assumed to be 1; or NULL */
    const struct problem *callback; /* TYPE_CALLBACK: its signature, without implementations */
    bool callback_returns;          /* the last argument of `callback` is the function's result */
    unsigned line;
    uint32_t offset; /* offset of its name, while the description is read */
};

/* A message with {expression} in braces: problem_failure_text() fills in the values. */
struct failure_text {
    const char *text; /* NULL: no message */
    struct expr **values;
    uint32_t n_values;
};

struct precondition {
    struct expr *condition;
    struct failure_text message; /* empty: the expression's own text */
};

/* One parameter of the call that an implementation makes. */
struct call_parameter {
    enum {
        PARAMETER_ARGUMENT, /* an argument of the problem: arrays by address, scalars by the convention */
        PARAMETER_VALUE,    /* an expression: max(1,n); work scalars are passed like this too */
        PARAMETER_RESULT,   /* `out info`: an int that the routine sets, named in the error clauses */
        PARAMETER_LEADING,  /* leading(A): distance between the columns of A, in elements, as the server lays
                               them out */
        /* of parallel implementations (core/problem/problem_parallel.h) */
        PARAMETER_DESCRIPTOR, /* desc(A): the nine integers that describe how the matrix is distributed */
        PARAMETER_INTO, /* into(A): memory distributed as A; its contents after the call are A's value */
        PARAMETER_COMMUNICATOR, /* of the computing ranks: MPI_Comm, in Fortran its handle */
        PARAMETER_CONTEXT       /* the BLACS context */
    } kind;
    uint32_t argument;     /* PARAMETER_ARGUMENT, _LEADING, _DESCRIPTOR, _INTO: its index */
    struct expr *value;    /* PARAMETER_VALUE */
    enum base_type type;   /* the type of the parameter */
    uint32_t result_index; /* PARAMETER_RESULT: its index in the scope, after the arguments */
    const char *name;      /* PARAMETER_RESULT; of a file: its name in its folder */
    struct expr *width;    /* PARAMETER_ARGUMENT, an array of strings for Fortran: characters of an element;
                              NULL: for an input, the length of the longest string */
};

/* Whether the parameter is only the value of that argument, as for work scalars. */
static inline bool call_parameter_is_value_of(const struct call_parameter *parameter, uint32_t argument)
{
    uint32_t index;
    return parameter->kind == PARAMETER_VALUE && expr_is_name(parameter->value, &index) && index == argument;
}

enum verdict {
    VERDICT_FAILED, /* 'error': the call has failed, and the message says why */
    VERDICT_DONE,   /* 'success': an exit status that is no failure; no message */
    VERDICT_NOTED   /* 'note': the call is done, and the message comes with its results */
};

/* Meaning of a call's results: `error info > 0 "U({info},{info}) is exactly zero"`. */
struct error_clause {
    struct expr *condition;
    struct failure_text message;
    enum verdict verdict;
};

enum convention {
    CONVENTION_C,
    CONVENTION_FORTRAN,
    CONVENTION_COMMAND /* a program instead of a routine: `command` */
};

struct implementation {
    const char *name; /* lapack */
    enum convention convention;
    const char *symbol;           /* dgesv_; of a command, the program */
    const char *library;          /* liblapack.so.3; "" = the process itself */
    bool returns;                 /* the function's result is stored in `result` */
    struct call_parameter result; /* PARAMETER_ARGUMENT (an out scalar) or PARAMETER_RESULT */
    struct call_parameter *parameters;
    uint32_t n_parameters;
    struct error_clause *errors;
    uint32_t n_errors;
    uint32_t n_results; /* PARAMETER_RESULTs: the scope is n_arguments + n_results long; of a command 1: its
                         * exit status */
    const struct command *command; /* CONVENTION_COMMAND, else NULL */
    const struct spread *spreads;  /* of each argument of the problem, when ranks compute it together; else
                                      NULL (core/problem/problem_parallel.h) */
    const struct expr *suits;      /* the calls that it can compute; NULL: all */
    int64_t time_limit_ms;         /* the call is stopped after this time; 0: never */
    uint64_t output_bytes;         /* most bytes of one returned file or of one output of a command */
    unsigned line;
};

/* Whether the implementation is a symbol in a library. */
static inline bool implementation_is_routine(const struct implementation *implementation)
{
    return implementation->convention == CONVENTION_C || implementation->convention == CONVENTION_FORTRAN;
}

/* Whether the ranks of a parallel server compute the implementation together. */
static inline bool implementation_is_parallel(const struct implementation *implementation)
{
    return implementation->spreads != NULL;
}

/* Whether the routine receives the distance between the columns of that argument by leading(). */
bool implementation_leads(const struct implementation *implementation, uint32_t argument);

/* Returns the kind of implementation in the words of descriptions: "fortran", "c", "command", "parallel". */
static inline const char *implementation_way(const struct implementation *implementation)
{
    return implementation_is_parallel(implementation)         ? "parallel"
           : implementation->convention == CONVENTION_FORTRAN ? "fortran"
           : implementation->convention == CONVENTION_COMMAND ? "command"
                                                              : "c";
}

struct abstract;
struct solves;

struct problem {
    const char *name;  /* dgesv */
    const char *title; /* one line */
    const char *text;  /* more for people, or "" */
    const char *gams;  /* GAMS class, or "" */
    struct argument *arguments;
    uint32_t n_arguments;
    struct precondition *preconditions;
    uint32_t n_preconditions;
    struct expr *work;           /* floating point operations, or NULL */
    struct expr *memory;         /* bytes needed beyond the arguments, or NULL */
    const struct solves *solves; /* its equation (core/problem/problem_solves.h), or NULL */
    bool idempotent;             /* repeating the call is harmless */
    bool checkpoint; /* its routine saves its state, and continues from there when it is called again */
    struct implementation *implementations;
    uint32_t n_implementations;
    uint32_t n_outer; /* of a callback: how many of its last arguments are the problem's scalars, */
    const uint32_t *
        outer; /* their indexes among that problem's arguments; NULL for a callback that was read by itself */
    const struct abstract *abstract; /* its rules (core/problem/abstract.h) when it is abstract, else NULL */
    const char *source;              /* canonical text of the signature part (without implementations) */
    uint64_t digest;                 /* of `source`: equal digests mean equal signatures */
    const char *file;                /* file name as it was given */
    const char *folder;    /* folder of that file, absolute if it was read from a file: its libraries may lie
                              there; or "" */
    unsigned line, column; /* position of its name */
};

/* A set of problems, in the order of their names. The problems live as long as the set. */
struct problem_set {
    struct problem **problems;
    size_t n_problems;
    struct arena memory; /* internal */
};

/* Parses `text`, called `file` in messages ("file:line:column: expected ..., found ..."). On success the
 * caller owns *problem_set (problem_set_destroy). A text without problems is ESP_SYNTAX. */
enum esp_status problem_parse(const char *text, size_t length, const char *file,
                              struct problem_set **problem_set, struct esp_error *error);

/* Reads a description file, or every *.esp below a folder (sorted by name; hidden files are skipped,
 * symbolic links that lead out of the folder are ESP_INVALID). Two problems of one name are ESP_SYNTAX
 * with both places; a missing path, or a folder without descriptions, is ESP_NOT_FOUND. */
enum esp_status problem_load(const char *path, struct problem_set **problem_set, struct esp_error *error);
/* Loads the problems of several paths as one set. */
enum esp_status problem_load_all(const char *const *paths, size_t n_paths, struct problem_set **problem_set,
                                 struct esp_error *error);
/* Like problem_load_all(), except that folders, and the set, may be empty. */
enum esp_status problem_load_even_none(const char *const *paths, size_t n_paths,
                                       struct problem_set **problem_set, struct esp_error *error);
/* Like problem_load_all(), except that it skips a malformed problem or file and a repeated problem, and
 * calls `wrong` for each. The set has the rest, and may be empty. Fails only when out of memory. */
enum esp_status problem_load_good(const char *const *paths, size_t n_paths,
                                  void (*wrong)(void *arg, const struct esp_error *error), void *arg,
                                  struct problem_set **problem_set, struct esp_error *error);
const struct problem *problem_find(const struct problem_set *problem_set, const char *name);
void problem_set_destroy(struct problem_set *problem_set);

/* The extent of one argument in one call. */
struct shape {
    uint32_t n_dims;
    int64_t dims[PROBLEM_MAX_DIMS];
    uint64_t count;       /* number of stored elements, or of the section that travels; 1 for a scalar */
    uint64_t bytes;       /* count * base_type_size; 0 for types of variable length (base_type_is_variable) */
    uint64_t whole_bytes; /* bytes of the whole array when only a section of it travels; else 0 */
    bool unread;          /* of an inout array: this call does not read it, so its value need not travel */
};

/* Fills `scope_values` (n_arguments of them) from the scalar inputs in values[i] (raw little-endian
 * elements, NULL where missing; a missing optional one gets its default), checks the preconditions and
 * computes every shape. Otherwise ESP_INVALID with the problem's and argument's name. */
enum esp_status problem_bind(const struct problem *problem, const void *const *values,
                             struct number *scope_values, struct shape *shapes, struct esp_error *error);

/* Checks the preconditions that depend only on scalars known in `scope_values` (n_arguments of them).
 * ESP_INVALID for the first violated one, with the problem's name, the condition and the values.
 * Preconditions on unknown scalars are skipped. */
enum esp_status problem_check_known(const struct problem *problem, const struct number *scope_values,
                                    struct esp_error *error);

/* Stores the raw default (at most 16 bytes) of a missing optional scalar: argument `index` has an
 * `initial`. Also for work scalars. */
enum esp_status problem_default(const struct problem *problem, uint32_t index,
                                const struct number *scope_values, void *raw, struct esp_error *error);

/* Writes the storage as in the description: "packed(uplo)", "csc(Ap, Ai, 1)"; "" for STORAGE_FULL. Cut to
 * fit. */
void problem_storage_text(const struct problem *problem, const struct argument *argument, char *text,
                          size_t size);

/* Storage of one matrix in one call. */
struct layout {
    enum storage storage;
    bool row_major, upper;
    int64_t rows, cols;
    int64_t below, above,
        front; /* STORAGE_BANDED: diagonals below and above the main one, and rows in front of them */
};

/* Computes the layout of the matrix argument `index` with these dimensions. ESP_INVALID: a packed matrix
 * that is not square, a number of diagonals below 0. */
enum esp_status problem_layout(const struct problem *problem, uint32_t index,
                               const struct number *scope_values, const int64_t *dims, struct layout *layout,
                               struct esp_error *error);
/* Finds the scalar that is the width of a banded matrix below (side 0) or above (1) its diagonal, when its
 * width is a name, or if(..., name, ...) as for the one triangle of a symmetric band. *both: the other
 * side names the same scalar, and the wider side determines it. */
bool problem_band_width(const struct argument *argument, unsigned side, uint32_t *name, bool *both);
/* Computes the number of stored elements (not for csc and csr). False when it overflows. */
bool layout_count(const struct layout *layout, uint64_t *count);
/* Returns the index of element (row, col), from 0, among the stored elements, or -1 (not for csc and csr). */
int64_t layout_index(const struct layout *layout, int64_t row, int64_t col);

/* Checks the contents of input arrays: data[i] are the stored elements of argument i (NULL: not checked).
 * ESP_INVALID names an element that must be finite, or an index, and is not; or describes what is wrong
 * with the pointers or numbers of a csc or csr matrix (checked when all its arrays are there). Elements
 * that the call does not read may have any value: corners of a band, the other triangle, a unit diagonal. */
enum esp_status problem_check_contents(const struct problem *problem, const void *const *data,
                                       const struct number *scope_values, const struct shape *shapes,
                                       struct esp_error *error);

/* For callers that see an array in pieces: whether these stored elements, at any position, are all finite.
 * Also false if the piece cuts an element. */
bool problem_piece_is_finite(const struct argument *argument, const void *piece, uint64_t bytes);

/* After a call, with the scalar outputs in scope_values: cuts the last dimension of an output to its
 * `count` (outputs without one are unchanged). ESP_INVALID when that is below 0 or larger than the array. */
enum esp_status problem_cut(const struct problem *problem, uint32_t index, const struct number *scope_values,
                            struct shape *shape, struct esp_error *error);

/* Computes unknown integer scalar inputs from the dimensions of given arrays. known_dims[i] points to the
 * dims of argument i as in its file (NULL: not given; -1: that dimension is not known), n_known to its
 * rank; trailing dimensions of 1 may be missing or extra (a vector is a matrix of one column). Solves
 * dimensions that are linear in one unknown (n, n + 1, 2*n), fills unknown entries of scope_values
 * (n_arguments of them), then applies the defaults. A precondition that the known scalars violate is
 * reported first; contradictions are ESP_INVALID ("B has 4 rows, but n = 3 from A"). Scalars that stay
 * unknown and have no default are ESP_INVALID. */
enum esp_status problem_infer(const struct problem *problem, const int64_t *const *known_dims,
                              const uint32_t *n_known, struct number *scope_values, struct esp_error *error);

/* Computes the floating point operations of a call, >= 0 (0 when the description has no `work`). */
enum esp_status problem_work(const struct problem *problem, const struct number *scope_values, double *flops,
                             struct esp_error *error);
/* Computes the bytes needed beyond the arguments. */
enum esp_status problem_memory(const struct problem *problem, const struct number *scope_values,
                               uint64_t *bytes, struct esp_error *error);

/* Finds the first of the implementation's clauses 'error' and 'success' that applies, or NULL. `scope`
 * covers arguments and results. A condition that cannot be evaluated is ESP_INVALID. */
enum esp_status problem_call_failure(const struct implementation *implementation, const struct scope *scope,
                                     const struct error_clause **clause, struct esp_error *error);

/* Finds the first clause 'note' that applies, or NULL, once the call is known to have succeeded. */
enum esp_status problem_call_note(const struct implementation *implementation, const struct scope *scope,
                                  const struct error_clause **clause, struct esp_error *error);

/* Writes the message with its values filled in, cut to fit; "" when there is none. `scope` covers
 * arguments, for an error clause also results; NULL: the expressions are shown as written. */
void problem_failure_text(const struct failure_text *failure, const struct scope *scope, char *text,
                          size_t size);

/* Returns the index of the problem's argument of type state, or -1. It has at most one. */
int problem_state_index(const struct problem *problem);

/* Returns the index of the argument of that name, or -1. */
int problem_argument_index(const struct problem *problem, const char *name);

/* Whether callers pass this argument (all but work arrays). */
static inline bool argument_is_passed(const struct argument *argument)
{
    return argument->mode != MODE_WORK;
}
/* Whether the routine is asked for the size of this work array: its one dimension is the name of a work
 * scalar, whose value is the smallest size that works. Before the call proper the implementation is called
 * with -1 for that scalar, and sets the first element of the array to its best size (LAPACK's LWORK). */
static inline bool argument_is_queried(const struct argument *argument)
{
    return argument->mode == MODE_WORK && (argument->properties & PROPERTY_QUERY) != 0;
}
/* Whether the argument is an array of strings or of files: one value of variable length
 * (core/problem/texts.h). */
static inline bool argument_is_texts(const struct argument *argument)
{
    return argument->n_dims > 0 && base_type_is_variable(argument->type);
}
static inline bool argument_is_input(const struct argument *argument)
{
    return argument->mode == MODE_IN || argument->mode == MODE_INOUT;
}
static inline bool argument_is_output(const struct argument *argument)
{
    return argument->mode == MODE_OUT || argument->mode == MODE_INOUT;
}

/* Number of a callback's own arguments: parameters, then the result. */
static inline uint32_t callback_n_own(const struct problem *callback)
{
    return callback->n_arguments - callback->n_outer;
}
/* Parameters of a callback's function (an argument of TYPE_CALLBACK). */
static inline uint32_t callback_n_parameters(const struct argument *argument)
{
    return callback_n_own(argument->callback) - argument->callback_returns;
}
/* Whether the argument is a single string, as callbacks have them. */
static inline bool argument_is_string(const struct argument *argument)
{
    return argument->type == TYPE_STRING && argument->n_dims == 0;
}

/* 64-bit digest (FNV-1a) of text, used for signatures and catalogues. */
uint64_t digest_text(const char *text, size_t length);

#endif
