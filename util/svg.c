/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "util/svg.h"

#include <math.h>
#include <stdio.h>

void svg_words(struct text *text, const char *words)
{
    for (; *words; words++)
        switch (*words) {
        case '<':
            text_put(text, "&lt;");
            break;
        case '>':
            text_put(text, "&gt;");
            break;
        case '&':
            text_put(text, "&amp;");
            break;
        case '"':
            text_put(text, "&quot;");
            break;
        default:
            if ((unsigned char)*words >= 0x20)
                text_put_bytes(text, words, 1);
        }
}

void svg_open(struct text *text, double width, double height, const char *title)
{
    text_printf(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.6g\" height=\"%.6g\" viewBox=\"0 0 %.6g %.6g\" "
        "font-family=\"sans-serif\" role=\"img\">\n<title>",
        width, height, width, height);
    svg_words(text, title);
    text_put(text, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
}

void svg_close(struct text *text)
{
    text_put(text, "</svg>\n");
}

void svg_box(struct text *text, struct svg_box box, const char *fill, const char *border, const char *tooltip)
{
    text_printf(text, "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" fill=\"%s\"", box.x, box.y,
                box.width, box.height, fill);
    if (border)
        text_printf(text, " stroke=\"%s\"", border);
    if (!tooltip) {
        text_put(text, "/>\n");
        return;
    }
    text_put(text, "><title>");
    svg_words(text, tooltip);
    text_put(text, "</title></rect>\n");
}

void svg_label(struct text *text, double x, double y, double size, const char *anchor, const char *words)
{
    text_printf(text, "<text x=\"%.6g\" y=\"%.6g\" font-size=\"%.3g\" text-anchor=\"%s\">", x,
                y + 0.35 * size, size, anchor);
    svg_words(text, words);
    text_put(text, "</text>\n");
}

void svg_hue(int64_t i, char *colour)
{
    const double golden_angle = 137.50776405003785;
    snprintf(colour, SVG_COLOUR, "hsl(%.0f,65%%,%d%%)", fmod((double)i * golden_angle, 360), i % 2 ? 72 : 80);
}

void svg_heat(double value, char *colour)
{
    double bounded = value > 0 ? (value < 1 ? value : 1) : 0;
    snprintf(colour, SVG_COLOUR, "hsl(%.0f,70%%,70%%)", 120 * (1 - bounded));
}
