/* SPDX-License-Identifier: Apache-2.0
 *
 * Internal to the readers of matrix files: numbers in columns, according to a Fortran format. */
#ifndef CORE_FORTRAN_FORMAT_H
#define CORE_FORTRAN_FORMAT_H

#include "core/matrix/matrix_text.h"

#define FORTRAN_MAX_FIELDS 512 /* numbers on one line */

/* Position of a number on its line. */
struct fortran_field {
    unsigned column, width, decimals; /* the column from 0 */
    int scale;                        /* from P: a number without an exponent is divided by 10^scale */
};

/* A format such as (1P,5E16.8), (1X,8I9) or (3(1P,E24.16)). */
struct fortran_format {
    char text[21]; /* as written, for messages */
    struct fortran_field fields[FORTRAN_MAX_FIELDS];
    unsigned n_fields;
    /* Later lines repeat the format's last group in parentheses: they start with this field, without the
     * columns in front of the group. */
    unsigned again, again_column;
    bool is_integer;
};

/* Reads `total` numbers. All other members are zero at the beginning. */
struct field_reader {
    struct lines *lines;
    const struct fortran_format *format;
    const char *what;
    int64_t total, taken;
    struct span line;
    unsigned place,
        shift; /* of the next number: its field, and by how many columns the line is shorter in front of it */
    bool begun;
};

#endif
