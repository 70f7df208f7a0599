/* SPDX-License-Identifier: Apache-2.0
 *
 * The few elements of SVG that our pictures are made of, written into a text. Pictures stand alone (no
 * scripts, no fonts of their own, no links) and have a title and a tooltip per thing.
 */
#ifndef CORE_SVG_H
#define CORE_SVG_H

#include "util/text.h"
#include <stdint.h>

/* Opens a picture of width x height pixels on white. Close it with svg_close(). */
void svg_open(struct text *text, double width, double height, const char *title);
void svg_close(struct text *text);

/* Words with the characters that XML reserves written as entities; control characters are left out. */
void svg_words(struct text *text, const char *words);

struct svg_box {
    double x, y, width, height;
};

/* A filled box; tooltip NULL: none. `border` is its colour, NULL: none. */
void svg_box(struct text *text, struct svg_box box, const char *fill, const char *border,
             const char *tooltip);
/* Words around (x, y), centred ("middle"), or to one side of it ("start", "end"). */
void svg_label(struct text *text, double x, double y, double size, const char *anchor, const char *words);

/* A colour for thing number i, different from its neighbours' (hues by the golden angle); light enough for
 * black words. `colour` holds at least 32 bytes. */
void svg_hue(int64_t i, char *colour);
/* From green (0) over yellow to red (1). */
void svg_heat(double value, char *colour);
enum { SVG_COLOUR = 32 };

#endif
