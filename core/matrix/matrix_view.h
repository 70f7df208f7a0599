/* SPDX-License-Identifier: Apache-2.0
 *
 * Access to large NumPy files without loading their elements: a mapped file for reading, and a new file
 * whose elements are filled in place.
 *
 * One thread at a time; several threads may read a view. */
#ifndef CORE_MATRIX_VIEW_H
#define CORE_MATRIX_VIEW_H

#include "core/matrix/matrix.h"

struct matrix_view;

/* Maps a file; *about gets what matrix_load_array() would say about it, without values. *view NULL, and
 * ESP_OK: the file cannot be mapped like this (another format, compressed, a pipe): load it instead.
 * ESP_SYNTAX, ESP_INVALID: the file is damaged; ESP_SYSTEM. If another process truncates the file
 * meanwhile, this process is killed by SIGBUS. */
enum esp_status matrix_view_open(const char *path, struct matrix_view **view, struct matrix_file *about,
                                 struct esp_error *error);
/* NULL is ignored. */
void matrix_view_close(struct matrix_view *view);

/* Returns the elements, column after column, if the file has this order, kind ('f', 'c', 'i'), element
 * size and this machine's byte order; else NULL. */
const void *matrix_view_elements(const struct matrix_view *view, char kind, unsigned size);
/* Copies `n` elements from number `first` on, counted column after column, to `to`. False: another kind or
 * size. */
bool matrix_view_copy(const struct matrix_view *view, char kind, unsigned size, uint64_t first, uint64_t n,
                      void *to);
/* Copies elements like matrix_view_copy(), into a matrix of one column; matrix_clear() frees.
 * ESP_NO_MEMORY; ESP_SYNTAX: an integer that exceeds 64 bits. */
enum esp_status matrix_view_load(const struct matrix_view *view, uint64_t first, uint64_t n,
                                 struct matrix *part, struct esp_error *error);

struct matrix_place;

/* Creates a NumPy file with the extents, field and is_short of *about, and reserves its disk space; the
 * caller fills `*elements`, column after column. The file appears when it is finished, or not at all.
 * ESP_NO_MEMORY: the disk is full; ESP_SYSTEM. */
enum esp_status matrix_place_create(const char *path, const struct matrix_file *about,
                                    struct matrix_place **place, void **elements, struct esp_error *error);
/* Finishes the file, or removes it if not `whole`; frees the place in both cases. ESP_SYSTEM. */
enum esp_status matrix_place_end(struct matrix_place *place, bool whole, struct esp_error *error);

#endif
