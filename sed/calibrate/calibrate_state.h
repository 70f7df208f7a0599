/* SPDX-License-Identifier: Apache-2.0
 *
 * Problems that take a state: the problem that makes it is called first, with matrices of the same sizes. */
#ifndef SED_CALIBRATE_STATE_H
#define SED_CALIBRATE_STATE_H

#include "sed/calibrate/calibrate_call.h"

#endif
