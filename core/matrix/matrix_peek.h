/* SPDX-License-Identifier: Apache-2.0
 *
 * What a large matrix file will be, from its beginning: so that what cannot be done with it is told before it
 * is read.
 */
#ifndef CORE_MATRIX_PEEK_H
#define CORE_MATRIX_PEEK_H

#include "core/matrix/matrix.h"

/* The extents that the file announces, and whether it is complex, a vector, sparse, of which field: as
 * matrix_load_array() will tell them of it (file->matrix has no values). False: they are not known before all
 * of it is read (CSV, compressed files, standard input, what is damaged or cannot be read). */
bool matrix_peek(const char *path, struct matrix_file *file);

#endif
