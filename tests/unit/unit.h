/* SPDX-License-Identifier: Apache-2.0
 *
 * The header that every unit test includes first: cmocka with the headers it wants. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* How often something is tried at random: with sanitizers, which look at each step of a try and take many
 * times as long, a fifth as often. Builds without them try it all. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define TRIALS(all) (((all) + 4) / 5)
#else
#define TRIALS(all) (all)
#endif

#endif
