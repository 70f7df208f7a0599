/* SPDX-License-Identifier: Apache-2.0 */
#include "command/plot.h"

#include <math.h>

/* Above, the model's times against the measured ones; below, how far they are off. Both lie over the same
 * axis of measured times. */
#define WIDTH   720
#define HEIGHT  680
#define LEFT    80
#define RIGHT   40
#define TOP     60
#define MIDDLE  450 /* where the upper one ends */
#define LOWER   490 /* where the lower one begins */
#define BOTTOM  620
#define MOST    1.0 /* of what is off: more is drawn at the edge */
#define LEAST   0.02
#define DASHED  "stroke=\"#999\" stroke-dasharray=\"4 4\""
#define LARGEST 1e9 /* seconds */

struct axes {
    double low, high; /* decades, of times */
    double off;       /* what the lower picture reaches to, both ways */
};

static double model_seconds(const struct cost_model *model, const struct cost_measurement *m)
{
    return fmin(fmax(cost_curve_value(model, &model->time, m->x, NULL), 1 / LARGEST), LARGEST);
}

static double off_of(const struct cost_model *model, const struct cost_measurement *m)
{
    return model_seconds(model, m) / m->seconds - 1;
}

static double share_of(const struct axes *axes, double seconds)
{
    return (log10(seconds) - axes->low) / (axes->high - axes->low);
}

static double across(const struct axes *axes, double seconds)
{
    return LEFT + share_of(axes, seconds) * (WIDTH - LEFT - RIGHT);
}

static double up(const struct axes *axes, double seconds)
{
    return MIDDLE - share_of(axes, seconds) * (MIDDLE - TOP);
}

static double up_off(const struct axes *axes, double off)
{
    const double within = fmin(fmax(off, -axes->off), axes->off);
    return (LOWER + BOTTOM) / 2.0 - within / axes->off * (BOTTOM - LOWER) / 2;
}

/* ---- pieces ---- */

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

static void put_title(FILE *file, double y, const char *text)
{
    fprintf(file, "<g transform=\"rotate(-90 20 %.0f)\">", y);
    put_text(file, 20, y, "middle", text);
    fputs("</g>\n", file);
}

static void put_decades(FILE *file, const struct axes *axes)
{
    char text[32];
    for (double decade = axes->low; decade <= axes->high; decade++) {
        double seconds = pow(10, decade), x = across(axes, seconds), y = up(axes, seconds);
        fprintf(file, "<path d=\"M%.1f %d V%d M%.1f %d V%d M%d %.1f H%d\" stroke=\"#ddd\"/>\n", x, TOP,
                MIDDLE, x, LOWER, BOTTOM, LEFT, y, WIDTH - RIGHT);
        snprintf(text, sizeof text,
                 seconds < 1e-6   ? "%.0f ns"
                 : seconds < 1e-3 ? "%.0f µs"
                 : seconds < 1    ? "%.0f ms"
                                  : "%.0f s",
                 seconds < 1e-6   ? seconds * 1e9
                 : seconds < 1e-3 ? seconds * 1e6
                 : seconds < 1    ? seconds * 1e3
                                  : seconds);
        put_text(file, x, BOTTOM + 18, "middle", text);
        put_text(file, LEFT - 8, y + 4, "end", text);
    }
}

/* Of times that are `factor` times the measured ones. */
static void put_line(FILE *file, const struct axes *axes, double factor, const char *style)
{
    double low = pow(10, axes->low), high = pow(10, axes->high);
    double from = fmax(low, low / factor), to = fmin(high, high / factor);
    fprintf(file, "<path d=\"M%.1f %.1f L%.1f %.1f\" %s/>\n", across(axes, from), up(axes, from * factor),
            across(axes, to), up(axes, to * factor), style);
}

static void put_off(FILE *file, const struct axes *axes, double off, const char *style)
{
    char text[32];
    const double y = up_off(axes, off);
    fprintf(file, "<path d=\"M%d %.1f H%d\" %s/>\n", LEFT, y, WIDTH - RIGHT, style);
    snprintf(text, sizeof text, off ? "%+.0f %%" : "0", 100 * off);
    put_text(file, LEFT - 8, y + 4, "end", text);
}

static void put_point(FILE *file, const struct axes *axes, const struct cost_model *model,
                      const struct cost_measurement *m, double y)
{
    fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"#2563eb\" fill-opacity=\"0.7\"><title>",
            across(axes, m->seconds), y);
    for (uint32_t v = 0; v < model->n_variables; v++)
        if (model->variables[v].argument >= 0)
            fprintf(file, "%s = %.0f, ", model->variables[v].name, m->x[v]);
    fprintf(file, "measured %.3g s, model %.3g s</title></circle>\n", m->seconds, model_seconds(model, m));
}

/* ---- the picture ---- */

/* Whole decades that hold all times, of the model too. */
static struct axes choose_axes(const struct cost_model *model)
{
    double least = LARGEST, most = 1 / LARGEST;
    struct axes axes = {.off = fmax(1.5 * model->time.error, LEAST)};
    for (uint32_t i = 0; i < model->n_measurements; i++) {
        const struct cost_measurement *m = &model->measurements[i];
        const double seconds = model_seconds(model, m);
        least = fmin(least, fmin(m->seconds, seconds));
        most = fmax(most, fmax(m->seconds, seconds));
        axes.off = fmax(axes.off, 1.1 * fabs(off_of(model, m)));
    }
    axes.off = fmin(axes.off, MOST);
    axes.low = floor(log10(least));
    axes.high = ceil(log10(most));
    if (!(axes.high > axes.low)) {
        axes.low = model->n_measurements ? axes.low : 0;
        axes.high = axes.low + 1;
    }
    return axes;
}

void plot_model(FILE *file, const struct cost_model *model)
{
    char title[800];
    const double error = model->time.error;
    const struct axes axes = choose_axes(model);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"white\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    snprintf(title, sizeof title, "%s by %s on %s, %u thread%s: %u measurements", model->problem,
             model->implementation, model->machine, model->threads, model->threads == 1 ? "" : "s",
             model->n_measurements);
    put_text(file, WIDTH / 2.0, 24, "middle", title);
    snprintf(title, sizeof title, "dashed: the expected error, %.1f %%", 100 * error);
    put_text(file, WIDTH / 2.0, 44, "middle", title);
    put_decades(file, &axes);
    put_line(file, &axes, 1, "stroke=\"#444\"");
    put_line(file, &axes, 1 + error, DASHED);
    put_line(file, &axes, 1 / (1 + error), DASHED);
    put_off(file, &axes, 0, "stroke=\"#444\"");
    if (error < 0.8 * axes.off) {
        put_off(file, &axes, axes.off, "stroke=\"#ddd\"");
        put_off(file, &axes, -axes.off, "stroke=\"#ddd\"");
    }
    if (error > 0.2 * axes.off && error < axes.off) {
        put_off(file, &axes, error, DASHED);
        put_off(file, &axes, -error, DASHED);
    }
    for (uint32_t i = 0; i < model->n_measurements; i++) {
        const struct cost_measurement *m = &model->measurements[i];
        put_point(file, &axes, model, m, up(&axes, model_seconds(model, m)));
        put_point(file, &axes, model, m, up_off(&axes, off_of(model, m)));
    }
    put_text(file, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 18, "middle", "measured time");
    put_title(file, (TOP + MIDDLE) / 2.0, "time by the model");
    put_title(file, (LOWER + BOTTOM) / 2.0, "model off by");
    fputs("</svg>\n", file);
}
