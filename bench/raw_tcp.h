/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference of the bulk benchmarks: plain sockets between this process and a child of it, chunks of 1 MiB
 * in turns over one connection or two, straight from and into memory; the same encrypted, in chunks of 4 MiB;
 * and with a CRC32C before each chunk, which the receiver compares and acknowledges.
 */
#ifndef BENCH_RAW_TCP_H
#define BENCH_RAW_TCP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RAW_MOST_CONNECTIONS = 2 };

enum raw_way { RAW_PLAIN, RAW_TLS, RAW_SUMMED };

struct raw_tcp {
    pid_t child;
    enum raw_way way;
    int n, sockets[RAW_MOST_CONNECTIONS];
    struct ssl_st *tls[RAW_MOST_CONNECTIONS]; /* NULL: plain */
    int commands, answers;                    /* pipes to and from the child */
};

/* Connects over that host's address. The child has memory of its own for `most` bytes, touched, and takes
 * more when it is needed. Ends the program with a message on failure. */
void raw_tcp_start(struct raw_tcp *raw, enum raw_way way, const char *host, int connections, uint64_t most);

/* Seconds until the child has all of it, in its touched memory or in a fresh memory file. */
double raw_tcp_put(struct raw_tcp *raw, const char *data, uint64_t bytes, bool fresh);

/* Seconds until all of the child's is here, from its touched memory or from a fresh memory file. */
double raw_tcp_get(struct raw_tcp *raw, char *data, uint64_t bytes, bool fresh);

void raw_tcp_stop(struct raw_tcp *raw);

#endif
