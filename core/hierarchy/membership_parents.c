/* SPDX-License-Identifier: Apache-2.0
 *
 * Who the parents are, and who stands above them.
 */
#include "core/hierarchy/membership_internal.h"

#include <stdlib.h>
#include <string.h>

void membership_free_texts(char **texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(texts[i]);
    free(texts);
}

char **membership_copy_texts(const char *const *texts, size_t n)
{
    char **copies = calloc(n ? n : 1, sizeof *copies);
    if (!copies)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        copies[i] = strdup(texts[i]);
        if (!copies[i]) {
            membership_free_texts(copies, i);
            return NULL;
        }
    }
    return copies;
}

void membership_forget_parent(struct membership *m)
{
    free(m->parent_name);
    m->parent_name = NULL;
    membership_free_texts(m->ancestors, m->n_ancestors);
    m->ancestors = NULL;
    m->n_ancestors = 0;
    m->parent_incarnation = 0;
    m->agreed_features = 0;
}

bool membership_is_loop(const struct membership *m, const struct envelope *envelope,
                        const struct welcome *welcome)
{
    if (strcmp(envelope->from, m->name) == 0)
        return true;
    for (uint32_t i = 0; i < welcome->n_ancestors; i++)
        if (strcmp(welcome->ancestors[i], m->name) == 0)
            return true;
    return false;
}

bool membership_same_ancestors(const struct membership *m, const struct welcome *welcome)
{
    if (m->n_ancestors != welcome->n_ancestors)
        return false;
    for (size_t i = 0; i < m->n_ancestors; i++)
        if (strcmp(m->ancestors[i], welcome->ancestors[i]) != 0)
            return false;
    return true;
}

bool membership_take_ancestors(struct membership *m, const struct welcome *welcome)
{
    char **copies = membership_copy_texts(welcome->ancestors, welcome->n_ancestors);
    if (!copies)
        return false;
    membership_free_texts(m->ancestors, m->n_ancestors);
    m->ancestors = copies;
    m->n_ancestors = welcome->n_ancestors;
    return true;
}

/* So many parents are tried at most, however many refuges are told in a long life. */
#define MOST_PARENTS 32

bool membership_take_refuges(struct membership *m, const struct welcome *welcome)
{
    struct refuges told;
    refuges_get(&welcome->extensions, &told);
    if (refuges_equal(&told, &m->refuges))
        return false;
    m->refuges = told;
    const char *addresses[MOST_REFUGES];
    for (size_t i = 0; i < told.n; i++)
        addresses[i] = told.addresses[i];
    membership_learn_parents(m, addresses, told.n);
    return true;
}

size_t membership_learn_parents(struct membership *m, const char *const *addresses, size_t n)
{
    const size_t before = m->n_parents;
    for (size_t i = 0; i < n && m->role != ROLE_MASTER && m->n_parents < MOST_PARENTS; i++)
        if (!m->own_address || strcmp(addresses[i], m->own_address) != 0)
            membership_add_parents(m, &addresses[i], 1); /* without memory: nowhere to go */
    const size_t learned = m->n_parents - before;
    if (before > 0)
        m->n_refuges += learned;
    else if (learned > 0 && m->own_address && m->state == STATE_OUT)
        membership_seek(m); /* who had none was alone: these are its parents, and no refuges */
    return learned;
}

void membership_referred(struct membership *m, const struct welcome *welcome)
{
    struct refuges told;
    const char *addresses[MOST_REFUGES];
    refuges_get(&welcome->extensions, &told);
    for (size_t i = 0; i < told.n; i++)
        addresses[i] = told.addresses[i];
    if (m->n_parents + told.n > MOST_PARENTS)
        membership_drop_refuges(m);
    const size_t before = m->n_parents;
    if (membership_learn_parents(m, addresses, told.n) == 0)
        return; /* they have been asked, or are among those that are */
    m->tries = before;
    m->hello_ns = membership_now(m);
}

void membership_drop_refuges(struct membership *m)
{
    for (; m->n_refuges > 0; m->n_refuges--) {
        m->n_parents--;
        free(m->parents[m->n_parents]);
        free(m->said[m->n_parents]);
    }
    m->refuges.n = 0;
    m->current = 0;
}

const struct refuges *membership_refuges(const struct membership *m)
{
    return &m->refuges;
}

bool membership_joined(const struct membership *m)
{
    return m->state == STATE_JOINED;
}

const char *membership_parent_name(const struct membership *m)
{
    return m->state == STATE_JOINED ? m->parent_name : NULL;
}

const char *membership_parent_address(const struct membership *m)
{
    return m->state == STATE_JOINED ? m->parents[m->current] : NULL;
}

uint64_t membership_parent_incarnation(const struct membership *m)
{
    return m->state == STATE_JOINED ? m->parent_incarnation : 0;
}

uint64_t membership_features(const struct membership *m)
{
    return m->state == STATE_JOINED ? m->agreed_features : 0;
}

const char *const *membership_ancestors(const struct membership *m, size_t *n)
{
    *n = m->state == STATE_JOINED ? m->n_ancestors : 0;
    return (const char *const *)m->ancestors;
}

const char *const *membership_parents(const struct membership *m, size_t *n)
{
    *n = m->n_parents;
    return (const char *const *)m->parents;
}

static bool add_parent(struct membership *m, const char *address)
{
    for (size_t i = 0; i < m->n_parents; i++)
        if (strcmp(m->parents[i], address) == 0)
            return true;
    char **parents = realloc(m->parents, (m->n_parents + 1) * sizeof *parents);
    if (!parents)
        return false;
    m->parents = parents;
    char **said = realloc(m->said, (m->n_parents + 1) * sizeof *said);
    if (!said)
        return false;
    m->said = said;
    said[m->n_parents] = NULL;
    parents[m->n_parents] = strdup(address);
    if (!parents[m->n_parents])
        return false;
    m->n_parents++;
    return true;
}

bool membership_add_parents(struct membership *m, const char *const *addresses, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!add_parent(m, addresses[i]))
            return false;
    return true;
}
