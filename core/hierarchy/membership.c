/* SPDX-License-Identifier: Apache-2.0
 *
 * The child's side: the list of parents, and the ancestors. */
#include "core/hierarchy/membership.h"
#include "core/hierarchy/arrivals.h"
#include "core/hierarchy/children.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum state { STATE_OUT, STATE_SEEKING, STATE_JOINED };

struct membership {
    struct membership_ops ops;
    void *self;
    const struct clock *clock;
    char **parents;
    size_t n_parents;
    enum node_role role;
    char *name;
    char *own_address;
    uint64_t features;
    int64_t retry_first_ms, retry_most_ms;
    uint64_t random;

    enum state state;
    size_t current;                 /* parent being tried, or joined */
    size_t tries;                   /* hellos since the tie was lost, for the backoff */
    uint32_t hellos, hellos_before; /* number of hellos ever; the same when welcomes last became invalid */
    int64_t hello_ns;
    bool quiet;
    char **said; /* per parent: the last reason passed to `changed` since it was joined, or NULL */

    char parent_probe[CAP_PROBE_URL + 1];
    char *parent_name;
    uint64_t parent_incarnation;
    uint64_t agreed_features;
    char **ancestors;
    size_t n_ancestors;
    size_t n_refuges;       /* refuges are the last parents in the list */
    struct refuges refuges; /* from the last parent; they are kept when it is lost */
    int64_t lease_ns, heartbeat_ns;

    uint64_t number;          /* of the last report sent, over the whole life of this node */
    uint64_t confirmed;       /* the parent has all reports up to this one */
    int64_t unconfirmed_ns;   /* when the oldest unconfirmed report was sent */
    bool complete_next;       /* the next report must be complete */
    bool parts;               /* a complete report has been started and not ended */
    bool more;                /* more was left after the last report */
    char *seeks;              /* the next report asks the parent where that agent is; NULL: it does not */
    int64_t report_ns;        /* when the next report is due */
    struct arrivals arrivals; /* signs of life from the parent */
    int64_t spared_ns; /* the parent is not taken for dead before this time, because this node itself was held
                          up */
    bool put_out;      /* the last tie ended because this node's name is taken */
    int64_t trial_ns;  /* let in again after that: reported when the tie has lasted until then; 0: reported */
};

/* Reasons that mean the parent is absent. */
extern const char membership_broken[], membership_silent[], membership_unreachable[], membership_no_answer[];

static void membership_drop_refuges(struct membership *m);
static void membership_seek(struct membership *m);
static int64_t membership_now(const struct membership *m);
static void membership_heard(struct membership *m);
static void membership_on_pulse(struct membership *m, const struct envelope *envelope, uint64_t number);
static int64_t membership_resend_ns(const struct membership *m);
static int64_t membership_next_report_ns(const struct membership *m);
static void membership_send_report(struct membership *m);

static void membership_free_texts(char **texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(texts[i]);
    free(texts);
}

static char **membership_copy_texts(const char *const *texts, size_t n)
{
    char **copies = calloc(n ? n : 1, sizeof *copies);
    if (!copies)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        copies[i] = strdup(texts[i]);
        if (!copies[i]) {
            membership_free_texts(copies, i);
            return NULL;
        }
    }
    return copies;
}

/* Forgets everything about the previous parent. */
static void membership_forget_parent(struct membership *m)
{
    free(m->parent_name);
    m->parent_name = NULL;
    membership_free_texts(m->ancestors, m->n_ancestors);
    m->ancestors = NULL;
    m->n_ancestors = 0;
    m->parent_incarnation = 0;
    m->agreed_features = 0;
}

/* Whether the parent is this node or below it. */
static bool membership_is_loop(const struct membership *m, const struct envelope *envelope,
                               const struct welcome *welcome)
{
    if (strcmp(envelope->from, m->name) == 0)
        return true;
    for (uint32_t i = 0; i < welcome->n_ancestors; i++)
        if (strcmp(welcome->ancestors[i], m->name) == 0)
            return true;
    return false;
}

