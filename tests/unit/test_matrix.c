/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/matrix/matrix.h"
#include "tests/unit/unit.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *example(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/examples/matrices/%s", getenv("top_srcdir"), name);
    return path;
}

static void load(const char *name, struct matrix_file *file)
{
    struct esp_error error = {0};
    if (matrix_load(example(name), 0, file, &error) != ESP_OK)
        fail_msg("%s", error.text);
}

static void parse(const char *text, struct matrix_file *file)
{
    struct esp_error error = {0};
    if (matrix_parse(text, strlen(text), "m", 0, file, &error) != ESP_OK)
        fail_msg("%s", error.text);
}

/* The error without the format that the text was read as. */
static const char *without_format(struct esp_error *error)
{
    char *as = strstr(error->text, " (read as ");
    if (as)
        *as = 0;
    return error->text;
}

static void refuses(const char *text, const char *message)
{
    struct matrix_file file;
    struct esp_error error = {0};
    enum esp_status status = matrix_parse(text, strlen(text), "m", 0, &file, &error);
    assert_int_not_equal(status, ESP_OK);
    assert_string_equal(without_format(&error), message);
    assert_null(file.matrix.values);
}

static double at(const struct matrix *matrix, int64_t row, int64_t col)
{
    double re, im;
    matrix_element(matrix, row - 1, col - 1, &re, &im);
    return re;
}

static void both_forms_of_lund_give_the_same_bits(void **state)
{
    (void)state;
    struct matrix_file rsa, mtx;
    load("lund_a.rsa", &rsa);
    load("lund_a.mtx", &mtx);
    assert_string_equal(matrix_format_name(rsa.format), "Harwell-Boeing");
    assert_string_equal(matrix_format_name(mtx.format), "Matrix Market");
    assert_true(matrix_is_sparse(&rsa.matrix) && matrix_is_sparse(&mtx.matrix));
    assert_int_equal(matrix_stored(&rsa.matrix), 2 * 1298 - 147);
    assert_memory_equal(rsa.matrix.indices, mtx.matrix.indices, (2 * 1298 - 147) * sizeof(int64_t));
    assert_int_equal(rsa.matrix.rows, 147);
    assert_int_equal(rsa.entries, 1298);
    assert_memory_equal(rsa.matrix.values, mtx.matrix.values, matrix_bytes(&rsa.matrix));
    assert_true(matrix_is_symmetric(&rsa.matrix, 0, NULL, NULL));
    assert_true(matrix_has_positive_diagonal(&rsa.matrix, 0));
    assert_int_equal(matrix_nonzeros(&rsa.matrix), 2 * 1298 - 147);
    assert_string_equal(rsa.key, "LUND A");
    assert_true(at(&mtx.matrix, 1, 1) == 7.5e7);
    assert_true(at(&mtx.matrix, 1, 8) == -1.2179486e7);
    matrix_file_clear(&rsa);
    matrix_file_clear(&mtx);
}

static void utm300_brings_its_right_hand_side(void **state)
{
    (void)state;
    struct matrix_file file;
    load("utm300.rua", &file);
    assert_int_equal(file.matrix.rows, 300);
    assert_int_equal(file.matrix.cols, 300);
    assert_int_equal(file.entries, 3155);
    assert_int_equal(matrix_nonzeros(&file.matrix), 3155);
    assert_true(at(&file.matrix, 1, 1) == -.707106816579618);
    assert_true(at(&file.matrix, 300, 300) == -.772876425427416E+00);
    assert_int_equal(file.rhs.rows, 300);
    assert_int_equal(file.rhs.cols, 1);
    assert_true(file.rhs.values[299] == -.392547043891108e-14);
    assert_false(matrix_is_symmetric(&file.matrix, 0, NULL, NULL));
    matrix_file_clear(&file);
}

static void a_file_without_right_hand_side_has_none(void **state)
{
    (void)state;
    struct matrix_file file;
    load("pores_1.mtx", &file);
    assert_int_equal(file.matrix.rows, 30);
    assert_null(file.rhs.values);
    assert_true(at(&file.matrix, 2, 1) == -7.1785016460000e+06);
    matrix_file_clear(&file);
}

