/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier data show: how a matrix in pieces lies, and what moving it elsewhere would take.
 */
#include "config.h"

#include "command/layout.h"
#include "command/ranks_ask.h"
#include "command/session.h"
#include "command/verbs.h"
#include "core/data/datum.h"
#include "core/forecast/parallel_profile.h"
#include "core/redistribution/block_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAP_WIDTH  100
#define MAP_HEIGHT 40
#define SVG_WIDTH  800
#define MOST_TEXT  (64u << 20)
/* Of a step and of a byte, where nobody has measured: Ethernet of 10 Gbit/s. */
static const struct parallel_speed assumed = {.latency_s = 50e-6, .byte_s = 1e-9};

struct picture {
    struct block_cyclic_matrix matrix;
    struct block_map_window window;
    bool zooms;
    const char *svg; /* the file, or NULL */
    bool map;
    bool moves;
    struct esp_data_layout to;
    const char *ranks; /* the file that tells of them, or NULL */
    struct parallel_profile profile;
    bool measured;     /* what it says of messages */
    const char *asked; /* the server that has told it; NULL: none has */
};

/* "FIRST:LAST,FIRST:LAST", rows and columns from 1. */
static enum esp_status read_zoom(const char *word, struct block_map_window *window, struct esp_error *error)
{
    long long row, last_row, col, last_col;
    int length = 0;
    if (sscanf(word, "%lld:%lld,%lld:%lld%n", &row, &last_row, &col, &last_col, &length) != 4 ||
        word[length] || row < 1 || col < 1 || last_row < row || last_col < col)
        return error_set(error, ESP_INVALID,
                         "--zoom: expected rows and columns from 1, as in 1:1000,501:1000, found %s", word);
    *window = (struct block_map_window){row - 1, col - 1, last_row - row + 1, last_col - col + 1};
    return ESP_OK;
}

/* What the ranks of a server have measured, from its file. */
static enum esp_status read_speed(const struct command_line *command, struct picture *picture,
                                  struct esp_error *error)
{
    struct parallel_profile *profile = &picture->profile;
    picture->ranks = command_option_value(command, "ranks");
    profile->speed = assumed;
    if (!picture->ranks)
        return ESP_OK;
    if (!picture->moves)
        return error_set(error, ESP_INVALID, "--ranks: expected --grid and --block beside it");
    enum esp_status status = parallel_profile_load(picture->ranks, profile, error);
    if (status == ESP_OK && !(profile->speed.latency_s > 0 && profile->speed.byte_s > 0))
        status =
            error_set(error, ESP_INVALID,
                      "%s: expected what messages between ranks take, found none measured", picture->ranks);
    picture->measured = status == ESP_OK;
    return status;
}

/* The same from a server that has the datum. Where none has ranks, or none of these answers, all stays as it
 * is assumed, and is told to be so. */
static void ask_speed(const struct esp_data_info *infos, size_t n, struct picture *picture)
{
    struct parallel_profile told;
    struct esp_error error;
    for (size_t i = 0; i < n && !picture->measured; i++) {
        if (ranks_ask(infos[i].server, infos[i].address, &told, &error) != ESP_OK)
            continue;
        picture->profile = told;
        picture->measured = true;
        picture->asked = infos[i].server;
    }
}

static enum esp_status read_options(const struct command_line *command, struct picture *picture,
                                    struct esp_error *error)
{
    const char *zoom = command_option_value(command, "zoom");
    picture->svg = command_option_value(command, "svg");
    picture->zooms = zoom != NULL;
    enum esp_status status = zoom ? read_zoom(zoom, &picture->window, error) : ESP_OK;
    if (status == ESP_OK && picture->svg)
        status = command_check_output(picture->svg, error);
    if (status == ESP_OK)
        status = layout_option(command, &picture->moves, &picture->to, error);
    picture->map = command_option_value(command, "map") || (!picture->svg && (zoom || !picture->moves));
    return status == ESP_OK ? read_speed(command, picture, error) : status;
}

static enum esp_status find_matrix(const struct esp_data_info *info, struct block_cyclic_matrix *matrix,
                                   struct esp_error *error)
{
    const struct esp_data_layout whole = {.rows = 1, .cols = 1, .row_block = 1, .col_block = 1};
    if (info->n_dims < 1 || info->n_dims > 2)
        return error_set(error, ESP_INVALID, "expected a matrix or a vector, found a datum of %u dimensions",
                         info->n_dims);
    *matrix = layout_of(info, info->layout.rows ? &info->layout : &whole);
    if (info->layout.rows == 0) {
        matrix->rows.block = matrix->rows.n > 0 ? matrix->rows.n : 1;
        matrix->cols.block = matrix->cols.n > 0 ? matrix->cols.n : 1;
    }
    return ESP_OK;
}

/* Who has it: "A", "A and B", "A, B and C". */
static void holders(const struct esp_data_info *infos, size_t n, struct text *text)
{
    for (size_t i = 0; i < n; i++)
        text_printf(text, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " and ", infos[i].server);
}

