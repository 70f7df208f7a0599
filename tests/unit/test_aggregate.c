/* SPDX-License-Identifier: Apache-2.0
 *
 * Figure I.6, against brute force: random trees, random holders, and for every server the shortest way of
 * every datum over all of the tree's links.
 */
#include "tests/unit/unit.h"
#include "core/choice/aggregate.h"
#include "core/forecast/told_links.h"
#include "core/problem/problem.h"
#include "util/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_NODES = 40, MOST_DATA = 4 };

struct node {
    int parent;
    bool is_server, is_capable;
    bool holds[MOST_DATA];
    struct path link; /* to the parent */
    char name[16];
};

struct site {
    struct node nodes[MOST_NODES];
    int n;
    struct argument_attribute arguments[MOST_DATA];
    struct request request;
    struct random random;
    struct arena arena;
};

static void draw_site(struct site *site, int replicas)
{
    struct random *random = &site->random;
    site->n = 6 + (int)random_below(random, MOST_NODES - 6);
    for (int i = 0; i < site->n; i++) {
        struct node *node = &site->nodes[i];
        *node = (struct node){
            .parent = i ? (int)random_below(random, (uint64_t)(i < 12 ? i : 12)) : -1,
            .is_server = true,
            .is_capable = random_below(random, 3) > 0,
            .link = {true, 0.001 * (double)(1 + random_below(random, 50)),
                     1e6 * (double)(1 + random_below(random, 100))},
        };
        snprintf(node->name, sizeof node->name, "n%d", i);
        if (i)
            site->nodes[node->parent].is_server = false;
    }
    uint32_t n_data = 1 + (uint32_t)random_below(random, MOST_DATA);
    for (uint32_t d = 0; d < n_data; d++) {
        site->arguments[d] = (struct argument_attribute){
            .index = d + 3, .mode = MODE_IN, .bytes = random_below(random, 100000000), .datum = "some"};
        for (int copies = 0; copies < replicas;) {
            struct node *node = &site->nodes[random_below(random, (uint64_t)site->n)];
            if (node->is_server) {
                node->holds[d] = true;
                copies++;
            }
        }
    }
    site->request = (struct request){.arguments = site->arguments, .n_arguments = n_data, .server = ""};
}

/* The answer of a server, or of an agent by the algorithm under test. */
static struct response *answer(struct site *site, int at)
{
    struct node *node = &site->nodes[at];
    struct response *response = arena_alloc(&site->arena, sizeof *response);
    if (node->is_server) {
        response->name = node->name;
        response->data = arena_alloc(&site->arena, MOST_DATA * sizeof *response->data);
        response->servers = arena_alloc(&site->arena, sizeof *response->servers);
        for (uint32_t d = 0; d < site->request.n_arguments; d++)
            if (node->holds[d])
                response->data[response->n_data++] =
                    (struct data_location){site->arguments[d].index, node->name, {.known = true}};
        if (node->is_capable) {
            response->servers[0] = (struct server_estimate){.server = node->name, .compute_s = 1};
            response->n_servers = response->capable = 1;
        }
        return response;
    }
    struct aggregate_input inputs[MOST_NODES];
    size_t n = 0;
    for (int i = 0; i < site->n; i++)
        if (site->nodes[i].parent == at)
            inputs[n++] = (struct aggregate_input){answer(site, i), site->nodes[i].link, NULL, NULL};
    struct esp_error error;
    assert_int_equal(
        aggregate_merge(node->name, &site->request, inputs, n, NULL, &site->arena, response, &error), ESP_OK);
    return response;
}

/* The way between two nodes of the tree: up to where they meet. */
static struct path way(const struct site *site, int a, int b)
{
    struct path path = {.known = true};
    int depth_a = 0, depth_b = 0;
    for (int i = a; site->nodes[i].parent >= 0; i = site->nodes[i].parent)
        depth_a++;
    for (int i = b; site->nodes[i].parent >= 0; i = site->nodes[i].parent)
        depth_b++;
    while (a != b) {
        int *deeper = depth_a >= depth_b ? &a : &b;
        int *depth = depth_a >= depth_b ? &depth_a : &depth_b;
        path = path_join(path, site->nodes[*deeper].link);
        *deeper = site->nodes[*deeper].parent;
        --*depth;
    }
    return path;
}

