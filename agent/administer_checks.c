/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders that must not be: a tree that would hang on itself or be cut, nodes that there are not.
 */
#include "agent/agent_internal.h"

#include "util/names.h"

#include <stdio.h>
#include <string.h>

/* Names are compared on the thread that does all else, for whoever asks. */
#define CAP_KNOWN 256

const char *closest_node(struct agent *agent, const char *name, bool servers, char text[CLOSEST_TEXT])
{
    const char *known[CAP_KNOWN];
    size_t n = 0;
    text[0] = '\0';
    if (knowledge_count(agent->knowledge) > CAP_KNOWN)
        return text;
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node && n < CAP_KNOWN;
         node = node->hh.next)
        if (!servers || node->role == ROLE_SERVER)
            known[n++] = node->name;
    const char *closest = names_closest(name, known, n);
    if (closest)
        snprintf(text, CLOSEST_TEXT, "; did you mean \"%s\"?", closest);
    return text;
}

enum esp_status administer_unknown(struct agent *agent, const char *name, struct esp_error *error)
{
    char closest[CLOSEST_TEXT];
    if (lost_has(agent, name))
        return error_set(error, ESP_NOT_FOUND, "\"%s\" was below \"%s\", and cannot be reached now", name,
                         agent->name);
    return error_set(error, ESP_NOT_FOUND, "no node named \"%s\" below \"%s\"%s", name, agent->name,
                     closest_node(agent, name, false, closest));
}

/* Whether `node` is below the other one, or it itself; as deep as trees may be. */
static bool is_within(const struct agent *agent, const struct knowledge_node *node, const char *other)
{
    for (unsigned depth = 0; node && depth < CAP_ANCESTORS; depth++) {
        if (strcmp(node->name, other) == 0)
            return true;
        node = knowledge_find(agent->knowledge, node->parent);
    }
    return false;
}

static uint32_t count_below(const struct agent *agent, const char *name)
{
    uint32_t n = 0;
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next)
        n += strcmp(node->name, name) != 0 && is_within(agent, node, name);
    return n;
}

/* It is in the tree of another master agent, whose parents this one does not know: who asks has seen it
 * there. From the root of a subtree nothing leaves that subtree. */
static enum esp_status check_leaving(const struct agent *agent, const struct administer *asked,
                                     const char **address, struct esp_error *error)
{
    const char *name = asked->words[0];
    if (!agent->is_master || strcmp(name, agent->name) == 0 || knowledge_find(agent->knowledge, name))
        return error_set(error, ESP_REFUSED,
                         "\"%s\" at %.*s is to be the parent, and is not of this tree: %s", name, CAP_ADDRESS,
                         asked->words[1],
                         agent->is_master ? "another node of that name is (give one another name)"
                                          : "only a master agent gives nodes away");
    *address = asked->words[1];
    return ESP_OK;
}

/* The new parent's address. */
enum esp_status administer_check_move(struct agent *agent, const struct knowledge_node *node,
                                      const struct administer *asked, const char **address,
                                      struct esp_error *error)
{
    if (asked->n_words != 1 && asked->n_words != 2)
        return error_set(error, ESP_INVALID,
                         "expected the new parent's name, and its address if it is below another master "
                         "agent, found %u words",
                         asked->n_words);
    if (asked->n_words == 2)
        return check_leaving(agent, asked, address, error);
    const char *name = asked->words[0];
    if (strcmp(node->parent, name) == 0)
        return error_set(error, ESP_INVALID, "\"%s\" is below \"%s\" already", node->name, name);
    if (strcmp(name, agent->name) == 0) {
        *address = endpoint_address(agent->endpoint);
        return ESP_OK;
    }
    const struct knowledge_node *parent = knowledge_find(agent->knowledge, name);
    if (!parent)
        return administer_unknown(agent, name, error);
    if (parent->role == ROLE_SERVER)
        return error_set(error, ESP_INVALID, "\"%s\" is a server: only agents have nodes below them", name);
    if (is_within(agent, parent, node->name))
        return error_set(error, ESP_INVALID,
                         "\"%s\" is below \"%s\": moved there, the subtree would hang on itself", name,
                         node->name);
    *address = parent->address;
    return ESP_OK;
}

/* Nodes below may be cut off. */
static bool may_cut(const struct administer *asked)
{
    for (uint32_t i = 0; i < asked->n_words; i++)
        if (strcmp(asked->words[i], "cut") == 0)
            return true;
    return false;
}

enum esp_status administer_check_stop(const struct agent *agent, const struct knowledge_node *node,
                                      const struct administer *asked, struct esp_error *error)
{
    const uint32_t below = count_below(agent, node->name);
    if (below == 0 || may_cut(asked))
        return ESP_OK;
    return error_set(
        error, ESP_REFUSED,
        "%u nodes below \"%s\" would be cut off: move them first, or say that this is meant (--cut)", below,
        node->name);
}

/* Of itself: what would change its place is decided above it. */
enum esp_status administer_check_own(const struct agent *agent, const struct administer *asked,
                                     struct esp_error *error)
{
    if (strcmp(asked->verb, "move") == 0)
        return error_set(error, ESP_INVALID, "\"%s\" cannot move itself: ask an agent above it", agent->name);
    if (strcmp(asked->verb, "stop") == 0 && knowledge_count(agent->knowledge) > 0 && !may_cut(asked))
        return error_set(
            error, ESP_REFUSED,
            "%zu nodes below \"%s\" would be cut off: move them first, or say that this is meant "
            "(--cut)",
            knowledge_count(agent->knowledge), agent->name);
    return ESP_OK;
}
