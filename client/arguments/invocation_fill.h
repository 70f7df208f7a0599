/* SPDX-License-Identifier: Apache-2.0
 *
 * The fill of the compressed matrices of a call, where their patterns are here. The client tells agents the
 * work and the memory that follow from it before anything is promised, and tells the server the fill with the
 * call.
 */
#ifndef CLIENT_INVOCATION_FILL_H
#define CLIENT_INVOCATION_FILL_H

#include "client/arguments/invocation.h"
#include "core/problem/fill.h"

/* Whether argument `index` is a compressed input whose fill the costs of the problem depend on. Only then is
 * a pattern worth its analysis. */
bool invocation_fill_matters(const struct problem *problem, uint32_t index);
/* Of argument `index`, which has that shape. False: it is no compressed input, the costs of the problem do
 * not depend on it, or its pattern is not here. */
bool invocation_fill(const struct invocation *invocation, uint32_t index, const struct shape *shape,
                     struct fill *fill);

#endif