static double sum(struct transfer_times times)
{
    return times.in_s + times.out_s;
}

static double both_ways(const struct path *path, const struct request *request)
{
    const struct request_bytes bytes = request_client_bytes(request);
    return sum(request_path_times(&bytes, path, (struct path_opening){0, 0, 0}));
}

/* The call itself comes through the root, however little it carries. */
static double brute_force(const struct site *site, int server)
{
    struct path call = way(site, 0, server);
    double seconds = both_ways(&call, &site->request);
    for (uint32_t d = 0; d < site->request.n_arguments; d++) {
        double best = HUGE_VAL;
        for (int holder = 0; holder < site->n; holder++) {
            if (!site->nodes[holder].is_server || !site->nodes[holder].holds[d])
                continue;
            struct path path = way(site, holder, server);
            best = fmin(best, path_seconds(&path, site->arguments[d].bytes));
        }
        seconds += best;
    }
    return seconds;
}

static void check_site(struct site *site)
{
    struct response *merged = answer(site, 0);
    uint32_t capable = 0;
    for (int i = 0; i < site->n; i++)
        capable += site->nodes[i].is_server && site->nodes[i].is_capable;
    assert_int_equal(merged->n_servers, capable);
    assert_int_equal(merged->capable, capable);
    for (uint32_t i = 0; i < merged->n_servers; i++) {
        int server = atoi(merged->servers[i].server + 1);
        double seconds = sum(aggregate_transfer(&site->request, merged, &merged->servers[i]));
        assert_float_equal(seconds, brute_force(site, server), 1e-9);
    }
    arena_clear(&site->arena);
}

static void one_holder_each_gives_the_shortest_ways(void **state)
{
    (void)state;
    static struct site site;
    random_seed(&site.random, 1);
    for (int round = 0; round < 300; round++) {
        draw_site(&site, 1);
        check_site(&site);
    }
}

static void the_best_replica_counts(void **state)
{
    (void)state;
    static struct site site;
    random_seed(&site.random, 2);
    for (int round = 0; round < 300; round++) {
        draw_site(&site, 2 + round % 3);
        check_site(&site);
    }
}

static void what_the_client_has_comes_through_every_agent(void **state)
{
    (void)state;
    static struct site site;
    random_seed(&site.random, 3);
    for (int round = 0; round < 50; round++) {
        draw_site(&site, 1);
        for (uint32_t d = 0; d < site.request.n_arguments; d++)
            site.arguments[d].datum = site.arguments[d].holder = "";
        struct response *merged = answer(&site, 0);
        for (uint32_t i = 0; i < merged->n_servers; i++) {
            struct path path = way(&site, 0, atoi(merged->servers[i].server + 1));
            double seconds = sum(aggregate_transfer(&site.request, merged, &merged->servers[i]));
            assert_float_equal(seconds, both_ways(&path, &site.request), 1e-9);
        }
        arena_clear(&site.arena);
    }
}

static void bytes_of_the_client_count_both_ways(void **state)
{
    (void)state;
    struct argument_attribute arguments[] = {
        {.mode = MODE_IN, .bytes = 10, .holder = "", .datum = ""},
        {.mode = MODE_INOUT, .bytes = 100, .holder = "", .datum = ""},
        {.mode = MODE_OUT, .bytes = 1000, .holder = "", .datum = ""},
        {.mode = MODE_WORK, .bytes = 10000, .holder = "", .datum = ""},
        {.mode = MODE_IN, .bytes = 100000, .holder = "s", .datum = "d"},
    };
    struct request request = {.arguments = arguments, .n_arguments = 5};
    assert_int_equal(request_client_bytes(&request).in, 110);
    assert_int_equal(request_client_bytes(&request).out, 1100);
    assert_true(request_has_data(&request));
    request.n_arguments = 4;
    assert_false(request_has_data(&request));
}

