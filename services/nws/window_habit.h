/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads how this kernel treats the windows of idle connections (core/forecast/window.h), from its settings
 * for the caller's network namespace. */
#ifndef SERVICES_NWS_WINDOW_HABIT_H
#define SERVICES_NWS_WINDOW_HABIT_H

#include "core/forecast/window.h"

/* Unreadable settings: as in RFC 5681. */
struct window_habit window_habit_here(void);

#endif
