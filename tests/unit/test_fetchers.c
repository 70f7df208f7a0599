/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers that may fetch the data of a request, as answers list them, and the place of a server that may
 * not. */
#include "tests/unit/unit.h"
#include "core/choice/aggregate.h"
#include "core/choice/fetchers.h"
#include "core/problem/problem.h"

#include <stdio.h>
#include <string.h>

static struct arena arena;

static int clear(void **state)
{
    (void)state;
    arena_clear(&arena);
    return 0;
}

static void nobody_is_set_back_where_nothing_is_known(void **state)
{
    (void)state;
    struct extensions none = {0};
    const char *holder;
    assert_true(fetchers_may(&none, 3, "node7", &holder));
    assert_null(holder);
}

static void who_is_named_may_and_so_may_the_owner(void **state)
{
    (void)state;
    struct extensions told = {0};
    const char *const names[] = {"node7", "node8"};
    const char *holder;
    assert_true(fetchers_tell(&told, 3, "A", "alice", names, 2, &arena));
    assert_true(fetchers_may(&told, 3, "node8", &holder));
    assert_true(fetchers_may(&told, 3, "alice", &holder));
    assert_false(fetchers_may(&told, 3, "node", &holder));
    assert_string_equal(holder, "A");
    assert_true(fetchers_may(&told, 4, "node", &holder)); /* an argument that the answer does not list */
}

static void one_of_several_holders_is_enough(void **state)
{
    (void)state;
    struct extensions below[2] = {{0}}, all = {0};
    const char *const one[] = {"node7"}, *const other[] = {"node8"};
    const char *holder;
    assert_true(fetchers_tell(&below[0], 0, "A", "alice", one, 1, &arena));
    assert_true(fetchers_tell(&below[1], 0, "B", "alice", other, 1, &arena));
    for (int i = 0; i < 2; i++)
        assert_true(fetchers_gather(&all, &below[i], &arena));
    assert_true(fetchers_may(&all, 0, "node7", &holder));
    assert_true(fetchers_may(&all, 0, "node8", &holder));
    assert_false(fetchers_may(&all, 0, "node9", &holder));
    assert_string_equal(holder, "A");
}

static void a_holder_that_names_nobody_lets_nobody_in(void **state)
{
    (void)state;
    struct extensions told = {0};
    const char *const nobody[] = {""};
    const char *holder;
    assert_true(fetchers_tell(&told, 0, "A", "", nobody, 0, &arena));
    assert_false(fetchers_may(&told, 0, "node7", &holder));
    assert_false(fetchers_may(&told, 0, "A", &holder)); /* it is a server's name, and no certificate's */
}

static void what_is_shared_anybody_may_fetch(void **state)
{
    (void)state;
    struct extensions told = {0};
    const char *holder;
    assert_true(fetchers_tell(&told, 0, "A", "alice", NULL, 0, &arena));
    assert_true(fetchers_may(&told, 0, "node7", &holder));
}

static void more_names_than_there_is_room_for_set_nobody_back(void **state)
{
    (void)state;
    struct extensions told = {0};
    const char *const long_name = "a.server.of.a.platform.with.very.many.servers.and.names.as.long.as.this";
    const char *names[200];
    const char *holder;
    for (size_t i = 0; i < 200; i++)
        names[i] = long_name;
    assert_true(fetchers_tell(&told, 0, "A", "alice", names, 200, &arena));
    assert_true(told.items[0].length <= FETCHERS_MOST_BYTES);
    assert_true(fetchers_may(&told, 0, "node7", &holder));
}

static void more_holders_than_there_is_room_for_set_nobody_back(void **state)
{
    (void)state;
    struct extensions all = {0};
    const char *const names[] = {"node8"};
    const char *holder;
    for (uint32_t i = 0; i < 3 * FETCHERS_MOST; i++) {
        struct extensions below = {0};
        assert_true(fetchers_tell(&below, 0, "A", "alice", names, 1, &arena));
        assert_true(fetchers_gather(&all, &below, &arena));
        assert_true(all.n <= FETCHERS_MOST + 1);
        assert_int_equal(fetchers_may(&all, 0, "node7", &holder), i >= FETCHERS_MOST);
    }
}

