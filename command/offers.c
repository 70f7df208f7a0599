/* SPDX-License-Identifier: Apache-2.0 */
#include "command/offers.h"

#include "util/names.h"

#include <stdlib.h>
#include <string.h>

/* The names that servers have told, each in its server's text. */
struct offers {
    char **texts;
    size_t n_texts;
    const char **names;
    size_t n_names, capacity;
    uint64_t solved;
};

static void release(struct offers *offers)
{
    for (size_t i = 0; i < offers->n_texts; i++)
        free(offers->texts[i]);
    free(offers->texts);
    free(offers->names);
}

static bool add_name(struct offers *offers, const char *name)
{
    if (offers->n_names == offers->capacity) {
        const size_t capacity = offers->capacity ? 2 * offers->capacity : 256;
        const char **grown = realloc(offers->names, capacity * sizeof *grown);
        if (!grown)
            return false;
        offers->names = grown;
        offers->capacity = capacity;
    }
    offers->names[offers->n_names++] = name;
    return true;
}

/* False when it is cut off. */
static bool read_names(struct offers *offers, char *text)
{
    for (char *end; *text; text = end + 1) {
        if (!(end = strchr(text, '\n')))
            return false;
        *end = '\0';
        offers->solved += *text != '-';
        if (!add_name(offers, *text == '-' ? text + 1 : text))
            return false;
    }
    return true;
}

static bool ask(struct offers *offers, const struct view *view, const struct esp_node *server)
{
    const struct esp_node *top = view_top(view, server);
    char *text = NULL;
    if (!top || esp_administer(top->address, server->name, "problems", NULL, 0, NULL, &text) != ESP_OK ||
        !text) {
        free(text);
        return false;
    }
    offers->texts[offers->n_texts++] = text;
    return read_names(offers, text);
}

static bool ask_all(struct offers *offers, const struct view *view, const struct esp_node *top)
{
    if (!(offers->texts = calloc(view->n + 1, sizeof *offers->texts)))
        return false;
    for (size_t i = 0; i < view->n; i++) {
        const struct esp_node *node = &view->nodes[i];
        if (node->role == ESP_ROLE_SERVER && !node->unreachable &&
            (!top || view_is_within(view, node, top)) && !ask(offers, view, node))
            return false;
    }
    return true;
}

bool offers_count(const struct view *view, uint64_t *n)
{
    struct offers offers = {0};
    const bool all = ask_all(&offers, view, NULL);
    *n = offers.solved;
    release(&offers);
    return all;
}

static bool has(const struct offers *offers, const char *name)
{
    for (size_t i = 0; i < offers->n_names; i++)
        if (strcmp(offers->names[i], name) == 0)
            return true;
    return false;
}

enum esp_status offers_check(const struct view *view, const struct esp_node *top, char *const *names,
                             size_t n_names, struct esp_error *error)
{
    struct offers offers = {0};
    enum esp_status status = ESP_OK;
    const bool all = ask_all(&offers, view, top);
    for (size_t i = 0; i < n_names && all && status == ESP_OK; i++) {
        if (has(&offers, names[i]))
            continue;
        const char *closest = names_closest(names[i], offers.names, offers.n_names);
        status = error_set(error, ESP_INVALID,
                           "no server%s%s%s has a problem named '%s'%s%s%s ('espalier problems' shows them); "
                           "nothing is changed",
                           top ? " below '" : "", top ? top->name : "", top ? "'" : "", names[i],
                           closest ? "; did you mean '" : "", closest ? closest : "", closest ? "'?" : "");
    }
    release(&offers);
    return status;
}
