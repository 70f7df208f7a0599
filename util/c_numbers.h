/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers with a decimal point in files and messages, also where the program has chosen a locale with a
 * decimal comma.
 */
#ifndef UTIL_C_NUMBERS_H
#define UTIL_C_NUMBERS_H

#include <locale.h>

/* From now on this thread prints and reads numbers as the C locale has them. Returns what c_numbers_end()
 * needs. */
static inline locale_t c_numbers_begin(void)
{
    /* newlocale() of the C locale gives a constant object and does not allocate. */
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

static inline void c_numbers_end(locale_t before)
{
    uselocale(before);
}

#endif
