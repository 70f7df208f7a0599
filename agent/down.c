/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent towards its children: membership, reports, and requests for catalogues and descriptions.
 */
#include "agent/agent_internal.h"
#include "agent/peers.h"
#include "core/forecast/told_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most entries that one WANT asks for; the next WANT asks for the rest. */
#define WANT_MOST 1024

struct child *down_child(const struct branch *branch)
{
    return branch->data;
}

static const char *const *on_ancestors(void *self, size_t *n)
{
    const struct agent *agent = self;
    *n = 0;
    return agent->membership ? membership_ancestors(agent->membership, n) : NULL;
}

#define REDIRECTORS_TOLD 2

/* Adds the parents that a child of the root can fall back on: the other master agents, and the
 * redirectors, which know later ones. */
static void add_beside_root(const struct agent *agent, struct refuges *refuges)
{
    struct refuges siblings = {.n = 0}, redirectors = {.n = 0};
    registered_refuges(agent, &siblings);
    registered_redirectors(agent, &redirectors);
    const size_t told = redirectors.n < REDIRECTORS_TOLD ? redirectors.n : REDIRECTORS_TOLD;
    for (size_t i = 0; i < siblings.n && refuges->n + told < MOST_REFUGES; i++)
        refuges_add(refuges, siblings.addresses[i], siblings.names[i]);
    for (size_t i = 0; i < told; i++)
        refuges_add(refuges, redirectors.addresses[i], "");
}

/* Adds a better parent for the child if there is one, then the grandparent. The root adds the other master
 * agents. */
static void on_refuges(void *self, const struct child *child, struct refuges *refuges)
{
    const struct agent *agent = self;
    const struct knowledge_node *sought =
        child->seeks ? knowledge_find(agent->knowledge, child->seeks) : NULL;
    if (sought && sought->role == ROLE_LEADER)
        refuges_add(refuges, sought->address, child->seeks);
    if (!agent->membership) {
        add_beside_root(agent, refuges);
        return;
    }
    const char *parent = membership_parent_address(agent->membership);
    if (parent)
        refuges_add(refuges, parent, membership_parent_name(agent->membership));
    const struct refuges *told = membership_refuges(agent->membership);
    for (size_t i = 0; i < told->n; i++)
        refuges_add(refuges, told->addresses[i], told->names[i]);
}

/* The child seeks a node that is not below this agent. The parent may know it, and sends its address with
 * its next list of refuges. */
static void on_seeks(void *self, const struct child *child)
{
    const struct agent *agent = self;
    if (agent->membership && !knowledge_find(agent->knowledge, child->seeks))
        membership_ask_where(agent->membership, child->seeks);
}

static void log_joined(const struct child *child)
{
    log_notice("%s \"%s\" joined from %s", node_role_name(child->role), child->name, child->address);
}

static bool on_joined(void *self, struct child *child)
{
    struct agent *agent = self;
    struct branch *branch = knowledge_branch(agent->knowledge, child->name);
    if (!branch)
        return false;
    if (!data_joined(agent, child)) {
        knowledge_branch_remove(agent->knowledge, branch);
        return false;
    }
    absent_forget(&agent->absentees, child->name);
    agent->counts.children_joined++;
    branch->data = child;
    child->data = branch;
    learning_expect(agent); /* the server's catalogue arrives after its first report */
    if (!child->trial_ns)
        log_joined(child);
    return true;
}

static void on_lost(void *self, struct child *child, const char *why)
{
    struct agent *agent = self;
    struct branch *branch = child->data;
    if (!branch)
        return;
    log_write(child->trial_ns ? LOG_DEBUG_LEVEL : LOG_NOTICE_LEVEL, NULL,
              "%s \"%s\" at %s is gone, %u nodes with it: %s", node_role_name(child->role), child->name,
              child->address, branch->n_nodes, why);
    lost_note(agent, child, branch);
    awaited_lost(agent, child, branch);
    agent->counts.children_lost++;
    administer_child_lost(agent, child->name);
    question_child_lost(agent, branch);
    data_lost(agent, child);
    link_graph_remove(&agent->links, child->name);
    knowledge_branch_remove(agent->knowledge, branch);
    learning_expect(agent);
    up_changed(agent, true);
}

