/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier_server.h: for authors of routines that servers of Espalier call.
 *
 * A library that uses these functions needs no library of Espalier to be linked with: the worker process that
 * calls its routines has them. Programs that load it otherwise must bring their own.
 */
#ifndef ESPALIER_SERVER_H
#define ESPALIER_SERVER_H

#ifdef __cplusplus
extern "C" {
#endif

/* Tells how far the routine that is being called has come, from 0 to 1; what is outside counts as the nearest
 * of the two, NaN as nothing. Costs a few nanoseconds: call it as often as you like. Any thread. */
void esp_progress(double fraction);

#ifdef __cplusplus
}
#endif
#endif
