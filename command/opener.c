/* SPDX-License-Identifier: Apache-2.0 */
#include "command/opener.h"

#include "core/problem/problem_help.h"
#include "espalier.h"

#include <stdio.h>
#include <string.h>

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define MOST_BYTES      256 /* of a name */

struct names {
    struct esp_problem_entry *entries; /* in the order of their names */
    size_t n;
};

static bool is_listed(const struct names *names, const char *word)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->entries[i].name, word) == 0)
            return true;
    return false;
}

/* The description of a problem that leaves a state; NULL: it is none. */
static struct problem_set *describe(const char *name)
{
    struct esp_problem *told;
    struct problem_set *set = NULL;
    if (esp_problem_describe(name, &told) != ESP_OK)
        return NULL;
    if (problem_parse(told->source, strlen(told->source), told->name, &set, NULL) != ESP_OK)
        set = NULL;
    esp_problem_free(told);
    int kept = set ? problem_state_index(set->problems[0]) : -1;
    if (kept >= 0 && set->problems[0]->arguments[kept].mode == MODE_OUT)
        return set;
    problem_set_destroy(set);
    return NULL;
}

static struct problem_set *find_named(const struct names *names, const char *text)
{
    char word[MOST_BYTES];
    while (*(text += strcspn(text, NAME_CHARACTERS))) {
        size_t length = strspn(text, NAME_CHARACTERS);
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        struct problem_set *found = length < sizeof word && is_listed(names, word) ? describe(word) : NULL;
        if (found)
            return found;
        text += length;
    }
    return NULL;
}

/* lu_open for lu_solve: one whose name begins with the same word. */
static struct problem_set *find_sibling(const struct names *names, const char *name)
{
    const char *end = strrchr(name, '_');
    struct problem_set *found = NULL;
    for (size_t i = 0; end && i < names->n && !found; i++)
        if (strncmp(names->entries[i].name, name, (size_t)(end - name) + 1) == 0 &&
            strcmp(names->entries[i].name, name) != 0)
            found = describe(names->entries[i].name);
    return found;
}

struct problem_set *opener_find(const struct problem *problem)
{
    int kept = problem_state_index(problem);
    struct names names = {0};
    if (kept < 0 || !argument_is_input(&problem->arguments[kept]) ||
        esp_problem_list(&names.entries, &names.n) != ESP_OK)
        return NULL;
    struct problem_set *found = find_named(&names, problem->arguments[kept].text);
    if (!found)
        found = find_named(&names, problem->title);
    if (!found)
        found = find_named(&names, problem->text);
    if (!found)
        found = find_sibling(&names, problem->name);
    esp_problem_list_free(names.entries);
    return found;
}

size_t opener_command(const struct problem *opener, const struct problem *problem, const char *options,
                      char *buffer, size_t size)
{
    char call[4096];
    size_t length = problem_trial(opener, options, call, sizeof call, NULL);
    if (length == 0 || length >= sizeof call)
        return 0;
    return (size_t)snprintf(buffer, size, "%s=$(%s | grep -o 'state:[^ ]*')",
                            problem->arguments[problem_state_index(problem)].name, call);
}
