/* SPDX-License-Identifier: Apache-2.0
 *
 * A NumPy file that goes to a server as it is read: what of it is in memory does not grow with it.
 */
#ifndef CLIENT_COMMAND_PUT_VIEW_H
#define CLIENT_COMMAND_PUT_VIEW_H

#include "client/data/data.h"
#include "core/matrix/matrix_view.h"
#include "espalier.h"

struct put_view {
    const struct matrix_view *view;
    enum esp_type type; /* of the datum */
    bool integers;      /* in the file */
    int64_t rows;
};

/* The elements where they lie, if they do as those of the datum are to; NULL: put_view_source() makes them.
 */
const void *put_view_elements(const struct put_view *view);
/* ESP_INVALID: an element does not fit the type. Lives as long as the view. */
struct data_source put_view_source(struct put_view *view);

/* The kind ('f', 'c', 'i') of the elements of that type in NumPy's files; 0: they have it not in common. */
char put_view_kind(enum esp_type type);

#endif
