/* SPDX-License-Identifier: Apache-2.0
 *
 * Trees that are reshaped while they work: orders find their way down, nodes change their parents without
 * being gone for a moment, and what would cut the tree or close a circle is refused.
 */
#include "tests/inproc/platform.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct platform platform;

static int setup(void **state)
{
    (void)state;
    platform_open(&platform, 11);
    platform.agent_options.heartbeat_ms = 500;
    platform.agent_options.lease_ms = 2000;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    platform_close(&platform);
    return 0;
}

/* Result of an order. */
struct came {
    bool done;
    enum esp_status status;
    uint64_t generation;
    char text[2000];
};

static void on_done(void *arg, enum esp_status status, const struct message *reply)
{
    struct came *came = arg;
    came->done = true;
    came->status = status;
    if (!reply)
        return;
    if (reply->outcome.status != ESP_OK)
        came->status = (enum esp_status)reply->outcome.status;
    came->generation = reply->administer_reply.generation;
    snprintf(came->text, sizeof came->text, "%s",
             came->status == ESP_OK ? reply->administer_reply.text : reply->outcome.text);
}

static void send_order(const char *agent, const char *node, const char *verb, const char *word,
                       uint64_t generation, struct came *came)
{
    struct esp_error error;
    struct message request = {.kind = MESSAGE_ADMINISTER,
                              .administer = {.node = node,
                                             .verb = verb,
                                             .words = &word,
                                             .n_words = word ? 1 : 0,
                                             .generation = generation,
                                             .time_left_ms = 5000}};
    *came = (struct came){0};
    assert_int_equal(inproc_call_async(platform.transport, agent, &request, 6000, on_done, came, &error),
                     ESP_OK);
}

static struct came order(const char *agent, const char *node, const char *verb, const char *word)
{
    struct came came;
    send_order(agent, node, verb, word, 0, &came);
    for (int i = 0; i < 700 && !came.done; i++)
        platform_run_ms(&platform, 10);
    assert_true(came.done);
    return came;
}

/* The node's parent as that agent's tree tells; "" when it is not there. */
static void parent_of(const char *agent, const char *node, char *parent)
{
    struct message tree = {.kind = MESSAGE_TREE, .tree = {.node = node}}, reply = {0};
    struct esp_error error;
    enum esp_status status = transport_call(platform.transport, agent, &tree, 1000, &reply, &error);
    snprintf(parent, PLATFORM_NAME, "%s",
             status == ESP_OK && reply.tree_reply.n_records == 1 ? reply.tree_reply.records[0].parent : "");
    message_clear(&reply);
}

static void assert_parent(const char *node, const char *expected)
{
    char parent[PLATFORM_NAME];
    parent_of("ma", node, parent);
    assert_string_equal(parent, expected);
}

static void a_subtree_moves_below_another_agent(void **state)
{
    (void)state;
    platform_tree(&platform, 2, 3);
    struct came came = order("ma", "la-1", "move", "la-0");
    assert_int_equal(came.status, ESP_OK);
    assert_int_equal(came.generation, 2);
    platform_run_ms(&platform, 2000);
    assert_parent("la-1", "la-0");
    assert_parent("s-1-2", "la-1");
    assert_int_equal(platform_figures(&platform, 0).nodes, 8);
    assert_int_equal(platform_figures(&platform, 0).children, 1);
    assert_int_equal(platform_figures(&platform, 1).nodes, 3 + 1 + 3);
    came = order("ma", "la-1", "move", "ma");
    assert_int_equal(came.status, ESP_OK);
    platform_run_ms(&platform, 2000);
    assert_parent("la-1", "ma");
    assert_int_equal(platform_figures(&platform, 0).nodes, 8);
    assert_int_equal(platform_figures(&platform, 1).nodes, 3);
}

