/* SPDX-License-Identifier: Apache-2.0
 *
 * The gateway between Octave and the C library: calls by the names and the order of a description.
 *
 * An error of Octave leaves a mex function by longjmp(3). Functions here therefore return false, with the
 * error in fault(), and only mexFunction() raises it, when everything is freed. */
#ifndef ESPALIER_OCTAVE_GATEWAY_H
#define ESPALIER_OCTAVE_GATEWAY_H

#include <mex.h>

#include <espalier.h>
#include <stdbool.h>

/* A problem of the connection. */
struct known {
    struct esp_problem *problem;
    grpc_function_handle_t handle;
    size_t results[ESP_MAX_ARGUMENTS]; /* positions of the outputs, in the order in which Octave gets them */
    size_t n_results;
    struct known *next;
};

/* The arguments and the base that belong to a compressed argument such as "csc(Ap, Ai, 1)". */
struct companions {
    size_t pointers, indices; /* positions */
    int64_t base;             /* of the indices */
    bool by_rows;             /* csr */
};

/* An output of a call, in memory of malloc() until Octave gets it. */
struct output {
    bool is_wanted;
    void *memory; /* elements; owned. Of texts: char *[n], which the call sets */
    uint64_t elements;
    bool is_text;
    const char *before; /* of an inout text: what went in */
    mxArray *array;     /* the elements lie there, and `memory` is NULL */
};

/* A call with all its memory. */
struct call {
    struct known *known;
    struct esp_argument vector[ESP_MAX_ARGUMENTS];
    unsigned char room[ESP_MAX_ARGUMENTS][16]; /* of scalars */
    uint64_t given[ESP_MAX_ARGUMENTS];         /* elements that went in */
    struct output outputs[ESP_MAX_ARGUMENTS];
    size_t wanted[ESP_MAX_ARGUMENTS]; /* positions of the results for Octave, in their order */
    size_t n_wanted;
    bool lasts; /* asynchronous: nothing may lie in memory of Octave */
    struct esp_call_options options;
    void **owned; /* memory that only the vector points to */
    size_t n_owned;
    grpc_sessionid_t session;
    bool has_ended;
    uint64_t number; /* of a future */
    struct call *next;
};

/* Keeps an error for mexFunction(); returns false. */
bool fail(enum esp_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Keeps the last error of the library; returns false. */
bool fail_by_library(void);
/* Keeps an error for an argument that expects something else than `found`; returns false. */
bool fail_argument(const struct call *call, size_t position, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Keeps a text that becomes a warning of Octave. */
void note(const char *text);

/* Finds the problem of that name, connecting if there is no connection. NULL: fail() was called. */
struct known *known_find(const char *name);
/* Finds an argument. Returns n_arguments if there is none. */
size_t position_of(const struct esp_problem *problem, const char *name);
/* Returns whether the argument is compressed, and by which other ones. */
bool companions_of(const struct esp_problem *problem, size_t position, struct companions *companions);
/* Returns whether a pointer or index array belongs to a compressed output. */
bool is_companion(const struct esp_problem *problem, size_t position);
bool is_input(const struct esp_problem_argument *formal);
bool is_output(const struct esp_problem_argument *formal);
bool is_textual(const struct esp_problem_argument *formal);
/* Returns Octave's class for elements of a type, and whether they are complex. */
mxClassID class_of(enum esp_type type, bool *is_complex);

/* inputs.c: puts a value of Octave into the vector. */
bool input_take(struct call *call, size_t position, const mxArray *value);
/* Returns memory that is freed with the call. */
void *call_own(struct call *call, size_t bytes);

/* outputs.c: makes room for all wanted outputs of a vector that is complete. */
bool outputs_prepare(struct call *call);
/* Makes the value of wanted result `index`. */
bool output_make(struct call *call, size_t index, mxArray **value);

/* calls.c */
bool call_now(mxArray **plhs, int nrhs, const mxArray **prhs);
bool call_later(mxArray **plhs, int nrhs, const mxArray **prhs);
bool future_fetch(uint64_t number, int n_asked, mxArray **plhs);
bool future_probe(uint64_t number, mxArray **plhs);
bool future_cancel(uint64_t number);
void future_release(uint64_t number);
/* Frees all futures, when the connection has ended. */
void futures_clear(void);

#endif
