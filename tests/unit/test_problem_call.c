/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "core/problem/problem.h"
#include "core/problem/problem_help.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct problem_set *shipped;

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

static struct problem_set *parse(const char *text)
{
    struct problem_set *set = NULL;
    struct esp_error error;
    if (problem_parse(text, strlen(text), "own", &set, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return set;
}

/* One call being prepared: values, given dims, and what came of it. */
struct call {
    const struct problem *problem;
    const void *values[PROBLEM_MAX_ARGUMENTS];
    const int64_t *dims[PROBLEM_MAX_ARGUMENTS];
    uint32_t ranks[PROBLEM_MAX_ARGUMENTS];
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    struct esp_error error;
};

static uint32_t at(const struct call *call, const char *name)
{
    int index = problem_argument_index(call->problem, name);
    if (index < 0)
        fail_msg("no argument %s", name);
    return (uint32_t)index;
}

static void give(struct call *call, const char *name, const void *value)
{
    call->values[at(call, name)] = value;
}

static void give_array(struct call *call, const char *name, uint32_t rank, const int64_t *dims)
{
    call->dims[at(call, name)] = dims;
    call->ranks[at(call, name)] = rank;
}

static void set_scalar(struct call *call, const char *name, int64_t value)
{
    call->scope[at(call, name)] = (struct number){.kind = NUMBER_INTEGER, .integer = value};
}

static enum esp_status bind(struct call *call)
{
    return problem_bind(call->problem, call->values, call->scope, call->shapes, &call->error);
}

static enum esp_status infer(struct call *call)
{
    return problem_infer(call->problem, call->dims, call->ranks, call->scope, &call->error);
}

static int64_t integer(const struct call *call, const char *name)
{
    const struct number *value = &call->scope[at(call, name)];
    assert_int_equal(value->kind, NUMBER_INTEGER);
    return value->integer;
}

static void defaults_and_work_values_are_bound(void **state)
{
    (void)state;
    struct call call = {.problem = find("dsyev")};
    int32_t n = 10;
    give(&call, "n", &n);
    assert_int_equal(bind(&call), ESP_OK);
    assert_int_equal(integer(&call, "jobz"), 'V');
    assert_int_equal(integer(&call, "lwork"), 29);
    assert_int_equal(call.shapes[at(&call, "workspace")].count, 29);
    assert_int_equal(call.shapes[at(&call, "w")].bytes, 80);
    double flops;
    assert_int_equal(problem_work(call.problem, call.scope, &flops, &call.error), ESP_OK);
    assert_true(flops == 9000);
    give(&call, "jobz", "N");
    assert_int_equal(bind(&call), ESP_OK);
    assert_int_equal(problem_work(call.problem, call.scope, &flops, &call.error), ESP_OK);
    assert_true(fabs(flops - 4000.0 / 3) < 1e-9);
}

static void shapes_follow_the_flags(void **state)
{
    (void)state;
    struct call call = {.problem = find("dgemm")};
    int32_t m = 2, n = 3, k = 4;
    give(&call, "m", &m);
    give(&call, "n", &n);
    give(&call, "k", &k);
    give(&call, "transb", "T");
    assert_int_equal(bind(&call), ESP_OK);
    assert_int_equal(call.shapes[at(&call, "A")].dims[0], 2);
    assert_int_equal(call.shapes[at(&call, "A")].dims[1], 4);
    assert_int_equal(call.shapes[at(&call, "B")].dims[0], 3);
    assert_int_equal(call.shapes[at(&call, "B")].dims[1], 4);
    assert_int_equal(call.shapes[at(&call, "C")].bytes, 48);
}

static void empty_problems_bind(void **state)
{
    (void)state;
    for (size_t i = 0; i < shipped->n_problems; i++) {
        struct call call = {.problem = shipped->problems[i]};
        const int32_t zero = 0, one = 1;
        const double alpha[2] = {1, 0};
        bool has_size = false;
        for (uint32_t a = 0; a < call.problem->n_arguments; a++)
            if (call.problem->arguments[a].type == TYPE_INT && !call.problem->arguments[a].initial) {
                /* Right-hand sides are of no use without one, some routines say. */
                call.values[a] = strcmp(call.problem->arguments[a].name, "nrhs") == 0 ? &one : &zero;
                has_size = true;
            } else if (call.problem->arguments[a].type >= TYPE_FLOAT && !call.problem->arguments[a].n_dims) {
                call.values[a] = alpha;
            }
        if (bind(&call) != ESP_OK)
            fail_msg("%s", call.error.text);
        double flops;
        uint64_t bytes;
        assert_int_equal(problem_work(call.problem, call.scope, &flops, &call.error), ESP_OK);
        assert_true(flops == 0 || !has_size); /* a rotation of two numbers has no size */
        assert_int_equal(problem_memory(call.problem, call.scope, &bytes, &call.error), ESP_OK);
        assert_int_equal(bytes, 0);
    }
}

static void bad_inputs_are_told_by_name(void **state)
{
    (void)state;
    struct call call = {.problem = find("dgesv")};
    int32_t n = -1, nrhs = 1;
    give(&call, "n", &n);
    assert_int_equal(bind(&call), ESP_INVALID);
    assert_string_equal(call.error.text, "dgesv: the input nrhs (int) is missing");
    give(&call, "nrhs", &nrhs);
    assert_int_equal(bind(&call), ESP_INVALID);
    assert_string_equal(call.error.text, "dgesv: expected n >= 0, found n = -1");
    call = (struct call){.problem = find("dposv")};
    n = 3;
    give(&call, "n", &n);
    give(&call, "nrhs", &nrhs);
    give(&call, "uplo", "X");
    assert_int_equal(bind(&call), ESP_INVALID);
    assert_string_equal(call.error.text, "dposv: uplo must be U or L (found uplo = 'X')");
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    struct problem_set *set =
        parse("problem p \"t\"\nin long n\nin double A[n, n, n]\nwork n^3\nmemory n*n\n");
    struct call call = {.problem = set->problems[0]};
    int64_t n = 2000000;
    give(&call, "n", &n);
    assert_int_equal(bind(&call), ESP_INVALID);
    assert_string_equal(call.error.text,
                        "p: A of 2000000 x 2000000 x 2000000 double has more bytes than 64 bits can count");
    double flops;
    uint64_t bytes;
    assert_int_equal(problem_work(call.problem, call.scope, &flops, &call.error), ESP_OK);
    assert_true(flops > 7.99e18 && flops < 8.01e18);
    n = INT64_C(4000000000);
    bind(&call);
    assert_int_equal(problem_work(call.problem, call.scope, &flops, &call.error), ESP_OK);
    assert_true(flops > 6.3e28 && flops < 6.5e28);
    assert_int_equal(problem_memory(call.problem, call.scope, &bytes, &call.error), ESP_INVALID);
    assert_string_equal(call.error.text, "p: memory: n*n: 1.6e+19 bytes are more than 64 bits can count");
    n = 0;
    assert_int_equal(bind(&call), ESP_OK);
    assert_int_equal(call.shapes[1].bytes, 0);
    problem_set_destroy(set);
}

static void defaults_must_fit_their_type(void **state)
{
    (void)state;
    struct problem_set *set = parse("problem p \"t\"\nin long n\nin int k = 2*n\nwork int l = n/2\n");
    struct call call = {.problem = set->problems[0]};
    int64_t n = 1500000000;
    give(&call, "n", &n);
    assert_int_equal(bind(&call), ESP_INVALID);
    assert_string_equal(
        call.error.text,
        "p: the default of k: 2*n with n = 1500000000: 3000000000 does not fit int (32 bits)");
    n = 3;
    assert_int_equal(bind(&call), ESP_INVALID);
    assert_string_equal(call.error.text,
                        "p: the value of l: n/2 with n = 3: expected an integer for int, found 1.5");
    n = 4;
    assert_int_equal(bind(&call), ESP_OK);
    assert_int_equal(integer(&call, "l"), 2);
    problem_set_destroy(set);
}

static void sizes_follow_from_the_arrays(void **state)
{
    (void)state;
    struct call call = {.problem = find("dgesv")};
    give_array(&call, "A", 2, (const int64_t[]){3, 3});
    give_array(&call, "B", 1, (const int64_t[]){3});
    if (infer(&call) != ESP_OK)
        fail_msg("%s", call.error.text);
    assert_int_equal(integer(&call, "n"), 3);
    assert_int_equal(integer(&call, "nrhs"), 1);

    call = (struct call){.problem = find("dgemm")};
    set_scalar(&call, "transa", 'T');
    give_array(&call, "A", 2, (const int64_t[]){4, 2});
    give_array(&call, "B", 2, (const int64_t[]){4, 5});
    if (infer(&call) != ESP_OK)
        fail_msg("%s", call.error.text);
    assert_int_equal(integer(&call, "m"), 2);
    assert_int_equal(integer(&call, "k"), 4);
    assert_int_equal(integer(&call, "n"), 5);
    assert_int_equal(integer(&call, "transb"), 'N');
    assert_true(call.scope[at(&call, "alpha")].real == 1);

    call = (struct call){.problem = find("ddot")};
    give_array(&call, "x", 2, (const int64_t[]){7, 1});
    if (infer(&call) != ESP_OK)
        fail_msg("%s", call.error.text);
    assert_int_equal(integer(&call, "n"), 7);
}

static void linear_dimensions_are_solved(void **state)
{
    (void)state;
    struct problem_set *set =
        parse("problem p \"t\"\nin int n, m, k, inc = 2\nin double a[n + 1], b[2*m, n*m], c[k*k],"
              " d[(k - 1)*inc + 1]\n");
    struct call call = {.problem = set->problems[0]};
    give_array(&call, "a", 1, (const int64_t[]){5});
    give_array(&call, "b", 2, (const int64_t[]){6, 12});
    give_array(&call, "d", 1, (const int64_t[]){7});
    if (infer(&call) != ESP_OK)
        fail_msg("%s", call.error.text);
    assert_int_equal(integer(&call, "n"), 4);
    assert_int_equal(integer(&call, "m"), 3);
    assert_int_equal(integer(&call, "k"), 4);
    problem_set_destroy(set);
}

static void check_infer(struct call *call, const char *message)
{
    assert_int_equal(infer(call), ESP_INVALID);
    assert_string_equal(call->error.text, message);
}

static void contradictions_are_told_in_the_user_s_words(void **state)
{
    (void)state;
    struct call call = {.problem = find("dgesv")};
    give_array(&call, "A", 2, (const int64_t[]){3, 3});
    give_array(&call, "B", 2, (const int64_t[]){4, 1});
    check_infer(&call, "dgesv: B has 4 rows, but n = 3 from A");

    call = (struct call){.problem = find("dgesv")};
    give_array(&call, "A", 2, (const int64_t[]){3, 1});
    give_array(&call, "B", 2, (const int64_t[]){3, 1});
    check_infer(&call, "dgesv: A must be square (n x n), found 3 x 1");

    call = (struct call){.problem = find("dgesv")};
    set_scalar(&call, "n", 5);
    give_array(&call, "A", 2, (const int64_t[]){3, 3});
    give_array(&call, "B", 2, (const int64_t[]){3, 1});
    check_infer(&call, "dgesv: A has 3 rows, but n = 5 was given");

    call = (struct call){.problem = find("dgesv")};
    set_scalar(&call, "n", -1);
    give_array(&call, "A", 2, (const int64_t[]){3, 3});
    give_array(&call, "B", 2, (const int64_t[]){3, 1});
    check_infer(&call, "dgesv: expected n >= 0, found n = -1");

    call = (struct call){.problem = find("dgesv")};
    give_array(&call, "A", 2, (const int64_t[]){3, 3});
    check_infer(&call, "dgesv: the input nrhs (int) is missing and does not follow from the arrays given");

    call = (struct call){.problem = find("dscal")};
    give_array(&call, "x", 1, (const int64_t[]){3});
    check_infer(&call, "dscal: the input alpha (double) is missing");
    give_array(&call, "x", 2, (const int64_t[]){3, 2});
    check_infer(&call, "dscal: x has 1 dimension, found 2");

    call = (struct call){.problem = find("dgesv")};
    give_array(&call, "A", 2, (const int64_t[]){INT64_C(3000000000), 1});
    check_infer(&call, "dgesv: A has 3000000000 rows, but as n: 3000000000 does not fit int (32 bits)");

    struct problem_set *own = parse("problem p \"t\"\nin int n, z, k = n/z, l = k + 1\n");
    call = (struct call){.problem = own->problems[0]};
    set_scalar(&call, "n", 4);
    set_scalar(&call, "z", 0);
    check_infer(&call, "p: the default of k: n/z: division by zero with n = 4, z = 0");
    set_scalar(&call, "z", 3);
    check_infer(
        &call,
        "p: the default of k: n/z with n = 4, z = 3: expected an integer for int, found 1.33333333333333");
    problem_set_destroy(own);

    call = (struct call){.problem = find("dgels")};
    give_array(&call, "A", 2, (const int64_t[]){5, 3});
    give_array(&call, "B", 2, (const int64_t[]){4, 1});
    check_infer(&call, "dgels: B has 4 rows, but max(m, n) = 5 (m = 5 from A, n = 3 from A)");

    struct problem_set *set = parse("problem p \"t\"\nin int n, k = 2\nin double a[2*n], b[k], c[n, n, n]\n");
    call = (struct call){.problem = set->problems[0]};
    give_array(&call, "a", 1, (const int64_t[]){5});
    check_infer(&call, "p: a has 5 elements, but no n makes 2*n = 5");
    call = (struct call){.problem = set->problems[0]};
    give_array(&call, "a", 1, (const int64_t[]){4});
    give_array(&call, "c", 3, (const int64_t[]){2, 2, 3});
    check_infer(&call, "p: c has 3 as dimension 3, but n = 2 from a");
    call = (struct call){.problem = set->problems[0]};
    give_array(&call, "n", 1, (const int64_t[]){4});
    check_infer(&call, "p: n is a scalar, found an array");
    problem_set_destroy(set);
}

static void info_is_told_as_what_it_means(void **state)
{
    (void)state;
    const struct problem *dgesv = find("dgesv");
    const struct implementation *lapack = &dgesv->implementations[0];
    struct number values[6] = {{.kind = NUMBER_INTEGER, .integer = 3}};
    struct scope scope = {values, 6};
    const struct error_clause *clause;
    struct esp_error error;
    char text[200];
    values[5] = (struct number){.kind = NUMBER_INTEGER, .integer = 0};
    assert_int_equal(problem_call_failure(lapack, &scope, &clause, &error), ESP_OK);
    assert_null(clause);
    values[5].integer = 2;
    assert_int_equal(problem_call_failure(lapack, &scope, &clause, &error), ESP_OK);
    problem_failure_text(&clause->message, &scope, text, sizeof text);
    assert_string_equal(text,
                        "U(2,2) is exactly zero: the matrix is singular; the solution could not be computed");
    problem_failure_text(&clause->message, &scope, text, 9);
    assert_string_equal(text, "U(2,2) i");
    values[5].integer = -4;
    assert_int_equal(problem_call_failure(lapack, &scope, &clause, &error), ESP_OK);
    problem_failure_text(&clause->message, &scope, text, sizeof text);
    assert_string_equal(text, "argument 4 of the LAPACK routine is illegal");
    values[5].kind = NUMBER_UNKNOWN;
    assert_int_equal(problem_call_failure(lapack, &scope, &clause, &error), ESP_INVALID);
}

static void notes_are_of_calls_that_are_done(void **state)
{
    (void)state;
    struct problem_set *set =
        parse("problem p \"t\"\nin int n\nout int m\nimplementation i\nc p(n, m, out info)\n"
              "note info > 1 \"{info} is much\"\nerror info < 0 \"wrong\"\nnote 6/info == 6 \"one\"\n");
    const struct implementation *implementation = &set->problems[0]->implementations[0];
    static const struct {
        int info;
        const char *failure, *note;
    } rows[] = {{1, NULL, "one"}, {2, NULL, "2 is much"}, {-1, "wrong", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct number values[3] = {{.kind = NUMBER_INTEGER},
                                   {.kind = NUMBER_INTEGER},
                                   {.kind = NUMBER_INTEGER, .integer = rows[i].info}};
        const struct scope scope = {values, 3};
        const struct error_clause *clause;
        struct esp_error error;
        char text[100] = "";
        assert_int_equal(problem_call_failure(implementation, &scope, &clause, &error), ESP_OK);
        assert_int_equal(clause != NULL, rows[i].failure != NULL);
        assert_int_equal(problem_call_note(implementation, &scope, &clause, &error), ESP_OK);
        if (clause)
            problem_failure_text(&clause->message, &scope, text, sizeof text);
        assert_string_equal(text, rows[i].note);
    }
    struct number values[3] = {{.kind = NUMBER_INTEGER}, {.kind = NUMBER_INTEGER}, {.kind = NUMBER_INTEGER}};
    const struct error_clause *clause;
    struct esp_error error;
    assert_int_equal(problem_call_note(implementation, &(struct scope){values, 3}, &clause, &error),
                     ESP_INVALID);
    assert_non_null(strstr(error.text, "division by zero"));
    problem_set_destroy(set);
}

static void messages_show_letters_reals_and_braces(void **state)
{
    (void)state;
    struct problem_set *set =
        parse("problem p \"t\"\nin char c\nin double x\nin int n\nimplementation i\nc p(c, x)\n"
              "error 1 == 1 \"{{{c}}} {x/2} {n + 1} {n}%s\"\n");
    struct number values[3] = {{.kind = NUMBER_INTEGER, .integer = 'U'}, {.kind = NUMBER_REAL, .real = 5}};
    char text[100];
    problem_failure_text(&set->problems[0]->implementations[0].errors[0].message, &(struct scope){values, 3},
                         text, sizeof text);
    assert_string_equal(text, "{U} 2.5 ? ?%s");
    problem_set_destroy(set);
}

static void preconditions_tell_values_where_they_are_wanted(void **state)
{
    (void)state;
    static const char source[] = "problem p \"t\"\n"
                                 "require n > 3 \"{n} rows are {4 - n} too few {{4}}\"\n"
                                 "in char c\nin int n\n"
                                 "require is(c, 'U') \"c must be U\"\n";
    struct problem_set *set = parse(source);
    struct number scope[2];
    struct shape shapes[2];
    struct esp_error error;
    const void *few[] = {"U", &(int){1}}, *letter[] = {"X", &(int){4}};
    assert_int_equal(problem_bind(set->problems[0], few, scope, shapes, &error), ESP_INVALID);
    assert_string_equal(error.text, "p: 1 rows are 3 too few {4}");
    assert_int_equal(problem_bind(set->problems[0], letter, scope, shapes, &error), ESP_INVALID);
    assert_string_equal(error.text, "p: c must be U (found c = 'X')");
    char text[512];
    problem_usage(set->problems[0], text, sizeof text);
    assert_non_null(strstr(text, "\n    n rows are 4 - n too few {4}\n"));
    /* Callers read the canonical form and see the same. */
    struct problem_set *again = parse(set->problems[0]->source);
    assert_string_equal(again->problems[0]->source, set->problems[0]->source);
    problem_set_destroy(again);
    problem_set_destroy(set);
}

static void numbers_survive_every_type(void **state)
{
    (void)state;
    static const struct {
        enum base_type type;
        int64_t least, most;
    } rows[] = {{TYPE_CHAR, 0, 255},
                {TYPE_SHORT, INT16_MIN, INT16_MAX},
                {TYPE_INT, INT32_MIN, INT32_MAX},
                {TYPE_LONG, INT64_MIN, INT64_MAX},
                {TYPE_INT64, INT64_MIN, INT64_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int end = 0; end < 2; end++) {
            struct number number = {.kind = NUMBER_INTEGER, .integer = end ? rows[i].most : rows[i].least};
            unsigned char raw[17];
            assert_int_equal(number_store(&number, rows[i].type, raw + 1, NULL), ESP_OK);
            assert_true(number_load(rows[i].type, raw + 1).integer == number.integer);
            if (base_type_size(rows[i].type) == 8)
                continue;
            number.integer += end ? 1 : -1;
            assert_int_equal(number_store(&number, rows[i].type, raw, NULL), ESP_INVALID);
        }
    struct number real = {.kind = NUMBER_REAL, .real = 0.5};
    double complex_value[2] = {7, 7};
    assert_int_equal(number_store(&real, TYPE_DOUBLE_COMPLEX, complex_value, NULL), ESP_OK);
    assert_true(complex_value[0] == 0.5 && complex_value[1] == 0);
    assert_int_equal(number_load(TYPE_DOUBLE_COMPLEX, complex_value).kind, NUMBER_UNKNOWN);
    real.real = 1e300;
    float narrow;
    assert_int_equal(number_store(&real, TYPE_FLOAT, &narrow, NULL), ESP_INVALID);
    assert_int_equal(number_store(&real, TYPE_STRING, &narrow, NULL), ESP_INVALID);
}

static void help_shows_what_callers_need(void **state)
{
    (void)state;
    char text[4096];
    size_t n = problem_usage(find("dsyev"), text, sizeof text);
    assert_int_equal(strlen(text), n);
    assert_non_null(strstr(text, "dsyev: Eigenvalues and, if wanted, eigenvectors of a symmetric matrix\n"));
    assert_non_null(strstr(text, "    inout  double          A[n, n]     the symmetric matrix, then the"));
    assert_non_null(strstr(text, "order of A; follows from the arrays\n"));
    assert_non_null(strstr(text, "; symmetric"));
    assert_non_null(strstr(text, "; finite\n"));
    assert_non_null(strstr(text, "\n    uplo must be U or L\n"));
    assert_non_null(strstr(text, "D4a1"));
    assert_null(strstr(text, "workspace"));
    assert_non_null(strstr(
        text,
        "grpc_call(grpc_function_handle_t *handle, char jobz, char uplo, int n, double *A, double *w);"));
    char cut[20];
    assert_int_equal(problem_usage(find("dsyev"), cut, sizeof cut), n);
    assert_int_equal(strlen(cut), 19);
    assert_memory_equal(cut, text, 19);
}

static void examples_leave_out_what_follows(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *example;
    } rows[] = {
        {"dgesv", "espalier call dgesv A=@A.mtx B=@B.mtx -o A=A-out.mtx -o ipiv=ipiv.mtx -o B=B-out.mtx"},
        {"dscal", "espalier call dscal alpha=1.5 x=@x.mtx -o x=x-out.mtx"},
        {"dgemm", "espalier call dgemm A=@A.mtx B=@B.mtx -o C=C-out.mtx"},
        {"ddot", "espalier call ddot x=@x.mtx y=@y.mtx"},
        {"dpbsv", "espalier call dpbsv AB=@AB.mtx B=@B.mtx -o AB=AB-out.mtx -o B=B-out.mtx"},
        {"dgbsv", "espalier call dgbsv AB=@AB.mtx B=@B.mtx -o AB=AB-out.mtx -o ipiv=ipiv.mtx -o B=B-out.mtx"},
        {"dumfpack", "espalier call dumfpack A=@A.mtx B=@B.mtx -o X=X.mtx"},
        {"dcg", "espalier call dcg A=@A.mtx B=@B.mtx -o X=X.mtx"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        problem_example(find(rows[i].problem), "", text, sizeof text);
        assert_string_equal(text, rows[i].example);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(defaults_and_work_values_are_bound),
    cmocka_unit_test(shapes_follow_the_flags),
    cmocka_unit_test(empty_problems_bind),
    cmocka_unit_test(bad_inputs_are_told_by_name),
    cmocka_unit_test(sizes_that_overflow_are_refused),
    cmocka_unit_test(defaults_must_fit_their_type),
    cmocka_unit_test(sizes_follow_from_the_arrays),
    cmocka_unit_test(linear_dimensions_are_solved),
    cmocka_unit_test(contradictions_are_told_in_the_user_s_words),
    cmocka_unit_test(info_is_told_as_what_it_means),
    cmocka_unit_test(notes_are_of_calls_that_are_done),
    cmocka_unit_test(messages_show_letters_reals_and_braces),
    cmocka_unit_test(preconditions_tell_values_where_they_are_wanted),
    cmocka_unit_test(numbers_survive_every_type),
    cmocka_unit_test(help_shows_what_callers_need),
    cmocka_unit_test(examples_leave_out_what_follows),
};

int main(void)
{
    return cmocka_run_group_tests(tests, load_shipped, drop_shipped);
}
