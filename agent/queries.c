/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions of clients and people other than requests: greet, describe, list, tree.
 */
#include "agent/agent_internal.h"
#include "agent/peers.h"
#include "core/forecast/told_links.h"
#include "core/problem/problem.h"
#include "util/escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void group_answer(struct agent *agent, struct question *question);
static void group_go_on(struct agent *agent, struct group *group);
static void groups_clear(struct agent *agent);

#define LIST_MOST    1000 /* names in one reply; the caller asks for the rest with `after` */
#define WAITING_MOST 1000 /* calls that wait for a description at one time */
#define TREE_BYTES   ((size_t)MESSAGE_BYTES - (64 << 10))

static struct message *greet(struct agent *agent, const struct greet *asked)
{
    struct message *message = message_create(MESSAGE_GREET_REPLY);
    if (!message)
        return NULL;
    struct greet_reply *reply = &message->greet_reply;
    reply->minor = message_minor(asked->minor);
    reply->name = arena_strdup(&message->arena, agent->name);
    reply->role = agent->is_master ? ROLE_MASTER : ROLE_LEADER;
    reply->incarnation = agent->options.incarnation;
    return message;
}

/* ---- describe ---- */

/* A describe request whose description is on its way here. */
struct waiting {
    struct call *call;
    const struct describe *asked; /* lives as long as the call */
    struct agent *agent;
    struct timer timer; /* when peers are asked for it again */
    struct waiting *prev, *next;
};

/* The error for an unknown problem; mentions lost nodes that may have solved it. */
static struct message *unknown_problem(struct agent *agent, const char *problem)
{
    const char *closest = catalog_closest(agent->catalogs, problem);
    char lost[LOST_TEXT], shown[ESCAPED_TEXT], disabled[DISABLED_TEXT], uncallable[UNCALLABLE_TEXT];
    const enum esp_status status =
        *lost_words(agent, problem, lost) != '\0' ? ESP_NO_SERVER : ESP_UNKNOWN_PROBLEM;
    const uint32_t n = disabled_words(agent, problem, disabled);
    if (n > 0) {
        struct message *message =
            message_failure(MESSAGE_DESCRIBE_REPLY, ESP_NO_SERVER, "%s%s", disabled, lost);
        if (message && !*lost)
            message->describe_reply.servers = n;
        return message;
    }
    if (*uncallable_words(agent, problem, uncallable) != '\0')
        closest = NULL;
    return message_failure(MESSAGE_DESCRIBE_REPLY, status, "no server below \"%s\" solves %s%s%s%s%s%s",
                           agent->name, escape(problem, shown), lost, uncallable,
                           closest ? "; did you mean " : "", closest ? closest : "", closest ? "?" : "");
}

#define SIGNATURES_BYTES 600 /* for names of servers */

/* Appends ", NAME" or "NAME" for each server that has the variant; with `others`, for each that has
 * another variant of the same name. */
static size_t name_servers(const struct agent *agent, const struct variant *variant, bool others, char *text,
                           size_t size)
{
    size_t used = 0;
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next) {
        bool has = !others && submit_knows(node, variant);
        for (const struct variant *v = variant->name->variants; others && v; v = v->next)
            has |= v != variant && submit_knows(node, v);
        if (node->role != ROLE_SERVER || !has)
            continue;
        if (used + CAP_NAME + 8 > size)
            return used + (size_t)snprintf(text + used, size - used, ", ...");
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", node->name);
    }
    return used;
}

/* If servers have different signatures for one name, appends a comment line to the description that says
 * which servers have which signature. */
static const char *text_of(const struct agent *agent, const struct variant *variant, struct arena *arena)
{
    char same[SIGNATURES_BYTES] = "", others[SIGNATURES_BYTES] = "";
    if (!variant->name || name_servers(agent, variant, true, others, sizeof others) == 0 ||
        name_servers(agent, variant, false, same, sizeof same) == 0)
        return arena_strdup(arena, variant->text);
    const size_t size = strlen(variant->text) + 2 * SIGNATURES_BYTES + 100;
    char *text = arena_alloc(arena, size);
    if (text)
        snprintf(text, size,
                 "%s\n" DESCRIBE_SIGNATURES "this signature is that of %s; another one is that of %s\n",
                 variant->text, same, others);
    return text;
}

