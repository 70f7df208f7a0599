/* SPDX-License-Identifier: Apache-2.0 */
#include "services/place.h"
#include "util/durable_file.h"
#include "util/regular_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_NAME "place"
#define HEADING   "espalier place 1"

static void forget_move(struct node_place *place)
{
    free(place->parent);
    free(place->instead);
    free(place->instead_name);
    place->parent = place->instead = place->instead_name = NULL;
}

void place_release(struct node_place *place)
{
    forget_move(place);
    free(place->home_address);
    free(place->home);
    for (size_t i = 0; i < place->n_disabled; i++)
        free(place->disabled[i]);
    *place = (struct node_place){0};
}

enum esp_status place_set_parent(struct node_place *place, const char *address, const char *instead,
                                 struct esp_error *error)
{
    const char *name = NULL; /* of the node at the file's address, as far as seen */
    if (instead && *place_home(place, instead))
        name = place->home;
    else if (instead && place->instead && strcmp(place->instead, instead) == 0)
        name = place->instead_name;
    char *at = strdup(address), *file = instead ? strdup(instead) : NULL, *who = name ? strdup(name) : NULL;
    if (!at || (instead && !file) || (name && !who)) {
        free(at);
        free(file);
        free(who);
        return error_no_memory(error, "an address");
    }
    forget_move(place);
    place->parent = at;
    place->instead = file;
    place->instead_name = who;
    return ESP_OK;
}

static bool names_another(const struct node_place *place, const char *parent)
{
    return place->instead && parent && strcmp(parent, place->instead) != 0;
}

void place_heed_file(struct node_place *place, const char *parent)
{
    if (names_another(place, parent) && !place->instead_name)
        forget_move(place);
}

bool place_is_open(const struct node_place *place, const char *parent)
{
    return names_another(place, parent) && place->instead_name;
}

void place_heed_name(struct node_place *place, const char *parent, const char *name)
{
    char *file = strcmp(name, place->instead_name) == 0 ? strdup(parent) : NULL;
    if (!file) {
        forget_move(place);
        return;
    }
    free(place->instead);
    place->instead = file;
}

size_t place_parents(const struct node_place *place, const char *parent, const char *parents[2])
{
    size_t n = 0;
    const bool open = place_is_open(place, parent);
    if (open)
        parents[n++] = parent;
    if (place->parent)
        parents[n++] = place->parent;
    if (parent && !open)
        parents[n++] = parent;
    return n;
}

enum esp_status place_set_home(struct node_place *place, const char *address, const char *name,
                               struct esp_error *error)
{
    char *at = strdup(address), *who = strdup(name);
    if (!at || !who) {
        free(at);
        free(who);
        return error_no_memory(error, "the parent's name");
    }
    free(place->home_address);
    free(place->home);
    place->home_address = at;
    place->home = who;
    return ESP_OK;
}

const char *place_home(const struct node_place *place, const char *address)
{
    return place->home && strcmp(place->home_address, address) == 0 ? place->home : "";
}

static size_t find(const struct node_place *place, const char *problem)
{
    size_t i = 0;
    while (i < place->n_disabled && strcmp(place->disabled[i], problem) != 0)
        i++;
    return i;
}

bool place_is_disabled(const struct node_place *place, const char *problem)
{
    return find(place, problem) < place->n_disabled;
}

enum esp_status place_disable(struct node_place *place, const char *problem, bool disabled,
                              struct esp_error *error)
{
    const size_t i = find(place, problem);
    if ((i < place->n_disabled) == disabled)
        return ESP_OK;
    if (!disabled) {
        free(place->disabled[i]);
        place->disabled[i] = place->disabled[--place->n_disabled];
        return ESP_OK;
    }
    if (i == PLACE_PROBLEMS)
        return error_set(error, ESP_LIMIT, "%d problems are disabled already", PLACE_PROBLEMS);
    if (!(place->disabled[i] = strdup(problem)))
        return error_no_memory(error, "a problem's name");
    place->n_disabled++;
    return ESP_OK;
}

/* ---- the file ---- */

