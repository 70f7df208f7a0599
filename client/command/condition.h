/* SPDX-License-Identifier: Apache-2.0
 *
 * What people are told of a solution that may be worth little, as MATLAB and Octave tell it.
 */
#ifndef CLIENT_COMMAND_CONDITION_H
#define CLIENT_COMMAND_CONDITION_H

#include "core/matrix/matrix.h"

#define CONDITION_TEXT 200

/* Has the platform's `rcond` look at a dense square matrix of at most 2000 columns (larger ones take too long
 * to be factored once more). `text` becomes a warning when the reciprocal of its condition number is less
 * than the precision of its type (`is_single`: 32 bits), else "": also when no server could tell. Blocks;
 * between initialize and finalize. `server`: only there, unless NULL. */
void condition_look(const char *server, const struct matrix *a, bool is_single, char text[CONDITION_TEXT]);

#endif
