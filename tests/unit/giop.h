/* SPDX-License-Identifier: Apache-2.0
 *
 * A stranger's requests, byte by byte: GIOP 1.0, 1.1 and 1.2 in either byte order, without an ORB.
 */
#ifndef TESTS_UNIT_GIOP_H
#define TESTS_UNIT_GIOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GIOP_MOST 65536

struct giop {
    uint8_t bytes[GIOP_MOST];
    size_t n, at; /* so many bytes; the next one to be read */
    uint8_t minor;
    bool big; /* byte order */
};

/* A request for the entry object with an operation; its arguments follow. */
void giop_request(struct giop *giop, uint8_t minor, bool big, const char *operation);
void giop_put(struct giop *giop, uint64_t value, size_t size); /* aligned */
void giop_put_text(struct giop *giop, const char *text);
void giop_put_bytes(struct giop *giop, const void *data, uint32_t n); /* with their number */
/* Writes the message's size into its header. */
void giop_finish(struct giop *giop);

/* A connection to "host:port"; -1. */
int giop_dial(const char *address);
bool giop_send(int fd, const struct giop *giop);
/* Sends `bytes` of a request of GIOP 1.2 from `from` on: its beginning (from = 0, whole multiples of 8), or a
 * fragment of what follows (multiples of 8 but for the last, which ends the message). Returns where the next
 * one begins. */
size_t giop_send_fragment(int fd, const struct giop *giop, size_t from, size_t bytes);
/* Reads the reply up to its results. Returns the reply's status (0: no exception), -1: none came within
 * `patience_ms` or it was something else. */
int giop_reply(int fd, struct giop *giop, int patience_ms);
uint64_t giop_get(struct giop *giop, size_t size);
/* The text's place in the message. */
const char *giop_get_text(struct giop *giop);

/* Whether the other side closes the connection within that time. Earlier messages from it are thrown away. */
bool giop_hangs_up(int fd, int patience_ms);

#endif
