/* SPDX-License-Identifier: Apache-2.0
 *
 * The clauses `solves` and `fits`: what they may say, and what they mean for one call.
 */
#include "tests/unit/unit.h"
#include "core/problem/problem_solves.h"

#include <stdio.h>

#define P "problem p \"t\"\n"
#define SYSTEM                                                                                               \
    P "in char trans = 'N', uplo = 'U', diag = 'N'\nin int n, kl, ku, nrhs, ldb\n"                           \
      "in double alpha\nin double A[n, n]\ninout double B[ldb, nrhs]\nout double X[n, nrhs]\n"

static struct problem_set *parse(const char *text)
{
    struct problem_set *set = NULL;
    struct esp_error error;
    if (problem_parse(text, strlen(text), "f.esp", &set, &error) != ESP_OK)
        fail_msg("%s\n%s", error.text, text);
    return set;
}

static void the_canonical_form_tells_the_equation(void **state)
{
    (void)state;
    static const char *const clauses[] = {
        "solves A X = B\n",
        "solves A B = B\n",
        "solves A Y = B giving Y = X\n",
        "solves A X = B transposed trans\n",
        "solves A X = B within 1e-6*n\n",
        "solves A X = B where nrhs > 2\n",
        "solves A Y = B giving Y = X transposed trans within 1e-6 where is(uplo, 'U')\n",
        "solves A X = B transposed trans times alpha right is(uplo, 'L') where nrhs > 2\n",
        "fits A X = B\n",
    };
    for (size_t i = 0; i < sizeof clauses / sizeof *clauses; i++) {
        char text[600];
        snprintf(text, sizeof text, SYSTEM "%s", clauses[i]);
        struct problem_set *set = parse(text);
        const char *found =
            strstr(set->problems[0]->source, strncmp(clauses[i], "fits", 4) ? "solves" : "fits");
        assert_non_null(found);
        if (strncmp(found, clauses[i], strlen(clauses[i])) != 0)
            fail_msg("expected: %sfound: %s", clauses[i], found);
        struct problem_set *again = parse(set->problems[0]->source);
        assert_string_equal(again->problems[0]->source, set->problems[0]->source);
        problem_set_destroy(again);
        problem_set_destroy(set);
    }
}

