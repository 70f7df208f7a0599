/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside `espalier admin apply`: verb_admin_apply.c (the plan and its steps), apply_redirectors.c
 * (redirectors, and whom they have to become known to) and apply_return.c (nodes that come back by
 * themselves).
 */
#ifndef COMMAND_APPLY_H
#define COMMAND_APPLY_H

#include "command/admin.h"
#include "command/apply_plan.h"
#include "command/deploy.h"

/* Somebody who leads to the platform, and has ended: started again where it was. */
struct revival {
    const char *name;
    char address[256];
};

struct apply {
    struct settings_platform platform;
    struct deploy deploy;
    struct plan plan;
    struct orders *orders;
    uint64_t *generations; /* of the tree below each node of the view that is a top, as it was looked at */
    int64_t until_ns;      /* when all has to be done, by --timeout; 0: that was not said */
    bool dry;
    struct revival *revivals; /* started again, or to be started again where this is a dry run */
    size_t n_revivals;
    struct config_strings
        redirectors; /* addresses of the file's redirectors that run, in the platform's arena */
};

/* What the tree does not show of the nodes of the file. */
struct whereabouts {
    char **homes; /* plan_options.homes, for the view as it was asked with */
    size_t n_homes;
    struct platform_record *records;
    size_t n_records;
    const char **running; /* names in the records */
    size_t n_running;
    bool own; /* agents or servers of the file are in the records, alive or not */
};

#define APPLY_START_S 30.0 /* with one daemon that starts */

/* ---- apply_return.c ---- */

/* Master agents that run here register with a redirector that was started again: waits some seconds for
 * that, so that they are not taken for dead. */
enum exit_code apply_await_masters(struct apply *apply);

/* Asks nodes where they belong, and lists what runs here. To be
 * released, whatever came of it; a failure was printed. */
enum exit_code apply_whereabouts(const struct apply *apply, struct whereabouts *there);
void apply_whereabouts_release(struct whereabouts *there);
/* Tells nodes that are where the file has them that this is where they belong. */
enum exit_code apply_stays(struct apply *apply);
/* When nodes are to return: starts what can be started without them, and waits for them. *waited: the rest
 * is to be planned anew. Who has not returned in time (--timeout, else 75 s) was said. */
enum exit_code apply_bring_back(struct apply *apply, bool *waited);

/* ---- apply_start.c ---- */

/* For one more wait: what is left of --timeout, else `otherwise_s`. Any thread. */
double apply_patience_s(const struct apply *apply, double otherwise_s);
/* Tells a master agent's file of the redirectors. */
void apply_place_master(const struct apply *apply, struct settings_agent *agent);
/* The first step starts a daemon; it is started with those of the steps behind it that do not need each
 * other, `most` in all, *n of them, and each is waited for until the tree shows it. When one fails, the
 * others are in the tree all the same. */
enum exit_code apply_start(struct apply *apply, const struct step *steps, size_t most, size_t *n);
/* Where its file says that it belongs: the address of its parent, or of the redirectors, as they are now.
 * ESP_UNREACHABLE: its parent is not in the tree. */
enum esp_status apply_place(struct apply *apply, const struct view *view, const struct step *step,
                            struct esp_error *error);
/* Starts that daemon, here or there, and waits for its address. Any thread, for a daemon there. */
enum esp_status apply_launch(struct apply *apply, struct deploy_daemon *daemon, struct launch *launch,
                             struct esp_error *error);
struct deploy_daemon apply_agent_daemon(struct apply *apply, const struct platform_agent *agent);
/* Of a step that is an agent's or a server's. */
struct deploy_daemon apply_daemon(struct apply *apply, const struct step *step);

/* ---- apply_redirectors.c ---- */

/* Starts the redirectors of this machine that have died or were stopped, or in a platform without any its
 * master agents, where they were, so that those who know them find them again: before the tree is asked for,
 * as a platform to which nobody leads does not show it. */
enum exit_code apply_revive(struct apply *apply, const struct command_line *command);
/* Whether that one is among them. */
bool apply_is_revived(const struct apply *apply, const char *name);
/* Whether a dry run has nobody who leads to the platform. */
bool apply_has_no_way_in(const struct apply *apply);
/* An object for each of them in the list for programs. */
void apply_list_revivals(const struct apply *apply, json_t *list);
/* Where the file's redirectors are, in the tree as it is seen. ESP_NO_MEMORY. */
enum esp_status apply_find_redirectors(struct apply *apply, const struct view *view, struct esp_error *error);
/* A step that starts a redirector. */
enum exit_code apply_start_redirector(struct apply *apply, const struct step *step);
/* After these steps: the master agents register with all redirectors, clients are told, and so is this
 * session. */
enum exit_code apply_introduce(struct apply *apply);

#endif
