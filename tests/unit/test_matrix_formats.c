/* SPDX-License-Identifier: Apache-2.0
 *
 * Every format of the table: what it writes it reads again, and no truncated file passes for a whole one.
 */
#include "config.h"

#include "core/matrix/matrix.h"
#include "core/matrix/matrix_format.h"
#include "core/matrix/matrix_peek.h"
#include "core/matrix/matrix_view.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define A_MATRIX_FILE                                                                                        \
    "expected a matrix file (Matrix Market, NumPy, Rutherford-Boeing, Harwell-Boeing, Octave text or CSV)"

static enum esp_status parse_bytes(const char *bytes, size_t length, struct matrix_file *file,
                                   struct esp_error *error)
{
    char *exact = malloc(length ? length : 1); /* so that a sanitizer sees a step beyond */
    memcpy(exact, bytes, length);
    enum esp_status status = matrix_parse(exact, length, "m", 0, file, error);
    free(exact);
    return status;
}

static void parse(const char *bytes, size_t length, struct matrix_file *file)
{
    struct esp_error error = {0};
    if (parse_bytes(bytes, length, file, &error) != ESP_OK)
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

static void refuses_bytes(const char *bytes, size_t length, const char *message)
{
    struct matrix_file file;
    struct esp_error error = {0};
    assert_int_not_equal(parse_bytes(bytes, length, &file, &error), ESP_OK);
    assert_string_equal(without_format(&error), message);
    assert_null(file.matrix.values);
}

static void refuses(const char *text, const char *message)
{
    refuses_bytes(text, strlen(text), message);
}

static double at(const struct matrix *matrix, int64_t row, int64_t col)
{
    double re, im;
    matrix_element(matrix, row - 1, col - 1, &re, &im);
    return re;
}

/* Texts that together have every field, symmetry and layout. */
static const char *const samples[] = {
    "%%MatrixMarket matrix array real general\n3 2\n0.1\n-1e-310\n3e200\n4\n5.5\n-0\n",
    "%%MatrixMarket matrix array integer general\n2 2\n1\n-2147483648\n3\n4\n",
    "%%MatrixMarket matrix array complex general\n2 1\n1 2\n-0.1 1e10\n",
    "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n3 4\n5 0\n",
    "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
    "%%MatrixMarket matrix coordinate real general\n4 3 4\n4 1 .25\n1 1 -1\n2 3 1e-5\n3 3 7\n",
    "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 4\n2 1 -1\n2 2 4\n3 2 .1\n",
    "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 -1\n3 2 .1\n",
    "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 4 0\n2 1 1 2\n",
    "%%MatrixMarket matrix coordinate complex symmetric\n2 2 2\n1 1 4 1\n2 1 1 2\n",
    "%%MatrixMarket matrix coordinate complex general\n2 3 2\n1 3 4 1\n2 1 1 2\n",
    "%%MatrixMarket matrix coordinate integer general\n2 3 3\n1 3 4000000\n2 1 -123\n1 1 1\n",
    "%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 3\n2 1\n1 1\n",
    "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n1 1\n3 1\n3 2\n",
};
#define N_SAMPLES (sizeof samples / sizeof *samples)

static void assert_same_elements(const struct matrix *a, const struct matrix *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->cols, b->cols);
    for (int64_t j = 0; j < a->cols; j++)
        for (int64_t i = 0; i < a->rows; i++) {
            double a_re, a_im, b_re, b_im;
            matrix_element(a, i, j, &a_re, &a_im);
            matrix_element(b, i, j, &b_re, &b_im);
            assert_true(a_re == b_re && a_im == b_im);
        }
}

/* Saves under an ending, and returns what is in the file. */
static char *written(const struct matrix_file *file, const char *ending, size_t *length)
{
    char path[200];
    struct esp_error error = {0};
    snprintf(path, sizeof path, "/tmp/test_matrix_formats-%ld.%s", (long)getpid(), ending);
    if (matrix_save(path, file, NULL, &error) != ESP_OK)
        fail_msg("%s", error.text);
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    static char bytes[1 << 16];
    *length = fread(bytes, 1, sizeof bytes, stream);
    fclose(stream);
    unlink(path);
    return bytes;
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SAMPLES; s++)
        for (unsigned f = 0; matrix_format_at(f); f++) {
            struct matrix_file sample, again;
            size_t length;
            parse(samples[s], strlen(samples[s]), &sample);
            const char *word = matrix_format_word(matrix_format_at(f));
            const char *bytes = written(&sample, word, &length);
            parse(bytes, length, &again);
            assert_string_equal(matrix_format_word(again.format), word);
            assert_same_elements(&sample.matrix, &again.matrix);
            assert_int_equal(again.matrix.is_complex, sample.matrix.is_complex);
            if (strcmp(word, "csv") != 0 && strcmp(word, "npy") != 0 && strcmp(word, "octave") != 0)
                assert_int_equal(again.symmetry, sample.symmetry);
            if (strcmp(word, "mtx") == 0)
                assert_int_equal(again.is_sparse, sample.is_sparse);
            if (strcmp(word, "mtx") == 0 || strcmp(word, "rb") == 0)
                assert_int_equal(again.field, sample.field);
            matrix_file_clear(&again);
            matrix_file_clear(&sample);
        }
}

/* The extents are known before the file is read, from its first bytes, or not at all. */
static void a_beginning_tells_the_extents(void **state)
{
    (void)state;
    char path[200];
    for (size_t s = 0; s < N_SAMPLES; s++)
        for (unsigned f = 0; matrix_format_at(f); f++) {
            struct matrix_file sample, peeked;
            const char *word = matrix_format_word(matrix_format_at(f));
            bool knows = strcmp(word, "mtx") == 0 || strcmp(word, "npy") == 0;
            parse(samples[s], strlen(samples[s]), &sample);
            snprintf(path, sizeof path, "/tmp/test_matrix_formats-%ld.peek.%s", (long)getpid(), word);
            assert_int_equal(matrix_save(path, &sample, NULL, NULL), ESP_OK);
            /* None of the elements is looked at. */
            assert_int_equal(truncate(path, strcmp(word, "npy") == 0 ? 128 : 80), 0);
            assert_int_equal(matrix_peek(path, &peeked), knows);
            if (knows) {
                assert_int_equal(peeked.matrix.rows, sample.matrix.rows);
                assert_int_equal(peeked.matrix.cols, sample.matrix.cols);
                assert_int_equal(peeked.matrix.is_complex, sample.matrix.is_complex);
                assert_null(peeked.matrix.values);
            }
            unlink(path);
            matrix_file_clear(&sample);
        }
    struct matrix_file none;
    assert_false(matrix_peek("/nowhere/at.all", &none));
    assert_false(matrix_peek("-", &none));
    assert_false(matrix_peek("/dev/null", &none));
}

/* Whether a file cut there may be read. In columns of a declared width (hb, rb) no more than the line's
 * end may be missing, behind Octave's variable no more than empty lines; a table of numbers (csv) ends
 * where one of its rows does. Digits of the last number may be missing where the user gets a note that
 * they may be. */
