/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures how fast this host moves data within its memory, and the latency of a message between two of
 * its daemons: the estimate for moving a datum between them until one has been moved and timed. */
#ifndef SERVICES_NWS_HOST_RATE_H
#define SERVICES_NWS_HOST_RATE_H

/* Returns the bytes per second of processor time of copies between fresh memory, the best of a few,
 * because slower ones shared the memory with other processes. Blocks for about 10 ms, and uses 16 MB
 * meanwhile. 0 without memory. */
double host_rate_measure(void);

/* Returns the one-way latency in seconds: half the time of a message of one byte over loopback and back,
 * from thread to thread, the least of a few dozen. Blocks for a few ms, at most a few hundred. 0: it could
 * not be measured. */
double host_latency_measure(void);

#endif
