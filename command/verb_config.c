/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier config check: whether configuration files would be accepted.
 */
#include "config.h"

#include "command/verbs.h"
#include "services/settings.h"

#include <stdio.h>
#include <string.h>

static enum esp_status kind_asked(const char *word, enum settings_kind *kind, struct esp_error *error)
{
    static const char program[] = "espalier-";
    char known[128] = "";
    if (strncmp(word, program, strlen(program)) == 0)
        word += strlen(program);
    for (int k = 0; k < SETTINGS_N_KINDS; k++) {
        const char *name = settings_kind_name((enum settings_kind)k);
        if (strcmp(word, name) == 0) {
            *kind = (enum settings_kind)k;
            return ESP_OK;
        }
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", k ? ", " : "", name);
    }
    return error_set(error, ESP_INVALID, "--as: expected one of %s, found '%s'", known, word);
}

/* How it is known which program a file is for. */
struct reading {
    enum settings_kind kind;
    char by[SETTINGS_BY]; /* "": the user says so */
};

static enum esp_status find_kind(const struct command_line *command, const char *path,
                                 struct reading *reading, struct esp_error *error)
{
    const char *asked = command_option_value(command, "as");
    if (asked)
        return kind_asked(asked, &reading->kind, error);
    return settings_guess_kind(path, &reading->kind, reading->by, error);
}

/* What is wrong may only be that it was taken for another program's. */
static void tell_reading(const struct reading *reading, struct esp_error *error)
{
    size_t length = strlen(error->text);
    if (*reading->by)
        snprintf(error->text + length, sizeof error->text - length,
                 " (read as %s file, %s; --as tells another program)", settings_kind_title(reading->kind),
                 reading->by);
}

static enum esp_status check(const struct command_line *command, const char *path, struct reading *reading,
                             struct esp_error *error)
{
    enum esp_status status = find_kind(command, path, reading, error);
    if (status != ESP_OK)
        return status;
    status = settings_check(reading->kind, path, error);
    if (status != ESP_OK)
        tell_reading(reading, error);
    return status;
}

static json_t *good_file_json(const char *path, const struct reading *reading, const char *remark)
{
    json_t *good = json_pack("{s:o, s:b, s:s}", "file", command_json_text(path), "good", 1, "kind",
                             settings_kind_name(reading->kind));
    if (good && *remark)
        json_object_set_new(good, "remark", command_json_text(remark));
    return good;
}

static json_t *bad_file_json(const char *path, const struct esp_error *error)
{
    json_t *why = status_json(error->status);
    json_object_set_new(why, "text", command_json_text(error->text));
    return json_pack("{s:o, s:b, s:o}", "file", command_json_text(path), "good", 0, "error", why);
}

enum exit_code verb_config_check(const struct command_line *command)
{
    enum exit_code worst = EXIT_DONE;
    json_t *list = command->json ? json_array() : NULL;
    for (int i = 0; i < command->n_operands; i++) {
        const char *path = command->operands[i];
        struct reading reading = {.kind = SETTINGS_CLIENT};
        struct esp_error error = {0};
        char remark[SETTINGS_WHY] = "";
        enum esp_status status = check(command, path, &reading, &error);
        if (status == ESP_OK)
            settings_remark(reading.kind, path, remark);
        /* The answer to "is this file good" is what was asked for: one code for every way to be bad. */
        enum exit_code code = status == ESP_OK ? EXIT_DONE : status == ESP_INVALID ? EXIT_USAGE : EXIT_INPUT;
        worst = code > worst ? code : worst;
        if (list)
            json_array_append_new(list, status == ESP_OK ? good_file_json(path, &reading, remark)
                                                         : bad_file_json(path, &error));
        else if (status == ESP_OK)
            printf("%s: a good %s file%s%s%s%s%s\n", path, settings_kind_title(reading.kind),
                   *reading.by ? " (" : "", reading.by, *reading.by ? ")" : "", *remark ? ", but " : "",
                   remark);
        else
            fprintf(stderr, "espalier config check: %s\n", error.text);
    }
    enum exit_code written = list ? command_json(list) : command_flush();
    return worst != EXIT_DONE ? worst : written;
}
