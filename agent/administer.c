/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks orders from administrators. Refuses orders that would make a loop in the tree or cut off nodes,
 * and orders for unknown nodes.
 */
#include "agent/agent_internal.h"
#include "util/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The closest name is searched on the agent's only thread, so the number of names compared is limited. */
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

/* Returns ESP_NOT_FOUND with the closest known name in *error. */
static enum esp_status administer_unknown(struct agent *agent, const char *name, struct esp_error *error)
{
    char closest[CLOSEST_TEXT];
    if (lost_has(agent, name))
        return error_set(error, ESP_NOT_FOUND, "\"%s\" was below \"%s\", and cannot be reached now", name,
                         agent->name);
    return error_set(error, ESP_NOT_FOUND, "no node named \"%s\" below \"%s\"%s", name, agent->name,
                     closest_node(agent, name, false, closest));
}

/* Whether `node` is `other` or one of its descendants. Looks at most as many levels up as a tree may have. */
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

/* The new parent may be in the tree of another master agent, whose nodes this agent does not know. The
 * administrator has seen it there. An agent that is not the root of its tree refuses: no node leaves its
 * subtree by an order sent to that subtree. */
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

/* Whether the node may be moved. Sets *address to the address of the new parent. */
static enum esp_status administer_check_move(struct agent *agent, const struct knowledge_node *node,
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

/* Whether the order may cut off the node's descendants. */
static bool may_cut(const struct administer *asked)
{
    for (uint32_t i = 0; i < asked->n_words; i++)
        if (strcmp(asked->words[i], "cut") == 0)
            return true;
    return false;
}

/* Whether the node may be stopped: it has no descendants, or the order allows to cut them off. */
static enum esp_status administer_check_stop(const struct agent *agent, const struct knowledge_node *node,
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

/* Checks an order that names this agent itself. Orders that change its place in the tree are refused,
 * because its parent decides about them. */
static enum esp_status administer_check_own(const struct agent *agent, const struct administer *asked,
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

/* Carries out orders from administrators for this agent and its descendants. The agent that receives an
 * order from an administrator checks it against what it knows of its subtree, and sends it down the path
 * to the node. The answer comes back on the same path. An administrator of a subtree therefore only needs
 * the address of its root.
 *
 * Orders that change the shape of the tree are carried out one at a time, and counted. An order that was
 * based on an older shape is refused. */

/* How long a node may take to answer an order. Each agent above it waits a little longer. */
#define ORDER_MS 5000
#define ERRANDS  1000

/* An order on its way down the tree. */
struct errand {
    uint64_t id;
    struct agent *agent;
    struct call *call;    /* received here; NULL: relayed, or the caller is gone */
    char *parent_address; /* relayed: the parent that gets the answer; NULL: received here */
    uint64_t parent_id, parent_incarnation;
    bool shape; /* it changes the shape of the tree */
    char *node, *verb;
    struct timer timer;
    UT_hash_handle hh;
};

static void errand_free(struct errand *errand)
{
    struct agent *agent = errand->agent;
    timers_cancel(&agent->timers, &errand->timer);
    if (errand->hh.tbl)
        HASH_DEL(agent->errands, errand);
    if (errand->shape)
        agent->shaping = NULL;
    free(errand->parent_address);
    free(errand->node);
    free(errand->verb);
    free(errand);
}

static void reply_call(struct agent *agent, struct call *call, enum esp_status status, const char *text)
{
    struct message *reply = status == ESP_OK ? message_create(MESSAGE_ADMINISTER_REPLY)
                                             : message_failure(MESSAGE_ADMINISTER_REPLY, status, "%s", text);
    if (reply) {
        reply->administer_reply.generation = agent->generation;
        if (status == ESP_OK)
            reply->administer_reply.text = arena_strdup(&reply->arena, text);
    }
    call_reply(call, reply);
}

/* Sends the result of the order to the caller or to the parent. */
static void conclude(struct errand *errand, enum esp_status status, const char *text)
{
    struct agent *agent = errand->agent;
    if (errand->shape && status == ESP_OK)
        agent->generation++;
    if (errand->call) {
        if (!duty_is_question(errand->verb))
            log_notice("%s \"%s\": %s", errand->verb, errand->node, status == ESP_OK ? "done" : text);
        reply_call(agent, errand->call, status, text);
    } else if (errand->parent_address) {
        const struct message message = {.kind = MESSAGE_OBEYED,
                                        .obeyed = {.id = errand->parent_id,
                                                   .outcome = {status, status == ESP_OK ? "" : text},
                                                   .text = status == ESP_OK ? text : ""}};
        agent_post(agent, errand->parent_address, errand->parent_incarnation, &message);
    }
    errand_free(errand);
}

static void on_time_over(struct timer *timer, int64_t now_ns, void *context)
{
    struct errand *errand = context;
    struct esp_error error;
    (void)timer;
    (void)now_ns;
    error_set(
        &error, ESP_TIMEOUT,
        duty_is_question(errand->verb)
            ? "\"%s\" did not answer in time: it hangs, or is cut off, and what it would tell is left out"
            : "\"%s\" did not say in time whether it has done it (does it hang?): look at the tree",
        errand->node);
    conclude(errand, ESP_TIMEOUT, error.text);
}

static struct errand *errand_create(struct agent *agent, const char *node, const char *verb, int64_t wait_ms)
{
    struct errand *errand = calloc(1, sizeof *errand);
    if (!errand)
        return NULL;
    errand->agent = agent;
    errand->id = ++agent->next_errand;
    errand->node = strdup(node);
    errand->verb = strdup(verb);
    errand->timer = (struct timer){.fire = on_time_over, .context = errand};
    HASH_ADD(hh, agent->errands, id, sizeof errand->id, errand);
    if (errand->hh.tbl && errand->node && errand->verb &&
        timers_set(&agent->timers, &errand->timer, agent_now(agent) + wait_ms * NS_PER_MS, NULL) == ESP_OK)
        return errand;
    errand_free(errand);
    return NULL;
}

static int64_t wait_of(uint64_t time_left_ms)
{
    return time_left_ms > 0 && time_left_ms < ORDER_MS ? (int64_t)time_left_ms : ORDER_MS;
}

static void send_down(struct agent *agent, const struct knowledge_node *node, const struct errand *errand,
                      const char **words, uint32_t n_words, int64_t wait_ms)
{
    const struct message message = {.kind = MESSAGE_ORDER,
                                    .order = {.id = errand->id,
                                              .node = errand->node,
                                              .verb = errand->verb,
                                              .words = words,
                                              .n_words = n_words,
                                              .time_left_ms = (uint64_t)(wait_ms * 9 / 10)}};
    children_post_to(agent->children, down_child(node->branch), &message);
}

/* ---- refusals ---- */

static bool changes_shape(const char *verb)
{
    return strcmp(verb, "move") == 0 || strcmp(verb, "stop") == 0;
}

static enum esp_status check_generation(const struct agent *agent, const struct administer *asked,
                                        struct esp_error *error)
{
    if (agent->shaping)
        return error_set(error, ESP_BUSY, "another administrator changes the tree now (%s \"%s\"): try again",
                         agent->shaping->verb, agent->shaping->node);
    if (asked->generation && asked->generation != agent->generation)
        return error_set(
            error, ESP_STALE,
            "another administrator has changed the tree meanwhile: look at it and say again what is to "
            "be done");
    return ESP_OK;
}

/* ---- orders received here ---- */

static enum esp_status begin(struct agent *agent, struct call *call, const struct administer *asked,
                             struct esp_error *error)
{
    const struct knowledge_node *node = knowledge_find(agent->knowledge, asked->node);
    const char *move[2] = {asked->n_words ? asked->words[0] : "", NULL};
    const bool shape = changes_shape(asked->verb), moves = strcmp(asked->verb, "move") == 0;
    enum esp_status status = node ? ESP_OK : administer_unknown(agent, asked->node, error);
    if (status == ESP_OK && shape)
        status = check_generation(agent, asked, error);
    if (status == ESP_OK && moves)
        status = administer_check_move(agent, node, asked, &move[1], error);
    else if (status == ESP_OK && shape)
        status = administer_check_stop(agent, node, asked, error);
    if (status == ESP_OK && HASH_COUNT(agent->errands) >= ERRANDS)
        status = error_set(error, ESP_LIMIT, "%d orders are on their way already", ERRANDS);
    if (status != ESP_OK)
        return status;
    const int64_t wait_ms = wait_of(asked->time_left_ms);
    struct errand *errand = errand_create(agent, asked->node, asked->verb, wait_ms);
    if (!errand)
        return error_no_memory(error, "an order");
    errand->call = call;
    errand->shape = shape;
    if (shape)
        agent->shaping = errand;
    send_down(agent, node, errand, moves ? move : asked->words, moves ? 2 : asked->n_words, wait_ms);
    return ESP_OK;
}

void administer_on_call(struct agent *agent, struct call *call, const struct administer *asked)
{
    struct esp_error error;
    const bool own = !*asked->node || strcmp(asked->node, agent->name) == 0;
    enum esp_status status = duty_permits(&agent->duty, call_envelope(call), asked->verb, &error);
    if (status == ESP_OK && own && strcmp(asked->verb, "look") == 0) {
        reply_call(agent, call, ESP_OK, "");
        return;
    }
    if (status == ESP_OK)
        status = own ? administer_check_own(agent, asked, &error) : begin(agent, call, asked, &error);
    if (status != ESP_OK)
        reply_call(agent, call, status, error.text);
    else if (own)
        duty_call(&agent->duty, call, asked);
}

/* ---- standing orders for nodes that join ---- */

void administer_joined(struct agent *agent, const char *server)
{
    const struct knowledge_node *node = knowledge_find(agent->knowledge, server);
    struct errand *errand = agent->duty.place.draining && node && HASH_COUNT(agent->errands) < ERRANDS
                                ? errand_create(agent, server, "drain", ORDER_MS)
                                : NULL;
    if (!errand)
        return;
    log_notice("\"%s\" is drained, as all below \"%s\"", server, agent->name);
    send_down(agent, node, errand, NULL, 0, ORDER_MS);
}

/* ---- relayed orders ---- */

static void refuse_order(struct agent *agent, const char *address, const struct envelope *envelope,
                         uint64_t id, const struct esp_error *error)
{
    const struct message message = {
        .kind = MESSAGE_OBEYED, .obeyed = {.id = id, .outcome = {error->status, error->text}, .text = ""}};
    agent_post(agent, address, envelope->from_incarnation, &message);
}

void administer_on_order(struct agent *agent, const struct membership *tie, const struct envelope *envelope,
                         const struct order *order)
{
    struct esp_error error;
    const char *address = membership_parent_address(tie);
    if (strcmp(order->node, agent->name) == 0 && strcmp(order->verb, LOST_FORGET) == 0) {
        lost_forget(agent, order);
        return;
    }
    if (strcmp(order->node, agent->name) == 0 && strcmp(order->verb, ORDER_GIVEN_UP) == 0) {
        data_given_up_pass_on(agent, order);
        return;
    }
    if (strcmp(order->node, agent->name) == 0) {
        duty_order(&agent->duty, address, envelope, order);
        return;
    }
    const struct knowledge_node *node = knowledge_find(agent->knowledge, order->node);
    if (!node) {
        administer_unknown(agent, order->node, &error);
        refuse_order(agent, address, envelope, order->id, &error);
        return;
    }
    const int64_t wait_ms = wait_of(order->time_left_ms);
    struct errand *errand =
        HASH_COUNT(agent->errands) < ERRANDS ? errand_create(agent, order->node, order->verb, wait_ms) : NULL;
    if (!errand || !(errand->parent_address = strdup(address))) {
        if (errand)
            errand_free(errand);
        error_set(&error, ESP_LIMIT, "too many orders are on their way at \"%s\"", agent->name);
        refuse_order(agent, address, envelope, order->id, &error);
        return;
    }
    errand->parent_id = order->id;
    errand->parent_incarnation = envelope->from_incarnation;
    send_down(agent, node, errand, order->words, order->n_words, wait_ms);
}

void administer_on_obeyed(struct agent *agent, const struct obeyed *obeyed)
{
    struct errand *errand;
    HASH_FIND(hh, agent->errands, &obeyed->id, sizeof obeyed->id, errand);
    if (!errand)
        return; /* the order has timed out */
    const bool good = obeyed->outcome.status == ESP_OK;
    if (strcmp(errand->verb, "reload") == 0 || strcmp(errand->verb, "enable") == 0)
        learning_expect(agent); /* the server's catalogue arrives after this message */
    if (good && strcmp(errand->verb, "restart") == 0)
        awaited_ordered(agent, errand->node);
    conclude(errand, (enum esp_status)obeyed->outcome.status, good ? obeyed->text : obeyed->outcome.text);
}

void administer_child_lost(struct agent *agent, const char *name)
{
    struct errand *errand, *next;
    HASH_ITER(hh, agent->errands, errand, next)
    {
        const bool restarts = strcmp(errand->verb, "restart") == 0;
        if (strcmp(errand->node, name) != 0 || (!restarts && strcmp(errand->verb, "stop") != 0))
            continue;
        if (restarts)
            awaited_ordered(agent, name);
        conclude(errand, ESP_OK, ""); /* the answer may get lost when the node exits */
    }
}

bool administer_abandon(struct agent *agent, const struct call *call)
{
    struct errand *errand, *next;
    HASH_ITER(hh, agent->errands, errand, next)
    {
        if (errand->call != call)
            continue;
        errand->call = NULL;
        return true;
    }
    return duty_abandon(&agent->duty, call);
}

void administer_clear(struct agent *agent)
{
    struct errand *errand, *next;
    HASH_ITER(hh, agent->errands, errand, next)
    errand_free(errand);
}

/* ---- orders to the agent itself ---- */

static const char *own_address(void *self)
{
    const struct agent *agent = self;
    return endpoint_address(agent->endpoint);
}

static void moved(void *self)
{
    struct agent *agent = self;
    children_welcome_all(agent->children); /* their ancestors have changed */
    up_changed(agent, true);
}

static void told(void *self, const char *verb, enum esp_status status, const char *text)
{
    (void)self;
    if (status == ESP_OK)
        log_notice("%s: done%s%s", verb, *text ? ", " : "", text);
    else
        log_warning("%s: not done, %s", verb, text);
}

/* The agent that received the order has sent it to all present descendants. administer_joined() sends it
 * to those that join later.
 */
static void drain(void *self, bool draining)
{
    struct agent *agent = self;
    (void)draining;           /* the new record carries the state */
    agent->link_told = false; /* the next report carries the new link */
    up_changed(agent, true);
}

static const struct duty_ops duty_ops = {
    .own_address = own_address, .post = agent_post, .drain = drain, .moved = moved, .told = told};

enum esp_status administer_create(struct agent *agent, const struct agent_options *options,
                                  struct esp_error *error)
{
    struct duty_options duty = {
        .name = agent->name,
        .state_dir = options->state_dir,
        .file_parent = options->file_parent,
        .administrators = options->administrators,
        .control = options->control,
        .reports = options->control != NULL,
        .check = options->check,
        .control_arg = options->control_arg,
        .tie = agent->membership ? &agent->membership : NULL,
        .self = agent,
    };
    up_membership(agent, options, &duty.membership, &duty.membership_ops);
    agent->generation = 1;
    return duty_init(&agent->duty, &duty, &duty_ops, error);
}

void agent_set_weather(struct agent *agent, const struct duty_weather *weather)
{
    endpoint_enter(agent->endpoint);
    agent->duty.weather = *weather;
    endpoint_leave(agent->endpoint);
}
