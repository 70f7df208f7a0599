/* SPDX-License-Identifier: Apache-2.0
 *
 * Problems that administrators have disabled on servers below. If a client asks for a problem that is
 * solved nowhere else, the error says so and names the command that enables it, instead of suggesting a
 * similar name. The error also covers problems that servers describe but cannot call.
 */
#include "agent/agent_internal.h"
#include "util/escape.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED_MOST 2

static void tell_server(struct text *words, const struct knowledge_node *node, uint32_t n)
{
    if (n < NAMED_MOST)
        text_printf(words, "%s\"%.100s\"", n == 0 ? " is disabled on server " : ", ", node->name);
}

uint32_t disabled_words(struct agent *agent, const char *problem, char text[DISABLED_TEXT])
{
    struct text words;
    uint32_t n = 0;
    text_open(&words, text, DISABLED_TEXT);
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next) {
        if (!node_disables(node, problem))
            continue;
        if (n == 0)
            text_printf(&words, "%s", problem);
        tell_server(&words, node, n++);
    }
    if (n > NAMED_MOST)
        text_printf(&words, " and %u more", n - NAMED_MOST);
    if (n > 0)
        text_printf(&words,
                    ", and no other below \"%.60s\" solves it ('espalier admin enable %s' has it solved)",
                    agent->name, problem);
    return n;
}

const char *uncallable_words(const struct agent *agent, const char *problem, char text[UNCALLABLE_TEXT])
{
    char shown[UNCALLABLE_TEXT] = "";
    *text = '\0';
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node && !*text;
         node = node->hh.next) {
        const char *why = node_cannot_call(node, problem);
        if (!why)
            continue;
        escape_append(shown, sizeof shown, 0, why);
        snprintf(text, UNCALLABLE_TEXT, "; server \"%.100s\" describes it, but cannot call it: %.430s",
                 node->name, shown);
    }
    return text;
}

/* ---- the list ---- */

struct names {
    const char **names;
    size_t n, capacity;
};

static bool add(struct names *list, const char *name)
{
    if (list->n == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 64;
        const char **grown = realloc(list->names, capacity * sizeof *grown);
        if (!grown)
            return false;
        list->names = grown;
        list->capacity = capacity;
    }
    list->names[list->n++] = name;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Without memory, the list is incomplete. */
static void collect(struct agent *agent, const char *after, struct names *list)
{
    bool whole = true;
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next)
        for (const char *name = node_disabled_next(node, NULL); name && whole;
             name = node_disabled_next(node, name))
            if (strcmp(name, after) > 0 && !catalog_problem(agent->catalogs, name))
                whole = add(list, name);
}

size_t disabled_names(struct agent *agent, const char *after, const char **names, size_t limit, bool *more)
{
    struct names list = {0};
    size_t n = 0;
    *more = false;
    collect(agent, after, &list);
    if (list.n > 1)
        qsort(list.names, list.n, sizeof *list.names, by_name);
    for (size_t i = 0; i < list.n && !*more; i++) {
        if (n > 0 && strcmp(names[n - 1], list.names[i]) == 0)
            continue;
        if (n == limit)
            *more = true;
        else
            names[n++] = list.names[i];
    }
    free(list.names);
    return n;
}
