/* SPDX-License-Identifier: Apache-2.0
 *
 * Data in place of values: A=data:ID takes one, -o X=data: leaves one.
 */
#include "core/values/signature.h"
#include "core/values/values_storage.h"
#include "core/values/values_texts.h"
#include "core/data/datum_section.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool values_is_data(const char *word)
{
    return strncmp(word, VALUES_DATA, strlen(VALUES_DATA)) == 0;
}

static enum esp_status check_formal(const struct esp_problem_argument *formal, struct esp_error *error)
{
    if (formal->n_dims > 0 && (esp_type_size(formal->type) > 0 || formal->type == ESP_TYPE_STRING))
        return ESP_OK;
    return error_set(
        error, ESP_INVALID, "%s: only arrays of numbers, characters and strings can be data, found %s%s",
        formal->name, formal->n_dims > 0 ? "an array of type " : "", esp_type_name(formal->type));
}

/* The extents of what of the datum is meant. */
static enum esp_status take_extents(const struct esp_data_info *info, const struct datum_section *section,
                                    struct esp_argument *argument, struct esp_error *error)
{
    /* How it is stored, the server knows, and looks at again. */
    struct datum_shape whole = {.type = (enum base_type)(info->type - 1), .n_dims = info->n_dims}, part;
    memcpy(whole.dims, info->dims, info->n_dims * sizeof *info->dims);
    if (section->n_dims > 0 && info->type == ESP_TYPE_STRING)
        return error_set(error, ESP_INVALID,
                         "an array of strings is a datum as a whole, found a section of one");
    enum esp_status status = datum_section_take(section, &whole, &part, NULL, error);
    argument->type = info->type;
    argument->n_dims = part.n_dims;
    memcpy(argument->dims, part.dims, sizeof part.dims);
    return status;
}

/* A vector is a matrix of one column, and the other way round; a row of a matrix is a vector too. */
static void fit_extents(struct esp_argument *argument, unsigned n_dims, bool section)
{
    if (section) {
        uint32_t n = argument->n_dims;
        datum_shape_squeeze(&n, argument->dims, n_dims);
        argument->n_dims = n;
    }
    while (argument->n_dims > n_dims && argument->dims[argument->n_dims - 1] == 1)
        argument->n_dims--;
    while (argument->n_dims > 0 && argument->n_dims < n_dims)
        argument->dims[argument->n_dims++] = 1;
}

/* Its extents known. */
static enum esp_status name_datum(struct values *values, size_t index, const char *reference, bool section,
                                  struct esp_error *error)
{
    struct esp_argument *argument = &values->arguments[index];
    fit_extents(argument, values->problem->arguments[index].n_dims, section);
    argument->datum = values->slots[index].datum = strdup(reference);
    return argument->datum ? ESP_OK : error_no_memory(error, "the identity of a datum");
}

/* All data of a call share the time. */
static enum esp_status look_up(struct values *values, const char *id, struct esp_data_info **infos, size_t *n,
                               struct esp_error *error)
{
    const int64_t begun_ns = clock_now_ns(&clock_system), all_ns = values->look_ns;
    const int64_t before = values->library->deadline_begin((double)all_ns / NS_PER_S);
    const enum esp_status status = values->library->data_look(id, infos, n);
    values->library->deadline_end(before);
    const int64_t left_ns = all_ns - (clock_now_ns(&clock_system) - begun_ns);
    if (all_ns > 0)
        values->look_ns = left_ns > 0 ? left_ns : 1;
    if (status != ESP_OK)
        *error = *values->library->last_error();
    return status;
}

enum esp_status values_take_datum(struct values *values, size_t index, const char *word,
                                  struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    struct esp_argument *argument = &values->arguments[index];
    struct esp_data_info *infos;
    struct datum_id id;
    struct datum_section section;
    char identity[DATUM_TEXT];
    size_t n;
    enum esp_status status = check_formal(formal, error);
    if (status != ESP_OK)
        return status;
    if (datum_reference_parse(word + strlen(VALUES_DATA), &id, &section, error) != ESP_OK)
        return error_prefix(error, "%s", formal->name);
    if (look_up(values, datum_id_text(&id, identity), &infos, &n, error) != ESP_OK)
        return error_prefix(error, "%s", formal->name);
    status = take_extents(&infos[0], &section, argument, error);
    values->library->data_free(infos);
    return status == ESP_OK ? name_datum(values, index, word + strlen(VALUES_DATA), section.n_dims > 0, error)
                            : error_prefix(error, "%s", formal->name);
}

enum esp_status values_give_datum(struct values *values, size_t index, const char *reference,
                                  enum esp_type type, int64_t rows, int64_t cols, struct esp_error *error)
{
    struct esp_argument *argument = &values->arguments[index];
    if (check_formal(&values->problem->arguments[index], error) != ESP_OK)
        return error->status;
    values->slots[index].given = true;
    argument->type = type;
    argument->n_dims = 2;
    argument->dims[0] = rows;
    argument->dims[1] = cols;
    return name_datum(values, index, reference, strchr(reference, '[') != NULL, error);
}