static void a_link_that_nobody_measured_decides_nothing(void **state)
{
    (void)state;
    struct server_estimate servers[] = {{.server = "a", .compute_s = 2}, {.server = "b", .compute_s = 1}};
    struct response a = {.name = "a", .servers = &servers[0], .n_servers = 1, .capable = 1};
    struct response b = {.name = "b", .servers = &servers[1], .n_servers = 1, .capable = 1};
    struct aggregate_input inputs[] = {{&a, {0}, NULL, NULL}, {&b, {true, 0.1, 1e6, 0}, NULL, NULL}};
    struct request request = {.server = ""};
    struct arena arena = {0};
    struct response merged;
    struct esp_error error;
    assert_int_equal(aggregate_merge("me", &request, inputs, 2, NULL, &arena, &merged, &error), ESP_OK);
    assert_true(sum(aggregate_transfer(&request, &merged, &merged.servers[0])) == 0);
    assert_float_equal(sum(aggregate_transfer(&request, &merged, &merged.servers[1])), 0.2, 1e-12);
    aggregate_cut(&request, &merged, 1, scheduler_find("mct"), NULL, NULL, NULL);
    assert_int_equal(merged.n_servers, 1);
    assert_int_equal(merged.capable, 2);
    assert_string_equal(merged.servers[0].server, "b");
    arena_clear(&arena);
}

static void the_cut_keeps_the_best_in_order(void **state)
{
    (void)state;
    struct server_estimate servers[50];
    char names[50][8];
    struct random random;
    random_seed(&random, 4);
    for (int i = 0; i < 50; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        servers[i] = (struct server_estimate){
            .server = names[i], .compute_s = random_real(&random), .queue_s = random_real(&random)};
    }
    struct response response = {.servers = servers, .n_servers = 50};
    struct request request = {.server = ""};
    struct server_estimate before[50];
    memcpy(before, servers, sizeof before);
    aggregate_cut(&request, &response, 7, scheduler_find("mct"), NULL, NULL, NULL);
    assert_int_equal(response.n_servers, 7);
    double last = servers[6].compute_s + servers[6].queue_s;
    for (int i = 1; i < 7; i++)
        assert_true(servers[i - 1].compute_s + servers[i - 1].queue_s <=
                    servers[i].compute_s + servers[i].queue_s);
    int better = 0;
    for (int i = 0; i < 50; i++)
        better += before[i].compute_s + before[i].queue_s < last;
    assert_int_equal(better, 6);
}

static void a_hostile_answer_does_no_harm(void **state)
{
    (void)state;
    struct path ways[2] = {{true, 1, 1, 0}, {true, 2, 2, 0}};
    struct data_location rows[] = {
        {7, "x", {true, NAN, -1, 0}}, {7, "y", {true, -5, INFINITY, 0}}, {99, "z", {0}}};
    struct server_estimate server = {.server = "s", .transfer = ways, .n_transfer = 2, .compute_s = NAN};
    struct response response = {
        .name = "s", .data = rows, .n_data = 3, .servers = &server, .n_servers = 1, .capable = 4000000000};
    struct aggregate_input inputs[] = {{&response, {true, 0.1, 1e6, 0}, NULL, NULL},
                                       {&response, {0}, NULL, NULL}};
    struct argument_attribute argument = {
        .index = 7, .mode = MODE_IN, .bytes = 5, .datum = "d", .holder = ""};
    struct request request = {.arguments = &argument, .n_arguments = 1, .server = ""};
    struct arena arena = {0};
    struct response merged;
    struct esp_error error;
    assert_int_equal(aggregate_merge("me", &request, inputs, 2, NULL, &arena, &merged, &error), ESP_OK);
    assert_int_equal(merged.n_servers, 2);
    aggregate_cut(&request, &merged, 1, scheduler_find("mct"), NULL, NULL, NULL);
    assert_int_equal(merged.n_servers, 1);
    arena_clear(&arena);
}

