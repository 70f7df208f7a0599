/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions that go down the tree, to exactly the children that can solve the problem or hold one of the
 * data, all at once.
 *
 * Equal requests that come while one of them is being asked wait and are asked together, with a breadth that
 * grows by their number; and every question's breadth grows by the number of all requests that are not
 * decided yet. So however many are in flight, each finds in its answer a server that those before it have not
 * taken: the j-th of them needs at most the best j.
 */
#include "agent/agent_internal.h"

#include "core/problem/problem.h"

#include <stdlib.h>

/* A child may use this much of the time that is left, so that its answer still arrives in time. */
#define SHARE_OF_TIME 0.8

static void start(struct agent *agent, struct group *group, const struct variant *variant);

/* ---- making one ---- */

static void question_free(struct agent *agent, struct question *question)
{
    timers_cancel(&agent->timers, &question->timer);
    if (question->hh.tbl)
        HASH_DEL(agent->questions, question);
    for (uint32_t i = 0; i < question->n_asked; i++) {
        free(question->asked[i].child);
        message_destroy(question->asked[i].answer);
    }
    free(question->asked);
    free(question->parent_address);
    message_destroy(question->ask);
    free(question);
}

static bool add_asked(struct question *question, struct branch *branch)
{
    for (uint32_t i = 0; i < question->n_asked; i++)
        if (question->asked[i].branch == branch)
            return true;
    struct asked *asked = realloc(question->asked, (question->n_asked + 1) * sizeof *asked);
    if (!asked)
        return false;
    question->asked = asked;
    char *child = strdup(branch->name);
    if (!child)
        return false;
    asked[question->n_asked++] = (struct asked){.child = child, .branch = branch, .open = true};
    question->n_open++;
    return true;
}

/* Who can tell how far the datum is from the servers, besides those who are asked anyway. */
static void choose_holders(struct agent *agent, struct question *question,
                           const struct argument_attribute *argument)
{
    struct child *children[DATA_REPLICAS_MOST];
    const struct knowledge_node *holder = knowledge_find(agent->knowledge, argument->holder);
    if (holder)
        add_asked(question, holder->branch);
    size_t n = data_children(agent, argument->datum, children, DATA_REPLICAS_MOST);
    for (size_t i = 0; i < n; i++)
        if (children[i]->data)
            add_asked(question, children[i]->data);
}

static void choose_children(struct agent *agent, struct question *question, const struct variant *variant)
{
    const struct request *request = &question->ask->ask.request;
    const struct knowledge_node *only =
        *request->server ? knowledge_find(agent->knowledge, request->server) : NULL;
    struct branch *branch;
    for (branch = knowledge_branches(agent->knowledge); variant && branch; branch = branch->next)
        if (branch_can_solve(branch, variant) && (!*request->server || (only && only->branch == branch)))
            add_asked(question, branch);
    for (uint32_t i = 0; i < request->n_arguments; i++)
        if (argument_is_datum(&request->arguments[i]))
            choose_holders(agent, question, &request->arguments[i]);
}

static void on_time_over(struct timer *timer, int64_t now_ns, void *context);

/* `ask` is taken over, with its request; NULL is no memory. */
static struct question *question_create(struct agent *agent, struct message *ask, int64_t wait_ms)
{
    struct question *question = ask ? calloc(1, sizeof *question) : NULL;
    if (!question) {
        message_destroy(ask);
        return NULL;
    }
    question->agent = agent;
    question->ask = ask;
    question->breadth = ask->ask.breadth;
    question->id = ++agent->next_question;
    question->sent_ns = agent_now(agent);
    question->timer = (struct timer){.fire = on_time_over, .context = question};
    HASH_ADD(hh, agent->questions, id, sizeof question->id, question);
    if (!question->hh.tbl || timers_set(&agent->timers, &question->timer,
                                        question->sent_ns + wait_ms * NS_PER_MS, NULL) != ESP_OK) {
        question_free(agent, question);
        return NULL;
    }
    return question;
}

static void send(struct agent *agent, struct question *question, int64_t wait_ms)
{
    submit_announce(agent); /* what has been placed is counted below before it answers */
    question->ask->ask.id = question->id;
    question->ask->ask.time_left_ms = (uint64_t)wait_ms;
    if (log_wants(LOG_DEBUG_LEVEL)) {
        char text[SESSION_TEXT];
        log_write(LOG_DEBUG_LEVEL, session_id_text(&question->ask->ask.request.session, text),
                  "asking %u children about %s", question->n_asked, question->ask->ask.request.problem);
    }
    for (uint32_t i = 0; i < question->n_asked; i++) {
        const struct child *child = down_child(question->asked[i].branch);
        children_post_to(agent->children, child, question->ask);
    }
}

/* ---- the end of one ---- */

static void answer_parent(struct agent *agent, struct question *question)
{
    struct message message = {.kind = MESSAGE_ANSWER, .answer = {.id = question->parent_id}};
    struct answer *answer = &message.answer;
    if (!decide_merge(question, &message.arena, &answer->response))
        answer->outcome = (struct outcome){ESP_NO_MEMORY, "out of memory"};
    else
        aggregate_cut(&question->ask->ask.request, &answer->response, question->breadth, agent->scheduler,
                      decide_remember, agent, &agent->random);
    trace_note(&agent->duty.trace, &question->ask->ask.request.session, TRACE_ASKED, question->sent_ns,
               agent_now(agent), "below");
    agent_post(agent, question->parent_address, question->parent_incarnation, &message);
    arena_clear(&message.arena);
}

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

