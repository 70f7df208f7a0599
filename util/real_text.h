/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes real numbers as text that reads back as the same number. */
#ifndef UTIL_REAL_TEXT_H
#define UTIL_REAL_TEXT_H

#include <stddef.h>

/* Writes the text of printf("%.17g") into `text` of at least REAL_TEXT bytes; returns its length. Numbers
 * from 1e-11 to 1e17 take about a tenth of printf()'s time. */
#define REAL_TEXT 32
size_t real_text(double value, char *text);

#endif
