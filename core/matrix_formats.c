/* SPDX-License-Identifier: Apache-2.0
 *
 * The formats: the order is the order in which a content is asked whether it is one.
 */
#include "config.h"

#include "core/matrix_format.h"

#include <string.h>
#include <strings.h>

const struct matrix_format matrix_formats[] = {
    {"Matrix Market", "mtx", "mm", LAYOUT_EITHER, matrix_market_probe, matrix_market_parse,
     matrix_market_write},
    {"NumPy", "npy", "", LAYOUT_DENSE, matrix_npy_probe, matrix_npy_parse, matrix_npy_write},
    {"Rutherford-Boeing", "rb", "", LAYOUT_SPARSE, rutherford_boeing_probe, harwell_boeing_parse,
     rutherford_boeing_write},
    {"Harwell-Boeing", "hb", "rua rsa rza rra cua csa cha cza cra pua psa pra", LAYOUT_SPARSE,
     harwell_boeing_probe, harwell_boeing_parse, harwell_boeing_write},
    /* Last: what has numbers in its first lines may be another format. */
    {"CSV", "csv", "tsv txt dat", LAYOUT_DENSE, matrix_csv_probe, matrix_csv_parse, matrix_csv_write},
    {0},
};

const char *matrix_format_name(const struct matrix_format *format)
{
    return format->name;
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

const struct matrix_format *matrix_format_of_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    if (length > 3 && strcasecmp(name + length - 3, ".gz") == 0)
        length -= 3;
    size_t start = length;
    while (start > 0 && name[start - 1] != '.')
        start--;
    return start == 0 ? NULL : find(name + start, length - start);
}
