/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flow/program.h"
#include "core/problem/problem.h"
#include "simulate/simulation.h"
#include "tests/unit/unit.h"
#include "util/random.h"
#include "util/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Properties of operations that a text does not declare. */
static const struct problem_set *problems;

static enum esp_status parse(const char *text, struct flow_program **program, struct esp_error *error)
{
    return flow_program_parse(text, strlen(text), "f", flow_problems_of_set(problems), program, error);
}

/* Everything from the text to the plan; NULL with *error filled. */
struct planned_text {
    struct flow_program *program;
    struct flow_plan *plan;
};

static enum esp_status plan_text(const char *text, unsigned n_nodes, struct planned_text *planned,
                                 struct esp_error *error)
{
    *planned = (struct planned_text){0};
    enum esp_status status = parse(text, &planned->program, error);
    if (status != ESP_OK)
        return status;
    struct flow_plan_spec spec = {.n_nodes = n_nodes, .flop_rate = 1, .durations = true};
    return flow_plan_create(planned->program, &spec, &planned->plan, error);
}

static void clear(struct planned_text *planned)
{
    flow_plan_destroy(planned->plan);
    flow_program_destroy(planned->program);
}

static void plan_well(const char *text, unsigned n_nodes, struct planned_text *planned)
{
    struct esp_error error;
    if (plan_text(text, n_nodes, planned, &error) != ESP_OK)
        fail_msg("%s\n%s", error.text, text);
}