static void wrong_mtx_is_told_where_it_is_wrong(void **state)
{
    (void)state;
    struct matrix_file file;
    struct esp_error error;
    assert_int_equal(matrix_load(example("wrong.mtx"), 0, &file, &error), ESP_SYNTAX);
    assert_non_null(strstr(error.text, "wrong.mtx:3: row 0: indices start at 1"));
    assert_int_equal(matrix_load(example("none.mtx"), 0, &file, &error), ESP_NOT_FOUND);
    assert_non_null(strstr(error.text, "none.mtx: no such file"));
}

static void market_arrays_run_down_the_columns(void **state)
{
    (void)state;
    struct matrix_file file;
    parse("%%MatrixMarket matrix array real general\n% a comment\n\n2 3\n1\n2\n3\r\n 4 \n5e0\n6.\n", &file);
    for (int k = 0; k < 6; k++)
        assert_true(file.matrix.values[k] == k + 1);
    matrix_file_clear(&file);
}

static void market_symmetries_fill_the_other_triangle(void **state)
{
    (void)state;
    struct matrix_file file;
    parse("%%MatrixMarket Matrix Array Integer Symmetric\n2 2\n1\n2\n3\n", &file);
    assert_true(at(&file.matrix, 1, 2) == 2 && at(&file.matrix, 2, 1) == 2 && at(&file.matrix, 2, 2) == 3);
    matrix_file_clear(&file);
    parse("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n", &file);
    assert_true(at(&file.matrix, 2, 1) == 1 && at(&file.matrix, 1, 2) == -1);
    assert_true(at(&file.matrix, 3, 2) == 3 && at(&file.matrix, 2, 3) == -3 && at(&file.matrix, 1, 1) == 0);
    matrix_file_clear(&file);
    parse("%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 4 0\n2 1 1 2\n", &file);
    assert_true(file.matrix.is_complex);
    const double *v = file.matrix.values;
    assert_true(v[2] == 1 && v[3] == 2 && v[4] == 1 && v[5] == -2);
    assert_true(matrix_is_symmetric(&file.matrix, 0, NULL, NULL));
    matrix_file_clear(&file);
    parse("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n", &file);
    assert_true(at(&file.matrix, 1, 2) == 1 && at(&file.matrix, 1, 1) == 0);
    matrix_file_clear(&file);
}

static void empty_matrices_are_matrices(void **state)
{
    (void)state;
    struct matrix_file file;
    parse("%%MatrixMarket matrix coordinate real general\n0 0 0\n", &file);
    assert_non_null(file.matrix.values);
    assert_int_equal(matrix_bytes(&file.matrix), 0);
    matrix_file_clear(&file);
    parse("%%MatrixMarket matrix coordinate real general\n3 2 0\n", &file);
    assert_true(matrix_norm_inf(&file.matrix) == 0);
    matrix_file_clear(&file);
}