static void on_refused(void *self, const char *name, const char *why)
{
    (void)self;
    log_debug("\"%s\" is refused: %s", name, why);
}

/* ---- catalogues ---- */

static bool is_due(int64_t *asked_ns, int64_t now_ns)
{
    if (*asked_ns && now_ns - *asked_ns < WANT_AGAIN_NS)
        return false;
    *asked_ns = now_ns;
    return true;
}

static void want_texts_of(struct known_catalog *catalog, int64_t now_ns, struct want *want)
{
    for (uint32_t i = 0; i < catalog->n_variants && want->n_texts < WANT_MOST; i++) {
        struct variant *variant = catalog->variants[i];
        if (!variant->text && is_due(&variant->asked_ns, now_ns))
            want->texts[want->n_texts++] = variant->digest;
    }
}

/* Asks the child for lists and texts that are missing here and that the child or its descendants have. A
 * list that one child was asked for is not asked from another child at the same time, so 10,000 equal
 * servers cause one request. */
static void want_missing(struct agent *agent, const struct branch *branch)
{
    uint64_t catalogs[64], texts[WANT_MOST];
    struct message message = {.kind = MESSAGE_WANT, .want = {.catalogs = catalogs, .texts = texts}};
    struct want *want = &message.want;
    int64_t now_ns = agent_now(agent);
    for (uint32_t i = 0; i < branch->n_catalogs; i++) {
        struct known_catalog *catalog = branch->catalogs[i].catalog;
        if (catalog->known)
            want_texts_of(catalog, now_ns, want);
        else if (want->n_catalogs < sizeof catalogs / sizeof *catalogs && is_due(&catalog->asked_ns, now_ns))
            want->catalogs[want->n_catalogs++] = catalog->digest;
    }
    if (want->n_catalogs || want->n_texts)
        children_post_to(agent->children, down_child(branch), &message);
    if (want->n_catalogs)
        learning_expect(agent); /* calls that need these catalogues wait */
}

/* ---- names that are taken ---- */

void down_refuse(struct agent *agent, const struct namesake *namesake)
{
    const struct child *child = children_find(agent->children, namesake->name);
    if (child && child->incarnation == namesake->incarnation) {
        children_refuse(agent->children, namesake);
        return;
    }
    const struct knowledge_node *node = knowledge_find(agent->knowledge, namesake->name);
    if (node && node->incarnation == namesake->incarnation && node->branch)
        children_refuse_below(agent->children, down_child(node->branch), namesake);
}

/* Refuses a node in the child's report whose name is already taken; `record` is the node that came second. */
static bool refuse_second(struct agent *agent, struct child *child, const struct node_record *record)
{
    const struct knowledge_node *first = knowledge_find(agent->knowledge, record->name);
    char why[CAP_ERROR_TEXT / 4];
    snprintf(
        why, sizeof why,
        "another node named \"%s\" lives at %s below \"%s\": give this one another name (key \"name\" of its "
        "file), or stop the other one",
        record->name, first->address, first->parent);
    const struct namesake namesake = {record->name, record->incarnation, why};
    if (strcmp(child->name, record->name) != 0) {
        children_refuse_below(agent->children, child, &namesake);
        return false;
    }
    children_refuse(agent->children, &namesake);
    return true;
}

void down_on_catalog(struct agent *agent, const struct catalog *list)
{
    if (!catalog_learn(agent->catalogs, list))
        return;
    struct known_catalog *catalog = catalog_find(agent->catalogs, list->digest);
    up_tell_catalog(agent, catalog);
    learning_go_on(agent);
    for (struct branch *branch = knowledge_branches(agent->knowledge); branch; branch = branch->next)
        for (uint32_t i = 0; i < branch->n_catalogs; i++)
            if (branch->catalogs[i].catalog == catalog) {
                want_missing(agent, branch);
                return;
            }
}

