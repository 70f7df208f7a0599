/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "core/problem/problem.h"

#include "util/own_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static struct problem_set *shipped;

/* The descriptions of the source tree, wherever the test runs. */
static int load_shipped(void **state)
{
    (void)state;
    const char *top = getenv("top_srcdir");
    char path[4096];
    struct esp_error error;
    snprintf(path, sizeof path, "%s/problems", top ? top : "..");
    if (problem_load(path, &shipped, &error) == ESP_OK)
        return 0;
    print_error("%s\n", error.text);
    return 1;
}

static int drop_shipped(void **state)
{
    (void)state;
    problem_set_destroy(shipped);
    return 0;
}

static const struct problem *find(const char *name)
{
    const struct problem *problem = problem_find(shipped, name);
    if (!problem)
        fail_msg("no problem %s", name);
    return problem;
}

static void shipped_problems_are_found_by_name(void **state)
{
    (void)state;
    assert_true(shipped->n_problems >= 19);
    for (size_t i = 0; i < shipped->n_problems; i++)
        assert_ptr_equal(problem_find(shipped, shipped->problems[i]->name), shipped->problems[i]);
    assert_null(problem_find(shipped, "dgesw"));
    assert_null(problem_find(shipped, ""));
}

static void every_shipped_problem_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < shipped->n_problems; i++) {
        const struct problem *problem = shipped->problems[i];
        assert_string_not_equal(problem->title, "");
        assert_string_not_equal(problem->gams, "");
        if (problem->abstract)
            continue;
        assert_non_null(problem->work);
        assert_non_null(problem->memory);
        bool has_size = false;
        for (uint32_t a = 0; a < problem->n_arguments; a++)
            has_size |= problem->arguments[a].type == TYPE_INT && argument_is_input(&problem->arguments[a]) &&
                        !problem->arguments[a].n_dims;
        assert_true(problem->n_preconditions > 0 || !has_size);
        assert_true(problem->n_implementations > 0);
        assert_true(problem->idempotent || problem_state_index(problem) >= 0);
    }
}

static void canonical_text_reads_back_to_the_same_digest(void **state)
{
    (void)state;
    for (size_t i = 0; i < shipped->n_problems; i++) {
        const struct problem *problem = shipped->problems[i];
        struct problem_set *again;
        struct esp_error error;
        if (problem_parse(problem->source, strlen(problem->source), "canonical", &again, &error) != ESP_OK)
            fail_msg("%s", error.text);
        assert_int_equal(again->n_problems, 1);
        assert_string_equal(again->problems[0]->source, problem->source);
        assert_true(again->problems[0]->digest == problem->digest);
        assert_int_equal(again->problems[0]->n_arguments, problem->n_arguments);
        assert_int_equal(again->problems[0]->n_implementations, 0);
        problem_set_destroy(again);
    }
}

static void dgetrf_is_called_as_lapack_wants(void **state)
{
    (void)state;
    const struct implementation *lapack = &find("dgetrf")->implementations[0];
    assert_string_equal(lapack->name, "lapack");
    assert_int_equal(lapack->convention, CONVENTION_FORTRAN);
    assert_string_equal(lapack->symbol, "dgetrf_");
    assert_string_equal(lapack->library, "liblapack.so.3");
    assert_false(lapack->returns);
    assert_int_equal(lapack->n_parameters, 6);
    assert_int_equal(lapack->parameters[0].kind, PARAMETER_ARGUMENT);
    assert_int_equal(lapack->parameters[0].argument, 0);
    assert_int_equal(lapack->parameters[3].kind, PARAMETER_VALUE);
    assert_int_equal(lapack->parameters[3].type, TYPE_INT);
    assert_string_equal(expr_text(lapack->parameters[3].value), "max(1, m)");
    assert_int_equal(lapack->parameters[5].kind, PARAMETER_RESULT);
    assert_int_equal(lapack->parameters[5].result_index, 4);
    assert_string_equal(lapack->parameters[5].name, "info");
    assert_int_equal(lapack->n_results, 1);
}

static void ddot_gives_its_value_back(void **state)
{
    (void)state;
    const struct implementation *blas = &find("ddot")->implementations[0];
    assert_true(blas->returns);
    assert_int_equal(blas->result.kind, PARAMETER_ARGUMENT);
    assert_int_equal(blas->result.argument, problem_argument_index(find("ddot"), "dot"));
    assert_int_equal(blas->result.type, TYPE_DOUBLE);
}

