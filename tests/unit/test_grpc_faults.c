/* SPDX-License-Identifier: Apache-2.0
 *
 * The client when nodes are gone, refuse, lose replies or forget. */
#include "tests/unit/grpc_fixture.h"

#include "client/session/link.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static const char *last_server(void)
{
    static char name[64];
    struct esp_session_info *info;
    assert_int_equal(esp_last_session_info(&info), ESP_OK);
    strcpy(name, info->server);
    esp_session_info_free(info);
    return name;
}

/* ---- agents ---- */

static void a_master_that_is_gone_is_left_for_the_next(void **state)
{
    (void)state;
    initialize_with_agents();
    set("ma1:1", (struct fake_faults){.dead = true});
    grpc_function_handle_t add = make_handle("add");
    call_add(&add);
    set("ma1:1", (struct fake_faults){0});
    set("ma2:1", (struct fake_faults){.refuse = true});
    call_add(&add);
    set("ma1:1", (struct fake_faults){.dead = true});
    set("ma2:1", (struct fake_faults){.dead = true});
    assert_int_equal(grpc_call(&add, 1.0, 2.0, NULL), GRPC_SERVER_NOT_FOUND);
    assert_told("ma");
}

static void the_redirector_may_go_once_it_was_asked(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t add = make_handle("add");
    set("red:1", (struct fake_faults){.dead = true});
    call_add(&add);
    set("ma1:1", (struct fake_faults){.dead = true});
    call_add(&add);
    set("ma2:1", (struct fake_faults){.dead = true});
    assert_int_equal(grpc_call(&add, 1.0, 2.0, NULL), GRPC_SERVER_NOT_FOUND);
    set("red:1", (struct fake_faults){0});
    set("ma1:1", (struct fake_faults){0});
    call_add(&add);
}

/* Of several redirectors one that answers is enough; which one does is remembered. */
static void the_next_redirector_is_asked(void **state)
{
    (void)state;
    struct esp_node *nodes;
    size_t n;
    assert_int_equal(grpc_initialize(write_config("redirector = \"nobody:1\"\nredirectors = { \"red:1\" }\n"
                                                  "agent_patience = \"150 ms\"\n")),
                     GRPC_NO_ERROR);
    grpc_function_handle_t add = make_handle("add");
    call_add(&add);
    assert_int_equal(fake_counters(fake).locates, 1);
    assert_int_equal(esp_tree(NULL, &nodes, &n), ESP_OK);
    assert_int_equal(n, 7);
    assert_string_equal(nodes[0].address, "nobody:1");
    assert_true(nodes[0].unreachable);
    assert_string_equal(nodes[1].name, "red");
    assert_false(nodes[1].unreachable);
    esp_tree_free(nodes);
    set("red:1", (struct fake_faults){.lost = 100000});
    set("ma1:1", (struct fake_faults){.dead = true});
    set("ma2:1", (struct fake_faults){.dead = true});
    assert_int_equal(grpc_call(&add, 1.0, 2.0, NULL), GRPC_SERVER_NOT_FOUND);
    set("red:1", (struct fake_faults){.dead = true});
    set("ma2:1", (struct fake_faults){0});
    call_add(&add);
}

static void the_nearest_master_is_asked(void **state)
{
    (void)state;
    set("ma1:1", (struct fake_faults){.far_ms = 40});
    initialize();
    grpc_function_handle_t add = make_handle("add");
    call_add(&add);
    assert_string_equal(fake_counters(fake).submitted, "ma2:1");
    set("ma2:1", (struct fake_faults){.dead = true});
    call_add(&add);
    assert_string_equal(fake_counters(fake).submitted, "ma1:1");
}

/* The first call tells it already: the handle was made over it. */
static void a_master_that_is_far_is_told_how_far(void **state)
{
    (void)state;
    set("ma1:1", (struct fake_faults){.distant_ms = 8});
    set("ma2:1", (struct fake_faults){.dead = true});
    initialize();
    grpc_function_handle_t add = make_handle("add");
    call_add(&add);
    assert_true(fake_counters(fake).access_s >= 0.004);
}