static void market_mistakes_are_named(void **state)
{
    (void)state;
    refuses("", "m: expected a matrix, found an empty file");
    refuses("hello\n", "m:1: expected a matrix file (Matrix Market, NumPy, Rutherford-Boeing, "
                       "Harwell-Boeing, Octave text or "
                       "CSV), found 'hello'");
    refuses("%%MatrixMarket matrix band real general\n",
            "m:1: expected the format: array or coordinate, found 'band'");
    refuses("%%MatrixMarket matrix array real\n", "m:1: expected the symmetry: general, symmetric, "
                                                  "skew-symmetric or hermitian, found the end of the line");
    refuses("%%MatrixMarket matrix array pattern general\n2 2\n",
            "m:1: a pattern needs coordinates, found an array");
    refuses("%%MatrixMarket matrix array real hermitian\n2 2\n",
            "m:1: a Hermitian matrix is complex, found real");
    refuses("%%MatrixMarket matrix array real general\n",
            "m:1: expected the line with the numbers of rows and columns, found the end of the file");
    refuses("%%MatrixMarket matrix array real general\n2 x\n",
            "m:2: expected the number of columns, found 'x'");
    refuses("%%MatrixMarket matrix array real general\n-2 2\n",
            "m:2: expected the number of rows, found '-2'");
    refuses("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n",
            "m:2: a symmetric matrix is square, found 2 rows and 3 columns");
    refuses("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.5\n2 2 1.5.2\n",
            "m:4: expected a real number, found '1.5.2'");
    refuses("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n",
            "m:3: expected an integer value, found '1.5'");
    refuses("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 9007199254740993\n",
            "m:3: integer '9007199254740993' does not fit a double exactly");
    refuses(
        "%%MatrixMarket matrix coordinate real general\n1000000000 1000000000 1\n1 1 1\n",
        "m:2: a matrix of 1000000000 columns with 1 entries: expected at most 16777216 columns, or 64 for "
        "each entry");
    refuses("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1e999\n",
            "m:3: '1e999' is beyond the range of a double");
    refuses("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1+2\n",
            "m:3: expected a real number, found '1+2'"); /* Fortran's 100 only where a format says so */
    refuses("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 0x10\n",
            "m:3: expected a real number, found '0x10'");
    refuses("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1 7\n",
            "m:3: expected the end of the line, found '7'");
    refuses("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n",
            "m:3: row 3: the matrix has 2 rows");
    refuses("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 99999999999999999999 1\n",
            "m:3: expected a column index, found '99999999999999999999'");
    refuses("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n1 1 1\n",
            "m:4: entry (1,1) is given a second time; --sum-duplicates adds such entries");
    refuses("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n2 1 1\n",
            "m:4: entry (2,1) is given a second time (each pair is written once); --sum-duplicates adds such "
            "entries");
    refuses("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n1 2 1\n",
            "m:4: entry (1,2) is above the diagonal: of a matrix that is not general the file has the lower "
            "triangle only; write (2,1), or say general");
    refuses("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n",
            "m:3: entry (1,1) is not zero, as the diagonal of a skew-symmetric matrix is");
}

static void lying_counts_are_found_out_before_memory_is_taken(void **state)
{
    (void)state;
    refuses("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.00000\n",
            "m:3: expected 2 entries, found 1 and the end of the file");
    refuses("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n2 2 1\n",
            "m:4: expected the end of the file after 1 entries, found '2 2 1'");
    refuses(
        "%%MatrixMarket matrix array real general\n1000 1000\n1\n",
        "m:2: 1000000 entries are announced, but the file holds only 2 more bytes: it is truncated or its "
        "header is wrong");
    refuses("%%MatrixMarket matrix array real general\n4000000000 4000000000\n1\n",
            "m:2: 4000000000 x 4000000000 elements are too many");
    struct matrix_file file;
    struct esp_error error;
    parse("%%MatrixMarket matrix coordinate real general\n1000000 1000000 1\n7 9 1\n", &file);
    assert_true(at(&file.matrix, 7, 9) == 1 && at(&file.matrix, 9, 7) == 0);
    assert_int_equal(matrix_make_dense(&file.matrix, 0, &error), ESP_LIMIT);
    assert_string_equal(error.text,
                        "a dense matrix of 1000000 x 1000000 elements needs more than the limit of 8.59 GB");
    assert_true(at(&file.matrix, 7, 9) == 1); /* as it was */
    matrix_file_clear(&file);
    refuses(
        "%%MatrixMarket matrix coordinate real general\n9000000000000000000 9000000000000000000 1\n1 1 1\n",
        "m:2: a matrix of 9000000000000000000 columns with 1 entries: expected at most 16777216 columns, or "
        "64 for each entry");
    refuses("%%MatrixMarket matrix coordinate real general\n2 2 9000000000000000000\n1 1 1\n",
            "m:2: 9000000000000000000 entries are announced, but the file holds only 6 more bytes: it is "
            "truncated or its header is wrong");
}

