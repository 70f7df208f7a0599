/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells clients which master agents there are, the nearest to be used first.
 */
#include "redirector/redirector.h"
#include "core/hierarchy/absent.h"
#include "core/hierarchy/children.h"
#include "core/hierarchy/lost_problems.h"
#include "core/hierarchy/namesakes.h"
#include "util/fingerprint.h"
#include "util/log.h"
#include "util/told.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node below a master agent. */
struct named {
    char name[CAP_NAME + 1];
    uint64_t incarnation;
    int64_t since_ns;
};

/* The contents of a master agent's last report; stored behind its struct child. */
struct master {
    const struct child *child;
    struct node_record totals; /* sums of all servers below; strings belong to the child */
    uint32_t servers;
    uint64_t named;          /* when it was last named first to a client, counted in clients */
    struct extension solves; /* its EXTENSION_SOLVES with an own copy of the value; NULL: not sent */
    struct named *names;     /* nodes below it, sorted by name */
    size_t n_names;
};

struct redirector {
    char *name;
    uint64_t incarnation;
    struct endpoint *endpoint; /* NULL until it is open */
    struct children *children;
    uint64_t clients, refused, lost; /* lost: master agents */
    bool told;                       /* the masters have each other's addresses */
    int64_t learned_ns;              /* end of the warm-up: until then unknown masters may exist */
    struct absentees absentees;
    struct lost_problems lost_problems; /* problems that lost masters solved */
    struct duty duty;                   /* handles orders to the redirector itself */
    struct membership *no_tie;
    const struct clock *clock;
    int64_t sure_ns; /* two nodes with one name count as two after this time */
    struct told namesakes;
};

static double load_of(const struct master *master)
{
    const struct node_record *totals = &master->totals;
    return totals->slots ? (double)(totals->running + totals->queued) / totals->slots : 0;
}

/* Masters with servers come first, the least loaded first; among equals the one that was named longest
 * ago, so that clients are spread. */
static int best_first(const void *a, const void *b)
{
    const struct master *x = *(const struct master *const *)a, *y = *(const struct master *const *)b;
    if ((x->servers == 0) != (y->servers == 0))
        return x->servers == 0 ? 1 : -1;
    double load_x = load_of(x), load_y = load_of(y);
    if (load_x != load_y)
        return load_x < load_y ? -1 : 1;
    return (x->named > y->named) - (x->named < y->named);
}

static void note_located(struct redirector *r, const struct locate *asked, const struct master *best,
                         size_t n)
{
    struct session_id first;
    char text[SESSION_TEXT];
    const int64_t now_ns = clock_now_ns(r->clock);
    if (!asker_get(&asked->extensions, &first))
        return;
    trace_note(&r->duty.trace, &first, TRACE_SENT, now_ns, now_ns, best->child->name);
    if (!log_wants(LOG_DEBUG_LEVEL))
        return;
    log_write(LOG_DEBUG_LEVEL, session_id_text(&first, text), "and later ones sent to \"%s\" of %zu at %s",
              best->child->name, n, best->child->address);
}

/* Adds lost masters, and those that have not been in touch since the redirector started: they may have the
 * servers that a client does not find below the other masters. Without memory, none are added. */
static void add_absent(struct redirector *r, struct message *message)
{
    const int64_t now_ns = clock_now_ns(r->clock);
    struct arena *arena = &message->arena;
    struct extension *items = arena_alloc(arena, 3 * sizeof *items);
    uint32_t n = 0;
    if (!items)
        return;
    if (now_ns < r->learned_ns)
        items[n++] = (struct extension){.tag = EXTENSION_LEARNING};
    if (absent_count(&r->absentees, now_ns) > 0 && absent_pack(&r->absentees, now_ns, arena, &items[n])) {
        n++;
        n += lost_problems_tell(&r->lost_problems, now_ns, arena, &items[n]);
    }
    message->locate_reply.extensions = (struct extensions){items, n};
}

/* Lists all masters, the one to be used first at the front. Returns NULL without memory. */
static struct master **order_masters(const struct redirector *r, struct arena *arena)
{
    size_t n = 0;
    struct master **masters = arena_alloc(arena, children_count(r->children) * sizeof(struct master *));
    if (!masters)
        return NULL;
    for (struct child *child = children_first(r->children); child; child = child->hh.next)
        masters[n++] = child->data;
    qsort(masters, n, sizeof *masters, best_first);
    return masters;
}

