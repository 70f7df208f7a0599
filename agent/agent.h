/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent: the master agent at the root of a tree, which receives clients' requests and chooses servers,
 * or a leader agent inside the tree. An agent is one state machine behind one endpoint. The caller passes
 * in the transport.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "core/transport.h"
#include "services/duty.h"
#include "services/settings.h"
#include "util/metrics.h"

struct agent;

/* A member that is 0 takes its default. freshness_ms = -1 means that requests are never answered from
 * memory. */
struct agent_options {
    const char *name;
    const char *listen, *publish; /* as in struct endpoint_options */
    uint64_t incarnation;
    uint64_t seed; /* seed of jitter and random choices */
    /* Addresses. A leader has parents, the preferred one first. A master has none, and registers with its
     * redirectors. */
    const char *const *parents;
    size_t n_parents;
    const char *const *redirectors;
    size_t n_redirectors;
    bool loopback_only;         /* other machines may not reach it: settings_is_shut_in() */
    const char *probe;          /* URL where children measure their links to this agent; NULL: none */
    const char *scheduler;      /* a name of core/choice/scheduler.h, or the path of a library (with a /) */
    uint32_t breadth;           /* candidates in an answer to the parent (8) */
    uint32_t candidates;        /* candidates for a client that names no number (3) */
    uint32_t children;          /* most children (10,000) */
    uint32_t waiting;           /* most requests that wait for answers from children (4096) */
    int64_t heartbeat_ms;       /* interval of the children's heartbeats (2000) */
    int64_t learning_ms;        /* warm-up, in addition to the children's longest search (0: 1 s) */
    int64_t lease_ms;           /* a child that is silent for so long is lost (8000) */
    int64_t freshness_ms;       /* age up to which knowledge answers from memory (10,000) */
    int64_t answer_timeout_ms;  /* how long to wait for children (2000) */
    int64_t placement_lease_ms; /* how long a placement counts before its call arrives (10,000) */
    int64_t report_within_ms;   /* changes below are gathered for so long before they are reported (75) */
    uint32_t ahead;             /* most placements made ahead, see core/choice/ahead.h; 0: none */
    int64_t place_within_ms;    /* placements are gathered for so long before the children get them (25) */
    int64_t retry_first_ms, retry_most_ms; /* interval of hellos to a parent (100, 5000) */
    /* For orders from administrators, as in struct duty_options. */
    const char *state_dir;
    const char *file_parent;                     /* borrowed */
    const struct config_strings *administrators; /* borrowed */
    void (*control)(void *arg, enum duty_control what);
    enum esp_status (*check)(void *arg, struct esp_error *error);
    void *control_arg;
};

/* Starts an agent. Copies everything that the options point to. */
enum esp_status agent_create(const struct agent_options *options, struct transport *transport,
                             struct agent **agent, struct esp_error *error);
/* Takes over options from the configuration file after it was read again: breadth, candidates, ahead,
 * children, waiting, freshness_ms, answer_timeout_ms, placement_lease_ms, heartbeat_ms, lease_ms,
 * scheduler, administrators. Answers the administrator who ordered the reload; the answer lists `pending`,
 * the changed keys that count from the next start. If the file is wrong, `now` is NULL and *error says
 * why. Returns ESP_CONFIG if the scheduler cannot be loaded; then no option changes. */
enum esp_status agent_renew(struct agent *agent, const struct agent_options *now, const char *pending,
                            struct esp_error *error);
/* Does the same with settings; NULL if the file is wrong. Returns true if the agent has borrowed the
 * settings; it uses them until the next reload. */
bool agent_reload_configured(struct agent *agent, const struct settings_agent *now,
                             const struct esp_error *error, const char *pending);
/* Starts an agent with the settings of its configuration file. `incarnation` also seeds its random
 * choices; `probe` is as in the options. */
enum esp_status agent_create_configured(const struct settings_agent *settings, uint64_t incarnation,
                                        const char *probe, struct transport *transport, struct agent **agent,
                                        struct esp_error *error);
const char *agent_address(const struct agent *agent);
/* Leaves in order: takes leave of the parent and the children, then stops serving and frees the agent.
 * Accepts NULL. */
void agent_stop(struct agent *agent, const char *reason);
/* Frees the agent without a message to any node, as if the process had died (for tests). */
void agent_drop(struct agent *agent);

/* Operations for services/nws/links.h; `agent` is a struct agent. May be called from any thread, except
 * from inside an operation of this agent. */
bool agent_parent(void *agent, char name[256], char url[385]);
void agent_to_parent(void *agent, const struct path *path);
void agent_between(void *agent, const char *child, const char *brother, const struct path *path);

/* Adds agents to fall back on behind the known ones (membership_learn_parents()). Returns how many are
 * new; 0 for a master agent. May be called from any thread, except from inside an operation of this agent. */
size_t agent_learn_parents(struct agent *agent, const char *const *addresses, size_t n);

/* Sets the functions that supply link measurements from now on; all members NULL: none. May be called from
 * any thread, except from inside an operation of this agent. */
void agent_set_weather(struct agent *agent, const struct duty_weather *weather);

/* Figures of the agent's state, for tests and benchmarks. May be read from any thread, except from inside
 * an operation of this agent. */
struct agent_figures {
    size_t children, nodes, pending; /* pending: placements that no report contains yet */
    size_t questions;                /* sent to children and not answered yet */
    uint64_t from_memory, asked;     /* requests answered from memory, and after asking children */
};
void agent_figures(struct agent *agent, struct agent_figures *figures);

/* For struct daemon_node; `agent` is a struct agent. May be called from any thread, except from inside an
 * operation of this agent. */
bool agent_health(void *agent, char *text, size_t size);
bool agent_settled(void *agent, char *why, size_t size);
void agent_metrics(void *agent, struct metrics *metrics);

#endif
