/* SPDX-License-Identifier: Apache-2.0
 *
 * The command's arguments: from words to typed memory and back.
 */
#include "config.h"

#include "command/table.h"
#include "command/values.h"
#include "client/api/life.h"
#include "client/session/library.h"
#include "core/values/values_random.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The command's library wants to know how the network is reached: not at all here. */
enum esp_status client_open_transport(const struct settings_client *settings, struct transport **transport,
                                      struct esp_error *error)
{
    (void)settings, (void)transport;
    return error_set(error, ESP_UNREACHABLE, "a test has no network");
}

enum esp_status esp_network_check(void)
{
    return error_set(library_error(), ESP_UNREACHABLE, "a test has no network");
}

/* The problem below has no description in the library. */
static enum esp_status cannot_complete(const struct esp_problem *problem, struct esp_argument *arguments,
                                       size_t n)
{
    (void)problem, (void)arguments, (void)n;
    return ESP_INVALID;
}

static const struct values_library library = {.arguments_complete = cannot_complete,
                                              .last_error = esp_last_error};

enum { N, BIG, ALPHA, Z, UPLO, A, ROWS, V, TENSOR, TEXT, FILE_IN, OUT, LABEL, N_ARGUMENTS };

static const struct esp_problem_argument formals[] = {
    [N] = {.name = "n", .text = "", .mode = ESP_MODE_IN, .type = ESP_TYPE_INT},
    [BIG] = {.name = "big", .text = "", .mode = ESP_MODE_INOUT, .type = ESP_TYPE_INT64},
    [ALPHA] = {.name = "alpha", .text = "", .mode = ESP_MODE_IN, .type = ESP_TYPE_FLOAT},
    [Z] = {.name = "z", .text = "", .mode = ESP_MODE_INOUT, .type = ESP_TYPE_DOUBLE_COMPLEX},
    [UPLO] = {.name = "uplo", .text = "", .mode = ESP_MODE_IN, .type = ESP_TYPE_CHAR},
    [A] = {.name = "A",
           .text = "",
           .mode = ESP_MODE_INOUT,
           .type = ESP_TYPE_DOUBLE,
           .n_dims = 2,
           .dims = {"n", "n"}},
    [ROWS] = {.name = "rows",
              .text = "",
              .mode = ESP_MODE_INOUT,
              .type = ESP_TYPE_INT,
              .properties = ESP_PROPERTY_ROW_MAJOR,
              .n_dims = 2,
              .dims = {"n", "2"}},
    [V] = {.name = "v", .text = "", .mode = ESP_MODE_IN, .type = ESP_TYPE_SHORT, .n_dims = 1, .dims = {"n"}},
    [TENSOR] = {.name = "t",
                .text = "",
                .mode = ESP_MODE_IN,
                .type = ESP_TYPE_DOUBLE,
                .n_dims = 3,
                .dims = {"n", "n", "n"}},
    [TEXT] = {.name = "text", .text = "", .mode = ESP_MODE_IN, .type = ESP_TYPE_STRING},
    [FILE_IN] = {.name = "path", .text = "", .mode = ESP_MODE_IN, .type = ESP_TYPE_FILE},
    [OUT] = {.name = "result",
             .text = "",
             .mode = ESP_MODE_OUT,
             .type = ESP_TYPE_INT,
             .n_dims = 1,
             .dims = {"n"}},
    [LABEL] = {.name = "label", .text = "", .mode = ESP_MODE_OUT, .type = ESP_TYPE_STRING},
};
static const char source[] = "problem mixed \"all kinds\"\nin int n\ninout int64 big\nin float alpha\n"
                             "inout double complex z\nin char uplo\ninout double A[n, n]\n"
                             "inout int rows[n, 2] row-major\nin short v[n]\nin double t[n, n, n]\n"
                             "in string text\nin file path\nout int result[n]\nout string label\n";
static const struct esp_problem problem = {.name = "mixed",
                                           .title = "all kinds",
                                           .text = "",
                                           .gams = "",
                                           .source = source,
                                           .arguments = formals,
                                           .n_arguments = N_ARGUMENTS};

static struct values values;

static int set_up(void **state)
{
    (void)state;
    return values_init(&values, &problem, &library, NULL) != ESP_OK;
}

static int tear_down(void **state)
{
    (void)state;
    values_clear(&values);
    return 0;
}

static void takes(const char *word)
{
    struct esp_error error = {0};
    if (values_assign(&values, word, &error) != ESP_OK)
        fail_msg("%s: %s", word, error.text);
}

static void refuses(const char *word, enum esp_status status, const char *text)
{
    struct esp_error error = {0};
    enum esp_status found = values_assign(&values, word, &error);
    if (found != status)
        fail_msg("%s: expected status %d, found %d: %s", word, status, found, error.text);
    if (!strstr(error.text, text))
        fail_msg("expected \"%s\" in \"%s\"", text, error.text);
}