static bool may_pass(const char *word, const char *bytes, size_t n, size_t length,
                     const struct matrix_file *cut)
{
    if (*cut->note)
        return bytes[n - 1] != '\n' && strstr(cut->note, "its last line has no end");
    if (strcmp(word, "csv") == 0)
        return n > 0 && bytes[n - 1] == '\n';
    if (strcmp(word, "octave") == 0)
        return n + 2 >= length && bytes[n - 1] == '\n';
    return (strcmp(word, "hb") == 0 || strcmp(word, "rb") == 0) && n == length - 1;
}

static void every_cut_is_noticed(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SAMPLES; s++)
        for (unsigned f = 0; matrix_format_at(f); f++)
            for (int compressed = 0; compressed < 2; compressed++) {
                struct matrix_file sample, cut;
                size_t length;
                char ending[16];
                parse(samples[s], strlen(samples[s]), &sample);
                const char *word = matrix_format_word(matrix_format_at(f));
                snprintf(ending, sizeof ending, "%s%s", word, compressed ? ".gz" : "");
                const char *bytes = written(&sample, ending, &length);
                for (size_t n = 0; n < length; n++) {
                    struct esp_error error = {0};
                    if (parse_bytes(bytes, n, &cut, &error) != ESP_OK) {
                        assert_true(strncmp(error.text, "m:", 2) == 0);
                        continue;
                    }
                    if (compressed || !may_pass(word, bytes, n, length, &cut))
                        fail_msg("sample %zu as %s passes when cut at byte %zu of %zu", s, ending, n, length);
                    matrix_file_clear(&cut);
                }
                parse(bytes, length, &cut);
                assert_same_elements(&sample.matrix, &cut.matrix);
                matrix_file_clear(&cut);
                matrix_file_clear(&sample);
            }
}

/* Which readers take the content; more than one would be a guess. */
static unsigned readers_of(const char *bytes, size_t length, const struct matrix_format **reader)
{
    unsigned n = 0;
    for (unsigned f = 0; matrix_format_at(f); f++) {
        const struct matrix_format *format = matrix_format_at(f);
        struct matrix_file file = {.format = format};
        struct esp_error error = {0};
        struct lines lines = {.name = "m", .begin = bytes, .at = bytes, .end = bytes + length};
        if (!format->probe(bytes, length))
            continue;
        if (format->parse(&lines, &file, &error) == ESP_OK) {
            *reader = format;
            n++;
        }
        matrix_file_clear(&file);
    }
    return n;
}

static void each_content_has_one_reader(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SAMPLES; s++)
        for (unsigned f = 0; matrix_format_at(f); f++) {
            struct matrix_file sample;
            const struct matrix_format *reader = NULL;
            size_t length;
            parse(samples[s], strlen(samples[s]), &sample);
            const char *bytes = written(&sample, matrix_format_word(matrix_format_at(f)), &length);
            assert_int_equal(readers_of(bytes, length, &reader), 1);
            assert_ptr_equal(reader, matrix_format_at(f));
            matrix_file_clear(&sample);
        }
}

/* A file without its first line is not a file of another format. Exceptions: a table of numbers with a row
 * less, and the sizes and elements of a complex array. Octave's first line is a comment: its
 * second one counts. */
static void a_lost_first_line_is_noticed(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SAMPLES; s++)
        for (unsigned f = 0; matrix_format_at(f); f++) {
            struct matrix_file sample, again;
            size_t length, lost;
            parse(samples[s], strlen(samples[s]), &sample);
            const char *word = matrix_format_word(matrix_format_at(f));
            const char *bytes = written(&sample, word, &length), *newline = bytes;
            for (int k = strcmp(word, "octave") == 0 ? 2 : 1; k > 0 && newline; k--)
                newline = memchr(newline, '\n', length - (size_t)(newline - bytes)) + 1;
            lost = (size_t)(newline - bytes);
            bool is_table = strcmp(word, "csv") == 0 ||
                            (strcmp(word, "mtx") == 0 && sample.matrix.is_complex && !sample.is_sparse);
            if (!is_table && parse_bytes(bytes + lost, length - lost, &again, NULL) == ESP_OK)
                fail_msg("sample %zu as %s passes without its first line", s, word);
            matrix_file_clear(&sample);
        }
}

static size_t corpus(const char *name, char *bytes, size_t size)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/matrix/%s", getenv("top_srcdir"), name);
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    size_t length = fread(bytes, 1, size, stream);
    fclose(stream);
    return length;
}

