/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/batch_record.h"

#include "util/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "espalier-batch-job 1"
#define FOOTER "end"

/* Line ends and backslashes of texts are escaped, so that each value is one line. */
static void put_escaped(struct text *out, const char *value)
{
    for (; *value; value++)
        if (*value == '\n')
            text_put(out, "\\n");
        else if (*value == '\\')
            text_put(out, "\\\\");
        else
            text_put_bytes(out, value, 1);
}

static void get_escaped(const char *value, char *to, size_t size)
{
    size_t n = 0;
    for (; *value && n + 1 < size; value++) {
        if (value[0] == '\\' && value[1])
            to[n++] = *++value == 'n' ? '\n' : *value;
        else
            to[n++] = *value;
    }
    to[n] = 0;
}

size_t batch_record_write(const struct batch_record *record, char text[BATCH_RECORD_BYTES])
{
    struct text out;
    text_open(&out, text, BATCH_RECORD_BYTES);
    text_printf(&out, HEADER "\nname %s\nstate %s\n", record->name, batch_state_name(record->state));
    if (*record->id)
        text_printf(&out, "id %s\n", record->id);
    text_printf(&out, "cancel %d\ntime %" PRId64 "\ncores %" PRIu32 "\nmemory %" PRIu64 "\n",
                record->cancel_wanted, record->time_s, record->cores, record->memory_mb);
    text_printf(&out, "created %" PRId64 "\nstarted %" PRId64 "\nexit %" PRId32 "\nstatus %d\n",
                record->created_s, record->started_s, record->exit_code, (int)record->error.status);
    text_put(&out, "text ");
    put_escaped(&out, record->error.text);
    text_put(&out, "\n" FOOTER "\n");
    return out.length;
}

/* ---- reading ---- */

static bool get_name(const char *value, char *to, size_t size)
{
    return (size_t)snprintf(to, size, "%s", value) < size && *to;
}

static bool get_number(const char *value, int64_t least, int64_t most, int64_t *number)
{
    char *end;
    const long long got = strtoll(value, &end, 10);
    if (end == value || *end || got < least || got > most)
        return false;
    *number = got;
    return true;
}

/* Takes one line in. False: the value is not what the key needs. */
static bool take(struct batch_record *record, const char *key, const char *value)
{
    int64_t number = 0;
    bool good = true;
    if (strcmp(key, "name") == 0)
        return get_name(value, record->name, sizeof record->name);
    if (strcmp(key, "id") == 0)
        return get_name(value, record->id, sizeof record->id);
    if (strcmp(key, "state") == 0)
        return batch_state_find(value, &record->state);
    if (strcmp(key, "text") == 0)
        get_escaped(value, record->error.text, sizeof record->error.text);
    else if (strcmp(key, "cancel") == 0 && (good = get_number(value, 0, 1, &number)))
        record->cancel_wanted = number;
    else if (strcmp(key, "time") == 0 && (good = get_number(value, 0, INT32_MAX, &number)))
        record->time_s = number;
    else if (strcmp(key, "cores") == 0 && (good = get_number(value, 0, INT32_MAX, &number)))
        record->cores = (uint32_t)number;
    else if (strcmp(key, "memory") == 0 && (good = get_number(value, 0, INT64_MAX, &number)))
        record->memory_mb = (uint64_t)number;
    else if (strcmp(key, "created") == 0 && (good = get_number(value, 0, INT64_MAX / 4, &number)))
        record->created_s = number;
    else if (strcmp(key, "started") == 0 && (good = get_number(value, 0, INT64_MAX / 4, &number)))
        record->started_s = number;
    else if (strcmp(key, "exit") == 0 && (good = get_number(value, -1, 255, &number)))
        record->exit_code = (int32_t)number;
    else if (strcmp(key, "status") == 0 && (good = get_number(value, 0, ESP_INACCURATE, &number)))
        record->error.status = (enum esp_status)number;
    return good;
}

static enum esp_status damaged(unsigned line, const char *expected, const char *found,
                               struct esp_error *error)
{
    return error_set(error, ESP_SYNTAX, "line %u: expected %s, found \"%.60s\"", line, expected, found);
}

enum esp_status batch_record_read(const char *text, size_t length, struct batch_record *record,
                                  struct esp_error *error)
{
    char copy[BATCH_RECORD_BYTES];
    unsigned number = 0;
    bool whole = false;
    *record = (struct batch_record){.exit_code = -1};
    if (length >= sizeof copy || memchr(text, 0, length))
        return error_set(error, ESP_SYNTAX, "expected a text of less than %d bytes, found %zu bytes",
                         BATCH_RECORD_BYTES, length);
    memcpy(copy, text, length);
    copy[length] = 0;
    for (char *line = copy, *next; line && *line && !whole; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        char *value = strchr(line, ' ');
        if (++number == 1 && strcmp(line, HEADER) != 0)
            return damaged(number, "\"" HEADER "\"", line, error);
        whole = strcmp(line, FOOTER) == 0;
        if (number == 1 || whole)
            continue;
        if (!value)
            return damaged(number, "a key and a value", line, error);
        *value++ = 0;
        if (!take(record, line, value))
            return damaged(number, line, value, error);
    }
    if (!whole || !*record->name)
        return error_set(error, ESP_SYNTAX, "expected a record with a name that ends in \"" FOOTER "\"");
    return ESP_OK;
}