/* A datum with one child, a server below another: by way of this agent it takes 20 s, straight 1 s. */
static void data_between_brothers_take_the_measured_link(void **state)
{
    (void)state;
    struct data_location here = {.argument = 0, .holder = "a", .to_me = {.known = true}};
    struct server_estimate server = {.server = "b", .compute_s = 1};
    struct response a = {.name = "a", .data = &here, .n_data = 1};
    struct response b = {.name = "b", .servers = &server, .n_servers = 1, .capable = 1};
    const struct path slow = {true, 0.01, 1e6, 0}, quick = {true, 0.001, 20e6, 0};
    const struct path from_a[] = {{0}, quick}, from_b[] = {quick, {0}};
    struct argument_attribute argument = {
        .index = 0, .mode = MODE_IN, .bytes = 20000000, .datum = "d", .holder = ""};
    struct request request = {.arguments = &argument, .n_arguments = 1, .server = ""};
    struct arena arena = {0};
    struct response merged;
    struct esp_error error;
    struct aggregate_input inputs[] = {{&a, slow, NULL, NULL}, {&b, slow, NULL, NULL}};
    assert_int_equal(aggregate_merge("MA", &request, inputs, 2, NULL, &arena, &merged, &error), ESP_OK);
    assert_true(aggregate_transfer(&request, &merged, &merged.servers[0]).in_s > 20);
    inputs[0].brothers = from_a;
    inputs[1].brothers = from_b;
    assert_int_equal(aggregate_merge("MA", &request, inputs, 2, NULL, &arena, &merged, &error), ESP_OK);
    const double in_s = aggregate_transfer(&request, &merged, &merged.servers[0]).in_s;
    assert_true(in_s > 1 && in_s < 1.1);
    arena_clear(&arena);
}

/* Children with links that are quick down to them and slow up: data from one child on their way to
 * another, and data back to the client, are slow. The agents above see that, too, because the path back is
 * reported beside the path there. */
static void what_goes_up_takes_the_rate_of_the_way_up(void **state)
{
    (void)state;
    struct data_location here = {.argument = 0, .holder = "a", .to_me = {.known = true}};
    struct server_estimate server = {.server = "b", .address = "h:1", .compute_s = 1};
    struct response a = {.name = "a", .data = &here, .n_data = 1};
    struct response b = {.name = "b", .servers = &server, .n_servers = 1, .capable = 1};
    const struct path even = {true, 0.001, 20e6, 0}, slow_up = {true, 0.001, 20e6, 1e6};
    struct argument_attribute arguments[] = {
        {.index = 0, .mode = MODE_IN, .bytes = 20000000, .datum = "d", .holder = ""},
        {.index = 1, .mode = MODE_OUT, .bytes = 20000000, .datum = "", .holder = ""}};
    struct request request = {.arguments = arguments, .n_arguments = 2, .server = ""};
    struct arena arena = {0};
    struct response merged, above;
    struct esp_error error;
    for (int uneven = 0; uneven < 2; uneven++) {
        const struct path link = uneven ? slow_up : even;
        struct aggregate_input inputs[] = {{&a, link, NULL, NULL}, {&b, link, NULL, NULL}};
        assert_int_equal(aggregate_merge("LA", &request, inputs, 2, NULL, &arena, &merged, &error), ESP_OK);
        struct transfer_times times = aggregate_transfer(&request, &merged, &merged.servers[0]);
        const double least = uneven ? 20 : 1;
        assert_true(times.in_s > least && times.in_s < 1.1 * least);
        assert_true(times.out_s > least && times.out_s < 1.1 * least);
        for (uint32_t i = 0; i < merged.servers[0].n_transfer; i++)
            merged.servers[0].transfer[i].back_bps = 0; /* as a message has it */
        struct aggregate_input input = {&merged, even, NULL, NULL};
        assert_int_equal(aggregate_merge("MA", &request, &input, 1, NULL, &arena, &above, &error), ESP_OK);
        times = aggregate_transfer(&request, &above, &above.servers[0]);
        assert_true(times.in_s > least && times.in_s < 1.1 * least);
        assert_true(times.out_s > least && times.out_s < 1.1 * least);
    }
    arena_clear(&arena);
}

/* A client's report on its own link counts, and not the path of the agents; a truncated report gives no
 * wrong path. */
