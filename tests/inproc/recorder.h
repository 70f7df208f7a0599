/* SPDX-License-Identifier: Apache-2.0
 *
 * For the conformance suite: a node that writes down what happens to it, and the world it lives in.
 */
#ifndef TESTS_RECORDER_H
#define TESTS_RECORDER_H

#include "core/transport.h"

#include <stdatomic.h>
#include <stdbool.h>

extern bool virtual_time; /* the in-process transport's */
extern struct transport *net;

/* Lets a little real time pass. */
void nap(void);

enum manner { ANSWER_AT_ONCE, ANSWER_LATER, ANSWER_NEVER, ANSWER_NOTHING, ANSWER_WRONG, ANSWER_HUGE };

struct node {
    struct endpoint *endpoint;
    char name[32];
    char address[64];
    uint64_t incarnation;
    enum manner manner;
    uint64_t numbers[4096]; /* of pulses */
    size_t n_numbers;
    unsigned undelivered, abandoned, chunks_done, chunks_broken, helped, hung_up;
    enum esp_status undelivered_status;
    char undelivered_address[64];
    char from[64], gone[64];
    uint64_t gone_incarnation;
    const char *asks; /* the client that has hung up is asked there whether it still lives */
    struct call *kept;
    int64_t due_ns;
    uint8_t *memory;
    size_t memory_bytes;
    const char *echo; /* pulses are sent on to there */
    bool wants_help;
    atomic_bool inside;
    atomic_uint overlaps;
};

/* Serves on `net`; asserts that it could. leave() closes it, asserts that no two operations of it overlapped,
 * and frees it. */
struct node *serve_at(const char *name, uint64_t incarnation, const char *listen);
struct node *serve(const char *name, uint64_t incarnation);
void leave(struct node *node);

/* Lets time pass until the node's number is `wanted` (or for a long time), and asserts that it is. */
void await_number(struct node *node, const unsigned *number, unsigned wanted);
void await_pulses(struct node *node, size_t wanted);

/* A node that can be ended as if its process was killed; over the ORB it has one of its own. It serves
 * at `address`, posts one pulse to `to`, and sends on to there what comes. */
struct mortal {
    int process;       /* over the ORB */
    struct node *node; /* in this process */
    char address[64];
};
void mortal_begin(struct mortal *mortal, const char *name, uint64_t incarnation, const char *to);
void mortal_kill(struct mortal *mortal);
/* Code of main() in that process: does not return there; does nothing in any other process. */
void mortal_live(int argc, char **argv, enum esp_status (*open)(struct transport **, struct esp_error *));

/* Posts a pulse. */
void say(struct node *from, const char *to, uint64_t incarnation, uint64_t number);

#endif
