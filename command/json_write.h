/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON values as text.
 */
#ifndef COMMAND_JSON_WRITE_H
#define COMMAND_JSON_WRITE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* The text that json_dumpf() writes with 17 digits. Large arrays of reals take a third of its time. False:
 * there is no memory for it, or the stream has an error. */
bool json_write(const json_t *value, FILE *stream);

#endif