static double simulate(struct planned_text *planned, unsigned n_nodes, struct simulation_result *result)
{
    struct star_spec platform = {.n_nodes = n_nodes, .bandwidth_Bps = 1e30};
    struct simulation_spec spec = {.graph = flow_plan_graph(planned->plan),
                                   .entry = flow_plan_entry(planned->plan),
                                   .platform = &platform};
    struct esp_error error;
    if (simulation_run(&spec, result, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return result->seconds;
}

#define HEAD                                                                                                 \
    "flow t\nthreads w[4]\noperation f(a) -> b\n time 1\n bytes b = 8\noperation g(a, b, n = 2) -> c\n "     \
    "time n\n"

static void mistakes_are_told_with_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"", "f:1:1: expected 'flow' and a name, found the end of the file"},
        {"flow\n", "f:1:5: expected the name of the flow, found the end of the line"},
        {"flow each\n",
         "f:1:6: expected the name of the flow, found 'each': this word has a meaning of its own"},
        {"flow t\n", "f:2:1: expected statements, found none"},
        {"flow t\nparam n 3\n", "f:2:9: expected '=', found 3"},
        {"flow t\nparam n = 3\nparam n = 4\n", "f:3:7: 'n' is already the name of a number"},
        {"flow t\nparam n = m\n", "f:2:11: unknown name 'm'"},
        {"flow t\nthreads w[2\n", "f:3:1: expected an operator or ']', found the end of the file: the '[' in "
                                  "line 2, column 10 has not been "
                                  "closed"},
        {"flow t\noperation f(a b)\n", "f:2:15: expected ',' or ')', found 'b'"},
        {"flow t\noperation f(n = 1, a)\n",
         "f:2:20: the input 'a' comes behind an argument, expected inputs first"},
        {"flow t\noperation f(a) -> b\n bytes c = 1\n", "f:3:8: expected the name of an output, found 'c'"},
        {"flow t\noperation f(a) -> b\n time 1\n work 1\n",
         "f:4:2: 'f' has time and work, expected one of them"},
        {HEAD "x = f(y)\n", "f:8:7: 'y' is used before it is defined"},
        {HEAD "x = f(x)\n", "f:8:7: 'x' is used before it is defined"},
        {HEAD "input y bytes 8\nx = h(y)\n", "f:9:5: unknown operation 'h'"},
        {HEAD "input y bytes 8\nx = f(y, y)\n", "f:9:10: 'f' has 1 input, expected no more"},
        {HEAD "input y bytes 8\nx = g(y)\n", "f:9:8: 'g' has 2 inputs, found 1: 'b' is missing"},
        {HEAD "input y bytes 8\nx = g(y, y, m = 3)\n", "f:9:13: 'g' has no argument 'm'"},
        {HEAD "input y bytes 8\nx, z = f(y)\n", "f:9:8: 'f' has 1 output, found 2 names before '='"},
        {HEAD "input y bytes 8\nx = f(y) on v[1]\n", "f:9:13: expected the name of threads, found 'v'"},
        {HEAD "input y bytes 8\nx = f(y) to\n", "f:9:10: expected 'on' or the end of the line, found 'to'"},
        {HEAD "each i in 1 to 3\ninput y bytes 8\n",
         "f:10:1: expected a statement or 'end', found the end of the file"},
        {HEAD "input y bytes 8\nend\n", "f:9:1: expected a statement or the end of the text, found 'end'"},
        {HEAD "each w in 1 to 3\nend\n", "f:8:6: 'w' is already the name of a set of threads"},
        /* of the plan */
        {HEAD "each i in 1 to 3\ninput y[i] bytes 8\nend\n", "f:9:8: expected 'bytes', found '['"},
        {HEAD "each i in 1 to 3\ninput y bytes 8\nend\nx = f(y)\n",
         "f:11:7: y is not defined here: `collect` takes what iterations have defined"},
        {HEAD "input y bytes 8\neach i in 1 to 3\nx[i] = f(y)\nif i > 1\nz = f(x[i - 1])\nend\nend\n",
         "f:12:7: x[1] is defined by another iteration of `each` in line 9: only `for` has an order"},
        {HEAD "input y bytes 8\neach i in 1 to 3\nx[1] = f(y)\nend\n",
         "f:10:1: x[1] is defined by two iterations of `each` in line 9, which may run at the same time"},
        {HEAD "input y bytes 8\neach i in 1 to 3\nx[2*i] = f(y)\nend\nz = f(collect x[2 to 4])\n",
         "f:12:15: x[3] is missing: `collect` expected 3 elements, found 2"},
        {HEAD "input y bytes 8\neach i in 1 to 0\nx = f(y)\nend\nz = f(collect x)\n",
         "f:12:15: `collect` finds no element of x"},
        {HEAD "input y bytes 0 - 8\n", "f:8:1: bytes: expected 0 to 1e18, found 0 - 8 = -8"},
        {HEAD "input y bytes 8\neach i in 1 to 3 window 0\nx = f(y)\nend\n",
         "f:9:1: window: expected 1 to 1000000, found 0 = 0"},
        {HEAD "input y bytes 8\nkill 4 of w\n", "f:9:1: threads: expected 0 to 3, found 4 = 4"},
        {HEAD "input y bytes 8\neach i in 1 to 3\nkill 1 of w\nend\n",
         "f:10:1: threads cannot be changed inside `each`, whose iterations have no order"},
        {"flow t\noperation f(a)\ninput y bytes 8\nf(y)\n",
         "f:4:1: operation 'f' has no duration: expected `time` or `work` behind its declaration in line 2"},
        {"flow t\nthreads w[2] on thread*5\noperation f()\ntime 1\nf() on w[0]\n",
         "f:2:1: the node of a thread: expected 0 to 1, found thread*5 = 5"},
        {HEAD "for i in 1 to 2^39\nend\n", "f:8:1: the flow takes more than 50000000 steps to plan"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct planned_text planned;
        struct esp_error error = {0};
        assert_int_not_equal(plan_text(rows[i].text, 2, &planned, &error), ESP_OK);
        if (strcmp(error.text, rows[i].error) != 0)
            fail_msg("%s\nexpected: %s\nfound:    %s", rows[i].text, rows[i].error, error.text);
        clear(&planned);
    }
}

static void parameters_are_set_by_name(void **state)
{
    (void)state;
    struct flow_program *program;
    struct esp_error error;
    const char *text = "flow t \"A title\"\nparam count = 3\nparam other = 2*count\noperation f()\n time 1\n"
                       "each i in 1 to other\nf()\nend\n";
    assert_int_equal(parse(text, &program, &error), ESP_OK);
    assert_string_equal(flow_program_title(program), "A title");
    assert_int_equal(flow_program_n_parameters(program), 2);
    assert_string_equal(flow_program_parameter(program, 1), "other");
    assert_int_equal(flow_program_set(program, "count=20/4", &error), ESP_OK);
    struct flow_plan *plan;
    struct flow_plan_counts counts;
    assert_int_equal(flow_plan_create(program, &(struct flow_plan_spec){.n_nodes = 1}, &plan, &error),
                     ESP_OK);
    flow_plan_counts(plan, &counts);
    assert_int_equal(counts.tasks, 10);
    flow_plan_destroy(plan);
    assert_int_equal(flow_program_set(program, "cout=2", &error), ESP_INVALID);
    assert_string_equal(error.text, "the flow 't' has no parameter 'cout': did you mean 'count'?");
    assert_int_equal(flow_program_set(program, "count", &error), ESP_INVALID);
    assert_string_equal(error.text, "expected name=value, found 'count'");
    assert_int_equal(flow_program_set(program, "count=1+", &error), ESP_SYNTAX);
    flow_program_destroy(program);
}

