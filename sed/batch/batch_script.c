/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/batch_script.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static size_t put(char *to, size_t size, size_t used, const char *text, size_t n)
{
    if (used < size) {
        const size_t room = size - used - 1;
        const size_t taken = n < room ? n : room;
        memcpy(to + used, text, taken);
        to[used + taken] = 0;
    }
    return used + n;
}

size_t batch_script_quote(char *to, size_t size, size_t used, const char *word)
{
    used = put(to, size, used, "'", 1);
    for (const char *end; (end = strchr(word, '\'')); word = end + 1) {
        used = put(to, size, used, word, (size_t)(end - word));
        used = put(to, size, used, "'\\''", 4);
    }
    used = put(to, size, used, word, strlen(word));
    return put(to, size, used, "'", 1);
}

/* The folder may be missing on the node: the batch system then has the exit code of the script and its words
 * on standard error, as far as it can store them. */
static const char before_folder[] = "#!/bin/sh\n"
                                    "# The batch job %s of Espalier. The server wrote this script.\n"
                                    "cd ";
static const char before_id[] = " || exit 72\n"
                                "id=";
static const char before_words[] =
    "\n"
    "(set -C && printf '%s\\n' \"$id\" >owner) 2>/dev/null || [ \"$(cat owner)\" = \"$id\" ] || exit 0\n"
    "rm -f exit\n"
    "printf '%s %s\\n' \"$(date +%s)\" \"$(uname -n)\" >started.new && mv started.new started || exit 73\n";
static const char behind_words[] = " </dev/null\n"
                                   "code=$?\n"
                                   "printf '%s\\n' \"$code\" >exit.new && mv exit.new exit\n"
                                   "exit \"$code\"\n";

static size_t put_text(char *to, size_t size, size_t used, const char *text)
{
    return put(to, size, used, text, strlen(text));
}

static size_t put_script(char *to, size_t size, const char *name, const char *folder, const char *id,
                         const char *const *words)
{
    const char *hole = strstr(before_folder, "%s");
    size_t used = put(to, size, 0, before_folder, (size_t)(hole - before_folder));
    used = put_text(to, size, used, name);
    used = put_text(to, size, used, hole + 2);
    used = batch_script_quote(to, size, used, folder);
    used = put_text(to, size, used, before_id);
    used = put_text(to, size, used, id);
    used = put_text(to, size, used, before_words);
    for (size_t i = 0; words[i]; i++) {
        if (i > 0)
            used = put_text(to, size, used, " ");
        used = batch_script_quote(to, size, used, words[i]);
    }
    return put_text(to, size, used, behind_words);
}

enum esp_status batch_script_make(const char *name, const char *folder, const char *id,
                                  const char *const *words, char **script, struct esp_error *error)
{
    if (!words[0])
        return error_set(error, ESP_INVALID, "a batch job needs a command, found none");
    const size_t length = put_script(NULL, 0, name, folder, id, words);
    if (length > BATCH_SCRIPT_BYTES)
        return error_set(
            error, ESP_LIMIT,
            "the command of a batch job is too long: expected a script of at most %d bytes, found %zu",
            BATCH_SCRIPT_BYTES, length);
    *script = malloc(length + 1);
    if (!*script)
        return error_no_memory(error, "the script of a batch job");
    put_script(*script, length + 1, name, folder, id, words);
    return ESP_OK;
}

int32_t batch_script_read_exit(const char *text, size_t length)
{
    int32_t code = 0;
    if (length < 2 || length > 4 || text[length - 1] != '\n')
        return -1;
    for (size_t i = 0; i + 1 < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        code = 10 * code + (text[i] - '0');
    }
    return code <= 255 ? code : -1;
}
