/* SPDX-License-Identifier: Apache-2.0
 *
 * The help that follows from a problem's description, for people at a terminal.
 */
#ifndef CORE_PROBLEM_HELP_H
#define CORE_PROBLEM_HELP_H

#include "core/problem/problem.h"

/* Writes what callers need to know, as lines of UTF-8 text: title and texts, a table of the arguments that
 * callers pass (mode, type, name with dimensions, text, default), preconditions, work, memory, GAMS class,
 * and how to call it from the command line and from C. Returns the length of the whole text without its
 * NUL; it was cut when that is >= size (as snprintf; size > 0). */
size_t problem_usage(const struct problem *problem, char *buffer, size_t size);

/* The command line of the example alone ("espalier call dgesv A=@A.mtx B=@B.mtx ..."), without a line end:
 * scalars that follow from the arrays or have a default are left out. `options` (" --platform lab", or "")
 * stand behind "call". Returns as problem_usage(). */
size_t problem_example(const struct problem *problem, const char *options, char *buffer, size_t size);

/* Shell commands that can be pasted and work, line by line: what makes the files of the example in the
 * current folder, and a call with `options` (" --platform lab", or "") whose small matrices are typed out,
 * whose numbers and options the preconditions allow, and whose functions are expressions; a state is that in
 * the shell's variable of its name. Returns as problem_usage(); 0: there is none, and *why (or NULL) says
 * what is in the way, as the condition that no simple values meet. */
size_t problem_trial(const struct problem *problem, const char *options, char *buffer, size_t size,
                     struct esp_error *why);

/* Writes the prototype that grpc_call() has for this problem, on one line without its end:
 * "grpc_error_t grpc_call(grpc_function_handle_t *handle, int n, double *A, double *x)". Types are those of
 * grpc(3). Returns as problem_usage(). */
size_t problem_prototype(const struct problem *problem, char *buffer, size_t size);

/* Whether a caller who gives all input arrays may leave out argument `index`: a scalar that has a default or
 * follows from the dimensions of the arrays (problem_infer() will fill it), or what the command finds in a
 * matrix that it packs: the widths of a band, the pointers and numbers of a compressed matrix. */
bool problem_argument_follows(const struct problem *problem, uint32_t index);

/* What a callback (TYPE_CALLBACK) takes and gives: "(in double x, in int n): double". Cut to fit. */
void problem_callback_text(const struct argument *argument, char *buffer, size_t size);

#endif
