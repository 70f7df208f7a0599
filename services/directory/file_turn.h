/* SPDX-License-Identifier: Apache-2.0
 *
 * Serialises processes that read, change and replace a whole file. Without this, a later writer would lose
 * what another one added meanwhile. Readers need no turn. */
#ifndef SERVICES_DIRECTORY_FILE_TURN_H
#define SERVICES_DIRECTORY_FILE_TURN_H

#include "util/error.h"

#include <stdint.h>

struct file_turn;

/* Ends the turn. NULL is ignored. */
void file_turn_end(struct file_turn *turn);

#endif
