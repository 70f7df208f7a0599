/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/sweep.h"
#include "core/values/signature.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

static enum esp_status add(struct sweep_axis *axis, const char *text, size_t length, struct esp_error *error)
{
    if (axis->n >= SWEEP_MOST_POINTS)
        return error_set(error, ESP_LIMIT, "%s takes more than %d values", axis->name, SWEEP_MOST_POINTS);
    /* Grown at powers of two. */
    if ((axis->n & (axis->n - 1)) == 0) {
        char **grown = realloc(axis->values, (axis->n ? 2 * axis->n : 1) * sizeof *grown);
        if (!grown)
            return error_no_memory(error, "the values of a sweep");
        axis->values = grown;
    }
    if (!(axis->values[axis->n] = strndup(text, length)))
        return error_no_memory(error, "the values of a sweep");
    axis->n++;
    return ESP_OK;
}

static bool read_number(const char *from, const char *to, double *number)
{
    char text[64], *end;
    size_t length = (size_t)(to - from);
    if (length == 0 || length >= sizeof text)
        return false;
    memcpy(text, from, length);
    text[length] = 0;
    *number = strtod(text, &end);
    return *end == 0 && isfinite(*number);
}

static enum esp_status add_range(struct sweep_axis *axis, const char *from, const char *dots, const char *to,
                                 struct esp_error *error)
{
    const char *colon = memchr(dots, ':', (size_t)(to - dots));
    double first, last, step = 1;
    if (!read_number(from, dots, &first) || !read_number(dots + 2, colon ? colon : to, &last) ||
        (colon && !read_number(colon + 1, to, &step)))
        return error_set(error, ESP_INVALID,
                         "%s: expected a range such as 100..1000:100 (first..last:step), found '%.*s'",
                         axis->name, (int)(to - from), from);
    double count = floor((last - first) / step + 1e-9) + 1;
    if (step == 0 || !(count >= 1))
        return error_set(error, ESP_INVALID, "%s: expected a step that leads from %g to %g, found %g",
                         axis->name, first, last, step);
    if (count > SWEEP_MOST_POINTS)
        return error_set(error, ESP_LIMIT, "%s: %g values; at most %d", axis->name, count, SWEEP_MOST_POINTS);
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < (size_t)count && status == ESP_OK; i++) {
        char text[40];
        double value = first + (double)i * step;
        /* 15 digits: 0.1 + 2 * 0.1 is 0.3 for whoever wrote the range. */
        int length = snprintf(text, sizeof text, "%.15g", fabs(value) < 1e-12 * fabs(step) ? 0 : value);
        status = add(axis, text, (size_t)length, error);
    }
    return status;
}

/* "1..4,8": pieces between commas, each a value or a range. */
static enum esp_status add_list(struct sweep_axis *axis, const char *text, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (const char *from = text; status == ESP_OK;) {
        const char *to = from + strcspn(from, ","), *dots = strstr(from, "..");
        if (to == from)
            return error_set(error, ESP_INVALID, "%s: expected a value between commas, found none in '%.60s'",
                             axis->name, text);
        status = dots && dots < to ? add_range(axis, from, dots, to, error)
                                   : add(axis, from, (size_t)(to - from), error);
        if (!*to)
            break;
        from = to + 1;
    }
    return status;
}

static bool is_list(const struct esp_problem_argument *formal)
{
    return formal->n_dims == 0 && formal->type != ESP_TYPE_STRING && formal->type != ESP_TYPE_FILE &&
           formal->type != ESP_TYPE_CALLBACK;
}

/* ---- axes ---- */

static struct sweep_axis *find_axis(struct sweep *sweep, const char *name, size_t length)
{
    for (size_t i = 0; i < sweep->n_axes; i++)
        if (strncmp(sweep->axes[i].name, name, length) == 0 && !sweep->axes[i].name[length])
            return &sweep->axes[i];
    return NULL;
}

static enum esp_status take_word(struct sweep *sweep, const struct esp_problem *problem, const char *word,
                                 struct esp_error *error)
{
    const char *equals = strchr(word, '=');
    if (!equals || equals == word || !equals[1])
        return error_set(error, ESP_INVALID, "expected NAME=VALUES, found '%.60s'", word);
    size_t length = (size_t)(equals - word);
    struct sweep_axis *axis = find_axis(sweep, word, length);
    if (!axis) {
        char *name = strndup(word, length);
        if (!name)
            return error_no_memory(error, "the values of a sweep");
        int index = signature_find(problem, name);
        if (index < 0 || sweep->n_axes == ESP_MAX_ARGUMENTS) {
            error_set(error, ESP_INVALID, "%s has no argument '%.60s'", problem->name, name);
            free(name);
            return ESP_INVALID;
        }
        axis = &sweep->axes[sweep->n_axes++];
        const struct esp_problem_argument *formal = &problem->arguments[index];
        *axis = (struct sweep_axis){
            .name = name,
            .fills = is_list(formal)                                                        ? FILL_NOTHING
                     : formal->type == ESP_TYPE_STRING || formal->type == ESP_TYPE_CALLBACK ? FILL_KNOWN
                                                                                            : FILL_ALL};
    }
    if (is_list(&problem->arguments[signature_find(problem, axis->name)]))
        return add_list(axis, equals + 1, error);
    return add(axis, equals + 1, strlen(equals + 1), error);
}

