/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent's knowledge of nodes, with the catalogues that belong to it. */
#include "tests/unit/unit.h"
#include "core/hierarchy/knowledge.h"
#include "util/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct memory {
    struct manual_clock clock;
    struct catalog_store *catalogs;
    struct knowledge *knowledge;
    struct branch *a, *b;
};

static int setup(void **state)
{
    struct memory *memory = calloc(1, sizeof *memory);
    struct esp_error error;
    manual_clock_init(&memory->clock, NS_PER_S);
    assert_int_equal(catalog_store_create(&memory->catalogs, &error), ESP_OK);
    struct knowledge_options options = {
        .name = "me", .clock = &memory->clock.clock, .catalogs = memory->catalogs, .track = true};
    assert_int_equal(knowledge_create(&options, &memory->knowledge, &error), ESP_OK);
    memory->a = knowledge_branch(memory->knowledge, "a");
    memory->b = knowledge_branch(memory->knowledge, "b");
    *state = memory;
    return 0;
}

static int teardown(void **state)
{
    struct memory *memory = *state;
    knowledge_destroy(memory->knowledge);
    assert_null(catalog_first(memory->catalogs)); /* nobody uses one any more */
    catalog_store_destroy(memory->catalogs);
    free(memory);
    return 0;
}

static double idle[8];

static struct node_record server(const char *name, uint64_t catalog)
{
    return (struct node_record){
        .name = name,
        .parent = "me",
        .address = "somewhere:1",
        .role = ROLE_SERVER,
        .incarnation = 1,
        .catalog = catalog,
        .speed_flops = 1e9,
        .slots = 1,
        .free_in_s = idle,
        .n_free_in = 1,
        .memory_total = 1000,
    };
}

static struct node_record agent(const char *name, const char *parent)
{
    return (struct node_record){
        .name = name, .parent = parent, .address = name, .role = ROLE_LEADER, .incarnation = 1};
}

static enum knowledge_change tell(struct memory *memory, struct branch *branch, struct node_record record)
{
    return knowledge_update(memory->knowledge, branch, &record);
}

static struct variant *learn(struct memory *memory, uint64_t digest, const char *problem, uint64_t signature)
{
    struct catalog_entry entry = {problem, signature};
    struct catalog list = {digest, &entry, 1};
    assert_true(catalog_learn(memory->catalogs, &list));
    return catalog_variant(memory->catalogs, signature);
}

static double wait_of(struct memory *memory, const char *name)
{
    return load_wait_s(&knowledge_find(memory->knowledge, name)->load, memory->clock.time_ns);
}

static bool place(struct memory *memory, const char *name, uint64_t number, double seconds)
{
    struct placement placement = {.master = 9, .number = number, .seconds = seconds, .lease_ms = 5000};
    return knowledge_place(memory->knowledge, knowledge_find(memory->knowledge, name), &placement);
}

static void a_placement_counts_until_a_record_contains_it(void **state)
{
    struct memory *memory = *state;
    tell(memory, memory->a, server("s", 7));
    assert_true(place(memory, "s", 1, 2));
    assert_true(place(memory, "s", 2, 3));
    assert_true(place(memory, "s", 2, 3)); /* the same again */
    assert_float_equal(wait_of(memory, "s"), 5, 1e-9);
    double busy[] = {2.5};
    struct placement_mark mark = {9, 1};
    struct node_record record = server("s", 7);
    record.free_in_s = busy;
    record.marks = &mark;
    record.n_marks = 1;
    tell(memory, memory->a, record);
    assert_float_equal(wait_of(memory, "s"), 5.5, 1e-9);
    assert_int_equal(knowledge_pending(memory->knowledge), 1);
    mark.number = 2;
    tell(memory, memory->a, record);
    assert_float_equal(wait_of(memory, "s"), 2.5, 1e-9);
    assert_true(place(memory, "s", 1, 2)); /* late: it is contained */
    assert_float_equal(wait_of(memory, "s"), 2.5, 1e-9);
    assert_int_equal(knowledge_pending(memory->knowledge), 0);
}

static void a_placement_s_lease_ends(void **state)
{
    struct memory *memory = *state;
    tell(memory, memory->a, server("s", 7));
    place(memory, "s", 1, 20);
    assert_true(knowledge_due(memory->knowledge) == memory->clock.time_ns + 5 * NS_PER_S);
    memory->clock.time_ns += 4 * NS_PER_S;
    knowledge_tick(memory->knowledge);
    assert_float_equal(wait_of(memory, "s"), 16, 1e-9);
    memory->clock.time_ns += 1 * NS_PER_S;
    knowledge_tick(memory->knowledge);
    assert_true(wait_of(memory, "s") == 0);
    assert_true(knowledge_due(memory->knowledge) == CLOCK_NEVER);
}