static bool membership_same_ancestors(const struct membership *m, const struct welcome *welcome)
{
    if (m->n_ancestors != welcome->n_ancestors)
        return false;
    for (size_t i = 0; i < m->n_ancestors; i++)
        if (strcmp(m->ancestors[i], welcome->ancestors[i]) != 0)
            return false;
    return true;
}

/* False without memory: the ancestors are unchanged. */
static bool membership_take_ancestors(struct membership *m, const struct welcome *welcome)
{
    char **copies = membership_copy_texts(welcome->ancestors, welcome->n_ancestors);
    if (!copies)
        return false;
    membership_free_texts(m->ancestors, m->n_ancestors);
    m->ancestors = copies;
    m->n_ancestors = welcome->n_ancestors;
    return true;
}

/* Most parents that are tried, however many refuges arrive over time. */
#define MOST_PARENTS 32

/* True when the refuges changed. */
static bool membership_take_refuges(struct membership *m, const struct welcome *welcome)
{
    struct refuges told;
    refuges_get(&welcome->extensions, &told);
    if (refuges_equal(&told, &m->refuges))
        return false;
    m->refuges = told;
    const char *addresses[MOST_REFUGES];
    for (size_t i = 0; i < told.n; i++)
        addresses[i] = told.addresses[i];
    membership_learn_parents(m, addresses, told.n);
    return true;
}

size_t membership_learn_parents(struct membership *m, const char *const *addresses, size_t n)
{
    const size_t before = m->n_parents;
    for (size_t i = 0; i < n && m->role != ROLE_MASTER && m->n_parents < MOST_PARENTS; i++)
        if (!m->own_address || strcmp(addresses[i], m->own_address) != 0)
            membership_add_parents(m, &addresses[i], 1); /* without memory there is no refuge */
    const size_t learned = m->n_parents - before;
    if (before > 0)
        m->n_refuges += learned;
    else if (learned > 0 && m->own_address && m->state == STATE_OUT)
        membership_seek(m); /* the node had no parents: these become its parents instead of refuges */
    return learned;
}

/* A redirector has sent the addresses of the present master agents: unknown ones are tried next. */
static void membership_referred(struct membership *m, const struct welcome *welcome)
{
    struct refuges told;
    const char *addresses[MOST_REFUGES];
    refuges_get(&welcome->extensions, &told);
    for (size_t i = 0; i < told.n; i++)
        addresses[i] = told.addresses[i];
    if (m->n_parents + told.n > MOST_PARENTS)
        membership_drop_refuges(m);
    const size_t before = m->n_parents;
    if (membership_learn_parents(m, addresses, told.n) == 0)
        return; /* all of them are in the list of parents */
    m->tries = before;
    m->hello_ns = membership_now(m);
}

/* Refuges are for nodes whose parent is lost, not for nodes that were refused: they are not tried until a
 * parent sends them again. */
static void membership_drop_refuges(struct membership *m)
{
    for (; m->n_refuges > 0; m->n_refuges--) {
        m->n_parents--;
        free(m->parents[m->n_parents]);
        free(m->said[m->n_parents]);
    }
    m->refuges.n = 0;
    m->current = 0;
}

const struct refuges *membership_refuges(const struct membership *m)
{
    return &m->refuges;
}

bool membership_joined(const struct membership *m)
{
    return m->state == STATE_JOINED;
}

const char *membership_parent_name(const struct membership *m)
{
    return m->state == STATE_JOINED ? m->parent_name : NULL;
}

const char *membership_parent_address(const struct membership *m)
{
    return m->state == STATE_JOINED ? m->parents[m->current] : NULL;
}

uint64_t membership_parent_incarnation(const struct membership *m)
{
    return m->state == STATE_JOINED ? m->parent_incarnation : 0;
}

uint64_t membership_features(const struct membership *m)
{
    return m->state == STATE_JOINED ? m->agreed_features : 0;
}

