/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/picture.h"
#include "util/svg.h"
#include "util/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEFT       110.0
#define TOP        30.0
#define WIDTH      1000.0
#define ROW_HEIGHT 14.0
#define MOST_KINDS 64
#define PIECE      1024 /* bytes of one element of a picture */

/* A thread that computed. */
struct row {
    unsigned set, thread, node;
    double until_x; /* drawn up to here */
};

struct drawing {
    const struct picture *picture;
    FILE *file;
    struct row *rows;
    size_t n_rows, n_left_out;
    const char *kinds[MOST_KINDS];
    unsigned n_kinds;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

static bool find_rows(struct drawing *drawing)
{
    const struct flow_record *record = drawing->picture->record;
    struct row *rows = malloc((record->n_events + 1) * sizeof *rows);
    size_t n = 0, kept = 0;
    if (!rows)
        return false;
    for (size_t i = 0; i < record->n_events; i++)
        if (!record->events[i].is_transfer)
            rows[n++] =
                (struct row){record->events[i].set, record->events[i].thread, record->events[i].node, 0};
    qsort(rows, n, sizeof *rows, compare_rows);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || compare_rows(&rows[i], &rows[i - 1]) != 0)
            rows[kept++] = rows[i];
    drawing->rows = rows;
    drawing->n_left_out = kept > PICTURE_MOST_ROWS ? kept - PICTURE_MOST_ROWS : 0;
    drawing->n_rows = kept - drawing->n_left_out;
    return true;
}

/* Operations of different levels that compute the same have one colour. */
static unsigned kind_of(struct drawing *drawing, const char *what)
{
    size_t length = strcspn(what, "[");
    for (unsigned i = 0; i < drawing->n_kinds; i++)
        if (strncmp(drawing->kinds[i], what, length) == 0 && strcspn(drawing->kinds[i], "[") == length)
            return i;
    if (drawing->n_kinds == MOST_KINDS)
        return MOST_KINDS - 1;
    drawing->kinds[drawing->n_kinds] = what;
    return drawing->n_kinds++;
}

static double x_of(const struct drawing *drawing, double seconds)
{
    double all = drawing->picture->seconds;
    return LEFT + (all > 0 ? seconds / all * WIDTH : 0);
}

static double y_of(size_t row)
{
    return TOP + (double)row * ROW_HEIGHT;
}

static void flush(struct drawing *drawing, struct text *text)
{
    fputs(text->data, drawing->file);
    text_open(text, text->data, text->size);
}

static void draw_step(struct drawing *drawing, const struct flow_event *event)
{
    struct row key = {.set = event->set, .thread = event->thread};
    struct row *row = bsearch(&key, drawing->rows, drawing->n_rows, sizeof *row, compare_rows);
    double begin = x_of(drawing, event->begin_s), end = x_of(drawing, event->end_s);
    unsigned kind = kind_of(drawing, event->what);
    /* What is narrower than a third of a pixel is drawn only where nothing is yet. */
    if (!row || end < row->until_x + 0.3)
        return;
    row->until_x = end;
    char piece[PIECE], colour[SVG_COLOUR], tip[200];
    struct text text;
    text_open(&text, piece, sizeof piece);
    svg_hue(kind, colour);
    snprintf(tip, sizeof tip, "%s, %.6g to %.6g s, node %u", event->what, event->begin_s, event->end_s,
             event->node);
    struct svg_box box = {begin, y_of((size_t)(row - drawing->rows)) + 1, fmax(end - begin, 0.3),
                          ROW_HEIGHT - 2};
    svg_box(&text, box, colour, NULL, tip);
    flush(drawing, &text);
}

static void draw_frame(struct drawing *drawing)
{
    char piece[PIECE], words[100];
    struct text text;
    text_open(&text, piece, sizeof piece);
    for (size_t i = 0; i < drawing->n_rows; i++) {
        const struct row *row = &drawing->rows[i];
        snprintf(words, sizeof words, "%.20s[%u]", flow_threads_name(drawing->picture->graph, row->set),
                 row->thread);
        svg_label(&text, LEFT - 6, y_of(i) + ROW_HEIGHT / 2, 10, "end", words);
        flush(drawing, &text);
    }
    for (int i = 0; i <= 10; i++) {
        double seconds = drawing->picture->seconds * i / 10;
        snprintf(words, sizeof words, "%.4g s", seconds);
        svg_label(&text, x_of(drawing, seconds), TOP - 12, 10, "middle", words);
        flush(drawing, &text);
    }
}

