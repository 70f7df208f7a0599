/* SPDX-License-Identifier: Apache-2.0
 *
 * For benchmarks: a platform of real daemons on loopback that can solve the tiny problem "bench_add", and the
 * reference's two processes, all in a private folder and gone with the benchmark.
 */
#ifndef BENCH_PLATFORM_H
#define BENCH_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PLATFORM_MORE 8

struct platform {
    const char *host;
    char identity[512]; /* lines of every file that name the certificate */
    char folder[64];
    char client_conf[96]; /* for grpc_initialize() */
    char program[512];    /* the espalier command */
    pid_t redirector, master, leader, server, second, more[PLATFORM_MORE];
};

struct platform_options {
    const char *agent;        /* more lines of the agents' files; NULL: none */
    const char *descriptions; /* that the server has besides; NULL: none */
    const char *host;         /* NULL: 127.0.0.1, beside whose ports daemons have Unix sockets */
    const char *server;       /* more lines of the server's file; NULL: none */
    bool second_server;       /* "second", as the first one */
    unsigned more_servers;    /* "more-1" and so on, as the first one; at most PLATFORM_MORE */
    unsigned slots;           /* of each server; 0: 8 */
    bool tls;                 /* all with one certificate, which openssl makes */
};

/* Redirector, one MA, one LA, one SeD "server"; NULL: all as it comes. Returns when the problem can be
 * called. Ends the program with a message on failure. */
void platform_start(struct platform *platform, const struct platform_options *options);
void platform_stop(struct platform *platform);

/* An address of this machine that others reach it by; 127.0.0.1 when it has none. */
const char *bench_own_address(void);

struct reference {
    char folder[64];
    char program[512];
    char *address;
    pid_t server, client;
    int to_server, to_client, from_client;
};

/* Plain two-way calls of the ORB. */
void reference_start(struct reference *reference);
/* The hops of calls, by processes that only pass them on: latency of one that is asked down, rate of those
 * that are scheduled from memory. */
void reference_chain_start(struct reference *reference);
/* The median of n calls in microseconds, and calls per second of `threads` threads with n calls each. */
double reference_latency(struct reference *reference, size_t n);
double reference_rate(struct reference *reference, size_t n, unsigned threads);
void reference_stop(struct reference *reference);

#endif
