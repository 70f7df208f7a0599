/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the libraries that descriptions name are there, with the symbols that they name in them.
 */
#ifndef COMMAND_LIBRARIES_H
#define COMMAND_LIBRARIES_H

#include "core/problem/problem.h"

/* Looks up the symbols of all implementations in the set; `missing` is told of each that is not there, in the
 * words "FILE:LINE: problem NAME: ...". The worker's program looks, one process a
 * library: it finds what a server finds, and what a library does while it is loaded harms nobody. ESP_SYSTEM
 * when no process can be made, ESP_NOT_FOUND when the worker's program is not installed. */
enum esp_status libraries_check(const struct problem_set *set, void (*missing)(void *arg, const char *text),
                                void *arg, struct esp_error *error);

#endif