static void without_anybody_a_handle_cannot_be_made(void **state)
{
    (void)state;
    grpc_function_handle_t handle;
    set("red:1", (struct fake_faults){.dead = true});
    initialize();
    assert_int_equal(grpc_function_handle_default(&handle, "add"), GRPC_SERVER_NOT_FOUND);
    assert_told("red:1");
}

static void what_is_no_node_is_told_as_that(void **state)
{
    (void)state;
    const struct fake_faults strangers[] = {{.stopped = true}, {.hangs_up = true}};
    for (int i = 0; i < 4; i++) {
        const char *at = i < 2 ? "red:1" : "ma1:1";
        grpc_function_handle_t handle;
        struct esp_node *nodes;
        size_t n;
        set(at, strangers[i % 2]);
        assert_int_equal(
            grpc_initialize(write_config(
                i < 2 ? "redirector = \"red:1\"\nsilence_patience = 0\nagent_patience = \"150 ms\"\n"
                      : "agents = {\"ma1:1\"}\nsilence_patience = 0\nagent_patience = \"150 ms\"\n")),
            GRPC_NO_ERROR);
        assert_int_equal(grpc_function_handle_default(&handle, "add"), GRPC_SERVER_NOT_FOUND);
        assert_told(i < 2 ? "no Espalier daemon answers at red:1" : "no Espalier daemon answers at ma1:1");
        assert_int_equal(esp_tree(NULL, &nodes, &n), ESP_UNREACHABLE);
        assert_told("no Espalier daemon answers at ");
        assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
        set(at, (struct fake_faults){0});
    }
}

static void initialize_patiently(void)
{
    assert_int_equal(grpc_initialize(write_config("redirector = \"red:1\"\nagent_patience = \"10 min\"\n")),
                     GRPC_NO_ERROR);
}

static void a_hierarchy_that_lost_its_servers_is_waited_for(void **state)
{
    (void)state;
    initialize_patiently();
    grpc_function_handle_t add = make_handle("add"), unknown;
    set("ma1:1", (struct fake_faults){.lost = 4});
    call_add(&add);
    assert_int_equal(fake_counters(fake).executions, 1);
    assert_int_equal(grpc_function_handle_default(&unknown, "frobnicate"), GRPC_FUNCTION_NOT_FOUND);
}

static void what_one_master_does_not_know_another_one_does(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t add = make_handle("add");
    set("ma1:1", (struct fake_faults){.lost = 1000000});
    call_add(&add);
    set("ma1:1", (struct fake_faults){0});
    set("ma2:1", (struct fake_faults){.lost = 1000000});
    call_add(&add);
    assert_int_equal(fake_counters(fake).executions, 2);
}

static void what_a_master_out_of_reach_may_know_is_not_unknown(void **state)
{
    (void)state;
    grpc_function_handle_t handle, add;
    initialize_with_agents();
    assert_int_equal(grpc_function_handle_default(&handle, "frobnicate"), GRPC_FUNCTION_NOT_FOUND);
    for (int i = 0; i < 2; i++) {
        set(i ? "ma1:1" : "ma2:1", (struct fake_faults){.dead = true});
        assert_int_equal(grpc_function_handle_default(&handle, "frobnicate"), GRPC_SERVER_NOT_FOUND);
        assert_told(i ? "one that was not reached may know of a server: master agent at ma1:1"
                      : "one that was not reached may know of a server: master agent at ma2:1");
        set(i ? "ma1:1" : "ma2:1", (struct fake_faults){0});
    }
    grpc_finalize();
    initialize();
    set("ma2:1", (struct fake_faults){.missing = true}); /* the redirector knows */
    assert_int_equal(grpc_function_handle_default(&handle, "frobnicate"), GRPC_SERVER_NOT_FOUND);
    assert_told("lost touch with master agent \"ma2\" at ma2:1, which may know of a server");
    set("ma2:1", (struct fake_faults){.missing = true, .solved = "frobnicate"}); /* and what it solved */
    assert_int_equal(grpc_function_handle_default(&handle, "frobnicate"), GRPC_SERVER_NOT_FOUND);
    set("ma2:1", (struct fake_faults){.missing = true, .solved = "something else"});
    assert_int_equal(grpc_function_handle_default(&handle, "frobnicate"), GRPC_FUNCTION_NOT_FOUND);
    grpc_finalize();
    initialize_patiently();
    add = make_handle("add");
    set("ma1:1", (struct fake_faults){.lost = 4});
    call_add(&add); /* what was known before is waited for as ever */
    set("ma2:1", (struct fake_faults){0});
    assert_int_equal(grpc_function_handle_default(&handle, "frobnicate"), GRPC_FUNCTION_NOT_FOUND);
}

