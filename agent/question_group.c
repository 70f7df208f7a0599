/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of clients that are asked down.
 *
 * Equal requests that come while one of them is being asked wait and are asked together, with a breadth that
 * grows by their number; and every question's breadth grows by the number of all requests that are not
 * decided yet. So however many are in flight, each finds in its answer a server that those before it have not
 * taken: the j-th of them needs at most the best j.
 */
#include "agent/agent_internal.h"

#include "core/problem/problem.h"

#include <stdlib.h>

static void member_free(struct agent *agent, struct member **list, struct member *member)
{
    DL_DELETE(*list, member);
    agent->undecided--;
    free(member);
}

static void refuse_member(struct agent *agent, struct member **list, const struct esp_error *error)
{
    struct call *call = (*list)->call;
    const struct submit *submit = (*list)->submit;
    member_free(agent, list, *list);
    agent_refuse(agent, call, submit, error);
}

static void refuse_all(struct agent *agent, struct member **list, const struct esp_error *error)
{
    while (*list)
        refuse_member(agent, list, error);
}

static void group_free(struct agent *agent, struct group *group)
{
    HASH_DEL(agent->groups, group);
    free(group);
}

void group_answer(struct agent *agent, struct question *question)
{
    struct group *group = question->group;
    struct esp_error error;
    struct arena arena = {0};
    struct response merged;
    struct decision *decision =
        decide_merge(question, &arena, &merged) ? decide_begin(question, &merged) : NULL;
    while (decision && group->members) {
        decide_member(decision, group->members);
        member_free(agent, &group->members, group->members);
    }
    decide_end(decision);
    arena_clear(&arena);
    error_no_memory(&error, "an answer");
    refuse_all(agent, &group->members, &error);
}

/* What makes requests equal: everything but whose they are. */
static uint64_t group_digest(const struct request *request)
{
    struct message message = {.kind = MESSAGE_ASK, .ask = {.request = *request}};
    struct memory_wire out;
    message.ask.request.session = (struct session_id){0};
    message.ask.request.candidates = 0;
    memory_wire_encoder(&out, MESSAGE_BYTES);
    uint64_t digest = 0;
    if (wire_message(&out.wire, &message))
        digest = digest_text((const char *)out.data, out.size);
    memory_wire_release(&out);
    return digest;
}

static struct group *group_acquire(struct agent *agent, uint64_t digest)
{
    struct group *group;
    HASH_FIND(hh, agent->groups, &digest, sizeof digest, group);
    if (group || !(group = calloc(1, sizeof *group)))
        return group;
    group->digest = digest;
    HASH_ADD(hh, agent->groups, digest, sizeof group->digest, group);
    if (group->hh.tbl)
        return group;
    free(group);
    return NULL;
}

static int64_t wait_of(const struct agent *agent, const struct submit *submit)
{
    int64_t wait_ms = agent->options.answer_timeout_ms;
    if (submit->time_left_ms && (double)submit->time_left_ms * QUESTION_SHARE_OF_TIME < (double)wait_ms)
        wait_ms = (int64_t)((double)submit->time_left_ms * QUESTION_SHARE_OF_TIME);
    return wait_ms > 0 ? wait_ms : 1;
}

static uint32_t wanted_breadth(const struct agent *agent, const struct group *group)
{
    uint32_t breadth = agent->options.breadth;
    const struct member *member;
    if (extension_find(&group->members->submit->request.extensions, EXTENSION_FORECAST))
        return CAP_CANDIDATES; /* all servers are wanted */
    DL_FOREACH(group->members, member)
    if (member->submit->request.candidates > breadth)
        breadth = member->submit->request.candidates;
    breadth += agent->undecided - 1;
    return breadth < CAP_CANDIDATES ? breadth : CAP_CANDIDATES;
}

/* Asks for group->members. */
static void start(struct agent *agent, struct group *group, const struct variant *variant)
{
    const struct submit *submit = group->members->submit;
    int64_t wait_ms = wait_of(agent, submit);
    struct message ask = {.kind = MESSAGE_ASK,
                          .ask = {.breadth = wanted_breadth(agent, group), .request = submit->request}};
    ask.ask.request.session.secret = 0; /* nobody below needs it to make an estimate */
    struct esp_error error;
    struct question *question = question_create(agent, message_clone(&ask), wait_ms);
    if (question) {
        question->group = group;
        group->question = question;
        question_choose_children(agent, question, variant);
    }
    if (question && question->n_asked > 0) {
        agent->asked++;
        question_send(agent, question, wait_ms);
        return;
    }
    if (!question)
        error_no_memory(&error, "a question to the servers");
    else if (variant)
        submit_explain(agent, variant, &submit->request, &error);
    else
        error_set(&error, ESP_UNKNOWN_PROBLEM, "no server below \"%s\" solves %s any more", agent->name,
                  submit->request.problem);
    refuse_all(agent, &group->members, &error);
    refuse_all(agent, &group->later, &error);
    if (question)
        question_free(agent, question);
    group_free(agent, group);
}

void group_go_on(struct agent *agent, struct group *group)
{
    group->question = NULL;
    if (!group->later) {
        group_free(agent, group);
        return;
    }
    group->members = group->later;
    group->later = NULL;
    const struct request *request = &group->members->submit->request;
    start(agent, group, catalog_choose(agent->catalogs, request->problem, request->digest));
}

void question_submit(struct agent *agent, struct call *call, const struct submit *submit,
                     const struct variant *variant)
{
    struct esp_error error;
    struct member *member = calloc(1, sizeof *member);
    struct group *group = NULL;
    if (agent->undecided >= agent->options.waiting)
        error_set(&error, ESP_LIMIT, "%u requests wait for answers already", agent->undecided);
    else if (!member || !(group = group_acquire(agent, group_digest(&submit->request))))
        error_no_memory(&error, "a request");
    if (!group) {
        free(member);
        agent_refuse(agent, call, submit, &error);
        return;
    }
    *member = (struct member){.call = call, .submit = submit, .since_ns = agent_now(agent)};
    call_set_data(call, group);
    agent->undecided++;
    if (group->question) {
        DL_APPEND(group->later, member);
        return;
    }
    DL_APPEND(group->members, member);
    start(agent, group, variant);
}

static bool abandon_in(struct agent *agent, struct member **list, const struct call *call)
{
    struct member *member;
    DL_FOREACH(*list, member)
    if (member->call == call) {
        member_free(agent, list, member);
        return true;
    }
    return false;
}

void question_abandon(struct agent *agent, struct call *call)
{
    struct group *group = call_data(call);
    if (group && !abandon_in(agent, &group->members, call))
        abandon_in(agent, &group->later, call);
}

void groups_clear(struct agent *agent)
{
    struct group *group, *next;
    HASH_ITER(hh, agent->groups, group, next)
    {
        while (group->members)
            member_free(agent, &group->members, group->members);
        while (group->later)
            member_free(agent, &group->later, group->later);
        group_free(agent, group);
    }
}