static struct message *description(const struct agent *agent, const struct variant *variant)
{
    struct message *message = message_create(MESSAGE_DESCRIBE_REPLY);
    if (!message)
        return NULL;
    struct describe_reply *reply = &message->describe_reply;
    reply->digest = variant->digest;
    reply->text = text_of(agent, variant, &message->arena);
    reply->servers = variant_servers(variant);
    return message;
}

/* Returns false if the answer has to wait. */
static bool describe(struct agent *agent, struct call *call, const struct describe *asked)
{
    const struct variant *variant = catalog_choose(agent->catalogs, asked->problem, 0);
    if (variant ? !variant->text : learning_is(agent))
        return false;
    const struct message request = {.kind = MESSAGE_DESCRIBE, .describe = *asked};
    peers_reply(agent, call, &request,
                variant ? description(agent, variant) : unknown_problem(agent, asked->problem));
    return true;
}

static void describe_on_call(struct agent *agent, struct call *call, const struct describe *asked);

static void waiting_free(struct agent *agent, struct waiting *waiting)
{
    timers_cancel(&agent->timers, &waiting->timer);
    DL_DELETE(agent->waiting, waiting);
    agent->n_waiting--;
    free(waiting);
}

static void on_waiting(struct timer *timer, int64_t now_ns, void *context)
{
    struct waiting *waiting = context;
    struct agent *agent = waiting->agent;
    struct call *call = waiting->call;
    const struct describe *asked = waiting->asked;
    (void)timer;
    (void)now_ns;
    waiting_free(agent, waiting);
    describe_on_call(agent, call, asked);
}

static void wait_for_text(struct agent *agent, struct call *call, const struct describe *asked)
{
    struct waiting *waiting = agent->n_waiting < WAITING_MOST ? calloc(1, sizeof *waiting) : NULL;
    if (!waiting) {
        char shown[ESCAPED_TEXT];
        call_reply(call, message_failure(MESSAGE_DESCRIBE_REPLY, ESP_LIMIT,
                                         "the description of %s is still on its way here",
                                         escape(asked->problem, shown)));
        return;
    }
    waiting->call = call;
    waiting->asked = asked;
    waiting->agent = agent;
    waiting->timer = (struct timer){.fire = on_waiting, .context = waiting};
    if (agent->n_registered > 0 && !catalog_choose(agent->catalogs, asked->problem, 0))
        timers_set(&agent->timers, &waiting->timer, agent_now(agent) + LEARNING_ASK_NS, NULL);
    DL_APPEND(agent->waiting, waiting);
    agent->n_waiting++;
}

void queries_catalogs_changed(struct agent *agent)
{
    struct waiting *waiting, *next;
    DL_FOREACH_SAFE(agent->waiting, waiting, next)
    if (describe(agent, waiting->call, waiting->asked))
        waiting_free(agent, waiting);
}

bool queries_abandon(struct agent *agent, const struct call *call)
{
    struct waiting *waiting;
    DL_FOREACH(agent->waiting, waiting)
    if (waiting->call == call) {
        waiting_free(agent, waiting);
        return true;
    }
    return false;
}

void queries_clear(struct agent *agent)
{
    while (agent->waiting)
        waiting_free(agent, agent->waiting);
}

/* ---- list ---- */

static uint32_t count_entries(struct agent *agent, const char *const *names, size_t n)
{
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += !catalog_problem(agent->catalogs, names[i]);
        for (const struct variant *v = catalog_problem(agent->catalogs, names[i]); v; v = v->next)
            count++;
    }
    return count;
}

/* The entry of a problem that no server solves because it was disabled. */
static struct listed disabled_entry(struct agent *agent, const char *name, struct arena *arena)
{
    char words[DISABLED_TEXT];
    disabled_words(agent, name, words);
    return (struct listed){
        .problem = arena_strdup(arena, name), .title = arena_strdup(arena, words), .gams = ""};
}