/* A small Harwell-Boeing file; what is NULL has its usual text. */
static const char *boeing(const char *counts, const char *type, const char *formats, const char *body)
{
    static char text[2000];
    snprintf(text, sizeof text, "%-72s%-8s\n%s\n%s\n%s\n%s", "A title", "KEY",
             counts ? counts : "             3             1             1             1             0",
             type ? type : "RUA                        2             2             3             0",
             formats ? formats : "(4I3)           (4I3)           (4E10.3)            ",
             body ? body : "  1  3  4\n  1  2  2\n 0.100E+01-0.200D+01 0.3  E 01\n");
    return text;
}

static void boeing_numbers_stand_in_columns(void **state)
{
    (void)state;
    struct matrix_file file;
    parse(boeing(NULL, NULL, NULL, NULL), &file);
    assert_string_equal(file.title, "A title");
    assert_true(at(&file.matrix, 1, 1) == 1 && at(&file.matrix, 2, 1) == -2 && at(&file.matrix, 2, 2) == 3);
    matrix_file_clear(&file);
    /* No point: the format's; P divides where there is no exponent; the letter may be left out. */
    parse(boeing(NULL, NULL, "(4I3)           (4I3)           (1P,4F10.3)",
                 "  1  3  4\n  1  2  2\n     12345    1.25     1.5+2\n"),
          &file);
    assert_true(at(&file.matrix, 1, 1) == 1.2345 && at(&file.matrix, 2, 1) == .125 &&
                at(&file.matrix, 2, 2) == 150);
    matrix_file_clear(&file);
    parse(boeing("             2             1             1             0             0",
                 "psa                        2             2             3             0", NULL,
                 "  1  3  4\n  1  2  2\n"),
          &file);
    assert_int_equal(file.field, FIELD_PATTERN);
    assert_true(at(&file.matrix, 1, 2) == 1 && at(&file.matrix, 2, 1) == 1);
    matrix_file_clear(&file);
}

static void boeing_complex_values_come_in_pairs(void **state)
{
    (void)state;
    struct matrix_file file;
    parse(boeing("             4             1             1             2             0",
                 "CUA                        2             2             3             0", NULL,
                 "  1  3  4\n  1  2  2\n       1.0       2.0       3.0       4.0\n       5.0       6.0\n"),
          &file);
    const double *v = file.matrix.values;
    assert_true(v[0] == 1 && v[1] == 2 && v[2] == 3 && v[3] == 4 && v[4] == 5 && v[5] == 6);
    matrix_file_clear(&file);
}

static void boeing_mistakes_are_named(void **state)
{
    (void)state;
    refuses(
        boeing(NULL, "RSE                        2             2             3             9", NULL, NULL),
        "m:3: type RSE: expected an assembled matrix (such as RSA), found unassembled elements, which are "
        "not supported");
    refuses(boeing(NULL, NULL, "(4Z3)           (4I3)           (4E10.3)", NULL),
            "m:4: expected the Fortran format of the pointers, such as (16I5), found '(4Z3)'");
    refuses(boeing(NULL, NULL, NULL, "  1  3  5\n  1  2  2\n       1.0       2.0       3.0\n"),
            "m:5: column pointer 5, but the header announces 3 entries");
    refuses(boeing(NULL, NULL, NULL, "  1  4  3\n  1  2  2\n       1.0       2.0       3.0\n"),
            "m:5: column pointer 3 follows 4: they never decrease");
    refuses(boeing(NULL, NULL, NULL, "  1  3  3\n  1  2  2\n       1.0       2.0       3.0\n"),
            "m:5: the last column pointer is 3, but the header announces 3 entries");
    refuses(boeing(NULL, NULL, NULL, "  1  3  4\n  0  2  2\n       1.0       2.0       3.0\n"),
            "m:6: row 0: indices start at 1");
    refuses(boeing(NULL, NULL, NULL, "  1  3  4\n  1  1  2\n       1.0       2.0       3.0\n"),
            "m:7: entry (1,1) is given a second time; --sum-duplicates adds such entries");
    refuses(boeing(NULL, NULL, NULL, "  1  3  4\n  1  2  2\n       1.0       2.0\n"),
            "m:7: expected values number 3 of 3 in columns 21 to 30 (format (4E10.3)), found blanks");
    refuses(boeing(NULL, NULL, NULL, "  1  3  4\n  1  2  2\n       1.0       2.0       x.0\n"),
            "m:7: expected a number of the values (format (4E10.3)), found 'x.0'");
    refuses(
        boeing("             3             1             2             1             0", NULL, NULL, NULL),
        "m:4: the header announces 2 lines of row indices, but 3 of them in format (4I3) take 1");
    refuses(boeing(NULL, NULL, NULL, "  1  3  4\n  1  2  2\n       1.0       2.0       3.0\n\n7\n"),
            "m:9: expected the end of the file after what the header announces, found '7'");
}

