/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/crd/crd_values.h"
#include "core/matrix/matrix_text.h"
#include "core/problem/texts.h"
#include "util/bytes.h"
#include "sed/crd/crd.h"

#include <inttypes.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t count_of(const struct ring_file *file)
{
    return file->bytes / base_type_size((enum base_type)file->type);
}

static bool is_complex(const struct ring_file *file)
{
    return file->type == TYPE_COMPLEX || file->type == TYPE_DOUBLE_COMPLEX;
}

/* Returns the memory index of the element written as number `i`: matrices are written row by row. */
static uint64_t element_at(const struct ring_file *file, uint64_t i)
{
    if (file->n_dims != 2 || file->row_major || file->dims[1] == 0)
        return i;
    uint64_t rows = (uint64_t)file->dims[0], columns = (uint64_t)file->dims[1];
    return i % columns * rows + i / columns;
}

/* Returns the memory index of Matrix Market's element number `i`: column by column. */
static uint64_t market_element_at(const struct ring_file *file, uint64_t i)
{
    if (file->n_dims != 2 || !file->row_major || file->dims[0] == 0)
        return i;
    uint64_t rows = (uint64_t)file->dims[0], columns = (uint64_t)file->dims[1];
    return i % rows * columns + i / rows;
}

static const char *address_of(const struct ring_file *file, const void *value, uint64_t element)
{
    return (const char *)value + element * base_type_size((enum base_type)file->type);
}

/* ---- writing ---- */

static void write_number(FILE *stream, enum base_type type, const void *raw)
{
    float single[2];
    double twice[2];
    struct number number;
    switch (type) {
    case TYPE_CHAR:
        fputc(*(const char *)raw, stream);
        break;
    case TYPE_FLOAT:
        memcpy(single, raw, sizeof *single);
        fprintf(stream, "%.9g", (double)single[0]);
        break;
    case TYPE_DOUBLE:
        memcpy(twice, raw, sizeof *twice);
        fprintf(stream, "%.17g", twice[0]);
        break;
    case TYPE_COMPLEX:
        memcpy(single, raw, sizeof single);
        fprintf(stream, "%.9g %.9g", (double)single[0], (double)single[1]);
        break;
    case TYPE_DOUBLE_COMPLEX:
        memcpy(twice, raw, sizeof twice);
        fprintf(stream, "%.17g %.17g", twice[0], twice[1]);
        break;
    default:
        number = number_load(type, raw);
        fprintf(stream, "%" PRId64, number.integer);
    }
}

static void write_text(FILE *stream, const struct ring_file *file, const void *value)
{
    uint64_t n = count_of(file), columns = file->n_dims >= 2 ? (uint64_t)file->dims[1] : 1;
    for (uint64_t i = 0; i < n; i++) {
        write_number(stream, (enum base_type)file->type, address_of(file, value, element_at(file, i)));
        fputc((i + 1) % columns == 0 ? '\n' : ' ', stream);
    }
}

static void write_market(FILE *stream, const struct ring_file *file, const void *value)
{
    uint64_t n = count_of(file);
    fprintf(stream, "%s matrix array %s general\n%" PRId64 " %" PRId64 "\n", MATRIX_MARKET_BANNER,
            is_complex(file)           ? "complex"
            : file->type >= TYPE_FLOAT ? "real"
                                       : "integer",
            file->n_dims > 0 ? file->dims[0] : 1, file->n_dims > 1 ? file->dims[1] : 1);
    for (uint64_t i = 0; i < n; i++) {
        write_number(stream, (enum base_type)file->type, address_of(file, value, market_element_at(file, i)));
        fputc('\n', stream);
    }
}

/* Writes an array of strings, a line for each. */
static void write_lines(FILE *stream, const struct ring_file *file, const void *value)
{
    struct text_item item = {0};
    if (texts_check(value, file->bytes, (uint64_t)file->dims[0], true, NULL) != ESP_OK)
        return; /* the daemon has checked it */
    for (uint64_t i = 0; i < (uint64_t)file->dims[0]; i++) {
        texts_next(value, i, &item);
        fwrite(item.bytes, 1, item.length, stream);
        fputc('\n', stream);
    }
}

