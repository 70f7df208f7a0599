/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent: the master agent at the root of a tree, which takes clients' requests and chooses servers, or a
 * leader agent inside the tree. One state machine behind one endpoint; the transport is passed in.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "core/transport.h"
#include "services/duty.h"
#include "services/settings.h"
#include "util/metrics.h"

struct agent;

/* A member that is 0 takes its default; freshness takes -1 for "never from memory". */
struct agent_options {
    const char *name;
    const char *listen, *publish; /* as struct endpoint_options has them */
    uint64_t incarnation;
    uint64_t seed; /* of jitter and random choices */
    /* A leader has parents, the preferred first; a master has none, and registers with its redirectors.
     * Addresses. */
    const char *const *parents;
    size_t n_parents;
    const char *const *redirectors;
    size_t n_redirectors;
    bool loopback_only;         /* others may not reach it: settings_is_shut_in() */
    const char *probe;          /* URL where children measure their links to it; NULL: nowhere */
    const char *scheduler;      /* a name of core/choice/scheduler.h, or the path of a library (with a /) */
    uint32_t breadth;           /* candidates that an answer carries up (8) */
    uint32_t candidates;        /* that a client gets when it does not say (3) */
    uint32_t children;          /* at most (10,000) */
    uint32_t waiting;           /* requests that may wait for answers from below (4096) */
    int64_t heartbeat_ms;       /* that children shall keep (2000) */
    int64_t learning_ms;        /* beside their longest search, until all children have found it (0: 1 s) */
    int64_t lease_ms;           /* after which a silent child is dead (8000) */
    int64_t freshness_ms;       /* knowledge that old may answer from memory (10,000) */
    int64_t answer_timeout_ms;  /* how long to wait for children (2000) */
    int64_t placement_lease_ms; /* how long a placement counts before its call arrives (10,000) */
    int64_t report_within_ms;   /* changes below are gathered that long (75) */
    uint32_t ahead;             /* placements made ahead, at most, of core/choice/ahead.h; 0: none */
    int64_t place_within_ms;    /* placements are gathered that long before they are told down (25) */
    int64_t retry_first_ms, retry_most_ms; /* between hellos to a parent (100, 5000) */
    /* For administrators, as struct duty_options has them. */
    const char *state_dir;
    const char *file_parent;                     /* borrowed */
    const struct config_strings *administrators; /* borrowed */
    void (*control)(void *arg, enum duty_control what);
    enum esp_status (*check)(void *arg, struct esp_error *error);
    void *control_arg;
};

/* Starts serving. What the options point to is copied. */
enum esp_status agent_create(const struct agent_options *options, struct transport *transport,
                             struct agent **agent, struct esp_error *error);
/* Its file was read again: what of its options can be others while it runs is taken over (breadth,
 * candidates, ahead, children, waiting, freshness_ms, answer_timeout_ms, placement_lease_ms, heartbeat_ms,
 * lease_ms, scheduler, administrators), and who ordered it is answered, also of the keys that count at the
 * next start (`pending`). `now` NULL: the file is wrong, as *error says. ESP_CONFIG: the scheduler cannot be
 * had; then all stays as it was. */
enum esp_status agent_renew(struct agent *agent, const struct agent_options *now, const char *pending,
                            struct esp_error *error);
/* The same of its settings, NULL when the file is wrong. True: they are borrowed until the next ones. */
bool agent_reload_configured(struct agent *agent, const struct settings_agent *now,
                             const struct esp_error *error, const char *pending);
/* As its configuration file says. `incarnation` also seeds its random choices; `probe` as in the options. */
enum esp_status agent_create_configured(const struct settings_agent *settings, uint64_t incarnation,
                                        const char *probe, struct transport *transport, struct agent **agent,
                                        struct esp_error *error);
const char *agent_address(const struct agent *agent);
/* Leaves in order: tells parent and children, then stops serving and frees all. NULL is nothing to do. */
void agent_stop(struct agent *agent, const char *reason);
/* Frees all without a word to anybody, as if the process had died (tests). */
void agent_drop(struct agent *agent);

/* Links, as services/nws/links.h has their operations; `agent` is a struct agent. Any thread but from inside
 * an operation of its own. */
bool agent_parent(void *agent, char name[256], char url[385]);
void agent_to_parent(void *agent, const struct path *path);
void agent_between(void *agent, const char *child, const char *brother, const struct path *path);

/* Agents to fall back on, behind those it knows (membership_learn_parents()). Returns how many are new; 0 of
 * a master agent. Any thread but from inside an operation of its own. */
size_t agent_learn_parents(struct agent *agent, const char *const *addresses, size_t n);

/* Who tells what is measured of links, from now on; all zero: nobody. Any thread but from inside an operation
 * of its own. */
void agent_set_weather(struct agent *agent, const struct duty_weather *weather);

/* What it knows, for tests and benchmarks; any thread but from inside an operation of its own. */
struct agent_figures {
    size_t children, nodes, pending; /* pending: placements that no record contains yet */
    size_t questions;                /* asked down and not answered yet */
    uint64_t from_memory, asked;     /* requests answered either way */
};
void agent_figures(struct agent *agent, struct agent_figures *figures);

/* For struct daemon_node; `agent` is a struct agent. Any thread but from inside an operation of its own. */
bool agent_health(void *agent, char *text, size_t size);
bool agent_settled(void *agent, char *why, size_t size);
void agent_metrics(void *agent, struct metrics *metrics);

#endif
