/* SPDX-License-Identifier: Apache-2.0
 *
 * What a few greetings, with more and more bytes, tell of the link to who answers them. No state, no clock: a
 * test has links of its own.
 */
#ifndef CLIENT_SOUNDING_H
#define CLIENT_SOUNDING_H

#include <stdbool.h>
#include <stdint.h>

/* One greeting with so many bytes more, and the seconds that it took; false: there is no answer. */
typedef bool sounding_greeting(void *arg, uint32_t bytes, double *seconds);

/* Measures the link, in `most_s` seconds about: what a small greeting takes there and back, and how many
 * bytes go there in a second. Several of each size, of which the quickest counts: one that was held up does
 * not make the link a slow one. Of a link that is too quick to tell the rate is the least that it may be: it
 * is known not to be a slow one. False (*rate_bps 0): nobody answers. */
bool sounding_measure(sounding_greeting *greet, void *arg, double most_s, double *trip_s, double *rate_bps);
/* The same in a moment, with little ballast: before what takes little longer itself. *rate_bps 0, and true:
 * the link is too quick for that to tell how quick. */
bool sounding_glance(sounding_greeting *greet, void *arg, double most_s, double *trip_s, double *rate_bps);

#endif
