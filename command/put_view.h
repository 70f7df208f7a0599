/* SPDX-License-Identifier: Apache-2.0
 *
 * A matrix that goes to a server part by part, and becomes what the datum is to be on its way: out of a
 * mapped NumPy file, so that what is in memory does not grow with it, or out of memory, so that it is there
 * once.
 */
#ifndef COMMAND_PUT_VIEW_H
#define COMMAND_PUT_VIEW_H

#include "core/matrix/matrix_view.h"
#include "espalier.h"

struct put_view {
    /* One of them: */
    const struct matrix_view *view;
    const struct matrix *matrix; /* dense */
    enum esp_type type;          /* of the datum */
    bool integers;               /* in the file */
    int64_t rows;
};

/* The elements where they lie, if they do as those of the datum are to; NULL: put_view_source() makes them.
 */
const void *put_view_elements(const struct put_view *view);
/* ESP_INVALID: an element does not fit the type. Lives as long as the view. */
struct esp_data_source put_view_source(struct put_view *view);

/* The kind ('f', 'c', 'i') of the elements of that type in NumPy's files; 0: they have it not in common. */
char put_view_kind(enum esp_type type);

#endif
