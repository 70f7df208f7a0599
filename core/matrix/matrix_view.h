/* SPDX-License-Identifier: Apache-2.0
 *
 * Large NumPy files, without their elements in memory: looked at where they lie (a mapped file), and files
 * whose elements are filled in where they are to lie.
 *
 * One thread at a time, but for what only reads a view.
 */
#ifndef CORE_MATRIX_VIEW_H
#define CORE_MATRIX_VIEW_H

#include "core/matrix/matrix.h"

struct matrix_view;

/* *about gets what matrix_load_array() would tell of the file, without values. *view NULL, and ESP_OK: it is
 * no file that can be looked at so (another format, compressed, a pipe): read it. ESP_SYNTAX, ESP_INVALID: it
 * is one, and damaged; ESP_SYSTEM. Who cuts the file meanwhile kills the process. */
enum esp_status matrix_view_open(const char *path, struct matrix_view **view, struct matrix_file *about,
                                 struct esp_error *error);
/* NULL is nothing to do. */
void matrix_view_close(struct matrix_view *view);

/* The elements, column after column, if they lie so and are of that kind ('f', 'c', 'i') and of that many
 * bytes in this machine's order; else NULL. */
const void *matrix_view_elements(const struct matrix_view *view, char kind, unsigned size);
/* Copies `n` elements from number `first` on, counted column after column, to `to`. False: they are of
 * another kind or size. */
bool matrix_view_copy(const struct matrix_view *view, char kind, unsigned size, uint64_t first, uint64_t n,
                      void *to);
/* The same as a matrix of one column; matrix_clear() frees. ESP_NO_MEMORY; ESP_SYNTAX: an integer that does
 * not fit 64 bits. */
enum esp_status matrix_view_load(const struct matrix_view *view, uint64_t first, uint64_t n,
                                 struct matrix *part, struct esp_error *error);

struct matrix_place;

/* A new NumPy file for what *about says of extents, field and is_short, with room on the disk for the
 * elements;
 * `*elements` is where they go, column after column. It appears when it is finished, or not at all.
 * ESP_NO_MEMORY: the disk is full; ESP_SYSTEM. */
enum esp_status matrix_place_create(const char *path, const struct matrix_file *about,
                                    struct matrix_place **place, void **elements, struct esp_error *error);
/* Frees in both cases; not `whole`: there is to be no such file. ESP_SYSTEM. */
enum esp_status matrix_place_end(struct matrix_place *place, bool whole, struct esp_error *error);

#endif