/* A request every 10 ms while the only subtree with servers goes back and forth. */
static void no_request_finds_a_moving_subtree_gone(int64_t freshness_ms)
{
    platform.agent_options.freshness_ms = freshness_ms;
    platform_agent(&platform, "ma", "");
    platform_agent(&platform, "la-a", "ma");
    platform_agent(&platform, "la-b", "ma");
    platform_agent(&platform, "la", "la-a");
    for (int i = 0; i < 4; i++) {
        char name[PLATFORM_NAME];
        snprintf(name, sizeof name, "s-%d", i);
        platform_server(&platform, name, "la");
    }
    assert_true(platform_settle(&platform, 0, 7, 10000));
    const char *targets[] = {"la-b", "ma", "la-a"};
    struct request request = platform_request("job", 1e6);
    for (int i = 0; i < 3; i++) {
        struct came came;
        send_order("ma", "la", "move", targets[i], 0, &came);
        for (int j = 0; j < 300; j++) {
            struct message reply = {0};
            struct esp_error error;
            const int64_t before_ns = inproc_now_ns(platform.transport);
            assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
            assert_true(inproc_now_ns(platform.transport) - before_ns < 500 * NS_PER_MS);
            message_clear(&reply);
            platform_run_ms(&platform, 10);
        }
        assert_true(came.done);
        assert_int_equal(came.status, ESP_OK);
        assert_parent("la", targets[i]);
        assert_int_equal(platform_figures(&platform, 0).nodes, 7);
    }
}

static void requests_from_memory_find_it_all_the_time(void **state)
{
    (void)state;
    no_request_finds_a_moving_subtree_gone(10000);
}

static void requests_that_ask_find_it_all_the_time(void **state)
{
    (void)state;
    no_request_finds_a_moving_subtree_gone(-1);
}

static void what_would_be_a_loop_is_refused(void **state)
{
    (void)state;
    platform_tree(&platform, 2, 1);
    assert_int_equal(order("ma", "la-1", "move", "la-0").status, ESP_OK);
    platform_run_ms(&platform, 2000);
    struct came came = order("ma", "la-0", "move", "la-1");
    assert_int_equal(came.status, ESP_INVALID);
    assert_non_null(strstr(came.text, "\"la-1\" is below \"la-0\""));
    came = order("ma", "la-0", "move", "la-0");
    assert_int_equal(came.status, ESP_INVALID);
    came = order("ma", "la-0", "move", "s-0-0");
    assert_int_equal(came.status, ESP_INVALID);
    assert_non_null(strstr(came.text, "is a server"));
    came = order("ma", "la-0", "move", "ma");
    assert_int_equal(came.status, ESP_INVALID);
    assert_non_null(strstr(came.text, "already"));
    came = order("ma", "ma", "move", "la-0");
    assert_int_equal(came.status, ESP_INVALID);
    assert_int_equal(platform_figures(&platform, 0).nodes, 4);
}

static void who_is_not_there_is_told_with_the_nearest_name(void **state)
{
    (void)state;
    platform_tree(&platform, 2, 1);
    struct came came = order("ma", "la-9", "move", "la-0");
    assert_int_equal(came.status, ESP_NOT_FOUND);
    assert_non_null(strstr(came.text, "did you mean \"la-"));
    came = order("ma", "la-1", "move", "lo-0");
    assert_int_equal(came.status, ESP_NOT_FOUND);
    assert_non_null(strstr(came.text, "did you mean \"la-0\"?"));
}

static void a_move_to_somebody_who_does_not_answer_leaves_all_as_it_was(void **state)
{
    (void)state;
    platform_tree(&platform, 3, 1);
    inproc_partition(platform.transport, "la-0", "la-1", true);
    struct came came = order("ma", "la-1", "move", "la-0");
    assert_int_equal(came.status, ESP_UNREACHABLE);
    assert_non_null(strstr(came.text, "stays where it is"));
    assert_int_equal(came.generation, 1);
    platform_run_ms(&platform, 3000);
    assert_parent("la-1", "ma");
    assert_int_equal(platform_figures(&platform, 0).nodes, 6);
    inproc_partition(platform.transport, "la-0", "la-1", false);
    assert_int_equal(order("ma", "la-1", "move", "la-0").status, ESP_OK);
}

static void of_two_administrators_the_second_is_told(void **state)
{
    (void)state;
    struct came first, second;
    platform_tree(&platform, 3, 1);
    const uint64_t seen = order("ma", "", "look", NULL).generation;
    send_order("ma", "la-1", "move", "la-0", seen, &first);
    send_order("ma", "la-0", "move", "la-1", seen, &second); /* together: a circle */
    for (int i = 0; i < 700 && !(first.done && second.done); i++)
        platform_run_ms(&platform, 10);
    assert_int_equal(first.status, ESP_OK);
    assert_int_equal(second.status, ESP_BUSY);
    send_order("ma", "la-2", "move", "la-0", seen, &second);
    platform_run_ms(&platform, 100);
    assert_true(second.done);
    assert_int_equal(second.status, ESP_STALE);
    assert_non_null(strstr(second.text, "another administrator has changed the tree"));
    assert_int_equal(second.generation, seen + 1);
}

