/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of one name below two master agents. Neither sees the other's tree, and who names such a node by its
 * name would get the one of the master that is asked. Both stay where they are: it is told, for people to
 * mend it.
 */
#include "redirector/redirector_internal.h"
#include "util/fingerprint.h"

#include <stdlib.h>
#include <string.h>

#define TOLD_AT_ONCE 8 /* to a master, with one report of its */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static size_t count(const struct extension *told)
{
    uint32_t at = 0;
    size_t n = 0;
    const char *name;
    uint64_t incarnation;
    while (names_next(told, &at, &name, &incarnation))
        n++;
    return n;
}

static struct named *find(const struct master *master, const struct named *key)
{
    return master->n_names ? bsearch(key, master->names, master->n_names, sizeof *key, by_name) : NULL;
}

void names_take(struct redirector *r, struct master *master, const struct extensions *extensions)
{
    const struct extension *told = extension_find(extensions, EXTENSION_NAMES);
    const size_t most = told ? count(told) : 0;
    struct named *names = most ? calloc(most, sizeof *names) : NULL;
    const int64_t now_ns = clock_now_ns(r->clock);
    const char *name;
    uint32_t at = 0;
    size_t n = 0;
    for (; names && n < most && names_next(told, &at, &name, &names[n].incarnation); n++) {
        strcpy(names[n].name, name);
        const struct named *before = find(master, &names[n]);
        names[n].since_ns = before && before->incarnation == names[n].incarnation ? before->since_ns : now_ns;
    }
    if (n > 0)
        qsort(names, n, sizeof *names, by_name);
    free(master->names);
    master->names = names;
    master->n_names = n;
}

/* Who went from one master to the other is below both for a while, also as another incarnation. */
static bool are_two(const struct redirector *r, const struct named *one, const struct named *other)
{
    const int64_t sure_ns = clock_now_ns(r->clock) - r->sure_ns;
    return one->incarnation != other->incarnation && one->since_ns <= sure_ns && other->since_ns <= sure_ns;
}

static void tell(struct redirector *r, const struct master *master, const struct named *named,
                 const struct master *other)
{
    char why[CAP_ERROR_TEXT / 4];
    unsigned left_out;
    const struct namesake namesake = {named->name, named->incarnation, why};
    snprintf(
        why, sizeof why,
        "another node named \"%s\" is below the master agent \"%s\" at %s: give one of them another name "
        "(key \"name\" of its file)",
        named->name, other->child->name, other->child->address);
    children_refuse_below(r->children, master->child, &namesake);
    if (told_take(&r->namesakes, fingerprint(named->name, strlen(named->name)), clock_now_ns(r->clock),
                  &left_out))
        log_warning("below the master agent \"%s\" at %s is a node named \"%s\", and %s", master->child->name,
                    master->child->address, named->name, why);
}

void names_compare(struct redirector *r, const struct master *master)
{
    size_t n = 0;
    for (const struct child *child = children_first(r->children); child; child = child->hh.next) {
        const struct master *other = child->data;
        for (size_t i = 0; other && other != master && i < master->n_names && n < TOLD_AT_ONCE; i++) {
            const struct named *named = &master->names[i], *twin = find(other, named);
            if (!twin || !are_two(r, named, twin))
                continue;
            tell(r, master, named, other);
            n++;
        }
    }
}