/* The master that answers knows nothing until what was below the one that died has come to it. */
static void a_problem_that_a_dead_master_may_know_is_waited_for(void **state)
{
    (void)state;
    grpc_function_handle_t add, typo;
    grpc_initialize(write_config("agents = {\"ma1:1\", \"ma2:1\"}\nagent_patience = \"10 min\"\n"));
    set("ma1:1", (struct fake_faults){.dead = true});
    set("ma2:1", (struct fake_faults){.strange = 5});
    assert_int_equal(grpc_function_handle_default(&add, "add"), GRPC_NO_ERROR);
    call_add(&add);
    grpc_finalize();
    initialize_patiently();
    set("ma1:1", (struct fake_faults){.missing = true, .solved = "add"});
    assert_int_equal(grpc_function_handle_default(&typo, "frobnicate"), GRPC_FUNCTION_NOT_FOUND);
    set("ma2:1", (struct fake_faults){.strange = 5});
    assert_int_equal(grpc_function_handle_default(&add, "add"), GRPC_NO_ERROR);
    call_add(&add);
    set("ma1:1", (struct fake_faults){0}); /* both are there, and sure */
    set("ma2:1", (struct fake_faults){0});
    assert_int_equal(grpc_function_handle_default(&typo, "frobnicate"), GRPC_FUNCTION_NOT_FOUND);
}

/* The servers of the other master are full or too small; those of the dead one may fit. */
static void servers_that_a_dead_master_may_know_are_waited_for(void **state)
{
    (void)state;
    grpc_initialize(write_config("agents = {\"ma1:1\", \"ma2:1\"}\nagent_patience = \"10 min\"\n"));
    grpc_function_handle_t add = make_handle("add");
    set("ma1:1", (struct fake_faults){.dead = true});
    set("ma2:1", (struct fake_faults){.unfit = 5});
    call_add(&add);
    assert_int_equal(fake_counters(fake).executions, 1);
}

static void a_hierarchy_that_does_not_come_back_has_no_server(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t add = make_handle("add");
    set("ma1:1", (struct fake_faults){.lost = 1000000});
    set("ma2:1", (struct fake_faults){.lost = 1000000});
    assert_int_equal(grpc_call(&add, 1.0, 2.0, NULL), GRPC_SERVER_NOT_FOUND);
    assert_told("known before");
}

static void an_empty_redirector_is_waited_for(void **state)
{
    (void)state;
    set("red:1", (struct fake_faults){.lost = 3});
    initialize_patiently();
    grpc_function_handle_t add = make_handle("add");
    call_add(&add);
    grpc_finalize();
    set("red:1", (struct fake_faults){.lost = 1000000});
    initialize();
    assert_int_equal(grpc_function_handle_default(&add, "add"), GRPC_SERVER_NOT_FOUND);
}

static void *revive_agents(void *arg)
{
    (void)arg;
    usleep(100000);
    set("ma1:1", (struct fake_faults){0});
    return NULL;
}

static void a_master_that_is_restarted_is_waited_for(void **state)
{
    (void)state;
    pthread_t thread;
    initialize_patiently();
    grpc_function_handle_t add = make_handle("add");
    set("ma1:1", (struct fake_faults){.dead = true});
    set("ma2:1", (struct fake_faults){.dead = true});
    pthread_create(&thread, NULL, revive_agents, NULL);
    call_add(&add);
    pthread_join(thread, NULL);
}

/* ---- servers that do not take it ---- */

static void the_next_candidate_takes_what_the_first_does_not(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t add = make_handle("add");
    const struct fake_faults kinds[] = {{.dead = true}, {.refuse = true}, {.restarted = true}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        set("s1:1", kinds[i]);
        call_add(&add);
        assert_string_equal(last_server(), "s2");
    }
    set("s2:1", (struct fake_faults){.dead = true});
    call_add(&add);
    assert_string_equal(last_server(), "s3");
}

