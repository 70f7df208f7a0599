/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of which only a section came: the routine sees them whole, each with guards around it.
 */
#include "sed/crd/crd.h"

/* Where the elements lie that came and go back, or NULL. */
static void *elements_of(struct ring *ring, const struct areas *areas, const struct ring_section *section)
{
    uint64_t bytes = section_count(&section->section) * section->section.element;
    const struct ring_operand *from = &section->elements;
    if (from->place == OPERAND_AREA && from->value < areas->n && areas->items[from->value].bytes >= bytes)
        return areas->items[from->value].data;
    return from->place == OPERAND_ARENA ? ring_value(ring, from, bytes) : NULL;
}

enum esp_status sections_begin(struct ring *ring, struct areas *areas, void **memory, struct esp_error *error)
{
    for (uint32_t i = 0; i < ring->job.n_sections && i < PROBLEM_MAX_ARGUMENTS; i++) {
        const struct ring_section *section = &ring->job.sections[i];
        const void *elements = section_is_sane(&section->section) ? elements_of(ring, areas, section) : NULL;
        if (!elements)
            return error_set(error, ESP_INTERNAL, "the worker was handed a malformed call");
        enum esp_status status = areas_add(
            areas, section->argument, section_whole(&section->section) * section->section.element, error);
        if (status != ESP_OK)
            return status;
        memory[i] = areas->items[areas->n - 1].data;
        if (section->goes_in)
            section_scatter(&section->section, elements, memory[i]);
    }
    return ESP_OK;
}

void sections_end(struct ring *ring, const struct areas *areas, void *const *memory)
{
    for (uint32_t i = 0; i < ring->job.n_sections && i < PROBLEM_MAX_ARGUMENTS; i++) {
        const struct ring_section *section = &ring->job.sections[i];
        void *elements = section->comes_back && section_is_sane(&section->section)
                             ? elements_of(ring, areas, section)
                             : NULL;
        if (elements)
            section_gather(&section->section, memory[i], elements);
    }
}