static void whoever_administers_a_subtree_needs_its_root_only(void **state)
{
    (void)state;
    platform_agent(&platform, "ma", "");
    platform_agent(&platform, "la", "ma");
    platform_agent(&platform, "la-a", "la");
    platform_agent(&platform, "la-b", "la");
    platform_agent(&platform, "other", "ma");
    assert_true(platform_settle(&platform, 0, 4, 10000));
    assert_int_equal(order("la", "la-b", "move", "la-a").status, ESP_OK);
    platform_run_ms(&platform, 2000);
    assert_parent("la-b", "la-a");
    assert_int_equal(order("la", "la-b", "move", "other").status, ESP_NOT_FOUND);
    assert_int_equal(order("la", "other", "move", "la").status, ESP_NOT_FOUND);
}

static void a_stop_that_would_cut_the_tree_is_refused(void **state)
{
    (void)state;
    platform_tree(&platform, 1, 3);
    struct came came = order("ma", "la-0", "stop", NULL);
    assert_int_equal(came.status, ESP_REFUSED);
    assert_non_null(strstr(came.text, "3 nodes below \"la-0\" would be cut off"));
    came = order("ma", "ma", "stop", NULL);
    assert_int_equal(came.status, ESP_REFUSED);
}

static void who_does_not_answer_an_order_is_named(void **state)
{
    (void)state;
    platform_tree(&platform, 1, 1); /* simulated servers take no orders */
    struct came came = order("ma", "s-0-0", "drain", NULL);
    assert_int_equal(came.status, ESP_TIMEOUT);
    assert_non_null(strstr(came.text, "\"s-0-0\" did not say in time"));
}

/* 50 servers change their place under 500 calls a second: no call fails, and none takes half a second longer.
 */
static void a_large_subtree_moves_under_calls_and_none_fails(void **state)
{
    (void)state;
    enum { N_SERVERS = 50, N_CALLS = 2000 };
    static struct platform_job jobs[N_CALLS];
    struct came came;
    platform_agent(&platform, "ma", "");
    platform_agent(&platform, "la-0", "ma");
    platform_agent(&platform, "la-1", "ma");
    for (int i = 0; i < N_SERVERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "s-%d", i);
        platform_server(&platform, name, "la-1");
    }
    assert_true(platform_settle(&platform, 0, N_SERVERS + 2, 10000));
    inproc_set_faults(platform.transport, &(struct inproc_faults){.latency_ns = NS_PER_MS});
    for (int i = 0; i < N_CALLS; i++)
        jobs[i] = (struct platform_job){.at_s = i / 500.0, .work_flop = 1e7};
    send_order("ma", "la-1", "move", "la-0", 0, &came);
    const double took_s = platform_workload(&platform, jobs, N_CALLS);
    assert_true(came.done);
    assert_int_equal(came.status, ESP_OK);
    assert_parent("la-1", "la-0");
    assert_true(took_s >= jobs[N_CALLS - 1].at_s); /* none has failed */
    assert_true(took_s < jobs[N_CALLS - 1].at_s + 0.5);
}

static void orders_survive_a_network_that_loses_and_reorders(void **state)
{
    (void)state;
    platform_tree(&platform, 3, 2);
    const struct inproc_faults faults = {
        .latency_ns = 5 * NS_PER_MS, .jitter_ns = 20 * NS_PER_MS, .lose = 0.05, .duplicate = 0.1};
    inproc_set_faults(platform.transport, &faults);
    const char *targets[] = {"la-0", "la-2", "ma"};
    for (int i = 0; i < 30; i++) {
        struct came came = order("ma", "la-1", "move", targets[i % 3]);
        /* The answer may be lost after the node has moved; a repeated order then gives "already". */
        assert_true(came.status == ESP_OK || came.status == ESP_TIMEOUT || came.status == ESP_INVALID ||
                    came.status == ESP_BUSY || came.status == ESP_NOT_FOUND || came.status == ESP_REFUSED);
        platform_run_ms(&platform, 3000);
    }
    const struct inproc_faults none = {0};
    inproc_set_faults(platform.transport, &none);
    platform_run_ms(&platform, 15000);
    assert_int_equal(platform_figures(&platform, 0).nodes, 9);
    assert_int_equal(order("ma", "la-1", "look", NULL).status, ESP_OK);
}