static void when_all_refuse_the_caller_is_told_why(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t add = make_handle("add");
    for (int i = 0; i < 3; i++)
        set((const char *[]){"s1:1", "s2:1", "s3:1"}[i], (struct fake_faults){.refuse = true});
    assert_int_equal(grpc_call(&add, 1.0, 2.0, NULL), GRPC_RPC_REFUSED);
    assert_told("not here");
    assert_int_equal(fake_counters(fake).executions, 0);
    for (int i = 0; i < 3; i++)
        set((const char *[]){"s1:1", "s2:1", "s3:1"}[i], (struct fake_faults){.dead = true});
    assert_int_equal(grpc_call(&add, 1.0, 2.0, NULL), GRPC_SERVER_NOT_FOUND);
}

static void the_last_cause_is_told_with_the_servers_before(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t add = make_handle("add");
    set("s1:1", (struct fake_faults){.dead = true});
    set("s2:1", (struct fake_faults){.refuse = true});
    set("s3:1", (struct fake_faults){.dies_in_call = true});
    assert_int_not_equal(grpc_call(&add, 1.0, 2.0, NULL), GRPC_NO_ERROR);
    assert_told("server s3");
    assert_told("tried before: s1 (unreachable), s2 (refused)");
    assert_null(strstr(esp_last_error()->text, "all are excluded"));
}

static void a_bound_handle_tries_no_other_server(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t add;
    assert_int_equal(grpc_function_handle_init(&add, "s2", "add"), GRPC_NO_ERROR);
    set("s2:1", (struct fake_faults){.dead = true});
    assert_int_equal(grpc_call(&add, 1.0, 2.0, NULL), GRPC_SERVER_NOT_FOUND);
    assert_told("s2");
    assert_int_equal(fake_counters(fake).executions, 0);
    set("s2:1", (struct fake_faults){.refuse = true});
    assert_int_equal(grpc_call(&add, 1.0, 2.0, NULL), GRPC_RPC_REFUSED);
}

static void *revive(void *unused)
{
    (void)unused;
    usleep(150000);
    set("s2:1", (struct fake_faults){0});
    return NULL;
}

static void a_bound_handle_waits_for_its_server(void **state)
{
    (void)state;
    initialize_patiently();
    grpc_function_handle_t add;
    assert_int_equal(grpc_function_handle_init(&add, "s2", "add"), GRPC_NO_ERROR);
    set("s2:1", (struct fake_faults){.dead = true});
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, revive, NULL), 0);
    call_add(&add);
    pthread_join(thread, NULL);
    assert_int_equal(fake_counters(fake).executions, 1);
}

static void *make_a_handle(void *code)
{
    grpc_function_handle_t handle;
    *(grpc_error_t *)code = grpc_function_handle_default(&handle, "add");
    return NULL;
}

/* Both would last for ten minutes. */
static void closing_the_library_ends_a_wait(void **state)
{
    (void)state;
    grpc_error_t code = GRPC_NO_ERROR;
    pthread_t thread;
    set("red:1", (struct fake_faults){.lost = 1000000});
    initialize_patiently();
    assert_int_equal(pthread_create(&thread, NULL, make_a_handle, &code), 0);
    usleep(100000);
    assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
    pthread_join(thread, NULL);
    assert_int_not_equal(code, GRPC_NO_ERROR);
    set("red:1", (struct fake_faults){0});
    initialize_patiently();
    grpc_function_handle_t add;
    grpc_sessionid_t session;
    assert_int_equal(grpc_function_handle_init(&add, "s2", "add"), GRPC_NO_ERROR);
    set("s2:1", (struct fake_faults){.dead = true});
    double sum;
    assert_int_equal(grpc_call_async(&add, &session, 1.0, 2.0, &sum), GRPC_NO_ERROR);
    usleep(100000);
    assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
    initialize();
}

/* ---- replies that are lost ---- */