static void scalars_have_the_type_of_the_description(void **state)
{
    (void)state;
    takes("n=-3");
    assert_int_equal(*(int32_t *)values.arguments[N].data, -3);
    assert_int_equal(values.arguments[N].type, ESP_TYPE_INT);
    takes("big=9007199254740993");
    assert_true(*(int64_t *)values.arguments[BIG].data == INT64_C(9007199254740993));
    takes("alpha=1.5d-1");
    assert_true(*(float *)values.arguments[ALPHA].data == 0.15f);
    takes("z=1-2i");
    assert_true(((double *)values.arguments[Z].data)[0] == 1 &&
                ((double *)values.arguments[Z].data)[1] == -2);
    takes("uplo=L");
    assert_int_equal(*(char *)values.arguments[UPLO].data, 'L');
}

static void numbers_out_of_the_type_s_range_are_refused(void **state)
{
    (void)state;
    refuses("n=2147483648", ESP_INVALID,
            "n: expected an int (-2147483648 to 2147483647), found '2147483648'");
    values_clear(&values);
    set_up(NULL);
    refuses("alpha=1e39", ESP_INVALID, "alpha: expected a float");
    refuses("alpha=1", ESP_INVALID, "given twice");
    refuses("v=[1,40000]", ESP_INVALID, "v: expected elements of type short, found 40000 in row 1, column 2");
    refuses("rows=[1.5,2]", ESP_INVALID, "rows: expected elements of type int, found 1.5");
    refuses("uplo=UL", ESP_INVALID, "uplo: expected a char");
    refuses("z=1+2", ESP_INVALID, "z: expected a double complex");
}

static void arrays_lie_as_their_description_says(void **state)
{
    (void)state;
    takes("A=[1,2;3,4]");
    const double columns[] = {1, 3, 2, 4};
    assert_memory_equal(values.arguments[A].data, columns, sizeof columns);
    assert_int_equal(values.arguments[A].n_dims, 2);
    takes("rows=[1,2;3,4;5,6]");
    const int32_t rows[] = {1, 2, 3, 4, 5, 6};
    assert_memory_equal(values.arguments[ROWS].data, rows, sizeof rows);
    assert_int_equal(values.arguments[ROWS].dims[0], 3);
    assert_int_equal(values.arguments[ROWS].dims[1], 2);
    struct matrix matrix;
    assert_int_equal(values_matrix(&values, ROWS, &matrix, NULL), ESP_OK);
    assert_true(matrix.values[0] == 1 && matrix.values[1] == 3 && matrix.values[3] == 2);
    matrix_clear(&matrix);
}

static void vectors_stand_up_or_lie_down(void **state)
{
    (void)state;
    takes("v=[1;2;3]");
    assert_int_equal(values.arguments[V].n_dims, 1);
    assert_int_equal(values.arguments[V].dims[0], 3);
    assert_int_equal(((int16_t *)values.arguments[V].data)[2], 3);
    values_clear(&values);
    set_up(NULL);
    refuses("v=[1,2;3,4]", ESP_INVALID, "v: expected a vector for v[n], found a matrix of 2 x 2");
    takes("t=[1,2,3,4,5,6,7,8]");
    assert_int_equal(values.slots[TENSOR].count, 8);
    refuses("n=[1,2]", ESP_INVALID, "n: expected one int, found a matrix of 1 x 2");
}

static void strings_and_files_are_theirs(void **state)
{
    (void)state;
    char path[] = "/tmp/test_command.XXXXXX", word[64];
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "two\nlines", 9), 9);
    close(fd);
    snprintf(word, sizeof word, "text=@%s", path);
    takes(word);
    assert_string_equal((char *)values.arguments[TEXT].data, "two\nlines");
    snprintf(word, sizeof word, "path=%s", path);
    takes(word);
    assert_string_equal((char *)values.arguments[FILE_IN].data, path);
    unlink(path);
    values_clear(&values);
    set_up(NULL);
    refuses("path=/nonexistent/x", ESP_NOT_FOUND, "/nonexistent/x");
    refuses("text=@/nonexistent/x", ESP_NOT_FOUND, "/nonexistent/x: no such file");
    refuses("A=@/nonexistent/x", ESP_NOT_FOUND, "/nonexistent/x: no such file");
}

static void only_what_exists_can_be_named(void **state)
{
    (void)state;
    struct esp_error error = {0};
    refuses("alhpa=1", ESP_INVALID, "mixed has no argument 'alhpa': did you mean 'alpha'?");
    refuses("N=1", ESP_INVALID, "did you mean 'n'?");
    refuses("q=1", ESP_INVALID, "mixed has no argument 'q'");
    refuses("=1", ESP_INVALID, "expected NAME=VALUE");
    refuses("result=[1]", ESP_INVALID, "result is an output: '-o result=FILE' saves it");
    assert_int_equal(values_save_to(&values, "n=x", &error), ESP_INVALID);
    assert_int_equal(values_save_to(&values, "A=x", &error), ESP_OK);
    assert_int_equal(values_save_to(&values, "A=y", &error), ESP_INVALID);
    assert_int_equal(values_save_to(&values, "result", &error), ESP_INVALID);
}

static char *json_text(void)
{
    json_t *object = values_json(&values);
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    return text;
}