static bool fill_list(struct agent *agent, const char *const *names, size_t n, struct message *message)
{
    struct list_reply *reply = &message->list_reply;
    struct arena *arena = &message->arena;
    reply->items = arena_alloc(arena, count_entries(agent, names, n) * sizeof *reply->items);
    for (size_t i = 0; reply->items && i < n; i++) {
        if (!catalog_problem(agent->catalogs, names[i]))
            reply->items[reply->n++] = disabled_entry(agent, names[i], arena);
        for (const struct variant *v = catalog_problem(agent->catalogs, names[i]); v; v = v->next)
            reply->items[reply->n++] = (struct listed){
                .problem = arena_strdup(arena, v->problem),
                .title = arena_strdup(arena, v->title),
                .gams = arena_strdup(arena, v->gams),
                .digest = v->digest,
                .servers = variant_servers(v),
            };
    }
    return reply->items != NULL;
}

/* Merges two sorted lists that have no name in common. */
static size_t merge_names(const char *const *some, size_t n_some, const char *const *others, size_t n_others,
                          const char **names, size_t limit)
{
    size_t i = 0, k = 0;
    while (i + k < limit && (i < n_some || k < n_others)) {
        const bool first = k == n_others || (i < n_some && strcmp(some[i], others[k]) < 0);
        names[i + k] = first ? some[i] : others[k];
        *(first ? &i : &k) += 1;
    }
    return i + k;
}

static size_t list_names(struct agent *agent, const char *after, size_t limit, const char **names, bool *more)
{
    bool more_known, more_disabled;
    const char **known = names + limit, **disabled = known + limit;
    const size_t n_known = catalog_names(agent->catalogs, after, known, limit, &more_known);
    const size_t n_disabled = disabled_names(agent, after, disabled, limit, &more_disabled);
    *more = more_known || more_disabled || n_known + n_disabled > limit;
    return merge_names(known, n_known, disabled, n_disabled, names, limit);
}

static struct message *list(struct agent *agent, const struct list *asked)
{
    size_t limit = asked->limit && asked->limit < LIST_MOST ? asked->limit : LIST_MOST;
    const char **names = malloc(3 * limit * sizeof *names);
    struct message *message = names ? message_create(MESSAGE_LIST_REPLY) : NULL;
    if (message) {
        size_t n = list_names(agent, asked->after, limit, names, &message->list_reply.more);
        if (!fill_list(agent, names, n, message)) {
            message_destroy(message);
            message = NULL;
        }
    }
    free(names);
    return message;
}

/* ---- tree ---- */

/* In trees with more nodes, the weather of servers is left out; it takes a third of a record. */
#define MOST_WITH_WEATHER 5000

static bool keep_shown(struct arena *arena, const struct extensions *all, bool with_weather,
                       struct extensions *kept)
{
    static const uint32_t tags[] = {EXTENSION_LOOPBACK_ONLY, EXTENSION_WEATHER,   EXTENSION_SENSES,
                                    EXTENSION_LINK_BACK,     EXTENSION_HOST_RATE, EXTENSION_HOST_LATENCY};
    enum { N = sizeof tags / sizeof *tags };
    const size_t n = with_weather ? N : 1;
    struct extension *copies = arena_alloc(arena, N * sizeof *copies);
    if (!copies)
        return false;
    *kept = (struct extensions){copies, 0};
    for (size_t i = 0; i < n; i++) {
        const struct extension *told = extension_find(all, tags[i]);
        if (!told)
            continue;
        const uint8_t *value = arena_memdup(arena, told->value, told->length);
        if (!value)
            return false;
        copies[kept->n++] = (struct extension){told->tag, value, told->length};
    }
    return true;
}

bool queries_own_record(struct arena *arena, struct node_record *record, bool with_weather)
{
    const struct extensions all = record->extensions;
    record->name = arena_strdup(arena, record->name);
    record->parent = arena_strdup(arena, record->parent);
    record->address = arena_strdup(arena, record->address);
    record->marks = arena_memdup(arena, record->marks, record->n_marks * sizeof *record->marks);
    return record->name && record->parent && record->address && record->marks &&
           keep_shown(arena, &all, with_weather, &record->extensions);
}