void value_write(FILE *stream, const struct ring_file *file, const void *value)
{
    if (file->format == FORMAT_TEXT)
        write_text(stream, file, value);
    else if (file->format == FORMAT_MATRIX_MARKET)
        write_market(stream, file, value);
    else if (file->type == TYPE_STRING && file->n_dims > 0)
        write_lines(stream, file, value);
    else if (file->bytes > 0)
        fwrite(value, 1, file->bytes, stream);
}

/* ---- reading ---- */

static struct span next_word(const char **at, const char *end)
{
    while (*at < end && strchr(" \t\r\n,;", **at) && **at)
        (*at)++;
    struct span word = {.text = *at};
    while (*at < end && (!strchr(" \t\r\n,;", **at) || !**at))
        (*at)++;
    word.length = (size_t)(*at - word.text);
    return word;
}

/* Reads a component of a number; 1: success, 0: the file ends, -1: another text. */
static int read_component(const char **at, const char *end, enum base_type type, void *raw, struct span *word)
{
    struct number number = {.kind = NUMBER_INTEGER};
    *word = next_word(at, end);
    if (word->length == 0)
        return 0;
    if (type == TYPE_CHAR) {
        *(char *)raw = word->text[0];
        return word->length == 1 ? 1 : -1;
    }
    if (type >= TYPE_FLOAT) {
        number.kind = NUMBER_REAL;
        if (span_real(*word, 0, &number.real) != NUMBER_GOOD)
            return -1;
        if (type == TYPE_FLOAT) {
            float single = (float)number.real;
            memcpy(raw, &single, sizeof single);
        } else {
            memcpy(raw, &number.real, sizeof number.real);
        }
        return 1;
    }
    if (!span_integer(*word, &number.integer))
        return -1;
    return number_store(&number, type, raw, NULL) == ESP_OK ? 1 : -1;
}

static enum esp_status read_number(const char **at, const char *end, const char *name,
                                   const struct ring_file *file, uint64_t i, void *raw,
                                   struct esp_error *error)
{
    enum base_type type = (enum base_type)file->type, part = type;
    unsigned parts = is_complex(file) ? 2 : 1;
    if (is_complex(file))
        part = type == TYPE_COMPLEX ? TYPE_FLOAT : TYPE_DOUBLE;
    struct span word;
    char shown[64];
    for (unsigned p = 0; p < parts; p++) {
        int found = read_component(at, end, part, (char *)raw + p * base_type_size(part), &word);
        if (found == 0)
            return error_set(error, ESP_FAILED, "%s: expected %" PRIu64 " numbers (%s), found %" PRIu64, name,
                             count_of(file), base_type_name(type), i);
        if (found < 0)
            return error_set(error, ESP_FAILED,
                             "%s: expected number %" PRIu64 " of %" PRIu64 " (%s), found %s", name, i + 1,
                             count_of(file), base_type_name(type), span_show(word, shown, sizeof shown));
    }
    return ESP_OK;
}

static enum esp_status read_text(const char **at, const char *end, const char *name,
                                 const struct ring_file *file, char *value, struct esp_error *error)
{
    size_t size = base_type_size((enum base_type)file->type);
    enum esp_status status = ESP_OK;
    for (uint64_t i = 0, n = count_of(file); status == ESP_OK && i < n; i++)
        status = read_number(at, end, name, file, i, value + element_at(file, i) * size, error);
    return status;
}