static void a_client_s_own_link_counts(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct server_estimate server = {.server = "b", .address = "h:1", .compute_s = 1};
    struct response b = {.name = "b", .servers = &server, .n_servers = 1, .capable = 1};
    struct argument_attribute argument = {
        .index = 0, .mode = MODE_IN, .bytes = 20000000, .datum = "", .holder = ""};
    struct request request = {.arguments = &argument, .n_arguments = 1, .server = ""};
    const struct told_link links[] = {{"x:9", {true, 0.5, 1e3, 0}, 0, 0, 0, 0},
                                      {"h:1", {true, 0.001, 20e6, 0}, 0, 0, 0, 0}};
    struct aggregate_input input = {&b, {true, 0.01, 1e6, 0}, NULL, NULL};
    struct response merged;
    struct esp_error error;
    struct path path;
    assert_int_equal(aggregate_merge("MA", &request, &input, 1, NULL, &arena, &merged, &error), ESP_OK);
    assert_true(aggregate_transfer(&request, &merged, &merged.servers[0]).in_s > 20);
    assert_true(told_links_add(&request.extensions, EXTENSION_CLIENT_LINKS, links, 2, &arena));
    const double in_s = aggregate_transfer(&request, &merged, &merged.servers[0]).in_s;
    assert_true(in_s > 1 && in_s < 1.1);
    assert_false(told_links_find(&request.extensions, EXTENSION_CLIENT_LINKS, "y:1", &path));
    for (uint32_t n = 0; n < request.extensions.items[0].length; n++) {
        struct extension cut = {EXTENSION_CLIENT_LINKS, request.extensions.items[0].value, n};
        const struct extensions extensions = {&cut, 1};
        assert_false(told_links_find(&extensions, EXTENSION_CLIENT_LINKS, "h:1", &path));
    }
    struct told_link next = {NULL};
    assert_true(told_links_next(&request.extensions, EXTENSION_CLIENT_LINKS, &next));
    assert_string_equal(next.peer, "x:9");
    assert_true(told_links_next(&request.extensions, EXTENSION_CLIENT_LINKS, &next));
    assert_string_equal(next.peer, "h:1");
    assert_float_equal(next.path.bandwidth_bps, 20e6, 1);
    assert_false(told_links_next(&request.extensions, EXTENSION_CLIENT_LINKS, &next));
    const struct told_link nonsense = {"n:1", {true, -1, 1e6, 0}, 0, 0, 0, 0};
    assert_true(told_links_add(&(struct extensions){0}, EXTENSION_CLIENT_LINKS, NULL, 0, &arena));
    request.extensions = (struct extensions){0};
    assert_true(told_links_add(&request.extensions, EXTENSION_CLIENT_LINKS, &nonsense, 1, &arena));
    assert_false(told_links_find(&request.extensions, EXTENSION_CLIENT_LINKS, "n:1", &path));
    arena_clear(&arena);
}

static struct path way_to(const struct request *request, const char *address, struct path agents)
{
    struct path_opening opening;
    return told_way(&request->extensions, address, agents, true, &opening);
}

/* The call that announces them, its answer, and the word to begin. */
static double in_chunks_s(const struct path *path, double bytes)
{
    return 3 * path->latency_s + path_chunks_s(path->latency_s, 1 / path->bandwidth_bps, bytes);
}

/* A link that the client does not know of is the shortest path over measured ones: its way to the agent, and
 * the agents' way on. One that it knows stays what it is. */
