/* SPDX-License-Identifier: Apache-2.0 */
#include "core/data/datum_section.h"

#include "core/data/datum_pieces.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

struct reader {
    const char *text, *at;
    struct esp_error *error;
};

static void skip_blanks(struct reader *reader)
{
    while (*reader->at == ' ')
        reader->at++;
}

static enum esp_status expected(const struct reader *reader, const char *what)
{
    return error_set(
        reader->error, ESP_INVALID,
        "expected %s at character %zu of the section \"%.80s\" (as [1:1000,1:500], from 1), found "
        "\"%.20s\"",
        what, (size_t)(reader->at - reader->text) + 1, reader->text, reader->at);
}

static bool take(struct reader *reader, char wanted)
{
    skip_blanks(reader);
    if (*reader->at != wanted)
        return false;
    reader->at++;
    skip_blanks(reader);
    return true;
}

static enum esp_status read_index(struct reader *reader, int64_t *index)
{
    *index = DATUM_SECTION_END;
    if (take(reader, '$'))
        return ESP_OK;
    if (strncmp(reader->at, "end", 3) == 0 && !isalnum((unsigned char)reader->at[3])) {
        reader->at += 3;
        return ESP_OK;
    }
    char *after;
    errno = 0;
    long long number = isdigit((unsigned char)*reader->at) ? strtoll(reader->at, &after, 10) : 0;
    if (number < 1 || errno || number == INT64_MAX)
        return expected(reader, "an index from 1 on, `end` or `:`");
    reader->at = after;
    *index = number;
    return ESP_OK;
}

/* Reads FIRST:SKIP:LAST, FIRST:LAST, INDEX, `:`. */
static enum esp_status read_range(struct reader *reader, struct datum_section *section)
{
    int64_t numbers[3];
    unsigned n = 0;
    if (section->n_dims == CAP_DIMS)
        return error_set(reader->error, ESP_INVALID, "expected at most %d ranges, found \"%.80s\"", CAP_DIMS,
                         reader->text);
    uint32_t d = section->n_dims++;
    section->dims[d].first = section->dims[d].skip = 1;
    section->dims[d].last = DATUM_SECTION_END;
    if ((section->dims[d].all = take(reader, ':')))
        return ESP_OK;
    do {
        enum esp_status status = n < 3 ? read_index(reader, &numbers[n++]) : expected(reader, "`,` or `]`");
        if (status != ESP_OK)
            return status;
    } while (take(reader, ':'));
    section->dims[d].first = numbers[0];
    section->dims[d].skip = n == 3 ? numbers[1] : 1;
    section->dims[d].last = numbers[n - 1];
    return section->dims[d].skip == DATUM_SECTION_END
               ? expected(reader, "a number between the ends of a range")
               : ESP_OK;
}

static enum esp_status read_ranges(const char *text, struct datum_section *section, struct esp_error *error)
{
    struct reader reader = {text, text + 1, error};
    enum esp_status status;
    do
        status = read_range(&reader, section);
    while (status == ESP_OK && take(&reader, ','));
    if (status == ESP_OK && !take(&reader, ']'))
        return expected(&reader, "`:`, `,` or `]`");
    return status == ESP_OK && *reader.at ? expected(&reader, "nothing behind the section") : status;
}