static enum esp_status store_market(const struct ring_file *file, const struct matrix *matrix,
                                    const char *name, char *value, struct esp_error *error)
{
    enum base_type type = (enum base_type)file->type;
    for (uint64_t i = 0, n = count_of(file); i < n; i++) {
        char *raw = value + market_element_at(file, i) * base_type_size(type);
        const double *from = matrix->is_complex ? &matrix->values[2 * i] : &matrix->values[i];
        double twice[2] = {from[0], matrix->is_complex ? from[1] : 0};
        float single[2] = {(float)twice[0], (float)twice[1]};
        struct number number = {.kind = NUMBER_INTEGER, .integer = (int64_t)from[0]};
        if (type == TYPE_FLOAT || type == TYPE_COMPLEX)
            memcpy(raw, single, base_type_size(type));
        else if (type >= TYPE_FLOAT)
            memcpy(raw, twice, base_type_size(type));
        else if ((double)number.integer != from[0] || number_store(&number, type, raw, NULL) != ESP_OK)
            return error_set(error, ESP_FAILED, "%s: expected values that are %s, found %.17g", name,
                             base_type_name(type), from[0]);
    }
    return ESP_OK;
}

static enum esp_status read_market(const char *at, const char *end, const char *name,
                                   const struct ring_file *file, char *value, struct esp_error *error)
{
    struct matrix_file market;
    int64_t rows = file->n_dims > 0 ? file->dims[0] : 1, columns = file->n_dims > 1 ? file->dims[1] : 1;
    const struct matrix_reading reading = {.max_bytes = 16 * count_of(file) + (1 << 20)};
    enum esp_status status = matrix_parse(at, (size_t)(end - at), name, &reading, &market, error);
    if (status != ESP_OK)
        return status;
    if (market.n_dims > 2)
        status = error_set(error, ESP_FAILED, "%s: expected a matrix, found an array of %u dimensions", name,
                           market.n_dims);
    else if (market.matrix.rows != rows || market.matrix.cols != columns)
        status = error_set(error, ESP_FAILED,
                           "%s: expected a matrix of %" PRId64 " x %" PRId64 ", found %" PRId64 " x %" PRId64,
                           name, rows, columns, market.matrix.rows, market.matrix.cols);
    else if (market.matrix.is_complex && !is_complex(file))
        status = error_set(error, ESP_FAILED, "%s: expected a real matrix, found a complex one", name);
    else
        status = store_market(file, &market.matrix, name, value, error);
    matrix_file_clear(&market);
    return status;
}

enum esp_status value_read(const char **at, const char *end, const char *name, const struct ring_file *file,
                           void *value, struct esp_error *error)
{
    if (file->format == FORMAT_TEXT)
        return read_text(at, end, name, file, value, error);
    enum esp_status status = ESP_OK;
    if (file->format == FORMAT_MATRIX_MARKET)
        status = read_market(*at, end, name, file, value, error);
    else if ((uint64_t)(end - *at) != file->bytes)
        status = error_set(error, ESP_FAILED, "%s: expected %" PRIu64 " bytes, found %td", name, file->bytes,
                           end - *at);
    else if (file->bytes > 0)
        memcpy(value, *at, file->bytes);
    *at = end;
    return status;
}

enum esp_status value_read_rest(const char *at, const char *end, const char *name, struct esp_error *error)
{
    char shown[64];
    struct span word = next_word(&at, end);
    if (word.length == 0)
        return ESP_OK;
    return error_set(error, ESP_FAILED, "%s: expected its end, found %s", name,
                     span_show(word, shown, sizeof shown));
}

/* Arrays with sections: the routine gets the whole array, each with guards around it. */

/* Returns the elements that travel, or NULL. */
static void *elements_of(struct ring *ring, const struct areas *areas, const struct ring_section *section)
{
    uint64_t bytes = section_count(&section->section) * section->section.element;
    const struct ring_operand *from = &section->elements;
    if (from->place == OPERAND_AREA && from->value < areas->n && areas->items[from->value].bytes >= bytes)
        return areas->items[from->value].data;
    return from->place == OPERAND_ARENA ? ring_value(ring, from, bytes) : NULL;
}

