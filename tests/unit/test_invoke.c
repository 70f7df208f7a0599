/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls made from a description: signatures, and libffi behind them.
 */
#include "tests/unit/unit.h"
#include "sed/crd/invoke.h"

#include <complex.h>
#include <stdio.h>
#include <stdlib.h>

static struct problem_set *problems;

static const struct problem *describe(const char *text)
{
    struct esp_error error;
    problem_set_destroy(problems);
    problems = NULL;
    if (problem_parse(text, strlen(text), "/somewhere/test.esp", &problems, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return problems->problems[0];
}

static int teardown(void **state)
{
    (void)state;
    problem_set_destroy(problems);
    return 0;
}

static struct call_signature signature_of(const char *text)
{
    struct call_signature signature;
    struct esp_error error;
    const struct problem *problem = describe(text);
    if (signature_build(problem, &problem->implementations[0], &signature, &error) != ESP_OK)
        fail_msg("%s", error.text);
    assert_true(signature_is_sane(&signature));
    return signature;
}

static void call(const char *text, void (*routine)(void), void *const *operands, void *result)
{
    struct call_signature signature = signature_of(text);
    struct invocation *invocation;
    struct esp_error error;
    if (invocation_create(&signature, routine, &invocation, &error) != ESP_OK)
        fail_msg("%s", error.text);
    invocation_call(invocation, operands, result);
    invocation_destroy(invocation);
}

static double all_kinds(char a, short b, int c, int64_t d, float e, double f)
{
    return a + 10 * b + 100 * c + 1000 * (double)d + 10000 * e + 100000 * f;
}

static void scalars_in_go_by_value(void **state)
{
    (void)state;
    char a = -1;
    short b = -2;
    int c = 3;
    int64_t d = 4;
    float e = 0.5f;
    double f = 0.25, result = 0;
    call("problem p \"x\"\n in char a\n in short b\n in int c\n in long d\n in float e\n in double f\n"
         " out double r\nimplementation i\n c r = all_kinds(a, b, c, d, e, f) in x.so\n",
         (void (*)(void))all_kinds, (void *[]){&a, &b, &c, &d, &e, &f}, &result);
    assert_true(result == all_kinds(a, b, c, d, e, f));
}

static void scalars_out(int n, int *doubled, float complex *turned)
{
    *doubled = 2 * n;
    *turned = (float)n * I;
}

static void scalars_out_go_by_address(void **state)
{
    (void)state;
    int n = 21, doubled = 0;
    float complex turned = 0;
    call("problem p \"x\"\n in int n\n out int doubled\n out complex turned\n"
         "implementation i\n c scalars_out(n, doubled, turned) in x.so\n",
         (void (*)(void))scalars_out, (void *[]){&n, &doubled, &turned}, NULL);
    assert_int_equal(doubled, 42);
    assert_true(turned == 21 * I);
}

static short negative(short n)
{
    return (short)-n;
}

static void a_narrow_result_is_stored_as_itself(void **state)
{
    (void)state;
    short n = 5;
    struct {
        short value, behind;
    } result = {0, 77};
    call("problem p \"x\"\n in short n\n out short r\nimplementation i\n c r = negative(n) in x.so\n",
         (void (*)(void))negative, (void *[]){&n}, &result.value);
    assert_int_equal(result.value, -5);
    assert_int_equal(result.behind, 77);
}

static double complex zconj(double complex z)
{
    return conj(z);
}

static void complex_numbers_go_by_value_both_ways(void **state)
{
    (void)state;
    double complex z = 3 + 4 * I, result = 0;
    call("problem p \"x\"\n in double complex z\n out double complex r\nimplementation i\n c r = zconj(z) in "
         "x.so\n",
         (void (*)(void))zconj, (void *[]){&z}, &result);
    assert_true(result == 3 - 4 * I);
}

static void lengths(const char *one, const char *name, const int *n, double *x, size_t h1, size_t h2)
{
    x[0] = (double)h1;
    x[1] = (double)h2;
    x[2] = *n + *one + name[1];
}

static void fortran_takes_addresses_and_hidden_lengths(void **state)
{
    (void)state;
    char one = 'a', name[] = "xy";
    int n = 3;
    double x[3] = {0};
    call("problem p \"x\"\n in char one\n in int m\n in char name[m]\n in int n\n out double x[n]\n"
         "implementation i\n fortran lengths_(one, name, n, x) in x.so\n",
         (void (*)(void))lengths, (void *[]){&one, name, &n, x, (void *)(uintptr_t)1, (void *)(uintptr_t)2},
         NULL);
    assert_true(x[0] == 1 && x[1] == 2 && x[2] == 3 + 'a' + 'y');
}

static void a_result_parameter_goes_by_address_in_c_too(void **state)
{
    (void)state;
    struct call_signature signature =
        signature_of("problem p \"x\"\n in int n\nimplementation i\n c f(n, out info) in x.so\n");
    assert_int_equal(signature.n_parameters, 2);
    assert_int_equal(signature.parameters[0].pass, PASS_VALUE);
    assert_int_equal(signature.parameters[1].pass, PASS_ADDRESS);
}

static void keys_tell_signatures_apart(void **state)
{
    (void)state;
    struct call_signature a = signature_of("problem p \"x\"\n in int n\nimplementation i\n c f(n) in x.so\n");
    struct call_signature same =
        signature_of("problem q \"y\"\n in int k\nimplementation i\n c f(k) in x.so\n");
    struct call_signature other =
        signature_of("problem p \"x\"\n in short n\nimplementation i\n c f(n) in x.so\n");
    assert_true(a.key == same.key && signature_equal(&a, &same));
    assert_true(a.key != other.key && !signature_equal(&a, &other));
}

static void the_folder_of_the_description_is_searched_for_its_library(void **state)
{
    (void)state;
    struct call_signature beside =
        signature_of("problem p \"x\"\n in int n\nimplementation i\n c f(n) in x.so\n");
    assert_string_equal(beside.folder, "/somewhere");
    struct call_signature absolute =
        signature_of("problem p \"x\"\n in int n\nimplementation i\n c f(n) in \"/lib/x.so\"\n");
    assert_string_equal(absolute.folder, "");
}

static void a_damaged_signature_is_seen(void **state)
{
    (void)state;
    struct call_signature signature =
        signature_of("problem p \"x\"\n in int n\nimplementation i\n c f(n) in x.so\n");
    struct call_signature damaged = signature;
    damaged.n_parameters = SIGNATURE_MAX_PARAMETERS + 1;
    assert_false(signature_is_sane(&damaged));
    damaged = signature;
    memset(damaged.symbol, 'x', sizeof damaged.symbol);
    assert_false(signature_is_sane(&damaged));
    damaged = signature;
    damaged.parameters[0].type = 99;
    assert_false(signature_is_sane(&damaged));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_in_go_by_value),
        cmocka_unit_test(scalars_out_go_by_address),
        cmocka_unit_test(a_narrow_result_is_stored_as_itself),
        cmocka_unit_test(complex_numbers_go_by_value_both_ways),
        cmocka_unit_test(fortran_takes_addresses_and_hidden_lengths),
        cmocka_unit_test(a_result_parameter_goes_by_address_in_c_too),
        cmocka_unit_test(keys_tell_signatures_apart),
        cmocka_unit_test(the_folder_of_the_description_is_searched_for_its_library),
        cmocka_unit_test(a_damaged_signature_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
