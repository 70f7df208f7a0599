/* SPDX-License-Identifier: Apache-2.0
 *
 * What transports do alike with a node's answer.
 */
#ifndef CORE_REPLY_H
#define CORE_REPLY_H

#include "core/message/message.h"

/* Encodes the answer to a request of that kind into `body` (an encoder is made in it; memory_wire_release()).
 * What cannot be an answer (NULL, of another kind, larger than `cap`) is replaced by one that says so. */
void reply_encode(struct memory_wire *body, enum message_kind request, struct message *reply, size_t cap);

#endif
