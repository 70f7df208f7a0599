/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/matrix/matrix.h"

#include "core/matrix/matrix_format.h"
#include "util/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Largest text file. A number takes more room as text than as a double; for more data, text is the wrong
 * form. */
#define MAX_FILE_BYTES (UINT64_C(64) << 30)
#define TEXT_PER_BYTE  4   /* characters of a number and its position, per byte in memory */
#define TEXT_OF_ENTRY  256 /* most characters of an entry and its comments; usually fewer than 60 */
#define BLOCK          ((size_t)1 << 16) /* the beginning of a file, which decides whether more is read */

/* a + b * c, or false */
static bool add_product(uint64_t *a, uint64_t b, uint64_t c)
{
    return !__builtin_mul_overflow(b, c, &b) && !__builtin_add_overflow(*a, b, a);
}

static enum esp_status check_dense(int64_t rows, int64_t cols, bool is_complex, uint64_t limit,
                                   struct esp_error *error)
{
    uint64_t elements, bytes = 0;
    char size[BYTES_TEXT];
    if (rows < 0 || cols < 0)
        return error_set(error, ESP_INVALID, "a matrix of %lld x %lld elements: expected extents >= 0",
                         (long long)rows, (long long)cols);
    if (!__builtin_mul_overflow((uint64_t)rows, (uint64_t)cols, &elements) &&
        add_product(&bytes, elements, is_complex ? 16 : 8) && bytes <= limit)
        return ESP_OK;
    return error_set(error, ESP_LIMIT,
                     "a dense matrix of %lld x %lld elements needs more than the limit of %s",
                     (long long)rows, (long long)cols, bytes_text(limit, size));
}

static enum esp_status check_sparse(int64_t rows, int64_t cols, int64_t entries, bool is_complex,
                                    uint64_t limit, struct esp_error *error)
{
    uint64_t bytes = 8;
    char size[BYTES_TEXT];
    if (rows < 0 || cols < 0)
        return error_set(error, ESP_INVALID,
                         "a sparse matrix of %lld x %lld with %lld entries: expected extents >= 0",
                         (long long)rows, (long long)cols, (long long)entries);
    if (add_product(&bytes, (uint64_t)cols, 8) &&
        add_product(&bytes, (uint64_t)entries, is_complex ? 24 : 16) && bytes <= limit)
        return ESP_OK;
    return error_set(error, ESP_LIMIT,
                     "a sparse matrix of %lld x %lld with %lld entries needs more than the limit of %s",
                     (long long)rows, (long long)cols, (long long)entries, bytes_text(limit, size));
}

/* Checks that a matrix with that many entries (< 0: dense) takes at most `max_bytes` (0: the default). */
static enum esp_status check_size(int64_t rows, int64_t cols, int64_t entries, bool is_complex,
                                  uint64_t max_bytes, struct esp_error *error)
{
    const uint64_t limit = max_bytes ? max_bytes : MATRIX_DEFAULT_MAX_BYTES;
    return entries < 0 ? check_dense(rows, cols, is_complex, limit, error)
                       : check_sparse(rows, cols, entries, is_complex, limit, error);
}

enum esp_status matrix_init(struct matrix *matrix, int64_t rows, int64_t cols, bool is_complex,
                            uint64_t max_bytes, struct esp_error *error)
{
    enum esp_status status = check_size(rows, cols, -1, is_complex, max_bytes, error);
    if (status != ESP_OK)
        return status;
    double *values = calloc((size_t)(rows * cols) + (rows * cols == 0), is_complex ? 16 : 8);
    if (!values)
        return error_no_memory(error, "a matrix");
    *matrix = (struct matrix){rows, cols, is_complex, values, NULL, NULL, NULL};
    return ESP_OK;
}

enum esp_status matrix_init_sparse(struct matrix *matrix, int64_t rows, int64_t cols, int64_t entries,
                                   bool is_complex, uint64_t max_bytes, struct esp_error *error)
{
    if (entries < 0)
        return error_set(error, ESP_INVALID, "a sparse matrix with %lld entries", (long long)entries);
    enum esp_status status = check_size(rows, cols, entries, is_complex, max_bytes, error);
    if (status != ESP_OK)
        return status;
    struct matrix made = {rows, cols, is_complex, NULL, NULL, NULL, NULL};
    made.values = calloc((size_t)entries + 1, is_complex ? 16 : 8);
    made.starts = calloc((size_t)cols + 1, sizeof *made.starts);
    made.indices = calloc((size_t)entries + 1, sizeof *made.indices);
    if (!made.values || !made.starts || !made.indices) {
        matrix_clear(&made);
        return error_no_memory(error, "a matrix");
    }
    *matrix = made;
    return ESP_OK;
}