void down_on_texts(struct agent *agent, const struct texts *texts)
{
    for (uint32_t i = 0; i < texts->n; i++)
        if (catalog_learn_text(agent->catalogs, &texts->items[i]))
            up_tell_text(agent, catalog_variant(agent->catalogs, texts->items[i].digest));
    queries_catalogs_changed(agent);
}

/* ---- reports ---- */

static double oldest(const struct report *report)
{
    double oldest_s = report->oldest_s;
    for (uint32_t i = 0; i < report->n_records; i++)
        if (report->records[i].age_s > oldest_s)
            oldest_s = report->records[i].age_s;
    return oldest_s;
}

/* A server reports only its own links. Links from siblings are between children of this agent. A link from
 * the server to itself is the speed within its host. */
static void take_links(struct agent *agent, const struct child *child, const struct node_record *record)
{
    struct told_link link = {NULL};
    if (child->role != ROLE_SERVER || strcmp(record->name, child->name) != 0)
        return;
    for (int i = 0;
         i < CAP_TOLD_LINKS && told_links_next(&record->extensions, EXTENSION_FETCHED_LINKS, &link); i++)
        if (link.path.known && strcmp(link.peer, child->name) == 0)
            links_of_host(agent, child->name, &link.path);
        else if (link.path.known)
            links_between(agent, child->name, link.peer, &link.path);
}

/* Whether the server takes sessions and was not known before. */
static bool is_new(const struct agent *agent, const struct branch *branch, const struct node_record *record)
{
    const struct knowledge_node *known = knowledge_find(agent->knowledge, record->name);
    return record->role == ROLE_SERVER && !record->draining &&
           (!known || known->branch != branch || known->incarnation != record->incarnation);
}

/* The node is present again somewhere below: deletes it from the list of lost nodes. */
static void forget_absence(struct agent *agent, const char *node)
{
    absent_forget(&agent->absentees, node);
    awaited_back(agent, node);
}

static void on_report(void *self, struct child *child, const struct report *report, bool whole)
{
    struct agent *agent = self;
    struct branch *branch = child->data;
    bool changed = report->n_records || report->n_removed, urgent = false, lost = false;
    if (child->trial_ns && agent_now(agent) >= child->trial_ns) {
        child->trial_ns = 0;
        log_joined(child);
    }
    if (child->part == REPORT_COMPLETE || child->part == REPORT_BEGINS)
        knowledge_complete_begin(agent->knowledge, branch);
    awaited_heard(agent, branch, report);
    for (uint32_t i = 0; i < report->n_removed; i++)
        lost |= knowledge_remove(agent->knowledge, branch, report->removed[i]);
    for (uint32_t i = 0; i < report->n_records; i++) {
        const bool joins = is_new(agent, branch, &report->records[i]);
        const bool unknown = !knowledge_find(agent->knowledge, report->records[i].name);
        enum knowledge_change change = knowledge_update(agent->knowledge, branch, &report->records[i]);
        if (change == KNOWLEDGE_NAMESAKE && refuse_second(agent, child, &report->records[i]))
            return; /* the child is gone */
        if (joins)
            administer_joined(agent, report->records[i].name);
        if ((unknown || joins) && change != KNOWLEDGE_IGNORED)
            forget_absence(agent, report->records[i].name);
        lost_found(agent, child, &report->records[i]);
        urgent |= change == KNOWLEDGE_BETTER;
        take_links(agent, child, &report->records[i]);
    }
    if (child->part == REPORT_COMPLETE || child->part == REPORT_ENDS)
        lost |= knowledge_complete_end(agent->knowledge, branch) > 0;
    changed |= data_on_report(agent, child, report) && !agent->is_master;
    if (lost)
        learning_expect(agent);
    if (changed)
        learning_go_on(agent);
    if (whole)
        knowledge_confirm(agent->knowledge, branch, oldest(report));
    want_missing(agent, branch);
    if (changed || urgent || lost)
        up_changed(agent, urgent || lost);
}