static void a_restarted_server_has_no_placements(void **state)
{
    struct memory *memory = *state;
    tell(memory, memory->a, server("s", 7));
    place(memory, "s", 1, 20);
    struct node_record record = server("s", 7);
    record.incarnation = 2;
    assert_int_equal(tell(memory, memory->a, record), KNOWLEDGE_BETTER);
    assert_true(wait_of(memory, "s") == 0);
}

static void equal_servers_share_one_catalogue(void **state)
{
    struct memory *memory = *state;
    char name[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "s%d", i);
        tell(memory, i % 2 ? memory->a : memory->b, server(name, 7));
    }
    struct known_catalog *catalog = catalog_find(memory->catalogs, 7);
    assert_int_equal(catalog->users, 1000);
    struct variant *variant = learn(memory, 7, "dgesv", 70);
    assert_int_equal(variant_servers(variant), 1000);
    assert_int_equal(index_count(&catalog->index), 1000);
    assert_true(branch_can_solve(memory->a, variant));
    knowledge_branch_remove(memory->knowledge, memory->a);
    memory->a = NULL;
    assert_int_equal(index_count(&catalog->index), 500);
    knowledge_branch_remove(memory->knowledge, memory->b);
    memory->b = NULL;
    assert_null(catalog_find(memory->catalogs, 7));
    assert_null(catalog_variant(memory->catalogs, 70));
    assert_null(catalog_problem(memory->catalogs, "dgesv"));
}

static void a_draining_server_is_known_but_not_chosen(void **state)
{
    struct memory *memory = *state;
    struct node_record record = server("s", 7);
    tell(memory, memory->a, record);
    struct variant *variant = learn(memory, 7, "dgesv", 70);
    record.draining = true;
    tell(memory, memory->a, record);
    assert_int_equal(variant_servers(variant), 1);
    assert_int_equal(index_count(&variant->catalogs[0]->index), 0);
    assert_false(branch_can_solve(memory->a, variant));
    record.draining = false;
    assert_int_equal(tell(memory, memory->a, record), KNOWLEDGE_BETTER);
    assert_int_equal(index_count(&variant->catalogs[0]->index), 1);
}

static void the_later_word_counts_when_a_node_moves(void **state)
{
    struct memory *memory = *state;
    struct node_record record = server("s", 7);
    record.age_s = 3;
    tell(memory, memory->a, record);
    record.age_s = 5; /* another agent's older memory of it */
    assert_int_equal(tell(memory, memory->b, record), KNOWLEDGE_IGNORED);
    record.age_s = 0;
    tell(memory, memory->b, record);
    assert_ptr_equal(knowledge_find(memory->knowledge, "s")->branch, memory->b);
    assert_int_equal(memory->a->n_nodes, 0);
    assert_false(knowledge_remove(memory->knowledge, memory->a, "s"));
    assert_true(knowledge_remove(memory->knowledge, memory->b, "s"));
}

/* "a" moves below "b", with the agent "c" and its server "s" below it. The report of "b" on them is as old
 * as that of "a", or seems older, because each path has its own delays. */
static void what_is_below_an_agent_moves_with_it(void **state)
{
    struct memory *memory = *state;
    struct node_record a = agent("a", "me"), b = agent("b", "me"), c = agent("c", "a"), s = server("s", 7);
    s.parent = "c";
    tell(memory, memory->a, a);
    tell(memory, memory->b, b);
    tell(memory, memory->a, c);
    tell(memory, memory->a, s);
    memory->clock.time_ns += NS_PER_S;
    knowledge_confirm(memory->knowledge, memory->a, 0.5);
    a.parent = "b";
    c.age_s = s.age_s = 0.6;
    tell(memory, memory->b, a);
    assert_int_not_equal(tell(memory, memory->b, s), KNOWLEDGE_IGNORED); /* in any order */
    assert_int_not_equal(tell(memory, memory->b, c), KNOWLEDGE_IGNORED);
    s.age_s = 0; /* sent before it moved, and late */
    assert_int_equal(tell(memory, memory->a, s), KNOWLEDGE_IGNORED);
    knowledge_branch_remove(memory->knowledge, memory->a);
    memory->a = NULL;
    assert_ptr_equal(knowledge_find(memory->knowledge, "c")->branch, memory->b);
    assert_ptr_equal(knowledge_find(memory->knowledge, "s")->branch, memory->b);
}