static void files_of_other_programs_have_their_reader(void **state)
{
    (void)state;
    static const struct {
        const char *name, *word; /* NULL: none */
    } files[] = {{"error-cell-row.csv", NULL},
                 {"lost-banner.mtx", NULL},
                 {"rhs-fgx.rua", "hb"},
                 {"format-1x-and-group.rsa", "hb"},
                 {"unsigned-integer.mtx", "mtx"},
                 {"matrix.octave", "octave"},
                 {"sparse.octave", "octave"},
                 {"diagonal.octave", "octave"},
                 {"array.octave", "octave"},
                 {"german.csv", "csv"},
                 {"heading.csv", "csv"},
                 {"s.txt", "csv"},
                 {"a.npy", "npy"},
                 {"integer.rb", "rb"},
                 {"hermitian.hb", "hb"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char bytes[10000];
        const struct matrix_format *reader = NULL;
        size_t length = corpus(files[i].name, bytes, sizeof bytes);
        if (readers_of(bytes, length, &reader) != (files[i].word ? 1 : 0) ||
            (reader && strcmp(matrix_format_word(reader), files[i].word) != 0))
            fail_msg("%s is read as %s", files[i].name, reader ? matrix_format_name(reader) : "nothing");
    }
}

static void octave_variables_of_every_kind_are_read(void **state)
{
    (void)state;
    struct matrix_file file;
    char bytes[1000];
    parse(bytes, corpus("matrix.octave", bytes, sizeof bytes), &file);
    assert_true(file.matrix.rows == 2 && file.matrix.cols == 3 && at(&file.matrix, 1, 2) == 2.5);
    assert_true(at(&file.matrix, 2, 1) == 4 && isnan(at(&file.matrix, 2, 3)));
    matrix_file_clear(&file);
    parse(bytes, corpus("sparse.octave", bytes, sizeof bytes), &file);
    assert_true(file.is_sparse && file.matrix.is_complex && file.matrix.values[5] == -2);
    assert_true(at(&file.matrix, 3, 3) == 6 && at(&file.matrix, 1, 3) == 0);
    matrix_file_clear(&file);
    parse(bytes, corpus("diagonal.octave", bytes, sizeof bytes), &file);
    assert_true(file.matrix.rows == 3 && file.matrix.cols == 2 && at(&file.matrix, 2, 2) == 2);
    assert_true(at(&file.matrix, 2, 1) == 0 && at(&file.matrix, 3, 2) == 0);
    matrix_file_clear(&file);
    parse(bytes, corpus("array.octave", bytes, sizeof bytes), &file);
    assert_true(file.n_dims == 3 && file.dims[2] == 2 && file.matrix.values[6] == 7);
    matrix_file_clear(&file);
    assert_int_equal(parse_bytes("# name: x\n# type: scalar\n2.5\n\n", 30, &file, NULL), ESP_OK);
    assert_true(file.matrix.values[0] == 2.5);
    matrix_file_clear(&file);
    refuses("# name: x\n# type: range\n# base, limit, increment\n1 5 1\n",
            "m:2: expected the type of a matrix or a scalar (Octave's full() makes one), found 'range'");
    refuses(
        "# name: x\n# type: scalar\n1\n\n\n# name: y\n# type: scalar\n2\n",
        "m:6: expected the end of the file behind the variable (Octave's save writes the variables that it "
        "names), found '# name: y'");
    refuses("# name: x\n# type: matrix\n# rows: 2\n1 2\n3 4\n",
            "m:4: expected a line '# columns: ...', found '1 2'");
    refuses("# type: matrix\n# rows: 2\n", "m:1: expected a line '# name: ...', found '# type: matrix'");
    refuses("# name: x\n# type: matrix\n# rows: 1\n# columns: 2\n1 2 3\n",
            "m:5: expected the end of the line, found '3'");
    refuses("# name: x\n# type: matrix\n# rows: 1\n# columns: 2\n1 NA\n",
            "m:5: expected a number, found 'NA'");
}

static void damage_of_a_compressed_file_is_noticed(void **state)
{
    (void)state;
    struct matrix_file sample, again;
    size_t length;
    parse(samples[0], strlen(samples[0]), &sample);
    char *bytes = written(&sample, "mtx.gz", &length);
    for (size_t n = 10; n < length; n++) {
        struct esp_error error = {0};
        bytes[n] ^= 0x10;
        /* of the trailer, too: the sums are checked */
        assert_int_not_equal(parse_bytes(bytes, length, &again, &error), ESP_OK);
        assert_true(strncmp(error.text, "m:", 2) == 0);
        bytes[n] ^= 0x10;
    }
    matrix_file_clear(&sample);
}

/* An .npy file by its parts. */
static size_t npy(char *bytes, int version, const char *header, const void *data, size_t size)
{
    size_t length = strlen(header), at = 6;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[at++] = (char)version;
    bytes[at++] = 0;
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        bytes[at++] = (char)(length >> (8 * i));
    memcpy(bytes + at, header, length);
    if (size)
        memcpy(bytes + at + length, data, size);
    return at + length + size;
}

static void numpy_arrays_of_every_kind_are_read(void **state)
{
    (void)state;
    char bytes[1000];
    struct matrix_file file;
    const double d[6] = {1, 2, 3, 4, 5, 6};
    size_t n = npy(bytes, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }   \n", d, sizeof d);
    parse(bytes, n, &file);
    assert_true(file.matrix.rows == 2 && file.matrix.cols == 3 && file.field == FIELD_REAL);
    assert_true(at(&file.matrix, 1, 2) == 2 && at(&file.matrix, 2, 1) == 4);
    matrix_file_clear(&file);
    n = npy(bytes, 2, "{'shape': (2, 3), 'fortran_order': True, \"descr\": \"<f8\"}\n", d, sizeof d);
    parse(bytes, n, &file);
    assert_true(at(&file.matrix, 1, 2) == 3 && at(&file.matrix, 2, 1) == 2);
    matrix_file_clear(&file);
    n = npy(bytes, 3, "{'descr': '<c16', 'fortran_order': False, 'shape': (3,), }", d, sizeof d);
    parse(bytes, n, &file);
    assert_true(file.is_vector && file.matrix.rows == 3 && file.matrix.cols == 1 && file.matrix.is_complex);
    assert_true(file.matrix.values[5] == 6);
    matrix_file_clear(&file);

    const float f[4] = {1.5f, -2, 3, 4};
    n = npy(bytes, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", f, sizeof f);
    parse(bytes, n, &file);
    assert_true(file.is_short && file.matrix.values[0] == 1.5 && file.matrix.values[1] == -2);
    matrix_file_clear(&file);
    n = npy(bytes, 1, "{'descr': '<c8', 'fortran_order': False, 'shape': (1, 2), }", f, sizeof f);
    parse(bytes, n, &file);
    assert_true(file.is_short && file.matrix.is_complex && file.matrix.values[3] == 4);
    matrix_file_clear(&file);

    const unsigned char big[16] = {0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0};
    n = npy(bytes, 1, "{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }", big, sizeof big);
    parse(bytes, n, &file);
    assert_true(file.matrix.values[0] == 1.5 && file.matrix.values[1] == -2);
    matrix_file_clear(&file);
    const unsigned char integers[8] = {0xff, 0xff, 0xff, 0xfe, 0, 0, 1, 0};
    n = npy(bytes, 1, "{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }", integers, 8);
    parse(bytes, n, &file);
    assert_true(file.field == FIELD_INTEGER && file.matrix.values[0] == -2 && file.matrix.values[1] == 256);
    matrix_file_clear(&file);
    const int64_t wide[2] = {-5, INT64_C(1) << 53};
    n = npy(bytes, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 1), }", wide, sizeof wide);
    parse(bytes, n, &file);
    assert_true(!file.is_vector && file.matrix.values[0] == -5 && file.matrix.values[1] == 0x1p53);
    matrix_file_clear(&file);
    n = npy(bytes, 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }", "\1", 1);
    parse(bytes, n, &file);
    assert_true(file.matrix.rows == 1 && file.matrix.values[0] == 1);
    matrix_file_clear(&file);
    n = npy(bytes, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }", NULL, 0);
    parse(bytes, n, &file);
    assert_true(file.matrix.rows == 0 && file.matrix.cols == 3);
    matrix_file_clear(&file);
}

static void npy_arrays_have_up_to_seven_dimensions(void **state)
{
    (void)state;
    char bytes[500];
    const double by_rows[12] = {111, 112, 121, 122, 131, 132, 211, 212, 221, 222, 231, 232};
    const double by_columns[12] = {111, 211, 121, 221, 131, 231, 112, 212, 122, 222, 132, 232};
    for (int fortran = 0; fortran < 2; fortran++) {
        struct matrix_file file;
        size_t n = npy(bytes, 1,
                       fortran ? "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3, 2), }"
                               : "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3, 2), }",
                       fortran ? by_columns : by_rows, sizeof by_rows);
        parse(bytes, n, &file);
        assert_int_equal(file.n_dims, 3);
        assert_true(file.dims[0] == 2 && file.dims[1] == 3 && file.dims[2] == 2);
        assert_memory_equal(file.matrix.values, by_columns, sizeof by_columns);
        matrix_file_clear(&file);
    }
}

static void refuses_npy(int version, const char *header, const void *data, size_t size, const char *message)
{
    char bytes[1000];
    size_t n = npy(bytes, version, header, data, size);
    refuses_bytes(bytes, n, message);
}

static void wrong_numpy_files_are_told_by_byte(void **state)
{
    (void)state;
    const int64_t odd[2] = {1, INT64_C(9007199254740993)};
    refuses_npy(4, "", NULL, 0, "m: byte 6: expected version 1, 2 or 3, found another");
    refuses_npy(1, "[]", NULL, 0, "m: byte 10: expected '{', found '[]'");
    refuses_npy(1, "{'descr': '<f2', 'shape': ()}", NULL, 0,
                "m: byte 19: expected a type of elements such as '<f8' (f4 f8 c8 c16, integers, b1), found "
                "''<f2', 'shape': ()}'");
    refuses_npy(
        1, "{'descr': 8}", NULL, 0,
        "m: byte 19: expected a type of elements such as '<f8' (f4 f8 c8 c16, integers, b1), found '8}'");
    refuses_npy(1, "{'descr': '<f8', 'shape': (1,)}", NULL, 0,
                "m: byte 41: expected the keys descr, fortran_order and shape, found the end of the header");
    refuses_npy(1, "{'descr': '<f8', 'order': 1}", NULL, 0,
                "m: byte 27: expected one of the keys descr, fortran_order, shape, found ''order': 1}'");
    refuses_npy(1, "{'shape': (1, x)}", NULL, 0, "m: byte 24: expected an extent in the shape, found 'x)}'");
    refuses_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", odd, 8,
                "m: byte 65: expected 16 bytes for 2 x 1 elements, found 8");
    refuses_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", odd, 16,
                "m: byte 65: expected 8 bytes for 1 x 1 elements, found 16");
    refuses_npy(1, "{'descr': '<u8', 'fortran_order': False, 'shape': (2,)}",
                "12345678\xff\xff\xff\xff\xff\xff\xff\xff", 16,
                "m: byte 73: the integer does not fit 64 bits with a sign");
    refuses_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,2,2)}", odd, 16,
                "m: byte 68: expected 64 bytes for 2 x 4 elements, found 16");
    refuses_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,2)}", odd, 16,
                "m: expected at most 7 dimensions, found 8");
    refuses_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,4000000000000, 4000000000000)}", odd,
                16, "m: its dimensions are more elements than 63 bits count");
    refuses_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000000, 4000000000000)}", odd,
                16, "m: 4000000000000 x 4000000000000 elements are too many");
}