/* ---- replies; each function returns NULL without memory ---- */
static struct message *answer_locate(struct redirector *r, const struct locate *asked)
{
    const size_t n = children_count(r->children);
    r->refused += n == 0;
    if (n == 0)
        return message_failure(MESSAGE_LOCATE_REPLY, ESP_NO_SERVER,
                               r->lost ? "no master agent is there: those that were registered with "
                                         "redirector \"%s\" have left, died or fallen silent"
                                       : "no master agent has registered with redirector \"%s\" (yet)",
                               r->name);
    struct message *message = message_create(MESSAGE_LOCATE_REPLY);
    if (!message)
        return NULL;
    struct arena *arena = &message->arena;
    struct locate_reply *reply = &message->locate_reply;
    struct master **masters = order_masters(r, arena);
    if (!masters || !(reply->masters = arena_alloc(arena, n * sizeof *reply->masters))) {
        message_destroy(message);
        return NULL;
    }
    masters[0]->named = ++r->clients;
    note_located(r, asked, masters[0], n);
    for (size_t i = 0; i < n && i < CAP_CANDIDATES; i++)
        reply->masters[reply->n_masters++] = (struct master_entry){
            .name = arena_strdup(arena, masters[i]->child->name),
            .address = arena_strdup(arena, masters[i]->child->address),
            .incarnation = masters[i]->child->incarnation,
            .servers = masters[i]->servers,
            .load = load_of(masters[i]),
        };
    add_absent(r, message);
    return message;
}

static struct message *answer_greet(struct redirector *r, const struct greet *asked)
{
    struct message *message = message_create(MESSAGE_GREET_REPLY);
    if (!message)
        return NULL;
    message->greet_reply.minor = message_minor(asked->minor);
    message->greet_reply.name = arena_strdup(&message->arena, r->name);
    message->greet_reply.role = ROLE_REDIRECTOR;
    message->greet_reply.incarnation = r->incarnation;
    return message;
}

static struct node_record record_of(const struct redirector *r, const struct child *child,
                                    struct arena *arena)
{
    const struct master *master = child->data;
    struct node_record record = master->totals;
    record.name = arena_strdup(arena, child->name);
    record.parent = arena_strdup(arena, r->name);
    record.address = arena_strdup(arena, child->address);
    record.role = ROLE_MASTER;
    record.incarnation = child->incarnation;
    record.age_s = (double)(clock_now_ns(r->clock) - child->arrivals.heard_ns) / 1e9;
    return record;
}

/* Lists the redirector itself and the masters. The caller asks the masters for the nodes below them. */
static struct message *answer_tree(struct redirector *r, const char *node)
{
    const struct child *only = *node ? children_find(r->children, node) : NULL;
    if (*node && !only && strcmp(node, r->name) != 0)
        return message_failure(MESSAGE_TREE_REPLY, ESP_NOT_FOUND,
                               "redirector \"%s\" has no master agent named \"%s\"", r->name, node);
    struct message *message = message_create(MESSAGE_TREE_REPLY);
    if (!message)
        return NULL;
    struct arena *arena = &message->arena;
    struct tree_reply *reply = &message->tree_reply;
    const uint32_t n_absent = absent_count(&r->absentees, clock_now_ns(r->clock));
    reply->records =
        arena_alloc(arena, (1 + n_absent + children_count(r->children)) * sizeof *reply->records);
    if (!reply->records) {
        message_destroy(message);
        return NULL;
    }
    if (!only)
        reply->records[reply->n_records++] = (struct node_record){
            .name = arena_strdup(arena, r->name),
            .address = arena_strdup(arena, endpoint_address(r->endpoint)),
            .role = ROLE_REDIRECTOR,
            .incarnation = r->incarnation,
        };
    if (only)
        reply->records[reply->n_records++] = record_of(r, only, arena);
    for (struct child *child = children_first(r->children); !*node && child; child = child->hh.next)
        reply->records[reply->n_records++] = record_of(r, child, arena);
    if (!*node && absent_records(&r->absentees, r->name, clock_now_ns(r->clock), arena,
                                 reply->records + reply->n_records))
        reply->n_records += n_absent;
    return message;
}

/* Nodes with one name below two master agents. Neither master sees the other's tree, and a client that
 * names the node gets the one below the master that it asks. Both nodes stay, and the masters and the log
 * report them, so that people can rename one. */

#define TOLD_AT_ONCE 8 /* most entries in one message to a master */

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

/* Takes the names of the nodes below the master from its report. Without memory, none are known. */
static void names_take(struct redirector *r, struct master *master, const struct extensions *extensions)
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

/* A node that moved from one master to the other is below both for a while, also as another incarnation. */
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

/* Reports names that another master has too to both masters, and logs them. */
static void names_compare(struct redirector *r, const struct master *master)
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

/* The master agents: registration and reports. */

static void redirector_post(void *self, const char *address, uint64_t to_incarnation,
                            const struct message *message)
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

