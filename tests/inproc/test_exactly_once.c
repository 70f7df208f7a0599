/* SPDX-License-Identifier: Apache-2.0
 *
 * Exactly once, as the client sees it: the client's engine and two real servers below a real agent, in
 * virtual time, while replies are lost, requests come doubled and late, connections between nodes lose
 * messages, and servers are killed and started again in the middle of it. Each execution of each call is
 * counted.
 * A run is given by its seed, which is printed when it fails: ESP_TEST_SEED=N repeats it alone;
 * ESP_TEST_RUNS=N makes more of them. */
#include "tests/inproc/server_rig.h"

#include "agent/agent.h"
#include "client/session/session.h"
#include "util/random.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { SERVERS = 2, CALLS = 30, MOST_N = 20000 };

struct world {
    struct rig rigs[SERVERS];
    int64_t back_ns[SERVERS]; /* when it is started again; 0: it lives */
    struct agent *agent;
    struct endpoint *fate;
    int64_t fate_ns;
    int64_t heard_ns[SERVERS]; /* it is silent until then; 0: it is not */
    double kills_per_s, silences_per_s;
    struct random random;
    struct engine *engine;
    struct function *copy;
    unsigned executed[CALLS]; /* by the call's number, which is its first value */
    unsigned kills, silences, extra, maybe, done;
    int64_t longest_ns; /* of a call */
};

static struct world world;
static unsigned long long running; /* the seed */
static const char *const names[SERVERS] = {"A", "B"};

#define COPY(IDEMPOTENT)                                                                                     \
    "problem copy \"y := x\"\n    in int n\n    in double x[n]\n    out double y[n]\n" IDEMPOTENT            \
    "    work 3e4*n\nimplementation c\n    c copy(n, x, y) in libcopy.so\n"

/* A sleep of the client passes on the clock of all nodes, and takes no real time. */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    struct transport *transport = world.rigs[0].transport;
    (void)left;
    inproc_run(transport, inproc_now_ns(transport) + wanted->tv_sec * NS_PER_S + wanted->tv_nsec);
    return 0;
}

/* A wait of the client for news of a poll passes there, too: only this thread brings news. */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    struct timespec now;
    (void)condition;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const struct timespec wanted = {.tv_nsec = (until->tv_sec - now.tv_sec) * NS_PER_S + until->tv_nsec -
                                               now.tv_nsec};
    pthread_mutex_unlock(mutex);
    nanosleep(&wanted, NULL);
    pthread_mutex_lock(mutex);
    return ETIMEDOUT;
}

/* The network is this thread's: what the client would do beside it (greetings, second streams) it does
 * without. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *arg)
{
    (void)thread;
    (void)attributes;
    (void)start;
    (void)arg;
    return EAGAIN;
}

static void count_start(void *arg, const struct job *job)
{
    unsigned *executed = arg;
    executed[(size_t)((const double *)job->arguments[RIG_X].data)[0]]++;
}

/* ---- the fate of servers: a node that ends their jobs, kills them, and starts them again ---- */

/* Less than the orphan lease: this network tells servers also over what is cut that a call was given up. */
#define LONGEST_SILENCE_MS 12000

/* Acts as if the server were stopped, except that messages in its sockets are kept: no node notices. */
static void silence(struct world *w, int i, bool silent)
{
    struct transport *transport = w->rigs[0].transport;
    static const char *const others[] = {"client", "MA", "A", "B"};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (strcmp(others[k], names[i]) != 0)
            inproc_partition(transport, others[k], names[i], silent);
}

/* One at a time: there is always another one. */
static void silence_one(struct world *w, int64_t now_ns)
{
    bool any = false;
    for (int i = 0; i < SERVERS; i++) {
        if (w->heard_ns[i] != 0 && now_ns >= w->heard_ns[i]) {
            silence(w, i, false);
            w->heard_ns[i] = 0;
        }
        any = any || w->heard_ns[i] != 0;
    }
    if (any || random_real(&w->random) >= w->silences_per_s / 1000)
        return;
    const int i = (int)random_below(&w->random, SERVERS);
    silence(w, i, true);
    w->silences++;
    w->heard_ns[i] = now_ns + (int64_t)random_below(&w->random, LONGEST_SILENCE_MS) * NS_PER_MS;
}

static int64_t fate_due(void *self)
{
    return ((struct world *)self)->fate_ns;
}

static void fate_tick(void *self)
{
    struct world *w = self;
    const int64_t now_ns = inproc_now_ns(w->rigs[0].transport);
    w->fate_ns = now_ns + NS_PER_MS;
    silence_one(w, now_ns);
    for (int i = 0; i < SERVERS; i++) {
        if (!w->rigs[i].server && now_ns >= w->back_ns[i]) {
            rig_restart(&w->rigs[i]);
        } else if (w->rigs[i].server && w->kills < RIG_MOST_LIVES &&
                   random_real(&w->random) < w->kills_per_s / 1000) {
            rig_kill(&w->rigs[i]);
            w->kills++;
            w->back_ns[i] = now_ns + (int64_t)random_below(&w->random, 600) * NS_PER_MS;
        }
        if (w->rigs[i].server)
            rig_end_jobs(&w->rigs[i]);
    }
}