static void assert_csv(const char *text, int64_t rows, int64_t cols, double first, double last)
{
    struct matrix_file file;
    parse(text, strlen(text), &file);
    assert_string_equal(matrix_format_name(file.format), "CSV");
    assert_int_equal(file.matrix.rows, rows);
    assert_int_equal(file.matrix.cols, cols);
    assert_true(at(&file.matrix, 1, 1) == first && at(&file.matrix, rows, cols) == last);
    matrix_file_clear(&file);
}

static void tables_of_numbers_have_many_separators(void **state)
{
    (void)state;
    assert_csv("1,2\n3,4\n", 2, 2, 1, 4);
    assert_csv("1, 2\r\n3, 4e1\r\n", 2, 2, 1, 40);
    assert_csv("1;2;3\n4;5;6\n", 2, 3, 1, 6);
    assert_csv("1\t2\n", 1, 2, 1, 2);
    assert_csv("# of numpy.savetxt\n1.0e+00   2.5e+00\n 3 4\n\n", 2, 2, 1, 4);
    assert_csv("7\n8\n9\n", 3, 1, 7, 9);
    assert_csv("x,y\n1,\"2\"\n", 1, 2, 1, 2);
    assert_csv("3,inf\n1,-inf\n2,3\n", 3, 2, 3, 3);
    assert_csv("\xef\xbb\xbf"
               "1,2\n3,4\n",
               2, 2, 1, 4);
    assert_csv("\xef\xbb\xbf"
               "x;y\r\n1;2\r\n",
               1, 2, 1, 2);
}

static void wrong_tables_are_told_by_line(void **state)
{
    (void)state;
    refuses("1,2\n3\n",
            "m:2: expected 2 elements as in the first row, found 1; if these are decimal commas, write "
            "decimal points");
    refuses("1,2,0\n3\n", "m:2: expected 3 elements as in the first row, found 1");
    refuses("1,2\n3,x\n", "m:2: expected a number as element 2, found 'x'");
    refuses("1,2\n3,\n", "m:2: expected a number as element 2, found nothing");
    refuses("1,,3\n4,5,6\n",
            "m:1: expected a number (or a heading of names that differ) as element 2, found nothing");
    refuses("1;2;\n",
            "m:1: expected a number (or a heading of names that differ) as element 3, found nothing");
    refuses("x,2020,2021\n1,2,3\n",
            "m:1: expected a number (or a heading of names that differ) as element 1, found 'x'");
    refuses("1e999,2\n", "m:1: expected a number that a double holds as element 1, found '1e999'");
    refuses("1 2\n3 -1e999\n", "m:2: expected a number that a double holds as element 2, found '-1e999'");
    refuses("1 2 x\n", "m:1: expected a number (or a heading of names that differ) as element 3, found 'x'");
    refuses("a,b\n1,2,3\n", "m:2: expected 2 elements as in the first row, found 3");
    refuses_bytes("\xff\xfe"
                  "1\0,\0002\0",
                  8, "m: expected text in ASCII or UTF-8, found UTF-16: save it anew");
    refuses("a,b\n1,2\n3,4,5\n", "m:3: expected 2 elements as in the first row, found 3");
    refuses("a,b\nc,d\n", "m:1: " A_MATRIX_FILE ", found 'a,b'");
    refuses("a title\n1 2\n",
            "m:1: expected a number (or a heading of names that differ) as element 1, found 'a'");
}

/* A row of what stands for a missing value must neither be dropped as a heading nor as a comment. */
static void no_row_is_dropped_for_what_is_missing_in_it(void **state)
{
    (void)state;
    static const char *const cells[] = {"NA",     "N/A",     "NULL",   "-",       "",    "TRUE",   "false",
                                        "None",   "#N/A",    "#REF!",  "?",       ".",   "\"NA\"", "nan(ind)",
                                        "#NAME?", "Err:502", "#WERT!", "missing", "\\N", "1.#QNAN"};
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
        for (int form = 0; form < 4; form++) {
            static const char *const forms[] = {"%s,%s\n1,2\n", "%s,5\n1,2\n", "1,2\n%s,%s\n",
                                                "a,b\n%s,5\n1,2\n"};
            char text[100];
            struct matrix_file file;
            struct esp_error error = {0};
            snprintf(text, sizeof text, forms[form], cells[c], cells[c]);
            if (parse_bytes(text, strlen(text), &file, &error) == ESP_OK)
                fail_msg("'%s' passes for a matrix of %lld rows", text, (long long)file.matrix.rows);
            char place[8];
            snprintf(place, sizeof place, "m:%d: ", form < 2 ? 1 : 2);
            assert_true(strncmp(error.text, place, 5) == 0);
            assert_non_null(strstr(error.text, "(read as CSV)"));
        }
    refuses("x,x\n1,2\n",
            "m:1: expected a number (or a heading of names that differ) as element 1, found 'x'");
    refuses("#DIV/0!,5\n1,2\n",
            "m:1: expected a number (or a heading of names that differ) as element 1, found "
            "'#DIV/0!'; a comment begins with '#' and a blank");
}

