/* SPDX-License-Identifier: Apache-2.0
 *
 * Which transport the conformance suite runs over: the in-process one, unless the program brings another.
 */
#ifndef TESTS_CONFORMANCE_H
#define TESTS_CONFORMANCE_H

#include "core/transport.h"

enum esp_status conformance_open(struct transport **transport, struct esp_error *error) __attribute__((weak));

#endif
