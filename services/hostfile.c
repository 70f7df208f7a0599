/* SPDX-License-Identifier: Apache-2.0 */
#include "services/hostfile.h"

#include "util/escape.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LINE 1024
#define BLANKS    " \t\r\n"

struct hostfile {
    const char *path;
    unsigned line;
    uint64_t hosts, slots;
    bool open; /* a host without a number of slots: mpirun uses its processors */
};

static enum esp_status read_slots(const struct hostfile *file, const char *word, uint64_t *slots,
                                  struct esp_error *error)
{
    char *end;
    const char *number = strchr(word, '=') + 1;
    errno = 0;
    *slots = strtoull(number, &end, 10);
    if (!isdigit((unsigned char)*number) || *end || errno != 0 || *slots == 0 || *slots > INT32_MAX)
        return error_set(error, ESP_CONFIG, "%s:%u: expected a number of slots of at least 1, found \"%s\"",
                         file->path, file->line, word);
    return ESP_OK;
}

/* Whether the word is a host by its characters, as mpirun reads them ("NAME", "USER@NAME", addresses,
 * "+n0"). mpirun ends without a message at an invalid name, and a name that begins with "-" would be an
 * option of ssh. */
static bool names_host(const char *word)
{
    const char *name = strrchr(word, '@') ? strrchr(word, '@') + 1 : word;
    bool good = *word != '-' && *word != '@' && *name != '-';
    for (const char *c = word; *c; c++)
        good &= isascii((unsigned char)*c) && (isalnum((unsigned char)*c) || strchr("-._:@[]+^\"", *c));
    return good && name[strcspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")];
}

static enum esp_status check_host(const struct hostfile *file, const char *word, struct esp_error *error)
{
    char shown[200];
    if (names_host(word))
        return ESP_OK;
    shown[escape_append(shown, sizeof shown, 0, word)] = 0;
    return error_set(error, ESP_CONFIG,
                     "%s:%u: expected the name of a host, as in \"node1 slots=4\", found \"%s\"", file->path,
                     file->line, shown);
}

static enum esp_status read_line(struct hostfile *file, char *line, struct esp_error *error)
{
    char *rest = NULL;
    bool said = false;
    line[strcspn(line, "#")] = 0;
    const char *host = strtok_r(line, BLANKS, &rest);
    if (!host)
        return ESP_OK;
    enum esp_status status = check_host(file, host, error);
    file->hosts++;
    for (char *word; status == ESP_OK && (word = strtok_r(NULL, BLANKS, &rest));) {
        uint64_t slots = 0;
        bool has = strncmp(word, "slots=", 6) == 0;
        if (has || strncmp(word, "max_slots=", 10) == 0 || strncmp(word, "max-slots=", 10) == 0)
            status = read_slots(file, word, &slots, error);
        said |= has;
        file->slots += has ? slots : 0;
    }
    file->open |= !said;
    return status;
}

static enum esp_status read_lines(struct hostfile *file, FILE *from, struct esp_error *error)
{
    char line[MOST_LINE];
    enum esp_status status = ESP_OK;
    while (status == ESP_OK && fgets(line, sizeof line, from)) {
        file->line++;
        if (!strchr(line, '\n') && !feof(from))
            return error_set(error, ESP_CONFIG, "%s:%u: expected a line of less than %d characters",
                             file->path, file->line, MOST_LINE);
        status = read_line(file, line, error);
    }
    if (status == ESP_OK && ferror(from))
        status = error_set(error, ESP_CONFIG, "cannot read the hostfile %s: %s", file->path, strerror(errno));
    return status;
}

enum esp_status hostfile_check(const char *path, int64_t ranks, struct esp_error *error)
{
    struct hostfile file = {.path = path};
    FILE *from = fopen(path, "re");
    if (!from)
        return error_set(error, ESP_CONFIG, "cannot read the hostfile %s: %s", path, strerror(errno));
    enum esp_status status = read_lines(&file, from, error);
    fclose(from);
    if (status != ESP_OK)
        return status;
    if (file.hosts == 0)
        return error_set(error, ESP_CONFIG,
                         "%s: expected hosts, one a line, such as \"node1 slots=4\", found none", path);
    if (!file.open && file.slots < (uint64_t)ranks)
        return error_set(error, ESP_CONFIG,
                         "%s: expected slots for ranks = %" PRId64 ", found %" PRIu64 " on %" PRIu64 " hosts",
                         path, ranks, file.slots, file.hosts);
    return ESP_OK;
}
