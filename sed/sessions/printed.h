/* SPDX-License-Identifier: Apache-2.0
 *
 * The newest of what a session has printed: a ring that grows up to CAP_PRINTED bytes.
 */
#ifndef SED_PRINTED_H
#define SED_PRINTED_H

#include "core/message/message.h"

struct printed {
    uint64_t total;  /* bytes, since the start */
    uint32_t size;   /* of the ring */
    uint32_t length; /* that are still here: the bytes before `total` */
    uint8_t *ring;   /* byte number n is at n % size */
};

/* Appends bytes. Makes *printed at first. Bytes without memory for them are lost. */
void printed_add(struct printed **printed, const void *bytes, uint32_t length);

/* Copies the bytes behind `seen` that are still here to `to`, at most CAP_PRINTED. Returns how many;
 * *position is where they begin. */
uint32_t printed_since(const struct printed *printed, uint64_t seen, uint8_t *to, uint64_t *position);

void printed_free(struct printed *printed); /* NULL is nothing to do */

#endif
