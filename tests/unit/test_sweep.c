/* SPDX-License-Identifier: Apache-2.0
 *
 * The values that a parameter sweep varies. */
#include "command/csv_rows.h"
#include "command/sweep.h"
#include "command/sweep_resume.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct esp_problem_argument formals[] = {
    {.name = "n", .type = ESP_TYPE_INT},
    {.name = "alpha", .type = ESP_TYPE_DOUBLE},
    {.name = "uplo", .type = ESP_TYPE_CHAR},
    {.name = "text", .type = ESP_TYPE_STRING},
    {.name = "A", .type = ESP_TYPE_DOUBLE, .n_dims = 2},
};
static const struct esp_problem problem = {.name = "p", .arguments = formals, .n_arguments = 5};

/* Words up to NULL. */
static enum esp_status sweep_of(struct sweep *sweep, struct esp_error *error, char *const *words)
{
    size_t n = 0;
    while (words[n])
        n++;
    return sweep_read(sweep, &problem, words, n, error);
}

#define WORDS(...) ((char *const[]){__VA_ARGS__, NULL})

static void assert_values(const char *word, const char *expected)
{
    struct sweep sweep;
    struct esp_error error = {0};
    char text[256] = "";
    if (sweep_of(&sweep, &error, WORDS((char *)word)) != ESP_OK)
        fail_msg("%s: %s", word, error.text);
    assert_int_equal(sweep.n_points, sweep.axes[0].n);
    for (size_t i = 0; i < sweep.axes[0].n; i++) {
        strcat(text, i ? " " : "");
        strcat(text, sweep.axes[0].values[i]);
    }
    assert_string_equal(text, expected);
    sweep_clear(&sweep);
}

static void ranges_and_lists_are_numbers(void **state)
{
    (void)state;
    assert_values("n=5", "5");
    assert_values("n=1..4", "1 2 3 4");
    assert_values("n=100..1000:300", "100 400 700 1000");
    assert_values("n=1..10:4", "1 5 9");
    assert_values("n=3..1:-1", "3 2 1");
    assert_values("n=-2..2:2", "-2 0 2");
    assert_values("n=7..7", "7");
    assert_values("n=1..3,8,10..12:2", "1 2 3 8 10 12");
    assert_values("alpha=0.1..0.5:0.1", "0.1 0.2 0.3 0.4 0.5");
    assert_values("alpha=-0.2..0.2:0.1", "-0.2 -0.1 0 0.1 0.2");
    assert_values("alpha=1e3,2.5", "1e3 2.5");
    assert_values("uplo=U,L", "U L");
}

static void what_is_no_number_is_one_value(void **state)
{
    (void)state;
    assert_values("text=a,b..c", "a,b..c");
    assert_values("A=[1,2;3,4]", "[1,2;3,4]");
    assert_values("A=@dir/a..b,c.mtx", "@dir/a..b,c.mtx");
}

static void assert_wrong(enum esp_status status, const char *text, char *const *words)
{
    struct sweep sweep;
    struct esp_error error = {0};
    assert_int_equal(sweep_of(&sweep, &error, words), status);
    if (!strstr(error.text, text))
        fail_msg("expected \"%s\" in \"%s\"", text, error.text);
}

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    assert_wrong(ESP_INVALID, "expected NAME=VALUES, found 'n'", WORDS("n"));
    assert_wrong(ESP_INVALID, "expected NAME=VALUES, found 'n='", WORDS("n="));
    assert_wrong(ESP_INVALID, "p has no argument 'm'", WORDS("m=1"));
    assert_wrong(ESP_INVALID, "expected a value between commas", WORDS("n=1,,2"));
    assert_wrong(ESP_INVALID, "expected a value between commas", WORDS("n=1,"));
    assert_wrong(ESP_INVALID, "expected a range such as", WORDS("n=a..b"));
    assert_wrong(ESP_INVALID, "expected a range such as", WORDS("n=1..2:x"));
    assert_wrong(ESP_INVALID, "expected a range such as", WORDS("n=1..inf"));
    assert_wrong(ESP_INVALID, "expected a step that leads from 1 to 2, found 0", WORDS("n=1..2:0"));
    assert_wrong(ESP_INVALID, "expected a step that leads from 2 to 1, found 1", WORDS("n=2..1"));
    assert_wrong(ESP_LIMIT, "at most 100000", WORDS("n=1..1e9"));
    assert_wrong(ESP_LIMIT, "at most 100000", WORDS("alpha=0..1:1e-300"));
    assert_wrong(ESP_LIMIT, "more than 100000 combinations", WORDS("n=1..1000", "alpha=1..1000"));
}