const char *const *membership_ancestors(const struct membership *m, size_t *n)
{
    *n = m->state == STATE_JOINED ? m->n_ancestors : 0;
    return (const char *const *)m->ancestors;
}

const char *const *membership_parents(const struct membership *m, size_t *n)
{
    *n = m->n_parents;
    return (const char *const *)m->parents;
}

static bool add_parent(struct membership *m, const char *address)
{
    for (size_t i = 0; i < m->n_parents; i++)
        if (strcmp(m->parents[i], address) == 0)
            return true;
    char **parents = realloc(m->parents, (m->n_parents + 1) * sizeof *parents);
    if (!parents)
        return false;
    m->parents = parents;
    char **said = realloc(m->said, (m->n_parents + 1) * sizeof *said);
    if (!said)
        return false;
    m->said = said;
    said[m->n_parents] = NULL;
    parents[m->n_parents] = strdup(address);
    if (!parents[m->n_parents])
        return false;
    m->n_parents++;
    return true;
}

bool membership_add_parents(struct membership *m, const char *const *addresses, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!add_parent(m, addresses[i]))
            return false;
    return true;
}

/* Looks for a parent: tries one after the other at growing intervals, and reports each reason for failure
 * once. */

/* Returns a number in [0, 1) from xorshift64*: good enough to spread the retries of many children. */
static double draw(struct membership *m)
{
    m->random ^= m->random >> 12;
    m->random ^= m->random << 25;
    m->random ^= m->random >> 27;
    return (double)((m->random * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0;
}

/* Reports to the owner why there is no tie to this parent, each reason once. Broken, silent and
 * unreachable count as the same absence, because they mean the same to a reader of the log. */
static void membership_say(struct membership *m, size_t index, const char *parent, const char *why)
{
    char **said = &m->said[index];
    if (*said && strcmp(*said, why) == 0)
        return;
    free(*said);
    *said = strdup(why);
    if (m->ops.changed && !m->quiet)
        m->ops.changed(m->self, false, parent, why);
}

const char membership_broken[] = "the connection broke", membership_silent[] = "it fell silent";
const char membership_unreachable[] = "cannot be reached", membership_no_answer[] = "does not answer";

/* Whether the reason means that the parent is absent, not that it refused. */
static bool membership_is_absence(const char *why)
{
    return strcmp(why, membership_broken) == 0 || strcmp(why, membership_silent) == 0 ||
           strcmp(why, membership_unreachable) == 0 || strcmp(why, membership_no_answer) == 0;
}

/* Reports the reason for a parent that is absent. */
static void membership_say_absent(struct membership *m, size_t index, const char *why)
{
    if (!m->said[index] || !membership_is_absence(m->said[index]))
        membership_say(m, index, m->parents[index], why);
}

/* The parent is joined: the next failure is reported again. */
static void membership_forget_said(struct membership *m)
{
    for (size_t i = 0; i < m->n_parents; i++) {
        free(m->said[i]);
        m->said[i] = NULL;
    }
}

/* Schedules the next hello: between half and all of a pause that doubles up to its maximum. Parents are
 * tried in turn, so the pause grows once per round. */
static void membership_schedule_hello(struct membership *m)
{
    size_t rounds = m->tries / (m->n_parents ? m->n_parents : 1);
    int64_t pause_ms = m->retry_first_ms;
    for (size_t i = 0; i < rounds && pause_ms < m->retry_most_ms; i++)
        pause_ms *= 2;
    if (pause_ms > m->retry_most_ms)
        pause_ms = m->retry_most_ms;
    double jittered = (double)(pause_ms * NS_PER_MS) * (0.5 + 0.5 * draw(m));
    m->hello_ns = membership_now(m) + (int64_t)jittered;
}

/* Says hello to the parent whose turn it is. */
static void membership_send_hello(struct membership *m)
{
    m->current = m->tries % m->n_parents;
    struct hello_ticket ticket = {(uint32_t)m->current, ++m->hellos};
    struct extension extension = {EXTENSION_TICKET, (const uint8_t *)&ticket, sizeof ticket};
    struct message message = {
        .kind = MESSAGE_HELLO,
        .hello =
            {
                .minor = CONTRACT_MINOR,
                .features = m->features,
                .role = m->role,
                .address = m->own_address,
                .extensions = {.items = &extension, .n = 1},
            },
    };
    m->tries++;
    membership_schedule_hello(m);
    m->ops.post(m->self, m->parents[m->current], 0, &message);
}

/* Starts looking for a parent, the preferred one first. */
static void membership_seek(struct membership *m)
{
    membership_forget_parent(m);
    m->state = STATE_SEEKING;
    m->hellos_before = m->hellos;
    m->tries = 0;
    m->hello_ns = membership_now(m);
}

/* Returns the index of the parent whose welcome answers a valid hello; SIZE_MAX: none. */
static size_t membership_welcome_index(const struct membership *m, const struct welcome *welcome)
{
    const struct extension *extension = extension_find(&welcome->extensions, EXTENSION_TICKET);
    struct hello_ticket ticket;
    if (!extension || extension->length != sizeof ticket)
        return SIZE_MAX;
    memcpy(&ticket, extension->value, sizeof ticket);
    if (ticket.parent >= m->n_parents || ticket.number <= m->hellos_before || ticket.number > m->hellos)
        return SIZE_MAX;
    return ticket.parent;
}

/* This parent cannot be joined: try the next. The answer will not change within milliseconds, so the pause
 * grows faster. */
static void membership_refused(struct membership *m, size_t index, const char *parent, const char *why)
{
    membership_say(m, index, parent, why);
    m->hellos_before = m->hellos;
    m->tries += m->n_parents;
    membership_schedule_hello(m);
}

/* ---- why there is no tie ---- */

bool membership_is_known_above(const struct membership *m, char *why, size_t size)
{
    if (m->n_parents == 0 || membership_settled(m))
        return true;
    if (m->state == STATE_JOINED)
        snprintf(why, size, "\"%s\" has not confirmed yet what it was told", m->parent_name);
    else
        snprintf(why, size, "not below %s: %s", m->parents[0], m->said[0] ? m->said[0] : "no answer yet");
    return false;
}

const char *membership_why(const struct membership *m)
{
    return m->said[0];
}

bool membership_may_answer(const struct membership *m)
{
    return !m->said[0] || strcmp(m->said[0], membership_no_answer) == 0;
}

bool membership_is_refused(const struct membership *m)
{
    return m->said[0] && !membership_is_absence(m->said[0]);
}

#define RETRY_FIRST_MS 100

/* Bounds for the lease and heartbeat that a parent may ask for: an absurd value must neither make a child
 * send without pause nor make it wait for ever. */
#define HEARTBEAT_LEAST_MS 10
#define HEARTBEAT_MOST_MS  (60 * 1000)
#define LEASE_MOST_MS      (600 * 1000)

/* Distance between the hello numbers of two ties of one node, so that a welcome belongs to one of them
 * only. */
#define HELLOS_APART (UINT32_C(1) << 20)

enum esp_status membership_create(const struct membership_options *options, const struct membership_ops *ops,
                                  void *self, struct membership **membership, struct esp_error *error)
{
    struct membership *m = calloc(1, sizeof *m);
    if (!m)
        return error_no_memory(error, "the tie to a parent");
    m->ops = *ops;
    m->self = self;
    m->clock = options->clock;
    m->role = options->role;
    m->features = options->features;
    m->quiet = options->quiet;
    m->retry_first_ms = options->retry_first_ms > 0 ? options->retry_first_ms : RETRY_FIRST_MS;
    m->retry_most_ms = options->retry_most_ms > 0 ? options->retry_most_ms : MEMBERSHIP_RETRY_MOST_MS;
    m->random = options->seed ? options->seed : 1;
    if (options->after) {
        m->number = m->confirmed = options->after->number;
        m->hellos = m->hellos_before = options->after->hellos + HELLOS_APART;
    }
    m->name = strdup(options->name);
    m->parents = membership_copy_texts(options->parents, options->n_parents);
    if (!m->name || !m->parents) {
        membership_destroy(m);
        return error_no_memory(error, "the tie to a parent");
    }
    m->n_parents = options->n_parents;
    m->said = calloc(m->n_parents ? m->n_parents : 1, sizeof *m->said);
    if (!m->said) {
        membership_destroy(m);
        return error_no_memory(error, "the tie to a parent");
    }
    *membership = m;
    return ESP_OK;
}

void membership_destroy(struct membership *m)
{
    if (!m)
        return;
    membership_forget_parent(m);
    membership_free_texts(m->said, m->said ? m->n_parents : 0);
    membership_free_texts(m->parents, m->parents ? m->n_parents : 0);
    free(m->name);
    free(m->own_address);
    free(m->seeks);
    free(m);
}

static int64_t membership_now(const struct membership *m)
{
    return clock_now_ns(m->clock);
}

void membership_start(struct membership *m, const char *own_address)
{
    char *copy = strdup(own_address);
    if (!copy)
        return;
    free(m->own_address);
    m->own_address = copy;
    if (m->n_parents > 0)
        membership_seek(m);
}

static int64_t clamp(uint64_t value, int64_t least, int64_t most)
{
    if (value > (uint64_t)most)
        return most;
    return (int64_t)value < least ? least : (int64_t)value;
}

static void take_probe(struct membership *m, const struct welcome *welcome)
{
    const struct extension *probe = extension_find(&welcome->extensions, EXTENSION_PROBE);
    const uint32_t n = probe && probe->length <= CAP_PROBE_URL ? probe->length : 0;
    if (n)
        memcpy(m->parent_probe, probe->value, n);
    m->parent_probe[n] = 0;
}

const char *membership_parent_probe(const struct membership *m)
{
    return m->state == STATE_JOINED && *m->parent_probe ? m->parent_probe : NULL;
}

static void take_terms(struct membership *m, const struct welcome *welcome)
{
    int64_t heartbeat_ms = clamp(welcome->heartbeat_ms, HEARTBEAT_LEAST_MS, HEARTBEAT_MOST_MS);
    m->heartbeat_ns = heartbeat_ms * NS_PER_MS;
    m->lease_ns = clamp(welcome->lease_ms, 2 * heartbeat_ms, LEASE_MOST_MS) * NS_PER_MS;
    m->agreed_features = welcome->features & m->features;
    take_probe(m, welcome);
}

static void post_goodbye(struct membership *m, const char *address, const char *reason)
{
    struct message message = {.kind = MESSAGE_GOODBYE, .goodbye = {.reason = reason}};
    m->ops.post(m->self, address, 0, &message);
}

static void tell_joined(struct membership *m)
{
    m->put_out = false;
    m->trial_ns = 0;
    membership_forget_said(m);
    if (m->ops.changed)
        m->ops.changed(m->self, true, m->parent_name, "");
}

/* Joins the parent. A node whose name is taken is let in now and then, because only an agent further up
 * knows when the name is free: the name is free if the node may stay. Reporting each attempt would fill
 * the log. */
static void join(struct membership *m, const struct envelope *envelope, const struct welcome *welcome,
                 size_t index)
{
    char *name = strdup(envelope->from);
    if (!name || !membership_take_ancestors(m, welcome)) {
        free(name);
        return; /* the next hello is already due */
    }
    free(m->parent_name);
    m->parent_name = name;
    m->parent_incarnation = envelope->from_incarnation;
    m->current = index;
    take_terms(m, welcome);
    membership_take_refuges(m, welcome);
    m->state = STATE_JOINED;
    m->tries = 0;
    m->complete_next = true;
    m->more = m->parts = false;
    m->confirmed = m->number;
    m->arrivals = (struct arrivals){0};
    m->report_ns = membership_now(m);
    membership_heard(m);
    if (m->put_out && m->said[index])
        m->trial_ns = m->report_ns + m->lease_ns;
    else
        tell_joined(m);
    if (m->ops.ancestors)
        m->ops.ancestors(m->self);
}

static void lose(struct membership *m, const char *why)
{
    char name[CAP_NAME + 1];
    snprintf(name, sizeof name, "%s", m->parent_name ? m->parent_name : m->parents[m->current]);
    size_t index = m->current;
    m->trial_ns = 0;
    membership_seek(m);
    membership_say(m, index, name, why);
    if (m->ops.ancestors)
        m->ops.ancestors(m->self);
}

static const char loop_text[] = "it is below this node already: a loop";

/* Whether the welcome comes from a redirector, which accepts master agents only and sends their addresses
 * to other nodes. */
static bool is_referral(const struct membership *m, const struct welcome *welcome)
{
    return welcome->outcome.status != ESP_OK && welcome->role == ROLE_REDIRECTOR && m->role != ROLE_MASTER;
}

static void on_welcome_seeking(struct membership *m, const struct envelope *envelope,
                               const struct welcome *welcome)
{
    size_t index = membership_welcome_index(m, welcome);
    if (index == SIZE_MAX)
        return;
    if (is_referral(m, welcome)) {
        if (index < m->n_parents - m->n_refuges) /* the configuration file lists this parent */
            membership_say(m, index, envelope->from, welcome->outcome.text);
        membership_referred(m, welcome);
    } else if (welcome->outcome.status != ESP_OK) {
        membership_refused(m, index, envelope->from, welcome->outcome.text);
        membership_drop_refuges(m);
    } else if (membership_is_loop(m, envelope, welcome)) {
        post_goodbye(m, m->parents[index], loop_text);
        membership_refused(m, index, envelope->from, loop_text);
    } else {
        join(m, envelope, welcome, index);
    }
}

static bool membership_is_from_parent(const struct membership *m, const struct envelope *envelope)
{
    return m->parent_incarnation == envelope->from_incarnation && strcmp(m->parent_name, envelope->from) == 0;
}

static void on_welcome_joined(struct membership *m, const struct envelope *envelope,
                              const struct welcome *welcome)
{
    if (!membership_is_from_parent(m, envelope))
        return;
    membership_heard(m);
    if (welcome->outcome.status != ESP_OK) {
        lose(m, welcome->outcome.text);
        m->put_out = true;
        membership_drop_refuges(m);
        m->tries = m->n_parents;
        membership_schedule_hello(m);
    } else if (membership_is_loop(m, envelope, welcome)) {
        post_goodbye(m, m->parents[m->current], loop_text);
        lose(m, loop_text);
        m->tries = m->n_parents;
        membership_schedule_hello(
            m); /* jittered, so that two nodes leaving each other do not act at the same time */
    } else {
        take_terms(m, welcome);
        membership_touch(m,
                         m->heartbeat_ns / NS_PER_MS); /* the next report is due after the agreed heartbeat */
        bool news = membership_take_refuges(m, welcome);
        news |= !membership_same_ancestors(m, welcome) && membership_take_ancestors(m, welcome);
        if (news && m->ops.ancestors)
            m->ops.ancestors(m->self);
        struct namesake namesake;
        if (m->ops.namesake && namesake_read(&welcome->extensions, &namesake))
            m->ops.namesake(m->self, &namesake);
    }
}

static void on_rejoin(struct membership *m, const struct envelope *envelope, const char *reason)
{
    /* A restarted parent has the old name and a new incarnation. While seeking, a hello is already under
     * way. */
    if (m->state == STATE_JOINED && strcmp(m->parent_name, envelope->from) == 0)
        lose(m, reason);
}

bool membership_post(struct membership *m, const struct envelope *envelope, const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_WELCOME:
        if (m->state == STATE_SEEKING)
            on_welcome_seeking(m, envelope, &message->welcome);
        else if (m->state == STATE_JOINED)
            on_welcome_joined(m, envelope, &message->welcome);
        return true;
    case MESSAGE_PULSE:
        membership_on_pulse(m, envelope, message->pulse.number);
        return true;
    case MESSAGE_REJOIN:
        on_rejoin(m, envelope, message->rejoin.reason);
        return true;
    default:
        return false;
    }
}

void membership_undelivered(struct membership *m, const char *address, const struct esp_error *why)
{
    if (m->state == STATE_OUT || strcmp(m->parents[m->current], address) != 0)
        return;
    if (m->state == STATE_JOINED)
        lose(m, why->status == ESP_VERSION ? why->text : membership_broken);
    else if (why->status == ESP_VERSION)
        membership_say(m, m->current, address, why->text);
    else
        membership_say_absent(m, m->current, membership_unreachable);
}

void membership_hung_up(struct membership *m, const struct envelope *from)
{
    const bool waits =
        membership_next_report_ns(m) == CLOCK_NEVER; /* a report is on its way and serves as well */
    if (m->state == STATE_JOINED && membership_is_from_parent(m, from) && !waits)
        membership_send_report(m);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Notes a sign of life from the parent. */
static void membership_heard(struct membership *m)
{
    arrivals_note(&m->arrivals, membership_now(m), m->heartbeat_ns);
}

/* Returns when the parent is taken for dead unless it sends something. */
static int64_t end_ns(const struct membership *m)
{
    const int64_t ns = m->arrivals.heard_ns + arrivals_patience_ns(&m->arrivals, m->lease_ns);
    return ns > m->spared_ns ? ns : m->spared_ns;
}

/* This node itself did not run for longer than a heartbeat when it should have: the messages that the
 * parent sent meanwhile are only being read now. */
static void spare(struct membership *m, int64_t now_ns)
{
    if (m->spared_ns < now_ns && membership_due(m) + m->heartbeat_ns < now_ns)
        m->spared_ns = now_ns + 2 * m->heartbeat_ns;
}

int64_t membership_due(const struct membership *m)
{
    switch (m->state) {
    case STATE_SEEKING:
        return m->hello_ns;
    case STATE_JOINED:
        return earlier(earlier(membership_next_report_ns(m), membership_resend_ns(m)),
                       earlier(end_ns(m), m->trial_ns ? m->trial_ns : CLOCK_NEVER));
    default:
        return CLOCK_NEVER;
    }
}

void membership_tick(struct membership *m)
{
    int64_t time = membership_now(m);
    if (m->state == STATE_JOINED)
        spare(m, time);
    if (m->state == STATE_JOINED && time >= end_ns(m))
        lose(m, membership_silent);
    if (m->state == STATE_JOINED && m->trial_ns && time >= m->trial_ns)
        tell_joined(m);
    if (m->state == STATE_SEEKING && time >= m->hello_ns) {
        if (m->tries == 2 * m->n_parents && !m->said[m->current]) /* a parent that refused did answer */
            membership_say_absent(m, m->current, membership_no_answer);
        membership_send_hello(m);
    }
    if (m->state == STATE_JOINED && time >= membership_resend_ns(m)) {
        m->complete_next = true;
        m->report_ns = time;
    }
    if (m->state == STATE_JOINED && time >= membership_next_report_ns(m))
        membership_send_report(m);
}

void membership_tell_due(struct membership *m)
{
    if (m->state == STATE_JOINED && membership_next_report_ns(m) <= membership_now(m))
        membership_send_report(m);
}

void membership_leave(struct membership *m, const char *reason)
{
    if (m->state == STATE_JOINED)
        post_goodbye(m, m->parents[m->current], reason);
    m->state = STATE_OUT;
    membership_forget_parent(m);
}

/* Sends reports to the parent: in parts when there is much, again when they are not confirmed. */

/* Extensions that the owner may add to one report, besides those of the tie. */
#define REPORT_EXTENSIONS 3

static void membership_on_pulse(struct membership *m, const struct envelope *envelope, uint64_t number)
{
    if (m->state != STATE_JOINED || !membership_is_from_parent(m, envelope))
        return;
    membership_heard(m);
    if (number > m->confirmed && number <= m->number) {
        m->confirmed = number;
        m->unconfirmed_ns = m->arrivals.heard_ns;
        if (m->more && m->confirmed == m->number)
            m->report_ns = m->arrivals.heard_ns;
    }
}

void membership_touch(struct membership *m, int64_t within_ms)
{
    if (m->state != STATE_JOINED)
        return; /* a complete report follows the welcome anyway */
    int64_t due = membership_now(m) + within_ms * NS_PER_MS;
    if (due < m->report_ns)
        m->report_ns = due;
}

void membership_tell_all(struct membership *m)
{
    if (m->state != STATE_JOINED)
        return;
    m->complete_next = true;
    m->report_ns = membership_now(m);
}

void membership_ask_where(struct membership *m, const char *name)
{
    char *copy = strdup(name);
    if (!copy)
        return;
    free(m->seeks);
    m->seeks = copy;
    membership_touch(m, 0);
}

/* Returns when an unconfirmed report is sent again: half the lease leaves time for a complete one to
 * arrive. */
static int64_t membership_resend_ns(const struct membership *m)
{
    if (m->confirmed == m->number || m->complete_next)
        return CLOCK_NEVER;
    int64_t patience = m->heartbeat_ns < m->lease_ns / 3 ? m->heartbeat_ns : m->lease_ns / 3;
    return m->unconfirmed_ns + patience;
}

/* Returns when the next report is due. Parts wait for each other, so that only one part is on its way at a
 * time. */
static int64_t membership_next_report_ns(const struct membership *m)
{
    bool waits = m->more && m->confirmed != m->number && !m->complete_next;
    return waits ? CLOCK_NEVER : m->report_ns;
}

/* Sends everything that the owner has to report, or a part of it. */
static void membership_send_report(struct membership *m)
{
    bool complete = m->complete_next;
    struct message message = {.kind = MESSAGE_REPORT};
    m->report_ns = membership_now(m) + m->heartbeat_ns; /* unless the owner, called below, wants it sooner */
    m->ops.report(m->self, complete, &message);
    m->more = m->ops.more && m->ops.more(m->self);
    message.report.complete = complete;
    message.report.number = ++m->number;
    struct extension address = {.tag = EXTENSION_CHILD_ADDRESS,
                                .value = (const uint8_t *)m->own_address,
                                .length = (uint32_t)strlen(m->own_address)};
    const uint8_t follow = m->more;
    bool part = complete ? m->more : m->parts;
    m->parts = part && m->more;
    const struct extensions own = message.report.extensions;
    struct extension items[3 + REPORT_EXTENSIONS] = {address};
    struct extensions all = {.items = items, .n = 1};
    for (uint32_t i = 0; i < own.n && i < REPORT_EXTENSIONS; i++)
        items[all.n++] = own.items[i];
    if (part)
        items[all.n++] = (struct extension){.tag = EXTENSION_PART, .value = &follow, .length = 1};
    if (m->seeks)
        items[all.n++] = (struct extension){
            .tag = EXTENSION_SEEKS, .value = (uint8_t *)m->seeks, .length = (uint32_t)strlen(m->seeks)};
    message.report.extensions = all;
    if (complete || m->confirmed == m->number - 1)
        m->unconfirmed_ns = membership_now(m);
    if (complete)
        m->confirmed = m->number - 1; /* what came before no longer matters */
    m->complete_next = false;
    /* To any incarnation: a restarted parent answers "rejoin" at once. A message for its earlier
     * incarnation would be dropped, and the tie lost until the lease ends. */
    m->ops.post(m->self, m->parents[m->current], 0, &message);
    arena_clear(&message.arena);
    free(m->seeks);
    m->seeks = NULL;
}

bool membership_settled(const struct membership *m)
{
    return m->state == STATE_JOINED && !m->complete_next && !m->more && m->confirmed == m->number;
}
