/* SPDX-License-Identifier: Apache-2.0
 *
 * By what a problem is solved, and on which servers: these are asked themselves, as agents know signatures
 * only. A session is open.
 */
#ifndef COMMAND_IMPLEMENTATIONS_H
#define COMMAND_IMPLEMENTATIONS_H

#include <jansson.h>

/* A list of objects with name, way, symbol, library, digest (of the signature), parameters (in C) and
 * servers; of an abstract problem name is "abstract", and way, symbol and library are empty. `untold`: a list
 * of the servers that do not tell, with the reasons, and of those that were not asked as there are too many.
 * Both are the caller's. */
json_t *implementations_find(const char *problem, json_t **untold);
/* That for people. */
void implementations_print(const char *problem);

#endif
