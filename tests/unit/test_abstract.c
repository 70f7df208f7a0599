/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "client/abstract/foresight.h"
#include "core/problem/abstract.h"

#include <stdio.h>
#include <stdlib.h>

static const char solve[] = "problem ?other for s, d \"a problem before it\"\n"
                            "abstract solve \"Solve A X = B, whatever A is\"\n"
                            "    text    \"Picks the routine.\"\n"
                            "    gams    D2\n"
                            "    in      int m, n, nrhs\n"
                            "    in      double A[m, n] \"the matrix\", B[m, nrhs] \"right-hand sides\"\n"
                            "    out     double X[n, nrhs] \"the solution\"\n"
                            "    take    umfpack_factor(drop = -1e-3) giving F = LU then umfpack_solve(rhs = "
                            "B, trans = 'T') giving X = "
                            "rhs when A sparse\n"
                            "    try     ?posv giving X = B when A symmetric positive-definite real\n"
                            "    try     ?posv giving X = B when A hermitian positive-definite\n"
                            "    take    ?gesv giving X = B when A square, B double\n"
                            "    take    sgesv when A square real, B single\n"
                            "problem last \"a problem behind it\"\n";

static struct problem_set *parse(const char *text)
{
    struct problem_set *set = NULL;
    struct esp_error error;
    if (problem_parse(text, strlen(text), "f.esp", &set, &error) != ESP_OK)
        fail_msg("%s\n%s", error.text, text);
    return set;
}

/* The text that a user reads about these failures, in the order in which they happened. */
static void expect_told(const struct rule_failure *rows, size_t n, enum esp_status status, const char *text)
{
    struct rule_failures failures = {.n = 0};
    struct esp_error error = {0};
    for (size_t i = 0; i < n; i++)
        rule_failures_add(&failures, &rows[i]);
    assert_true(rule_failures_tell(&failures, &error));
    assert_string_equal(error.text, text);
    assert_int_equal(error.status, status);
    rule_failures_clear(&failures);
    assert_false(rule_failures_tell(&failures, &error));
}

static void the_failure_that_helps_most_is_told_first(void **state)
{
    (void)state;
    const struct rule_failure memory[] = {
        {.status = ESP_NO_SERVER, .bytes = 9, .text = "9 bytes"},
        {.status = ESP_UNKNOWN_PROBLEM, .text = "missing"},
        {.status = ESP_NO_SERVER, .bytes = 3, .is_dense = true, .text = "dense 3 bytes"},
        {.status = ESP_NO_SERVER, .bytes = 5, .text = "5 bytes"},
        {.status = ESP_NO_MEMORY, .text = "no room here"},
        {.status = ESP_FAILED, .is_dense = true, .text = "dense failed"},
    };
    expect_told(memory, 6, ESP_NO_SERVER,
                "5 bytes; also: 9 bytes; no room here; missing; dense failed; dense 3 bytes");
    const struct rule_failure late[] = {
        {.status = ESP_UNKNOWN_PROBLEM, .text = "missing"},
        {.status = ESP_FAILED, .text = "not definite"},
        {.status = ESP_INACCURATE, .text = "wrong"},
        {.status = ESP_NO_SERVER, .is_constrained = true, .text = "too late"},
        {.status = ESP_NO_SERVER, .is_constrained = true, .is_dense = true, .text = "too late, dense"},
    };
    expect_told(late, 5, ESP_NO_SERVER, "too late; also: too late, dense; wrong; not definite; missing");
    expect_told(late, 1, ESP_UNKNOWN_PROBLEM, "missing");
}

static void rules_are_read_in_their_order(void **state)
{
    (void)state;
    struct problem_set *set = parse(solve);
    const struct problem *problem = problem_find(set, "solve");
    const struct abstract *abstract = problem->abstract;
    assert_int_equal(set->n_problems, 4);
    assert_non_null(abstract);
    assert_null(problem_find(set, "last")->abstract);
    assert_string_equal(problem->gams, "D2");
    assert_int_equal(problem->n_arguments, 6);
    assert_int_equal(problem->n_implementations, 0);
    assert_int_equal(abstract->n_rules, 5);
    const struct rule *chain = &abstract->rules[0];
    assert_int_equal(chain->n_steps, 2);
    assert_string_equal(chain->steps[1].problem, "umfpack_solve");
    assert_string_equal(chain->steps[1].renamed[0].inner, "rhs");
    assert_string_equal(chain->steps[1].renamed[0].outer, "B");
    assert_null(chain->steps[1].renamed[1].outer);
    assert_true(chain->steps[1].renamed[1].value == 'T');
    assert_true(chain->steps[0].renamed[0].value == -1e-3);
    assert_string_equal(chain->steps[0].results[0].outer, "F");
    assert_string_equal(chain->steps[1].results[0].outer, "X");
    assert_string_equal(chain->steps[1].results[0].inner, "rhs");
    assert_false(chain->may_fail);
    assert_true(abstract->rules[1].may_fail);
    problem_set_destroy(set);
}

