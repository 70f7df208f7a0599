/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/left_note.h"

#include "util/contents.h"
#include "services/state_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SESSION_WORD "session:"
#define SESSION_SIZE sizeof((struct meant *)NULL)->session

/* ---- the folder ---- */

static bool is_session(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length < SESSION_SIZE && strspn(text, "0123456789abcdef-") == length;
}

static bool is_older(const struct stat *one, const struct stat *other)
{
    return one->st_mtim.tv_sec != other->st_mtim.tv_sec ? one->st_mtim.tv_sec < other->st_mtim.tv_sec
                                                        : one->st_mtim.tv_nsec < other->st_mtim.tv_nsec;
}

/* Counts the notes whose names begin so; `first` is the oldest of them, or the one that is named exactly. */
static size_t find(const char *folder, const char *prefix, char first[SESSION_SIZE])
{
    DIR *dir = opendir(folder);
    struct stat oldest = {0}, about;
    struct dirent *found;
    size_t n = 0;
    while (dir && (found = readdir(dir))) {
        if (!is_session(found->d_name) || strncmp(found->d_name, prefix, strlen(prefix)) != 0 ||
            fstatat(dirfd(dir), found->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        bool exact = strcmp(found->d_name, prefix) == 0;
        if (n == 0 || exact || is_older(&about, &oldest)) {
            strcpy(first, found->d_name);
            oldest = about;
        }
        n++;
        if (exact) {
            n = 1;
            break;
        }
    }
    if (dir)
        closedir(dir);
    return n;
}

static void forget_old(const char *folder)
{
    char name[SESSION_SIZE], path[PATH_MAX];
    while (find(folder, "", name) > LEFT_NOTES_MOST) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (unlink(path) != 0)
            return;
    }
}

void left_note_remove(const char *session)
{
    char folder[PATH_MAX - NAME_MAX - 1], path[PATH_MAX];
    if (state_folder("left", folder, sizeof folder, NULL) != ESP_OK)
        return;
    snprintf(path, sizeof path, "%s/%s", folder, session);
    unlink(path);
}

/* ---- a note ---- */

enum esp_status left_note_write(const struct esp_session_info *info, struct esp_error *error)
{
    char folder[PATH_MAX - NAME_MAX - 1], path[PATH_MAX];
    enum esp_status status = state_folder("left", folder, sizeof folder, error);
    if (status == ESP_OK)
        status = state_folder_make(folder, error);
    if (status != ESP_OK)
        return status;
    json_t *list = json_array();
    for (size_t i = 0; i < info->n_data; i++)
        json_array_append_new(list, json_pack("{s:s, s:b, s:b, s:s}", "argument", info->data[i].argument,
                                              "output", info->data[i].side == ESP_SESSION_OUTPUTS, "own",
                                              info->data[i].own, "id", info->data[i].id));
    char *text = json_dumps(list, JSON_INDENT(1));
    json_decref(list);
    if (!text)
        return error_no_memory(error, "what a session has left");
    snprintf(path, sizeof path, "%s/%s", folder, info->id);
    status = contents_save(path, text, strlen(text), error);
    free(text);
    forget_old(folder);
    return status;
}

static bool take_entry(json_t *entry, struct meant_datum *datum)
{
    const char *argument, *id;
    int output, own;
    struct datum_id parsed;
    if (json_unpack(entry, "{s:s, s:b, s:b, s:s}", "argument", &argument, "output", &output, "own", &own,
                    "id", &id) != 0 ||
        datum_id_parse(id, &parsed, NULL) != ESP_OK)
        return false;
    *datum = (struct meant_datum){.is_output = output, .own = own};
    snprintf(datum->argument, sizeof datum->argument, "%s", argument);
    datum_id_text(&parsed, datum->id);
    return true;
}

/* "", ":inputs", ":outputs:B" behind the session. */
struct wish {
    bool inputs, outputs;
    const char *argument; /* NULL: all */
};

static enum esp_status read_wish(const char *rest, struct wish *wish, struct esp_error *error)
{
    const char *colon = *rest ? strchr(rest + 1, ':') : NULL;
    size_t length = !*rest ? 0 : colon ? (size_t)(colon - rest - 1) : strlen(rest + 1);
    wish->inputs = !*rest || (length == 6 && strncmp(rest + 1, "inputs", 6) == 0);
    wish->outputs = !*rest || (length == 7 && strncmp(rest + 1, "outputs", 7) == 0);
    wish->argument = colon ? colon + 1 : NULL;
    if (wish->inputs || wish->outputs)
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "expected session:ID, session:ID:inputs or session:ID:outputs, perhaps with :NAME of an "
                     "argument, found \"%.80s\" behind the ID",
                     rest);
}

