/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptions of programs: what they come to, and what is wrong with them.
 */
#include "tests/unit/unit.h"
#include "core/problem/problem.h"

#define P                                                                                                    \
    "problem p \"t\"\nin int n\nin double x[n]\nin string s\nout double y[n]\nout file f\nimplementation "   \
    "i\n"
#define C P "command \"a\" \"{y}\" \"{f}\"\n"

static void wrong_commands_say_where_and_what(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {P "command\n", "8:8: expected a program, as \"sort\", found the end of the line"},
        {P "command \"\"\n", "8:9: a program has a name of its own: callers do not choose it"},
        {P "command \"{s}\"\n", "8:9: a program has a name of its own: callers do not choose it"},
        {P "command a b\n",
         "8:11: expected a word in quotes or the end of the line, found 'b': the words of a "
         "command stand in quotes: \"-n\" \"{n}\""},
        {P "command a \"{n\"\n", "8:11: '{' without '}' in a word (write {{ for a brace)"},
        {P "command a \"n}\"\n", "8:11: '}' without '{' in a word (write }} for a brace)"},
        {P "command a \"{m}\"\n", "8:11: unknown name 'm'"},
        {P "command a \"{x + 1}\"\n", "8:11: 'x' is an array: an expression can use scalars only"},
        {P "command a \"{n n}\"\n", "8:11: expected an operator or '}', found 'n'"},
        {P "command a \"{}\"\n", "8:11: expected a value, found the end of the expression"},
        {C "command b\n", "9:9: the implementation 'i' has a call already: a()"},
        {P "command a\n", "8:9: the output 'y' does not come back from the command: expected a line with "
                          "'stdout y' or 'file y'"},
        {P "command a \"{y}\"\n", "8:9: the output 'f' does not come back from the command: expected a line "
                                  "with 'stdout f' or 'file f'"},
        {P "stdin x\n", "8:7: 'stdin' belongs behind a 'command' line"},
        {P "fortran g(n, y)\nfile x\n", "8:9: the output 'f' is not among the parameters of g()"},
        {C "stdin z\n", "9:7: expected an argument of the problem, found 'z'"},
        {C "stdin y\n", "9:7: 'y' is an output: a command cannot read it"},
        {C "stdout x\n", "9:8: 'x' is an input: a command cannot give it back"},
        {C "file x csv\n", "9:8: expected a format (raw, text, matrix-market), found 'csv'"},
        {C "file x txet\n",
         "9:8: expected a format (raw, text, matrix-market), found 'txet': did you mean 'text'?"},
        {C "file s matrix-market\n", "9:6: 's' is a string: it goes as it is ('raw')"},
        {C "stdin x\nstdin x\n", "10:7: 'x' has its way to the command and back already"},
        {C "stdin x raw\nstdin n\n", "10:7: only numbers as 'text' can share a standard stream"},
        {C "file x \"../x\"\n", "9:8: expected the name of a file in the call's own folder: at most 63 "
                                "characters, no '/', no blanks, not beginning with '.' or '-'"},
        {C "file x \"-x\"\n", "9:8: expected the name of a file in the call's own folder: at most 63 "
                              "characters, no '/', no blanks, not beginning with '.' or '-'"},
        {C "file x \"y.txt\"\n", "8:9: 'x' and 'y' would have the same file 'y.txt'"},
        {C "limit 3\n", "9:7: expected a time or a size in quotes, as \"10 s\" or \"100 MiB\", found 3"},
        {C "limit \"long\"\n", "9:7: expected a time or a size, as \"10 s\" or \"100 MiB\", found \"long\""},
        {C "limit \"0 s\"\n", "9:7: expected a time or a size, as \"10 s\" or \"100 MiB\", found \"0 s\""},
        {P "limit \"1 s\"\n", "8:7: 'limit' belongs behind the call that it is about"},
        {"problem p \"t\"\nin int n\nout int m\nimplementation i\nc m = f(n)\nsuccess n == 1\n",
         "6:9: 'success' belongs behind the 'command' whose exit status it is about: a routine has none"},
        {C "success\n", "9:8: expected a value, found the end of the line"},
        {C "success 1 == 2\n", "9:9: 1 == 2 never holds: it would never apply"},
        {C "error state != 0 \"m\"\n", "9:7: unknown name 'state': did you mean 'status'?"},
        {"problem p \"t\"\nin int status\nimplementation i\ncommand a\n",
         "4:9: 'status' is the exit status of a command: an argument cannot have this name"},
        {"problem p \"t\"\nin int n\nwork int w[n]\nimplementation i\ncommand a \"{w}\"\n",
         "5:11: 'w' is work memory, which only a routine has"},
        {"problem p \"t\"\nin int n\nin double a[n,n,n]\nimplementation i\ncommand a\nfile a matrix-market\n",
         "6:6: 'a' cannot go as matrix-market: expected numbers of at most two dimensions"},
    };
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct problem_set *set = NULL;
        struct esp_error error;
        if (problem_parse(rows[i].text, strlen(rows[i].text), "f.esp", &set, &error) != ESP_SYNTAX)
            fail_msg("accepted: %s", rows[i].text);
        assert_null(set);
        if (strcmp(error.text + 6, rows[i].message) != 0)
            print_error("%s\nexpected: %s\nfound:    %s\n", rows[i].text, rows[i].message, error.text + 6),
                wrong++;
    }
    assert_int_equal(wrong, 0);
}

static void a_command_is_what_it_says(void **state)
{
    (void)state;
    static const char text[] = P "command \"a\" \"-n{n}\" \"{ s }\" \"{x}\" \"{{}}\"\n    \"{2*n}\"\nstdout "
                                 "y\nfile f\nlimit \"2 min\"\n"
                                 "limit \"3 MiB\"\nsuccess status == 1\nerror status == 3 \"m\"\n";
    struct problem_set *set = NULL;
    struct esp_error error;
    if (problem_parse(text, strlen(text), "f.esp", &set, &error) != ESP_OK)
        fail_msg("%s", error.text);
    const struct implementation *implementation = &set->problems[0]->implementations[0];
    const struct command *command = implementation->command;
    assert_string_equal(implementation->symbol, "a");
    assert_int_equal(implementation->convention, CONVENTION_COMMAND);
    assert_int_equal(implementation->time_limit_ms, 120000);
    assert_int_equal(command->n_words, 6);
    assert_int_equal(command->word_ends[1], 3);
    assert_int_equal(command->parts[3].kind, PART_STRING);
    assert_int_equal(command->parts[4].kind, PART_FILE);
    assert_string_equal(command->parts[5].text, "{}");
    assert_int_equal(implementation->output_bytes, 3 << 20);
    assert_int_equal(implementation->n_errors, 2);
    assert_int_equal(implementation->errors[0].verdict, VERDICT_DONE);
    assert_int_equal(implementation->errors[1].verdict, VERDICT_FAILED);
    assert_string_equal(command_file_of(command, 1)->name, "x.txt");
    assert_string_equal(command_file_of(command, 4)->name, "f");
    assert_null(command_file_of(command, 3));
    problem_set_destroy(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_commands_say_where_and_what),
        cmocka_unit_test(a_command_is_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