static bool count_disabled(const struct agent *agent, struct arena *arena, struct node_record *record)
{
    const struct knowledge_node *node = knowledge_find(agent->knowledge, record->name);
    uint64_t n = 0;
    for (const char *name = NULL; node && (name = node_disabled_next(node, name));)
        n++;
    return n == 0 || terms_add_integer(&record->extensions, EXTENSION_DISABLED, n, arena);
}

/* Leaves out nodes that do not fit one message, the deepest first. The first record says how many. */
static bool cut(struct message *message)
{
    struct tree_reply *reply = &message->tree_reply;
    size_t bytes = 0;
    uint32_t n = 0;
    while (n < reply->n_records && n < CAP_RECORDS &&
           (bytes += knowledge_record_bytes(&reply->records[n])) <= TREE_BYTES)
        n++;
    if (n == reply->n_records)
        return true;
    struct extension *extension = arena_alloc(&message->arena, sizeof *extension);
    uint64_t *left_out = arena_alloc(&message->arena, sizeof *left_out);
    if (!extension || !left_out)
        return false;
    *left_out = reply->n_records - n;
    *extension = (struct extension){EXTENSION_LEFT_OUT, (const uint8_t *)left_out, sizeof *left_out};
    reply->records[0].extensions = (struct extensions){extension, 1};
    reply->n_records = n;
    return true;
}

/* Milliseconds for which it is worth to wait for an absent node: it is being restarted, may be, or this
 * agent is warming up. 0: not known. */
static int64_t absence_ms(const struct agent *agent, const char *name)
{
    const int64_t now_ns = agent_now(agent);
    const int64_t returns_ns = returning_left_ns(&agent->returning, name, now_ns);
    return (returns_ns > 0 ? returns_ns : agent->learned_ns - now_ns) / NS_PER_MS;
}

/* Adds how long the caller should wait for the node. Without memory, the caller does not wait. */
static void add_expected(struct message *message, const char *name, int64_t ms)
{
    struct node_record *record = arena_alloc(&message->arena, sizeof *record);
    if (!record)
        return;
    *record = (struct node_record){
        .name = arena_strdup(&message->arena, name), .parent = "", .address = "", .role = ROLE_SERVER};
    if (!record->name ||
        !terms_add_integer(&record->extensions, EXTENSION_EXPECTED, (uint64_t)ms, &message->arena))
        return;
    message->tree_reply.records = record;
    message->tree_reply.n_records = 1;
}

/* ESP_NO_SERVER: the node may return soon. */
static struct message *no_node(struct agent *agent, const char *name)
{
    char closest[CLOSEST_TEXT];
    const bool learning = learning_is(agent), lost = lost_has(agent, name);
    const int64_t ms = absence_ms(agent, name);
    struct message *message =
        message_failure(MESSAGE_TREE_REPLY, lost || learning ? ESP_NO_SERVER : ESP_NOT_FOUND,
                        "no node named \"%s\" below \"%s\"%s", name, agent->name,
                        lost       ? "; it was there, and cannot be reached"
                        : learning ? ", which was just started and does not know all yet"
                        : ms > 0   ? ""
                                   : closest_node(agent, name, false, closest));
    if (message && ms > 0)
        add_expected(message, name, ms);
    return message;
}

/* Adds the other node of the same name, because the caller may mean that one. */
static bool add_namesake(const struct agent *agent, const struct knowledge_node *node,
                         struct message *message)
{
    const struct namesake namesake = {node->name, node->incarnation, registered_shares(agent, node)};
    struct extensions *extensions = &message->tree_reply.records[0].extensions;
    struct extension extension;
    return !namesake.why ||
           (namesake_pack(&namesake, &message->arena, &extension) &&
            extension_add(extensions, extension.tag, extension.value, extension.length, &message->arena));
}

