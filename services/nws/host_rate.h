/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast this host moves data within its memory, and how long a message takes between two of its daemons:
 * what a datum takes from one to the other, as long as none has been moved and timed.
 */
#ifndef SERVICES_NWS_HOST_RATE_H
#define SERVICES_NWS_HOST_RATE_H

/* Bytes per second of processor time of copies between fresh memory, the best of a few: what is slower shared
 * the memory with others. Blocks for some 10 ms, and takes 16 MB meanwhile. 0 without memory. */
double host_rate_measure(void);

/* Seconds, one way: a message of one byte over a connection of loopback and back, from thread to thread, the
 * least of a few dozen, halved. Blocks for a few ms, at most for some hundred. 0: it could not be measured.
 */
double host_latency_measure(void);

#endif