static void nonsense_sets_nobody_back(void **state)
{
    (void)state;
    const char *holder;
    static const uint8_t no_end[] = {0, 0, 0, 0, 0, 0, 0, 0, 'A'}, short_one[] = {0, 0, 0};
    struct extension items[] = {{EXTENSION_FETCHERS, no_end, sizeof no_end},
                                {EXTENSION_FETCHERS, short_one, sizeof short_one}};
    const struct extensions told = {items, 2};
    assert_true(fetchers_may(&told, 0, "node7", &holder));
}

/* ---- in answers ---- */

/* A server that holds the datum of argument 0 or not, and lets node8 have it. */
static struct response server(const char *name, bool holds)
{
    struct response response = {.name = name};
    const char *const names[] = {"node8"};
    response.servers = arena_alloc(&arena, sizeof *response.servers);
    response.servers[0] = (struct server_estimate){.server = name, .address = "", .compute_s = 1};
    response.n_servers = response.capable = 1;
    response.data = arena_alloc(&arena, sizeof *response.data);
    if (!holds)
        return response;
    response.data[response.n_data++] = (struct data_location){0, name, {.known = true}};
    assert_true(fetchers_tell(&response.extensions, 0, name, "alice", names, 1, &arena));
    return response;
}

static void a_server_that_may_not_fetch_the_data_comes_last(void **state)
{
    (void)state;
    struct argument_attribute argument = {.mode = MODE_IN, .bytes = 8, .holder = "", .datum = "some"};
    const struct request request = {.arguments = &argument, .n_arguments = 1, .server = ""};
    const char *const names[] = {"n7", "n9", "n8"}, *const certificates[] = {"node7", "node9", "node8"};
    struct response answers[3], merged, above;
    struct aggregate_input inputs[3];
    struct shut_out why;
    struct esp_error error;
    for (size_t i = 0; i < 3; i++) {
        answers[i] = server(names[i], i == 0);
        answers[i].servers[0].compute_s = i == 1 ? 0.1 : 1 + (double)i; /* the best one may not */
        inputs[i] =
            (struct aggregate_input){.response = &answers[i],
                                     .link = {.known = true, .latency_s = 0.001, .bandwidth_bps = 1e9},
                                     .certificate = certificates[i]};
    }
    assert_int_equal(aggregate_merge("LA", &request, inputs, 3, NULL, &arena, &merged, &error), ESP_OK);
    const struct aggregate_input below = {.response = &merged, .link = inputs[0].link};
    assert_int_equal(aggregate_merge("MA", &request, &below, 1, NULL, &arena, &above, &error), ESP_OK);
    assert_true(aggregate_may_fetch(&request, &above, &above.servers[0], &why)); /* it has the datum */
    assert_false(aggregate_may_fetch(&request, &above, &above.servers[1], &why));
    assert_string_equal(why.certificate, "node9");
    assert_string_equal(why.holder, "n7");
    assert_int_equal(why.argument, 0);
    assert_true(aggregate_may_fetch(&request, &above, &above.servers[2], &why)); /* it is named */
    aggregate_cut(&request, &above, 2, scheduler_find("mct"), NULL, NULL, NULL);
    assert_int_equal(above.n_servers, 2);
    assert_string_equal(above.servers[0].server, "n7");
    assert_string_equal(above.servers[1].server, "n8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nobody_is_set_back_where_nothing_is_known, clear),
        cmocka_unit_test_teardown(who_is_named_may_and_so_may_the_owner, clear),
        cmocka_unit_test_teardown(one_of_several_holders_is_enough, clear),
        cmocka_unit_test_teardown(a_holder_that_names_nobody_lets_nobody_in, clear),
        cmocka_unit_test_teardown(what_is_shared_anybody_may_fetch, clear),
        cmocka_unit_test_teardown(more_names_than_there_is_room_for_set_nobody_back, clear),
        cmocka_unit_test_teardown(more_holders_than_there_is_room_for_set_nobody_back, clear),
        cmocka_unit_test_teardown(nonsense_sets_nobody_back, clear),
        cmocka_unit_test_teardown(a_server_that_may_not_fetch_the_data_comes_last, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
