/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers with a decimal point in files and messages, even if the program has chosen a locale with a
 * decimal comma. */
#ifndef UTIL_C_NUMBERS_H
#define UTIL_C_NUMBERS_H

#include <locale.h>

/* Switches this thread to the C locale's numbers. Returns the argument of c_numbers_end(). */
static inline locale_t c_numbers_begin(void)
{
    /* newlocale() of the C locale returns a constant object and does not allocate. */
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

static inline void c_numbers_end(locale_t before)
{
    uselocale(before);
}

#endif
