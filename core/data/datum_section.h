/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of a datum as an argument: "node7:0123...[1:1000,1:500]". Ranges count from 1 and include both
 * ends, as in MATLAB, Octave and Scilab: FIRST:LAST, FIRST:SKIP:LAST, one index, `:` for all, `end` or `$`
 * for the last. */
#ifndef CORE_DATUM_SECTION_H
#define CORE_DATUM_SECTION_H

#include "core/data/datum.h"
#include "core/problem/section.h"

/* A plain value. */
struct datum_section {
    uint32_t n_dims; /* 0: the whole datum */
    struct {
        int64_t first, last; /* DATUM_SECTION_END: the last index of the dimension */
        int64_t skip;
        bool all; /* `:`, which may be empty */
    } dims[CAP_DIMS];
};
#define DATUM_SECTION_END INT64_MAX

/* Bytes of the longest reference: an identity and ranges of 64-bit numbers. */
#define DATUM_REFERENCE_TEXT (DATUM_TEXT + CAP_DIMS * 64)

/* Parses an identity with optional ranges. ESP_INVALID says what was expected and what was found. */
enum esp_status datum_reference_parse(const char *text, struct datum_id *id, struct datum_section *section,
                                      struct esp_error *error);

/* Computes what the section takes of a datum of shape `whole`: `part` is its shape (the order of whole,
 * all its dimensions), `cut` the positions of the elements (may be NULL; for a datum in pieces, as if it
 * were in one piece). ESP_INVALID: other dimensions, ranges outside the datum, and storage that is not
 * full. */
enum esp_status datum_section_take(const struct datum_section *section, const struct datum_shape *whole,
                                   struct datum_shape *part, struct section *cut, struct esp_error *error);

/* Removes dimensions of extent 1 until `wanted` are left, if possible: a row of a matrix becomes a vector. */
void datum_shape_squeeze(uint32_t *n_dims, int64_t *dims, uint32_t wanted);

#endif