/* Clients name servers by their addresses. */
static void a_node_is_found_by_its_address(void **state)
{
    struct memory *memory = *state;
    struct node_record record = server("s", 7), other = server("t", 7);
    other.address = "elsewhere:1";
    tell(memory, memory->a, record);
    tell(memory, memory->a, other);
    const struct knowledge_node *node = knowledge_find_address(memory->knowledge, "somewhere:1");
    assert_ptr_equal(node, knowledge_find(memory->knowledge, "s"));
    assert_null(knowledge_find_address(memory->knowledge, "nowhere:1"));
    record.incarnation = 2;
    record.address = "nowhere:1";
    tell(memory, memory->a, record);
    assert_null(knowledge_find_address(memory->knowledge, "somewhere:1"));
    node = knowledge_find_address(memory->knowledge, "nowhere:1");
    assert_ptr_equal(node, knowledge_find(memory->knowledge, "s"));
    assert_true(knowledge_remove(memory->knowledge, memory->a, "s"));
    assert_null(knowledge_find_address(memory->knowledge, "nowhere:1"));
    assert_non_null(knowledge_find_address(memory->knowledge, "elsewhere:1"));
}

static void its_own_name_from_below_is_ignored(void **state)
{
    struct memory *memory = *state;
    assert_int_equal(tell(memory, memory->a, server("me", 7)), KNOWLEDGE_IGNORED);
    assert_int_equal(tell(memory, memory->a, server("", 7)), KNOWLEDGE_IGNORED);
    assert_int_equal(knowledge_count(memory->knowledge), 0);
}

static void a_complete_report_forgets_what_it_does_not_mention(void **state)
{
    struct memory *memory = *state;
    tell(memory, memory->a, server("s1", 7));
    tell(memory, memory->a, server("s2", 7));
    tell(memory, memory->b, server("s3", 7));
    knowledge_complete_begin(memory->knowledge, memory->a);
    tell(memory, memory->a, server("s2", 7));
    assert_int_equal(knowledge_complete_end(memory->knowledge, memory->a), 1);
    assert_null(knowledge_find(memory->knowledge, "s1"));
    assert_non_null(knowledge_find(memory->knowledge, "s3"));
}

static void knowledge_is_fresh_while_all_who_could_are_confirmed(void **state)
{
    struct memory *memory = *state;
    int64_t second = NS_PER_S;
    tell(memory, memory->a, server("s1", 7));
    struct variant *seven = learn(memory, 7, "dgesv", 70);
    assert_false(knowledge_is_fresh(memory->knowledge, seven, second)); /* never confirmed as a whole */
    knowledge_confirm(memory->knowledge, memory->a, 0.5);
    assert_true(knowledge_is_fresh(memory->knowledge, seven, second));
    assert_false(knowledge_is_fresh(memory->knowledge, seven, 0));
    tell(memory, memory->b, server("s2", 8));
    struct variant *eight = learn(memory, 8, "dgemm", 80);
    assert_true(knowledge_is_fresh(memory->knowledge, seven, second)); /* b cannot solve it anyway */
    assert_false(knowledge_is_fresh(memory->knowledge, eight, second));
    knowledge_confirm(memory->knowledge, memory->b, 0);
    assert_true(knowledge_is_fresh(memory->knowledge, eight, second));
    memory->clock.time_ns += second * 3 / 4;
    assert_false(knowledge_is_fresh(memory->knowledge, seven, second));
    assert_true(knowledge_is_fresh(memory->knowledge, eight, second));
    assert_float_equal(knowledge_oldest_s(memory->knowledge), 1.25, 1e-6);
}