static void every_shipped_routine_is_in_its_library(void **state)
{
    (void)state;
    for (size_t i = 0; i < shipped->n_problems; i++)
        for (uint32_t k = 0; k < shipped->problems[i]->n_implementations; k++) {
            const struct implementation *implementation = &shipped->problems[i]->implementations[k];
            char own[PATH_MAX];
            bool is_own = own_library_path(implementation->library, own, sizeof own);
            /* It stays: what it took when it was loaded is not a leak of ours. */
            void *library =
                dlopen(is_own ? own : implementation->library, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
            if (!library)
                fail_msg("%s", dlerror());
            if (!dlsym(library, implementation->symbol))
                fail_msg("%s: %s", implementation->library, dlerror());
            dlclose(library);
        }
}

static void bind_gives_shapes(void **state)
{
    (void)state;
    const struct problem *problem = find("dgesv");
    int32_t n = 3, nrhs = 2;
    const void *values[5] = {&n, &nrhs};
    struct number scope[5];
    struct shape shapes[5];
    struct esp_error error;
    assert_int_equal(problem_bind(problem, values, scope, shapes, &error), ESP_OK);
    assert_int_equal(shapes[0].n_dims, 0);
    assert_int_equal(shapes[0].bytes, 4);
    assert_int_equal(shapes[2].dims[1], 3);
    assert_int_equal(shapes[2].bytes, 72);
    assert_int_equal(shapes[3].bytes, 12);
    assert_int_equal(shapes[4].count, 6);
    double flops;
    assert_int_equal(problem_work(problem, scope, &flops, &error), ESP_OK);
    assert_true(flops > 53.99 && flops < 54.01);
}

/* Each block between ```esp and ``` of the reference is a description that is accepted. */
static void the_examples_of_the_manual_are_accepted(void **state)
{
    (void)state;
    const char *top = getenv("top_srcdir");
    char path[4096], line[400], block[8192] = "";
    snprintf(path, sizeof path, "%s/doc/problem-description.md", top ? top : "..");
    FILE *manual = fopen(path, "r");
    assert_non_null(manual);
    int n_blocks = 0;
    bool inside = false;
    while (fgets(line, sizeof line, manual)) {
        if (inside && strcmp(line, "```\n") == 0) {
            struct problem_set *set;
            struct esp_error error;
            if (problem_parse(block, strlen(block), "manual", &set, &error) != ESP_OK)
                fail_msg("%s\n%s", error.text, block);
            problem_set_destroy(set);
            n_blocks++;
            inside = false;
        } else if (inside) {
            assert_true(strlen(block) + strlen(line) < sizeof block);
            strcat(block, line);
        } else if (strcmp(line, "```esp\n") == 0) {
            inside = true;
            block[0] = 0;
        }
    }
    fclose(manual);
    assert_true(n_blocks >= 5);
}

/* Every type, function, property and operator that the parser knows has its place in the reference. */
/* Every type, function, property and operator that the parser knows has its place in the text. */
static void names_every_word(const char *file)
{
    const char *top = getenv("top_srcdir");
    char path[4096];
    static char manual[131072];
    snprintf(path, sizeof path, "%s/%s", top ? top : "..", file);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    size_t n = fread(manual, 1, sizeof manual - 1, stream);
    fclose(stream);
    manual[n] = 0;
    for (unsigned bit = 0; property_name(bit); bit++)
        assert_non_null(strstr(manual, property_name(bit)));
    for (enum base_type type = TYPE_CHAR; type <= TYPE_STATE; type++)
        assert_non_null(strstr(manual, base_type_name(type)));
    for (enum storage storage = STORAGE_PACKED; storage <= STORAGE_CSR; storage++)
        assert_non_null(strstr(manual, storage_name(storage)));
    static const char *const words[] = {"min",        "max",    "abs",  "ceil",    "floor",  "log2",
                                        "sqrt",       "if(",    "is(",  "%",       "^",      "not",
                                        "idempotent", "gams",   "text", "require", "count",  "for",
                                        "when",       "scalar", "real", "memory",  "command"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(manual, words[i]))
            fail_msg("%s does not speak of %s", file, words[i]);
}

static void the_manual_names_every_word(void **state)
{
    (void)state;
    names_every_word("doc/problem-description.md");
    names_every_word("doc/man/espalier-problem.5");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_examples_of_the_manual_are_accepted),
    cmocka_unit_test(the_manual_names_every_word),
    cmocka_unit_test(shipped_problems_are_found_by_name),
    cmocka_unit_test(every_shipped_problem_is_complete),
    cmocka_unit_test(canonical_text_reads_back_to_the_same_digest),
    cmocka_unit_test(dgetrf_is_called_as_lapack_wants),
    cmocka_unit_test(ddot_gives_its_value_back),
    cmocka_unit_test(every_shipped_routine_is_in_its_library),
    cmocka_unit_test(bind_gives_shapes),
};

int main(void)
{
    return cmocka_run_group_tests(tests, load_shipped, drop_shipped);
}