/* Adds the other masters: the children of a master that is lost may join them. */
static void on_refuges(void *self, const struct child *child, struct refuges *refuges)
{
    struct redirector *r = self;
    for (struct child *other = children_first(r->children); other; other = other->hh.next)
        if (other != child)
            refuges_add(refuges, other->address, other->name);
}

/* Adds masters for a node that has lost its master agent and asks here for another one. */
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

/* The problems of the lost master count as missing, not as unknown, until then. */
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

/* Without memory, or if the master does not send its problems, it may have solved any problem. */
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
    (void)whole; /* each report is complete */
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

static enum esp_status masters_create(struct redirector *r, const struct children_options *options,
                                      struct esp_error *error)
{
    return children_create(options, &children_ops, r, &r->children, error);
}

static void masters_clear(struct redirector *r)
{
    if (r->children)
        for (struct child *child = children_first(r->children); child; child = child->hh.next)
            master_free(child->data);
    children_destroy(r->children);
    absent_release(&r->absentees);
    lost_problems_release(&r->lost_problems);
}

#define MASTERS_MOST 1000

/* Masters that were registered with the redirector's previous process say hello within this time. */
#define EXPECTED_MS 1000

/* ---- orders ---- */

static const char *own_address(void *self)
{
    const struct redirector *r = self;
    return endpoint_address(r->endpoint);
}

static void moved(void *self)
{
    (void)self; /* the redirector has no parent */
}

static void told(void *self, const char *verb, enum esp_status status, const char *text)
{
    (void)self;
    log_notice("%s: %s%s%s", verb, status == ESP_OK ? "done" : "not done", *text ? ", " : "", text);
}

static const struct duty_ops duty_ops = {
    .own_address = own_address, .post = redirector_post, .moved = moved, .told = told};

static enum esp_status create_duty(struct redirector *r, const struct redirector_options *options,
                                   struct esp_error *error)
{
    const struct duty_options duty = {
        .name = r->name,
        .administrators = options->administrators,
        .control = options->control,
        .reports = options->control != NULL,
        .membership = {.role = ROLE_REDIRECTOR, .clock = r->clock},
        .tie = &r->no_tie,
        .self = r,
    };
    return duty_init(&r->duty, &duty, &duty_ops, error);
}

static void administer(struct redirector *r, struct call *call, const struct administer *asked)
{
    struct esp_error error;
    enum esp_status status = duty_permits(&r->duty, call_envelope(call), asked->verb, &error);
    if (status == ESP_OK && *asked->node && strcmp(asked->node, r->name) != 0)
        status = error_set(&error, ESP_NOT_FOUND,
                           "\"%s\" is a redirector: orders for \"%s\" go to its master agent", r->name,
                           asked->node);
    if (status == ESP_OK)
        duty_call(&r->duty, call, asked);
    else
        call_reply(call, message_failure(MESSAGE_ADMINISTER_REPLY, status, "%s", error.text));
}

/* ---- the endpoint ---- */

static void on_post(void *self, const struct envelope *envelope, const struct message *message)
{
    struct redirector *r = self;
    children_post(r->children, envelope, message);
}

static void on_undelivered(void *self, const char *address, const struct esp_error *why)
{
    struct redirector *r = self;
    if (why->status == ESP_TIMEOUT)
        return; /* it is connected but slow: the lease decides when it counts as lost */
    children_undelivered(r->children, address);
}

static void on_hung_up(void *self, const struct envelope *from)
{
    struct redirector *r = self;
    children_hung_up(r->children, from);
}

static void on_call(void *self, struct call *call, const struct message *request)
{
    struct redirector *r = self;
    switch (request->kind) {
    case MESSAGE_LOCATE:
        call_reply(call, answer_locate(r, &request->locate));
        return;
    case MESSAGE_GREET:
        call_reply(call, answer_greet(r, &request->greet));
        return;
    case MESSAGE_ADMINISTER:
        administer(r, call, &request->administer);
        return;
    case MESSAGE_TREE:
        call_reply(call, answer_tree(r, request->tree.node));
        return;
    default:
        call_reply(call, message_failure(message_reply_kind(request->kind), ESP_INVALID,
                                         "\"%s\" is a redirector: ask a master agent for %s", r->name,
                                         message_name(request->kind)));
    }
}

static int64_t on_due(void *self)
{
    struct redirector *r = self;
    return r->told ? children_due(r->children) : 0;
}

static void on_tick(void *self)
{
    struct redirector *r = self;
    children_tick(r->children);
    if (!r->told)
        children_welcome_all(r->children);
    r->told = true;
}

static const struct endpoint_ops endpoint_ops = {
    .post = on_post,
    .undelivered = on_undelivered,
    .hung_up = on_hung_up,
    .call = on_call,
    .due = on_due,
    .tick = on_tick,
};