static void zero_bytes_are_no_letters(void **state)
{
    (void)state;
    static char text[300];
    struct matrix_file file;
    struct esp_error error;
    memcpy(text, "a\nb\nR\0A \n", 10); /* found by the fuzzer: a NUL is in every strchr() set */
    assert_int_equal(matrix_parse(text, 10, "m", 0, &file, &error), ESP_SYNTAX);
    const char number[] = "%%MatrixMarket matrix array real general\n1 1\n1\0002\n";
    assert_int_equal(matrix_parse(number, sizeof number - 1, "m", 0, &file, &error), ESP_SYNTAX);
    assert_string_equal(error.text, "m:3: expected a real number, found '1?2' (read as Matrix Market)");
}

static void no_truncated_file_crashes_or_passes_for_whole(void **state)
{
    (void)state;
    static const char *const names[] = {"lund_a.mtx", "lund_a.rsa", "pores_1.mtx", "utm300.rua"};
    for (size_t i = 0; i < 4; i++) {
        static char text[100000];
        FILE *stream = fopen(example(names[i]), "r");
        assert_non_null(stream);
        size_t length = fread(text, 1, sizeof text, stream), passed = 0;
        fclose(stream);
        /* every byte of the start and of the end; the long middle in steps */
        for (size_t cut = 0; cut < length; cut += cut < 900 || cut + 200 > length ? 1 : 61) {
            char *exact = malloc(cut ? cut : 1); /* so that a sanitizer sees a step beyond */
            memcpy(exact, text, cut);
            struct matrix_file file;
            struct esp_error error = {0};
            if (matrix_parse(exact, cut, "m", 0, &file, &error) == ESP_OK)
                passed += !*file.note; /* the user gets a note on a part that may be missing */
            else
                assert_non_null(strchr(error.text, 'm'));
            matrix_file_clear(&file);
            free(exact);
        }
        /* columns have a declared width: only the last line's end, and blanks before it, may be missing */
        assert_in_range(passed, 0, strstr(names[i], ".mtx") ? 0 : 60);
    }
}

static void what_is_written_reads_back_bit_by_bit(void **state)
{
    (void)state;
    struct esp_error error;
    struct matrix matrix;
    struct matrix_file file;
    char path[] = "/tmp/test_matrix.XXXXXX";
    close(mkstemp(path));
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        assert_int_equal(matrix_init(&matrix, 3, 2, is_complex, 0, &error), ESP_OK);
        const double odd[] = {0.1, -1e-310, INFINITY, 0, 1.0 / 3, -1.7976931348623157e308};
        for (int k = 0; k < 6; k++)
            matrix.values[k] = odd[k];
        for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
            struct matrix_file written = matrix_as_file(&matrix);
            written.is_sparse = is_sparse;
            assert_int_equal(matrix_save(path, &written, NULL, &error), ESP_OK);
            assert_int_equal(matrix_load_dense(path, 0, &file, &error), ESP_OK);
            assert_int_equal(file.is_sparse, is_sparse);
            assert_memory_equal(file.matrix.values, matrix.values, matrix_bytes(&matrix));
            matrix_file_clear(&file);
        }
        matrix_clear(&matrix);
    }
    unlink(path);
    assert_int_equal(matrix_init(&matrix, 1, 1, false, 0, &error), ESP_OK);
    const struct matrix_file one = matrix_as_file(&matrix);
    char link[] = "/tmp/test_matrix_link.XXXXXX";
    close(mkstemp(link));
    unlink(link);
    assert_int_equal(symlink("/dev/null", link), 0);
    assert_int_equal(matrix_save(link, &one, NULL, &error), ESP_OK);
    struct stat there;
    assert_int_equal(lstat(link, &there), 0);
    assert_true(S_ISLNK(there.st_mode)); /* written through, not replaced */
    unlink(link);
    assert_int_equal(matrix_save("/nonexistent/x", &one, NULL, &error), ESP_SYSTEM);
    assert_int_equal(matrix_save("/dev/full", &one, NULL, &error), ESP_SYSTEM);
    assert_non_null(strstr(error.text, "No space left"));
    matrix_clear(&matrix);
}

