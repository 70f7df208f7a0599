/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures of layouts and of forecasts over grids, as text and as SVG.
 */
#include "tests/unit/unit.h"
#include "core/redistribution/block_map.h"
#include "core/forecast/grid_table.h"
#include "util/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 1 << 20 };
static char buffer[ROOM];

static size_t count(const char *text, const char *piece)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, piece)); at += strlen(piece))
        n++;
    return n;
}

/* Tags open and close like brackets, and nothing that XML reserves stands between them. */
static void assert_well_formed(const char *svg)
{
    char open[64][32];
    size_t depth = 0;
    for (const char *at = svg; *at; at++) {
        assert_true(*at != '>');
        if (*at != '<')
            continue;
        const char *end = strchr(at, '>');
        size_t length = strcspn(at + 1, " />");
        assert_non_null(end);
        assert_true(length < 32 && depth < 63);
        if (at[1] == '/') {
            length = strcspn(at + 2, ">");
            assert_true(depth > 0);
            depth--;
            assert_true(strlen(open[depth]) == length && memcmp(open[depth], at + 2, length) == 0);
        } else if (end[-1] != '/') {
            memcpy(open[depth], at + 1, length);
            open[depth++][length] = 0;
        }
        int quotes = 0;
        for (const char *in = at; in < end; in++)
            quotes += *in == '"';
        assert_int_equal(quotes % 2, 0);
        at = end;
    }
    assert_int_equal(depth, 0);
    assert_int_equal(count(svg, "<svg "), 1);
}

static const struct block_map_window all = {0};
static const struct block_cyclic_matrix small = {{10, 4, 2, 0}, {9, 3, 2, 1}, false};

static void the_map_has_a_number_per_block(void **state)
{
    (void)state;
    struct text text;
    text_open(&text, buffer, ROOM);
    block_map_text(&small, &all, 80, 20, &text);
    assert_string_equal(buffer, "10 x 9 in blocks of 4 x 3 over 2 x 2 ranks\n"
                                "   1 4 7\n"
                                " 1 1 0 1\n"
                                " 5 3 2 3\n"
                                " 9 1 0 1\n"
                                "rank 0 (0, 0): 6 x 3, 20.0 %\n"
                                "rank 1 (0, 1): 6 x 6, 40.0 %\n"
                                "rank 2 (1, 0): 4 x 3, 13.3 %\n"
                                "rank 3 (1, 1): 4 x 6, 26.7 %\n"
                                "the fullest rank has 1.60 times its share\n");
}

static void a_window_shows_the_blocks_it_cuts(void **state)
{
    (void)state;
    struct text text;
    text_open(&text, buffer, ROOM);
    block_map_text(&small, &(struct block_map_window){5, 2, 4, 3}, 80, 20, &text);
    assert_string_equal(buffer, "10 x 9 in blocks of 4 x 3 over 2 x 2 ranks\n"
                                "rows 6 to 9, columns 3 to 5\n"
                                "  3 4\n"
                                "6 3 2\n"
                                "9 1 0\n");
}