/* Makes the folder, for what la-1 has to remember. */
static void tree_with_folder(char *folder)
{
    assert_non_null(mkdtemp(folder));
    platform_tree(&platform, 2, 1);
    platform.agent_options.state_dir = folder;
    platform.agent_options.file_parent = "ma";
    platform_agent_kill(&platform, 2);
    platform_agent_start(&platform, 2); /* la-1, with a folder now */
    platform_run_ms(&platform, 5000);
}

static void the_new_shape_survives_a_restart(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_administer.XXXXXX", path[64];
    tree_with_folder(folder);
    assert_int_equal(order("ma", "la-1", "move", "la-0").status, ESP_OK);
    struct node_place place;
    struct esp_error error;
    assert_int_equal(place_load(folder, "la-1", &place, &error), ESP_OK);
    assert_string_equal(place.parent, "la-0");
    assert_string_equal(place_home(&place, "la-0"), "la-0");
    assert_string_equal(place_home(&place, "ma"), "");
    place_heed_file(&place, "ma"); /* as it was when it was moved */
    assert_string_equal(place.parent, "la-0");
    place_heed_file(&place, "la-9"); /* the newer word, unless the same one lives there */
    assert_true(place_is_open(&place, "la-9"));
    place_heed_name(&place, "la-9", "ma");
    assert_false(place_is_open(&place, "la-9"));
    assert_string_equal(place.parent, "la-0");
    place_heed_name(&place, "la-9", "la-9");
    assert_null(place.parent);
    place_release(&place);
    assert_int_equal(place_load(folder, "la-2", &place, &error), ESP_CONFIG);
    assert_non_null(strstr(error.text, "the state is of the node \"la-1\""));
    snprintf(path, sizeof path, "%s/place", folder);
    unlink(path);
    rmdir(folder);
}

static void expect_refused(const char *folder, const char *text)
{
    struct node_place place;
    struct esp_error error;
    assert_int_equal(place_load(folder, "la-1", &place, &error), ESP_CONFIG);
    assert_non_null(strstr(error.text, text));
}

