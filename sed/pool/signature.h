/* SPDX-License-Identifier: Apache-2.0
 *
 * How a routine is called, independent of the problem: its library and symbol, and for each parameter its
 * type and whether it is passed by value or by address. The daemon builds it from a description, a worker
 * binds it. */
#ifndef SED_SIGNATURE_H
#define SED_SIGNATURE_H

#include "core/problem/problem.h"
#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>

#define SIGNATURE_MAX_PARAMETERS (PROBLEM_MAX_PARAMETERS * 2) /* each Fortran CHARACTER adds a length */
#define SIGNATURE_MAX_SYMBOL     128                          /* bytes, including the final 0 */
#define SIGNATURE_MAX_PATH       512

enum parameter_pass {
    PASS_VALUE,   /* the element itself */
    PASS_ADDRESS, /* the address of the element or array */
    PASS_LENGTH   /* a size_t: Fortran's hidden length of a CHARACTER parameter */
};

struct parameter_form {
    uint8_t pass; /* enum parameter_pass */
    uint8_t type; /* enum base_type, of PASS_VALUE */
};

/* Plain data: it is copied to workers through shared memory, and a worker checks what it reads. */
struct call_signature {
    uint64_t key; /* digest of the rest: workers cache prepared calls by it */
    uint32_t n_parameters;
    uint8_t returns;     /* 1: the function has a result */
    uint8_t result_type; /* enum base_type */
    char symbol[SIGNATURE_MAX_SYMBOL];
    char library[SIGNATURE_MAX_PATH]; /* "": the process itself */
    char folder[SIGNATURE_MAX_PATH];  /* of the description: searched first for the library; or "" */
    struct parameter_form parameters[SIGNATURE_MAX_PARAMETERS];
};

/* Fills *signature (its used part). ESP_INVALID names a parameter that a routine in a library cannot have. */
enum esp_status signature_build(const struct problem *problem, const struct implementation *implementation,
                                struct call_signature *signature, struct esp_error *error);

/* Whether a signature from shared memory is valid: counts, types and texts within their bounds. */
bool signature_is_sane(const struct call_signature *signature);

/* Copies only the used part of a signature, because its arrays are mostly empty. */
void signature_copy(struct call_signature *to, const struct call_signature *from);
bool signature_equal(const struct call_signature *a, const struct call_signature *b);

/* Whether the parameter adds a hidden length after all others (Fortran CHARACTER). */
bool signature_has_length(const struct problem *problem, const struct implementation *implementation,
                          const struct call_parameter *parameter);

#endif