static void a_lost_reply_is_asked_for_and_nothing_runs_twice(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t add = make_handle("add"), sleep = make_handle("sleep");
    int waited = 0;
    set("s1:1", (struct fake_faults){.lose_replies = 2});
    call_add(&add);
    assert_string_equal(last_server(), "s1");
    assert_int_equal(fake_counters(fake).executions, 1);
    assert_int_equal(fake_counters(fake).calls, 3);
    set("s1:1", (struct fake_faults){.lose_requests = 2});
    call_add(&add);
    assert_int_equal(fake_counters(fake).executions, 2);
    set("s1:1", (struct fake_faults){.lose_replies = 1});
    assert_int_equal(grpc_call(&sleep, 100, &waited), GRPC_NO_ERROR);
    assert_int_equal(waited, 100);
    assert_int_equal(fake_counters(fake).executions, 3);
}

static void a_server_that_dies_in_a_call_is_replaced_if_that_is_harmless(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t sleep = make_handle("sleep"), once = make_handle("once");
    int waited = 0;
    set("s1:1", (struct fake_faults){.dies_in_call = true});
    assert_int_equal(grpc_call(&sleep, 1, &waited), GRPC_NO_ERROR);
    assert_int_equal(waited, 1);
    assert_string_equal(last_server(), "s2");
    set("s1:1", (struct fake_faults){.dies_in_call = true});
    unsigned before = fake_counters(fake).executions;
    assert_int_equal(grpc_call(&once, 1, &waited), GRPC_COMMUNICATION_FAILED);
    assert_told("idempotent");
    assert_int_equal(fake_counters(fake).executions, before + 1);
}

static void a_worker_that_is_lost_is_as_a_server_that_is(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t sleep = make_handle("sleep"), once = make_handle("once");
    int waited = 0;
    set("s1:1", (struct fake_faults){.lose_workers = 1});
    assert_int_equal(grpc_call(&sleep, 1, &waited), GRPC_NO_ERROR);
    assert_int_equal(waited, 1);
    assert_string_equal(last_server(), "s2");
    set("s1:1", (struct fake_faults){.lose_workers = 1});
    assert_int_equal(grpc_call(&once, 1, &waited), GRPC_COMMUNICATION_FAILED);
    assert_told("its worker was killed");
    assert_told("idempotent");
    assert_int_equal(fake_counters(fake).executions, 3);
}

static void a_call_whose_workers_are_lost_everywhere_ends(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t sleep = make_handle("sleep");
    int waited = 0;
    for (int i = 0; i < 3; i++)
        set((const char *[]){"s1:1", "s2:1", "s3:1"}[i], (struct fake_faults){.lose_workers = 1000});
    assert_int_not_equal(grpc_call(&sleep, 1, &waited), GRPC_NO_ERROR);
    assert_told("its worker was killed");
    assert_true(fake_counters(fake).executions <= 4);
}

static void a_state_of_a_call_that_went_elsewhere_is_given_up(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t open = make_handle("open");
    char *kept = NULL;
    set("s1:1", (struct fake_faults){.lose_replies = 4}); /* executed, but nobody knows */
    assert_int_equal(grpc_call(&open, 1, &kept), GRPC_NO_ERROR);
    assert_string_equal(kept, "state:0123456789abcdef0123456789abcdef@s2");
    assert_int_equal(fake_counters(fake).cancels, 1);
    free(kept);
    assert_int_equal(grpc_call(&open, 1, &kept), GRPC_NO_ERROR);
    assert_int_equal(fake_counters(fake).cancels, 1);
    free(kept);
}

static void initialize_with_patience(void)
{
    assert_int_equal(grpc_initialize(write_config("redirector = \"red:1\"\nanswer_patience = \"200 ms\"\n"
                                                  "agent_patience = \"100 ms\"\nsilence_patience = 0\n")),
                     GRPC_NO_ERROR);
}

