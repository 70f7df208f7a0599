/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/star.h"
#include "tests/unit/unit.h"
#include "util/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define MOST_JOBS  60
#define MOST_NODES 5

static struct star *create(const struct star_spec *spec)
{
    struct star *star;
    struct esp_error error;
    if (star_create(spec, &star, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return star;
}

/* The name of the next job that ends, with the time. */
static int next(struct star *star, double *at)
{
    void *ticket;
    bool is_transfer;
    if (!star_next(star, &ticket, &is_transfer))
        return -1;
    *at = star_now(star);
    return (int)(intptr_t)ticket;
}

#define TICKET(i) ((void *)(intptr_t)(i))

static void a_transfer_alone_takes_latency_and_size_over_bandwidth(void **state)
{
    (void)state;
    struct star *star = create(&(struct star_spec){.n_nodes = 2, .latency_s = 0.5, .bandwidth_Bps = 100});
    double at;
    assert_true(star_transfer(star, 0, 1, 300, TICKET(7)));
    assert_int_equal(next(star, &at), 7);
    assert_float_equal(at, 3.5, 1e-12);
    assert_int_equal(next(star, &at), -1);
    star_destroy(star);
}

static void links_are_full_duplex_and_shared_in_each_direction(void **state)
{
    (void)state;
    struct star *star = create(&(struct star_spec){.n_nodes = 3, .bandwidth_Bps = 100});
    double at;
    assert_true(star_transfer(star, 0, 1, 100, TICKET(1)));
    assert_true(star_transfer(star, 1, 0, 100, TICKET(2))); /* disturbs nobody */
    assert_true(star_transfer(star, 0, 2, 100, TICKET(3))); /* shares the outgoing link of node 0 */
    assert_int_equal(next(star, &at), 2);
    assert_float_equal(at, 1, 1e-12);
    assert_int_equal(next(star, &at), 1);
    assert_float_equal(at, 2, 1e-12);
    assert_int_equal(next(star, &at), 3);
    assert_float_equal(at, 2, 1e-12);
    star_destroy(star);
}

static void computations_share_what_transfers_leave_of_the_processor(void **state)
{
    (void)state;
    struct star *star = create(&(struct star_spec){
        .n_nodes = 2, .bandwidth_Bps = 100, .send = {1, {0.25}}, .receive = {2, {0.5, 0.75}}});
    double at;
    assert_true(star_compute(star, 1, 1, TICKET(1)));
    assert_true(star_compute(star, 1, 2, TICKET(2)));
    assert_true(star_transfer(star, 0, 1, 200, TICKET(3))); /* for 2 s half of the processor is left */
    assert_int_equal(next(star, &at), 3);
    assert_float_equal(at, 2, 1e-12);
    assert_int_equal(next(star, &at), 1);
    assert_float_equal(at, 3, 1e-12);
    assert_int_equal(next(star, &at), 2);
    assert_float_equal(at, 4, 1e-12);
    struct star_use use;
    star_use(star, 1, &use);
    assert_float_equal(use.communicating_s, 1, 1e-12);
    assert_float_equal(use.computing_s, 3, 1e-12);
    assert_float_equal(use.receiving_s, 2, 1e-12);
    star_destroy(star);
}

static void a_channel_lets_so_many_transfers_progress_and_keeps_their_order(void **state)
{
    (void)state;
    struct star *star = create(&(struct star_spec){.n_nodes = 2, .bandwidth_Bps = 100, .channel = 1});
    double at;
    for (int i = 0; i < 3; i++)
        assert_true(star_transfer(star, 0, 1, 100, TICKET(i)));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(next(star, &at), i);
        assert_float_equal(at, i + 1, 1e-12);
    }
    star_destroy(star);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct star_spec spec;
        const char *text;
    } rows[] = {
        {{.n_nodes = 0, .bandwidth_Bps = 1}, "expected a platform of at least one node, found none"},
        {{.n_nodes = 1, .bandwidth_Bps = 0}, "bandwidth: expected bytes per second > 0, found 0"},
        {{.n_nodes = 1, .bandwidth_Bps = 1, .latency_s = -1}, "latency: expected seconds >= 0, found -1"},
        {{.n_nodes = 1, .bandwidth_Bps = 1, .send = {2, {0, 1.5}}},
         "send: the part of a processor that 2 transfers use: expected 0 to 1, found 1.5"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct star *star;
        struct esp_error error;
        assert_int_equal(star_create(&rows[i].spec, &star, &error), ESP_INVALID);
        assert_string_equal(error.text, rows[i].text);
        assert_null(star);
    }
}

/* ---- against a model that computes all rates anew at each event ---- */

struct plain_job {
    unsigned from, to;
    double begins, left, ended;
    bool is_transfer, active;
};

struct plain {
    const struct star_spec *spec;
    struct plain_job jobs[MOST_JOBS];
    unsigned n;
    double now;
};

static double used(const struct star_shares *shares, unsigned n)
{
    return n == 0 || shares->n == 0 ? 0 : shares->of[n < shares->n ? n - 1 : shares->n - 1];
}

static double rate_of(const struct plain *plain, const struct plain_job *job)
{
    unsigned out = 0, in = 0, computing = 0;
    for (unsigned i = 0; i < plain->n; i++) {
        const struct plain_job *other = &plain->jobs[i];
        if (!other->active)
            continue;
        out += other->is_transfer && other->from == job->from;
        in += other->is_transfer && other->to == job->to;
        computing += !other->is_transfer && other->to == job->to;
    }
    if (job->is_transfer)
        return fmin(1.0 / out, 1.0 / in);
    double left = 1 - used(&plain->spec->send, out) - used(&plain->spec->receive, in);
    double speed = plain->spec->speeds ? plain->spec->speeds[job->to] : 1;
    return speed * fmax(left, 0) / computing;
}

/* Runs until all has ended. Channels are not modelled. */
static void run_plain(struct plain *plain)
{
    for (;;) {
        double step = INFINITY;
        for (unsigned i = 0; i < plain->n; i++) {
            struct plain_job *job = &plain->jobs[i];
            if (job->active && rate_of(plain, job) > 0)
                step = fmin(step, job->left / rate_of(plain, job));
            else if (!job->active && job->begins > plain->now)
                step = fmin(step, job->begins - plain->now);
        }
        if (isinf(step))
            return;
        double rates[MOST_JOBS] = {0};
        for (unsigned i = 0; i < plain->n; i++)
            rates[i] = plain->jobs[i].active ? rate_of(plain, &plain->jobs[i]) : 0;
        double before = plain->now;
        plain->now += step;
        for (unsigned i = 0; i < plain->n; i++) {
            struct plain_job *job = &plain->jobs[i];
            job->left -= rates[i] * step;
            if (job->active && job->left < 1e-9) {
                job->active = false;
                job->ended = plain->now;
            }
            if (job->begins > before && job->begins <= plain->now + 1e-12)
                job->active = true;
        }
    }
}

/* Jobs that begin at given times: a computation on a node of its own marks each of them. */
static void random_jobs_end_as_in_a_plain_model(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 33);
    for (int trial = 0; trial < TRIALS(300); trial++) {
        double speeds[MOST_NODES + 1];
        unsigned n = 2 + (unsigned)random_below(&random, MOST_NODES - 1);
        for (unsigned i = 0; i <= n; i++)
            speeds[i] = i == n ? 1 : 0.5 + random_real(&random);
        struct star_spec spec = {.n_nodes = n + 1,
                                 .latency_s = random_real(&random),
                                 .bandwidth_Bps = 10,
                                 .speeds = speeds,
                                 .send = {2, {0.1, 0.3}},
                                 .receive = {3, {0.2, 0.4, 0.65}}};
        struct plain plain = {.spec = &spec};
        plain.n = 1 + (unsigned)random_below(&random, MOST_JOBS);
        struct star *star = create(&spec);
        double begins = 0.001;
        for (unsigned i = 0; i < plain.n; i++) {
            struct plain_job *job = &plain.jobs[i];
            job->to = (unsigned)random_below(&random, n);
            job->from = (job->to + (unsigned)random_below(&random, n)) % n;
            job->is_transfer = job->from != job->to;
            job->begins = begins;
            job->left =
                job->is_transfer ? spec.latency_s + (double)(i * 7 % 50) / 10 : random_real(&random) * 4;
            begins += random_real(&random);
        }
        /* On the node that the plain model does not have, one computation after the other marks the time. */
        struct plain_job jobs[MOST_JOBS];
        memcpy(jobs, plain.jobs, sizeof jobs);
        unsigned begun = 0, over = 0;
        double ends[MOST_JOBS];
        assert_true(star_compute(star, n, jobs[0].begins, TICKET(-1)));
        void *ticket;
        bool is_transfer;
        while (star_next(star, &ticket, &is_transfer)) {
            intptr_t which = (intptr_t)ticket;
            if (which >= 0) {
                ends[which] = star_now(star);
                assert_int_equal(is_transfer, jobs[which].is_transfer);
                over++;
                continue;
            }
            const struct plain_job *job = &jobs[begun];
            if (job->is_transfer)
                assert_true(star_transfer(star, job->from, job->to, begun * 7 % 50, TICKET(begun)));
            else
                assert_true(star_compute(star, job->to, job->left, TICKET(begun)));
            if (++begun < plain.n)
                assert_true(star_compute(star, n, jobs[begun].begins - jobs[begun - 1].begins, TICKET(-1)));
        }
        run_plain(&plain);
        assert_int_equal(over, plain.n);
        for (unsigned i = 0; i < plain.n; i++)
            if (fabs(ends[i] - plain.jobs[i].ended) > 1e-6)
                fail_msg("trial %d, job %u ended at %.9f, expected %.9f", trial, i, ends[i],
                         plain.jobs[i].ended);
        star_destroy(star);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transfer_alone_takes_latency_and_size_over_bandwidth),
        cmocka_unit_test(links_are_full_duplex_and_shared_in_each_direction),
        cmocka_unit_test(computations_share_what_transfers_leave_of_the_processor),
        cmocka_unit_test(a_channel_lets_so_many_transfers_progress_and_keeps_their_order),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(random_jobs_end_as_in_a_plain_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