enum esp_status datum_reference_parse(const char *text, struct datum_id *id, struct datum_section *section,
                                      struct esp_error *error)
{
    char identity[DATUM_TEXT + 1];
    size_t length = strnlen(text, DATUM_REFERENCE_TEXT);
    const char *colon = memrchr(text, ':', strnlen(text, DATUM_TEXT)), *bracket = strchr(text, '[');
    section->n_dims = 0;
    /* The name of a server may contain a bracket; only a bracket after the digits starts a section. */
    while (bracket && (bracket - text <= DATUM_DIGITS || bracket[-DATUM_DIGITS - 1] != ':'))
        bracket = strchr(bracket + 1, '[');
    if (!bracket || !colon)
        return datum_id_parse(text, id, error);
    if (length == DATUM_REFERENCE_TEXT || bracket - text >= DATUM_TEXT)
        return error_set(error, ESP_INVALID,
                         "expected the identity of a datum and a section of at most %d characters, found "
                         "\"%.40s...\"",
                         DATUM_REFERENCE_TEXT - 1, text);
    memcpy(identity, text, (size_t)(bracket - text));
    identity[bracket - text] = 0;
    enum esp_status status = datum_id_parse(identity, id, error);
    return status == ESP_OK ? read_ranges(bracket, section, error) : status;
}

/* ---- taking a section ---- */

static enum esp_status bound(const struct datum_section *section, uint32_t d, int64_t extent, int64_t *first,
                             int64_t *last, struct esp_error *error)
{
    *first = section->dims[d].first == DATUM_SECTION_END ? extent : section->dims[d].first;
    *last = section->dims[d].last == DATUM_SECTION_END ? extent : section->dims[d].last;
    if (section->dims[d].all || (*first >= 1 && *first <= *last && *last <= extent))
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "expected a range within 1 to %" PRId64 " in dimension %" PRIu32
                     " of the datum's section, found %" PRId64 ":%" PRId64,
                     extent, d + 1, *first, *last);
}

/* Whether dimensions that the section does not mention have extent 1. */
static bool covers(const struct datum_section *section, const struct datum_shape *whole)
{
    for (uint32_t d = section->n_dims; d < whole->n_dims; d++)
        if (whole->dims[d] != 1)
            return false;
    return section->n_dims <= whole->n_dims;
}

enum esp_status datum_section_take(const struct datum_section *section, const struct datum_shape *whole,
                                   struct datum_shape *part, struct section *cut, struct esp_error *error)
{
    char text[DATUM_SHAPE_TEXT];
    size_t size = base_type_size(whole->type);
    struct section unused;
    cut = cut ? cut : &unused;
    *part = *whole;
    if (section->n_dims == 0)
        return ESP_OK;
    const struct datum_shape joined = datum_shape_joined(whole); /* pieces are gathered */
    whole = &joined;
    *part = joined;
    if (whole->storage != STORAGE_FULL || size == 0 || !covers(section, whole))
        return error_set(
            error, ESP_INVALID, "expected a full array of %" PRIu32 " dimension%s to cut, the datum is %s",
            section->n_dims, section->n_dims == 1 ? "" : "s", datum_shape_text(whole, text, sizeof text));
    *cut = (struct section){.n_dims = whole->n_dims, .element = (uint32_t)size};
    for (uint32_t d = 0; d < whole->n_dims; d++) {
        uint32_t k = whole->row_major ? whole->n_dims - 1 - d : d;
        int64_t first = 1, last = whole->dims[d], skip = d < section->n_dims ? section->dims[d].skip : 1;
        enum esp_status status =
            d < section->n_dims ? bound(section, d, whole->dims[d], &first, &last, error) : ESP_OK;
        if (status != ESP_OK)
            return status;
        cut->dims[k] = whole->dims[d];
        cut->start[k] = first - 1;
        cut->skip[k] = skip;
        part->dims[d] = cut->count[k] = last >= first ? (last - first) / skip + 1 : 0;
    }
    return datum_shape_complete(part, error);
}

void datum_shape_squeeze(uint32_t *n_dims, int64_t *dims, uint32_t wanted)
{
    uint32_t spare = *n_dims > wanted ? *n_dims - wanted : 0;
    for (uint32_t d = *n_dims; d-- > 0 && spare > 0;) {
        if (dims[d] != 1)
            continue;
        for (uint32_t k = d; k + 1 < *n_dims; k++)
            dims[k] = dims[k + 1];
        (*n_dims)--;
        spare--;
    }
}
