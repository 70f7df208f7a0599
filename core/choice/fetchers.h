/* SPDX-License-Identifier: Apache-2.0
 *
 * Which servers may fetch the data of a request, by the names in their certificates. A server that holds
 * one of the data lists in its response the names that it allows, and agents add to each estimate the name
 * in its server's certificate. Without these extensions, nothing is known and no server is at a
 * disadvantage. */
#ifndef CORE_FETCHERS_H
#define CORE_FETCHERS_H

#include "core/message/message.h"

/* Tag in a response, once for each server that holds a datum of the request, and for each datum: the
 * argument and whether any server may fetch it (4 bytes each, little-endian), then texts with a NUL after
 * each: the server, and the names in certificates that it allows. */
#define EXTENSION_FETCHERS 93
/* Tag in a server_estimate: the name in the server's certificate, without a NUL. */
#define EXTENSION_CERTIFICATE 94

/* Most bytes of one extension, and most of them in one response: beyond, any server counts as allowed. */
#define FETCHERS_MOST_BYTES 8192
#define FETCHERS_MOST       32

/* Notes that `holder` has the argument's datum, and allows its owner and the certificates with these names
 * to fetch it. `names` NULL: any. Too many names count as any. False without memory. */
bool fetchers_tell(struct extensions *extensions, uint32_t argument, const char *holder, const char *owner,
                   const char *const *names, size_t n, struct arena *arena);
/* Adds the lists of another response. False without memory. */
bool fetchers_gather(struct extensions *extensions, const struct extensions *from, struct arena *arena);

/* Whether a holder of the argument's datum allows that certificate. If none does, *holder is the first of
 * them, borrowed. Also true when nothing is known. */
bool fetchers_may(const struct extensions *extensions, uint32_t argument, const char *certificate,
                  const char **holder);

#endif