static void write_place(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void a_damaged_place_is_refused_with_what_to_do(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_administer.XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/place", folder);
    write_place(path, "");
    expect_refused(folder, "found an empty file; remove the file to start");
    write_place(path, "a\033[2J\377b");
    expect_refused(folder, "found \"a?[2J?b\": the state is of another version; remove the file");
    write_place(path, "espalier place 1\n\007x\n");
    expect_refused(folder, "found \"?x\"");
    expect_refused(path, "state_dir: expected a folder, found a file");
    unlink(path);
    rmdir(folder);
}

/* A folder where the file is to be written stands for a disk that is full. */
static void what_cannot_be_written_counts_and_is_written_later(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_administer.XXXXXX", path[64], full[64], health[400] = "";
    struct node_place place;
    struct esp_error error;
    tree_with_folder(folder);
    snprintf(path, sizeof path, "%s/place", folder);
    snprintf(full, sizeof full, "%s/place.new", folder);
    assert_int_equal(mkdir(full, 0700), 0);
    const char *const verbs[] = {"drain", "move"};
    for (int i = 0; i < 2; i++) {
        struct came came = order("ma", "la-1", verbs[i], i ? "la-0" : NULL);
        assert_int_equal(came.status, ESP_OK);
        assert_non_null(strstr(came.text, "until it is started again"));
        assert_non_null(strstr(came.text, full));
    }
    assert_parent("la-1", "la-0");
    assert_true(agent_health(platform.agents[2].agent, health, sizeof health));
    assert_non_null(strstr(health, full));
    assert_int_equal(place_load(folder, "la-1", &place, &error), ESP_OK);
    assert_false(place.draining);
    place_release(&place);
    rmdir(full);
    platform_run_ms(&platform, 5000);
    assert_int_equal(place_load(folder, "la-1", &place, &error), ESP_OK);
    assert_true(place.draining);
    assert_string_equal(place.parent, "la-0");
    place_release(&place);
    assert_true(agent_health(platform.agents[2].agent, health, sizeof health));
    assert_null(strstr(health, full));
    assert_string_equal(order("ma", "la-1", "undrain", NULL).text, "");
    unlink(path);
    rmdir(folder);
}

/* Starts the node as a daemon does: below the parent that its file names. */
static struct agent *start_kept(const char *folder, const char *name, const char *listen, const char *parent,
                                uint64_t incarnation)
{
    struct agent_options options = platform.agent_options;
    struct node_place place;
    struct agent *agent;
    struct esp_error error;
    const char *parents[2];
    assert_int_equal(place_load(folder, name, &place, &error), ESP_OK);
    place_heed_file(&place, parent);
    options.name = name;
    options.listen = listen;
    options.incarnation = incarnation;
    options.state_dir = folder;
    options.file_parent = parent;
    options.parents = parents;
    options.n_parents = place_parents(&place, parent, parents);
    assert_int_equal(agent_create(&options, platform.transport, &agent, &error), ESP_OK);
    place_release(&place);
    return agent;
}

static struct agent *start_at(const char *name, const char *listen, const char *parent, uint64_t incarnation)
{
    struct agent_options options = platform.agent_options;
    struct agent *agent;
    struct esp_error error;
    options.name = name;
    options.listen = listen;
    options.incarnation = incarnation;
    options.parents = &parent;
    options.n_parents = 1;
    assert_int_equal(agent_create(&options, platform.transport, &agent, &error), ESP_OK);
    return agent;
}

/* A whole platform is started again and its addresses are chosen freely: names decide. */
static void a_move_survives_that_all_addresses_change(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_administer.XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    platform_tree(&platform, 2, 1);
    struct agent *moved = start_kept(folder, "moved", "moved-1", "la-0", 4711);
    platform_run_ms(&platform, 3000);
    assert_parent("moved", "la-0");
    assert_int_equal(order("ma", "moved", "move", "la-1").status, ESP_OK);
    platform_run_ms(&platform, 2000);
    assert_parent("moved", "la-1");
    agent_drop(moved);
    platform_agent_kill(&platform, 1);
    platform_agent_kill(&platform, 2);
    platform_run_ms(&platform, 10000);
    struct agent *la_0 = start_at("la-0", "new-0", "ma", 4712), *la_1 = start_at("la-1", "new-1", "ma", 4713);
    for (uint64_t i = 0; i < 2; i++) { /* and at the start after that */
        moved = start_kept(folder, "moved", "moved-2", "new-0", 4714 + i);
        platform_run_ms(&platform, 15000);
        assert_parent("moved", "la-1");
        agent_drop(moved);
        platform_run_ms(&platform, 10000);
    }
    moved = start_kept(folder, "moved", "moved-3", "ma", 4716); /* another parent is the newer word */
    platform_run_ms(&platform, 15000);
    assert_parent("moved", "ma");
    agent_drop(moved);
    agent_drop(la_0);
    agent_drop(la_1);
    snprintf(path, sizeof path, "%s/place", folder);
    unlink(path);
    rmdir(folder);
}

static void who_found_another_parent_returns_to_the_preferred_one(void **state)
{
    (void)state;
    struct agent_options options;
    struct agent *agent;
    struct esp_error error;
    const char *const parents[] = {"la-0", "la-1"};
    platform_tree(&platform, 2, 1);
    options = platform.agent_options;
    options.name = options.listen = "orphan";
    options.incarnation = 4711;
    options.parents = parents;
    options.n_parents = 2;
    assert_int_equal(agent_create(&options, platform.transport, &agent, &error), ESP_OK);
    platform_run_ms(&platform, 2000);
    assert_parent("orphan", "la-0");
    platform_agent_kill(&platform, 1); /* la-0 */
    platform_run_ms(&platform, 5000);
    assert_parent("orphan", "la-1");
    platform_agent_start(&platform, 1);
    for (int i = 0; i < 1300; i++) { /* it is never gone on its way back */
        char parent[PLATFORM_NAME];
        platform_run_ms(&platform, 10);
        parent_of("ma", "orphan", parent);
        assert_true(*parent);
    }
    assert_parent("orphan", "la-0");
    agent_drop(agent);
}

/* It is known by its name: those above tell where it is now. */
static void who_prefers_a_parent_finds_it_at_another_address(void **state)
{
    (void)state;
    struct agent_options options = platform.agent_options;
    struct agent *orphan, *again;
    struct esp_error error;
    const char *const home[] = {"la-0"}, *const top[] = {"ma"};
    platform_tree(&platform, 2, 1);
    options.name = options.listen = "orphan";
    options.incarnation = 4711;
    options.parents = home;
    options.n_parents = 1;
    assert_int_equal(agent_create(&options, platform.transport, &orphan, &error), ESP_OK);
    platform_run_ms(&platform, 2000);
    assert_parent("orphan", "la-0");
    platform_agent_kill(&platform, 1); /* la-0 */
    platform_run_ms(&platform, 5000);
    assert_parent("orphan", "ma");
    options.name = "la-0";
    options.listen = "another-address";
    options.incarnation = 4712;
    options.parents = top;
    assert_int_equal(agent_create(&options, platform.transport, &again, &error), ESP_OK);
    platform_run_ms(&platform, 30000);
    assert_parent("orphan", "la-0");
    agent_drop(orphan);
    agent_drop(again);
}

static unsigned count_lines(const char *path, const char *what)
{
    char line[1000];
    unsigned n = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        n += strstr(line, what) != NULL;
    if (file)
        fclose(file);
    return n;
}

/* The node looks once a minute, but logs a finding once. */
static void a_preferred_parent_that_stays_away_is_told_once(void **state)
{
    (void)state;
    struct agent_options options;
    struct agent *agent;
    struct esp_error error;
    const char *const parents[] = {"la-0", "la-1"};
    char path[] = "/tmp/test_administer.XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    platform_tree(&platform, 2, 1);
    options = platform.agent_options;
    options.name = options.listen = "orphan";
    options.incarnation = 4711;
    options.parents = parents;
    options.n_parents = 2;
    assert_int_equal(agent_create(&options, platform.transport, &agent, &error), ESP_OK);
    platform_run_ms(&platform, 2000);
    assert_parent("orphan", "la-0");
    platform_agent_kill(&platform, 1); /* la-0 */
    platform_run_ms(&platform, 4000);
    assert_parent("orphan", "la-1");
    const struct log_options log = {.node = "all", .path = path, .level = LOG_NOTICE_LEVEL};
    assert_int_equal(log_open(&log, &error), ESP_OK);
    platform_run_ms(&platform, 300 * 1000);
    log_close();
    assert_true(count_lines(path, "not below \"la-0\"") <= 1);
    assert_parent("orphan", "la-1");
    agent_drop(agent);
    close(fd);
    unlink(path);
}

static void a_session_can_be_followed(void **state)
{
    (void)state;
    platform.agent_options.freshness_ms = -1;
    platform_tree(&platform, 1, 1);
    struct request request = platform_request("job", 1e6);
    struct message reply = {0};
    struct esp_error error;
    char session[SESSION_TEXT];
    request.session = (struct session_id){.client_high = UINT64_C(0xc0ffee1200000000), .sequence = 7};
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    message_clear(&reply);
    platform_run_ms(&platform, 1000);
    session_id_text(&request.session, session);
    struct came came = order("ma", "ma", "trace", session);
    assert_int_equal(came.status, ESP_OK);
    assert_non_null(strstr(came.text, "\tchosen\ts-0-0\n"));
    came = order("ma", "la-0", "trace", session);
    assert_int_equal(came.status, ESP_OK);
    assert_non_null(strstr(came.text, "\tasked\tbelow\n"));
    assert_non_null(strstr(came.text, "\tplaced\ts-0-0\n"));
    came = order("ma", "la-0", "trace", "c0ffee12-8");
    assert_int_equal(came.status, ESP_OK);
    assert_string_equal(came.text, "");
    came = order("ma", "la-0", "trace", "nonsense");
    assert_int_equal(came.status, ESP_SYNTAX);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_subtree_moves_below_another_agent),
        TEST(requests_from_memory_find_it_all_the_time),
        TEST(requests_that_ask_find_it_all_the_time),
        TEST(what_would_be_a_loop_is_refused),
        TEST(who_is_not_there_is_told_with_the_nearest_name),
        TEST(a_move_to_somebody_who_does_not_answer_leaves_all_as_it_was),
        TEST(of_two_administrators_the_second_is_told),
        TEST(whoever_administers_a_subtree_needs_its_root_only),
        TEST(a_stop_that_would_cut_the_tree_is_refused),
        TEST(who_does_not_answer_an_order_is_named),
        TEST(a_large_subtree_moves_under_calls_and_none_fails),
        TEST(orders_survive_a_network_that_loses_and_reorders),
        TEST(the_new_shape_survives_a_restart),
        TEST(a_damaged_place_is_refused_with_what_to_do),
        TEST(what_cannot_be_written_counts_and_is_written_later),
        TEST(a_move_survives_that_all_addresses_change),
        TEST(who_found_another_parent_returns_to_the_preferred_one),
        TEST(who_prefers_a_parent_finds_it_at_another_address),
        TEST(a_preferred_parent_that_stays_away_is_told_once),
        TEST(a_session_can_be_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
