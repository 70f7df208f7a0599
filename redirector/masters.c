/* SPDX-License-Identifier: Apache-2.0
 *
 * The master agents: who has registered, and what they report.
 */
#include "redirector/redirector_internal.h"

#include <stdlib.h>
#include <string.h>

void redirector_post(void *self, const char *address, uint64_t to_incarnation, const struct message *message)
{
    struct redirector *r = self;
    struct esp_error error;
    if (r->endpoint && endpoint_post(r->endpoint, address, to_incarnation, message, &error) != ESP_OK)
        log_warning("cannot send %s to %s: %s", message_name(message->kind), address, error.text);
}

static void master_free(struct master *master)
{
    if (master)
        free((uint8_t *)master->solves.value);
    if (master)
        free(master->names);
    free(master);
}

static const char *const *on_ancestors(void *self, size_t *n)
{
    (void)self;
    *n = 0;
    return NULL;
}

/* The other masters: to them a master's children may go. */
static void on_refuges(void *self, const struct child *child, struct refuges *refuges)
{
    struct redirector *r = self;
    for (struct child *other = children_first(r->children); other; other = other->hh.next)
        if (other != child)
            refuges_add(refuges, other->address, other->name);
}

/* Nodes that have lost their master agent, and ask here where one is. */
static void on_refer(void *self, struct refuges *refuges)
{
    on_refuges(self, NULL, refuges);
}

static bool on_joined(void *self, struct child *child)
{
    struct redirector *r = self;
    absent_forget(&r->absentees, child->name);
    struct master *master = calloc(1, sizeof *master);
    if (!master)
        return false;
    master->child = child;
    child->data = master;
    log_notice("master agent \"%s\" joined from %s", child->name, child->address);
    r->told = false;
    return true;
}

/* What it solved is missing for so long, and not unknown. */
static void note_problems(struct redirector *r, const struct master *master, int64_t until_ns)
{
    struct extension solves = master->solves;
    if (!solves.value) {
        lost_problems_note_any(&r->lost_problems, until_ns);
        return;
    }
    solves.tag = EXTENSION_LOST_PROBLEMS;
    lost_problems_inherit(&r->lost_problems, &(struct extensions){&solves, 1}, until_ns);
}

static void on_lost(void *self, struct child *child, const char *why)
{
    struct redirector *r = self;
    r->lost++;
    if (child->silent) {
        absent_note(&r->absentees, child);
        note_problems(r, child->data, child->arrivals.heard_ns + ABSENT_KEPT_NS);
    }
    log_notice("master agent \"%s\" at %s is gone: %s", child->name, child->address, why);
    master_free(child->data);
    child->data = NULL;
    r->told = false;
}

/* Without memory, or when it does not tell: it may have solved every problem. */
static void take_solves(struct master *master, const struct extensions *extensions)
{
    const struct extension *told = extension_find(extensions, EXTENSION_SOLVES);
    struct extension *kept = &master->solves;
    if (told && kept->value && kept->length == told->length &&
        (told->length == 0 || memcmp(kept->value, told->value, told->length) == 0))
        return;
    free((uint8_t *)kept->value);
    uint8_t *copy = told ? malloc(told->length + 1) : NULL;
    if (copy && told->length > 0)
        memcpy(copy, told->value, told->length);
    *kept = (struct extension){EXTENSION_SOLVES, copy, copy ? told->length : 0};
}

static void on_report(void *self, struct child *child, const struct report *report, bool whole)
{
    struct master *master = child->data;
    struct redirector *r = self;
    (void)whole; /* every report tells all */
    for (uint32_t i = 0; i < report->n_records; i++) {
        const struct node_record *record = &report->records[i];
        if (strcmp(record->name, child->name) != 0)
            continue;
        const struct extension *servers = extension_find(&record->extensions, EXTENSION_SERVERS);
        master->totals = (struct node_record){
            .slots = record->slots,
            .queued = record->queued,
            .running = record->running,
            .completed = record->completed,
            .failed = record->failed,
        };
        if (servers && servers->length == sizeof master->servers)
            memcpy(&master->servers, servers->value, sizeof master->servers);
        take_solves(master, &record->extensions);
        names_take(r, master, &record->extensions);
        names_compare(r, master);
    }
}

static void on_refused(void *self, const char *name, const char *why)
{
    (void)self;
    log_debug("\"%s\" is refused: %s", name, why);
}

static const struct children_ops children_ops = {
    .post = redirector_post,
    .ancestors = on_ancestors,
    .refuges = on_refuges,
    .refer = on_refer,
    .joined = on_joined,
    .lost = on_lost,
    .report = on_report,
    .refused = on_refused,
};

enum esp_status masters_create(struct redirector *r, const struct children_options *options,
                               struct esp_error *error)
{
    return children_create(options, &children_ops, r, &r->children, error);
}

void masters_clear(struct redirector *r)
{
    if (r->children)
        for (struct child *child = children_first(r->children); child; child = child->hh.next)
            master_free(child->data);
    children_destroy(r->children);
    absent_release(&r->absentees);
    lost_problems_release(&r->lost_problems);
}
