/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the fake hierarchy: fake.c is the transport, fake_server.c what servers answer, fake_agents.c what
 * agents and the redirector do.
 */
#ifndef TESTS_UNIT_FAKE_INTERNAL_H
#define TESTS_UNIT_FAKE_INTERNAL_H

#include "tests/unit/fake.h"
#include "core/problem/problem.h"
#include "util/clock.h"

#include <pthread.h>

enum { SERVERS = 3, ADDRESSES = 7 };
extern const char *const fake_addresses[ADDRESSES], *const fake_names[ADDRESSES];

struct held {
    struct held *next;
    int server;
    struct session_id id;
    const struct problem *problem;
    uint8_t *data[PROBLEM_MAX_ARGUMENTS];
    uint64_t bytes[PROBLEM_MAX_ARGUMENTS];
    uint32_t kind[PROBLEM_MAX_ARGUMENTS];
    enum session_state state;
    int64_t due_ns;
    struct esp_error error;
};

struct fake {
    struct transport transport;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct problem_set *set;
    struct held *held;
    struct fake_faults faults[ADDRESSES];
    unsigned asked[ADDRESSES]; /* whatever it was */
    uint64_t await_number[SERVERS];
    unsigned polls[SERVERS];
    struct fake_counters counters;
    unsigned inside;
    uint64_t inline_bytes;
    unsigned ahead;
    uint64_t placements;
};

/* ---- tests/unit/fake.c ---- */

void fake_wait_ms(struct fake *fake, int64_t ms);
int64_t fake_now(void);

/* ---- tests/unit/fake_server.c ---- */

struct held *fake_find_held(struct fake *fake, int server, uint64_t sequence);
void fake_free_held(struct fake *fake, struct held *held);
void fake_acknowledge(struct fake *fake, int server, uint64_t oldest);
enum esp_status fake_on_call(struct fake *fake, int server, const struct message *request,
                             struct message *reply, struct esp_error *error);
enum esp_status fake_on_run(struct fake *fake, int server, const struct message *request,
                            struct message *reply, struct esp_error *error);
enum esp_status fake_on_await(struct fake *fake, int server, const struct message *request,
                              struct message *reply, struct esp_error *error);
enum esp_status fake_on_follow(struct fake *fake, int server, const struct message *request,
                               struct message *reply, struct esp_error *error);
enum esp_status fake_on_cancel(struct fake *fake, int server, const struct message *request);
enum esp_status fake_fail(struct esp_error *error, enum esp_status status, const char *text);

/* ---- tests/unit/fake_agents.c ---- */

enum esp_status fake_on_submit(struct fake *fake, const struct message *request, struct message *reply,
                               struct esp_error *error);
enum esp_status fake_on_describe(struct fake *fake, const struct message *request, struct message *reply,
                                 struct esp_error *error);
void fake_on_list(struct fake *fake, const struct message *request, struct message *reply);
void fake_on_tree(int at, const struct message *request, struct message *reply);
void fake_on_locate(struct fake *fake, int at, struct message *reply);

#endif
