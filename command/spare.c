/* SPDX-License-Identifier: Apache-2.0
 *
 * What would be lost with a server. It knows its own data, not who else keeps them for good: those are looked
 * for here, one by one.
 */
#include "command/admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED_MOST 3

/* Of the data that a server keeps for good. */
struct tally {
    unsigned long long told, looked_at; /* that it has, and of which it has told the identity */
    size_t n_kept, n_lost;
    char lost[400];   /* "A:0123..., A:4567..., ..." */
    char places[200]; /* "B, C": who keeps the others */
};

static void append(char *list, size_t size, const char *word)
{
    const size_t length = strlen(list);
    if (length < size)
        snprintf(list + length, size - length, "%s%s", length ? ", " : "", word);
}

static bool has(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

static bool leaves(const struct orders *orders, const struct esp_node *node, const char *name)
{
    bool found = strcmp(node->name, name) == 0;
    for (size_t i = 0; i < orders->n_leaving && !found; i++)
        found = strcmp(orders->leaving[i]->name, name) == 0;
    return found;
}

/* Another server that stays keeps it for good. */
static bool is_elsewhere(const struct orders *orders, const struct esp_node *node, const char *id,
                         struct tally *tally)
{
    struct esp_data_info *infos = NULL;
    size_t n = 0;
    bool found = false;
    if (esp_data_look(id, &infos, &n) != ESP_OK)
        return false;
    for (size_t i = 0; i < n && !found; i++) {
        found =
            !infos[i].replica && infos[i].mode != ESP_DATA_VOLATILE && !leaves(orders, node, infos[i].server);
        if (found && !has(tally->places, infos[i].server))
            append(tally->places, sizeof tally->places, infos[i].server);
    }
    esp_data_free(infos);
    return found;
}

/* `text` as the server's "originals" has it: STAMP NUMBER, then an identity on each line. */
static bool count(const struct orders *orders, const struct esp_node *node, char *text, uint64_t *stamp,
                  struct tally *tally)
{
    char *rest = text, *line = strsep(&rest, "\n");
    if (!line || sscanf(line, "%" SCNx64 " %llu", stamp, &tally->told) != 2)
        return false;
    while ((line = strsep(&rest, "\n"))) {
        if (!*line)
            continue;
        tally->looked_at++;
        if (is_elsewhere(orders, node, line, tally)) {
            tally->n_kept++;
        } else if (tally->n_lost++ <= NAMED_MOST) {
            append(tally->lost, sizeof tally->lost, tally->n_lost > NAMED_MOST ? "..." : line);
        }
    }
    return tally->looked_at > 0;
}

/* Looks where else there is what the server refuses to lose. False: all of it would be lost, as far as is
 * known, and `error` stays as it is; else it tells what would be, if anything. */
static bool look_elsewhere(struct orders *orders, const struct esp_node *node, struct esp_error *error)
{
    struct tally tally = {0};
    struct kept_elsewhere *kept = &orders->kept;
    uint64_t stamp;
    char *text = NULL;
    const bool told = admin_send(&orders->view, node, "originals", NULL, 0, NULL, &text) == ESP_OK && text &&
                      count(orders, node, text, &stamp, &tally);
    free(text);
    if (!told || tally.n_kept == 0 || tally.looked_at < tally.told)
        return false; /* more than one answer has, or an older server */
    if (tally.n_lost > 0) {
        error_set(
            error, ESP_REFUSED,
            "%zu data that are to stay would go with \"%s\" (%s): move them (espalier data mv ID OTHER; "
            "sticky ones are to be fetched and put elsewhere), or say that this is meant (--force); %zu "
            "others would stay on %s",
            tally.n_lost, node->name, tally.lost, tally.n_kept, tally.places);
        return true;
    }
    kept->node = node;
    snprintf(kept->word, sizeof kept->word, "kept=%016" PRIx64, stamp);
    snprintf(kept->remark, sizeof kept->remark, "%zu data that it kept for good stay on %s", tally.n_kept,
             tally.places);
    return true;
}

static bool refuses(const struct orders *orders, const struct esp_node *node, const char *const *words,
                    size_t n_words, struct esp_error *error)
{
    if (admin_send(&orders->view, node, "losses", words, n_words, NULL, NULL) != ESP_REFUSED)
        return false;
    *error = *esp_last_error();
    return true;
}

static bool never_loses(const struct orders *orders, const struct esp_node *node)
{
    return node->role != ESP_ROLE_SERVER || command_option_value(orders->command, "force");
}

bool orders_would_lose(struct orders *orders, const struct esp_node *node, bool for_good,
                       struct esp_error *error)
{
    const char *words[2] = {"removed", orders->kept.word};
    orders->kept.node = NULL;
    if (never_loses(orders, node) || !refuses(orders, node, words, for_good ? 1 : 0, error))
        return false;
    if (!for_good || !look_elsewhere(orders, node, error) || !orders->kept.node)
        return true;
    return refuses(orders, node, words, 2, error); /* for another reason, then */
}

enum exit_code orders_spare(struct orders *orders, const struct esp_node *node, bool for_good)
{
    struct esp_error error;
    return orders_would_lose(orders, node, for_good, &error) ? command_fail(orders->command, &error)
                                                             : EXIT_DONE;
}

enum exit_code orders_spare_folder(struct orders *orders, const struct esp_node *node)
{
    const char *const folder = "folder";
    struct esp_error error;
    return !never_loses(orders, node) && refuses(orders, node, &folder, 1, &error)
               ? command_fail(orders->command, &error)
               : EXIT_DONE;
}