static void an_unknown_link_is_the_way_to_the_agent_and_on(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct server_estimate server = {.server = "b", .address = "h:1", .compute_s = 1};
    struct response b = {.name = "b", .servers = &server, .n_servers = 1, .capable = 1};
    struct argument_attribute argument = {
        .index = 0, .mode = MODE_IN, .bytes = 20000000, .datum = "", .holder = ""};
    struct request request = {.arguments = &argument, .n_arguments = 1, .server = ""};
    const struct path access = {true, 0.02, 4e6, 0}, near = {true, 0.02, 0, 0},
                      agents = {true, 0.01, 20e6, 0};
    const struct told_link own = {"h:1", {true, 0.001, 100e6, 0}, 0, 0, 0, 0};
    struct aggregate_input inputs[] = {{&b, agents, NULL, NULL}, {&b, {0}, NULL, NULL}};
    struct response merged;
    struct esp_error error;
    for (int known = 0; known < 2; known++) {
        request.extensions = (struct extensions){0};
        assert_int_equal(aggregate_merge("MA", &request, &inputs[!known], 1, NULL, &arena, &merged, &error),
                         ESP_OK);
        assert_false(told_access(&request.extensions).known);
        assert_true(told_access_add(&request.extensions, &near, &arena)); /* nobody knows its rate */
        const struct path joined = path_join(near, agents);
        assert_float_equal(aggregate_transfer(&request, &merged, &merged.servers[0]).in_s,
                           known ? in_chunks_s(&joined, 20000000) : 0.02 + 0.04 + 0.04, 1e-9);
        request.extensions = (struct extensions){0};
        assert_true(told_access_add(&request.extensions, &access, &arena));
        const double in_s = aggregate_transfer(&request, &merged, &merged.servers[0]).in_s;
        assert_true(in_s > 5 && in_s < 5.8);
        assert_true(told_links_add(&request.extensions, EXTENSION_CLIENT_LINKS, &own, 1, &arena));
        assert_true(aggregate_transfer(&request, &merged, &merged.servers[0]).in_s < 0.3);
    }
    /* Results go back at a rate of their own, where the client knows that. */
    const struct told_link uneven = {"h:1", {true, 0.001, 4e6, 20e6}, 0, 0, 0, 0};
    argument.mode = MODE_INOUT;
    request.extensions = (struct extensions){0};
    assert_true(told_own_add(&request.extensions, &uneven, 1, 0, &arena));
    const struct transfer_times times = aggregate_transfer(&request, &merged, &merged.servers[0]);
    assert_true(times.in_s > 5 && times.in_s < 5.5 && times.out_s > 1 && times.out_s < 1.1);
    /* A client that has only made small calls knows how far the server is: the rest is as it was measured. */
    const struct told_link lengths[] = {{"g:1", {true, 0.001, 1e6, 2e6}, 0, 0, 0, 0},
                                        {"h:1", {true, 0.3, 0, 0}, 0, 0, 0, 0}};
    argument.mode = MODE_IN;
    request.extensions = (struct extensions){0};
    assert_true(told_own_add(&request.extensions, lengths, 2, 0, &arena));
    struct path way = way_to(&request, "h:1", agents);
    assert_true(way.known && way.latency_s == 0.3 && way.bandwidth_bps == agents.bandwidth_bps);
    way = way_to(&request, "h:1", (struct path){0});
    assert_true(way.known && way.latency_s == 0.3 && way.bandwidth_bps == 0);
    way = way_to(&request, "g:1", agents);
    assert_true(way.latency_s == 0.001 && way.bandwidth_bps == 1e6 && way.back_bps == 2e6);
    assert_true(way_to(&request, "i:1", agents).latency_s == agents.latency_s);
    /* One that has made short transfers knows the least that the rate may be. */
    const struct told_link least[] = {{"g:1", {true, 0.3, 0, 0}, 0, 0, 0, 0},
                                      {"h:1", {true, 0.001, 0, 0}, 4e6, 0, 0, 0},
                                      {"i:1", {true, 0, 0, 0}, 90e6, 0, 0, 0},
                                      {"j:1", {true, 0.001, 5e6, 0}, 90e6, 0, 0, 0}};
    request.extensions = (struct extensions){0};
    assert_true(told_own_add(&request.extensions, least, 4, 0, &arena));
    assert_true(way_to(&request, "g:1", agents).bandwidth_bps == agents.bandwidth_bps);
    way = way_to(&request, "h:1", agents);
    assert_true(way.latency_s == 0.001 && way.bandwidth_bps == agents.bandwidth_bps);
    assert_true(way_to(&request, "h:1", (struct path){0}).bandwidth_bps == 4e6);
    way = way_to(&request, "i:1", agents);
    assert_true(way.latency_s == agents.latency_s && way.bandwidth_bps == 90e6);
    assert_true(way_to(&request, "j:1", agents).bandwidth_bps == 5e6);
    const struct path nonsense[] = {{true, -1, 1e6, 0}, {true, 0, -1, 0}, {true, HUGE_VAL, 0, 0}};
    for (size_t i = 0; i < 3; i++) {
        request.extensions = (struct extensions){0};
        assert_true(told_access_add(&request.extensions, &nonsense[i], &arena));
        assert_false(told_access(&request.extensions).known);
    }
    const struct extension cut = {EXTENSION_CLIENT_ACCESS, request.extensions.items[0].value, 15};
    assert_false(told_access(&(struct extensions){(struct extension *)&cut, 1}).known);
    arena_clear(&arena);
}

