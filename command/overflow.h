/* SPDX-License-Identifier: Apache-2.0
 *
 * Results that are not finite although all that went in is: a computation has left the range of its type.
 */
#ifndef COMMAND_OVERFLOW_H
#define COMMAND_OVERFLOW_H

#include "command/values.h"

#include <espalier.h>

#define OVERFLOW_TEXT 200

/* Whether all numbers that go in are here and finite: to be asked before the call, which overwrites inputs.
 */
bool overflow_inputs_are_finite(const struct values *values);

/* After the call, of inputs that were finite: the first result that is here and is not, as a warning:
 * "warning: X has elements that are infinite or no numbers, although the input is finite". "" when there is
 * none. */
void overflow_look(const struct values *values, char warning[OVERFLOW_TEXT]);

#endif
