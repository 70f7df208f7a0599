/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the properties of a large matrix file from its beginning, so that unsuitable files are refused
 * before they are read. */
#ifndef CORE_MATRIX_PEEK_H
#define CORE_MATRIX_PEEK_H

#include "core/matrix/matrix.h"

/* Fills in the extents that the file announces, and whether it is complex, a vector, sparse, and of which
 * field, like matrix_load_array() (file->matrix has no values). False: they are not known before all of it
 * is read (CSV, compressed files, standard input, damaged or unreadable files). */
bool matrix_peek(const char *path, struct matrix_file *file);

#endif