void sweep_clear(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->n_axes; i++) {
        for (size_t k = 0; k < sweep->axes[i].n; k++)
            free(sweep->axes[i].values[k]);
        free(sweep->axes[i].values);
        free(sweep->axes[i].name);
    }
    *sweep = (struct sweep){0};
}

size_t sweep_index(const struct sweep *sweep, size_t point, size_t axis)
{
    for (size_t i = sweep->n_axes; i-- > axis + 1;)
        point /= sweep->axes[i].n;
    return point % sweep->axes[axis].n;
}

/* ---- names in braces ---- */

/* What stands for the pattern at that point. `slash` is written for '/' in values. */
static enum esp_status fill(const struct sweep *sweep, size_t point, const char *pattern, char slash,
                            bool only_known, char **text, struct esp_error *error)
{
    size_t size = 0;
    FILE *out = open_memstream(text, &size);
    if (!out)
        return error_no_memory(error, "a value");
    enum esp_status status = ESP_OK;
    while (*pattern && status == ESP_OK) {
        const char *close = *pattern == '{' ? strchr(pattern, '}') : NULL;
        size_t length = close ? (size_t)(close - pattern - 1) : 0;
        const struct sweep_axis *axis = close ? find_axis((struct sweep *)sweep, pattern + 1, length) : NULL;
        if (!close || (!axis && only_known)) {
            fputc(*pattern++, out);
            continue;
        }
        if (axis)
            for (const char *c = axis->values[sweep_index(sweep, point, (size_t)(axis - sweep->axes))]; *c;
                 c++)
                fputc(*c == '/' ? slash : *c, out);
        else
            status = error_set(error, ESP_INVALID, "{%.*s} is no argument of this sweep", (int)length,
                               pattern + 1);
        pattern = close + 1;
    }
    if (fclose(out) != 0 && status == ESP_OK)
        status = error_no_memory(error, "a value");
    if (status != ESP_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

enum esp_status sweep_fill(const struct sweep *sweep, size_t point, const char *pattern, char **text,
                           struct esp_error *error)
{
    enum esp_status status = fill(sweep, point, pattern, '_', false, text, error);
    return status == ESP_INVALID ? error_prefix(error, "-o") : status;
}

enum esp_status sweep_value(const struct sweep *sweep, size_t point, size_t axis, char **text,
                            struct esp_error *error)
{
    const struct sweep_axis *of = &sweep->axes[axis];
    const char *value = of->values[sweep_index(sweep, point, axis)];
    if (of->fills == FILL_NOTHING)
        return (*text = strdup(value)) ? ESP_OK : error_no_memory(error, "a value");
    enum esp_status status = fill(sweep, point, value, '/', of->fills == FILL_KNOWN, text, error);
    return status == ESP_INVALID ? error_prefix(error, "%s", of->name) : status;
}

/* Names in braces that are none fail once, and not in each row. */
static enum esp_status check_names(const struct sweep *sweep, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < sweep->n_axes; i++)
        for (size_t k = 0; k < sweep->axes[i].n && sweep->axes[i].fills == FILL_ALL && status == ESP_OK;
             k++) {
            char *text;
            status = fill(sweep, 0, sweep->axes[i].values[k], '/', false, &text, error);
            if (status == ESP_OK)
                free(text);
            else
                error_prefix(error, "%s", sweep->axes[i].name);
        }
    return status;
}

enum esp_status sweep_read(struct sweep *sweep, const struct esp_problem *problem, char *const *words,
                           size_t n, struct esp_error *error)
{
    *sweep = (struct sweep){.n_points = 1};
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < n && status == ESP_OK; i++)
        status = take_word(sweep, problem, words[i], error);
    for (size_t i = 0; i < sweep->n_axes && status == ESP_OK; i++) {
        sweep->n_points *= sweep->axes[i].n;
        if (sweep->n_points > SWEEP_MOST_POINTS)
            status =
                error_set(error, ESP_LIMIT, "the sweep has more than %d combinations", SWEEP_MOST_POINTS);
    }
    if (status == ESP_OK)
        status = check_names(sweep, error);
    if (status != ESP_OK)
        sweep_clear(sweep);
    return status;
}

enum esp_status sweep_check_pattern(const struct sweep *sweep, const char *pattern, struct esp_error *error)
{
    char *text;
    enum esp_status status = sweep_fill(sweep, 0, pattern, &text, error);
    free(text);
    for (size_t i = 0; i < sweep->n_axes && status == ESP_OK; i++) {
        char braces[80];
        snprintf(braces, sizeof braces, "{%.60s}", sweep->axes[i].name);
        if (sweep->axes[i].n > 1 && !strstr(pattern, braces))
            status =
                error_set(error, ESP_INVALID, "-o %s: expected {%s} in the name, because %s takes %zu values",
                          pattern, sweep->axes[i].name, sweep->axes[i].name, sweep->axes[i].n);
    }
    return status;
}