static const struct endpoint_ops fate_ops = {.due = fate_due, .tick = fate_tick};

/* ---- life ---- */

static void open_agent(struct world *w, uint64_t seed)
{
    const struct agent_options options = {.name = "MA",
                                          .listen = "MA",
                                          .incarnation = 1000,
                                          .seed = seed,
                                          .heartbeat_ms = 300,
                                          .lease_ms = 1000};
    struct esp_error error;
    assert_int_equal(agent_create(&options, w->rigs[0].transport, &w->agent, &error), ESP_OK);
}

static void open_engine(struct world *w)
{
    static const char *const agents[] = {"MA"};
    const struct engine_options options = {.transport = w->rigs[0].transport,
                                           .agents = agents,
                                           .n_agents = 1,
                                           .inline_bytes = 64 << 10,
                                           .agent_patience_ms = 20000,
                                           .answer_patience_ms = 2000,
                                           .silence_patience_ms = 60000,
                                           .call_timeout_ms = 3000};
    struct esp_error error;
    assert_int_equal(engine_create(&options, &w->engine, &error), ESP_OK);
    if (functions_get(w->engine->functions, "copy", "A", &w->copy, &error) != ESP_OK)
        fail_msg("%s", error.text);
}

static void open_world(struct world *w, uint64_t seed, const char *problems)
{
    struct esp_error error;
    memset(w, 0, sizeof *w);
    random_seed(&w->random, seed);
    for (int i = 0; i < SERVERS; i++) {
        rig_open(&w->rigs[i], &(struct rig_options){.name = names[i],
                                                    .parent_name = "MA",
                                                    .problems = problems,
                                                    .seed = seed,
                                                    .slots = 2,
                                                    .beside = i ? &w->rigs[0] : NULL});
        w->rigs[i].pool.on_start = count_start;
        w->rigs[i].pool.arg = w->executed;
    }
    open_agent(w, seed);
    const struct endpoint_options fate = {
        .name = "fate", .role = ROLE_SERVER, .incarnation = 1, .listen = "fate"};
    assert_int_equal(transport_serve(w->rigs[0].transport, &fate, &fate_ops, w, &w->fate, &error), ESP_OK);
    rig_run(&w->rigs[0], 3);
    open_engine(w);
}

static void close_world(struct world *w)
{
    inproc_set_faults(w->rigs[0].transport, &(struct inproc_faults){0});
    w->kills_per_s = w->silences_per_s = 0;
    for (int i = 0; i < SERVERS; i++)
        w->heard_ns[i] = w->heard_ns[i] ? 1 : 0;
    rig_run(&w->rigs[0], 2); /* those that are dead come back */
    function_release(w->copy);
    engine_destroy(w->engine);
    endpoint_close(w->fate);
    agent_drop(w->agent);
    for (int i = SERVERS; i-- > 0;)
        rig_close(&w->rigs[i]);
}

/* ---- calls ---- */

static enum esp_status call_copy(struct world *w, int number, int n, const char *server)
{
    static double x[MOST_N], y[MOST_N];
    struct esp_error error;
    struct invocation invocation;
    struct session *session;
    const struct target target = {.server = server, .address = server};
    struct esp_argument arguments[3] = {{.data = &n}, {.data = x}, {.data = y}};
    for (int i = 0; i < n; i++) {
        x[i] = number + 1000.0 * i;
        y[i] = -1;
    }
    assert_int_equal(invocation_from_vector(&invocation, w->copy, NULL, arguments, 3, &error), ESP_OK);
    assert_int_equal(session_begin(w->engine, &invocation, &target, 300, &session, &error), ESP_OK);
    session_call(session);
    const enum esp_status status = session->error.status;
    if (status == ESP_OK && memcmp(x, y, (size_t)n * sizeof *x) != 0)
        fail_msg("seed %llu: call %d: a wrong result", running, number);
    if (status != ESP_OK && status != ESP_MAYBE)
        print_message("# seed %llu, call %d: %s\n", running, number, session->error.text);
    session_discard(session);
    return status;
}

struct way {
    const char *name;
    const char *problems;
    bool idempotent, bound;
    double kills_per_s, silences_per_s;
    double most_s; /* of a call; 0: any time */
};

/* A session that has lost so many servers is given up: it may be what ends them. */
#define MOST_LOSSES 8