static void reports_tell_changes_once_and_everything_when_complete(void **state)
{
    struct memory *memory = *state;
    struct arena arena = {0};
    struct report report = {0};
    tell(memory, memory->a, server("s1", 7));
    tell(memory, memory->b, server("s2", 7));
    assert_true(knowledge_report(memory->knowledge, false, NULL, 1 << 20, &arena, &report));
    assert_int_equal(report.n_records, 2);
    report = (struct report){0};
    assert_false(knowledge_changed(memory->knowledge));
    assert_true(knowledge_report(memory->knowledge, false, NULL, 1 << 20, &arena, &report));
    assert_int_equal(report.n_records + report.n_removed, 0);
    memory->clock.time_ns += NS_PER_S;
    tell(memory, memory->b, server("s2", 7));
    knowledge_remove(memory->knowledge, memory->a, "s1");
    report = (struct report){0};
    assert_true(knowledge_report(memory->knowledge, false, NULL, 1 << 20, &arena, &report));
    assert_int_equal(report.n_records, 1);
    assert_string_equal(report.records[0].name, "s2");
    assert_int_equal(report.n_removed, 1);
    assert_string_equal(report.removed[0], "s1");
    struct node_record own = {.name = "me", .role = ROLE_LEADER};
    report = (struct report){0};
    assert_true(knowledge_report(memory->knowledge, true, &own, 1 << 20, &arena, &report));
    assert_int_equal(report.n_records, 2);
    assert_string_equal(report.records[0].name, "me");
    /* Little by little: each tells at least one. */
    report = (struct report){0};
    assert_true(knowledge_report(memory->knowledge, true, &own, 1, &arena, &report));
    assert_int_equal(report.n_records, 2);
    assert_false(knowledge_changed(memory->knowledge));
    tell(memory, memory->a, server("s4", 7));
    tell(memory, memory->a, server("s5", 7));
    knowledge_remove(memory->knowledge, memory->b, "s2");
    report = (struct report){0};
    assert_true(knowledge_report(memory->knowledge, false, NULL, 300, &arena, &report));
    assert_int_equal(report.n_removed, 1);
    assert_int_equal(report.n_records, 2);
    assert_false(knowledge_changed(memory->knowledge));
    tell(memory, memory->a, server("s4", 7));
    tell(memory, memory->a, server("s5", 7));
    report = (struct report){0};
    assert_true(knowledge_report(memory->knowledge, false, NULL, 100, &arena, &report));
    assert_int_equal(report.n_records, 1);
    assert_string_equal(report.records[0].name, "s4");
    assert_true(knowledge_changed(memory->knowledge));
    report = (struct report){0};
    assert_true(knowledge_report(memory->knowledge, false, NULL, 100, &arena, &report));
    assert_string_equal(report.records[0].name, "s5");
    assert_false(knowledge_changed(memory->knowledge));
    arena_clear(&arena);
}

static void records_passed_on_age_and_keep_their_load_without_placements(void **state)
{
    struct memory *memory = *state;
    struct arena arena = {0};
    struct node_record record = server("s", 7), out;
    double busy[] = {4, 9};
    uint8_t value[] = {1, 2, 3};
    struct extension extension = {77, value, 3};
    record.free_in_s = busy;
    record.n_free_in = record.slots = 2;
    record.age_s = 0.5;
    record.extensions = (struct extensions){&extension, 1};
    tell(memory, memory->a, record);
    place(memory, "s", 1, 100);
    value[0] = 9; /* the message is gone */
    memory->clock.time_ns += 5 * NS_PER_S;
    assert_true(knowledge_record(memory->knowledge, knowledge_find(memory->knowledge, "s"), &arena, &out));
    assert_float_equal(out.age_s, 5.5, 1e-9);
    assert_int_equal(out.n_free_in, 2);
    assert_true(out.free_in_s[0] == 0);
    assert_float_equal(out.free_in_s[1], 4, 1e-9);
    assert_int_equal(out.extensions.n, 1);
    assert_int_equal(out.extensions.items[0].value[0], 1);
    arena_clear(&arena);
}

static void ways_go_through_the_agents_between(void **state)
{
    struct memory *memory = *state;
    struct node_record record = server("s", 7);
    record.parent = "a";
    record.link = (struct path){true, 0.001, 1e6, 0};
    tell(memory, memory->a, record); /* before its agent's own record */
    assert_false(knowledge_find(memory->knowledge, "s")->access.known);
    struct node_record agent = {.name = "a", .parent = "me", .role = ROLE_LEADER, .address = ""};
    agent.link = (struct path){true, 0.01, 5e5, 0};
    tell(memory, memory->a, agent);
    struct path access = knowledge_find(memory->knowledge, "s")->access;
    assert_true(access.known);
    assert_float_equal(access.latency_s, 0.011, 1e-12);
    assert_float_equal(access.bandwidth_bps, 5e5, 1e-3);
    struct arena arena = {0};
    assert_true(terms_add_real(&record.extensions, EXTENSION_LINK_BACK, 1e4, &arena));
    tell(memory, memory->a, record);
    access = knowledge_find(memory->knowledge, "s")->access;
    assert_true(access.bandwidth_bps == 5e5 && access.back_bps == 1e4);
    arena_clear(&arena);
}

