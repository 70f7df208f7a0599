/* SPDX-License-Identifier: Apache-2.0 */
#include "util/real_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define DIGITS     17
#define MOST_POWER 27 /* the largest power of 5 that fits 64 bits */
#define TEN_TO_16  UINT64_C(10000000000000000)
#define TEN_TO_17  UINT64_C(100000000000000000)

__extension__ typedef unsigned __int128 wide;

static uint64_t power_of_5(int power)
{
    static const uint64_t powers[MOST_POWER + 1] = {
        UINT64_C(1),
        UINT64_C(5),
        UINT64_C(25),
        UINT64_C(125),
        UINT64_C(625),
        UINT64_C(3125),
        UINT64_C(15625),
        UINT64_C(78125),
        UINT64_C(390625),
        UINT64_C(1953125),
        UINT64_C(9765625),
        UINT64_C(48828125),
        UINT64_C(244140625),
        UINT64_C(1220703125),
        UINT64_C(6103515625),
        UINT64_C(30517578125),
        UINT64_C(152587890625),
        UINT64_C(762939453125),
        UINT64_C(3814697265625),
        UINT64_C(19073486328125),
        UINT64_C(95367431640625),
        UINT64_C(476837158203125),
        UINT64_C(2384185791015625),
        UINT64_C(11920928955078125),
        UINT64_C(59604644775390625),
        UINT64_C(298023223876953125),
        UINT64_C(1490116119384765625),
        UINT64_C(7450580596923828125),
    };
    return powers[power];
}

/* Computes the 17 significant digits of a positive number as an integer from 10^16 to 10^17 - 1, rounded
 * to nearest, halves to even; the number is about *digits * 10^(*exponent - 16). The product of a mantissa
 * (53 bits) and a power of 5 (63) is exact. False: the number is too small or too large for this method. */
static bool find_digits(double value, uint64_t *digits, int *exponent)
{
    int binary;
    const double fraction = frexp(value, &binary); /* value = fraction * 2^binary, 0.5 <= fraction < 1 */
    const uint64_t mantissa = (uint64_t)ldexp(fraction, 53);
    int decimal = (int)floor((binary - 1) * 0.30102999566398120); /* the decimal exponent, or one less */
    for (;; decimal++) {
        const int power = DIGITS - 1 - decimal;
        if (power < 0 || power > MOST_POWER)
            return false;
        const wide product = (wide)mantissa * power_of_5(power);
        const int shift = 53 - binary - power;
        if (shift >= 128 || shift <= -64)
            return false;
        wide whole = shift > 0 ? product >> shift : product << -shift;
        if (whole >= TEN_TO_17)
            continue;
        if (shift > 0) {
            const wide rest = product - (whole << shift), half = (wide)1 << (shift - 1);
            whole += rest > half || (rest == half && (whole & 1));
        }
        *exponent = whole == TEN_TO_17 ? decimal + 1 : decimal;
        *digits = whole == TEN_TO_17 ? TEN_TO_16 : (uint64_t)whole;
        return *digits >= TEN_TO_16;
    }
}

/* Writes like "%g": omits trailing zeros, and writes exponents below -4. */
static size_t write_digits(uint64_t digits, int exponent, char *text)
{
    char all[DIGITS], *to = text;
    int n = DIGITS;
    for (int i = DIGITS - 1; i >= 0; i--, digits /= 10)
        all[i] = (char)('0' + digits % 10);
    while (n > 1 && all[n - 1] == '0')
        n--;
    const bool scientific = exponent < -4;
    const int whole = scientific ? 1 : exponent + 1; /* digits before the point */
    if (whole <= 0) {
        *to++ = '0';
        *to++ = '.';
        memset(to, '0', (size_t)-whole);
        to += -whole;
    }
    for (int i = 0; i < (n > whole ? n : whole); i++) {
        if (i == whole && i > 0)
            *to++ = '.';
        *to++ = i < n ? all[i] : '0';
    }
    if (scientific)
        to += sprintf(to, "e-%02d", -exponent);
    *to = '\0';
    return (size_t)(to - text);
}

size_t real_text(double value, char *text)
{
    uint64_t digits;
    int exponent;
    if (!isfinite(value) || value == 0 || !find_digits(fabs(value), &digits, &exponent))
        return (size_t)snprintf(text, REAL_TEXT, "%.17g", value);
    *text = '-';
    const size_t sign = value < 0;
    return sign + write_digits(digits, exponent, text + sign);
}