static void draw_legend(struct drawing *drawing)
{
    char piece[PIECE], colour[SVG_COLOUR], words[200];
    struct text text;
    double y = y_of(drawing->n_rows) + 18;
    text_open(&text, piece, sizeof piece);
    for (unsigned i = 0; i < drawing->n_kinds; i++) {
        double x = LEFT + (i % 6) * WIDTH / 6;
        double line = y + i / 6 * 16;
        svg_hue(i, colour);
        svg_box(&text, (struct svg_box){x, line - 6, 12, 12}, colour, NULL, NULL);
        snprintf(words, sizeof words, "%.*s", (int)strcspn(drawing->kinds[i], "["), drawing->kinds[i]);
        svg_label(&text, x + 16, line, 10, "start", words);
        flush(drawing, &text);
    }
    if (drawing->n_left_out) {
        snprintf(words, sizeof words, "%zu more threads are not shown", drawing->n_left_out);
        svg_label(&text, LEFT, y + (drawing->n_kinds / 6 + 1) * 16, 10, "start", words);
        flush(drawing, &text);
    }
}

void picture_gantt(const struct picture *picture, FILE *file)
{
    const struct flow_record *record = picture->record;
    struct drawing drawing = {.picture = picture, .file = file};
    char piece[PIECE];
    struct text text;
    if (!find_rows(&drawing))
        return;
    text_open(&text, piece, sizeof piece);
    svg_open(&text, LEFT + WIDTH + 30, y_of(drawing.n_rows) + 16 * (MOST_KINDS / 6 + 2),
             "Computations of each thread");
    flush(&drawing, &text);
    draw_frame(&drawing);
    for (size_t i = 0; i < record->n_events; i++)
        if (!record->events[i].is_transfer)
            draw_step(&drawing, &record->events[i]);
    draw_legend(&drawing);
    svg_close(&text);
    flush(&drawing, &text);
    free(drawing.rows);
}

/* Names are of programs and flow texts: letters, digits, brackets, commas. */
static void write_event(const struct flow_event *event, const struct flow_graph *graph, FILE *file)
{
    double begin_us = event->begin_s * 1e6, duration_us = (event->end_s - event->begin_s) * 1e6;
    const char *operation = flow_operation_name(graph, event->operation);
    if (event->is_transfer)
        fprintf(file,
                "{\"name\":\"to %s\",\"cat\":\"transfer\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%u,"
                "\"tid\":\"to node %u\",\"args\":{\"bytes\":%llu}}",
                operation, begin_us, duration_us, event->from, event->node, (unsigned long long)event->bytes);
    else
        fprintf(file,
                "{\"name\":\"%s\",\"cat\":\"computation\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%u,"
                "\"tid\":\"%s[%u]\",\"args\":{\"operation\":\"%s\",\"seconds\":%.9g}}",
                event->what, begin_us, duration_us, event->node, flow_threads_name(graph, event->set),
                event->thread, operation, event->seconds);
}

static void write_node(const struct picture *picture, unsigned node, FILE *file)
{
    char number[32];
    const char *name = number;
    snprintf(number, sizeof number, "node %u", node);
    if (picture->nodes)
        name = picture->nodes[node];
    fprintf(file, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,\"args\":{\"name\":\"%s\"}}%s\n", node,
            name, node + 1 < picture->n_nodes || picture->record->n_events ? "," : "");
}

void picture_trace(const struct picture *picture, FILE *file)
{
    const struct flow_record *record = picture->record;
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", file);
    for (unsigned i = 0; i < picture->n_nodes; i++)
        write_node(picture, i, file);
    for (size_t i = 0; i < record->n_events; i++) {
        write_event(&record->events[i], picture->graph, file);
        fputs(i + 1 < record->n_events ? ",\n" : "\n", file);
    }
    fputs("]}\n", file);
}
