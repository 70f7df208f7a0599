/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of the fake agents and the fake redirector. */
#include "tests/unit/fake_internal.h"
#include "core/choice/ahead.h"
#include "core/forecast/told_links.h"
#include "core/hierarchy/absent.h"
#include "core/hierarchy/lost_problems.h"

#include <string.h>

enum esp_status fake_on_submit(struct fake *fake, const struct message *request, struct message *reply,
                               struct esp_error *error)
{
    const struct request *asked = &request->submit.request;
    struct submit_reply *to = &reply->submit_reply;
    const struct path access = told_access(&asked->extensions);
    fake->counters.submits++;
    fake->counters.access_s = access.latency_s;
    fake->counters.access_bps = access.bandwidth_bps;
    to->candidates = arena_alloc(&reply->arena, SERVERS * sizeof *to->candidates);
    for (int i = 0; i < SERVERS; i++) {
        bool excluded = false;
        for (uint32_t k = 0; k < asked->n_excluded; k++)
            excluded |= strcmp(asked->excluded[k], fake_names[i]) == 0;
        if (!excluded)
            to->candidates[to->n_candidates++] = (struct candidate){.server = fake_names[i],
                                                                    .address = fake_addresses[i],
                                                                    .incarnation = (uint64_t)i + 1,
                                                                    .compute_s = 0.5,
                                                                    .transfer_s = 0.25,
                                                                    .error_s = 0.1};
    }
    to->capable = SERVERS;
    to->asked = true;
    to->placement = ++fake->placements;
    uint8_t order[AHEAD_MOST];
    uint32_t n = 0;
    while (to->n_candidates && n < fake->ahead && n < ahead_asked(asked).n) {
        order[n] = (uint8_t)((n + 1) % to->n_candidates);
        n++;
    }
    ahead_tell(to, order, n, &reply->arena);
    return to->n_candidates ? ESP_OK : fake_fail(error, ESP_NO_SERVER, "all are excluded");
}

enum esp_status fake_on_describe(struct fake *fake, const struct message *request, struct message *reply,
                                 struct esp_error *error)
{
    const struct problem *problem = problem_find(fake->set, request->describe.problem);
    fake->counters.describes++;
    if (!problem)
        return fake_fail(error, ESP_UNKNOWN_PROBLEM, "nobody can solve that");
    reply->describe_reply.text = arena_strdup(&reply->arena, problem->source);
    reply->describe_reply.digest = problem->digest;
    reply->describe_reply.servers = SERVERS;
    return ESP_OK;
}

void fake_on_list(struct fake *fake, const struct message *request, struct message *reply)
{
    struct list_reply *to = &reply->list_reply;
    to->items = arena_alloc(&reply->arena, fake->set->n_problems * sizeof *to->items);
    for (size_t i = 0; i < fake->set->n_problems; i++) {
        const struct problem *problem = fake->set->problems[i];
        if (strcmp(problem->name, request->list.after) <= 0)
            continue;
        if (to->n == 3) { /* small pages, so that there are several */
            to->more = true;
            break;
        }
        to->items[to->n++] = (struct listed){.problem = problem->name,
                                             .title = problem->title,
                                             .gams = "",
                                             .digest = problem->digest,
                                             .servers = SERVERS};
    }
}

static struct node_record record(int i, const char *parent, enum node_role role)
{
    return (struct node_record){.name = fake_names[i],
                                .parent = parent,
                                .address = fake_addresses[i],
                                .role = role,
                                .incarnation = (uint64_t)i + 1,
                                .slots = role == ROLE_SERVER};
}

void fake_on_tree(int at, const struct message *request, struct message *reply)
{
    struct tree_reply *to = &reply->tree_reply;
    to->records = arena_alloc(&reply->arena, ADDRESSES * sizeof *to->records);
    if (at == 3) {
        to->records[to->n_records++] = record(3, "", ROLE_REDIRECTOR);
        to->records[to->n_records++] = record(4, "red", ROLE_MASTER);
        to->records[to->n_records++] = record(5, "red", ROLE_MASTER);
        return;
    }
    to->records[to->n_records++] = record(at, "", at < SERVERS ? ROLE_SERVER : ROLE_MASTER);
    for (int i = 0; at == 4 && i < SERVERS; i++)
        to->records[to->n_records++] = record(i, "ma1", ROLE_SERVER);
    if (!*request->tree.node)
        return;
    uint32_t n = to->n_records;
    to->n_records = 0;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(to->records[i].name, request->tree.node) == 0)
            to->records[to->n_records++] = to->records[i];
}

/* It names the second master only, and says that it does not know all. */
static void locate_fresh(struct message *reply)
{
    struct locate_reply *to = &reply->locate_reply;
    struct extension *learning = arena_alloc(&reply->arena, sizeof *learning);
    *learning = (struct extension){.tag = EXTENSION_LEARNING};
    to->masters = arena_alloc(&reply->arena, sizeof *to->masters);
    to->masters[to->n_masters++] = (struct master_entry){.name = fake_names[5], .address = fake_addresses[5]};
    to->extensions = (struct extensions){learning, 1};
}

void fake_on_locate(struct fake *fake, int at, struct message *reply)
{
    struct locate_reply *to = &reply->locate_reply;
    fake->counters.locates++;
    if (fake->faults[at].fresh > 0) {
        fake->faults[at].fresh--;
        locate_fresh(reply);
        return;
    }
    struct absentees absentees = {0};
    struct lost_problems lost = {0};
    struct extension *absent = arena_alloc(&reply->arena, 2 * sizeof *absent);
    const char *solved = NULL;
    to->masters = arena_alloc(&reply->arena, 2 * sizeof *to->masters);
    for (int i = 4; i <= 5; i++) {
        const struct child child = {.name = (char *)fake_names[i], .address = (char *)fake_addresses[i]};
        if (fake->faults[i].missing) {
            absent_note(&absentees, &child);
            solved = fake->faults[i].solved;
        } else
            to->masters[to->n_masters++] = (struct master_entry){
                .name = fake_names[i], .address = fake_addresses[i], .servers = SERVERS};
    }
    if (absentees.n > 0 && absent_pack(&absentees, 0, &reply->arena, absent))
        to->extensions = (struct extensions){absent, 1};
    if (solved)
        lost_problems_note(&lost, lost_problem(solved), CLOCK_NEVER);
    if (to->extensions.n > 0 && solved && lost_problems_tell(&lost, 0, &reply->arena, &absent[1]))
        to->extensions.n = 2;
    lost_problems_release(&lost);
    absent_release(&absentees);
}