/* Makes a damaged line printable. */
static const char *printable(char *line)
{
    for (char *c = line; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return line;
}

/* Parses ADDRESS [NAME]. */
static enum esp_status read_instead(struct node_place *place, char *text, struct esp_error *error)
{
    char *name = strchr(text, ' ');
    if (name)
        *name++ = '\0';
    place->instead = strdup(text);
    place->instead_name = name ? strdup(name) : NULL;
    return place->instead && (!name || place->instead_name) ? ESP_OK : error_no_memory(error, "an address");
}

static enum esp_status read_line(struct node_place *place, const char *name, const char *path,
                                 unsigned number, char *line, struct esp_error *error)
{
    if (number == 1 && strcmp(line, HEADING) != 0)
        return error_set(error, ESP_CONFIG,
                         "%s:1: expected \"" HEADING "\", found \"%.60s\": the state is of another version; "
                         "remove the file to start as the configuration file says",
                         path, printable(line));
    if (number == 1 || !*line)
        return ESP_OK;
    if (strncmp(line, "name ", 5) == 0 && strcmp(line + 5, name) != 0)
        return error_set(
            error, ESP_CONFIG,
            "%s:%u: the state is of the node \"%.60s\", not of \"%s\": each node needs a state_dir of "
            "its own, and one that was renamed gets its old name back by the key \"name\"",
            path, number, line + 5, name);
    if (strncmp(line, "name ", 5) == 0)
        return ESP_OK;
    if (strncmp(line, "parent ", 7) == 0)
        return place_set_parent(place, line + 7, NULL, error);
    if (strncmp(line, "instead ", 8) == 0 && place->parent && !place->instead)
        return read_instead(place, line + 8, error);
    char *home = strncmp(line, "home ", 5) == 0 ? strchr(line + 5, ' ') : NULL;
    if (home) {
        *home = '\0';
        return place_set_home(place, line + 5, home + 1, error);
    }
    if (strcmp(line, "draining") == 0) {
        place->draining = true;
        return ESP_OK;
    }
    if (strncmp(line, "disabled ", 9) == 0)
        return place_disable(place, line + 9, true, error);
    if (strncmp(line, "refuge ", 7) == 0 && strlen(line + 7) <= CAP_ADDRESS) {
        refuges_add(&place->refuges, line + 7, "");
        return ESP_OK;
    }
    return error_set(
        error, ESP_CONFIG,
        "%s:%u: expected name, parent, instead, home, draining, disabled or refuge, found \"%.60s\"", path,
        number, printable(line));
}

/* A missing folder is created when it is written to. */
static enum esp_status check_folder(const char *folder, struct esp_error *error)
{
    struct stat is;
    if (stat(folder, &is) != 0 || S_ISDIR(is.st_mode))
        return ESP_OK;
    const char *kind = regular_file_kind(is.st_mode);
    return error_set(error, ESP_CONFIG,
                     "state_dir: expected a folder, found %s: %.300s; name another path, or take it away",
                     kind ? kind : "a file", folder);
}

enum esp_status place_load(const char *folder, const char *name, struct node_place *place,
                           struct esp_error *error)
{
    char path[PATH_MAX], line[1024];
    unsigned number = 0;
    *place = (struct node_place){0};
    enum esp_status status = durable_file_path(folder, FILE_NAME, "", path, error);
    if (status != ESP_OK)
        return status;
    struct esp_error own;
    error = error ? error : &own;
    if ((status = check_folder(folder, error)) != ESP_OK)
        return status;
    FILE *file = regular_file_open(path, "r", error);
    if (!file)
        return error->status == ESP_NOT_FOUND ? ESP_OK : error->status;
    while (status == ESP_OK && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        status = read_line(place, name, path, ++number, line, error);
    }
    fclose(file);
    place->is_written = true;
    if (status == ESP_OK && number == 0)
        status = error_set(error, ESP_CONFIG,
                           "%s: expected \"" HEADING "\", found an empty file; "
                           "remove the file to start as the configuration file says",
                           path);
    if (status != ESP_OK)
        place_release(place);
    return status;
}

struct written {
    const char *name;
    const struct node_place *place;
};

static bool write_all(FILE *file, const void *arg)
{
    const struct written *written = arg;
    const struct node_place *place = written->place;
    bool good = fprintf(file, HEADING "\nname %s\n", written->name) > 0;
    if (place->parent)
        good = fprintf(file, "parent %s\n", place->parent) > 0 && good;
    if (place->instead)
        good = fprintf(file, "instead %s%s%s\n", place->instead, place->instead_name ? " " : "",
                       place->instead_name ? place->instead_name : "") > 0 &&
               good;
    if (place->home)
        good = fprintf(file, "home %s %s\n", place->home_address, place->home) > 0 && good;
    if (place->draining)
        good = fputs("draining\n", file) >= 0 && good;
    for (size_t i = 0; i < place->n_disabled; i++)
        good = fprintf(file, "disabled %s\n", place->disabled[i]) > 0 && good;
    for (size_t i = 0; i < place->refuges.n; i++)
        good = fprintf(file, "refuge %s\n", place->refuges.addresses[i]) > 0 && good;
    return good;
}

enum esp_status place_save(const char *folder, const char *name, const struct node_place *place,
                           struct esp_error *error)
{
    const struct written written = {name, place};
    return durable_file_replace(folder, FILE_NAME, write_all, &written, error);
}