/* The server answered a moment ago, and therefore gets no greeting first. */
static void a_stopped_server_is_waited_for_once(void **state)
{
    (void)state;
    initialize_with_patience();
    grpc_function_handle_t sleep = make_handle("sleep"), once = make_handle("once");
    int waited = 0;
    assert_int_equal(grpc_call(&once, 1, &waited), GRPC_NO_ERROR);
    set("s1:1", (struct fake_faults){.stopped = true});
    assert_int_equal(grpc_call(&once, 1, &waited), GRPC_COMMUNICATION_FAILED);
    assert_told("idempotent");
    assert_told("server s1");
    assert_told("said nothing");
    assert_int_equal(fake_counters(fake).unanswered, 1);
    assert_int_equal(grpc_call(&sleep, 1, &waited), GRPC_NO_ERROR); /* which another may have */
    assert_string_equal(last_server(), "s2");
}

static void a_stopped_server_that_is_the_only_one_is_waited_for_once(void **state)
{
    (void)state;
    initialize_with_patience();
    grpc_function_handle_t sleep = make_handle("sleep");
    int waited = 0;
    set("s1:1", (struct fake_faults){.dead = true});
    set("s2:1", (struct fake_faults){.dead = true});
    set("s3:1", (struct fake_faults){.stopped = true});
    assert_int_not_equal(grpc_call(&sleep, 1, &waited), GRPC_NO_ERROR);
    assert_told("server s3");
    assert_told("stopped");
    assert_int_equal(fake_counters(fake).unanswered, 1);
}

static void a_server_that_dies_while_it_computes(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t sleep = make_handle("sleep"), once = make_handle("once");
    grpc_sessionid_t ids[2];
    int waited[2] = {0};
    assert_int_equal(grpc_call_async(&sleep, &ids[0], 200, &waited[0]), GRPC_NO_ERROR);
    assert_int_equal(grpc_call_async(&once, &ids[1], 200, &waited[1]), GRPC_NO_ERROR);
    while (fake_counters(fake).awaits < 1 || fake_counters(fake).executions < 2)
        usleep(1000);
    set("s1:1", (struct fake_faults){.dead = true});
    assert_int_equal(grpc_wait(ids[0]), GRPC_NO_ERROR);
    assert_int_equal(waited[0], 200);
    assert_int_equal(grpc_wait(ids[1]), GRPC_SESSION_FAILED);
    assert_int_equal(grpc_get_error(ids[1]), GRPC_COMMUNICATION_FAILED);
}

/* A session that no other server may have is polled for as long as if the server were silent. */
static void a_refused_connection_is_no_reason_to_wait_long(void **state)
{
    (void)state;
    int64_t refused_ms = 0, silent_ms = 0;
    for (unsigned failures = 1; failures < 4; failures++) {
        refused_ms += link_pause_ms(failures, true);
        silent_ms += link_pause_ms(failures, false);
    }
    assert_true(refused_ms <= 300);
    assert_true(silent_ms >= 1500);
    assert_true(refused_ms + link_pause_ms(4, true) + link_pause_ms(5, true) >= silent_ms);
}

static void what_may_move_does_not_wait_for_what_may_not(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t sleep = make_handle("sleep"), once = make_handle("once");
    grpc_sessionid_t ids[2];
    int waited[2] = {0};
    assert_int_equal(grpc_call_async(&sleep, &ids[0], 60000, &waited[0]), GRPC_NO_ERROR);
    while (fake_counters(fake).executions < 1)
        usleep(1000);
    assert_int_equal(grpc_call_async(&once, &ids[1], 60000, &waited[1]), GRPC_NO_ERROR);
    struct fake_counters now;
    do { /* one poll for both */
        usleep(1000);
        now = fake_counters(fake);
    } while (now.executions < 2 || now.polled < 2 || now.polling > 1);
    set("s1:1", (struct fake_faults){.dead = true});
    while (fake_counters(fake).executions < 3) /* elsewhere */
        usleep(1000);
    assert_int_equal(grpc_wait(ids[1]), GRPC_SESSION_FAILED);
    assert_true(fake_counters(fake).refused >= 5); /* of which the first three were for both */
    assert_int_equal(grpc_cancel(ids[0]), GRPC_NO_ERROR);
}

/* s1 dies as it computes, and comes back if so wanted. */
static void *die(void *comes_back)
{
    while (fake_counters(fake).awaits < 1)
        usleep(1000);
    fake_forget(fake, "s1:1");
    set("s1:1", (struct fake_faults){.dead = true});
    /* A client that hears elsewhere that it is gone may not ask it again by itself. */
    for (int i = 0; comes_back && i < 300 && fake_counters(fake).refused < 1; i++)
        usleep(1000);
    if (comes_back)
        set("s1:1", (struct fake_faults){0});
    return NULL;
}

