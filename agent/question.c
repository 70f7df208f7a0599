/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions that go down the tree, to exactly the children that can solve the problem or hold one of the
 * data, all at once.
 */
#include "agent/agent_internal.h"

#include <stdlib.h>

/* ---- making one ---- */

void question_free(struct agent *agent, struct question *question)
{
    timers_cancel(&agent->timers, &question->timer);
    if (question->hh.tbl)
        HASH_DEL(agent->questions, question);
    for (uint32_t i = 0; i < question->n_asked; i++) {
        free(question->asked[i].child);
        free(question->asked[i].certificate);
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

void question_choose_children(struct agent *agent, struct question *question, const struct variant *variant)
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

struct question *question_create(struct agent *agent, struct message *ask, int64_t wait_ms)
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

void question_send(struct agent *agent, struct question *question, int64_t wait_ms)
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
    group_answer(agent, question);
    question_free(agent, question);
    group_go_on(agent, group);
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
    int64_t wait_ms = (int64_t)((double)ask->time_left_ms * QUESTION_SHARE_OF_TIME);
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
    question_choose_children(agent, question, variant);
    if (question->n_asked == 0)
        conclude(question);
    else
        question_send(agent, question, wait_ms);
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
        /* Best effort: without memory it is not known. */
        if (child->role == ROLE_SERVER && envelope->identity && *envelope->identity && !asked->certificate)
            asked->certificate = strdup(envelope->identity);
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
    groups_clear(agent);
}