static void decimal_commas_are_read_where_they_are_told(void **state)
{
    (void)state;
    assert_csv("1,5;2\r\n-3;4e1\r\n", 2, 2, 1.5, 40);
    assert_csv("1,5\t2,25\n", 1, 2, 1.5, 2.25);
    assert_csv("Kraft;Weg\n1;2\n3;4,5\n", 2, 2, 1, 4.5);
    assert_csv("1,\t2,\t3\n", 1, 3, 1, 3);
    assert_csv("1,5+2,5i;1\n", 1, 2, 1.5, 1);
    refuses("1,5;2.5\n", "m:1: expected a decimal comma as in line 1, found '2.5'");
    refuses("1.5;2\n1;2,5\n", "m:2: expected a decimal point as in line 1, found '2,5'");
    refuses("1.234,5;2\n",
            "m:1: expected a number (or a heading of names that differ) as element 1, found '1.234,5'");
    refuses("1;2,\n", "m:1: expected a number (or a heading of names that differ) as element 2, found '2,'");
    refuses("1 2\n1,5 2\n", "m:2: expected a number as element 1, found '1,5'; where numbers have decimal "
                            "commas, write ';' between "
                            "them");
    refuses("\"1,234\",5\n", "m:1: expected a number (or a heading of names that differ) as element 1, found "
                             "'\"1,234\"'; where numbers have decimal commas, write ';' between them");
}

static void a_heading_may_have_one_column(void **state)
{
    (void)state;
    assert_csv("b\n1\n2\n", 2, 1, 1, 2);
    assert_csv("right-hand side\n1\n2\n", 2, 1, 1, 2);
    assert_csv("\"right-hand side, first\"\n1\n2\n", 2, 1, 1, 2);
    assert_csv("\"a, b\",c\n1,2\n", 1, 2, 1, 2);
    refuses(
        "b\n1,5\n2,5\n",
        "m:2: "
        "expected 1 element as in the first row, found 2; if these are decimal commas, write decimal points");
    refuses("b\nNA\n1\n", "m:1: " A_MATRIX_FILE ", found 'b'");
}

/* The table would be another matrix than the one that the file once was. */
static void sizes_without_a_banner_are_no_table(void **state)
{
    (void)state;
    struct matrix_file file;
    struct esp_error error = {0};
    refuses("2 2 2\n1 2 5\n2 1 6\n", "m:1: expected '%%MatrixMarket matrix coordinate real general' in front "
                                     "of the sizes of a Matrix Market "
                                     "file (or commas between the elements of a table), found '2 2 2'");
    refuses("2 2\n1\n2\n3\n4\n", "m:2: expected 2 elements as in the first row, found 1; if the first row "
                                 "has the sizes of a Matrix Market "
                                 "file, its first line is missing: %%MatrixMarket matrix ...");
    assert_csv("2 2 2\n1 2 5\n2 3 6\n", 3, 3, 2, 6);
    assert_csv("2,2,2\n1,2,5\n2,1,6\n", 3, 3, 2, 6);
    const char *table = "1 2\n3 4\n";
    assert_int_equal(matrix_parse(table, strlen(table), "a.mtx.gz", NULL, &file, &error), ESP_SYNTAX);
    assert_string_equal(error.text,
                        "a.mtx.gz:1: expected '%%MatrixMarket matrix ...' at the beginning of a Matrix "
                        "Market file, found '1 2'");
    assert_int_equal(matrix_parse(table, strlen(table), "a.npy", NULL, &file, &error), ESP_SYNTAX);
    assert_string_equal(error.text,
                        "a.npy:1: expected a file in the format NumPy, which the ending of its name says, "
                        "found '1 2'");
    refuses("% a comment\n1 2\n", "m:1: expected '%%MatrixMarket matrix ...' at the beginning of a Matrix "
                                  "Market file, found '% a comment'");
    refuses("title\n 4 1 1 2\nXYZ 3 3 6\n(4I3) (4I3) (4E10.3)\n",
            "m:3: expected a type such as RUA in the header of a Harwell-Boeing file, found 'XYZ'");
    refuses("\x89HDF\r\n", "m: " A_MATRIX_FILE ", found HDF5");
}

static void complex_tables_are_read(void **state)
{
    (void)state;
    struct matrix_file file;
    const char *text = "1+2i,3\n(4-5j),-1i\n";
    parse(text, strlen(text), &file);
    const double wanted[] = {1, 2, 4, -5, 3, 0, 0, -1};
    assert_true(file.matrix.is_complex && file.field == FIELD_COMPLEX);
    assert_memory_equal(file.matrix.values, wanted, sizeof wanted);
    matrix_file_clear(&file);
}

static void rutherford_boeing_knows_integers(void **state)
{
    (void)state;
    struct matrix_file file;
    char text[1000];
    static const char layout[] =
        "%-72s%-8s\n%14d %13d %13d %13d\n%s%11s %13d %13d %13d %13d\n%-16s%-16s%-20s\n"
        "  1  3  4\n  1  2  2\n%s";
    snprintf(text, sizeof text, layout, "A title", "KEY", 3, 1, 1, 1, "iua", "", 2, 2, 3, 0, "(4I3)", "(4I3)",
             "(4I5)", "    1   -2   30\n");
    parse(text, strlen(text), &file);
    assert_string_equal(matrix_format_name(file.format), "Rutherford-Boeing");
    assert_int_equal(file.field, FIELD_INTEGER);
    assert_true(at(&file.matrix, 2, 1) == -2 && at(&file.matrix, 2, 2) == 30);
    matrix_file_clear(&file);
    snprintf(text, sizeof text, layout, "A title", "KEY", 3, 1, 1, 1, "iua", "", 2, 2, 3, 0, "(4I3)", "(4I3)",
             "(4I5)", "    1   -2  3.0\n");
    refuses(text, "m:7: expected an integer of the values (format (4I5)), found '3.0'");
    snprintf(text, sizeof text, layout, "A title", "KEY", 3, 1, 1, 1, "rse", "", 2, 2, 3, 0, "(4I3)", "(4I3)",
             "(4I5)", "");
    refuses(text,
            "m:3: type RSE: expected an assembled matrix (such as RSA), found unassembled elements, which "
            "are not supported");
    snprintf(text, sizeof text, layout, "A title", "KEY", 3, 1, 1, 1, "qua", "", 2, 2, 3, 0, "(4I3)", "(4I3)",
             "(4I5)", "");
    refuses(text,
            "m:3: type QUA: expected values in the file, found a pattern whose values are in another file, "
            "which is not supported");
}

/* The announced size of a compressed file is compared with the limit before it is expanded, and the file
 * is expanded no further than its announcement can take. */
