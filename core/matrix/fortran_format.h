/* SPDX-License-Identifier: Apache-2.0
 *
 * Internal to the matrix files' readers: numbers that stand in columns, as a Fortran format says.
 */
#ifndef CORE_FORTRAN_FORMAT_H
#define CORE_FORTRAN_FORMAT_H

#include "core/matrix/matrix_text.h"

/* A repeated edit descriptor: (1P,5E16.8) */
struct fortran_format {
    char text[21]; /* as written, for messages */
    unsigned repeat, width, decimals;
    int scale; /* of P: a number without an exponent is divided by 10^scale */
    bool is_integer;
};

/* Parses `field`, the format of the `what`: ( [kP[,]] [r] I|F|E|D|G w[.d[Ee]] ). ESP_SYNTAX otherwise. */
enum esp_status fortran_format_parse(const struct lines *lines, struct span field, const char *what,
                                     bool want_integer, struct fortran_format *format,
                                     struct esp_error *error);

/* Reads `total` numbers, `format->repeat` to a line. Starts with taken = 0. */
struct field_reader {
    struct lines *lines;
    const struct fortran_format *format;
    const char *what;
    int64_t total, taken;
    struct span line;
};

/* The next number. A blank field is an error: Fortran would read 0, but nobody writes 0 that way. */
enum esp_status field_integer(struct field_reader *reader, int64_t *value, struct esp_error *error);
enum esp_status field_real(struct field_reader *reader, double *value, struct esp_error *error);

#endif
