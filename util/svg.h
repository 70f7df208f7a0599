/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the few SVG elements that our pictures consist of into a text. Pictures are self-contained (no
 * scripts, fonts or links) and have a title and tooltips. */
#ifndef CORE_SVG_H
#define CORE_SVG_H

#include "util/text.h"
#include <stdint.h>

/* Opens a picture of width x height pixels on white. Close it with svg_close(). */
void svg_open(struct text *text, double width, double height, const char *title);
void svg_close(struct text *text);

/* Writes words with XML's special characters as entities; control characters are dropped. */
void svg_words(struct text *text, const char *words);

struct svg_box {
    double x, y, width, height;
};

/* Draws a filled box; tooltip NULL: none. `border` is its colour, NULL: none. */
void svg_box(struct text *text, struct svg_box box, const char *fill, const char *border,
             const char *tooltip);
/* Writes words at (x, y), centred ("middle"), or to one side ("start", "end"). */
void svg_label(struct text *text, double x, double y, double size, const char *anchor, const char *words);

/* Returns a colour for number i, different from its neighbours' (hues by the golden angle), and light
 * enough for black text. `colour` holds at least 32 bytes. */
void svg_hue(int64_t i, char *colour);
/* Returns a colour from green (0) over yellow to red (1). */
void svg_heat(double value, char *colour);
enum { SVG_COLOUR = 32 };

#endif