/* Conditions that must hold after each call in any case; `kills`: of servers meanwhile. */
static void check(struct world *w, const struct way *way, int number, enum esp_status status, unsigned kills)
{
    const unsigned executed = w->executed[number];
    if (status == ESP_OK && executed == 0)
        fail_msg("seed %llu: call %d has a result and was never executed", running, number);
    if (!way->idempotent && executed > 1)
        fail_msg("seed %llu: call %d was executed %u times and may be but once", running, number, executed);
    if (status != ESP_OK && status != ESP_MAYBE && !way->idempotent && executed > 0)
        fail_msg("seed %llu: call %d was executed, and its error says that it was not: %d", running, number,
                 status);
    if (status != ESP_OK && way->idempotent && !way->bound && kills < MOST_LOSSES)
        fail_msg("seed %llu: call %d may be repeated, and failed: %d", running, number, status);
    if (status != ESP_OK && status != ESP_MAYBE)
        fail_msg("seed %llu: call %d failed though it can have been lost at most: %d", running, number,
                 status);
    w->done += status == ESP_OK;
    w->maybe += status == ESP_MAYBE;
    w->extra += executed > 1 ? executed - 1 : 0;
}

static void run_once(const struct way *way, uint64_t seed, struct world *sum)
{
    static const int sizes[] = {1, 2, 300, 8192, 9000, MOST_N};
    open_world(&world, seed, way->problems);
    inproc_set_faults(world.rigs[0].transport, &(struct inproc_faults){.latency_ns = NS_PER_MS,
                                                                       .jitter_ns = 4 * NS_PER_MS,
                                                                       .lose = 0.02,
                                                                       .duplicate = 0.05,
                                                                       .maybe = 0.08,
                                                                       .ghost = 0.2,
                                                                       .ghost_ns = 3 * NS_PER_S});
    world.kills_per_s = way->kills_per_s;
    world.silences_per_s = way->silences_per_s;
    for (int i = 0; i < CALLS; i++) {
        const int n = sizes[random_below(&world.random, sizeof sizes / sizeof *sizes)];
        const unsigned before = world.kills;
        const int64_t begun_ns = inproc_now_ns(world.rigs[0].transport);
        const enum esp_status status = call_copy(&world, i, n, way->bound ? names[i % SERVERS] : NULL);
        const int64_t took_ns = inproc_now_ns(world.rigs[0].transport) - begun_ns;
        sum->longest_ns = took_ns > sum->longest_ns ? took_ns : sum->longest_ns;
        check(&world, way, i, status, world.kills - before);
    }
    rig_run(&world.rigs[0], 4); /* ghosts may still come */
    for (int i = 0; i < CALLS; i++)
        if (!way->idempotent && world.executed[i] > 1)
            fail_msg("seed %llu: call %d was executed %u times, the last of them late", running, i,
                     world.executed[i]);
    sum->kills += world.kills;
    sum->silences += world.silences;
    sum->maybe += world.maybe;
    sum->done += world.done;
    sum->extra += world.extra;
    close_world(&world);
}

static void run_way(const struct way *way)
{
    const char *seed = getenv("ESP_TEST_SEED"), *runs = getenv("ESP_TEST_RUNS");
    const uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
    const uint64_t n = seed ? 1 : runs ? strtoull(runs, NULL, 10) : 40;
    struct world sum = {0};
    for (uint64_t i = first; i < first + n; i++) {
        running = i;
        run_once(way, i, &sum);
    }
    print_message("# %s: %u kills, %u silences, %u results, %u perhaps, %u extra runs, the longest %.3g s\n",
                  way->name, sum.kills, sum.silences, sum.done, sum.maybe, sum.extra,
                  (double)sum.longest_ns / NS_PER_S);
    assert_true(sum.done > sum.maybe);
    if (way->most_s > 0 && (double)sum.longest_ns > way->most_s * NS_PER_S)
        fail_msg("expected no call to take longer than %g s", way->most_s);
}

static void without_deaths_every_call_is_executed_once(void **state)
{
    (void)state;
    run_way(&(struct way){"no deaths", COPY("    idempotent no\n"), false, false, 0, 0, 0});
}

static void what_may_not_be_repeated_runs_once_at_most(void **state)
{
    (void)state;
    run_way(&(struct way){"not idempotent", COPY("    idempotent no\n"), false, false, 0.5, 0, 0});
}

static void a_server_that_was_named_is_no_exception(void **state)
{
    (void)state;
    run_way(&(struct way){"not idempotent, bound", COPY("    idempotent no\n"), false, true, 0.5, 0, 0});
}

static void what_may_be_repeated_always_gives_its_result(void **state)
{
    (void)state;
    run_way(&(struct way){"idempotent", COPY("    idempotent yes\n"), true, false, 0.5, 0, 0});
}

static void who_falls_silent_is_left_for_another(void **state)
{
    (void)state;
    run_way(&(struct way){"idempotent, silences", COPY("    idempotent yes\n"), true, false, 0, 0.2, 10});
}

static void who_falls_silent_is_waited_for_where_no_other_may(void **state)
{
    (void)state;
    run_way(&(struct way){"not idempotent, silences", COPY("    idempotent no\n"), false, false, 0, 0.2, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_deaths_every_call_is_executed_once),
        cmocka_unit_test(what_may_not_be_repeated_runs_once_at_most),
        cmocka_unit_test(a_server_that_was_named_is_no_exception),
        cmocka_unit_test(what_may_be_repeated_always_gives_its_result),
        cmocka_unit_test(who_falls_silent_is_left_for_another),
        cmocka_unit_test(who_falls_silent_is_waited_for_where_no_other_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