static void a_compressed_file_is_bounded_by_what_it_announces(void **state)
{
    (void)state;
    struct matrix_file sample, file;
    const struct matrix_reading tight = {.max_bytes = 1 << 20};
    struct matrix_file large = {.field = FIELD_REAL};
    struct esp_error error = {0};
    size_t length;
    assert_int_equal(matrix_init(&large.matrix, 400000, 1, false, 0, &error), ESP_OK);
    const char *bytes = written(&large, "mtx.gz", &length);
    assert_int_equal(matrix_parse(bytes, length, "m", &tight, &file, &error), ESP_LIMIT);
    assert_string_equal(error.text,
                        "m: a dense matrix of 400000 x 1 elements needs more than the limit of 1.05 MB");
    matrix_clear(&large.matrix);

    /* gzip files may be joined: here to a matrix of six elements with hundreds of thousands behind them. */
    static char joined[1 << 16];
    memcpy(joined, bytes, length);
    size_t second = length;
    parse(samples[0], strlen(samples[0]), &sample);
    bytes = written(&sample, "mtx.gz", &length);
    memmove(joined + length, joined, second);
    memcpy(joined, bytes, length);
    assert_int_equal(matrix_parse(joined, length + second, "m", NULL, &file, &error), ESP_LIMIT);
    assert_non_null(strstr(error.text, "m: the compressed content has more than the 67.1 kB"));
    matrix_file_clear(&sample);
}

/* A table announces nothing: its rows are counted while it is expanded. */
static void a_compressed_table_is_bounded_by_its_rows(void **state)
{
    (void)state;
    struct matrix_file file;
    const struct matrix_reading tight = {.max_bytes = 1 << 20};
    struct matrix_file large = {.field = FIELD_REAL};
    struct esp_error error = {0};
    size_t length;
    assert_int_equal(matrix_init(&large.matrix, 400000, 2, false, 0, &error), ESP_OK);
    const char *bytes = written(&large, "csv.gz", &length);
    assert_int_equal(matrix_parse(bytes, length, "m", &tight, &file, &error), ESP_LIMIT);
    long long rows = 0;
    assert_int_equal(sscanf(error.text, "m: a dense matrix of more than %lld x 2 elements needs", &rows), 1);
    assert_in_range(rows, (1 << 20) / 16, 200000); /* and not after all of the text */
    matrix_clear(&large.matrix);
    assert_int_equal(matrix_init(&large.matrix, 65000, 2, false, 0, &error), ESP_OK);
    bytes = written(&large, "csv.gz", &length);
    assert_int_equal(matrix_parse(bytes, length, "m", &tight, &file, &error), ESP_OK);
    assert_int_equal(file.matrix.rows, 65000);
    matrix_file_clear(&file);
    matrix_clear(&large.matrix);
}

static void formats_with_blanks_and_groups_are_read(void **state)
{
    (void)state;
    struct matrix_file file;
    char bytes[1000];
    parse(bytes, corpus("format-1x-and-group.rsa", bytes, sizeof bytes), &file);
    const double wanted[] = {4, -1, -1, 5, -2, -2, 6};
    assert_memory_equal(file.matrix.values, wanted, sizeof wanted);
    matrix_file_clear(&file);
    /* The second line of a format goes back to its last group. */
    static const char layout[] = "%-72s%-8s\n%14d%14d%14d%14d\n%-14s%14d%14d%14d%14d\n%-16s%-16s%-20s\n%s";
    char text[1000];
    snprintf(text, sizeof text, layout, "A title", "KEY", 6, 2, 2, 2, "RUA", 3, 3, 3, 0, "(1X,I2,2(I2))",
             "(2I3)", "(1X,2(F4.1,1X))", "  1 2 3\n 4\n  1  2\n  3\n  1.0  2.0 \n 3.0\n");
    parse(text, strlen(text), &file);
    assert_true(at(&file.matrix, 1, 1) == 1 && at(&file.matrix, 2, 2) == 2 && at(&file.matrix, 3, 3) == 3);
    matrix_file_clear(&file);
    static const char *const wrong[] = {"(I2",        "(I2))",     "(1X)",  "(0I2)",          "(2(1X))",
                                        "((((I2))))", "(I2,F4.1)", "(-I2)", "(9999(9999I9))", "(P,I2)",
                                        "(2H1,I2)",   ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct esp_error error = {0};
        snprintf(text, sizeof text, layout, "A title", "KEY", 3, 1, 1, 1, "RUA", 1, 1, 1, 0, wrong[i],
                 "(2I3)", "(F4.1)", "  1  2\n  1\n 1.0\n");
        assert_int_equal(parse_bytes(text, strlen(text), &file, &error), ESP_SYNTAX);
        assert_non_null(strstr(error.text, "m:4: expected the Fortran format of the pointers"));
    }
}

/* `kind`, `lines` and what stands behind the matrix of a Harwell-Boeing file with three rows. */
static void parse_with_rhs(const char *kind, int lines, int n_rhs, const char *format, const char *rhs,
                           struct matrix_file *file)
{
    char text[2000];
    snprintf(text, sizeof text,
             "%-72s%-8s\n%14d%14d%14d%14d%14d\nRUA           "
             "%14d%14d%14d%14d\n%-16s%-16s%-20s%-20s\n%-14s%14d%14d\n"
             "  1  2  3  4\n  1  2  3\n 1.0 2.0 3.0\n%s",
             "A title", "KEY", 3 + lines, 1, 1, 1, lines, 3, 3, 3, 0, "(4I3)", "(4I3)", "(3F4.1)", format,
             kind, n_rhs, 0, rhs);
    parse(text, strlen(text), file);
    assert_true(at(&file->matrix, 3, 3) == 3);
}

static void blocks_behind_a_matrix_begin_new_lines(void **state)
{
    (void)state;
    struct matrix_file file;
    char bytes[1000];
    parse(bytes, corpus("rhs-fgx.rua", bytes, sizeof bytes), &file);
    assert_true(file.rhs.cols == 1 && file.rhs.values[0] == 1 && file.rhs.values[2] == 3 && !*file.note);
    matrix_file_clear(&file);
    static const struct {
        const char *kind;
        int lines, n_rhs;
        const char *rhs;
    } layouts[] = {
        {"FGX", 9, 2,
         " 1.0 2.0\n 3.0 4.0\n 5.0 6.0\n 0.0 0.0\n 0.0 0.0\n 0.0 0.0\n 7.0 7.0\n 7.0 7.0\n 7.0 7.0\n"},
        {"F", 4, 2, " 1.0 2.0\n 3.0\n 4.0 5.0\n 6.0\n"}, /* each vector begins a new line */
        {"FG", 3, 1, " 1.0 2.0\n 3.0 0.0\n 0.0 0.0\n"},  /* none does */
        {"F X", 4, 1, " 1.0 2.0\n 3.0\n 7.0 8.0\n 9.0\n"},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        parse_with_rhs(layouts[i].kind, layouts[i].lines, layouts[i].n_rhs, "(2F4.1)", layouts[i].rhs, &file);
        assert_string_equal(file.note, "");
        assert_int_equal(file.rhs.cols, layouts[i].n_rhs);
        for (int k = 0; k < 3 * layouts[i].n_rhs; k++)
            assert_true(file.rhs.values[k] == k + 1);
        matrix_file_clear(&file);
    }
}