static grpc_error_t call_bound(const char *problem, bool comes_back)
{
    grpc_function_handle_t handle;
    pthread_t thread;
    int waited = 0;
    assert_int_equal(grpc_function_handle_init(&handle, "s1", (char *)problem), GRPC_NO_ERROR);
    assert_int_equal(pthread_create(&thread, NULL, die, comes_back ? &thread : NULL), 0);
    grpc_error_t code = grpc_call(&handle, 1000, &waited);
    pthread_join(thread, NULL);
    return code;
}

static void a_server_that_was_named_and_comes_back_is_called_again(void **state)
{
    (void)state;
    initialize_patiently();
    assert_int_equal(call_bound("sleep", true), GRPC_NO_ERROR);
    assert_int_equal(fake_counters(fake).executions, 2);
}

static void a_server_that_was_named_and_is_gone_is_told_of(void **state)
{
    (void)state;
    initialize();
    assert_int_equal(call_bound("sleep", false), GRPC_SERVER_NOT_FOUND);
    assert_int_equal(fake_counters(fake).executions, 1);
    assert_told("was lost in the middle of the call");
    assert_told("to repeat it does no harm");
    assert_told("connection refused");
}

static void what_is_not_idempotent_is_not_called_again_on_its_server(void **state)
{
    (void)state;
    initialize_patiently();
    assert_int_equal(call_bound("once", true), GRPC_COMMUNICATION_FAILED);
    assert_told("not declared idempotent");
    assert_int_equal(fake_counters(fake).executions, 1);
}

static void *forget_later(void *arg)
{
    (void)arg;
    while (fake_counters(fake).awaits < 1)
        usleep(1000);
    fake_forget(fake, "s1:1");
    return NULL;
}

static void a_server_that_forgot_is_taken_for_dead(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t sleep = make_handle("sleep");
    pthread_t thread;
    int waited = 0;
    pthread_create(&thread, NULL, forget_later, NULL);
    assert_int_equal(grpc_call(&sleep, 150, &waited), GRPC_NO_ERROR);
    pthread_join(thread, NULL);
    assert_string_equal(last_server(), "s2");
    assert_int_equal(fake_counters(fake).executions, 2);
}

/* ---- deadlines ---- */

static void a_deadline_ends_the_session_and_the_computation(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t sleep = make_handle("sleep");
    grpc_sessionid_t id;
    int waited;
    assert_int_equal(esp_handle_set_deadline(&sleep, 0.15), ESP_OK);
    assert_int_equal(grpc_call(&sleep, 3600000, &waited), GRPC_SESSION_FAILED);
    assert_int_equal(esp_last_error()->status, ESP_TIMEOUT);
    assert_told("deadline");
    assert_int_equal(fake_counters(fake).cancels, 1);
    assert_int_equal(grpc_call_async(&sleep, &id, 3600000, &waited), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait(id), GRPC_SESSION_FAILED);
    assert_int_equal(grpc_get_error(id), GRPC_SESSION_FAILED);
    assert_int_equal(esp_last_error()->status, ESP_TIMEOUT);
    assert_int_equal(esp_handle_set_deadline(&sleep, 0), ESP_OK);
    assert_int_equal(grpc_call(&sleep, 200, &waited), GRPC_NO_ERROR);
    assert_int_equal(esp_handle_set_deadline(&sleep, -1), ESP_INVALID);
}

static void calls_that_wait_long_in_a_queue_go_to_another_server(void **state)
{
    (void)state;
    enum { N = 3 };
    grpc_sessionid_t ids[N];
    int waited[N];
    initialize();
    set("s1:1", (struct fake_faults){.queues = true});
    grpc_function_handle_t sleep = make_handle("sleep");
    for (int i = 0; i < N; i++)
        assert_int_equal(grpc_call_async(&sleep, &ids[i], 1, &waited[i]), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_all(), GRPC_NO_ERROR);
    assert_int_equal(grpc_call(&sleep, 1, waited), GRPC_NO_ERROR);
    assert_string_equal(last_server(), "s2");
    assert_int_equal(fake_counters(fake).executions, N + 1);
    assert_int_equal(fake_counters(fake).cancels, 0);
}

