/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/json_write.h"
#include "util/real_text.h"

#include <string.h>

/* A real is no integer in JSON, and its exponent has neither '+' nor leading zeros. */
static bool write_real(double value, FILE *stream)
{
    char text[REAL_TEXT + 2];
    const size_t length = real_text(value, text);
    char *exponent = strchr(text, 'e');
    if (exponent) {
        char *to = exponent + 1, *from = to;
        if (*from == '-')
            to++;
        from++; /* the sign */
        while (*from == '0')
            from++;
        memmove(to, from, strlen(from) + 1);
    } else if (!strchr(text, '.')) {
        memcpy(text + length, ".0", sizeof ".0");
    }
    return fputs(text, stream) >= 0;
}

static bool write_array(const json_t *array, FILE *stream)
{
    const size_t n = json_array_size(array);
    fputc('[', stream);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            fputs(", ", stream);
        if (!json_write(json_array_get(array, i), stream))
            return false;
    }
    return fputc(']', stream) != EOF;
}

static bool write_key(const char *key, FILE *stream)
{
    json_t *string = json_string(key);
    const bool good = string && json_dumpf(string, stream, JSON_ENCODE_ANY) == 0;
    json_decref(string);
    return good && fputs(": ", stream) >= 0;
}

static bool write_object(const json_t *object, FILE *stream)
{
    void *at = json_object_iter((json_t *)object);
    fputc('{', stream);
    for (bool first = true; at; at = json_object_iter_next((json_t *)object, at), first = false) {
        if (!first)
            fputs(", ", stream);
        if (!write_key(json_object_iter_key(at), stream) || !json_write(json_object_iter_value(at), stream))
            return false;
    }
    return fputc('}', stream) != EOF;
}

bool json_write(const json_t *value, FILE *stream)
{
    if (json_is_real(value))
        return write_real(json_real_value(value), stream);
    if (json_is_array(value))
        return write_array(value, stream);
    if (json_is_object(value))
        return write_object(value, stream);
    return json_dumpf(value, stream, JSON_ENCODE_ANY) == 0;
}