enum esp_status sections_begin(struct ring *ring, struct areas *areas, void **memory, struct esp_error *error)
{
    for (uint32_t i = 0; i < ring->job.n_sections && i < PROBLEM_MAX_ARGUMENTS; i++) {
        const struct ring_section *section = &ring->job.sections[i];
        const void *elements = section_is_sane(&section->section) ? elements_of(ring, areas, section) : NULL;
        if (!elements)
            return error_set(error, ESP_INTERNAL, "the worker was handed a malformed call");
        enum esp_status status = areas_add(
            areas, section->argument, section_whole(&section->section) * section->section.element, error);
        if (status != ESP_OK)
            return status;
        memory[i] = areas->items[areas->n - 1].data;
        if (section->goes_in)
            section_scatter(&section->section, elements, memory[i]);
    }
    return ESP_OK;
}

void sections_end(struct ring *ring, const struct areas *areas, void *const *memory)
{
    for (uint32_t i = 0; i < ring->job.n_sections && i < PROBLEM_MAX_ARGUMENTS; i++) {
        const struct ring_section *section = &ring->job.sections[i];
        void *elements = section->comes_back && section_is_sane(&section->section)
                             ? elements_of(ring, areas, section)
                             : NULL;
        if (elements)
            section_gather(&section->section, memory[i], elements);
    }
}

/* Arrays of strings: a routine gets an array of pointers to texts, and may replace them by its own. Its
 * pointers are used only as far as the system confirms that there is memory. A Fortran routine gets
 * elements of one length, padded with blanks. */

bool worker_send_output(struct ring *ring, int socket, uint32_t argument, int fd)
{
    struct ring_output output = {.argument = argument};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct iovec data = {.iov_base = &output, .iov_len = sizeof output};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof output)
        return false;
    ring->answer.n_outputs++;
    return true;
}

/* Returns the received value, or NULL. */
static const void *value_of(struct ring *ring, const struct areas *areas, const struct ring_texts *texts)
{
    const struct ring_operand *from = &texts->value;
    if (from->place == OPERAND_AREA && from->value < areas->n &&
        areas->items[from->value].bytes >= texts->bytes)
        return areas->items[from->value].data;
    return from->place == OPERAND_ARENA ? ring_value(ring, from, texts->bytes) : NULL;
}

/* Copies each text into place, padded with blanks. */
static void fill_characters(const struct ring_texts *texts, const void *value, char *elements)
{
    struct text_item item = {0};
    memset(elements, ' ', texts->n * texts->width);
    for (uint64_t i = 0; value && i < texts->n; i++) {
        texts_next(value, i, &item);
        memcpy(elements + i * texts->width, item.bytes,
               item.length < texts->width ? item.length : texts->width);
    }
}

static enum esp_status begin_one(struct ring *ring, struct areas *areas, const struct ring_texts *texts,
                                 void **memory, struct esp_error *error)
{
    const void *value = texts->goes_in ? value_of(ring, areas, texts) : NULL;
    uint64_t each = texts->width ? texts->width : sizeof(char *), bytes;
    if (texts->n > TEXTS_MOST || (texts->goes_in && !value) || __builtin_mul_overflow(texts->n, each, &bytes))
        return error_set(error, ESP_INTERNAL, "the worker was handed a malformed call");
    enum esp_status status = ESP_OK;
    if (value)
        status = texts_check(value, texts->bytes, texts->n, true, error);
    if (status == ESP_OK)
        status = areas_add(areas, texts->argument, bytes, error);
    if (status != ESP_OK)
        return status;
    const char **pointers = *memory = areas->items[areas->n - 1].data;
    if (texts->width) {
        fill_characters(texts, value, *memory);
        return ESP_OK;
    }
    struct text_item item = {0};
    for (uint64_t i = 0; value && i < texts->n; i++) {
        texts_next(value, i, &item);
        pointers[i] = item.bytes;
    }
    return ESP_OK;
}