static void what_is_given_picks_the_rule(void **state)
{
    (void)state;
    enum { SYMMETRIC = PROPERTY_SYMMETRIC | PROPERTY_POSITIVE_DEFINITE };
    static const struct {
        struct given a, b;
        int rule; /* -1: none */
        const char *problem;
    } rows[] = {
        {{TYPE_DOUBLE, 3, 3, 0, false, false}, {TYPE_DOUBLE, 3, 1, 0, false, false}, 3, "dgesv"},
        {{TYPE_DOUBLE_COMPLEX, 3, 3, 0, false, false},
         {TYPE_DOUBLE_COMPLEX, 3, 1, 0, false, false},
         3,
         "zgesv"},
        {{TYPE_FLOAT, 3, 3, SYMMETRIC, false, false}, {TYPE_FLOAT, 3, 1, 0, false, false}, 1, "sposv"},
        {{TYPE_INT, 3, 3, SYMMETRIC, false, false}, {TYPE_INT, 3, 1, 0, false, false}, 1, "dposv"},
        {{TYPE_COMPLEX, 3, 3, SYMMETRIC, false, false}, {TYPE_DOUBLE, 3, 1, 0, false, false}, 3, "cgesv"},
        {{TYPE_COMPLEX, 3, 3, PROPERTY_HERMITIAN | PROPERTY_POSITIVE_DEFINITE, false, false},
         {TYPE_DOUBLE, 3, 1, 0, false, false},
         2,
         "cposv"},
        {{TYPE_DOUBLE, 3, 3, PROPERTY_SYMMETRIC, false, false},
         {TYPE_DOUBLE, 3, 1, 0, false, false},
         3,
         "dgesv"},
        {{TYPE_DOUBLE, 3, 3, SYMMETRIC, true, false},
         {TYPE_DOUBLE, 3, 1, 0, false, false},
         0,
         "umfpack_factor"},
        {{TYPE_FLOAT, 3, 3, 0, false, false}, {TYPE_FLOAT, 3, 1, 0, false, false}, 4, "sgesv"},
        {{TYPE_DOUBLE, 4, 3, 0, false, false}, {TYPE_DOUBLE, 4, 1, 0, false, false}, -1, NULL},
    };
    struct problem_set *set = parse(solve);
    const struct problem *problem = problem_find(set, "solve");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct given given[6] = {[3] = rows[i].a, [4] = rows[i].b};
        struct esp_error error;
        char name[PROBLEM_MAX_NAME + 1];
        uint32_t rule = 0;
        enum esp_status status = abstract_resolve(problem, given, &rule, &error);
        assert_int_equal(status, rows[i].rule < 0 ? ESP_INVALID : ESP_OK);
        if (status != ESP_OK) {
            assert_string_equal(error.text,
                                "solve: there is no problem for what is given (A: double 4 x 3, B: "
                                "double 4 x 1): expected A square, B single");
            continue;
        }
        assert_int_equal(rule, rows[i].rule);
        abstract_step_name(&problem->abstract->rules[rule].steps[0], &given[3], name, sizeof name);
        assert_string_equal(name, rows[i].problem);
    }
    problem_set_destroy(set);
}

static void a_rule_that_failed_has_a_next_one(void **state)
{
    (void)state;
    struct problem_set *set = parse(solve);
    const struct problem *problem = problem_find(set, "solve");
    const struct abstract *abstract = problem->abstract;
    const struct given given[6] = {
        [3] = {TYPE_DOUBLE, 3, 3, PROPERTY_SYMMETRIC | PROPERTY_POSITIVE_DEFINITE, false, false},
        [4] = {TYPE_DOUBLE, 3, 1, 0, false, false}};
    uint32_t rule = 0;
    assert_int_equal(abstract_resolve(problem, given, &rule, NULL), ESP_OK);
    assert_true(rule == 1 && abstract->rules[rule].may_fail);
    rule++;
    assert_int_equal(abstract_resolve(problem, given, &rule, NULL), ESP_OK);
    assert_true(rule == 3 && !abstract->rules[rule].may_fail);
    problem_set_destroy(set);
}

