/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/implementations.h"
#include "command/command.h"
#include "command/table.h"
#include "espalier.h"
#include "util/clock.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ASKED 64
#define PATIENCE_S 3 /* beyond which no further server is asked: one that is stopped has taken it */
#define MOST_NAMED 8 /* servers in a line for people */

#define FIELDS 6
static const char *const keys[FIELDS] = {"name", "way", "symbol", "library", "digest", "parameters"};

static bool is_same(const json_t *object, const char *const fields[FIELDS])
{
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(json_string_value(json_object_get(object, keys[i])), fields[i]) != 0)
            return false;
    return true;
}

static void note(json_t *list, const char *const fields[FIELDS], const char *server)
{
    json_t *object;
    size_t i;
    json_array_foreach(list, i, object) if (is_same(object, fields))
    {
        json_array_append_new(json_object_get(object, "servers"), command_json_text(server));
        return;
    }
    object = json_pack("{s:[s]}", "servers", server);
    for (int k = 0; k < FIELDS; k++)
        json_object_set_new(object, keys[k], command_json_text(fields[k]));
    json_array_append_new(list, object);
}

/* The lines of one server, which are cut up. */
static void take(json_t *list, char *text, const char *server)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *fields[FIELDS] = {"", "", "", "", "", ""};
        for (int i = 0; i < FIELDS && line; i++)
            fields[i] = strsep(&line, "\t");
        note(list, fields, server);
    }
}

static int by_name(const void *a, const void *b)
{
    const struct esp_node *one = *(const struct esp_node *const *)a,
                          *other = *(const struct esp_node *const *)b;
    return strcmp(one->name, other->name);
}

static void untold_by(json_t *untold, const char *server, const char *why)
{
    json_array_append_new(untold, json_pack("{s:s, s:o}", "server", server, "why", command_json_text(why)));
}

static void ask(json_t *list, json_t *untold, const struct esp_node *node, const char *problem)
{
    char *text = NULL;
    const char *words[] = {problem};
    if (esp_administer(node->address, node->name, "implementations", words, 1, NULL, &text) == ESP_OK)
        take(list, text, node->name);
    else
        untold_by(untold, node->name, esp_last_error()->text);
    free(text);
}

/* Of the tree's nodes those to ask, in the order of their names, for free(). NULL: without memory. */
static const struct esp_node **servers_of(const struct esp_node *nodes, size_t n, size_t *n_servers)
{
    const struct esp_node **servers = calloc(n + 1, sizeof *servers);
    *n_servers = 0;
    for (size_t i = 0; servers && i < n; i++)
        if (nodes[i].role == ESP_ROLE_SERVER && !nodes[i].unreachable)
            servers[(*n_servers)++] = &nodes[i];
    if (servers)
        qsort(servers, *n_servers, sizeof *servers, by_name);
    return servers;
}

json_t *implementations_find(const char *problem, json_t **untold)
{
    json_t *list = json_array();
    struct esp_node *nodes = NULL;
    size_t n = 0, n_servers;
    const int64_t until_ns = clock_now_ns(&clock_system) + PATIENCE_S * NS_PER_S;
    *untold = json_array();
    if (esp_tree(NULL, &nodes, &n) != ESP_OK) {
        untold_by(*untold, "", esp_last_error()->text);
        return list;
    }
    const struct esp_node **servers = servers_of(nodes, n, &n_servers);
    for (size_t i = 0; i < n_servers; i++)
        if (i < MOST_ASKED && clock_now_ns(&clock_system) < until_ns)
            ask(list, *untold, servers[i], problem);
        else
            untold_by(*untold, servers[i]->name, "it was not asked: others before it were many, or slow");
    free(servers);
    esp_tree_free(nodes);
    return list;
}

/* ---- for people ---- */

static void names_of(const json_t *servers, char *buffer, size_t size)
{
    struct text text;
    const size_t n = json_array_size(servers);
    text_open(&text, buffer, size);
    for (size_t i = 0; i < n && i < MOST_NAMED; i++)
        text_printf(&text, "%s%s", i ? ", " : "", json_string_value(json_array_get(servers, i)));
    if (n > MOST_NAMED)
        text_printf(&text, " and %zu more", n - MOST_NAMED);
}

static const char *field(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void print_untold(const json_t *untold)
{
    const size_t n = json_array_size(untold);
    const json_t *first = json_array_get(untold, 0);
    if (n == 0)
        return;
    printf("  not told by %s", *field(first, "server") ? field(first, "server") : "the servers");
    if (n > 1)
        printf(" and %zu more", n - 1);
    printf(": %s\n", field(first, "why"));
}

static bool is_first_of_signature(const json_t *list, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(field(json_array_get(list, i), "digest"), field(json_array_get(list, at), "digest")) == 0)
            return false;
    return true;
}

/* All servers with the signature of the object at `at`; a new reference. */
static json_t *servers_of_signature(const json_t *list, size_t at)
{
    json_t *servers = json_array(), *object, *server;
    const char *digest = field(json_array_get(list, at), "digest");
    size_t i, k, seen;
    json_array_foreach(list, i, object)
    {
        if (strcmp(field(object, "digest"), digest) != 0)
            continue;
        json_array_foreach(json_object_get(object, "servers"), k, server)
        {
            for (seen = 0; seen < json_array_size(servers); seen++)
                if (json_equal(json_array_get(servers, seen), server))
                    break;
            if (seen == json_array_size(servers))
                json_array_append(servers, server);
        }
    }
    return servers;
}

/* Where servers have different signatures, which have which. */
static void print_signatures(const json_t *list)
{
    static const char *const headings[] = {"servers", "parameters in C"};
    struct table table;
    size_t n = 0;
    table_init(&table, 2, headings);
    for (size_t i = 0; i < json_array_size(list); i++) {
        char names[MOST_NAMED * 70 + 40];
        if (!is_first_of_signature(list, i))
            continue;
        json_t *servers = servers_of_signature(list, i);
        names_of(servers, names, sizeof names);
        json_decref(servers);
        table_cell(&table, "%s", names);
        table_cell(&table, "%s", field(json_array_get(list, i), "parameters"));
        n++;
    }
    if (n < 2) {
        table_clear(&table);
        return;
    }
    puts("\nServers have different signatures of this name (what is above and below is of one of them):");
    table_print(&table, 2, stdout);
}

void implementations_print(const char *problem)
{
    static const char *const headings[] = {"implementation", "way", "routine", "servers"};
    struct table table;
    json_t *untold, *object, *list = implementations_find(problem, &untold);
    size_t i;
    table_init(&table, 4, headings);
    json_array_foreach(list, i, object)
    {
        char names[MOST_NAMED * 70 + 40];
        const char *library = field(object, "library");
        names_of(json_object_get(object, "servers"), names, sizeof names);
        if (!*field(object, "way")) {
            printf("\nOffered by %s\n", names);
            continue;
        }
        table_cell(&table, "%s", field(object, "name"));
        table_cell(&table, "%s", field(object, "way"));
        table_cell(&table, "%s%s%s", field(object, "symbol"), *library ? " in " : "", library);
        table_cell(&table, "%s", names);
    }
    if (table.n_cells > 0) {
        puts("\nSolved by:");
        table_print(&table, 2, stdout);
    } else {
        table_clear(&table);
    }
    print_signatures(list);
    print_untold(untold);
    json_decref(list);
    json_decref(untold);
}