static const struct children_ops ops = {
    .post = agent_post,
    .ancestors = on_ancestors,
    .refuges = on_refuges,
    .seeks = on_seeks,
    .joined = on_joined,
    .lost = on_lost,
    .report = on_report,
    .refused = on_refused,
};

enum esp_status down_create(struct agent *agent, struct esp_error *error)
{
    struct children_options options = {
        .name = agent->name,
        .role = agent->is_master ? ROLE_MASTER : ROLE_LEADER,
        .roles = 1U << ROLE_LEADER | 1U << ROLE_SERVER,
        .most = agent->options.children,
        .lease_ms = agent->options.lease_ms,
        .heartbeat_ms = agent->options.heartbeat_ms,
        .probe = agent->options.probe,
        .clock = agent->clock,
    };
    return children_create(&options, &ops, agent, &agent->children, error);
}

/* A request that a peer passes on is handled like a client's call. Its transport is a local one, whose
 * only operation sends the answer to the peer. */

#define PASSED_MOST 4096 /* at a time; further requests are dropped, and their peers ask the next one */

struct passed_call {
    struct call call; /* must be the first member */
    struct endpoint endpoint;
    struct transport transport;
    struct agent *agent;
    struct envelope envelope;
    char from[CAP_NAME + 1], address[CAP_ADDRESS + 1]; /* of the peer */
    uint64_t id;                                       /* chosen by the peer */
    struct message *request;
    struct visited visited;
    bool is_awaited;    /* the peer expects a confirmation */
    bool *is_over;      /* NULL, or set to true when this is freed */
    struct timer timer; /* ends when the peer no longer waits */
    struct passed_call *prev, *next;
};

static void passed_free(struct passed_call *passed)
{
    struct agent *agent = passed->agent;
    if (passed->is_over)
        *passed->is_over = true;
    timers_cancel(&agent->timers, &passed->timer);
    DL_DELETE(agent->passed, passed);
    agent->n_passed--;
    message_destroy(passed->request);
    free(passed);
}

static void answer(const struct passed_call *passed, const struct message *reply)
{
    const char *visited[CAP_VISITED];
    struct extension taken = {.tag = EXTENSION_TAKEN};
    struct message message = {
        .kind = MESSAGE_PASSED,
        .passed = {
            .id = passed->id, .visited = visited, .n_visited = passed->visited.n, .extensions = {&taken, 1}}};
    visited_list(&passed->visited, visited);
    if (reply && passed_put(&message.passed, reply))
        agent_post(passed->agent, passed->address, passed->envelope.from_incarnation, &message);
}

static void tell_taken(const struct passed_call *passed)
{
    const char *own = endpoint_address(passed->agent->endpoint);
    struct extension taken = {.tag = EXTENSION_TAKEN};
    const struct message message = {
        .kind = MESSAGE_PASSED,
        .passed = {.id = passed->id, .visited = &own, .n_visited = 1, .extensions = {&taken, 1}}};
    agent_post(passed->agent, passed->address, passed->envelope.from_incarnation, &message);
}

static void on_reply(struct call *call, struct message *reply)
{
    struct passed_call *passed = (struct passed_call *)call;
    answer(passed, reply);
    message_destroy(reply);
    passed_free(passed);
}

static const struct envelope *on_envelope(const struct call *call)
{
    return &((const struct passed_call *)call)->envelope;
}

static const struct transport_ops passed_ops = {.reply = on_reply, .envelope = on_envelope};

static struct passed_call *passed_of(const struct call *call)
{
    return call->endpoint->transport->ops == &passed_ops ? (struct passed_call *)call : NULL;
}