static void a_matrix_is_read_without_what_is_wrong_behind_it(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *format, *rhs, *why;
    } cases[] = {
        {"F", "(3F4.1)", " 1.0 x.0 3.0\n",
         "m:9: expected a number of the values of right-hand sides (format (3F4.1))"},
        {"F", "(3F4.1)", " 1.0 2.0", "m:9: expected values of right-hand sides number 3 of 3"},
        {"F", "(3F4.1)", "", "m:8: 3 values of right-hand sides are announced"},
        {"F", "(2F4.1)", " 1.0 2.0\n", "m:8: the header announces 1 lines of right-hand sides"},
        {"F", "(3Q4)", " 1.0 2.0 3.0\n", "m:4: expected the Fortran format of the right-hand sides"},
        {"M", "(3F4.1)", " 1.0 2.0 3.0\n", "m:5: right-hand sides of type \"M\": expected full vectors"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct matrix_file file;
        parse_with_rhs(cases[i].kind, 1, 1, cases[i].format, cases[i].rhs, &file);
        assert_null(file.rhs.values);
        if (strncmp(file.note, cases[i].why, strlen(cases[i].why)) != 0 ||
            !strstr(file.note, ": what stands behind the matrix is left out"))
            fail_msg("case %zu: %s", i, file.note);
        matrix_file_clear(&file);
    }
}

static void right_hand_sides_are_read_without_what_is_wrong_behind_them(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *format, *rhs, *why;
        int lines;
    } cases[] = {
        {"F X", "(3F4.1)", " 1.0 2.0 3.0\n 7.0 x.0 9.0\n",
         "m:10: expected a number of the values of solutions (format (3F4.1))", 2},
        {"FGX", "(3F4.1)", " 1.0 2.0 3.0\n 0.0 y.0 0.0\n 7.0 8.0 9.0\n",
         "m:10: expected a number of the values of starting guesses (format (3F4.1))", 3},
        {"FGX", "(3F4.1)", " 1.0 2.0 3.0\n 0.0 0.0 0.0\n 7.0 8.0", "m:11: expected values of solutions", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct matrix_file file;
        parse_with_rhs(cases[i].kind, cases[i].lines, 1, cases[i].format, cases[i].rhs, &file);
        assert_true(file.rhs.cols == 1 && file.rhs.values[0] == 1 && file.rhs.values[2] == 3);
        if (strncmp(file.note, cases[i].why, strlen(cases[i].why)) != 0 ||
            !strstr(file.note, ": what stands behind the right-hand sides is left out"))
            fail_msg("case %zu: %s", i, file.note);
        matrix_file_clear(&file);
    }
}

static void duplicates_are_added_where_they_may_be(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double first, last; /* of the stored values */
        int64_t stored;
    } cases[] = {
        {"%%MatrixMarket matrix coordinate real general\n2 2 4\n2 2 1\n1 1 2\n2 2 0.5\n1 1 3\n", 5, 1.5, 2},
        {"%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n2 1 1\n2 1 2\n2 2 4\n", 3, 4, 3},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 1\n2 1 2\n", 3, -3, 2},
        {"%%MatrixMarket matrix coordinate pattern general\n2 2 2\n2 1\n2 1\n", 1, 1, 1},
        {"%%MatrixMarket matrix coordinate integer general\n2 2 2\n2 1 -4\n2 1 4\n", 0, 0, 1},
    };
    const struct matrix_reading sums = {.sum_duplicates = true};
    struct esp_error error = {0};
    struct matrix_file file;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        assert_int_equal(parse_bytes(text, strlen(text), &file, &error), ESP_SYNTAX);
        assert_non_null(strstr(error.text, "is given a second time"));
        assert_int_equal(matrix_parse(text, strlen(text), "m", &sums, &file, &error), ESP_OK);
        assert_int_equal(matrix_stored(&file.matrix), cases[i].stored);
        assert_true(file.matrix.values[0] == cases[i].first);
        assert_true(file.matrix.values[cases[i].stored - 1] == cases[i].last);
        matrix_file_clear(&file);
    }
    const char *wide =
        "%%MatrixMarket matrix coordinate integer general\n1 1 2\n1 1 9007199254740992\n1 1 3\n";
    assert_int_equal(matrix_parse(wide, strlen(wide), "m", &sums, &file, &error), ESP_SYNTAX);
    assert_non_null(strstr(error.text, "a sum of entries at one place is beyond 9007199254740992"));
}

static void integers_of_scipy_may_be_unsigned(void **state)
{
    (void)state;
    struct matrix_file file;
    char bytes[200];
    parse(bytes, corpus("unsigned-integer.mtx", bytes, sizeof bytes), &file);
    assert_true(file.field == FIELD_INTEGER && at(&file.matrix, 1, 1) == 4);
    matrix_file_clear(&file);
    refuses("%%MatrixMarket matrix array unsigned-integer general\n1 1\n-1\n",
            "m:3: expected an integer value that is not negative, found '-1'");
    refuses("%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 -1\n",
            "m:3: expected an integer value that is not negative, found '-1'");
}

static void harwell_boeing_keeps_title_and_right_hand_side(void **state)
{
    (void)state;
    struct matrix_file file, again;
    struct esp_error error;
    size_t length;
    char path[1000];
    snprintf(path, sizeof path, "%s/examples/matrices/utm300.rua", getenv("top_srcdir"));
    assert_int_equal(matrix_load(path, 0, &file, &error), ESP_OK);
    snprintf(path, sizeof path, "/tmp/test_matrix_formats-%ld.rua", (long)getpid());
    assert_int_equal(matrix_save(path, &file, NULL, &error), ESP_OK);
    assert_int_equal(matrix_load(path, 0, &again, &error), ESP_OK);
    unlink(path);
    assert_string_equal(again.key, file.key);
    assert_string_equal(again.title, file.title);
    assert_int_equal(again.entries, file.entries);
    assert_memory_equal(again.matrix.values, file.matrix.values, matrix_bytes(&file.matrix));
    assert_memory_equal(again.rhs.values, file.rhs.values, matrix_bytes(&file.rhs));
    matrix_file_clear(&again);
    assert_non_null(written(&file, "rb.gz", &length)); /* which cannot keep the right-hand side */
    matrix_file_clear(&file);
}

static void formats_have_names_and_endings(void **state)
{
    (void)state;
    assert_string_equal(matrix_format_word(matrix_format_find("RUA")), "hb");
    assert_null(matrix_format_find("xls"));
    assert_string_equal(matrix_format_word(matrix_format_of_path("dir.csv/a.b.NPY.gz")), "npy");
    assert_null(matrix_format_of_path("dir.csv/npy"));
    assert_null(matrix_format_of_path("x.mat"));
}

static void columns_become_rows(void **state)
{
    (void)state;
    struct matrix_file file;
    struct matrix transpose;
    struct esp_error error;
    parse(samples[5], strlen(samples[5]), &file);
    assert_int_equal(matrix_transpose_sparse(&file.matrix, &transpose, &error), ESP_OK);
    const int64_t starts[] = {0, 1, 2, 3, 4}, indices[] = {0, 2, 2, 0};
    const double values[] = {-1, 1e-5, 7, .25};
    assert_int_equal(transpose.cols, 4);
    assert_memory_equal(transpose.starts, starts, sizeof starts);
    assert_memory_equal(transpose.indices, indices, sizeof indices);
    assert_memory_equal(transpose.values, values, sizeof values);
    matrix_clear(&transpose);
    matrix_file_clear(&file);
}