static void counts(const char *text, struct flow_plan_counts *result)
{
    struct planned_text planned;
    plan_well(text, 2, &planned);
    flow_plan_counts(planned.plan, result);
    clear(&planned);
}

static void names_follow_the_blocks_they_are_in(void **state)
{
    (void)state;
    struct flow_plan_counts result;
    /* x is one for each i; for reads and replaces it; collect takes the last ones. */
    counts(HEAD "input y bytes 8\neach i in 1 to 5\nx = f(y)\nfor k in 1 to 3\nx = f(x)\nend\nend\nz = "
                "f(collect x)\n",
           &result);
    assert_int_equal(result.tasks, 1 + 5 * 4 + 1);
    assert_int_equal(result.edges, 1 + 5 * 4 + 5);
    assert_float_equal(result.critical_s, 5, 1e-12);
    assert_float_equal(result.seconds, 21, 1e-12);
    /* Arguments have defaults, may depend on loop variables, and bytes on inputs. */
    counts("flow t\noperation g(a, n = 2) -> b\n time n\n bytes b = 2*a\ninput y bytes 8\n"
           "for k in 1 to 3\ny = g(y, n = k)\nend\ny = g(y)\n",
           &result);
    assert_float_equal(result.critical_s, 1 + 2 + 3 + 2, 1e-12);
    assert_int_equal(result.bytes, 8 + 16 + 32 + 64 + 128);
    /* if and let */
    counts(HEAD "input y bytes 8\nlet last = 0\nfor k in 1 to 6\nif k % 2 == 0 and k > last + 1\ny = f(y)\n"
                "let last = k\nelse\ny = g(y, y)\nend\nend\n",
           &result);
    assert_float_equal(result.seconds, 3 * 1 + 3 * 2, 1e-12);
}

static void operations_have_the_kind_that_their_messages_give(void **state)
{
    (void)state;
    struct flow_plan_counts result;
    counts(HEAD
           "input y bytes 8\neach i in 1 to 4\nx = f(y) on w[i]\nend\nz = f(collect x) on w[0]\nresult z\n",
           &result);
    assert_int_equal(result.by_kind[FLOW_SPLIT], 1); /* the input */
    assert_int_equal(result.by_kind[FLOW_LEAF], 5);  /* f four times, the result */
    assert_int_equal(result.by_kind[FLOW_MERGE], 1);
    assert_int_equal(result.by_kind[FLOW_STREAM], 0);
}

static void a_datum_travels_once_to_each_thread_that_reads_it(void **state)
{
    (void)state;
    struct planned_text planned;
    struct simulation_result result;
    plan_well("flow t\nthreads w[2]\noperation f(a)\n time 1\ninput y bytes 1000\n"
              "each i in 1 to 10\nf(y) on w[i]\nend\n",
              2, &planned);
    simulate(&planned, 2, &result);
    /* The client and w[0] are on node 0, w[1] on node 1: one transfer, nine messages that stay. */
    assert_int_equal(result.counts.remote_bytes, 1000);
    assert_int_equal(result.counts.messages, 1 + 1 + 10);
    simulation_clear(&result);
    clear(&planned);
}

static void a_window_bounds_the_iterations_under_way(void **state)
{
    (void)state;
    for (unsigned window = 1; window <= 4; window++) {
        char text[500];
        struct planned_text planned;
        struct simulation_result result;
        snprintf(text, sizeof text,
                 "flow t\nthreads w[12]\noperation f() -> a\n time 1\noperation h(a)\n time 1\n"
                 "each i in 0 to 11 window %u\nx = f() on w[i]\nh(x) on w[i + 1]\nend\n",
                 window);
        plan_well(text, 12, &planned);
        /* Iterations of two seconds, `window` at a time. */
        assert_float_equal(simulate(&planned, 12, &result), 2 * (12 / window), 1e-9);
        simulation_clear(&result);
        clear(&planned);
    }
}