static void rivals_are_those_of_a_group_that_fit(void **state)
{
    (void)state;
    struct problem_set *set = parse("abstract it \"Do it\"\n"
                                    "    in  int n\n"
                                    "    in  double A[n, n]\n"
                                    "    out double X[n, n]\n"
                                    "    take one when A upper\n"
                                    "    try  two when A symmetric\n"
                                    "    or take three when A sparse\n"
                                    "    or try four then five when A square\n"
                                    "    take six\n");
    const struct problem *problem = problem_find(set, "it");
    const struct given given[3] = {[1] = {TYPE_DOUBLE, 3, 3, PROPERTY_SYMMETRIC, false, false}};
    uint32_t rule = 0, rivals[ABSTRACT_MAX_RULES];
    assert_int_equal(abstract_resolve(problem, given, &rule, NULL), ESP_OK);
    assert_int_equal(rule, 1);
    assert_int_equal(abstract_rivals(problem, given, &rule, rivals), 2);
    assert_int_equal(rivals[0], 1);
    assert_int_equal(rivals[1], 3);
    assert_int_equal(rule, 4);
    assert_int_equal(abstract_rivals(problem, given, &rule, rivals), 1);
    assert_int_equal(rivals[0], 4);
    assert_int_equal(rule, 5);
    char text[100];
    abstract_rule_text(problem, 3, text, sizeof text);
    assert_string_equal(text, "or try four then five when A square");
    problem_set_destroy(set);
}

/* One text for each member, and the canonical form is read as itself. */
static void families_and_canonical_forms(void **state)
{
    (void)state;
    struct problem_set *set = parse("abstract {s,,c,z}chol for s, d, c, z \"Cholesky\"\n"
                                    "in int n\n"
                                    "in scalar A[n, n]\n"
                                    "out scalar R[n, n] upper\n"
                                    "take ?potrf(uplo = 'U', x = -2) giving R = A then ?x when A hermitian "
                                    "square, n double\n"
                                    "when c or z: try ?other\n");
    assert_int_equal(set->n_problems, 4);
    const struct problem *chol = problem_find(set, "chol"), *zchol = problem_find(set, "zchol");
    assert_int_equal(chol->arguments[1].type, TYPE_DOUBLE);
    assert_int_equal(zchol->arguments[1].type, TYPE_DOUBLE_COMPLEX);
    assert_int_equal(chol->abstract->n_rules, 1);
    assert_int_equal(zchol->abstract->n_rules, 2);
    assert_string_equal(chol->source, "abstract chol \"Cholesky\"\n"
                                      "in int n\n"
                                      "in double A[n, n]\n"
                                      "out double R[n, n] upper\n"
                                      "take dpotrf(uplo = 'U', x = -2) giving R = A then dx when A hermitian "
                                      "square, n double\n");
    struct problem_set *again = parse(chol->source);
    assert_string_equal(again->problems[0]->source, chol->source);
    assert_true(again->problems[0]->digest == chol->digest && chol->digest != zchol->digest);
    problem_set_destroy(again);
    problem_set_destroy(set);
}

#define A "abstract a \"t\"\nin double A, B\nout double X\n"

