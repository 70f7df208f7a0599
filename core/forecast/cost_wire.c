/* SPDX-License-Identifier: Apache-2.0
 *
 * A server's models as the value of an extension: little-endian, starting with a version; the times of its
 * ranks, if any, come last. Every received number is checked, because agents rank servers by it. */
#include "core/forecast/cost_model.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VERSION                                                                                              \
    3 /* the newest version; models are sent in the lowest one that can represent them: cost_version() */
#define LESSER      255 /* COST_LESSER on the wire */
#define MOST_MODELS 4096

struct writer {
    uint8_t *data;
    size_t n, capacity;
    uint8_t version;
};

static void put(struct writer *writer, const void *data, size_t bytes)
{
    if (writer->n + bytes <= writer->capacity)
        memcpy(writer->data + writer->n, data, bytes);
    writer->n += bytes;
}

static void put8(struct writer *writer, uint8_t value)
{
    put(writer, &value, 1);
}

static void put16(struct writer *writer, uint16_t value)
{
    value = htole16(value);
    put(writer, &value, sizeof value);
}

static void put64(struct writer *writer, uint64_t value)
{
    value = htole64(value);
    put(writer, &value, sizeof value);
}

static void put_real(struct writer *writer, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put64(writer, bits);
}

static void put_curve(struct writer *writer, const struct cost_model *model, const struct cost_curve *curve)
{
    put8(writer, (uint8_t)curve->n_pieces);
    put_real(writer, curve->error);
    put_real(writer, curve->least);
    put_real(writer, curve->most);
    for (uint32_t i = 0; i < curve->n_pieces; i++) {
        const struct cost_piece *piece = &curve->pieces[i];
        put_real(writer, isfinite(piece->until) ? piece->until : 0);
        if (writer->version >= 2)
            put_real(writer, piece->shape);
        if (writer->version >= 3)
            put_real(writer, piece->lesser);
        put8(writer, (uint8_t)piece->n_terms);
        for (uint32_t t = 0; t < piece->n_terms; t++) {
            put_real(writer, piece->terms[t].coefficient);
            put(writer, piece->terms[t].powers, model->n_variables);
        }
    }
}

static void put_model(struct writer *writer, const struct cost_model *model)
{
    put64(writer, model->digest);
    put_real(writer, model->floor_s_per_flop);
    put_real(writer, model->factor);
    put8(writer, (uint8_t)model->n_variables);
    for (uint32_t i = 0; i < model->n_variables; i++) {
        const int32_t argument = model->variables[i].argument;
        put8(writer, argument == COST_LESSER ? LESSER : (uint8_t)(argument - COST_BYTES));
        put_real(writer, model->variables[i].least);
        put_real(writer, model->variables[i].most);
    }
    put8(writer, (uint8_t)model->n_options);
    for (uint32_t i = 0; i < model->n_options; i++)
        put8(writer, (uint8_t)model->options[i].argument);
    put8(writer, (uint8_t)model->n_choices);
    for (uint32_t i = 0; i < model->n_choices * model->n_options; i++)
        put16(writer, (uint16_t)model->choices[i]);
    put_curve(writer, model, &model->time);
    put_curve(writer, model, &model->memory);
}

static void put_ranks(struct writer *writer, const struct cost_set *set)
{
    const uint32_t n = set->n_ranks < MOST_MODELS ? set->n_ranks : MOST_MODELS;
    if (n == 0)
        return;
    put16(writer, (uint16_t)n);
    for (uint32_t i = 0; i < n; i++) {
        const struct cost_ranks *ranks = &set->ranks[i];
        put64(writer, ranks->digest);
        put8(writer, (uint8_t)ranks->n);
        for (uint32_t k = 0; k < ranks->n; k++) {
            put_real(writer, (double)ranks->work_flop[k]);
            put_real(writer, (double)ranks->seconds[k]);
        }
    }
}

/* Returns the lowest version that can represent the set. */
static uint8_t version_of(const struct cost_set *set)
{
    uint8_t version = 1;
    for (uint32_t i = 0; i < set->n; i++)
        if (cost_version(&set->models[i]) > version)
            version = cost_version(&set->models[i]);
    return version;
}

