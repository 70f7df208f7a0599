/* SPDX-License-Identifier: Apache-2.0
 *
 * What the user gives for the inputs of a flow: files, typed matrices, data that live on servers.
 */
#ifndef FLOW_INPUTS_H
#define FLOW_INPUTS_H

#include "core/problem/problem.h"

struct input;

/* All zero: none. */
struct inputs {
    struct input *inputs;
};

/* An array as a problem has it. */
struct flow_array {
    enum base_type type;
    bool row_major;
    enum storage storage;
    struct shape shape;
};

/* Takes "NAME=@FILE", "NAME=[1,2;3,4]", "NAME=4.5" or "NAME=data:ID". NAME may be an element, "A[1,2]";
 * without subscripts it stands for all elements that are not given themselves. In FILE and ID, {1} and {2}
 * become the element's first and second subscript. */
enum esp_status inputs_add(struct inputs *inputs, const char *word, struct esp_error *error);
void inputs_clear(struct inputs *inputs);

/* Whether something is given for the element, "A[1,2]". */
bool inputs_have(const struct inputs *inputs, const char *element);
/* The identity that is given for the element, for free(), or NULL: it is none. */
char *inputs_datum(const struct inputs *inputs, const char *element);
/* Reads the element into memory of array->shape.bytes. ESP_INVALID: other extents, or a number that the type
 * does not hold; what matrix_load() says. */
enum esp_status inputs_read(const struct inputs *inputs, const char *element, const struct flow_array *array,
                            void *memory, struct esp_error *error);

/* Mixes all that is given into a digest. */
uint64_t inputs_mix(const struct inputs *inputs, uint64_t digest,
                    void (*mix)(uint64_t *digest, const void *bytes, size_t n));
/* The text with the element's subscripts in place of {1}, {2}, ...; for free(), NULL without memory. */
char *inputs_spell(const char *text, const char *element);

#endif