static void the_locale_changes_nothing(void **state)
{
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    for (size_t i = 0; i < 4; i++)
        if (setlocale(LC_ALL, locales[i]))
            break;
    struct matrix_file file;
    parse("%%MatrixMarket matrix array real general\n1 1\n1.5\n", &file);
    setlocale(LC_ALL, "C");
    assert_true(file.matrix.values[0] == 1.5);
    matrix_file_clear(&file);
}

static void norms_that_overflow_hide_no_residual(void **state)
{
    struct matrix a, x, b;
    struct esp_error error;
    double result;
    (void)state;
    assert_int_equal(matrix_init(&a, 2, 2, false, 0, &error), ESP_OK);
    assert_int_equal(matrix_init(&x, 2, 1, false, 0, &error), ESP_OK);
    assert_int_equal(matrix_init(&b, 2, 1, false, 0, &error), ESP_OK);
    a.values[0] = a.values[1] = a.values[2] = 1.5e308;
    a.values[3] = -1.5e308;
    b.values[0] = b.values[1] = 1.5e308;
    x.values[1] = 1;
    assert_int_equal(matrix_backward_error(&a, &x, &b, &result, &error), ESP_OK);
    assert_true(result > 0.5 && result < 1);
    x.values[0] = 1;
    x.values[1] = 0;
    assert_int_equal(matrix_backward_error(&a, &x, &b, &result, &error), ESP_OK);
    assert_true(result == 0);
    matrix_clear(&a);
    matrix_clear(&x);
    matrix_clear(&b);
}

static void backward_error_is_the_one_of_the_books(void **state)
{
    (void)state;
    struct esp_error error;
    double result;
    struct matrix a = {2, 2, false, (double[]){2, 0, 1, 3}, NULL, NULL, NULL}; /* [2 1; 0 3] */
    struct matrix x = {2, 1, false, (double[]){1, 1}, NULL, NULL, NULL};
    struct matrix b = {2, 1, false, (double[]){3, 3}, NULL, NULL, NULL};
    assert_int_equal(matrix_backward_error(&a, &x, &b, &result, &error), ESP_OK);
    assert_true(result == 0);
    b.values[1] = 4; /* residual (0, 1); ||A|| = 3, ||x|| = 1, ||b|| = 4 */
    assert_int_equal(matrix_backward_error(&a, &x, &b, &result, &error), ESP_OK);
    assert_float_equal(result, 1.0 / 7, 1e-15);
    x.values[0] = NAN;
    assert_int_equal(matrix_backward_error(&a, &x, &b, &result, &error), ESP_OK);
    assert_true(isnan(result));
    b.rows = 1;
    assert_int_equal(matrix_backward_error(&a, &x, &b, &result, &error), ESP_INVALID);

    struct matrix ca = {1, 1, true, (double[]){0, 2}, NULL, NULL, NULL}; /* 2i * (1 - i) = 2 + 2i */
    struct matrix cx = {1, 1, true, (double[]){1, -1}, NULL, NULL, NULL};
    struct matrix cb = {1, 1, true, (double[]){2, 2}, NULL, NULL, NULL};
    assert_int_equal(matrix_backward_error(&ca, &cx, &cb, &result, &error), ESP_OK);
    assert_true(result == 0);
}