static void a_list_that_grows_and_shrinks_stays_in_order(void **state)
{
    struct memory *memory = *state;
    static const char *const names[] = {"dposv", "dgemm", "zheev", "dgesv", "dgels"};
    const char *found[8];
    bool more;
    for (uint64_t i = 0; i < 5; i++) {
        char name[8];
        snprintf(name, sizeof name, "s%d", (int)i);
        tell(memory, memory->a, server(name, 100 + i));
        learn(memory, 100 + i, names[i], 1000 + i);
    }
    assert_int_equal(catalog_names(memory->catalogs, "", found, 3, &more), 3);
    assert_true(more);
    assert_string_equal(found[0], "dgels");
    assert_string_equal(found[2], "dgesv");
    assert_int_equal(catalog_names(memory->catalogs, "dgesv", found, 3, &more), 2);
    assert_false(more);
    assert_string_equal(found[1], "zheev");
    assert_string_equal(catalog_closest(memory->catalogs, "dgesw"), "dgesv");
    knowledge_remove(memory->knowledge, memory->a, "s3");
    assert_int_equal(catalog_names(memory->catalogs, "", found, 8, &more), 4);
    assert_string_equal(found[2], "dposv");
}

static void odd_catalogues_do_no_harm(void **state)
{
    struct memory *memory = *state;
    tell(memory, memory->a, server("s", 7));
    struct catalog_entry entries[] = {{"f", 70}, {"f", 70}, {"g", 70}, {"f", 71}};
    struct catalog list = {7, entries, 4}, unasked = {8, entries, 4};
    assert_false(catalog_learn(memory->catalogs, &unasked));
    assert_true(catalog_learn(memory->catalogs, &list));
    assert_false(catalog_learn(memory->catalogs, &list));
    assert_null(catalog_problem(memory->catalogs, "g"));
    assert_non_null(catalog_choose(memory->catalogs, "f", 71));
    struct described nonsense = {70, "not a description"}, nobody = {99, ""};
    assert_true(catalog_learn_text(memory->catalogs, &nonsense));
    assert_false(catalog_learn_text(memory->catalogs, &nobody));
    assert_string_equal(catalog_variant(memory->catalogs, 70)->title, "");
}

/* The index and the counts must stay true whatever happens, in whatever order. */
static void random_events_leave_everything_consistent(void **state)
{
    struct memory *memory = *state;
    struct random random;
    random_seed(&random, 12);
    for (int round = 0; round < 20000; round++) {
        char name[8];
        struct branch *branch = random_below(&random, 2) ? memory->a : memory->b;
        snprintf(name, sizeof name, "s%d", (int)random_below(&random, 30));
        memory->clock.time_ns += (int64_t)random_below(&random, 100) * NS_PER_MS;
        double busy[] = {random_real(&random) * 3, random_real(&random) * 5};
        struct node_record record = server(name, 1 + random_below(&random, 3));
        struct placement_mark mark = {9, (uint64_t)round - random_below(&random, 50)};
        record.free_in_s = busy;
        record.n_free_in = record.slots = (uint32_t)random_below(&random, 3);
        record.incarnation = random_below(&random, 20) ? 1 : 2;
        record.draining = random_below(&random, 10) == 0;
        record.marks = &mark;
        record.n_marks = 1;
        switch (random_below(&random, 6)) {
        case 0:
            knowledge_remove(memory->knowledge, branch, name);
            break;
        case 1:
        case 2:
            if (knowledge_find(memory->knowledge, name))
                place(memory, name, (uint64_t)round + 1, random_real(&random));
            break;
        case 3:
            knowledge_tick(memory->knowledge);
            break;
        default:
            tell(memory, branch, record);
        }
        uint32_t servers = 0, counted = 0, indexed = 0;
        size_t pending = 0;
        for (struct knowledge_node *node = knowledge_first(memory->knowledge); node; node = node->hh.next) {
            servers += node->entry.in != NULL;
            for (struct pending *p = node->pending; p; p = p->next)
                pending++;
            if (node->entry.in)
                assert_true(node->entry.self.free_ns == node->load.free_at_ns[0]);
        }
        for (struct branch *b = knowledge_branches(memory->knowledge); b; b = b->next)
            counted += b->n_servers;
        for (struct known_catalog *c = catalog_first(memory->catalogs); c; c = c->hh.next)
            indexed += index_count(&c->index);
        assert_int_equal(servers, counted);
        assert_int_equal(servers, indexed);
        assert_int_equal(servers, knowledge_servers(memory->knowledge));
        assert_int_equal(pending, knowledge_pending(memory->knowledge));
    }
}

