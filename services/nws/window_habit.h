/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel here does with the windows of connections that idle (core/forecast/window.h), as its
 * settings tell it for the network namespace of the caller.
 */
#ifndef SERVICES_NWS_WINDOW_HABIT_H
#define SERVICES_NWS_WINDOW_HABIT_H

#include "core/forecast/window.h"

/* Where they cannot be read: as RFC 5681 wants it. */
struct window_habit window_habit_here(void);

#endif