void passed_visited(const struct call *call, struct visited *visited)
{
    const struct passed_call *passed = passed_of(call);
    visited->n = 0;
    if (passed)
        *visited = passed->visited;
}

bool passed_is(const struct call *call)
{
    return passed_of(call) != NULL;
}

void passed_note(struct call *call, const struct visited *visited)
{
    struct passed_call *passed = passed_of(call);
    if (passed)
        passed->visited = *visited;
}

static void on_late(struct timer *timer, int64_t now_ns, void *context)
{
    struct passed_call *passed = context;
    (void)timer;
    (void)now_ns;
    agent_abandon(passed->agent, &passed->call);
    passed_free(passed);
}

static bool is_peer(const struct agent *agent, const char *address)
{
    struct refuges peers = {.n = 0};
    registered_refuges(agent, &peers);
    for (size_t i = 0; i < peers.n; i++)
        if (strcmp(peers.addresses[i], address) == 0)
            return true;
    return false;
}

static struct passed_call *create(struct agent *agent, const struct envelope *envelope,
                                  const struct pass *pass)
{
    struct passed_call *passed = calloc(1, sizeof *passed);
    struct message request;
    if (!passed)
        return NULL;
    passed->request = pass_get(pass, &request) ? message_clone(&request) : NULL;
    if (!passed->request) {
        free(passed);
        return NULL;
    }
    passed->transport = (struct transport){.ops = &passed_ops, .clock = agent->clock};
    passed->endpoint.transport = &passed->transport;
    passed->call.endpoint = &passed->endpoint;
    passed->agent = agent;
    passed->id = pass->id;
    passed->is_awaited = extension_find(&pass->extensions, EXTENSION_TAKEN) != NULL;
    passed->timer = (struct timer){.fire = on_late, .context = passed};
    memcpy(passed->address, pass->address, strlen(pass->address) + 1); /* the wire format limits the length */
    memcpy(passed->from, envelope->from, strlen(envelope->from) + 1);
    passed->envelope = *envelope;
    passed->envelope.from = passed->from;
    passed->envelope.peer = passed->envelope.identity = "";
    visited_take(&passed->visited, pass->visited, pass->n_visited);
    DL_APPEND(agent->passed, passed);
    agent->n_passed++;
    return passed;
}

/* Serves the request like a client's. If the answer takes time, confirms that the request has arrived. */
static void serve(struct passed_call *passed)
{
    bool is_over = false;
    passed->is_over = &is_over;
    agent_on_call(passed->agent, &passed->call, passed->request);
    if (is_over)
        return;
    passed->is_over = NULL;
    if (passed->is_awaited)
        tell_taken(passed);
}

void passed_on_pass(struct agent *agent, const struct envelope *envelope, const struct pass *pass)
{
    const int64_t left_ms = pass->time_left_ms < INT32_MAX ? (int64_t)pass->time_left_ms : INT32_MAX;
    if (!agent->is_master || !is_peer(agent, pass->address) || agent->n_passed >= PASSED_MOST) {
        log_debug("a request from \"%s\" at %s is dropped: it is no peer, or there are too many",
                  envelope->from, pass->address);
        return;
    }
    if (pass->what == PASS_GIVEN_UP) {
        given_up_peers_on_pass(agent, envelope, pass);
        return;
    }
    struct passed_call *passed = create(agent, envelope, pass);
    if (!passed)
        return;
    agent->counts.passed_here++;
    if (visited_has(&passed->visited, endpoint_address(agent->endpoint))) { /* it has come back here */
        call_reply(&passed->call, message_failure(message_reply_kind(passed->request->kind), ESP_NO_SERVER,
                                                  "\"%s\" has had it", agent->name));
        return;
    }
    if (timers_set(&agent->timers, &passed->timer, agent_now(agent) + left_ms * NS_PER_MS, NULL) != ESP_OK)
        passed_free(passed);
    else
        serve(passed);
}

void passed_clear(struct agent *agent)
{
    while (agent->passed)
        passed_free(agent->passed);
}