/* A client has a connection to h, has to greet it, and has none to others; it was told that others could take
 * the call, or not. */
static void a_call_begins_with_connections_and_greetings(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct server_estimate servers[] = {{.server = "g", .address = "g:1"}, {.server = "h", .address = "h:1"}};
    struct response b = {.name = "b", .servers = servers, .n_servers = 2, .capable = 2};
    struct argument_attribute argument = {.mode = MODE_IN, .bytes = 8, .datum = "", .holder = ""};
    struct request request = {.arguments = &argument, .n_arguments = 1, .server = ""};
    const struct path agents = {true, 0.03, 1e8, 0};
    const struct told_link own = {"h:1", {true, 0.03, 1e8, 0}, 0, TOLD_GREETS, 0, 0};
    struct aggregate_input input = {&b, agents, NULL, NULL};
    struct response merged;
    struct esp_error error;
    assert_int_equal(aggregate_merge("MA", &request, &input, 1, NULL, &arena, &merged, &error), ESP_OK);
    const double once_s = aggregate_transfer(&request, &merged, &merged.servers[0]).in_s;
    assert_float_equal(once_s, 0.03, 1e-4);
    assert_true(told_own_add(&request.extensions, &own, 1, 1 | TOLD_GREETS, &arena));
    assert_float_equal(aggregate_transfer(&request, &merged, &merged.servers[0]).in_s, once_s + 4 * 0.03,
                       1e-9);
    assert_float_equal(aggregate_transfer(&request, &merged, &merged.servers[1]).in_s, once_s + 2 * 0.03,
                       1e-9);
    request.server = "g"; /* then nobody else could */
    assert_float_equal(aggregate_transfer(&request, &merged, &merged.servers[0]).in_s, once_s + 2 * 0.03,
                       1e-9);
    assert_float_equal(aggregate_transfer(&request, &merged, &merged.servers[1]).in_s, once_s, 1e-9);
    /* A truncated or absurd report costs no more than connections can. */
    uint8_t absurd[] = {0x7f};
    struct extension nonsense = {EXTENSION_CLIENT_OPENING, absurd, 1};
    request.extensions = (struct extensions){&nonsense, 1};
    assert_true(aggregate_transfer(&request, &merged, &merged.servers[0]).in_s < 1);
    nonsense.length = 0;
    assert_float_equal(aggregate_transfer(&request, &merged, &merged.servers[0]).in_s, once_s, 1e-9);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_begins_with_connections_and_greetings),
        cmocka_unit_test(one_holder_each_gives_the_shortest_ways),
        cmocka_unit_test(the_best_replica_counts),
        cmocka_unit_test(what_the_client_has_comes_through_every_agent),
        cmocka_unit_test(bytes_of_the_client_count_both_ways),
        cmocka_unit_test(a_link_that_nobody_measured_decides_nothing),
        cmocka_unit_test(the_cut_keeps_the_best_in_order),
        cmocka_unit_test(a_hostile_answer_does_no_harm),
        cmocka_unit_test(data_between_brothers_take_the_measured_link),
        cmocka_unit_test(what_goes_up_takes_the_rate_of_the_way_up),
        cmocka_unit_test(a_client_s_own_link_counts),
        cmocka_unit_test(an_unknown_link_is_the_way_to_the_agent_and_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
