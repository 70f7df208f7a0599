/* SPDX-License-Identifier: Apache-2.0 */
#include "client/command/plot.h"

#include <math.h>

#define WIDTH  720
#define HEIGHT 540
#define LEFT   80
#define RIGHT  20
#define TOP    50
#define BOTTOM 60

struct axes {
    double low, high; /* decades, of both axes */
};

static double across(const struct axes *axes, double seconds)
{
    return LEFT + (log10(seconds) - axes->low) / (axes->high - axes->low) * (WIDTH - LEFT - RIGHT);
}

static double up(const struct axes *axes, double seconds)
{
    return HEIGHT - BOTTOM -
           (log10(seconds) - axes->low) / (axes->high - axes->low) * (HEIGHT - TOP - BOTTOM);
}

static void put_text(FILE *file, double x, double y, const char *anchor, const char *text)
{
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            fputs(*text == '<' ? "&lt;" : "&amp;", file);
        else
            fputc(*text, file);
    fputs("</text>\n", file);
}

static void put_decades(FILE *file, const struct axes *axes)
{
    char text[32];
    for (double decade = axes->low; decade <= axes->high; decade++) {
        double seconds = pow(10, decade), x = across(axes, seconds), y = up(axes, seconds);
        fprintf(file, "<path d=\"M%.1f %d V%d M%d %.1f H%d\" stroke=\"#ddd\"/>\n", x, TOP, HEIGHT - BOTTOM,
                LEFT, y, WIDTH - RIGHT);
        snprintf(text, sizeof text,
                 seconds < 1e-3 ? "%.0f µs"
                 : seconds < 1  ? "%.0f ms"
                                : "%.0f s",
                 seconds < 1e-3 ? seconds * 1e6
                 : seconds < 1  ? seconds * 1e3
                                : seconds);
        put_text(file, x, HEIGHT - BOTTOM + 18, "middle", text);
        put_text(file, LEFT - 8, y + 4, "end", text);
    }
}

static void put_line(FILE *file, const struct axes *axes, double factor, const char *style)
{
    double low = pow(10, axes->low), high = pow(10, axes->high);
    double from = fmax(low, low / factor), to = fmin(high, high / factor);
    fprintf(file, "<path d=\"M%.1f %.1f L%.1f %.1f\" %s/>\n", across(axes, from), up(axes, from * factor),
            across(axes, to), up(axes, to * factor), style);
}

static struct axes choose_axes(const struct cost_model *model)
{
    struct axes axes = {1, -1};
    for (uint32_t i = 0; i < model->n_measurements; i++) {
        double decade = log10(model->measurements[i].seconds);
        axes.low = i ? fmin(axes.low, floor(decade)) : floor(decade);
        axes.high = i ? fmax(axes.high, ceil(decade)) : ceil(decade);
    }
    if (!(axes.high > axes.low))
        axes.high = axes.low + 1;
    return axes;
}

static void put_points(FILE *file, const struct axes *axes, const struct cost_model *model)
{
    for (uint32_t i = 0; i < model->n_measurements; i++) {
        const struct cost_measurement *m = &model->measurements[i];
        double seconds = cost_curve_value(model, &model->time, m->x, NULL);
        seconds = fmin(fmax(seconds, pow(10, axes->low)), pow(10, axes->high));
        fprintf(file,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"#2563eb\" fill-opacity=\"0.7\"><title>",
                across(axes, m->seconds), up(axes, seconds));
        for (uint32_t v = 0; v < model->n_variables; v++)
            if (model->variables[v].argument >= 0)
                fprintf(file, "%s = %.0f, ", model->variables[v].name, m->x[v]);
        fprintf(file, "measured %.3g s, model %.3g s</title></circle>\n", m->seconds, seconds);
    }
}

void plot_model(FILE *file, const struct cost_model *model)
{
    char title[800];
    struct axes axes = choose_axes(model);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"white\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    snprintf(title, sizeof title, "%s by %s on %s, %u thread%s: %u measurements, expected error %.1f %%",
             model->problem, model->implementation, model->machine, model->threads,
             model->threads == 1 ? "" : "s", model->n_measurements, 100 * model->time.error);
    put_text(file, WIDTH / 2.0, 28, "middle", title);
    put_decades(file, &axes);
    put_line(file, &axes, 1, "stroke=\"#444\"");
    put_line(file, &axes, 1 + model->time.error, "stroke=\"#999\" stroke-dasharray=\"4 4\"");
    put_line(file, &axes, 1 / (1 + model->time.error), "stroke=\"#999\" stroke-dasharray=\"4 4\"");
    put_points(file, &axes, model);
    put_text(file, WIDTH / 2.0, HEIGHT - 18, "middle", "measured");
    fprintf(file, "<g transform=\"rotate(-90 20 %d)\">", HEIGHT / 2);
    put_text(file, 20, HEIGHT / 2.0, "middle", "model");
    fputs("</g>\n</svg>\n", file);
}