static void what_does_not_fit_is_told(void **state)
{
    (void)state;
    struct block_cyclic_matrix large = {{1000000, 10, 4, 0}, {500000, 10, 3, 0}, false};
    struct text text;
    text_open(&text, buffer, ROOM);
    block_map_text(&large, &all, 60, 10, &text);
    assert_non_null(strstr(buffer, "... and 99990 rows of blocks more\n"));
    assert_non_null(strstr(buffer, "... and 49993 columns of blocks more\n"));
    assert_non_null(strstr(buffer, "... and 2 ranks more\n"));
    for (char *line = strtok(buffer, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 60);
}

static void a_short_buffer_tells_what_it_would_need(void **state)
{
    (void)state;
    char little[8];
    struct text text, full;
    text_open(&text, little, sizeof little);
    block_map_svg(&small, &all, 400, "A", NULL, &text);
    text_open(&full, buffer, ROOM);
    block_map_svg(&small, &all, 400, "A", NULL, &full);
    assert_int_equal(text.length, full.length);
    assert_int_equal(strlen(buffer), full.length);
}

static void few_blocks_are_drawn_one_by_one(void **state)
{
    (void)state;
    struct text text;
    text_open(&text, buffer, ROOM);
    block_map_svg(&small, &all, 400, "A < B & \"C\"", NULL, &text);
    assert_well_formed(buffer);
    assert_int_equal(count(buffer, "<rect "), 1 + 9);
    assert_non_null(strstr(buffer, "<title>A &lt; B &amp; &quot;C&quot;</title>"));
    assert_non_null(strstr(buffer, "<title>rank 2 (1, 0): rows 5 to 8, columns 4 to 6</title>"));
}

static void lines_of_a_note_stand_below_the_heading(void **state)
{
    (void)state;
    struct text text;
    text_open(&text, buffer, ROOM);
    block_map_svg(&small, &all, 400, "A", "to 2 x 3 ranks\n6 steps, \"stepwise\"\n", &text);
    assert_well_formed(buffer);
    assert_non_null(
        strstr(buffer, "y=\"34.85\" font-size=\"11\" text-anchor=\"start\">to 2 x 3 ranks</text>"));
    assert_non_null(strstr(buffer, ">6 steps, &quot;stepwise&quot;</text>"));
    assert_int_equal(count(buffer, "<rect "), 1 + 9);
}

static void a_copy_where_it_is_is_told_in_a_line(void **state)
{
    (void)state;
    struct text text;
    text_open(&text, buffer, ROOM);
    block_map_copy_text("node7", 4, 8e6, 0.002, &text);
    block_map_copy_text("node7", 1, 640, 1e-6, &text);
    assert_string_equal(buffer,
                        "where it is, on node7, no message is sent: 4 ranks copy 8 MB from where it lies, "
                        "forecast 0.002 s\n"
                        "where it is, on node7, no message is sent: 640 B are copied from where it lies, "
                        "forecast 1e-06 s\n");
}

static void many_blocks_are_a_repeated_period(void **state)
{
    (void)state;
    struct block_cyclic_matrix large = {{1000000, 8, 4, 1}, {1000000, 8, 3, 0}, true};
    struct text text;
    text_open(&text, buffer, ROOM);
    block_map_svg(&large, &all, 600, "large", NULL, &text);
    assert_well_formed(buffer);
    assert_int_equal(count(buffer, "<rect "), 1 + 12 + 1);
    assert_int_equal(count(buffer, "<pattern "), 1);
    assert_true(text.length < 4096);
    text_open(&text, buffer, ROOM);
    block_map_svg(&large, &(struct block_map_window){80, 800, 16, 24}, 600, "zoomed", NULL, &text);
    assert_well_formed(buffer);
    assert_int_equal(count(buffer, "<rect "), 1 + 2 * 3);
    struct block_cyclic_matrix ranks = {{1000000, 1, 1000, 0}, {1000000, 1, 1000, 0}, false};
    text_open(&text, buffer, ROOM);
    block_map_svg(&ranks, &all, 600, "ranks", NULL, &text);
    assert_well_formed(buffer);
}

static void nothing_has_a_map_too(void **state)
{
    (void)state;
    struct block_cyclic_matrix nothing = {{0, 4, 2, 0}, {7, 3, 2, 0}, false};
    struct text text;
    text_open(&text, buffer, ROOM);
    assert_int_equal(block_map_check(&nothing, &all, NULL), ESP_OK);
    block_map_text(&nothing, &all, 80, 10, &text);
    assert_non_null(strstr(buffer, "rank 3 (1, 1): 0 x 3, 0.0 %"));
    text_open(&text, buffer, ROOM);
    block_map_svg(&nothing, &all, 300, "nothing", NULL, &text);
    assert_well_formed(buffer);
}

static void windows_beside_the_matrix_are_refused(void **state)
{
    (void)state;
    struct esp_error error = {0};
    assert_int_equal(block_map_check(&small, &(struct block_map_window){10, 0, 1, 1}, &error), ESP_INVALID);
    assert_string_equal(error.text, "expected a window inside of 10 rows, found one of 1 from 11 on");
    assert_int_equal(block_map_check(&small, &(struct block_map_window){0, -1, 1, 1}, &error), ESP_INVALID);
    assert_int_equal(block_map_check(&small, &(struct block_map_window){9, 8, 5, 5}, &error), ESP_OK);
}

static void moving_is_told_with_its_bounds(void **state)
{
    (void)state;
    struct redistribution_summary summary = {.schedule = REDISTRIBUTION_GREEDY,
                                             .steps = 11,
                                             .cost = 16000000,
                                             .least_steps = 10,
                                             .least_cost = 15000000,
                                             .sent = 90000000,
                                             .messages = 60,
                                             .seconds = 1.6,
                                             .least_seconds = 1.5};
    struct text text;
    text_open(&text, buffer, ROOM);
    block_map_move_text(&summary, 8, &text);
    assert_string_equal(buffer, "60 messages, 720 MB sent, 0 B stay\n"
                                "11 steps, greedy (no schedule has fewer than 10)\n"
                                "their longest messages: 128 MB (none less than 120 MB)\n"
                                "forecast 1.6 s, at most 6.7 % above the least possible\n");
    text_open(&text, buffer, ROOM);
    block_map_move_text(&(struct redistribution_summary){.kept = 5}, 8, &text);
    assert_non_null(strstr(buffer, "nothing has to be sent"));
}

/* ---- forecasts ---- */

static struct parallel_forecast *forecasts(int64_t ranks, double memory, size_t *n)
{
    static const int64_t block = 64;
    struct parallel_machine machine = {.polynomials = parallel_polynomials_from_rates(5e8, 8e7, 1e-6),
                                       .latency_s = 1e-4,
                                       .element_s = 8 / 11.2e6,
                                       .broadcast = parallel_broadcast_find("tree"),
                                       .memory_elements = memory};
    struct parallel_problem problem = {.routine = "pdgemm", .m = 2048, .n = 2048, .k = 2048};
    struct parallel_forecast *made;
    assert_int_equal(parallel_grids(&machine, &problem, ranks, &block, 1, &made, n, NULL), ESP_OK);
    return made;
}

static void the_table_has_all_grids(void **state)
{
    (void)state;
    size_t n;
    struct text text;
    struct parallel_forecast *made = forecasts(4, 0, &n);
    text_open(&text, buffer, ROOM);
    grid_table_text(made, n, 80, &text);
    /* Of 32 blocks, the busiest of 3 ranks has 11. */
    assert_string_equal(buffer, "    p \\ q        1        2        3        4\n"
                                "        1    34.36    20.18    17.81    14.59\n"
                                "        2    20.18   11.59*\n"
                                "        3    17.81\n"
                                "        4    14.59\n"
                                "fastest: 2 x 2 ranks, blocks of 64, 11.59 s\n");
    free(made);
}

static void the_table_has_the_block_of_each_grid(void **state)
{
    (void)state;
    static const struct parallel_forecast made[] = {
        {{1, 2}, 32, 2.5, 0}, {{1, 1}, 128, 4, 0}, {{2, 1}, 16, INFINITY, 0}};
    struct text text;
    text_open(&text, buffer, ROOM);
    grid_table_text(made, 3, 80, &text);
    assert_string_equal(buffer, "    p \\ q        1        2\n"
                                "        1        4     2.5*\n"
                                "        2        -\n"
                                "with blocks of:\n"
                                "    p \\ q        1        2\n"
                                "        1      128      32*\n"
                                "        2        -\n"
                                "fastest: 1 x 2 ranks, blocks of 32, 2.5 s\n");
}

/* All in one unit, with as many digits as in seconds. */
static void short_times_are_in_smaller_units(void **state)
{
    (void)state;
    struct parallel_forecast made[] = {{{1, 2}, 32, 1.8231e-4, 0}, {{1, 1}, 32, 0.0022114, 0}};
    struct text text;
    text_open(&text, buffer, ROOM);
    grid_table_text(made, 2, 80, &text);
    assert_string_equal(grid_table_unit(made, 2), "milliseconds");
    assert_string_equal(buffer, "    p \\ q        1        2\n"
                                "        1    2.211  0.1823*\n"
                                "        2\n"
                                "fastest: 1 x 2 ranks, blocks of 32, 0.0001823 s\n");
    made[0].seconds = 1.8231e-5;
    text_open(&text, buffer, ROOM);
    grid_table_text(made, 2, 80, &text);
    assert_string_equal(grid_table_unit(made, 2), "microseconds");
    assert_non_null(strstr(buffer, "     2211   18.23*"));
    made[0].seconds = 4;
    assert_string_equal(grid_table_unit(made, 2), "seconds");
}

static void wide_tables_are_thinned_out(void **state)
{
    (void)state;
    size_t n;
    struct text text;
    struct parallel_forecast *made = forecasts(32, 0, &n);
    text_open(&text, buffer, ROOM);
    grid_table_text(made, n, 110, &text);
    assert_int_equal(count(buffer, "*"), 1);
    assert_int_equal(count(buffer, "\n"), 12);
    for (char *line = strtok(buffer, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 110);
    free(made);
}

static void grids_without_memory_have_a_dash(void **state)
{
    (void)state;
    size_t n;
    struct text text;
    struct parallel_forecast *made = forecasts(2, 7e6, &n);
    text_open(&text, buffer, ROOM);
    grid_table_text(made, n, 80, &text);
    assert_non_null(strstr(buffer, "        1        -"));
    text_open(&text, buffer, ROOM);
    grid_table_svg(made, n, 500, "pdgemm", &text);
    assert_well_formed(buffer);
    assert_non_null(strstr(buffer, "too little memory"));
    free(made);
    made = forecasts(2, 1000, &n);
    text_open(&text, buffer, ROOM);
    grid_table_text(made, n, 80, &text);
    assert_non_null(strstr(buffer, "no grid has the memory"));
    free(made);
}

static void the_picture_has_a_square_per_grid(void **state)
{
    (void)state;
    size_t n;
    struct text text;
    struct parallel_forecast *made = forecasts(32, 0, &n);
    text_open(&text, buffer, ROOM);
    grid_table_svg(made, n, 900, "pdgemm, 2048", &text);
    assert_well_formed(buffer);
    assert_int_equal(count(buffer, "<rect "), 1 + n);
    assert_int_equal(count(buffer, "stroke=\"#000\""), 1);
    free(made);
}

/* Columns of 20 units each: letters are about 0.6 of their size wide. */
static void the_picture_s_numbers_stay_in_their_squares(void **state)
{
    (void)state;
    static const struct parallel_forecast made[] = {{{1, 20}, 32, 2.5, 0}, {{1, 1}, 32, 1.23e9, 0}};
    struct text text;
    text_open(&text, buffer, ROOM);
    grid_table_svg(made, 2, 444, "pdgemm", &text);
    assert_well_formed(buffer);
    assert_non_null(strstr(buffer, "font-size=\"3.96\" text-anchor=\"middle\">1.23e+09</text>"));
    assert_non_null(strstr(buffer, "font-size=\"6.67\" text-anchor=\"middle\">2.5</text>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_map_has_a_number_per_block),
        cmocka_unit_test(a_window_shows_the_blocks_it_cuts),
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(a_short_buffer_tells_what_it_would_need),
        cmocka_unit_test(few_blocks_are_drawn_one_by_one),
        cmocka_unit_test(lines_of_a_note_stand_below_the_heading),
        cmocka_unit_test(a_copy_where_it_is_is_told_in_a_line),
        cmocka_unit_test(many_blocks_are_a_repeated_period),
        cmocka_unit_test(nothing_has_a_map_too),
        cmocka_unit_test(windows_beside_the_matrix_are_refused),
        cmocka_unit_test(moving_is_told_with_its_bounds),
        cmocka_unit_test(the_table_has_all_grids),
        cmocka_unit_test(the_table_has_the_block_of_each_grid),
        cmocka_unit_test(short_times_are_in_smaller_units),
        cmocka_unit_test(wide_tables_are_thinned_out),
        cmocka_unit_test(grids_without_memory_have_a_dash),
        cmocka_unit_test(the_picture_has_a_square_per_grid),
        cmocka_unit_test(the_picture_s_numbers_stay_in_their_squares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
