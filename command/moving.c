/* SPDX-License-Identifier: Apache-2.0 */
#include "command/moving.h"

void moving_told(void *arg, double fraction)
{
    struct moving *moving = arg;
    pthread_mutex_lock(&moving->lock);
    bar_draw(&moving->bar, fraction, "moved");
    pthread_mutex_unlock(&moving->lock);
}

void moving_begin(struct moving *moving)
{
    pthread_mutex_init(&moving->lock, NULL);
    bar_init(&moving->bar);
}

void moving_end(struct moving *moving)
{
    bar_clear(&moving->bar);
    pthread_mutex_destroy(&moving->lock);
}