static struct message *tree(struct agent *agent, const struct tree *asked)
{
    struct message *message = message_create(MESSAGE_TREE_REPLY);
    if (!message)
        return NULL;
    struct tree_reply *reply = &message->tree_reply;
    struct node_record own = agent_own_record(agent);
    const struct knowledge_node *node = NULL;
    bool whole;
    if (!*asked->node) {
        whole = knowledge_tree(agent->knowledge, &own, &message->arena, &reply->records, &reply->n_records);
    } else {
        node = knowledge_find(agent->knowledge, asked->node);
        if (!node && strcmp(asked->node, agent->name) != 0) {
            message_destroy(message);
            return no_node(agent, asked->node);
        }
        whole = (reply->records = arena_alloc(&message->arena, sizeof *reply->records)) != NULL;
        if (whole && node)
            whole = knowledge_record(agent->knowledge, node, &message->arena, reply->records);
        else if (whole)
            *reply->records = own;
        reply->n_records = 1;
    }
    for (uint32_t i = 0; whole && i < reply->n_records; i++)
        whole =
            queries_own_record(&message->arena, &reply->records[i], reply->n_records <= MOST_WITH_WEATHER) &&
            count_disabled(agent, &message->arena, &reply->records[i]);
    whole = whole && (!node || add_namesake(agent, node, message));
    if (whole && (*asked->node || (lost_add(agent, message) && cut(message))))
        return message;
    message_destroy(message);
    return NULL;
}

void queries_describe_again(struct agent *agent, struct call *call, const struct describe *asked)
{
    if (!describe(agent, call, asked))
        wait_for_text(agent, call, asked);
}

/* During the warm-up of this agent, its peers may know an unknown description. */
static void describe_on_call(struct agent *agent, struct call *call, const struct describe *asked)
{
    char shown[ESCAPED_TEXT];
    if (describe(agent, call, asked))
        return;
    const bool known = catalog_choose(agent->catalogs, asked->problem, 0) != NULL;
    if (!known && passed_is(call))
        call_reply(call,
                   message_failure(MESSAGE_DESCRIBE_REPLY, ESP_NO_SERVER,
                                   "no server below \"%s\", which was just started and does not know all "
                                   "yet, solves %s",
                                   agent->name, escape(asked->problem, shown)));
    else if (known || !peers_ask_first(agent, call, NULL, asked))
        wait_for_text(agent, call, asked);
}

void queries_on_call(struct agent *agent, struct call *call, const struct message *request)
{
    switch (request->kind) {
    case MESSAGE_GREET:
        call_reply(call, greet(agent, &request->greet));
        return;
    case MESSAGE_DESCRIBE:
        describe_on_call(agent, call, &request->describe);
        return;
    case MESSAGE_LIST:
        call_reply(call, list(agent, &request->list));
        return;
    case MESSAGE_TREE:
        peers_reply(agent, call, request, tree(agent, &request->tree));
        return;
    case MESSAGE_DATA:
        if (data_is_given_up(agent, call, &request->data)) {
            call_reply(call, data_given_up_note(agent, call, &request->data));
            return;
        }
        peers_reply(agent, call, request, data_where(agent, &request->data));
        return;
    default:
        call_reply(call, message_failure(message_reply_kind(request->kind), ESP_INVALID,
                                         "\"%s\" is an agent: it does not answer %s", agent->name,
                                         message_name(request->kind)));
    }
}

/* Questions that go down the tree at once to exactly those children that can solve the problem or hold one
 * of its data. */

/* ---- creation ---- */

static void question_free(struct agent *agent, struct question *question)
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

/* Adds children that can tell the distance of the datum from the servers, beside the children that are
 * asked anyway. */
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

/* Chooses the children to ask: those that can solve the problem (`variant`; NULL: none), and those that
 * know of its data. */
static void question_choose_children(struct agent *agent, struct question *question,
                                     const struct variant *variant)
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

/* Takes over `ask` with its request; `ask` NULL means out of memory. */
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