static void the_first_name_changes_slowest(void **state)
{
    (void)state;
    struct sweep sweep;
    struct esp_error error;
    char *text;
    assert_int_equal(sweep_of(&sweep, &error, WORDS("n=1,2", "A=@a/x", "alpha=0.5,1", "A=@b")), ESP_OK);
    assert_int_equal(sweep.n_axes, 3);
    assert_int_equal(sweep.n_points, 8);
    static const char *const expected[] = {"1-@a_x-0.5", "1-@a_x-1", "1-@b-0.5", "1-@b-1",
                                           "2-@a_x-0.5", "2-@a_x-1", "2-@b-0.5", "2-@b-1"};
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(sweep_fill(&sweep, i, "{n}-{A}-{alpha}", &text, &error), ESP_OK);
        assert_string_equal(text, expected[i]);
        free(text);
    }
    assert_int_equal(sweep_check_pattern(&sweep, "x={n}{A}{alpha}", &error), ESP_OK);
    assert_int_equal(sweep_check_pattern(&sweep, "x={n}{alpha}", &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "expected {A} in the name, because A takes 2 values"));
    assert_int_equal(sweep_check_pattern(&sweep, "x={n}{alpha}{A}{m}", &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "{m} is no argument of this sweep"));
    sweep_clear(&sweep);
}

static void assert_value(const struct sweep *sweep, size_t point, size_t axis, const char *expected)
{
    char *text;
    assert_int_equal(sweep_value(sweep, point, axis, &text, NULL), ESP_OK);
    assert_string_equal(text, expected);
    free(text);
}

static void arrays_and_files_are_named_by_what_varies(void **state)
{
    (void)state;
    struct sweep sweep;
    struct esp_error error = {0};
    assert_int_equal(
        sweep_of(&sweep, &error, WORDS("n=2,30", "A=@in/r{n}.csv", "A=rand({n},2*{n})", "text={n} {x}")),
        ESP_OK);
    assert_int_equal(sweep.n_points, 4);
    assert_value(&sweep, 0, 1, "@in/r2.csv");
    assert_value(&sweep, 3, 1, "rand(30,2*30)");
    assert_value(&sweep, 3, 0, "30");
    assert_value(&sweep, 0, 2, "2 {x}");
    sweep_clear(&sweep);
    assert_int_equal(sweep_of(&sweep, &error, WORDS("n=2,30", "A=@r{m}.csv")), ESP_INVALID);
    assert_string_equal(error.text, "A: {m} is no argument of this sweep");
}

/* ---- going on in a file ---- */

#define HEADING "n,text,result,sweep,error,note\n"

static char *path_of_rows;