uint8_t *cost_encode(const struct cost_set *set, struct arena *arena, uint32_t *length)
{
    struct writer size = {.version = version_of(set)};
    uint16_t n = 0;
    *length = 0;
    size.n = 3;
    put_ranks(&size, set); /* in any case: models beyond the cap are skipped */
    while (n < set->n && n < MOST_MODELS) {
        size_t before = size.n;
        put_model(&size, &set->models[n]);
        if (size.n > CAP_COST_BYTES) {
            size.n = before;
            break;
        }
        n++;
    }
    struct writer writer = {.data = arena_alloc(arena, size.n), .capacity = size.n, .version = size.version};
    if (!writer.data)
        return NULL;
    put8(&writer, writer.version);
    put16(&writer, n);
    for (uint16_t i = 0; i < n; i++)
        put_model(&writer, &set->models[i]);
    put_ranks(&writer, set);
    *length = (uint32_t)writer.n;
    return writer.data;
}

/* ---- reading ---- */

struct reader {
    const uint8_t *data;
    size_t left;
    bool failed;
    uint32_t version;
};

static bool get(struct reader *reader, void *data, size_t bytes)
{
    reader->failed |= reader->left < bytes;
    if (reader->failed) {
        memset(data, 0, bytes);
        return false;
    }
    memcpy(data, reader->data, bytes);
    reader->data += bytes;
    reader->left -= bytes;
    return true;
}

static uint32_t get8(struct reader *reader, uint32_t most)
{
    uint8_t value;
    get(reader, &value, 1);
    reader->failed |= value > most;
    return reader->failed ? 0 : value;
}

static uint16_t get16(struct reader *reader)
{
    uint16_t value;
    get(reader, &value, sizeof value);
    return le16toh(value);
}

static uint64_t get64(struct reader *reader)
{
    uint64_t value;
    get(reader, &value, sizeof value);
    return le64toh(value);
}

static double get_real(struct reader *reader, double least, double most)
{
    uint64_t bits = get64(reader);
    double value;
    memcpy(&value, &bits, sizeof value);
    reader->failed |= !(value >= least && value <= most); /* NaN too */
    return reader->failed ? 0 : value;
}

static void get_piece(struct reader *reader, struct arena *arena, const struct cost_model *model,
                      const struct cost_piece *before, struct cost_piece *piece)
{
    piece->until = get_real(reader, 0, 1e300);
    if (piece->until == 0)
        piece->until = HUGE_VAL;
    piece->shape = reader->version >= 2 ? get_real(reader, 0, 1e300) : 0;
    piece->lesser = reader->version >= 3 ? get_real(reader, 0, 1e300) : 0;
    reader->failed |= before && !cost_piece_follows(before, piece);
    piece->n_terms = get8(reader, COST_MOST_TERMS);
    piece->terms = arena_alloc(arena, (piece->n_terms + 1) * sizeof *piece->terms);
    reader->failed |= !piece->terms;
    for (uint32_t t = 0; t < piece->n_terms && !reader->failed; t++) {
        piece->terms[t].coefficient = get_real(reader, -1e300, 1e300);
        get(reader, piece->terms[t].powers, model->n_variables);
        for (uint32_t v = 0; v < model->n_variables; v++)
            reader->failed |= piece->terms[t].powers[v] > COST_MOST_POWER;
    }
}

static void get_curve(struct reader *reader, struct arena *arena, const struct cost_model *model,
                      struct cost_curve *curve)
{
    curve->n_pieces = get8(reader, COST_MOST_PIECES);
    curve->error = get_real(reader, 0, 1e9);
    curve->least = get_real(reader, 0, 1e300);
    curve->most = get_real(reader, 0, 1e300);
    curve->pieces = arena_alloc(arena, (curve->n_pieces + 1) * sizeof *curve->pieces);
    reader->failed |= !curve->pieces;
    for (uint32_t i = 0; i < curve->n_pieces && !reader->failed; i++)
        get_piece(reader, arena, model, i ? &curve->pieces[i - 1] : NULL, &curve->pieces[i]);
    if (curve->n_pieces && !reader->failed)
        reader->failed |= !cost_piece_is_last(&curve->pieces[curve->n_pieces - 1]);
}