void matrix_clear(struct matrix *matrix)
{
    if (!matrix)
        return;
    free(matrix->values);
    free(matrix->starts);
    free(matrix->indices);
    free(matrix->wide);
    *matrix = (struct matrix){0};
}

enum esp_status matrix_set_integer(struct matrix *matrix, size_t index, int64_t integer,
                                   struct esp_error *error)
{
    matrix->values[index] = (double)integer;
    if (integer_is_exact(integer))
        return ESP_OK;
    if (!matrix->wide && !(matrix->wide = calloc((size_t)matrix_stored(matrix), sizeof *matrix->wide)))
        return error_no_memory(error, "the integers of a matrix");
    matrix->wide[index] = integer;
    return ESP_OK;
}

enum esp_status matrix_check_doubles(const struct matrix *matrix, struct esp_error *error)
{
    for (int64_t k = 0; matrix->wide && k < matrix_stored(matrix); k++)
        if (matrix->wide[k])
            return error_set(error, ESP_INVALID,
                             "the integer %lld in row %lld, column %lld does not fit a double exactly",
                             (long long)matrix->wide[k], (long long)(k % matrix->rows + 1),
                             (long long)(k / matrix->rows + 1));
    return ESP_OK;
}

int64_t matrix_stored(const struct matrix *matrix)
{
    return column_begin(matrix, matrix->cols);
}

size_t matrix_bytes(const struct matrix *matrix)
{
    return (size_t)matrix_stored(matrix) * (matrix->is_complex ? 16 : 8);
}

