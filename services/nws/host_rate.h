/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast this host moves data within its memory: what a datum takes between two daemons of one host, as
 * long as none has been moved and timed.
 */
#ifndef SERVICES_NWS_HOST_RATE_H
#define SERVICES_NWS_HOST_RATE_H

/* Bytes per second of copies between fresh memory, the best of a few: what is slower had a processor or the
 * memory shared with others. Blocks for some 10 ms, and takes 16 MB meanwhile. 0 without memory. */
double host_rate_measure(void);

#endif