static enum esp_status check_whole(const struct picture *picture, const struct esp_data_info *infos, size_t n,
                                   struct esp_error *error)
{
    char names[400];
    struct text text;
    if (!picture->svg && !picture->zooms)
        return ESP_OK;
    text_open(&text, names, sizeof names);
    holders(infos, n, &text);
    return error_set(
        error, ESP_INVALID,
        "%s: expected a datum in pieces, found one that is whole, on %s: there is nothing to draw",
        picture->svg ? "--svg" : "--zoom", names);
}

/* A text as long as `write` makes it. */
static enum esp_status make_text(const struct picture *picture, const char *title, const char *note, bool svg,
                                 char **text, struct esp_error *error)
{
    for (size_t size = 1 << 16; size <= MOST_TEXT; size *= 4) {
        struct text writer;
        char *room = malloc(size);
        if (!room)
            return error_no_memory(error, "a picture");
        text_open(&writer, room, size);
        if (svg)
            block_map_svg(&picture->matrix, &picture->window, SVG_WIDTH, title, note, &writer);
        else
            block_map_text(&picture->matrix, &picture->window, MAP_WIDTH, MAP_HEIGHT, &writer);
        if (writer.length < size) {
            *text = room;
            return ESP_OK;
        }
        free(room);
    }
    return error_set(error, ESP_LIMIT, "the picture takes more than %u bytes", MOST_TEXT);
}

static enum esp_status write_svg(const struct picture *picture, const char *title, const char *note,
                                 struct esp_error *error)
{
    char *text = NULL;
    enum esp_status status = make_text(picture, title, note, true, &text, error);
    if (status != ESP_OK)
        return status;
    FILE *file = strcmp(picture->svg, "-") == 0 ? stdout : fopen(picture->svg, "w");
    bool written = file && fputs(text, file) >= 0;
    if (file && file != stdout)
        written = fclose(file) == 0 && written;
    free(text);
    return written ? ESP_OK : error_errno(error, "cannot write %s", picture->svg);
}

static enum esp_status plan_move(const struct picture *picture, const struct esp_data_info *info,
                                 struct redistribution_summary *summary, struct esp_error *error)
{
    const struct redistribution what = {.from = picture->matrix, .to = layout_of(info, &picture->to)};
    const struct parallel_speed *speed = &picture->profile.speed;
    const struct redistribution_costs costs = {speed->latency_s,
                                               speed->byte_s * (double)esp_type_size(info->type)};
    struct redistribution_plan *plan;
    enum esp_status status = block_cyclic_matrix_check(&what.to, "--grid and --block", error);
    if (status == ESP_OK)
        status = redistribution_plan_create(&what, REDISTRIBUTION_BEST, &costs, &plan, error);
    if (status != ESP_OK)
        return status;
    *summary = *redistribution_plan_summary(plan);
    redistribution_plan_destroy(plan);
    return ESP_OK;
}

/* On its own server ranks take it straight out of the pieces (sed/porter/porter.h): each of those that have
 * some of it then. */
static int64_t copying_ranks(const struct picture *picture)
{
    const int64_t pieces = (int64_t)picture->to.rows * picture->to.cols, ranks = picture->profile.ranks;
    return ranks < 1 ? 1 : ranks < pieces ? ranks : pieces;
}

static bool lies_so(const struct picture *picture, const struct esp_data_info *info)
{
    const struct esp_data_layout *is = &info->layout, *to = &picture->to;
    return is->rows == to->rows && is->cols == to->cols && is->row_block == to->row_block &&
           is->col_block == to->col_block;
}

static double copy_s(const struct picture *picture, const struct esp_data_info *info)
{
    return lies_so(picture, info) ? 0
                                  : parallel_speed_fill_s(&picture->profile.speed, (double)info->bytes,
                                                          (double)copying_ranks(picture));
}

static json_t *servers_json(const struct esp_data_info *infos, size_t n)
{
    json_t *servers = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(servers, command_json_text(infos[i].server));
    return servers;
}

static json_t *pair(int64_t a, int64_t b)
{
    return json_pack("[I, I]", (json_int_t)a, (json_int_t)b);
}

/* To others, and where it is. */
static json_t *move_json(const struct esp_data_info *info, const struct picture *picture,
                         const struct redistribution_summary *summary)
{
    const struct parallel_speed *speed = &picture->profile.speed;
    json_t *here = json_pack(
        "{s:s, s:I, s:I, s:f}", "server", info->server, "ranks", (json_int_t)copying_ranks(picture), "bytes",
        (json_int_t)(lies_so(picture, info) ? 0 : info->bytes), "seconds", copy_s(picture, info));
    return json_pack("{s:i, s:i, s:I, s:I, s:f, s:f, s:f, s:b, s:s?, s:o}", "steps", (int)summary->steps,
                     "least_steps", (int)summary->least_steps, "cost", (json_int_t)summary->cost,
                     "least_cost", (json_int_t)summary->least_cost, "seconds", summary->seconds,
                     "step_seconds", speed->latency_s, "byte_seconds", speed->byte_s, "measured",
                     (int)picture->measured, "measured_on", picture->asked, "in_place", here);
}

