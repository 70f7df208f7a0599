/* SPDX-License-Identifier: Apache-2.0
 *
 * Internal to core/data: checks the layout of data in pieces (core/data/datum.h has datum_shape_layout()
 * and related functions). */
#ifndef CORE_DATUM_PIECES_H
#define CORE_DATUM_PIECES_H

#include "core/data/datum.h"

/* Checks a shape with STORAGE_PIECES. ESP_INVALID says what is wrong. */
enum esp_status datum_pieces_check(const struct datum_shape *shape, struct esp_error *error);

#endif