/* A model of the problem with digest 5: so many seconds per flop. */
static void tell_models(struct memory *memory, struct node_record record, double s_per_flop)
{
    struct cost_term term = {.coefficient = s_per_flop, .powers = {1}};
    struct cost_piece piece = {.until = HUGE_VAL, .n_terms = 1, .terms = &term};
    struct cost_model model = {.digest = 5, .n_variables = 2, .floor_s_per_flop = s_per_flop, .factor = 1};
    struct cost_set set = {0};
    struct arena arena = {0};
    uint32_t length;
    model.variables[0] = (struct cost_variable){.argument = COST_WORK, .most = 1e12};
    model.variables[1] = (struct cost_variable){.argument = COST_BYTES, .most = 1e12};
    model.time = (struct cost_curve){.n_pieces = 1, .pieces = &piece, .error = 0.01};
    assert_int_equal(cost_set_add(&set, &model, false, NULL), ESP_OK);
    uint8_t *data = cost_encode(&set, &arena, &length);
    struct extension extension = {EXTENSION_COST_MODELS, data, length};
    record.extensions = (struct extensions){&extension, 1};
    tell(memory, memory->a, record);
    cost_set_clear(&set);
    arena_clear(&arena);
}

static double cost_of(struct memory *memory, const char *name)
{
    struct knowledge_node *node = knowledge_find(memory->knowledge, name);
    struct request request = {.digest = 5, .work_flop = 1e9};
    struct request_cost cost;
    const struct computer computer = knowledge_computer(node);
    estimate_cost(&request, &computer, &cost);
    return cost.compute_s - ESTIMATE_CALL_S;
}

static bool tells(struct memory *memory, uint32_t tag, bool complete)
{
    struct arena arena = {0};
    struct report report = {0};
    bool told = false;
    assert_true(knowledge_report(memory->knowledge, complete, NULL, 1000000, &arena, &report));
    for (uint32_t i = 0; i < report.n_records; i++)
        told |= extension_find(&report.records[i].extensions, tag) != NULL;
    arena_clear(&arena);
    return told;
}

static bool tells_models(struct memory *memory, bool complete)
{
    return tells(memory, EXTENSION_COST_MODELS, complete);
}

/* Ranks on that grid, for the problem with digest 5. */
static void tell_ranks(struct memory *memory, struct node_record record, struct process_grid grid)
{
    struct cost_ranks ranks = {.digest = 5, .n = 1, .work_flop = {1e9F}, .seconds = {0.1F}, .grids = {grid}};
    struct cost_set set = {0};
    struct arena arena = {0};
    struct extension extensions[] = {{.tag = EXTENSION_RANK_GRIDS}, {.tag = EXTENSION_COST_MODELS}};
    assert_int_equal(cost_set_ranks(&set, &ranks, 1, NULL), ESP_OK);
    extensions[0].value = cost_grids_encode(&set, &arena, &extensions[0].length);
    extensions[1].value = cost_encode(&set, &arena, &extensions[1].length);
    record.extensions = (struct extensions){extensions, 2};
    tell(memory, memory->a, record);
    cost_set_clear(&set);
    arena_clear(&arena);
}

static struct process_grid grid_of(struct memory *memory, const char *name)
{
    const struct request request = {.digest = 5, .work_flop = 1e9};
    struct request_cost cost;
    const struct computer computer = knowledge_computer(knowledge_find(memory->knowledge, name));
    estimate_cost(&request, &computer, &cost);
    assert_int_equal(cost.by, BY_RANKS);
    return cost.grid;
}

static void grids_of_ranks_are_kept_and_passed_on_with_the_models(void **state)
{
    struct memory *memory = *state;
    struct node_record record = server("s", 1);
    struct arena arena = {0};
    struct report report = {0};
    tell_ranks(memory, record, (struct process_grid){2, 3, 64});
    assert_int_equal(grid_of(memory, "s").cols, 3);
    tell(memory, memory->a, record); /* a record without models says nothing of them */
    assert_int_equal(grid_of(memory, "s").cols, 3);
    tell_ranks(memory, record, (struct process_grid){1, 6, 32}); /* the models are the same */
    assert_int_equal(grid_of(memory, "s").cols, 6);
    assert_true(knowledge_report(memory->knowledge, false, NULL, 1000000, &arena, &report));
    assert_int_equal(report.n_records, 1);
    const struct extension *grids = extension_find(&report.records[0].extensions, EXTENSION_RANK_GRIDS);
    assert_non_null(grids);
    assert_non_null(extension_find(&report.records[0].extensions, EXTENSION_COST_MODELS));
    arena_clear(&arena);
    report = (struct report){0};
    tell(memory, memory->a, record);
    assert_true(knowledge_report(memory->knowledge, false, NULL, 1000000, &arena, &report));
    for (uint32_t i = 0; i < report.n_records; i++)
        assert_null(extension_find(&report.records[i].extensions, EXTENSION_RANK_GRIDS));
    arena_clear(&arena);
    record.incarnation = 2;
    tell_models(memory, record, 3e-9);
    assert_true(fabs(cost_of(memory, "s") - 3) < 1e-9);
}

