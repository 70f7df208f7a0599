/* SPDX-License-Identifier: Apache-2.0
 *
 * Where data are counts in who gets a request: random hierarchies with random holders, and the candidates
 * that the master names against what brute force over all servers says.
 */
#include "core/choice/aggregate.h"
#include "core/data/datum.h"
#include "tests/inproc/platform.h"
#include "tests/unit/unit.h"
#include "util/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_SERVERS = 12, MOST_DATA = 3 };

struct one_server {
    char name[16];
    int leader;
    bool solves, holds[MOST_DATA];
    struct path link;         /* from its leader */
    const char *fetched_from; /* it knows its link from there; NULL: from nobody */
    struct path fetched;
    double speed_flops;
};

struct site {
    struct platform platform;
    struct random random;
    int n_leaders, n_servers, n_data;
    struct one_server servers[MOST_SERVERS];
    char data[MOST_DATA][DATUM_TEXT];
    struct argument_attribute arguments[MOST_DATA];
    struct request request;
};

#define WORK_FLOP 1e9

static void draw_server(struct site *site, int index)
{
    struct random *random = &site->random;
    struct one_server *server = &site->servers[index];
    *server = (struct one_server){.leader = (int)random_below(random, (uint64_t)site->n_leaders),
                                  .solves = index == 0 || random_below(random, 4) > 0,
                                  .speed_flops = 1e9 * (double)(1 + random_below(random, 5))};
    snprintf(server->name, sizeof server->name, "s-%d", index);
    if (random_below(random, 3) > 0)
        server->link = (struct path){true, 1e-3 * (double)(1 + random_below(random, 20)),
                                     1e6 * (double)(1 + random_below(random, 300)), 0};
}

static void draw_data(struct site *site)
{
    for (int d = 0; d < site->n_data; d++) {
        struct datum_id id;
        assert_int_equal(datum_id_draw("somewhere", &id, NULL), ESP_OK);
        datum_id_text(&id, site->data[d]);
        site->arguments[d] = (struct argument_attribute){.index = (uint32_t)d,
                                                         .mode = MODE_IN,
                                                         .bytes = random_below(&site->random, 200000000),
                                                         .holder = "",
                                                         .datum = site->data[d]};
        for (uint64_t copies = random_below(&site->random, 4); copies > 0; copies--)
            site->servers[random_below(&site->random, (uint64_t)site->n_servers)].holds[d] = true;
    }
}

static void start_servers(struct site *site)
{
    static const char *const other[] = {"other"};
    const struct simulated_options usual = site->platform.server_options;
    for (int i = 0; i < site->n_servers; i++) {
        const struct one_server *server = &site->servers[i];
        struct simulated_options *options = &site->platform.server_options;
        const char *holds[MOST_DATA];
        char leader[16];
        *options = usual;
        options->link = server->link;
        options->fetched_from = server->fetched_from;
        options->fetched = server->fetched;
        options->speed_flops = server->speed_flops;
        options->holds = holds;
        for (int d = 0; d < site->n_data; d++)
            if (server->holds[d])
                holds[options->n_holds++] = site->data[d];
        if (!server->solves)
            options->problems = other;
        snprintf(leader, sizeof leader, "la-%d", server->leader);
        platform_server(&site->platform, server->name, leader);
    }
}

static void site_open(struct site *site, uint64_t seed)
{
    random_seed(&site->random, seed);
    platform_open(&site->platform, seed);
    site->platform.agent_options.breadth = MOST_SERVERS;
    site->n_leaders = 1 + (int)random_below(&site->random, 4);
    site->n_servers = 2 + (int)random_below(&site->random, MOST_SERVERS - 1);
    site->n_data = 1 + (int)random_below(&site->random, MOST_DATA);
    for (int i = 0; i < site->n_servers; i++)
        draw_server(site, i);
    draw_data(site);
    platform_agent(&site->platform, "ma", "");
    for (int i = 0; i < site->n_leaders; i++) {
        char name[16];
        snprintf(name, sizeof name, "la-%d", i);
        platform_agent(&site->platform, name, "ma");
    }
    start_servers(site);
    assert_true(platform_settle(&site->platform, 0, (size_t)(site->n_leaders + site->n_servers), 30000));
    site->request = platform_request("job", WORK_FLOP);
    site->request.arguments = site->arguments;
    site->request.n_arguments = (uint32_t)site->n_data;
    site->request.candidates = MOST_SERVERS;
}

/* Links are known between a server and its leader only: a datum that is elsewhere comes by a way that is not.
 */
static double bring_s(const struct site *site, const struct one_server *to, int d)
{
    double best = HUGE_VAL;
    if (to->holds[d])
        return 0;
    for (int i = 0; i < site->n_servers; i++) {
        const struct one_server *from = &site->servers[i];
        if (!from->holds[d] || from->leader != to->leader || !from->link.known || !to->link.known)
            continue;
        double bps = fmin(from->link.bandwidth_bps, to->link.bandwidth_bps);
        best = fmin(best, path_time_s(from->link.latency_s + to->link.latency_s, 1 / bps,
                                      (double)site->arguments[d].bytes));
    }
    return isfinite(best)
               ? best
               : path_time_s(PATH_LINK_LATENCY_S, 1 / PATH_LINK_BPS, (double)site->arguments[d].bytes);
}

static double forecast_s(const struct site *site, const struct one_server *server)
{
    double seconds = ESTIMATE_CALL_S + WORK_FLOP / server->speed_flops;
    for (int d = 0; d < site->n_data; d++)
        seconds += bring_s(site, server, d);
    return seconds;
}