static void wrong_rules_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"abstract\n", "1:9: expected the name of the problem, found the end of the line"},
        {"abstract a \"t\" x\n", "1:16: expected the end of the line, found 'x'"},
        {"abstract a \"t\"\n", "1:10: the abstract problem 'a' has no rule: take PROBLEM"},
        {A "take\n", "4:5: expected the name of a problem, found the end of the line"},
        {A "take x(\n", "5:1: expected the name of an argument of the problem, found the end of the file: "
                        "the '(' in line 4, column 7 has not been closed"},
        {A "take x(a b)\n", "4:10: expected '=', found 'b'"},
        {A "take x(a = -b)\n", "4:13: expected a number, found 'b'"},
        {A "take x(a = b\n", "5:1: expected ',' or ')', found the end of the file: the '(' in line 4, column "
                             "7 has not been closed"},
        {A "take x when C square\n", "4:13: expected the name of an input, found 'C'"},
        {A "take x when X square\n", "4:13: expected the name of an input, found 'X'"},
        {A "take x when A\n", "4:14: expected what the input has to be, found the end of the line"},
        {A "take x when A squre\n", "4:15: expected a property or one of real, complex, single, double, "
                                    "square, tall, wide, vector, sparse, "
                                    "banded, large, found 'squre': did you mean 'square'?"},
        {A "take x giving Y = b\n", "4:6: 'Y' is no output of a"},
        {A "take x giving X b\n", "4:17: expected '=', found 'b'"},
        {A "take x then\n", "4:12: expected the name of a problem, found the end of the line"},
        {A "or take x\n", "4:4: or: expected a rule before it that it competes with"},
        {A "take x\nor x\n", "5:4: expected take or try behind or, found 'x'"},
        {A "take x y\n", "4:8: expected the end of the line, found 'y'"},
        {A "inout double y\ntake x\n",
         "4:14: 'y' of the abstract problem 'a': expected numbers that go in or "
         "out, stored in full by columns"},
        {A "take x\nimplementation i\n",
         "5:1: an abstract problem has rules (take PROBLEM), no implementation"},
        {"problem a \"t\"\ntake x\n", "2:6: rules (take, try) belong to an abstract problem"},
        {A "take x\nabstract a \"t\"\nin int A\ntake y\n",
         "5:10: the problem 'a' is described already in f.esp:1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct problem_set *set = NULL;
        struct esp_error error;
        if (problem_parse(rows[i].text, strlen(rows[i].text), "f.esp", &set, &error) != ESP_SYNTAX)
            fail_msg("accepted: %s", rows[i].text);
        if (strncmp(error.text, "f.esp:", 6) != 0 || strcmp(error.text + 6, rows[i].message) != 0)
            fail_msg("%s\nexpected: %s\nfound:    %s", rows[i].text, rows[i].message, error.text + 6);
    }
}

static struct fast_server takes(const char *name, double compute_s, double queue_s)
{
    return (struct fast_server){
        .server = name, .compute_s = compute_s, .queue_s = queue_s, .total_s = compute_s + queue_s};
}

static void is_taken(const struct gathered *step, const char *server, double total_s)
{
    assert_true(step->taken < step->n);
    const struct fast_server taken = foresight_taken(step);
    assert_string_equal(taken.server, server);
    assert_float_equal(taken.total_s, total_s, 1e-9);
}

/* All steps are made on one server, which is waited for once. */
static void a_chain_goes_where_all_of_it_is_over_first(void **state)
{
    (void)state;
    static struct foresight foresight;
    struct fast_server first[] = {takes("A", 1, 0), takes("B", 1.5, 0.5), takes("C", 1, 1.5)},
                       second[] = {takes("B", 1, 0.5), takes("A", 8, 0)},
                       third[] = {takes("A", 1, 0), takes("B", 2, 0.5)};
    struct gathered steps[] = {{first, 3, false, ESP_OK, {0}, 0, false},
                               {second, 2, false, ESP_OK, {0}, 0, false},
                               {third, 2, false, ESP_OK, {0}, 0, false}};
    foresight_way(&foresight, steps, 3);
    assert_string_equal(foresight.first_at,
                        "B"); /* A: 10 s; B: 5 s; C, which does not solve the second: 6 s */
    is_taken(&steps[0], "B", 2);
    is_taken(&steps[1], "B", 1);
    is_taken(&steps[2], "B", 2);
    /* Where nothing is won the agents choose the first one. */
    second[1] = takes("A", 3.1, 0);
    foresight_way(&foresight, steps, 3);
    assert_string_equal(foresight.first_at, "");
    is_taken(&steps[0], "A", 1);
    is_taken(&steps[1], "A", 3.1);
    /* A state is nowhere else; a server that is excluded makes nothing. */
    steps[1].wants_state = true;
    second[1].excluded = "it is draining";
    foresight_way(&foresight, steps, 3);
    assert_string_equal(foresight.first_at, "B");
    second[0].excluded = "it is draining, too";
    foresight_way(&foresight, steps, 3);
    assert_string_equal(foresight.first_at, "");
    assert_true(steps[1].taken == steps[1].n);
    assert_string_equal(steps[1].why.text, "A: it is draining");
    /* Of what is not known of a step nothing is counted. */
    steps[1].status = ESP_UNKNOWN_PROBLEM;
    foresight_way(&foresight, steps, 3);
    is_taken(&steps[0], "A", 1);
    is_taken(&steps[2], "A", 1);
}

