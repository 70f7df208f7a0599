/* SPDX-License-Identifier: Apache-2.0
 *
 * The bar of a datum that moves.
 */
#ifndef COMMAND_MOVING_H
#define COMMAND_MOVING_H

#include "command/bar.h"

#include <pthread.h>

struct moving {
    pthread_mutex_t lock; /* several threads tell */
    struct bar bar;
};

void moving_begin(struct moving *moving);
/* An esp_data_progress; `arg` is the struct moving. */
void moving_told(void *arg, double fraction);
void moving_end(struct moving *moving);

#endif