static void question_send(struct agent *agent, struct question *question, int64_t wait_ms)
{
    submit_announce(agent); /* the children must count earlier placements before they answer */
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

/* ---- conclusion ---- */

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

/* All children have answered, or the time is over. */
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

/* ---- questions of the parent ---- */

static void answer_at_once(struct agent *agent, const struct membership *tie, const struct envelope *envelope,
                           const struct ask *ask, const struct variant *variant)
{
    struct message message = {.kind = MESSAGE_ANSWER, .answer = {.id = ask->id}};
    decide_from_memory(agent, variant, &ask->request, ask->breadth, &message.arena, &message.answer.response);
    const int64_t now_ns = agent_now(agent);
    trace_note(&agent->duty.trace, &ask->request.session, TRACE_ASKED, now_ns, now_ns, "memory");
    agent_post(agent, membership_parent_address(tie), envelope->from_incarnation, &message);
    arena_clear(&message.arena);
}

void question_on_ask(struct agent *agent, const struct membership *tie, const struct envelope *envelope,
                     const struct ask *ask)
{
    const struct request *request = &ask->request;
    agent->counts.asks++;
    const struct variant *variant = catalog_variant(agent->catalogs, request->digest);
    if (variant && !request_has_data(request) &&
        knowledge_is_fresh(agent->knowledge, variant, agent->options.freshness_ms * NS_PER_MS)) {
        answer_at_once(agent, tie, envelope, ask, variant);
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
        return; /* the parent goes on without the answer */
    question->parent_id = ask->id;
    question->parent_incarnation = envelope->from_incarnation;
    question->parent_address = strdup(membership_parent_address(tie));
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

/* ---- answers of children ---- */

void question_on_answer(struct agent *agent, const struct envelope *envelope, const struct message *message)
{
    const struct child *child = children_speaker(agent->children, envelope);
    struct question *question;
    HASH_FIND(hh, agent->questions, &message->answer.id, sizeof message->answer.id, question);
    if (!child || !question)
        return; /* the question is over */
    for (uint32_t i = 0; i < question->n_asked; i++) {
        struct asked *asked = &question->asked[i];
        if (!asked->open || asked->branch != child->data)
            continue;
        asked->open = false;
        question->n_open--;
        if (message->answer.outcome.status == ESP_OK)
            asked->answer = message_clone(message);
        /* Without memory the certificate's name stays unknown. */
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
        /* The branch is being taken apart, so the question is not concluded here: its timer is set to
         * expire at once. */
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

/* Clients' requests that need a question to the children.
 *
 * Equal requests that arrive while one of them is being asked wait, and are then asked together. The
 * breadth of that question grows by their number. The breadth of each question also grows by the number of
 * all undecided requests. So each request in flight finds in its answer a server that the earlier ones
 * have not taken: the j-th of them needs at most the best j servers. */

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

/* Sends the result of the question to the members of the group. */
static void group_answer(struct agent *agent, struct question *question)
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

/* Digest of all parts of a request that must be equal: all except the identity of its client and session. */
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
        return CAP_CANDIDATES; /* the client wants all servers */
    DL_FOREACH(group->members, member)
    if (member->submit->request.candidates > breadth)
        breadth = member->submit->request.candidates;
    breadth += agent->undecided - 1;
    return breadth < CAP_CANDIDATES ? breadth : CAP_CANDIDATES;
}

/* Sends a question for group->members. */
static void start(struct agent *agent, struct group *group, const struct variant *variant)
{
    const struct submit *submit = group->members->submit;
    int64_t wait_ms = wait_of(agent, submit);
    struct message ask = {.kind = MESSAGE_ASK,
                          .ask = {.breadth = wanted_breadth(agent, group), .request = submit->request}};
    ask.ask.request.session.secret = 0; /* nodes below need no secret for an estimate */
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

/* The question is over: asks for requests that arrived meanwhile, or frees the group if there are none. */
static void group_go_on(struct agent *agent, struct group *group)
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
                     const struct variant *variant, bool asked)
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
    *member = (struct member){.call = call, .submit = submit, .since_ns = agent_now(agent), .asked = asked};
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

static void groups_clear(struct agent *agent)
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
