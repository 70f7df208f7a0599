/* SPDX-License-Identifier: Apache-2.0
 *
 * A deadline for what knows none and cannot be told to give up, such as the system's resolver.
 */
#ifndef SERVICES_DIRECTORY_WITHIN_H
#define SERVICES_DIRECTORY_WITHIN_H

#include <stdbool.h>
#include <stdint.h>

/* Does the work with a copy of the text in a thread of its own, and waits so long for it. False: it is not
 * done then (or there is no thread for it); it goes on alone, and nobody hears of it. Any thread. */
bool within_ms(int64_t ms, void (*work)(const char *text), const char *text);

#endif