static void write_file(const char *text)
{
    FILE *file = fopen(path_of_rows, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void assert_file(const char *expected)
{
    char text[1024] = "";
    FILE *file = fopen(path_of_rows, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

static bool whole_but_for(void *point, size_t asked)
{
    return asked != *(size_t *)point;
}

/* Resumes n=1..3 with text "a,b" in the file: the points that are done, as "101", or the error's text. */
static enum esp_status resume(char *done_text, size_t lacking_files)
{
    struct sweep sweep;
    struct esp_error error = {0};
    bool done[3] = {false};
    FILE *file = NULL;
    assert_int_equal(sweep_of(&sweep, &error, WORDS("n=1..3", "text=a,b")), ESP_OK);
    enum esp_status status = sweep_resume(&sweep, path_of_rows, HEADING, "p -s S", whole_but_for,
                                          &lacking_files, done, &file, &error);
    for (size_t i = 0; i < 3; i++)
        done_text[i] = done[i] ? '1' : '0';
    strcpy(done_text + 3, status == ESP_OK ? "" : error.text);
    if (file)
        fclose(file);
    sweep_clear(&sweep);
    return status;
}

static void a_sweep_goes_on_where_its_file_ends(void **state)
{
    (void)state;
    char done[1024];
    unlink(path_of_rows);
    assert_int_equal(resume(done, 9), ESP_OK);
    assert_string_equal(done, "000");
    assert_file(HEADING);
    write_file(HEADING "1,\"a,b\",7,p -s S,,\n3,\"a,b\",9,p -s S,,\"it is \"\"odd\"\"\nand more\"\n");
    assert_int_equal(resume(done, 9), ESP_OK);
    assert_string_equal(done, "101");
    assert_file(HEADING "1,\"a,b\",7,p -s S,,\n3,\"a,b\",9,p -s S,,\"it is \"\"odd\"\"\nand more\"\n");
}

static void rows_that_failed_or_broke_off_leave_the_file(void **state)
{
    (void)state;
    char done[1024];
    write_file(
        HEADING
        "1,\"a,b\",,p -s S,no server,\n2,\"a,b\",8,p -s S,,\n5,other,1,p -s S,no server,\n3,\"a,b\",9");
    assert_int_equal(resume(done, 9), ESP_OK);
    assert_string_equal(done, "010");
    assert_file(HEADING "2,\"a,b\",8,p -s S,,\n5,other,1,p -s S,no server,\n");
    write_file(HEADING "1,\"a,b\",7,p -s S,,\n1,\"a,b\",7,p -s S,,\n2,\"a,b\",8,p -s S,,\n");
    assert_int_equal(resume(done, 1), ESP_OK); /* the second call's files are gone */
    assert_string_equal(done, "100");
    assert_file(HEADING "1,\"a,b\",7,p -s S,,\n");
}

static void a_file_of_another_sweep_is_left_alone(void **state)
{
    (void)state;
    static const char *const others[] = {"n,result,sweep,error,note\n1,7,p -s S,,\n", "torn", HEADING "1,2\n",
                                         HEADING "1,\"a,b\",7,q -s S,,\n"};
    char done[1024];
    for (size_t i = 0; i < 4; i++) {
        write_file(others[i]);
        assert_int_equal(resume(done, 9), ESP_SYNTAX);
        assert_non_null(strstr(done, path_of_rows));
        assert_file(others[i]);
    }
    assert_non_null(strstr(done, "row 2: expected a call of this sweep, 'p -s S', found one of 'q -s S'"));
}

static void csv_cells_come_back_as_they_were_written(void **state)
{
    (void)state;
    static const char *const cells[] = {"", "plain", "a,b", "\"", "\"\"", "say \"x\",\r\ny", "\n", ","};
    struct csv_rows rows;
    struct esp_error error;
    FILE *file = fopen(path_of_rows, "w");
    assert_non_null(file);
    for (size_t line = 0; line < 2; line++) {
        for (size_t i = 0; i < 8; i++)
            csv_cell_write(file, cells[(i + line) % 8], i == 0);
        fputs(line ? "\r\n" : "\n", file);
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(csv_rows_read(&rows, path_of_rows, &error), ESP_OK);
    assert_int_equal(rows.n, 2);
    assert_false(rows.is_torn);
    for (size_t line = 0; line < 2; line++) {
        assert_int_equal(rows.rows[line].n, 8);
        for (size_t i = 0; i < 8; i++)
            assert_string_equal(rows.rows[line].cells[i], cells[(i + line) % 8]);
    }
    csv_rows_clear(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_and_lists_are_numbers),
        cmocka_unit_test(arrays_and_files_are_named_by_what_varies),
        cmocka_unit_test(what_is_no_number_is_one_value),
        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(the_first_name_changes_slowest),
        cmocka_unit_test(a_sweep_goes_on_where_its_file_ends),
        cmocka_unit_test(rows_that_failed_or_broke_off_leave_the_file),
        cmocka_unit_test(a_file_of_another_sweep_is_left_alone),
        cmocka_unit_test(csv_cells_come_back_as_they_were_written),
    };
    char folder[] = "/tmp/espalier-test-sweep-XXXXXX", path[64];
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    path_of_rows = path;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return failed;
}