static void check_candidates(const struct site *site, const struct submit_reply *reply)
{
    double before = 0;
    for (uint32_t c = 0; c < reply->n_candidates; c++) {
        const struct candidate *candidate = &reply->candidates[c];
        const struct one_server *server = &site->servers[atoi(candidate->server + 2)];
        double expected = forecast_s(site, server);
        assert_true(server->solves);
        assert_float_equal(candidate->compute_s + candidate->transfer_s, expected, 1e-9 * expected);
        assert_true(before <= expected * (1 + 1e-12));
        before = expected;
    }
}

static void candidates_are_those_that_brute_force_finds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        static struct site site;
        struct message reply = {0};
        struct esp_error error;
        uint32_t solvers = 0;
        site = (struct site){0};
        site_open(&site, seed);
        for (int i = 0; i < site.n_servers; i++)
            solvers += site.servers[i].solves;
        assert_int_equal(platform_submit(&site.platform, "ma", &site.request, &reply, &error), ESP_OK);
        assert_int_equal(reply.submit_reply.n_candidates, solvers);
        check_candidates(&site, &reply.submit_reply);
        message_clear(&reply);
        platform_close(&site.platform);
    }
}

static void only_who_can_solve_it_or_holds_its_data_is_asked(void **state)
{
    static struct site site;
    struct message reply = {0};
    struct esp_error error;
    (void)state;
    random_seed(&site.random, 1);
    platform_open(&site.platform, 1);
    site.n_leaders = 3;
    site.n_servers = 4;
    site.n_data = 1;
    draw_data(&site);
    for (int i = 0; i < 4; i++) {
        site.servers[i] = (struct one_server){.leader = i < 2 ? i : 2, .speed_flops = 1e9};
        snprintf(site.servers[i].name, sizeof site.servers[i].name, "s-%d", i);
    }
    site.servers[0].solves = site.servers[1].holds[0] = site.servers[2].solves = true;
    platform_agent(&site.platform, "ma", "");
    platform_agent(&site.platform, "la-0", "ma");
    platform_agent(&site.platform, "la-1", "ma");
    platform_agent(&site.platform, "la-2", "ma");
    start_servers(&site);
    assert_true(platform_settle(&site.platform, 0, 7, 30000));
    site.request = platform_request("job", WORK_FLOP);
    site.request.arguments = site.arguments;
    site.request.n_arguments = 1;
    assert_int_equal(platform_submit(&site.platform, "ma", &site.request, &reply, &error), ESP_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(simulated_asks(site.platform.servers[i]), i == 3 ? 0 : 1);
    message_clear(&reply);
    platform_close(&site.platform);
}

static double transfer_to(const struct submit_reply *reply, const char *server)
{
    for (uint32_t i = 0; i < reply->n_candidates; i++)
        if (strcmp(reply->candidates[i].server, server) == 0)
            return reply->candidates[i].transfer_s;
    fail_msg("%s is no candidate", server);
    return -1;
}

/* The datum is on s-0. s-1 and s-2 are below other leaders and alike, but for what s-1, or s-0, has measured
 * of the link between these two when it fetched data. */
static void check_across(int teller, double bandwidth_bps)
{
    static struct site site;
    struct esp_error error;
    site = (struct site){.n_leaders = 3, .n_servers = 3, .n_data = 1};
    random_seed(&site.random, 1);
    platform_open(&site.platform, 1);
    draw_data(&site);
    site.arguments[0].bytes = 100000000;
    for (int i = 0; i < 3; i++) {
        site.servers[i] = (struct one_server){.leader = i, .solves = i > 0, .speed_flops = 1e9};
        snprintf(site.servers[i].name, sizeof site.servers[i].name, "s-%d", i);
    }
    site.servers[0].holds[0] = true;
    site.servers[1].holds[0] = site.servers[2].holds[0] = false;
    site.servers[teller].fetched_from = teller == 0 ? "s-1" : "s-0";
    site.servers[teller].fetched = (struct path){true, 1e-3, bandwidth_bps, 0};
    platform_agent(&site.platform, "ma", "");
    platform_agent(&site.platform, "la-0", "ma");
    platform_agent(&site.platform, "la-1", "ma");
    platform_agent(&site.platform, "la-2", "ma");
    start_servers(&site);
    assert_true(platform_settle(&site.platform, 0, 6, 30000));
    site.request = platform_request("job", WORK_FLOP);
    site.request.arguments = site.arguments;
    site.request.n_arguments = 1;
    site.request.candidates = MOST_SERVERS;
    for (uint64_t i = 1; i < 3; i++) { /* and still when servers have told of their load again */
        struct message reply = {0};
        site.request.session.sequence = i;
        assert_int_equal(platform_submit(&site.platform, "ma", &site.request, &reply, &error), ESP_OK);
        const double took_s = transfer_to(&reply.submit_reply, "s-1"), expected_s = 100e6 / bandwidth_bps;
        assert_true(took_s > expected_s && took_s < expected_s + 0.05);
        assert_float_equal(transfer_to(&reply.submit_reply, "s-2"), 1, 0.01);
        message_clear(&reply);
        platform_run_ms(&site.platform, 10000);
    }
    platform_close(&site.platform);
}

static void what_servers_of_different_parents_have_measured_counts(void **state)
{
    (void)state;
    for (int teller = 0; teller < 2; teller++) {
        check_across(teller, 10e6); /* also where it is less than was assumed */
        check_across(teller, 1e9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_are_those_that_brute_force_finds),
        cmocka_unit_test(only_who_can_solve_it_or_holds_its_data_is_asked),
        cmocka_unit_test(what_servers_of_different_parents_have_measured_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