static void json_keeps_integers_and_tells_nan_by_a_text(void **state)
{
    (void)state;
    takes("big=9007199254740993");
    takes("z=nan");
    takes("A=[1,inf;0.5,4]");
    takes("rows=[1,2]");
    char *text = json_text();
    assert_string_equal(text,
                        "{\"A\":[[1.0,\"Infinity\"],[0.5,4.0]],\"big\":9007199254740993,\"rows\":[[1,2]],"
                        "\"z\":[\"NaN\",0.0]}");
    free(text);
}

static void saved_arrays_are_not_shown(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_command.XXXXXX", word[128], path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/A.mtx", folder);
    snprintf(word, sizeof word, "A=%s", path);
    takes("A=[1,2;3,4]");
    takes("rows=[1,2]");
    takes("big=7");
    assert_int_equal(values_save_to(&values, word, NULL), ESP_OK);
    assert_int_equal(values_write(&values, NULL), ESP_OK);
    char *text = json_text();
    assert_string_equal(text, "{\"big\":7}");
    free(text);
    struct matrix_file file;
    assert_int_equal(matrix_load(path, 0, &file, NULL), ESP_OK);
    assert_true(file.matrix.values[1] == 3);
    matrix_file_clear(&file);
    unlink(path);
    rmdir(folder);
}

static void random_arrays_have_the_extents_that_are_asked_for(void **state)
{
    (void)state;
    struct esp_error error = {0};
    takes("n=3");
    takes("A=rand(n + 1, 2)");
    takes("rows=rand(2,1):7");
    takes("t=rand");
    assert_int_equal(values_make_random(&values, false, &error), ESP_OK);
    assert_int_equal(values.arguments[A].dims[0], 4);
    assert_int_equal(values.arguments[A].dims[1], 2);
    assert_null(values.slots[TENSOR].memory);
    const double *a = values.arguments[A].data;
    for (int k = 0; k < 8; k++)
        assert_true(a[k] >= 0 && a[k] < 1 && (k == 0 || a[k] != a[0]));
    double first = a[0];
    int32_t row = *(int32_t *)values.arguments[ROWS].data;
    assert_true(row >= 0 && row < 100);
    values_clear(&values);
    set_up(NULL);
    takes("A=rand(1,1)");
    assert_int_equal(values_make_random(&values, false, &error), ESP_OK);
    assert_true(*(double *)values.arguments[A].data == first); /* the same name, the same numbers */
    values_clear(&values);
    set_up(NULL);
    takes("A=rand(1,1):8");
    assert_int_equal(values_make_random(&values, false, &error), ESP_OK);
    assert_true(*(double *)values.arguments[A].data != first);
}

static void wrong_random_arrays_are_told(void **state)
{
    (void)state;
    struct esp_error error = {0};
    refuses("A=rand(2,2):x", ESP_INVALID,
            "A: expected rand, rand(ROWS, COLUMNS, ...) or rand:SEED (a number from 0), found 'rand(2,2):x'");
    refuses("v=rand(2", ESP_INVALID, "v: expected rand, rand(ROWS, COLUMNS, ...)");
    refuses("n=rand", ESP_INVALID, "n: expected an int, found 'rand'");
    static const struct {
        const char *word, *text;
    } wrong[] = {
        {"A=rand(q,2)", "A: rand: expression:1:1: unknown name 'q'"},
        {"A=rand(2)", "A: rand: expected 2 extents, found 1"},
        {"A=rand(1,2,3)", "A: rand: expected 2 extents, found more: '3'"},
        {"A=rand(-1,2)", "-1"},
        {"A=rand(200000,200000)", "needs more than the limit of 8.59 GB (--max-input sets the limit)"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        values_clear(&values);
        set_up(NULL);
        takes(wrong[i].word);
        assert_int_not_equal(values_make_random(&values, false, &error), ESP_OK);
        if (!strstr(error.text, wrong[i].text))
            fail_msg("%s: %s", wrong[i].word, error.text);
    }
}

static void what_rounding_leaves_of_no_time_is_none(void **state)
{
    (void)state;
    char text[QUANTITY_TEXT];
    assert_string_equal(quantity_seconds(1.4e-17, text), "0");
    assert_string_equal(quantity_seconds(-1.4e-17, text), "0");
    assert_string_equal(quantity_seconds(3e-9, text), "3 ns");
    assert_string_equal(quantity_seconds(0.0214, text), "21.4 ms");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(scalars_have_the_type_of_the_description),
        TEST(numbers_out_of_the_type_s_range_are_refused),
        TEST(arrays_lie_as_their_description_says),
        TEST(vectors_stand_up_or_lie_down),
        TEST(random_arrays_have_the_extents_that_are_asked_for),
        TEST(wrong_random_arrays_are_told),
        TEST(strings_and_files_are_theirs),
        TEST(only_what_exists_can_be_named),
        TEST(json_keeps_integers_and_tells_nan_by_a_text),
        TEST(saved_arrays_are_not_shown),
        cmocka_unit_test(what_rounding_leaves_of_no_time_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