/* Returns the index of an element among the stored values, or -1: a zero of a sparse matrix. */
static int64_t find_stored(const struct matrix *matrix, int64_t row, int64_t col)
{
    if (!matrix->starts)
        return col * matrix->rows + row;
    int64_t low = matrix->starts[col], high = matrix->starts[col + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (matrix->indices[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < matrix->starts[col + 1] && matrix->indices[low] == row ? low : -1;
}

void matrix_element(const struct matrix *matrix, int64_t row, int64_t col, double *re, double *im)
{
    int64_t at = find_stored(matrix, row, col);
    *re = at < 0 ? 0 : matrix->values[matrix->is_complex ? 2 * at : at];
    *im = at < 0 || !matrix->is_complex ? 0 : matrix->values[2 * at + 1];
}

enum esp_status matrix_to_dense(const struct matrix *matrix, uint64_t max_bytes, struct matrix *dense,
                                struct esp_error *error)
{
    enum esp_status status =
        matrix_init(dense, matrix->rows, matrix->cols, matrix->is_complex, max_bytes, error);
    size_t size = matrix->is_complex ? 16 : 8;
    for (int64_t j = 0; status == ESP_OK && j < matrix->cols; j++)
        for (int64_t k = column_begin(matrix, j); k < column_begin(matrix, j + 1); k++)
            memcpy((char *)dense->values + (size_t)(j * matrix->rows + entry_row(matrix, j, k)) * size,
                   (const char *)matrix->values + (size_t)k * size, size);
    return status;
}

enum esp_status matrix_to_sparse(const struct matrix *matrix, struct matrix *sparse, struct esp_error *error)
{
    bool all = matrix_is_sparse(matrix);
    int64_t n = all ? matrix_stored(matrix) : matrix_nonzeros(matrix), at = 0;
    enum esp_status status =
        matrix_init_sparse(sparse, matrix->rows, matrix->cols, n, matrix->is_complex, UINT64_MAX, error);
    size_t parts = matrix->is_complex ? 2 : 1;
    for (int64_t j = 0; status == ESP_OK && j < matrix->cols; j++) {
        for (int64_t k = column_begin(matrix, j); k < column_begin(matrix, j + 1); k++) {
            const double *value = matrix->values + (size_t)k * parts;
            if (!all && value[0] == 0 && value[parts - 1] == 0)
                continue;
            sparse->indices[at] = entry_row(matrix, j, k);
            memcpy(sparse->values + (size_t)at++ * parts, value, parts * sizeof *value);
        }
        sparse->starts[j + 1] = at;
    }
    return status;
}

enum esp_status matrix_make_dense(struct matrix *matrix, uint64_t max_bytes, struct esp_error *error)
{
    struct matrix dense;
    if (!matrix->starts)
        return ESP_OK;
    enum esp_status status = matrix_to_dense(matrix, max_bytes, &dense, error);
    if (status != ESP_OK)
        return status;
    matrix_clear(matrix);
    *matrix = dense;
    return ESP_OK;
}

enum esp_status matrix_transpose_sparse(const struct matrix *matrix, struct matrix *transpose,
                                        struct esp_error *error)
{
    int64_t entries = matrix_stored(matrix);
    enum esp_status status = matrix_init_sparse(transpose, matrix->cols, matrix->rows, entries,
                                                matrix->is_complex, UINT64_MAX, error);
    if (status != ESP_OK)
        return status;
    size_t size = matrix->is_complex ? 16 : 8;
    int64_t *starts = transpose->starts;
    /* First starts[i + 1] is where the next entry of row i goes; in the end it is the end of row i. */
    for (int64_t k = 0; k < entries; k++)
        if (matrix->indices[k] + 2 <= matrix->rows)
            starts[matrix->indices[k] + 2]++;
    for (int64_t i = 0; i < matrix->rows; i++)
        starts[i + 1] += starts[i];
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t k = matrix->starts[j]; k < matrix->starts[j + 1]; k++) {
            int64_t to = starts[matrix->indices[k] + 1]++;
            transpose->indices[to] = j;
            memcpy((char *)transpose->values + (size_t)to * size,
                   (const char *)matrix->values + (size_t)k * size, size);
        }
    return ESP_OK;
}

const char *matrix_field_name(enum matrix_field field)
{
    static const char *const names[] = {"real", "integer", "complex", "pattern"};
    return names[field];
}

const char *matrix_symmetry_name(enum matrix_symmetry symmetry)
{
    static const char *const names[] = {"general", "symmetric", "skew-symmetric", "hermitian"};
    return names[symmetry];
}

void matrix_file_clear(struct matrix_file *file)
{
    if (!file)
        return;
    matrix_clear(&file->matrix);
    matrix_clear(&file->rhs);
}

struct matrix_file matrix_as_file(const struct matrix *matrix)
{
    return (struct matrix_file){.is_sparse = matrix_is_sparse(matrix),
                                .field = matrix->is_complex ? FIELD_COMPLEX : FIELD_REAL,
                                .matrix = *matrix};
}

/* Contents that are no matrix files, or that store matrices in an unsupported way. */
static const struct {
    const char *start, *name;
} others[] = {
    {"\x89HDF", "HDF5"},
    {"MATLAB 5.0 MAT-file", "MATLAB's binary format"},
    {"Octave-1-", "Octave's binary format"},
    {"PK\x03\x04", "a zip archive (such as .npz and .xlsx)"},
    {"BZh", "bzip2"},
    {"\xfd"
     "7zXZ",
     "xz"},
    {"(\xb5/\xfd", "zstd"},
    {"{", "JSON"},
};

/* "expected a matrix file (Matrix Market, ... or CSV), found 'hello'" */
static enum esp_status not_a_matrix(struct lines *lines, struct esp_error *error)
{
    char list[256] = "";
    struct span first = {lines->at, 0};
    for (const struct matrix_format *format = matrix_formats; format->name; format++) {
        const char *between = !*list ? "" : format[1].name ? ", " : " or ";
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", between, format->name);
    }
    if (lines->at == lines->end)
        return error_set(error, ESP_SYNTAX, "%s: expected a matrix, found an empty file", lines->name);
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        size_t length = strlen(others[i].start);
        if ((size_t)(lines->end - lines->at) >= length && memcmp(lines->at, others[i].start, length) == 0)
            return error_set(error, ESP_SYNTAX, "%s: expected a matrix file (%s), found %s", lines->name,
                             list, others[i].name);
    }
    lines_next_content(lines, 0, &first);
    return lines_expected(lines, error, first, "a matrix file (%s)", list);
}

/* Skips the byte order mark: spreadsheets start UTF-8 text with a mark of three bytes, and may write
 * UTF-16. */
static enum esp_status pass_byte_order_mark(const char **text, size_t *length, const char *name,
                                            struct esp_error *error)
{
    if (*length >= 3 && memcmp(*text, "\xef\xbb\xbf", 3) == 0) {
        *text += 3;
        *length -= 3;
    }
    if (*length >= 2 && (memcmp(*text, "\xff\xfe", 2) == 0 || memcmp(*text, "\xfe\xff", 2) == 0))
        return error_set(error, ESP_SYNTAX, "%s: expected text in ASCII or UTF-8, found UTF-16: save it anew",
                         name);
    return ESP_OK;
}

/* Adds to a reader's error the format that the content was taken for. */
static enum esp_status tell_format(enum esp_status status, const struct matrix_format *format,
                                   struct esp_error *error)
{
    size_t length = error ? strlen(error->text) : 0;
    if (status == ESP_SYNTAX && error)
        snprintf(error->text + length, sizeof error->text - length, " (read as %s)", format->name);
    return status;
}

/* For a format that starts with fixed words: reports the first line that does not fit them. False: the
 * format has none. */
static bool lacks_beginning(struct lines *lines, const struct matrix_format *claimed, struct esp_error *error)
{
    struct span line = {lines->at, 0};
    struct lines first = *lines;
    lines_next_content(&first, 0, &line);
    bool is_market = span_trim(line).length && span_trim(line).text[0] == '%';
    if (is_market || (claimed && strcmp(claimed->word, "mtx") == 0)) {
        lines_expected(&first, error, line, "'%s matrix ...' at the beginning of a Matrix Market file",
                       MATRIX_MARKET_BANNER);
        return true;
    }
    if (harwell_boeing_is_near(lines->at, (size_t)(lines->end - lines->at))) {
        for (int i = 0; i < 3; i++)
            lines_next(lines, &line);
        lines_expected(lines, error, span_columns(line, 0, 3),
                       "a type such as RUA in the header of a "
                       "Harwell-Boeing file");
        return true;
    }
    if (!claimed)
        return false;
    lines_expected(&first, error, line, "a file in the format %s, which the ending of its name says",
                   claimed->name);
    return true;
}

static enum esp_status parse_plain(const char *text, size_t length, const char *name,
                                   const struct matrix_reading *reading, struct matrix_file *file,
                                   struct esp_error *error)
{
    enum esp_status status = pass_byte_order_mark(&text, &length, name, error);
    if (status != ESP_OK)
        return status;
    struct lines lines = {.name = name,
                          .begin = text,
                          .at = text,
                          .end = text + length,
                          .max_bytes = reading->max_bytes,
                          .sum_duplicates = reading->sum_duplicates};
    for (const struct matrix_format *format = matrix_formats; format->name; format++) {
        if (!format->probe(text, length))
            continue;
        /* A table has no fixed words that distinguish it from a damaged file of another format. */
        const struct matrix_format *claimed = matrix_format_of_path(name);
        bool is_table = format->parse == matrix_csv_parse;
        if (is_table && lacks_beginning(&lines, claimed == format ? NULL : claimed, error))
            return ESP_SYNTAX;
        file->format = format;
        return tell_format(format->parse(&lines, file, error), format, error);
    }
    return length && lacks_beginning(&lines, NULL, error) ? ESP_SYNTAX : not_a_matrix(&lines, error);
}

/* Returns the most bytes of the matrix in memory. */
static uint64_t most_bytes(const struct matrix_reading *reading)
{
    return reading && reading->max_bytes ? reading->max_bytes : MATRIX_DEFAULT_MAX_BYTES;
}

/* Returns the most bytes of text of a matrix of that size. A pipe may have no end. */
static uint64_t most_text(const struct matrix_reading *reading)
{
    uint64_t most = most_bytes(reading);
    return most < MAX_FILE_BYTES / TEXT_PER_BYTE ? most * TEXT_PER_BYTE + BLOCK : MAX_FILE_BYTES;
}

/* Examines the first bytes of a content before the rest is read. Lowers `most`, the largest size of the
 * content, to what the announced sizes can need. ESP_LIMIT when the matrix would be too large. */
static enum esp_status check_beginning(const char *start, size_t length, const char *name,
                                       const struct matrix_reading *reading, uint64_t *most,
                                       struct esp_error *error)
{
    struct matrix_file file = {0};
    const struct matrix_format *format = matrix_formats;
    while (format->name && !format->probe(start, length))
        format++;
    const char *newline = format->announce ? memrchr(start, '\n', length) : NULL;
    struct lines lines = {.name = name, .begin = start, .at = start, .end = newline ? newline + 1 : start};
    if (!newline || format->announce(&lines, &file, NULL) != ESP_OK)
        return ESP_OK; /* the reader reports the error */
    const struct matrix *matrix = &file.matrix;
    const uint64_t limit = most_bytes(reading);
    enum esp_status status = check_size(matrix->rows, matrix->cols, file.is_sparse ? file.entries : -1,
                                        matrix->is_complex, limit, error);
    if (status == ESP_LIMIT)
        return error_prefix(error, "%s", name);
    uint64_t numbers = file.is_sparse ? (uint64_t)file.entries : (uint64_t)(matrix->rows * matrix->cols),
             text = BLOCK;
    if (status == ESP_OK && add_product(&text, numbers, TEXT_OF_ENTRY) && text < *most)
        *most = text;
    return ESP_OK;
}

/* Watches a table, which announces no sizes: the rows read so far may already be too large. */
struct growth {
    int64_t cols, rows; /* rows: lines with contents that are no comments */
    bool within_line, is_too_large;
    uint64_t limit;
};

static bool table_fits(void *arg, const char *piece, size_t length)
{
    struct growth *growth = arg;
    const char *at = piece, *end = piece + length;
    while (at < end) {
        while (!growth->within_line && at < end && strchr(" \t\r\n", *at))
            at++;
        if (at == end)
            break;
        growth->rows += !growth->within_line && *at != '#';
        growth->within_line = true;
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            break;
        growth->within_line = false;
        at = newline + 1;
    }
    uint64_t bytes = 0;
    const int64_t whole = growth->rows - 2; /* without a heading, and the line that has begun */
    growth->is_too_large = whole > 0 && (!add_product(&bytes, (uint64_t)whole, 8 * (uint64_t)growth->cols) ||
                                         bytes > growth->limit);
    return !growth->is_too_large;
}

static enum esp_status expand_table(const char *content, size_t *length, const char *name, int64_t cols,
                                    uint64_t limit, uint64_t most, struct scratch *expanded,
                                    struct esp_error *error)
{
    struct growth growth = {.cols = cols, .limit = limit};
    const struct gzip_watch watch = {table_fits, &growth};
    char size[BYTES_TEXT];
    const enum esp_status status = gzip_expand(content, *length, name, most, &watch, expanded, length, error);
    if (!growth.is_too_large)
        return status;
    return error_set(error, ESP_LIMIT,
                     "%s: a dense matrix of more than %lld x %lld elements needs more than the limit of %s",
                     name, (long long)growth.rows - 2, (long long)cols, bytes_text(limit, size));
}

/* Expands a compressed file, up to what the announced sizes, or those of a table, can need. */
static enum esp_status expand(const char *content, size_t *length, const char *name,
                              const struct matrix_reading *reading, struct scratch *expanded,
                              struct esp_error *error)
{
    char *start = malloc(BLOCK);
    uint64_t most = most_text(reading);
    if (!start)
        return error_no_memory(error, "the beginning of a compressed file");
    size_t begun = gzip_begin(content, *length, start, BLOCK);
    enum esp_status status = check_beginning(start, begun, name, reading, &most, error);
    const int64_t cols = status == ESP_OK ? matrix_csv_columns(start, begun) : 0;
    free(start);
    if (status == ESP_OK && cols > 0)
        return expand_table(content, length, name, cols, most_bytes(reading), most, expanded, error);
    return status == ESP_OK ? gzip_expand(content, *length, name, most, NULL, expanded, length, error)
                            : status;
}

enum esp_status matrix_parse(const char *text, size_t length, const char *name,
                             const struct matrix_reading *reading, struct matrix_file *file,
                             struct esp_error *error)
{
    static const struct matrix_reading usual = {0};
    struct scratch expanded = {0};
    enum esp_status status = ESP_OK;
    *file = (struct matrix_file){0};
    reading = reading ? reading : &usual;
    if (gzip_probe(text, length)) {
        status = expand(text, &length, name, reading, &expanded, error);
        text = expanded.memory;
    }
    if (status == ESP_OK)
        status = parse_plain(text, length, name, reading, file, error);
    scratch_clear(&expanded);
    if (status != ESP_OK)
        matrix_file_clear(file);
    return status;
}

/* Whether the beginning may be that of a matrix file: text, or a binary format. */
static bool may_be_one(const char *start, size_t length)
{
    return !memchr(start, 0, length) || gzip_probe(start, length) || matrix_npy_probe(start, length);
}

/* A content that cannot be a matrix is read only to the end of its first block, because a device may have
 * no end. */
static enum esp_status read_all(int fd, const char *path, const struct matrix_reading *reading,
                                struct scratch *text, size_t *used, struct esp_error *error)
{
    uint64_t most = most_text(reading);
    size_t size = BLOCK;
    char limit[BYTES_TEXT];
    *used = 0;
    while (scratch_grow(text, size)) {
        ssize_t got = read(fd, text->memory + *used, size - *used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EISDIR)
            return error_set(error, ESP_SYNTAX, "%s: expected a matrix file, found a folder", path);
        if (got < 0)
            return error_errno(error, "cannot read %s", path);
        *used += (size_t)got;
        if (got == 0 || (*used == BLOCK && !may_be_one(text->memory, *used)))
            return ESP_OK;
        if (*used < size)
            continue;
        enum esp_status status =
            size == BLOCK ? check_beginning(text->memory, *used, path, reading, &most, error) : ESP_OK;
        if (status != ESP_OK)
            return status;
        if (size >= most)
            return error_set(error, ESP_LIMIT, "%s: a file of such a matrix has at most %s", path,
                             bytes_text(most, limit));
        size *= 2;
    }
    return error_no_memory(error, path);
}

/* Large files are mapped; others, and pipes, are read. */
static enum esp_status take_content(int fd, const char *path, const struct matrix_reading *reading,
                                    struct scratch *text, size_t *length, struct esp_error *error)
{
    struct stat about;
    const bool is_large = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && lseek(fd, 0, SEEK_CUR) == 0 &&
                          about.st_size > (off_t)SCRATCH_HEAP_BYTES &&
                          (uint64_t)about.st_size <= most_text(reading);
    if (!is_large || !scratch_map(text, fd, (size_t)about.st_size))
        return read_all(fd, path, reading, text, length, error);
    *length = text->size;
    return ESP_OK;
}

enum esp_status matrix_file_fault(enum esp_status status, struct esp_error *error)
{
    if (status != ESP_LIMIT && status != ESP_NO_MEMORY)
        return status;
    if (error)
        error->status = ESP_SYNTAX;
    return ESP_SYNTAX;
}

enum esp_status matrix_load(const char *path, const struct matrix_reading *reading, struct matrix_file *file,
                            struct esp_error *error)
{
    enum esp_status status = matrix_load_array(path, reading, file, error);
    if (status != ESP_OK)
        return status;
    if (file->n_dims > 2)
        status =
            error_set(error, ESP_SYNTAX, "%s: expected at most two dimensions, found %u", path, file->n_dims);
    else if (file->field == FIELD_INTEGER && matrix_check_doubles(&file->matrix, error) != ESP_OK) {
        status = ESP_SYNTAX;
        if (error) {
            error_prefix(error, "%s", path);
            error->status = status;
        }
    }
    if (status != ESP_OK)
        matrix_file_clear(file);
    return status;
}

enum esp_status matrix_load_array(const char *path, const struct matrix_reading *reading,
                                  struct matrix_file *file, struct esp_error *error)
{
    bool standard_input = strcmp(path, "-") == 0;
    int fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return error_set(error, ESP_NOT_FOUND, "%s: no such file", path);
    if (fd < 0)
        return error_errno(error, "cannot open %s", path);
    struct scratch text = {0};
    size_t length = 0;
    const char *name = standard_input ? "standard input" : path;
    enum esp_status status = take_content(fd, name, reading, &text, &length, error);
    if (!standard_input)
        close(fd);
    if (status == ESP_OK)
        status = matrix_parse(text.memory, length, name, reading, file, error);
    scratch_clear(&text);
    if (status == ESP_OK && *file->note && reading && reading->tell)
        reading->tell(file->note);
    return status;
}

enum esp_status matrix_load_dense(const char *path, const struct matrix_reading *reading,
                                  struct matrix_file *file, struct esp_error *error)
{
    enum esp_status status = matrix_load(path, reading, file, error);
    if (status != ESP_OK)
        return status;
    status = matrix_make_dense(&file->matrix, reading ? reading->max_bytes : 0, error);
    if (status == ESP_OK)
        return ESP_OK;
    error_prefix(error, "%s", path);
    matrix_file_clear(file);
    return status;
}