static void the_error_of_a_fit_is_that_of_the_normal_equations(void **state)
{
    (void)state;
    struct esp_error error;
    double result;
    struct matrix a = {2, 2, false, (double[]){1, 1, 1, 1}, NULL, NULL, NULL}; /* rank 1 */
    struct matrix x = {2, 1, false, (double[]){1, 1}, NULL, NULL, NULL};
    struct matrix b = {2, 1, false, (double[]){1, 3}, NULL, NULL, NULL}; /* residual (-1, 1) */
    assert_int_equal(matrix_fit_error(&a, &x, &b, &result, &error), ESP_OK);
    assert_true(result == 0);
    x.values[0] = 2; /* residual (-2, 0); ||A|| = ||A^H|| = 2, ||x|| = 2, ||b|| = 3 */
    assert_int_equal(matrix_fit_error(&a, &x, &b, &result, &error), ESP_OK);
    assert_float_equal(result, 2.0 / (2 * 7), 1e-15);
    x.values[0] = NAN;
    assert_int_equal(matrix_fit_error(&a, &x, &b, &result, &error), ESP_OK);
    assert_true(isnan(result));
    b.rows = 1;
    assert_int_equal(matrix_fit_error(&a, &x, &b, &result, &error), ESP_INVALID);

    struct matrix ca = {2, 1, true, (double[]){0, 1, 1, 0}, NULL, NULL, NULL}; /* (i, 1) is at right angles */
    struct matrix cx = {1, 1, true, (double[]){0, 0}, NULL, NULL, NULL};
    struct matrix cb = {2, 1, true, (double[]){1, 0, 0, 1}, NULL, NULL, NULL}; /* to (1, i) */
    assert_int_equal(matrix_fit_error(&ca, &cx, &cb, &result, &error), ESP_OK);
    assert_true(result == 0);
    cb.values[3] = -1;
    assert_int_equal(matrix_fit_error(&ca, &cx, &cb, &result, &error), ESP_OK);
    assert_float_equal(result, 2.0 / 2, 1e-15);
}

static void what_is_not_finite_is_found(void **state)
{
    (void)state;
    int64_t row, col;
    struct matrix_file file;
    parse("%%MatrixMarket matrix array real general\n2 2\n1\n2\n-inf\nNaN\n", &file);
    assert_false(matrix_is_finite(&file.matrix, &row, &col));
    assert_int_equal(row, 0);
    assert_int_equal(col, 1);
    assert_true(isnan(file.matrix.values[3]));
    assert_false(matrix_is_symmetric(&file.matrix, 0, &row, &col));
    assert_false(matrix_has_positive_diagonal(&file.matrix, 0));
    matrix_file_clear(&file);
}

static void symmetry_may_be_up_to_rounding(void **state)
{
    (void)state;
    int64_t row, col;
    double gram[] = {4, 0.1 + 0.2, 0.3, 1}, complex_gram[] = {4, 1e-16, 1, 0.3, 1, -0.1 - 0.2, 1, 0};
    struct matrix real = {2, 2, false, gram, NULL, NULL, NULL};
    struct matrix complex = {2, 2, true, complex_gram, NULL, NULL, NULL};
    assert_false(matrix_is_symmetric(&real, 0, NULL, NULL));
    assert_true(matrix_is_symmetric(&real, DBL_EPSILON, NULL, NULL));
    assert_false(matrix_is_symmetric(&complex, 0, NULL, NULL));
    assert_true(matrix_is_symmetric(&complex, DBL_EPSILON, NULL, NULL));
    assert_false(matrix_has_positive_diagonal(&complex, 0));
    assert_true(matrix_has_positive_diagonal(&complex, DBL_EPSILON));
    assert_true(matrix_asymmetry_bound(&real, DBL_EPSILON, 1, 0) == 64 * DBL_EPSILON * 4);
    gram[2] = 0.3 + 100 * DBL_EPSILON * 4;
    assert_false(matrix_is_symmetric(&real, DBL_EPSILON, &row, &col));
    assert_true(row == 1 && col == 0);
    gram[0] = INFINITY; /* is larger than any difference, and says nothing of it */
    gram[2] = 7;
    assert_false(matrix_is_symmetric(&real, DBL_EPSILON, NULL, NULL));
}