/* The five-point stencil on a grid of side * (n / side) points; side 1: three diagonals. */
static struct matrix stencil(int64_t n, int64_t side)
{
    struct matrix matrix;
    struct esp_error error;
    const int64_t offsets[] = {-side, -1, 0, 1, side};
    int64_t k = 0;
    if (matrix_init_sparse(&matrix, n, n, 5 * n, false, 0, &error) != ESP_OK)
        fail_msg("%s", error.text);
    for (int64_t j = 0; j < n; j++) {
        for (unsigned d = side > 1 ? 0 : 1; d < (side > 1 ? 5 : 4); d++)
            if (j + offsets[d] >= 0 && j + offsets[d] < n) {
                matrix.indices[k] = j + offsets[d];
                matrix.values[k++] = d == 2 ? 4.5 : -1;
            }
        matrix.starts[j + 1] = k;
    }
    return matrix;
}

static void a_sparse_matrix_is_banded_only_if_its_band_is_nearly_full(void **state)
{
    (void)state;
    const struct argument argument = {.name = "A", .type = TYPE_DOUBLE, .n_dims = 2};
    struct matrix grid = stencil(1600, 40), line = stencil(1600, 1), dense;
    struct esp_error error;
    struct given given;
    int64_t below, above;
    abstract_look_at(&line, &argument, &given);
    assert_true(given.is_sparse && given.is_banded);
    abstract_look_at(&grid, &argument, &given);
    assert_true(given.is_sparse && !given.is_banded); /* 5 elements of 81 */
    assert_int_equal(abstract_reach(&grid, &below, &above), 5 * 1600 - 2 - 80);
    assert_int_equal(below, 40);
    assert_int_equal(above, 40);
    /* The band of a dense matrix is smaller than the matrix, whatever is in it. */
    assert_int_equal(matrix_to_dense(&grid, 0, &dense, &error), ESP_OK);
    abstract_look_at(&dense, &argument, &given);
    assert_true(!given.is_sparse && given.is_banded);
    matrix_clear(&grid);
    matrix_clear(&line);
    matrix_clear(&dense);
}

static void a_step_is_too_large_if_every_server_lacks_the_memory(void **state)
{
    (void)state;
    struct esp_error error;
    uint64_t bytes;
    struct fast_server servers[] = {takes("A", 1, 0), takes("B", 1, 0)};
    struct gathered step = {servers, 2, false, ESP_OK, {0}, 0, false};
    servers[0].excluded = "needs 1923 MB of memory, it has 1500 MB";
    assert_false(foresight_is_too_large(&step, "dgbsv", NULL, &bytes, &error));
    assert_true(foresight_is_too_large(&step, "dgbsv", "A", &bytes, &error));
    assert_false(foresight_is_too_large(&step, "dgbsv", "C", &bytes, &error));
    servers[1].excluded = "it is draining: it takes no new sessions"; /* which may end */
    assert_false(foresight_is_too_large(&step, "dgbsv", NULL, &bytes, &error));
    servers[1].excluded = "needs 1923 MB of memory, it has 900 MB";
    assert_true(foresight_is_too_large(&step, "dgbsv", NULL, &bytes, &error));
    assert_int_equal(error.status, ESP_NO_SERVER);
    assert_string_equal(error.text,
                        "dgbsv: no server has the memory for it (A needs 1923 MB of memory, it has 1500 MB)");
    step.status = ESP_UNKNOWN_PROBLEM; /* nothing is known of servers then */
    assert_false(foresight_is_too_large(&step, "dgbsv", NULL, &bytes, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sparse_matrix_is_banded_only_if_its_band_is_nearly_full),
        cmocka_unit_test(a_step_is_too_large_if_every_server_lacks_the_memory),
        cmocka_unit_test(rules_are_read_in_their_order),
        cmocka_unit_test(the_failure_that_helps_most_is_told_first),
        cmocka_unit_test(what_is_given_picks_the_rule),
        cmocka_unit_test(a_rule_that_failed_has_a_next_one),
        cmocka_unit_test(families_and_canonical_forms),
        cmocka_unit_test(rivals_are_those_of_a_group_that_fit),
        cmocka_unit_test(wrong_rules_say_what_is_wrong),
        cmocka_unit_test(a_chain_goes_where_all_of_it_is_over_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