static void get_options(struct reader *reader, struct arena *arena, struct cost_model *model)
{
    model->n_options = get8(reader, COST_MOST_OPTIONS);
    for (uint32_t i = 0; i < model->n_options; i++)
        model->options[i].argument = (int32_t)get8(reader, PROBLEM_MAX_ARGUMENTS);
    model->n_choices = get8(reader, COST_MOST_CHOICES);
    uint32_t n = model->n_choices * model->n_options;
    model->choices = arena_alloc(arena, (n + 1) * sizeof *model->choices);
    reader->failed |= !model->choices;
    for (uint32_t i = 0; i < n && !reader->failed; i++)
        model->choices[i] = (int16_t)get16(reader);
}

static int32_t get_argument(struct reader *reader)
{
    const uint8_t told = get8(reader, 255);
    if (told == LESSER)
        return COST_LESSER;
    reader->failed |= told > PROBLEM_MAX_ARGUMENTS - COST_BYTES;
    return (int32_t)told + COST_BYTES;
}

static void get_model(struct reader *reader, struct arena *arena, struct cost_model *model)
{
    *model = (struct cost_model){0};
    model->digest = get64(reader);
    model->floor_s_per_flop = get_real(reader, 0, 1e9);
    model->factor = get_real(reader, 1 / COST_MOST_FACTOR, COST_MOST_FACTOR);
    model->n_variables = get8(reader, COST_MOST_VARIABLES);
    reader->failed |= model->n_variables == 0;
    for (uint32_t i = 0; i < model->n_variables; i++) {
        struct cost_variable *variable = &model->variables[i];
        variable->argument = get_argument(reader);
        variable->least = get_real(reader, 0, 1e300);
        variable->most = get_real(reader, 0, 1e300);
    }
    get_options(reader, arena, model);
    get_curve(reader, arena, model, &model->time);
    get_curve(reader, arena, model, &model->memory);
}

static void get_ranks_of(struct reader *reader, struct cost_ranks *ranks)
{
    double before = 0;
    ranks->digest = get64(reader);
    ranks->n = get8(reader, COST_RANKS_POINTS);
    for (uint32_t k = 0; k < ranks->n; k++) {
        const double work = get_real(reader, 1, 1e30), seconds = get_real(reader, 1e-9, COST_MOST_S);
        reader->failed |= work <= before;
        before = work;
        ranks->work_flop[k] = (float)work;
        ranks->seconds[k] = (float)seconds;
    }
}

static void get_ranks(struct reader *reader, struct cost_set *set)
{
    const uint16_t n = get16(reader);
    reader->failed |= n > MOST_MODELS;
    struct cost_ranks *ranks = reader->failed ? NULL : calloc(n + 1u, sizeof *ranks);
    for (uint16_t i = 0; i < n && ranks; i++)
        get_ranks_of(reader, &ranks[i]);
    if (!ranks || reader->failed || cost_set_ranks(set, ranks, n, NULL) != ESP_OK)
        reader->failed = true;
    free(ranks);
}

bool cost_decode(const uint8_t *data, uint32_t length, struct cost_set *set)
{
    struct reader reader = {.data = data, .left = length};
    *set = (struct cost_set){.fastest_s_per_flop = HUGE_VAL};
    reader.version = get8(&reader, 255);
    if (length > CAP_COST_BYTES || reader.version < 1 || reader.version > VERSION)
        return false;
    uint16_t n = get16(&reader);
    for (uint16_t i = 0; i < n && !reader.failed; i++) {
        struct cost_model model;
        struct arena arena = {0};
        get_model(&reader, &arena, &model);
        if (!reader.failed && cost_set_add(set, &model, false, NULL) != ESP_OK)
            reader.failed = true;
        arena_clear(&arena);
    }
    if (!reader.failed && reader.left > 0)
        get_ranks(&reader, set);
    if (reader.failed || reader.left > 0)
        cost_set_clear(set);
    return !reader.failed && reader.left == 0;
}