static void threads_are_removed_and_added_while_it_runs(void **state)
{
    (void)state;
    struct planned_text planned;
    struct simulation_result result;
    plan_well(
        "flow t\nthreads w[4]\noperation f(d) -> a\n time 1\noperation s(a) -> b\n time 0\ninput d bytes 8\n"
        "for k in 1 to 3\neach i in 0 to 7\nx = f(d) on w[i]\nend\nd = s(collect x) on w[0]\n"
        "if k == 1\nkill 2 of w\nend\nif k == 2\ntake 3 of w\nend\nend\n",
        8, &planned);
    /* Eight seconds of work on four threads, on two, and on five: 2 + 4 + 2 s. */
    assert_float_equal(simulate(&planned, 8, &result), 8, 1e-9);
    unsigned taken = 0, released = 0;
    for (size_t i = 0; i < result.n_spans; i++) {
        taken += result.spans[i].used;
        released += !result.spans[i].used;
    }
    assert_int_equal(released, 2);
    assert_int_equal(taken, 4 + 3);
    assert_float_equal(result.node_s, 4 * 2 + 2 * 4 + 5 * 2, 1e-9);
    simulation_clear(&result);
    clear(&planned);
}

static void operations_may_be_problems(void **state)
{
    (void)state;
    const char *description = "problem dgesv \"Solve A X = B\"\n in int n, nrhs\n inout double A[n, n]\n"
                              " out int ipiv[n]\n inout double B[n, nrhs]\n require n >= 0, nrhs >= 0\n"
                              " work 2/3*n^3 + 2*n^2*nrhs\n"
                              "problem look \"Look at a text\"\n in string s\n out int n\n";
    struct problem_set *set;
    struct esp_error error;
    if (problem_parse(description, strlen(description), "p", &set, &error) != ESP_OK)
        fail_msg("%s", error.text);
    problems = set;
    struct planned_text planned;
    struct flow_plan_counts result;
    plan_well(
        "flow t\ninput A bytes 8*100^2\ninput b bytes 800\n_, pivots, x = dgesv(A, b, n = 100, nrhs = 1)\n"
        "result x\n",
        1, &planned);
    flow_plan_counts(planned.plan, &result);
    assert_float_equal(result.seconds, 2.0 / 3 * 1e6 + 2e4, 1e-6 * result.seconds);
    assert_int_equal(result.bytes, 2 * (80000 + 800) + 400);
    assert_int_equal(result.most_memory_bytes, 80000 + 400 + 800 + 4 + 4);
    clear(&planned);
    static const struct {
        const char *text, *error;
    } mistakes[] = {
        {"_, p, x = dgesv(A, b, n = 10, nrhs = 1)",
         "f:4:17: the input 'A' of 'dgesv' has 800 bytes, found 80000"},
        {"x = dgesv(A, b, n = 100, nrhs = 1)", "f:4:5: 'dgesv' has 3 outputs, found 1 name before '='"},
        {"_, p, x = dgesv(A, b, m = 100)", "f:4:23: 'dgesv' has no argument 'm'"},
        {"n = look()", "f:4:5: the problem 'look' cannot be an operation: its argument 's' is a string"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        char text[300];
        snprintf(text, sizeof text, "flow t\ninput A bytes 8*100^2\ninput b bytes 800\n%s\n",
                 mistakes[i].text);
        assert_int_not_equal(plan_text(text, 1, &planned, &error), ESP_OK);
        assert_string_equal(error.text, mistakes[i].error);
        clear(&planned);
    }
    assert_int_not_equal(plan_text("flow t\ninput A bytes 8\ninput b bytes 8\n_, p, x = dgesv(A, b, n = 1)\n",
                                   1, &planned, &error),
                         ESP_OK);
    assert_non_null(strstr(error.text, "nrhs"));
    clear(&planned);
    problems = NULL;
    problem_set_destroy(set);
}

/* The text of an example that is installed. */
static void read_example(const char *name, char *text, size_t size)
{
    char path[1000];
    const char *source = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/examples/flow/%s", source ? source : ".", name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s is not there", path);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

static void the_examples_run(void **state)
{
    (void)state;
    static const unsigned sizes[] = {81, 108, 162, 216, 324};
    char text[10000], setting[20];
    read_example("lu.flow", text, sizeof text);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct planned_text planned = {0};
        struct esp_error error;
        struct flow_plan_counts result;
        struct flow_plan_spec spec = {.n_nodes = 8, .flop_rate = 60e6, .durations = true};
        snprintf(setting, sizeof setting, "r=%u", sizes[i]);
        assert_int_equal(parse(text, &planned.program, &error), ESP_OK);
        assert_int_equal(flow_program_set(planned.program, setting, &error), ESP_OK);
        assert_int_equal(flow_plan_create(planned.program, &spec, &planned.plan, &error), ESP_OK);
        flow_plan_counts(planned.plan, &result);
        uint64_t k = 2592 / sizes[i], s1 = k * (k - 1) / 2, s2 = k * (k - 1) * (2 * k - 1) / 6;
        assert_int_equal(result.tasks, k * k + k + 2 * s2 + 2 * s1);
        clear(&planned);
    }
    struct planned_text planned;
    struct simulation_result result;
    read_example("solve.flow", text, sizeof text);
    plan_well(text, 4, &planned);
    simulate(&planned, 4, &result);
    assert_int_equal(result.counts.instances, 1 + 1 + 1 + 3 * 100 + 2);
    simulation_clear(&result);
    clear(&planned);
}