static void sparse_matrices_are_judged_like_dense_ones(void **state)
{
    (void)state;
    for (size_t s = 5; s < N_SAMPLES; s++) {
        struct matrix_file file;
        struct matrix dense, sparse;
        struct esp_error error;
        parse(samples[s], strlen(samples[s]), &file);
        assert_true(matrix_is_sparse(&file.matrix));
        assert_int_equal(matrix_to_dense(&file.matrix, 0, &dense, &error), ESP_OK);
        assert_int_equal(matrix_is_symmetric(&file.matrix, 0, NULL, NULL),
                         matrix_is_symmetric(&dense, 0, NULL, NULL));
        assert_int_equal(matrix_has_positive_diagonal(&file.matrix, 0),
                         matrix_has_positive_diagonal(&dense, 0));
        assert_int_equal(matrix_nonzeros(&file.matrix), matrix_nonzeros(&dense));
        assert_true(matrix_norm_inf(&file.matrix) == matrix_norm_inf(&dense));
        assert_int_equal(matrix_to_sparse(&dense, &sparse, &error), ESP_OK);
        assert_int_equal(matrix_stored(&sparse), matrix_nonzeros(&dense));
        assert_same_elements(&sparse, &file.matrix);
        matrix_clear(&sparse);
        matrix_clear(&dense);
        matrix_file_clear(&file);
    }
}

static void integers_of_64_bits_are_exact(void **state)
{
    (void)state;
    static const int64_t values[] = {INT64_C(9007199254740993), INT64_MIN + 1, INT64_MAX, 3};
    static const char *const texts[] = {
        "%%MatrixMarket matrix array integer general\n4 1\n9007199254740993\n-9223372036854775807\n"
        "9223372036854775807\n3\n",
        "9007199254740993\n-9223372036854775807\n9223372036854775807\n3\n"};
    for (unsigned t = 0; t < 2; t++)
        for (unsigned f = 0; f < 3; f++) {
            static const char *const endings[] = {"mtx", "csv", "npy"};
            struct matrix_file file, again;
            size_t length;
            parse(texts[t], strlen(texts[t]), &file);
            file.field = FIELD_INTEGER;
            const char *bytes = written(&file, endings[f], &length);
            parse(bytes, length, &again);
            for (size_t k = 0; k < 4; k++) {
                assert_true(matrix_integer(&file.matrix, k) == values[k]);
                assert_true(matrix_integer(&again.matrix, k) == values[k]);
                assert_true(again.matrix.values[k] == (double)values[k]);
            }
            matrix_file_clear(&file);
            matrix_file_clear(&again);
        }
    struct esp_error error = {0};
    struct matrix matrix;
    assert_int_equal(matrix_parse_inline("[1, 9007199254740993]", &matrix, &error), ESP_OK);
    assert_true(matrix_integer(&matrix, 1) == values[0]);
    assert_int_equal(matrix_check_doubles(&matrix, &error), ESP_INVALID);
    assert_string_equal(error.text,
                        "the integer 9007199254740993 in row 1, column 2 does not fit a double exactly");
    matrix_clear(&matrix);
    refuses("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9007199254740993\n",
            "m:3: integer '9007199254740993' does not fit a double exactly");
}

static size_t files_in(const char *folder)
{
    size_t n = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (const struct dirent *entry; (entry = readdir(entries));)
        n += entry->d_name[0] != '.';
    closedir(entries);
    return n;
}

/* A process that is killed meanwhile leaves nothing behind. */
static void what_is_still_coming_has_no_name(void **state)
{
    (void)state;
    static const double two[] = {3, 4};
    char folder[] = "/tmp/test_matrix_formats-XXXXXX", path[64];
    const struct matrix shape = {.rows = 2, .cols = 1};
    const struct matrix_file about = matrix_as_file(&shape);
    struct matrix_place *place;
    struct matrix_file file;
    struct esp_error error;
    void *elements;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x.npy", folder);
    const int probe = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    const bool can_be = probe >= 0;
    if (can_be)
        close(probe);
    for (int times = 0; times < 2; times++) { /* the second one replaces the first */
        const size_t before = files_in(folder);
        assert_int_equal(matrix_place_create(path, &about, &place, &elements, &error), ESP_OK);
        assert_true(!can_be || files_in(folder) == before);
        assert_int_equal(matrix_place_end(place, false, &error), ESP_OK);
        assert_int_equal(files_in(folder), before);
        assert_int_equal(matrix_place_create(path, &about, &place, &elements, &error), ESP_OK);
        memcpy(elements, two, sizeof two);
        assert_int_equal(matrix_place_end(place, true, &error), ESP_OK);
        assert_int_equal(files_in(folder), 1);
        assert_int_equal(matrix_load(path, 0, &file, &error), ESP_OK);
        assert_true(at(&file.matrix, 1, 1) == 3 && at(&file.matrix, 2, 1) == 4);
        matrix_file_clear(&file);
    }
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(what_is_still_coming_has_no_name),
        cmocka_unit_test(a_beginning_tells_the_extents),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(each_content_has_one_reader),
        cmocka_unit_test(a_lost_first_line_is_noticed),
        cmocka_unit_test(files_of_other_programs_have_their_reader),
        cmocka_unit_test(octave_variables_of_every_kind_are_read),
        cmocka_unit_test(no_row_is_dropped_for_what_is_missing_in_it),
        cmocka_unit_test(decimal_commas_are_read_where_they_are_told),
        cmocka_unit_test(a_heading_may_have_one_column),
        cmocka_unit_test(sizes_without_a_banner_are_no_table),
        cmocka_unit_test(a_compressed_file_is_bounded_by_what_it_announces),
        cmocka_unit_test(a_compressed_table_is_bounded_by_its_rows),
        cmocka_unit_test(formats_with_blanks_and_groups_are_read),
        cmocka_unit_test(blocks_behind_a_matrix_begin_new_lines),
        cmocka_unit_test(a_matrix_is_read_without_what_is_wrong_behind_it),
        cmocka_unit_test(right_hand_sides_are_read_without_what_is_wrong_behind_them),
        cmocka_unit_test(duplicates_are_added_where_they_may_be),
        cmocka_unit_test(integers_of_scipy_may_be_unsigned),
        cmocka_unit_test(integers_of_64_bits_are_exact),
        cmocka_unit_test(damage_of_a_compressed_file_is_noticed),
        cmocka_unit_test(numpy_arrays_of_every_kind_are_read),
        cmocka_unit_test(npy_arrays_have_up_to_seven_dimensions),
        cmocka_unit_test(wrong_numpy_files_are_told_by_byte),
        cmocka_unit_test(tables_of_numbers_have_many_separators),
        cmocka_unit_test(wrong_tables_are_told_by_line),
        cmocka_unit_test(complex_tables_are_read),
        cmocka_unit_test(rutherford_boeing_knows_integers),
        cmocka_unit_test(harwell_boeing_keeps_title_and_right_hand_side),
        cmocka_unit_test(formats_have_names_and_endings),
        cmocka_unit_test(columns_become_rows),
        cmocka_unit_test(sparse_matrices_are_judged_like_dense_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