static void wrong_equations_say_what_was_expected(void **state)
{
    (void)state;
    static const struct {
        const char *clause, *message;
    } rows[] = {
        {"solves\n", "expected the matrix"},
        {"solves A X\n", "'='"},
        {"solves A X = C\n", "unknown name 'C'"},
        {"solves A X = Bb\n", "unknown name 'Bb'"},
        {"solves A Y = B\n", "unknown name 'Y'"},
        {"solves A Y = B giving Z = X\n", "expected 'Y', the solution of the equation, found 'Z'"},
        {"solves A X = B\nsolves A X = B\n", "'solves' was given already"},
        {"solves A X = B\nfits A X = B\n", "a problem has one equation"},
        {"solves n X = B\n", "'n' has to be a matrix that goes in"},
        {"solves X B = B\n", "'X' has to be a matrix that goes in"},
        {"solves A X = n\n", "'n' has to be an array that goes in"},
        {"solves A X = X\n", "'X' has to be an array that goes in"},
        {"solves A A = B\n", "'A' has to be an array that comes back"},
        {"solves A X = B transposed n\n", "'n' has to be a character that goes in"},
        {"solves A X = B transposed tran\n", "unknown name 'tran': did you mean 'trans'?"},
        {"solves A X = B times n\n", "'n' has to be a number that goes in, of the type of the matrix"},
        {"solves A X = B times B\n", "'B' has to be a number that goes in, of the type of the matrix"},
        {"solves A X = B right m > 2\n", "unknown name 'm'"},
        {"solves A X = B within\n", "expected"},
        {"solves A X = B where m > 2\n", "unknown name 'm'"},
        {"solves A X = B or so\n", "found 'or'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[600];
        struct problem_set *set = NULL;
        struct esp_error error;
        snprintf(text, sizeof text, SYSTEM "%s", rows[i].clause);
        if (problem_parse(text, strlen(text), "f.esp", &set, &error) != ESP_SYNTAX)
            fail_msg("accepted: %s", rows[i].clause);
        if (!strstr(error.text, rows[i].message))
            fail_msg("%s: expected: %s\nfound: %s", rows[i].clause, rows[i].message, error.text);
    }
}

/* ---- one call ---- */

struct call {
    struct problem_set *set;
    char trans, uplo, diag;
    int n, kl, ku, nrhs, ldb;
    bool solves; /* what solves_shape() has said */
    struct system_shape shape;
};

/* The shape of a call of a problem with that matrix and those clauses. */
static void shape_of(struct call *call, const char *matrix, const char *clause)
{
    char text[800];
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    struct esp_error error;
    snprintf(text, sizeof text,
             P "in char trans, uplo, diag\nin int n, kl, ku, nrhs, ldb\n%s\n"
               "inout double B[ldb, nrhs]\nout double X[n, nrhs]\n%s\n",
             matrix, clause);
    struct problem_set *set = parse(text);
    const void *values[PROBLEM_MAX_ARGUMENTS] = {&call->trans, &call->uplo, &call->diag, &call->n,
                                                 &call->kl,    &call->ku,   &call->nrhs, &call->ldb};
    if (problem_bind(set->problems[0], values, scope, shapes, &error) != ESP_OK)
        fail_msg("%s\n%s", error.text, text);
    call->solves = solves_shape(set->problems[0], scope, &call->shape);
    problem_set_destroy(set);
}

static struct call usual(void)
{
    return (struct call){
        .trans = 'N', .uplo = 'U', .diag = 'N', .n = 5, .kl = 1, .ku = 2, .nrhs = 3, .ldb = 7};
}

static void a_call_tells_where_its_arrays_are(void **state)
{
    (void)state;
    struct call call = usual();
    shape_of(&call, "in double A[n, n]", "solves A X = B");
    assert_true(call.solves);
    assert_int_equal(call.shape.nrhs, 3);
    assert_int_equal(call.shape.rhs_rows, 7);
    assert_int_equal(call.shape.solution_rows, 5);
    assert_int_equal(call.shape.layout.rows, 5);
    assert_false(call.shape.triangle || call.shape.mirrored || call.shape.unit);
    assert_int_equal(call.shape.transposed, 'N');
    call.ldb = 4; /* fewer than the matrix has rows */
    shape_of(&call, "in double A[n, n]", "solves A X = B");
    assert_false(call.solves);
    call = usual();
    shape_of(&call, "in double A[n, n + 1]", "solves A X = B");
    assert_false(call.solves);
    shape_of(&call, "in double A[n, n]", "");
    assert_false(call.solves);
}

static void an_equation_holds_where_its_condition_does(void **state)
{
    (void)state;
    struct call call = usual();
    shape_of(&call, "in double A[n, n]", "solves A X = B where nrhs > 2");
    assert_true(call.solves);
    call.nrhs = 2;
    shape_of(&call, "in double A[n, n]", "solves A X = B where nrhs > 2");
    assert_false(call.solves);
    shape_of(&call, "in double A[n, n]", "solves A X = B where n/(nrhs - 2) > 1"); /* without a value */
    assert_false(call.solves);
}

static void vectors_may_be_rows(void **state)
{
    (void)state;
    static const char rows[] = "TNJ";
    for (unsigned way = 0; way < 3; way++) {
        struct call call = usual();
        call.trans = "NTC"[way];
        call.n = call.nrhs = call.ldb = 5; /* X op(A) = B of these extents has as many right-hand sides */
        shape_of(&call, "in double A[n, n]", "solves A X = B transposed trans right is(uplo, 'U')");
        assert_true(call.solves && call.shape.right);
        assert_int_equal(call.shape.transposed, rows[way]);
        call.ldb = 7; /* B has more rows than X */
        shape_of(&call, "in double A[n, n]", "solves A X = B transposed trans right is(uplo, 'U')");
        assert_false(call.solves);
        call.uplo = 'L';
        shape_of(&call, "in double A[n, n]", "solves A X = B transposed trans right is(uplo, 'U')");
        assert_true(call.solves && !call.shape.right && call.shape.transposed == call.trans);
    }
}

/* Each matrix, with each letter of uplo, diag and trans, small and large. */
static void letters_say_what_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *matrix;
        bool triangle, mirrored, conjugated, unit;
    } rows[] = {
        {"in double A[n, n] triangle(uplo)", true, false, false, false},
        {"in double A[n, n] triangle(uplo, diag)", true, false, false, true},
        {"in double A[n, n] triangle(uplo) symmetric", true, true, false, false},
        {"in double A[n, n] triangle(uplo) positive-definite", true, true, false, false},
        {"in double complex A[n, n] triangle(uplo) symmetric", true, true, false, false},
        {"in double complex A[n, n] triangle(uplo) hermitian", true, true, true, false},
        {"in double complex A[n, n] triangle(uplo) positive-definite", true, true, true, false},
        {"in double A[n, n] packed(uplo) symmetric", true, true, false, false},
        {"in double A[n, n] packed(uplo) triangle(uplo, diag)", true, false, false, true},
        {"in double A[n, n] banded(if(is(uplo, 'U'), 0, kl), if(is(uplo, 'U'), kl, 0)) symmetric", true, true,
         false, false},
        {"in double A[n, n] banded(kl, ku, kl)", false, false, false, false},
        {"in double A[n, n] symmetric", false, false, false, false},
    };
    static const char uplos[] = "ULul", diags[] = "UNun", ways[] = "NTCntc";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (const char *uplo = uplos; *uplo; uplo++)
            for (const char *diag = diags; *diag; diag++)
                for (const char *way = ways; *way; way++) {
                    struct call call = usual();
                    call.uplo = *uplo;
                    call.diag = *diag;
                    call.trans = *way;
                    shape_of(&call, rows[i].matrix, "solves A X = B transposed trans");
                    const bool upper = *uplo == 'U' || *uplo == 'u', one = *diag == 'U' || *diag == 'u';
                    const struct system_shape *shape = &call.shape;
                    if (!call.solves || shape->triangle != rows[i].triangle ||
                        (shape->triangle && shape->upper != upper) || shape->mirrored != rows[i].mirrored ||
                        shape->conjugated != rows[i].conjugated || shape->unit != (rows[i].unit && one) ||
                        shape->transposed != ways[(way - ways) % 3])
                        fail_msg("%s, uplo = %c, diag = %c, trans = %c", rows[i].matrix, *uplo, *diag, *way);
                }
}