/* ---- random flows ---- */

struct writing {
    struct text text;
    struct random random;
    unsigned n_names, depth;
    uint64_t tasks, times, blocks;
};

static void write_block(struct writing *writing, unsigned n, uint64_t repeated)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned kind = (unsigned)random_below(&writing->random, writing->depth < 3 ? 6 : 4);
        unsigned a = (unsigned)random_below(&writing->random, writing->n_names);
        unsigned b = (unsigned)random_below(&writing->random, writing->n_names);
        if (kind < 4) {
            unsigned seconds = (unsigned)random_below(&writing->random, 4);
            text_printf(&writing->text, "v%u = g(v%u, v%u, n = %u)", writing->n_names, a, b, seconds);
            if (kind > 0)
                text_printf(&writing->text, " on w[%u]", (unsigned)random_below(&writing->random, 9));
            text_put(&writing->text, "\n");
            writing->n_names++;
            writing->tasks += repeated;
            writing->times += repeated * seconds;
            continue;
        }
        unsigned rounds = (unsigned)random_below(&writing->random, 4);
        bool each = kind == 4;
        text_printf(&writing->text, "%s i%u in 1 to %u%s\n", each ? "each" : "for",
                    (unsigned)writing->blocks++, rounds,
                    each && random_below(&writing->random, 2) ? " window 2" : "");
        writing->depth++;
        write_block(writing, 1 + (unsigned)random_below(&writing->random, 4), repeated * rounds);
        writing->depth--;
        text_put(&writing->text, "end\n");
    }
}

static void random_flows_keep_what_any_schedule_keeps(void **state)
{
    (void)state;
    static char source[200000];
    unsigned planned_well = 0;
    for (uint64_t seed = 0; seed < TRIALS(400); seed++) {
        struct writing writing = {.n_names = 1};
        random_seed(&writing.random, seed);
        text_open(&writing.text, source, sizeof source);
        text_put(&writing.text, "flow t\nthreads w[3]\noperation g(a, b, n = 0) -> c\n time n\n bytes c = 8\n"
                                "input v0 bytes 8\n");
        write_block(&writing, 1 + (unsigned)random_below(&writing.random, 8), 1);
        struct planned_text planned;
        struct esp_error error;
        unsigned n_nodes = 1 + (unsigned)(seed % 4);
        if (plan_text(source, n_nodes, &planned, &error) != ESP_OK) {
            clear(&planned);
            /* Reading what an iteration or an empty loop would have defined is an error, and nothing else is.
             */
            assert_non_null(strstr(error.text, " is not defined here"));
            continue;
        }
        struct flow_plan_counts result;
        planned_well++;
        flow_plan_counts(planned.plan, &result);
        assert_int_equal(result.tasks, 1 + writing.tasks);
        assert_float_equal(result.seconds, (double)writing.times, 1e-9);
        struct simulation_result simulated;
        double seconds = simulate(&planned, n_nodes, &simulated);
        assert_int_equal(simulated.counts.messages, 1 + result.edges);
        assert_int_equal(simulated.counts.instances, 1 + result.tasks);
        assert_true(seconds >= result.critical_s - 1e-9);
        assert_true(seconds >= result.seconds / n_nodes - 1e-9);
        if (n_nodes == 1) /* the one processor is never idle while something is left */
            assert_float_equal(seconds, result.seconds, 1e-9 * (1 + seconds));
        simulation_clear(&simulated);
        clear(&planned);
    }
    assert_true(planned_well > TRIALS(400) / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_told_with_line_and_column),
        cmocka_unit_test(parameters_are_set_by_name),
        cmocka_unit_test(names_follow_the_blocks_they_are_in),
        cmocka_unit_test(operations_have_the_kind_that_their_messages_give),
        cmocka_unit_test(a_datum_travels_once_to_each_thread_that_reads_it),
        cmocka_unit_test(a_window_bounds_the_iterations_under_way),
        cmocka_unit_test(threads_are_removed_and_added_while_it_runs),
        cmocka_unit_test(operations_may_be_problems),
        cmocka_unit_test(the_examples_run),
        cmocka_unit_test(random_flows_keep_what_any_schedule_keeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