static void refuses_inline(const char *text, const char *message)
{
    struct matrix matrix;
    struct esp_error error = {0};
    assert_int_equal(matrix_parse_inline(text, &matrix, &error), ESP_INVALID);
    assert_string_equal(error.text, message);
}

static void typed_matrices_have_rows_between_semicolons(void **state)
{
    (void)state;
    struct matrix matrix;
    struct esp_error error;
    assert_int_equal(matrix_parse_inline("[1,2 ; 3 4.5e0]", &matrix, &error), ESP_OK);
    assert_int_equal(matrix.rows, 2);
    assert_int_equal(matrix.cols, 2);
    assert_true(at(&matrix, 1, 2) == 2 && at(&matrix, 2, 1) == 3 && at(&matrix, 2, 2) == 4.5);
    matrix_clear(&matrix);
    assert_int_equal(matrix_parse_inline("[1 , -2e-3-4e-1i; i, 3]", &matrix, &error), ESP_OK);
    assert_true(matrix.is_complex);
    const double expected[] = {1, 0, 0, 1, -2e-3, -.4, 3, 0};
    assert_memory_equal(matrix.values, expected, sizeof expected);
    matrix_clear(&matrix);
    assert_int_equal(matrix_parse_inline("[]", &matrix, &error), ESP_OK);
    assert_int_equal(matrix.rows, 0);
    matrix_clear(&matrix);
    static const char *const lines[] = {"[1,2\n3,4]", "[1,2;\n3,4]", "[1,2\n;3,4]", "[\n1 2\n\n3 4;\n]"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(matrix_parse_inline(lines[i], &matrix, &error), ESP_OK);
        assert_true(matrix.rows == 2 && matrix.cols == 2 && at(&matrix, 2, 1) == 3);
        matrix_clear(&matrix);
    }
    refuses_inline("[1,2;;3,4]", "row 2 has 0 elements, the first row 2");
    refuses_inline("[1,\n2]", "row 1: expected a number behind the last comma");
    refuses_inline("[1,2;3]", "row 2 has 1 element, the first row 2");
    refuses_inline("[1,,2]", "row 1, column 2: expected a number, found ''");
    refuses_inline("[1,2,]", "row 1: expected a number behind the last comma");
    refuses_inline("[1,x]", "row 1, column 2: expected a number, found 'x'");
    refuses_inline("[1,2", "expected a matrix such as [1, 2; 3, 4], found '[1,2'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_of_lund_give_the_same_bits),
        cmocka_unit_test(utm300_brings_its_right_hand_side),
        cmocka_unit_test(a_file_without_right_hand_side_has_none),
        cmocka_unit_test(wrong_mtx_is_told_where_it_is_wrong),
        cmocka_unit_test(market_arrays_run_down_the_columns),
        cmocka_unit_test(market_symmetries_fill_the_other_triangle),
        cmocka_unit_test(empty_matrices_are_matrices),
        cmocka_unit_test(market_mistakes_are_named),
        cmocka_unit_test(lying_counts_are_found_out_before_memory_is_taken),
        cmocka_unit_test(boeing_numbers_stand_in_columns),
        cmocka_unit_test(boeing_complex_values_come_in_pairs),
        cmocka_unit_test(boeing_mistakes_are_named),
        cmocka_unit_test(zero_bytes_are_no_letters),
        cmocka_unit_test(no_truncated_file_crashes_or_passes_for_whole),
        cmocka_unit_test(what_is_written_reads_back_bit_by_bit),
        cmocka_unit_test(the_locale_changes_nothing),
        cmocka_unit_test(norms_that_overflow_hide_no_residual),
        cmocka_unit_test(backward_error_is_the_one_of_the_books),
        cmocka_unit_test(the_error_of_a_fit_is_that_of_the_normal_equations),
        cmocka_unit_test(what_is_not_finite_is_found),
        cmocka_unit_test(symmetry_may_be_up_to_rounding),
        cmocka_unit_test(typed_matrices_have_rows_between_semicolons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
