/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside data: the layout of one in pieces (datum_shape_layout() and its kin are in core/data/datum.h).
 */
#ifndef CORE_DATUM_PIECES_H
#define CORE_DATUM_PIECES_H

#include "core/data/datum.h"

/* Of a shape with STORAGE_PIECES. ESP_INVALID says what is wrong. */
enum esp_status datum_pieces_check(const struct datum_shape *shape, struct esp_error *error);

#endif
