/* SPDX-License-Identifier: Apache-2.0
 *
 * A deadline for functions without one that cannot be interrupted, such as the system's resolver. */
#ifndef SERVICES_DIRECTORY_WITHIN_H
#define SERVICES_DIRECTORY_WITHIN_H

#include <stdbool.h>
#include <stdint.h>

/* Does the work with a copy of the text in a separate thread, and waits at most that long. False: it is
 * not done yet (or no thread could be started); it continues alone, and its result is dropped. Any thread. */
bool within_ms(int64_t ms, void (*work)(const char *text), const char *text);

#endif