enum esp_status texts_begin(struct ring *ring, struct areas *areas, void **memory, struct esp_error *error)
{
    ring->answer.n_outputs = 0;
    for (uint32_t i = 0; i < ring->job.n_texts && i < PROBLEM_MAX_ARGUMENTS; i++) {
        enum esp_status status = begin_one(ring, areas, &ring->job.texts[i], &memory[i], error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

/* ---- results ---- */

/* Writes the text including its 0: write() returns an error for unreadable memory, where an access would
 * crash. Page by page, because the 0 may be the last readable byte; bytes after it are overwritten or cut
 * off. A raw system call, because a sanitizer would report reading beyond the text. */
bool text_write(int fd, const char *text, uint64_t most, uint64_t *length)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *length = 0;
    while (*length <= most) {
        const char *at = text + *length;
        size_t piece = page - (uintptr_t)at % page;
        ssize_t n = syscall(SYS_write, fd, at, piece);
        if (n <= 0)
            return false;
        const char *end = memchr(at, 0, (size_t)n);
        if (end) {
            *length = (uint64_t)(end - text);
            return lseek(fd, end + 1 - (at + n), SEEK_CUR) >= 0;
        }
        *length += (uint64_t)n;
    }
    return false;
}

/* Copies the pointers first, because another thread of the routine may still write. */
static bool pack(int fd, const struct ring_texts *texts, char *const *pointers, uint64_t *head,
                 uint64_t *wrong)
{
    uint64_t left = TEXTS_MOST_BYTES;
    head[0] = texts->n;
    if (lseek(fd, (off_t)((texts->n + 1) * sizeof *head), SEEK_SET) < 0)
        return false;
    for (uint64_t i = 0; i < texts->n; i++) {
        *wrong = i + 1;
        if (!text_write(fd, pointers[i] ? pointers[i] : "", left, &head[i + 1]) || head[i + 1] > left)
            return false;
        left -= head[i + 1];
    }
    *wrong = 0;
    off_t end = lseek(fd, 0, SEEK_CUR);
    return end >= 0 && ftruncate(fd, end) == 0 &&
           pwrite(fd, head, (texts->n + 1) * sizeof *head, 0) == (ssize_t)((texts->n + 1) * sizeof *head);
}

/* Without trailing blanks, and without everything after a byte 0. */
static bool pack_characters(int fd, const struct ring_texts *texts, const char *elements)
{
    struct text_item *items = calloc(texts->n + 1, sizeof *items);
    void *value = NULL;
    uint64_t bytes = 0;
    for (uint64_t i = 0; items && i < texts->n; i++) {
        items[i].bytes = elements + i * texts->width;
        items[i].length = strnlen(items[i].bytes, texts->width);
        while (items[i].length > 0 && items[i].bytes[items[i].length - 1] == ' ')
            items[i].length--;
    }
    bool good = items && texts_pack(items, texts->n, &value, &bytes, NULL) == ESP_OK &&
                write(fd, value, bytes) == (ssize_t)bytes;
    free(value);
    free(items);
    return good;
}

/* ---- owners of texts ---- */

#define MOST_IMAGES 1024

/* Addresses that malloc() never returns. */
struct foreign_ranges {
    size_t n;
    struct {
        const char *from, *end;
    } items[MOST_IMAGES + AREAS_MAX + 1];
};

static void add_range(struct foreign_ranges *ranges, const void *from, size_t bytes)
{
    if (ranges->n == sizeof ranges->items / sizeof *ranges->items)
        return;
    ranges->items[ranges->n].from = from;
    ranges->items[ranges->n++].end = (const char *)from + bytes;
}

/* Adds constants and static variables of a library. */
static int add_image(struct dl_phdr_info *image, size_t size, void *arg)
{
    struct foreign_ranges *ranges = arg;
    (void)size;
    for (unsigned i = 0; i < image->dlpi_phnum && ranges->n < MOST_IMAGES; i++)
        if (image->dlpi_phdr[i].p_type == PT_LOAD)
            add_range(ranges, (const char *)(image->dlpi_addr + image->dlpi_phdr[i].p_vaddr),
                      image->dlpi_phdr[i].p_memsz);
    return 0;
}

/* Collects the memory of all arguments of the call, and of libraries. */
static void find_foreign(const struct ring *ring, const struct areas *areas, struct foreign_ranges *ranges)
{
    ranges->n = 0;
    dl_iterate_phdr(add_image, ranges);
    add_range(ranges, ring, offsetof(struct ring, arena) + RING_REACH + RING_GUARD_BYTES);
    for (uint32_t i = 0; i < areas->n; i++)
        if (areas->items[i].pages)
            add_range(ranges, areas->items[i].pages, areas->items[i].page_bytes);
}

/* An address that is not aligned like malloc()'s blocks is inside a block. */
static bool may_be_allocated(const struct foreign_ranges *ranges, const char *text)
{
    if ((uintptr_t)text % _Alignof(max_align_t) != 0)
        return false;
    for (size_t i = 0; i < ranges->n; i++)
        if (text >= ranges->items[i].from && text < ranges->items[i].end)
            return false;
    return true;
}

static int by_address(const void *one, const void *other)
{
    const uintptr_t a = *(const uintptr_t *)one, b = *(const uintptr_t *)other;
    return (a > b) - (a < b);
}

/* Frees the texts that the routine has allocated, each of them once. The address shows whether the routine
 * has allocated a text: received arguments, and constants, are in known memory. */
static void free_texts(const struct ring *ring, const struct areas *areas, const struct ring_texts *texts,
                       char *const *pointers)
{
    struct foreign_ranges ranges;
    if (texts->width)
        return;
    uintptr_t *own = malloc(texts->n * sizeof *own);
    uint64_t n = 0;
    if (!own)
        return; /* the worker may then keep too much, and is replaced */
    find_foreign(ring, areas, &ranges);
    for (uint64_t i = 0; i < texts->n; i++)
        if (pointers[i] && may_be_allocated(&ranges, pointers[i]))
            own[n++] = (uintptr_t)pointers[i];
    qsort(own, n, sizeof *own, by_address);
    faults_enter_call();
    for (uint64_t i = 0; i < n; i++)
        if (i == 0 || own[i] != own[i - 1])
            free((void *)own[i]);
    faults_leave_call();
    free(own);
}

static bool end_one(struct ring *ring, const struct areas *areas, const struct ring_texts *texts, int socket,
                    char **pointers)
{
    char most[BYTES_TEXT];
    uint64_t wrong = 0;
    uint64_t *head = malloc((texts->n + 1) * sizeof *head);
    int fd = memfd_create("strings", MFD_CLOEXEC);
    bool good = head && fd >= 0 &&
                (texts->width ? pack_characters(fd, texts, (const char *)pointers)
                              : pack(fd, texts, pointers, head, &wrong)) &&
                worker_send_output(ring, socket, texts->argument, fd);
    free(head);
    if (fd >= 0)
        close(fd);
    if (good)
        free_texts(ring, areas, texts, pointers);
    else if (wrong)
        snprintf(ring->answer.trouble, sizeof ring->answer.trouble,
                 "element %" PRIu64 " is not the address of a text that ends with a 0 (all together at most "
                 "%s)",
                 wrong, bytes_text(TEXTS_MOST_BYTES, most));
    else
        snprintf(ring->answer.trouble, sizeof ring->answer.trouble, "the worker cannot hand it over");
    ring->answer.argument = texts->argument;
    return good;
}

bool texts_end(struct ring *ring, const struct areas *areas, int socket, void *const *memory)
{
    for (uint32_t i = 0; i < ring->job.n_texts && i < PROBLEM_MAX_ARGUMENTS; i++)
        if (ring->job.texts[i].comes_back &&
            !end_one(ring, areas, &ring->job.texts[i], socket, (char **)memory[i]))
            return false;
    return true;
}
