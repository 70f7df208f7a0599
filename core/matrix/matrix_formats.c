/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of formats, in the order in which their probes are called. */
#include "config.h"

#include "core/matrix/matrix_format.h"

#include <string.h>
#include <strings.h>

const struct matrix_format matrix_formats[] = {
    {"Matrix Market", "mtx", "mm", LAYOUT_EITHER, matrix_market_probe, matrix_market_parse,
     matrix_market_write, false, matrix_market_announce},
    {"NumPy", "npy", "", LAYOUT_DENSE, matrix_npy_probe, matrix_npy_parse, matrix_npy_write, true,
     matrix_npy_announce},
    {"Rutherford-Boeing", "rb", "", LAYOUT_SPARSE, rutherford_boeing_probe, harwell_boeing_parse,
     rutherford_boeing_write, false, NULL},
    {"Harwell-Boeing", "hb", "rua rsa rza rra cua csa cha cza cra pua psa pra", LAYOUT_SPARSE,
     harwell_boeing_probe, harwell_boeing_parse, harwell_boeing_write, false, NULL},
    {"Octave text", "octave", "", LAYOUT_EITHER, matrix_octave_probe, matrix_octave_parse,
     matrix_octave_write, false, NULL},
    /* Last, because a content with numbers in its first lines may be another format. */
    {"CSV", "csv", "tsv txt dat", LAYOUT_DENSE, matrix_csv_probe, matrix_csv_parse, matrix_csv_write, false,
     NULL},
    {0},
};

const char *matrix_format_name(const struct matrix_format *format)
{
    return format->name;
}

bool matrix_format_has_arrays(const struct matrix_format *format)
{
    return format->has_arrays;
}

const char *matrix_format_word(const struct matrix_format *format)
{
    return format->word;
}

const struct matrix_format *matrix_format_at(unsigned index)
{
    return index + 1 < sizeof matrix_formats / sizeof *matrix_formats ? &matrix_formats[index] : NULL;
}

static bool has_ending(const char *endings, const char *word, size_t length)
{
    while (*endings) {
        size_t n = strcspn(endings, " ");
        if (n == length && strncasecmp(endings, word, n) == 0)
            return true;
        endings += n + (endings[n] == ' ');
    }
    return false;
}

static const struct matrix_format *find(const char *word, size_t length)
{
    for (const struct matrix_format *format = matrix_formats; format->name; format++)
        if (has_ending(format->word, word, length) || has_ending(format->endings, word, length))
            return format;
    return NULL;
}

const struct matrix_format *matrix_format_find(const char *word)
{
    return find(word, strlen(word));
}

/* Returns the part after the last dot of a file's name, without a final .gz; NULL: there is no dot. */
static const char *ending_of(const char *path, size_t *length)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t end = strlen(name);
    if (end > 3 && strcasecmp(name + end - 3, ".gz") == 0)
        end -= 3;
    size_t start = end;
    while (start > 0 && name[start - 1] != '.')
        start--;
    *length = end - start;
    return start == 0 ? NULL : name + start;
}

const struct matrix_format *matrix_format_of_path(const char *path)
{
    size_t length;
    const char *ending = ending_of(path, &length);
    return ending ? find(ending, length) : NULL;
}

enum esp_status matrix_check_ending(const char *path, struct esp_error *error)
{
    char known[128] = "";
    size_t length, used = 0;
    const char *ending = ending_of(path, &length);
    if (!ending || find(ending, length))
        return ESP_OK;
    for (const struct matrix_format *format = matrix_formats; format->name && used < sizeof known; format++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s.%s", used ? ", " : "", format->word);
    return error_set(error, ESP_INVALID,
                     "%.200s: expected an ending that names a format (%s), or --format, found .%.*s", path,
                     known, (int)(length < 40 ? length : 40), ending);
}