/* A problem that only ranks compute (digest 5) is not for a server whose ranks are not there; a problem
 * that workers compute as well (digest 6) is. */
static void ranks_that_are_not_there_are_known_until_they_are(void **state)
{
    static const char why[] = "the ranks of this server are not there: no mpirun";
    struct memory *memory = *state;
    struct node_record record = server("s", 1);
    struct cost_ranks ranks[] = {{.digest = 5, .only = true}, {.digest = 6}};
    struct cost_set set = {0};
    struct arena arena = {0};
    struct extension extensions[] = {{.tag = EXTENSION_RANK_GRIDS},
                                     {.tag = EXTENSION_COST_MODELS},
                                     {EXTENSION_RANKS_TROUBLE, (const uint8_t *)why, sizeof why}};
    assert_int_equal(cost_set_ranks(&set, ranks, 2, NULL), ESP_OK);
    extensions[0].value = cost_grids_encode(&set, &arena, &extensions[0].length);
    extensions[1].value = cost_encode(&set, &arena, &extensions[1].length);
    record.extensions = (struct extensions){extensions, 3};
    tell(memory, memory->a, record);
    const struct knowledge_node *node = knowledge_find(memory->knowledge, "s");
    assert_true(knowledge_has_trouble(memory->knowledge));
    assert_true(knowledge_lacks_ranks(node, 5));
    assert_false(knowledge_lacks_ranks(node, 6));
    assert_string_equal(property_next(&node->terms.ranks_trouble, NULL), why);
    record.extensions.n = 2;
    tell(memory, memory->a, record);
    assert_false(knowledge_has_trouble(memory->knowledge));
    assert_false(knowledge_lacks_ranks(knowledge_find(memory->knowledge, "s"), 5));
    record.extensions.n = 3;
    tell(memory, memory->a, record);
    assert_true(knowledge_remove(memory->knowledge, memory->a, "s"));
    assert_false(knowledge_has_trouble(memory->knowledge));
    extensions[2].length = 3; /* a text without its end is none */
    tell(memory, memory->a, record);
    assert_false(knowledge_has_trouble(memory->knowledge));
    cost_set_clear(&set);
    arena_clear(&arena);
}

static void models_are_kept_until_others_come_and_passed_on_once(void **state)
{
    struct memory *memory = *state;
    struct node_record record = server("s", 1);
    tell(memory, memory->a, record);
    assert_true(fabs(cost_of(memory, "s") - 1) < 1e-9);
    tell_models(memory, record, 3e-9);
    assert_true(fabs(cost_of(memory, "s") - 3) < 1e-9);
    assert_true(tells_models(memory, false));
    tell(memory, memory->a, record); /* a record without models says nothing of them */
    assert_true(fabs(cost_of(memory, "s") - 3) < 1e-9);
    assert_false(tells_models(memory, false));
    assert_true(tells_models(memory, true));
    tell_models(memory, record, 0.5e-9);
    assert_true(fabs(cost_of(memory, "s") - 0.5) < 1e-9);
    assert_true(knowledge_find(memory->knowledge, "s")->entry.self.slowness <= 0.5e-9);
    assert_true(tells_models(memory, false));
    struct extension nonsense = {EXTENSION_COST_MODELS, (const uint8_t *)"?", 1};
    record.extensions = (struct extensions){&nonsense, 1};
    tell(memory, memory->a, record);
    assert_true(fabs(cost_of(memory, "s") - 1) < 1e-9);
    record.extensions.n = 0;
    tell_models(memory, record, 3e-9);
    record.incarnation = 2; /* a new start is to tell its own */
    tell(memory, memory->a, record);
    assert_true(fabs(cost_of(memory, "s") - 1) < 1e-9);
}