static void answer_members(struct agent *agent, struct question *question)
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

/* All have answered, or the time is over. */
static void conclude(struct question *question)
{
    struct agent *agent = question->agent;
    struct group *group = question->group;
    timers_cancel(&agent->timers, &question->timer);
    if (!group) {
        answer_parent(agent, question);
        question_free(agent, question);
        return;
    }
    answer_members(agent, question);
    question_free(agent, question);
    group->question = NULL;
    if (!group->later) {
        group_free(agent, group);
        return;
    }
    group->members = group->later;
    group->later = NULL;
    const struct request *request = &group->members->submit->request;
    const struct variant *variant = catalog_choose(agent->catalogs, request->problem, request->digest);
    start(agent, group, variant);
}

static void on_time_over(struct timer *timer, int64_t now_ns, void *context)
{
    struct question *question = context;
    (void)timer;
    (void)now_ns;
    for (uint32_t i = 0; i < question->n_asked; i++)
        if (question->asked[i].open) {
            log_debug("\"%s\" did not answer in time", question->asked[i].child);
            question->agent->counts.unanswered++;
        }
    conclude(question);
}

/* ---- requests of clients ---- */

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
    if (submit->time_left_ms && (double)submit->time_left_ms * SHARE_OF_TIME < (double)wait_ms)
        wait_ms = (int64_t)((double)submit->time_left_ms * SHARE_OF_TIME);
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
        choose_children(agent, question, variant);
    }
    if (question && question->n_asked > 0) {
        agent->asked++;
        send(agent, question, wait_ms);
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

/* ---- asks from above ---- */

static void answer_at_once(struct agent *agent, const struct envelope *envelope, const struct ask *ask,
                           const struct variant *variant)
{
    struct message message = {.kind = MESSAGE_ANSWER, .answer = {.id = ask->id}};
    decide_from_memory(agent, variant, &ask->request, ask->breadth, &message.arena, &message.answer.response);
    const int64_t now_ns = agent_now(agent);
    trace_note(&agent->duty.trace, &ask->request.session, TRACE_ASKED, now_ns, now_ns, "memory");
    agent_post(agent, membership_parent_address(agent->membership), envelope->from_incarnation, &message);
    arena_clear(&message.arena);
}

void question_on_ask(struct agent *agent, const struct envelope *envelope, const struct ask *ask)
{
    const struct request *request = &ask->request;
    agent->counts.asks++;
    const struct variant *variant = catalog_variant(agent->catalogs, request->digest);
    if (variant && !request_has_data(request) &&
        knowledge_is_fresh(agent->knowledge, variant, agent->options.freshness_ms * NS_PER_MS)) {
        answer_at_once(agent, envelope, ask, variant);
        return;
    }
    int64_t wait_ms = (int64_t)((double)ask->time_left_ms * SHARE_OF_TIME);
    if (wait_ms < 1)
        wait_ms = 1;
    if (wait_ms > agent->options.answer_timeout_ms)
        wait_ms = agent->options.answer_timeout_ms;
    struct message message = {.kind = MESSAGE_ASK, .ask = *ask};
    if (message.ask.breadth > CAP_CANDIDATES)
        message.ask.breadth = CAP_CANDIDATES;
    struct question *question = question_create(agent, message_clone(&message), wait_ms);
    if (!question)
        return; /* the asker does without */
    question->parent_id = ask->id;
    question->parent_incarnation = envelope->from_incarnation;
    question->parent_address = strdup(membership_parent_address(agent->membership));
    if (!question->parent_address) {
        question_free(agent, question);
        return;
    }
    choose_children(agent, question, variant);
    if (question->n_asked == 0)
        conclude(question);
    else
        send(agent, question, wait_ms);
}

/* ---- answers ---- */

void question_on_answer(struct agent *agent, const struct envelope *envelope, const struct message *message)
{
    const struct child *child = children_speaker(agent->children, envelope);
    struct question *question;
    HASH_FIND(hh, agent->questions, &message->answer.id, sizeof message->answer.id, question);
    if (!child || !question)
        return; /* late */
    for (uint32_t i = 0; i < question->n_asked; i++) {
        struct asked *asked = &question->asked[i];
        if (!asked->open || asked->branch != child->data)
            continue;
        asked->open = false;
        question->n_open--;
        if (message->answer.outcome.status == ESP_OK)
            asked->answer = message_clone(message);
    }
    if (question->n_open == 0)
        conclude(question);
}

void question_child_lost(struct agent *agent, const struct branch *branch)
{
    struct question *question, *next;
    HASH_ITER(hh, agent->questions, question, next)
    {
        for (uint32_t i = 0; i < question->n_asked; i++) {
            struct asked *asked = &question->asked[i];
            if (asked->branch != branch)
                continue;
            asked->branch = NULL;
            if (asked->open)
                question->n_open--;
            asked->open = false;
        }
        /* Not concluded from here: the branch is being taken apart. Its time is over at once. */
        if (question->n_open == 0)
            timers_set(&agent->timers, &question->timer, agent_now(agent), NULL);
    }
}

void question_clear(struct agent *agent)
{
    struct question *question, *next;
    HASH_ITER(hh, agent->questions, question, next)
    question_free(agent, question);
    struct group *group, *next_group;
    HASH_ITER(hh, agent->groups, group, next_group)
    {
        while (group->members)
            member_free(agent, &group->members, group->members);
        while (group->later)
            member_free(agent, &group->later, group->later);
        group_free(agent, group);
    }
}