static json_t *as_json(const struct esp_data_info *info, size_t n, const struct picture *picture,
                       const struct redistribution_summary *summary)
{
    const bool whole = info->layout.rows == 0;
    const struct block_cyclic_matrix *m = &picture->matrix;
    json_t *pieces = json_array();
    for (int64_t i = 0; i < block_cyclic_matrix_ranks(m) && !whole; i++) {
        int64_t rows, cols;
        block_cyclic_matrix_shape(m, i, &rows, &cols);
        json_array_append_new(pieces, pair(rows, cols));
    }
    json_t *json = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "id", info->id, "servers",
                             servers_json(info, n), "extents", pair(m->rows.n, m->cols.n), "grid",
                             whole ? json_null() : pair(m->rows.ranks, m->cols.ranks), "block",
                             whole ? json_null() : pair(m->rows.block, m->cols.block), "pieces", pieces);
    if (picture->moves)
        json_object_set_new(json, "move", move_json(info, picture, summary));
    return json;
}

static enum esp_status print_map(const struct picture *picture, const struct esp_data_info *infos, size_t n,
                                 struct esp_error *error)
{
    const struct block_cyclic_matrix *m = &picture->matrix;
    char *drawn, names[4096];
    struct text text;
    if (infos->layout.rows == 0) {
        text_open(&text, names, sizeof names);
        holders(infos, n, &text);
        printf("%" PRId64 " x %" PRId64 ", whole (not in pieces), on %s\n", m->rows.n, m->cols.n, names);
        return ESP_OK;
    }
    enum esp_status status = make_text(picture, infos->id, NULL, false, &drawn, error);
    if (status != ESP_OK)
        return status;
    fputs(drawn, stdout);
    free(drawn);
    return ESP_OK;
}

/* Where to, by what, and what it takes: a few lines. */
static void describe_move(const struct picture *picture, const struct esp_data_info *info,
                          const struct redistribution_summary *summary, struct text *text)
{
    const struct parallel_speed *speed = &picture->profile.speed;
    text_printf(
        text, "to %u x %u ranks of another server, blocks of %lld x %lld (at %.3g us a step and %.3g GB/s, ",
        picture->to.rows, picture->to.cols, (long long)picture->to.row_block,
        (long long)picture->to.col_block, speed->latency_s * 1e6, 1e-9 / speed->byte_s);
    if (picture->asked)
        text_printf(text, "as the ranks of %s measured):\n", picture->asked);
    else
        text_printf(text, "%s):\n", picture->measured ? "as its ranks measured" : "which is assumed");
    block_map_move_text(summary, (double)esp_type_size(info->type), text);
    if (lies_so(picture, info))
        text_printf(text, "where it is, on %s, it lies so already\n", info->server);
    else
        block_map_copy_text(info->server, copying_ranks(picture), (double)info->bytes, copy_s(picture, info),
                            text);
}

static enum exit_code show(const struct command_line *command, const struct esp_data_info *infos, size_t n,
                           struct picture *picture)
{
    struct esp_error error = {0};
    struct redistribution_summary summary = {0};
    char about[4096] = "";
    struct text move;
    enum esp_status status = find_matrix(infos, &picture->matrix, &error);
    if (status == ESP_OK && infos->layout.rows == 0)
        status = check_whole(picture, infos, n, &error);
    if (status == ESP_OK)
        status = block_map_check(&picture->matrix, &picture->window, &error);
    if (status == ESP_OK && picture->moves && !picture->measured)
        ask_speed(infos, n, picture);
    if (status == ESP_OK && picture->moves)
        status = plan_move(picture, infos, &summary, &error);
    if (status == ESP_OK && picture->moves) {
        text_open(&move, about, sizeof about);
        describe_move(picture, infos, &summary, &move);
    }
    if (status == ESP_OK && picture->svg)
        status = write_svg(picture, infos->id, about, &error);
    if (status == ESP_OK && command->json)
        return command_json(as_json(infos, n, picture, &summary));
    if (status == ESP_OK && picture->map)
        status = print_map(picture, infos, n, &error);
    if (status == ESP_OK && picture->moves && !(picture->svg && strcmp(picture->svg, "-") == 0))
        fputs(about, stdout);
    return status == ESP_OK ? command_flush() : command_fail(command, &error);
}

enum exit_code verb_data_show(const struct command_line *command)
{
    struct picture picture = {0};
    struct esp_error error = {0};
    struct esp_data_info *infos;
    const char *id = command->operands[0];
    size_t n;
    if (read_options(command, &picture, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    if (esp_data_look(strncmp(id, "data:", 5) == 0 ? id + 5 : id, &infos, &n) != ESP_OK) {
        code = session_fail_kept(command);
    } else {
        code = show(command, infos, n, &picture);
        esp_data_free(infos);
    }
    grpc_finalize();
    return code;
}