/* "pieces", "sticky,pieces", "pieces,sticky": without that word it is the name of a mode, or empty. */
static bool take_pieces(const char *name, char *mode, size_t size)
{
    static const char word[] = "pieces";
    const size_t length = strlen(name), own = strlen(word);
    const bool first = strncmp(name, word, own) == 0 && (length == own || name[own] == ',');
    const bool last = length > own && strcmp(name + length - own, word) == 0 && name[length - own - 1] == ',';
    if (first)
        snprintf(mode, size, "%s", name + own + (length > own));
    else
        snprintf(mode, size, "%.*s", (int)(last ? length - own - 1 : length), name);
    return first || last;
}

enum esp_status values_keep(struct values *values, size_t index, const char *word, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    struct value_slot *slot = &values->slots[index];
    const char *name = word + strlen(VALUES_DATA);
    enum datum_mode mode = DATUM_VOLATILE;
    char mode_name[64];
    bool in_pieces = take_pieces(name, mode_name, sizeof mode_name);
    enum esp_status status = check_formal(formal, error);
    if (status == ESP_OK && *mode_name)
        status = datum_mode_parse(mode_name, &mode, error);
    const bool comes = status == ESP_OK && datum_mode_returns(mode);
    if (comes && is_texts(formal))
        status = error_set(error, ESP_INVALID,
                           "strings that stay do not come besides: leave them as %s, and 'espalier data get' "
                           "brings them",
                           datum_mode_sticks(mode) ? "sticky" : "persistent");
    else if (status == ESP_OK && slot->path && !comes)
        status = error_set(error, ESP_INVALID,
                           "it is to be saved, too: expected persistent-return or sticky-return, found '%s'",
                           *mode_name ? mode_name : "no mode");
    if (status != ESP_OK)
        return error_prefix(error, "-o %s", formal->name);
    slot->comes = comes;
    slot->is_kept = values->some_saved = true;
    values->arguments[index].kept = &slot->kept;
    values->arguments[index].kept_mode = (enum esp_data_mode)mode;
    values->arguments[index].kept_in_pieces = in_pieces;
    return ESP_OK;
}

static enum esp_status read_leave(const char *word, int *sides, enum datum_mode *mode,
                                  struct esp_error *error)
{
    static const char *const names[] = {
        [ESP_SESSION_INPUTS] = "inputs",
        [ESP_SESSION_OUTPUTS] = "outputs",
        [ESP_SESSION_INPUTS | ESP_SESSION_OUTPUTS] = "all",
    };
    const size_t length = strcspn(word, ":");
    *mode = DATUM_VOLATILE;
    for (*sides = 1; *sides <= (ESP_SESSION_INPUTS | ESP_SESSION_OUTPUTS); (*sides)++)
        if (strlen(names[*sides]) == length && strncmp(word, names[*sides], length) == 0)
            return word[length] ? datum_mode_parse(word + length + 1, mode, error) : ESP_OK;
    return error_set(error, ESP_INVALID, "expected inputs, outputs or all, perhaps with :MODE, found '%.40s'",
                     word);
}

enum esp_status values_leave(struct values *values, const char *word, bool job, struct esp_error *error)
{
    int sides;
    enum datum_mode mode;
    if (read_leave(word, &sides, &mode, error) != ESP_OK)
        return error_prefix(error, "--leave");
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        struct esp_argument *argument = &values->arguments[i];
        struct value_slot *slot = &values->slots[i];
        struct esp_error unimportant;
        if (check_formal(&values->problem->arguments[i], &unimportant) != ESP_OK ||
            is_texts(&values->problem->arguments[i]))
            continue;
        argument->stays = sides;
        if (slot->is_kept)
            continue;
        argument->kept_mode = (enum esp_data_mode)mode;
        if (job || !(sides & ESP_SESSION_OUTPUTS) || slot->path ||
            !argument_out(&values->problem->arguments[i]))
            continue;
        slot->is_kept = true;
        slot->comes = datum_mode_returns(mode);
        argument->kept = &slot->kept;
    }
    return ESP_OK;
}

void values_look_at_kept(struct values *values)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        struct value_slot *slot = &values->slots[i];
        struct esp_data_info *infos;
        struct esp_error unimportant;
        size_t n;
        if (!values->arguments[i].kept_in_pieces || !slot->kept ||
            look_up(values, slot->kept, &infos, &n, &unimportant) != ESP_OK)
            continue;
        slot->is_whole = infos[0].layout.rows == 0;
        values->library->data_free(infos);
    }
}

enum esp_status values_prepare_datum(struct values *values, size_t index, struct esp_error *error)
{
    uint64_t count;
    const struct value_slot *slot = &values->slots[index];
    bool wanted = argument_out(&values->problem->arguments[index]) && (!slot->is_kept || slot->comes) &&
                  !values_is_left(values, index);
    if (wanted && is_texts(&values->problem->arguments[index]))
        return values_prepare_texts(values, index, error);
    enum esp_status status = wanted ? values_count(values, index, &count, error) : ESP_OK;
    if (wanted && status == ESP_OK)
        status =
            value_memory(values, index, count * esp_type_size(values->problem->arguments[index].type), error);
    return status;
}
