/* SPDX-License-Identifier: Apache-2.0
 *
 * Internal to the matrix files' readers: numbers that stand in columns, as a Fortran format says.
 */
#ifndef CORE_FORTRAN_FORMAT_H
#define CORE_FORTRAN_FORMAT_H

#include "core/matrix/matrix_text.h"

#define FORTRAN_MAX_FIELDS 512 /* numbers on one line */

/* Where a number stands on its line. */
struct fortran_field {
    unsigned column, width, decimals; /* the column from 0 */
    int scale;                        /* of P: a number without an exponent is divided by 10^scale */
};

/* A format such as (1P,5E16.8), (1X,8I9) or (3(1P,E24.16)). */
struct fortran_format {
    char text[21]; /* as written, for messages */
    struct fortran_field fields[FORTRAN_MAX_FIELDS];
    unsigned n_fields;
    /* The second line and those behind it begin with the format's last group in parentheses: with this field,
     * and without the columns in front of the group. */
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
    unsigned place, shift; /* of the next number: its field, and the columns that the line does not have */
    bool begun;
};

#endif
