/* SPDX-License-Identifier: Apache-2.0
 *
 * Which servers may fetch the data that a request takes, where certificates tell who is who: servers that
 * have one of them tell in their answers whom they let have it, and agents add to the estimates of servers
 * whose these are. Nodes of earlier versions tell neither: of them nothing is known, and nobody is set back.
 */
#ifndef CORE_FETCHERS_H
#define CORE_FETCHERS_H

#include "core/message/message.h"

/* Tag in a response, once for each server that has a datum of the request, and for each datum: the argument
 * and whether anybody may (4 bytes each, little-endian), then texts with a NUL behind each: the server, and
 * the names in the certificates of those that may. */
#define EXTENSION_FETCHERS 93
/* Tag in a server_estimate: the name in the server's certificate, without a NUL. */
#define EXTENSION_CERTIFICATE 94

/* Bytes of one, and how many of them in one answer: where there are more, anybody counts as let in. */
#define FETCHERS_MOST_BYTES 8192
#define FETCHERS_MOST       32

/* That `holder` has the argument's datum, and lets those of these names have it, and its owner. `names` NULL:
 * anybody may. Too many of them count as anybody. False without memory. */
bool fetchers_tell(struct extensions *extensions, uint32_t argument, const char *holder, const char *owner,
                   const char *const *names, size_t n, struct arena *arena);
/* Adds what another answer tells of them. False without memory. */
bool fetchers_gather(struct extensions *extensions, const struct extensions *from, struct arena *arena);

/* Whether one of those that have the argument's datum lets in who has that certificate. *holder, when none
 * does: the first of them, borrowed. True also when nothing is known. */
bool fetchers_may(const struct extensions *extensions, uint32_t argument, const char *certificate,
                  const char **holder);

#endif
