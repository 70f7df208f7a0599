/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "core/problem/problem.h"

#include <stdio.h>
#include <stdlib.h>

static struct problem_set *parse(const char *text)
{
    struct problem_set *set = NULL;
    struct esp_error error;
    if (problem_parse(text, strlen(text), "f.esp", &set, &error) != ESP_OK)
        fail_msg("%s\n%s", error.text, text);
    return set;
}

static const struct argument *argument_of(const struct problem_set *set, const char *problem,
                                          const char *name)
{
    const struct problem *found = problem_find(set, problem);
    if (!found)
        fail_msg("no problem %s", problem);
    int index = problem_argument_index(found, name);
    return index < 0 ? NULL : &found->arguments[index];
}

static void a_family_is_a_problem_for_each_member(void **state)
{
    (void)state;
    struct problem_set *set = parse("problem ?gesv for s, d, c, z \"Solve A X = B\"\n"
                                    "in int n, nrhs\n"
                                    "inout scalar A[n, n]\n"
                                    "out real norm\n"
                                    "inout scalar B[n, nrhs]\n"
                                    "work {1, 1, 4, 4}*2/3*n^3\n"
                                    "implementation lapack\n"
                                    "fortran ?gesv_(n, nrhs, A, B, norm, scalar 1) in liblapack.so.3\n"
                                    "problem other \"after it\"\n");
    static const struct {
        const char *name, *symbol, *work;
        enum base_type scalar, real;
    } rows[] = {
        {"sgesv", "sgesv_", "1*2/3*n^3", TYPE_FLOAT, TYPE_FLOAT},
        {"dgesv", "dgesv_", "1*2/3*n^3", TYPE_DOUBLE, TYPE_DOUBLE},
        {"cgesv", "cgesv_", "4*2/3*n^3", TYPE_COMPLEX, TYPE_FLOAT},
        {"zgesv", "zgesv_", "4*2/3*n^3", TYPE_DOUBLE_COMPLEX, TYPE_DOUBLE},
    };
    assert_int_equal(set->n_problems, 5);
    assert_non_null(problem_find(set, "other"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct problem *problem = problem_find(set, rows[i].name);
        assert_non_null(problem);
        assert_int_equal(argument_of(set, rows[i].name, "A")->type, rows[i].scalar);
        assert_int_equal(argument_of(set, rows[i].name, "norm")->type, rows[i].real);
        assert_string_equal(problem->implementations[0].symbol, rows[i].symbol);
        assert_int_equal(problem->implementations[0].parameters[5].type, rows[i].scalar);
        assert_string_equal(expr_text(problem->work), rows[i].work);
        assert_int_equal(problem->line, 1);
    }
    problem_set_destroy(set);
}

static void the_canonical_form_of_a_member_is_an_ordinary_problem(void **state)
{
    (void)state;
    struct problem_set *set = parse("problem ?{syev,syev,heev} for s, d, z \"a {real,real,complex} matrix\"\n"
                                    "text \"as ?getrf? {i,j,k} {{not, this}\"\n"
                                    "in int n # {a,b} ? are nothing in comments\n"
                                    "in char c = '?' \"which?\"\n"
                                    "when z: work real rwork[2*n]\n"
                                    "require c == '?' \"?{a , b,c} {max(1,2)}\"\n");
    assert_int_equal(set->n_problems, 3);
    assert_string_equal(problem_find(set, "zheev")->source, "problem zheev \"a complex matrix\"\n"
                                                            "text \"as zgetrf? k {{not, this}\"\n"
                                                            "in int n\n"
                                                            "in char c = '?' \"which?\"\n"
                                                            "work double rwork[2*n]\n"
                                                            "require c == '?' \"zc {max(1,2)}\"\n");
    assert_string_equal(problem_find(set, "dsyev")->source, "problem dsyev \"a real matrix\"\n"
                                                            "text \"as dgetrf? j {{not, this}\"\n"
                                                            "in int n\n"
                                                            "in char c = '?' \"which?\"\n"
                                                            "require c == '?' \"db {max(1,2)}\"\n");
    struct problem_set *again = parse(problem_find(set, "zheev")->source);
    assert_int_equal(again->problems[0]->digest, problem_find(set, "zheev")->digest);
    problem_set_destroy(again);
    problem_set_destroy(set);
}

static void words_differ_by_member_and_may_be_empty(void **state)
{
    (void)state;
    struct problem_set *set = parse("problem i?amax for s,d,c,z \"t\"\nout int k\nimplementation blas\n"
                                    "fortran k = i?amax_()\n"
                                    "problem ?dot{,,u,u} for s,d,c,z \"t\"\n"
                                    "problem {s,d,sc,dz}nrm2 for s,d,c,z \"t\"\n"
                                    "problem {,?}x for a int, b int64 \"t\"\nin scalar v\nin real w\n");
    static const char *const names[] = {"isamax", "idamax", "icamax", "izamax", "sdot",   "ddot", "cdotu",
                                        "zdotu",  "snrm2",  "dnrm2",  "scnrm2", "dznrm2", "x",    "bx"};
    assert_int_equal(set->n_problems, sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!problem_find(set, names[i]))
            fail_msg("no problem %s", names[i]);
    assert_int_equal(argument_of(set, "bx", "v")->type, TYPE_INT64);
    assert_int_equal(argument_of(set, "bx", "w")->type, TYPE_INT64);
    problem_set_destroy(set);
}

static void parameters_and_clauses_may_be_for_some_members(void **state)
{
    (void)state;
    struct problem_set *set =
        parse("problem ?heev for d, c, z \"t\"\n"
              "in int n\n"
              "when c or z: work real rwork[max(1,\n  n)]\n"
              "out real w[n]\n"
              "implementation lapack\n"
              "when d: fortran dsyev_(n, w)\n"
              "when c or z: fortran ?heev_(n, when z: (max(1,(n), 2)), w, rwork, when d: n)\n"
              "when c: error n > 3 \"no\"\n");
    assert_null(argument_of(set, "dheev", "rwork"));
    assert_int_equal(argument_of(set, "cheev", "rwork")->type, TYPE_FLOAT);
    const struct implementation *d = problem_find(set, "dheev")->implementations,
                                *c = problem_find(set, "cheev")->implementations,
                                *z = problem_find(set, "zheev")->implementations;
    assert_string_equal(d->symbol, "dsyev_");
    assert_int_equal(d->n_parameters, 2);
    assert_string_equal(c->symbol, "cheev_");
    assert_int_equal(c->n_parameters, 3);
    assert_int_equal(c->n_errors, 1);
    assert_string_equal(z->symbol, "zheev_");
    assert_int_equal(z->n_parameters, 4);
    assert_int_equal(z->n_errors, 0);
    problem_set_destroy(set);
}

static void wrong_families_say_where_and_in_which_member(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"problem ?p \"t\"\n", "1:9: expected the name of the problem, found '?': a family names its "
                               "members: problem ?gesv for s, d, c, z"},
        {"problem p{a,b} \"t\"\n", "1:10: expected the title of the problem in quotes, found '{': a family "
                                   "names its members: problem ?gesv "
                                   "for s, d, c, z"},
        {"problem ?p for \"t\"\n",
         "1:16: expected a member of the family, as in: for s, d, c, z, found \"t\""},
        {"problem ?p for s, d\n",
         "1:20: expected ',' or the title of the problem in quotes, found the end of the line"},
        {"problem ?p for s d \"t\"\n", "1:18: expected ',' or the title of the problem in quotes, found 'd'"},
        {"problem ?p for s, x \"t\"\n",
         "1:19: the member 'x' needs a type, as in: x double (s, d, c and z have theirs)"},
        {"problem ?p for s, d, s \"t\"\n", "1:22: the family has a member 's' already"},
        {"problem ?p for x string \"t\"\n", "1:16: the type of a member is a number, not a string"},
        {"problem ?p for abcdefghijklmnop int \"t\"\n",
         "1:16: the name of a member has at most 15 characters, this one has 16"},
        {"problem ?p for a int,b int,c,d,e int,f int,g int,h int,i int,j int,k int,l int,m int,n int,o int,p "
         "int,"
         "q int \"t\"\n",
         "1:104: a family has at most 16 members"},
        {"problem ?p for s, d \"t\"\nin scalar A[n]\n", "2:13: in the member 's': unknown name 'n'"},
        {"problem ?p for s, d \"t\"\nin int {mm,nn}\nin scalar A[{mm,mm}, 7 + nn]\n",
         "3:26: in the member 's': unknown name 'nn'"},
        {"problem ?p for s, d \"t\"\nin int {mm,nn}\nin scalar A[{mm,kk}]\n",
         "3:17: in the member 'd': unknown name 'kk'"},
        {"problem ?p for s, d, z \"t\"\nin int {mm,nn}\n",
         "2:8: expected 3 words in braces, one for each member of the family, found 2"},
        {"problem ?p for s, d \"{a,b,c}\"\n",
         "1:22: expected 2 words in braces, one for each member of the family, found 3"},
        {"problem ?p for s, d \"t\"\nin int {n}\n",
         "2:8: in the member 's': expected the name of an argument, found '{'"},
        {"problem ?p for s, d \"t\"\nin int {n,\nm}\n",
         "2:8: in the member 's': expected the name of an argument, found '{'"},
        {"problem ?p for s, d \"t\"\nwhen x: in int n\n",
         "2:6: in the member 's': expected a member of the family (s, d), found 'x'"},
        {"problem ?p for s, d \"t\"\nwhen s, d: in int n\n",
         "2:7: in the member 's': expected 'or' or ':', found ','"},
        {"problem ?p for s, d \"t\"\nwhen s in int n\n",
         "2:8: in the member 's': expected 'or' or ':', found 'in'"},
        {"problem ?p for s, d \"t\"\nin int real\n",
         "2:8: in the member 's': expected the name of an argument, found 'real': this word has a meaning of "
         "its own in the language"},
        {"problem p for s \"t\"\nwhen s: when s: in int n\n",
         "2:9: in the member 's': expected a clause (in, out, inout, work, require, ...), found 'when'"},
        {"problem p \"t\"\nwhen s: in int n\n",
         "2:1: 'when' chooses members of a family: problem ?gesv for s, d, c, z"},
        {"problem p \"t\"\nin scalar x\n",
         "2:4: expected a type, found 'scalar': this one is for families: problem ?gesv for s, d, c, z"},
        {"problem p for s, d \"t\"\n",
         "1:9: the name of a family has a place for that of its members: problem ?gesv for s, d, c, z"},
        {"problem ?p for s, d \"t\"\nproblem q \"t\"\nfoo\n",
         "3:1: expected a clause (in, out, inout, work, require, ...), found 'foo'"},
        {"foo\nproblem ?p for s, d \"t\"\n", "1:1: expected 'problem', found 'foo'"},
        {"problem ?p for s, d \"t\nin int n\n", "1:21: this text has no closing '\"' on its line"},
        {"problem p? for s, d \"t\"\nin int n\n  require n > 0 and\n   m < 0\n",
         "3:20: in the member 's': expected a value, found the end of the line"},
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

static void a_member_has_the_limits_of_a_problem(void **state)
{
    (void)state;
    enum { LINES = 9000 };
    char *text = malloc(LINES * 9 + 100);
    assert_non_null(text);
    size_t n = (size_t)sprintf(text, "problem p?_ for abcdefghijklmn int \"t\"\n");
    for (int i = 0; i < LINES; i++)
        n += (size_t)sprintf(text + n, "text\n\"?_\"");
    struct problem_set *set;
    struct esp_error error;
    assert_int_equal(problem_parse(text, n, "f.esp", &set, &error), ESP_SYNTAX);
    assert_non_null(strstr(error.text, "the description of one problem has at most 65536 bytes"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_family_is_a_problem_for_each_member),
        cmocka_unit_test(the_canonical_form_of_a_member_is_an_ordinary_problem),
        cmocka_unit_test(words_differ_by_member_and_may_be_empty),
        cmocka_unit_test(parameters_and_clauses_may_be_for_some_members),
        cmocka_unit_test(wrong_families_say_where_and_in_which_member),
        cmocka_unit_test(a_member_has_the_limits_of_a_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
