/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the link to a node by a few greetings with increasing ballast. The functions have no state and
 * no clock, so that tests can simulate links.
 */
#ifndef CLIENT_SOUNDING_H
#define CLIENT_SOUNDING_H

#include <stdbool.h>
#include <stdint.h>

/* Sends one greeting with so many bytes of ballast, and sets the seconds that it took. Returns false
 * without an answer. */
typedef bool sounding_greeting(void *arg, uint32_t bytes, double *seconds);

/* Measures the link for about `most_s` seconds: the round trip of a small greeting, and the bytes per
 * second to the node. The quickest of several greetings of each size counts, so that a delayed one does
 * not make the link look slow. If the link is too quick to measure, the rate is a lower bound: the link is
 * known not to be slow. Returns false (with *rate_bps 0) if the node does not answer. */
bool sounding_measure(sounding_greeting *greet, void *arg, double most_s, double *trip_s, double *rate_bps);
/* Measures the link briefly, with little ballast, before a request that takes little longer itself.
 * Returns true with *rate_bps 0 if the link is too quick to measure this way. */
bool sounding_glance(sounding_greeting *greet, void *arg, double most_s, double *trip_s, double *rate_bps);

#endif
