/* SPDX-License-Identifier: Apache-2.0
 *
 * Generates help from a problem's description, for users of a terminal. */
#ifndef CORE_PROBLEM_HELP_H
#define CORE_PROBLEM_HELP_H

#include "core/problem/problem.h"

/* Writes help for callers, as lines of UTF-8 text: title and texts, a table of the arguments that callers
 * pass (mode, type, name with dimensions, text, default), preconditions, work, memory, GAMS class, and how
 * to call the problem from the command line and from C. Returns the length of the whole text without its
 * NUL; the text was cut when that is >= size (as snprintf; size > 0). */
size_t problem_usage(const struct problem *problem, char *buffer, size_t size);

/* Writes only the command line of the example ("espalier call dgesv A=@A.mtx B=@B.mtx ..."), without a
 * line end. Scalars that follow from the arrays or have a default are left out. `options` (" --platform
 * lab", or "") follow the word "call". Returns as problem_usage(). */
size_t problem_example(const struct problem *problem, const char *options, char *buffer, size_t size);

/* Writes shell commands that work when pasted, line by line: commands that create the example's files in
 * the current folder, and a call with `options` (" --platform lab", or ""). Small matrices are written in
 * full, numbers and options satisfy the preconditions, and callbacks are expressions. A state is the shell
 * variable of its name. Returns as problem_usage(); 0: no example was found, and *why (or NULL) has the
 * reason, like the condition that no simple values satisfy. */
size_t problem_trial(const struct problem *problem, const char *options, char *buffer, size_t size,
                     struct esp_error *why);

/* Writes the prototype of grpc_call() for this problem, on one line without its end: "grpc_error_t
 * grpc_call(grpc_function_handle_t *handle, int n, double *A, double *x)". Types are those of grpc(3).
 * Returns as problem_usage(). */
size_t problem_prototype(const struct problem *problem, char *buffer, size_t size);

/* Whether a caller that gives all input arrays may leave out argument `index`: a scalar that has a default
 * or follows from the dimensions of the arrays (problem_infer() fills it), or a value that the command
 * computes from a matrix: the widths of a band, the pointers and numbers of a compressed matrix. */
bool problem_argument_follows(const struct problem *problem, uint32_t index);

/* Writes parameters and result of a callback (TYPE_CALLBACK): "(in double x, in int n): double". Cut to
 * fit. */
void problem_callback_text(const struct argument *argument, char *buffer, size_t size);

#endif