static void the_tolerance_grows_with_the_order_and_with_what_is_allowed(void **state)
{
    (void)state;
    double before = 0;
    for (int n = 1; n < 1000000; n *= 10) {
        struct call call = usual();
        call.n = call.ldb = n;
        shape_of(&call, "in double A[n, n]", "solves A X = B");
        assert_true(call.shape.tolerance == solves_tolerance(false, n) && call.shape.tolerance > before);
        before = call.shape.tolerance;
        shape_of(&call, "in double A[n, n]", "solves A X = B within 1e-6*nrhs");
        assert_true(call.shape.tolerance == before + 3e-6);
        shape_of(&call, "in float A[n, n]", "solves A X = B");
        assert_true(call.shape.tolerance == solves_tolerance(true, n) && call.shape.tolerance > 1e-5);
        shape_of(&call, "in double A[n, n]", "solves A X = B within 1/(nrhs - 3)"); /* without a value */
        assert_true(call.shape.tolerance == before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_canonical_form_tells_the_equation),
        cmocka_unit_test(wrong_equations_say_what_was_expected),
        cmocka_unit_test(a_call_tells_where_its_arrays_are),
        cmocka_unit_test(an_equation_holds_where_its_condition_does),
        cmocka_unit_test(vectors_may_be_rows),
        cmocka_unit_test(letters_say_what_is_read),
        cmocka_unit_test(the_tolerance_grows_with_the_order_and_with_what_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
