/* SPDX-License-Identifier: Apache-2.0
 *
 * What every unit test includes first: cmocka with the headers it wants.
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#endif