/* ---- creation and destruction ---- */

static void redirector_free(struct redirector *r)
{
    masters_clear(r);
    duty_release(&r->duty);
    free(r->name);
    free(r);
}

static int64_t lease_ms(const struct redirector_options *options)
{
    return options->lease_ms ? options->lease_ms : 8000;
}

static int64_t heartbeat_ms(const struct redirector_options *options)
{
    return options->heartbeat_ms ? options->heartbeat_ms : 2000;
}

static int64_t sure_ns(const struct redirector_options *options)
{
    return 3 * lease_ms(options) * NS_PER_MS / 2;
}

enum esp_status redirector_create(const struct redirector_options *options, struct transport *transport,
                                  struct redirector **created, struct esp_error *error)
{
    struct redirector *r = calloc(1, sizeof *r);
    if (!r || !(r->name = strdup(options->name))) {
        free(r);
        return error_no_memory(error, "a redirector");
    }
    r->incarnation = options->incarnation;
    r->clock = transport_clock(transport);
    r->learned_ns =
        clock_now_ns(r->clock) +
        (options->learning_ms ? options->learning_ms + MEMBERSHIP_RETRY_MOST_MS : EXPECTED_MS) * NS_PER_MS;
    struct children_options children = {
        .name = r->name,
        .role = ROLE_REDIRECTOR,
        .roles = 1U << ROLE_MASTER,
        .most = options->masters ? options->masters : MASTERS_MOST,
        .lease_ms = lease_ms(options),
        .heartbeat_ms = heartbeat_ms(options),
        .clock = transport_clock(transport),
    };
    r->sure_ns = sure_ns(options);
    struct endpoint_options endpoint_options = {
        .name = r->name,
        .role = ROLE_REDIRECTOR,
        .incarnation = options->incarnation,
        .listen = options->listen,
        .publish = options->publish,
    };
    struct endpoint *endpoint = NULL;
    enum esp_status status = masters_create(r, &children, error);
    if (status == ESP_OK)
        status = create_duty(r, options, error);
    if (status == ESP_OK)
        status = transport_serve(transport, &endpoint_options, &endpoint_ops, r, &endpoint, error);
    if (status != ESP_OK) {
        redirector_free(r);
        return status;
    }
    endpoint_enter(endpoint);
    r->endpoint = endpoint;
    endpoint_leave(endpoint);
    *created = r;
    return ESP_OK;
}

const char *redirector_address(const struct redirector *r)
{
    return endpoint_address(r->endpoint);
}

void redirector_reloaded(struct redirector *r, const struct redirector_options *now,
                         const struct esp_error *error, const char *pending)
{
    endpoint_enter(r->endpoint);
    if (now) {
        r->duty.options.administrators = now->administrators;
        children_set_terms(r->children, lease_ms(now), heartbeat_ms(now));
        r->sure_ns = sure_ns(now);
    }
    duty_reloaded(&r->duty, now ? ESP_OK : error->status, error, pending, "");
    endpoint_leave(r->endpoint);
}

void redirector_stop(struct redirector *r, const char *reason)
{
    if (!r)
        return;
    endpoint_enter(r->endpoint);
    children_dismiss(r->children, reason);
    endpoint_leave(r->endpoint);
    endpoint_close(r->endpoint);
    redirector_free(r);
}

/* Health and metrics. */

bool redirector_health(void *self, char *text, size_t size)
{
    struct redirector *r = self;
    endpoint_enter(r->endpoint);
    const size_t n = children_count(r->children);
    endpoint_leave(r->endpoint);
    if (n > 0)
        snprintf(text, size, "redirector, %zu master agents", n);
    else
        snprintf(text, size, "redirector, no master agent has registered");
    return n > 0;
}

void redirector_metrics(void *self, struct metrics *metrics)
{
    struct redirector *r = self;
    uint32_t servers = 0;
    endpoint_enter(r->endpoint);
    for (struct child *child = children_first(r->children); child; child = child->hh.next)
        servers += ((const struct master *)child->data)->servers;
    metrics_gauge(metrics, "espalier_redirector_masters", (double)children_count(r->children),
                  "Master agents that are registered.");
    metrics_gauge(metrics, "espalier_redirector_servers", servers, "Servers below all of them.");
    metrics_counter(metrics, "espalier_redirector_clients_total", (double)r->clients,
                    "Clients that were sent to a master agent.");
    metrics_counter(metrics, "espalier_redirector_refused_total", (double)r->refused,
                    "Clients that came when there was no master agent.");
    metrics_counter(metrics, "espalier_redirector_masters_lost_total", (double)r->lost,
                    "Times that a master agent left, died or fell silent.");
    endpoint_leave(r->endpoint);
}