static void a_call_that_has_begun_when_it_is_asked_back_stays(void **state)
{
    (void)state;
    int waited;
    initialize();
    set("s1:1", (struct fake_faults){.queues = true, .begins = true});
    grpc_function_handle_t sleep = make_handle("sleep");
    assert_int_equal(grpc_call(&sleep, 1, &waited), GRPC_NO_ERROR);
    assert_string_equal(last_server(), "s1");
    assert_int_equal(fake_counters(fake).executions, 1);
}

static void a_call_to_a_named_server_waits_in_its_queue(void **state)
{
    (void)state;
    int waited;
    grpc_function_handle_t sleep;
    initialize();
    set("s1:1", (struct fake_faults){.queues = true});
    assert_int_equal(grpc_function_handle_init(&sleep, "s1", "sleep"), GRPC_NO_ERROR);
    assert_int_equal(esp_handle_set_deadline(&sleep, 1.5), ESP_OK);
    assert_int_equal(grpc_call(&sleep, 1, &waited), GRPC_SESSION_FAILED);
    assert_int_equal(esp_last_error()->status, ESP_TIMEOUT);
    assert_int_equal(fake_counters(fake).executions, 0);
}

#define in_library(test) cmocka_unit_test_setup_teardown(test, set_up_fake, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_library(a_master_that_is_gone_is_left_for_the_next),
        in_library(the_redirector_may_go_once_it_was_asked),
        in_library(the_next_redirector_is_asked),
        in_library(the_nearest_master_is_asked),
        in_library(a_master_that_is_far_is_told_how_far),
        in_library(without_anybody_a_handle_cannot_be_made),
        in_library(what_is_no_node_is_told_as_that),
        in_library(a_hierarchy_that_lost_its_servers_is_waited_for),
        in_library(what_one_master_does_not_know_another_one_does),
        in_library(what_a_master_out_of_reach_may_know_is_not_unknown),
        in_library(a_problem_that_a_dead_master_may_know_is_waited_for),
        in_library(servers_that_a_dead_master_may_know_are_waited_for),
        in_library(a_hierarchy_that_does_not_come_back_has_no_server),
        in_library(an_empty_redirector_is_waited_for),
        in_library(a_master_that_is_restarted_is_waited_for),
        in_library(the_next_candidate_takes_what_the_first_does_not),
        in_library(when_all_refuse_the_caller_is_told_why),
        in_library(the_last_cause_is_told_with_the_servers_before),
        in_library(a_bound_handle_tries_no_other_server),
        in_library(a_bound_handle_waits_for_its_server),
        in_library(closing_the_library_ends_a_wait),
        in_library(a_lost_reply_is_asked_for_and_nothing_runs_twice),
        in_library(a_worker_that_is_lost_is_as_a_server_that_is),
        in_library(a_call_whose_workers_are_lost_everywhere_ends),
        in_library(a_state_of_a_call_that_went_elsewhere_is_given_up),
        in_library(a_server_that_dies_in_a_call_is_replaced_if_that_is_harmless),
        in_library(a_stopped_server_is_waited_for_once),
        in_library(a_stopped_server_that_is_the_only_one_is_waited_for_once),
        in_library(a_server_that_dies_while_it_computes),
        in_library(a_refused_connection_is_no_reason_to_wait_long),
        in_library(what_may_move_does_not_wait_for_what_may_not),
        in_library(a_server_that_was_named_and_comes_back_is_called_again),
        in_library(a_server_that_was_named_and_is_gone_is_told_of),
        in_library(what_is_not_idempotent_is_not_called_again_on_its_server),
        in_library(a_server_that_forgot_is_taken_for_dead),
        in_library(a_deadline_ends_the_session_and_the_computation),
        in_library(calls_that_wait_long_in_a_queue_go_to_another_server),
        in_library(a_call_that_has_begun_when_it_is_asked_back_stays),
        in_library(a_call_to_a_named_server_waits_in_its_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