static void tell_speed(struct memory *memory, struct node_record record, uint64_t digest, double flops)
{
    struct problem_speed item = {digest, flops, 0, 0};
    const struct problem_speeds speeds = {&item, 1};
    struct arena arena = {0};
    struct extensions extensions = {0};
    assert_true(problem_speeds_add(&extensions, &speeds, &arena));
    record.extensions = extensions;
    tell(memory, memory->a, record);
    arena_clear(&arena);
}

/* 5 is the digest of what cost_of() asks for. */
static void speeds_of_problems_are_kept_until_others_come_and_passed_on_once(void **state)
{
    struct memory *memory = *state;
    struct node_record record = server("s", 1);
    tell_speed(memory, record, 4, 1e7);
    assert_true(fabs(cost_of(memory, "s") - 1) < 1e-9); /* by the measured speed */
    assert_true(tells(memory, EXTENSION_PROBLEM_SPEEDS, false));
    tell_speed(memory, record, 5, 0.25e9);
    assert_true(fabs(cost_of(memory, "s") - 4) < 1e-9);
    assert_true(knowledge_find(memory->knowledge, "s")->entry.self.slowness <= 1e-9); /* others are faster */
    assert_true(tells(memory, EXTENSION_PROBLEM_SPEEDS, false));
    tell(memory, memory->a, record); /* a record without speeds says nothing of them */
    assert_true(fabs(cost_of(memory, "s") - 4) < 1e-9);
    assert_false(tells(memory, EXTENSION_PROBLEM_SPEEDS, false));
    assert_true(tells(memory, EXTENSION_PROBLEM_SPEEDS, true));
    tell_speed(memory, record, 5, 4e9);
    assert_true(knowledge_find(memory->knowledge, "s")->entry.self.slowness <= 0.25e-9);
    record.incarnation = 2; /* a new start is to tell its own: until then it is a server like others */
    tell(memory, memory->a, record);
    assert_null(problem_speed_find(&knowledge_find(memory->knowledge, "s")->speeds, 5));
    assert_true(fabs(cost_of(memory, "s") - 0.25) < 1e-9);
}

/* Half as fast, it takes twice as long. Search bounds hold for it too. */
static void a_server_without_calls_is_forecast_by_those_of_others(void **state)
{
    struct memory *memory = *state;
    struct node_record slow = server("slow", 1);
    assert_true(knowledge_least_work(memory->knowledge, 5) == 1);
    tell_speed(memory, server("s", 1), 5, 4e9);
    slow.speed_flops = 0.5e9;
    tell(memory, memory->a, slow);
    assert_true(fabs(cost_of(memory, "slow") - 0.5) < 1e-9);
    assert_true(fabs(knowledge_least_work(memory->knowledge, 5) - 0.25) < 1e-9);
    tell_speed(memory, server("s", 1), 5, 0.25e9);
    assert_true(fabs(cost_of(memory, "slow") - 8) < 1e-9);
    assert_true(knowledge_least_work(memory->knowledge, 5) == 1);
    tell_speed(memory, slow, 5, 1e9);
    assert_true(fabs(cost_of(memory, "slow") - 1) < 1e-9);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_placement_counts_until_a_record_contains_it),
        TEST(a_placement_s_lease_ends),
        TEST(a_restarted_server_has_no_placements),
        TEST(equal_servers_share_one_catalogue),
        TEST(a_draining_server_is_known_but_not_chosen),
        TEST(the_later_word_counts_when_a_node_moves),
        TEST(what_is_below_an_agent_moves_with_it),
        TEST(a_node_is_found_by_its_address),
        TEST(its_own_name_from_below_is_ignored),
        TEST(a_complete_report_forgets_what_it_does_not_mention),
        TEST(knowledge_is_fresh_while_all_who_could_are_confirmed),
        TEST(reports_tell_changes_once_and_everything_when_complete),
        TEST(records_passed_on_age_and_keep_their_load_without_placements),
        TEST(models_are_kept_until_others_come_and_passed_on_once),
        TEST(speeds_of_problems_are_kept_until_others_come_and_passed_on_once),
        TEST(a_server_without_calls_is_forecast_by_those_of_others),
        TEST(grids_of_ranks_are_kept_and_passed_on_with_the_models),
        TEST(ranks_that_are_not_there_are_known_until_they_are),
        TEST(ways_go_through_the_agents_between),
        TEST(a_list_that_grows_and_shrinks_stays_in_order),
        TEST(odd_catalogues_do_no_harm),
        TEST(random_events_leave_everything_consistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
