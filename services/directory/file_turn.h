/* SPDX-License-Identifier: Apache-2.0
 *
 * Who writes a file that is read, changed and replaced as a whole: one after the other, or the later one
 * takes what the other has added for not there. Readers need no turn.
 */
#ifndef SERVICES_DIRECTORY_FILE_TURN_H
#define SERVICES_DIRECTORY_FILE_TURN_H

#include "util/error.h"

#include <stdint.h>

struct file_turn;

/* The next one's. NULL is nothing to do. */
void file_turn_end(struct file_turn *turn);

#endif