static enum esp_status pick(json_t *list, const struct wish *wish, struct meant *meant,
                            struct esp_error *error)
{
    meant->data = calloc(json_array_size(list) + 1, sizeof *meant->data);
    if (!meant->data)
        return error_no_memory(error, "what a session has left");
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct meant_datum *datum = &meant->data[meant->n];
        if (!take_entry(json_array_get(list, i), datum))
            return error_set(error, ESP_SYNTAX, "the note of session %s is damaged", meant->session);
        meant->n += (datum->is_output ? wish->outputs : wish->inputs) &&
                    (!wish->argument || strcmp(wish->argument, datum->argument) == 0);
    }
    if (meant->n > 0)
        return ESP_OK;
    return error_set(error, ESP_NOT_FOUND, "session %s has left no %s%s%s on a server", meant->session,
                     !wish->outputs  ? "inputs"
                     : !wish->inputs ? "outputs"
                                     : "data",
                     wish->argument ? " named " : "", wish->argument ? wish->argument : "");
}

static enum esp_status expand_session(const char *word, struct meant *meant, struct esp_error *error)
{
    char folder[PATH_MAX - NAME_MAX - 1], path[PATH_MAX], prefix[SESSION_SIZE], name[SESSION_SIZE];
    struct wish wish;
    json_error_t why;
    const char *rest = strchrnul(word, ':');
    snprintf(prefix, sizeof prefix, "%.*s", (int)(rest - word), word);
    enum esp_status status = read_wish(rest, &wish, error);
    if (status == ESP_OK)
        status = state_folder("left", folder, sizeof folder, error);
    if (status != ESP_OK)
        return status;
    size_t n = is_session(prefix) ? find(folder, prefix, name) : 0;
    if (n != 1)
        return error_set(error, ESP_NOT_FOUND,
                         n > 1 ? "several sessions begin with \"%s\": give more of its id"
                               : "no session \"%s\" is noted here: 'espalier call --leave' tells its id",
                         prefix);
    strcpy(meant->session, name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *list = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_array(list))
        status =
            error_set(error, ESP_SYNTAX, "%s:%d: %s", path, why.line, list ? "expected a list" : why.text);
    else
        status = pick(list, &wish, meant, error);
    json_decref(list);
    meant->is_session = true;
    meant->is_all = !*rest;
    return status;
}

enum esp_status left_note_expand(const char *word, struct meant *meant, struct esp_error *error)
{
    *meant = (struct meant){0};
    enum esp_status status;
    if (strncmp(word, SESSION_WORD, strlen(SESSION_WORD)) == 0) {
        status = expand_session(word + strlen(SESSION_WORD), meant, error);
        if (status != ESP_OK)
            free(meant->data);
        return status;
    }
    const char *id = strncmp(word, "data:", 5) == 0 ? word + 5 : word;
    meant->data = calloc(1, sizeof *meant->data);
    if (!meant->data)
        return error_no_memory(error, "an identity");
    if (strlen(id) >= sizeof meant->data->id) {
        free(meant->data);
        return error_set(error, ESP_INVALID, "expected the identity of a datum, found \"%.80s...\"", id);
    }
    strcpy(meant->data->id, id);
    meant->n = 1;
    return ESP_OK;
}
