/* SPDX-License-Identifier: Apache-2.0
 *
 * What has to be done to a running tree so that it is the one of a platform file. Pure: nothing is asked,
 * nothing is done.
 */
#ifndef COMMAND_APPLY_PLAN_H
#define COMMAND_APPLY_PLAN_H

#include "command/admin.h"
#include "services/settings.h"

/* STEP_RETURN: nothing is to be done, but waited for until the node is where it belongs: it is at a refuge,
 * or in no tree, and goes back by itself. STEP_STAY: it is where it is to be, at a refuge, and would leave it
 * when the parent is back that it belonged to. */
enum step_kind { STEP_STAY, STEP_START, STEP_RETURN, STEP_MOVE, STEP_REMOVE };

struct step {
    enum step_kind kind;
    const char *name, *parent;                    /* parent: "" for a master or redirector */
    const struct settings_redirector *redirector; /* of the file; NULL: something else */
    const struct platform_agent *agent;           /* of the file; NULL: no agent, or it is removed */
    const struct platform_server *server;         /* of the file; NULL: no server, or it is removed */
    const struct esp_node *node;                  /* of the tree; NULL: it is not there */
};

/* In the order in which they are to be done: who is to stay, as it leaves when others are started,
 * redirectors, then parents before those below them, as no move can close a circle then, and removals last,
 * from below. What lives and has its place is in none. Moves and removals count on what returns having
 * returned: then the plan is to be made anew. */
struct plan {
    struct step *steps;
    size_t n;
    const struct esp_node **alone; /* in the tree and not in the file, and left as they are */
    size_t n_alone;
};

struct plan_options {
    bool remove;   /* what the file does not name goes */
    bool by_agent; /* the view is what an agent told, which does not show redirectors */
    /* Of each node of the view: the name of the parent that it goes back to by itself; NULL or "": it is
     * where it belongs, or did not tell. The array may be NULL. */
    char *const *homes;
    const char *const *running; /* names of nodes whose processes run on this machine */
    size_t n_running;
    bool own; /* nodes of the file have been started for this platform: it is its file, whoever is left */
};

/* What the texts of the plan point to must outlive it.
 * ESP_REFUSED: the file cannot be had from this tree, with the reason: it is of another platform, a node
 * would change its role or its tree, or nodes would be cut off. ESP_NO_MEMORY. */
enum esp_status plan_make(const struct settings_platform *platform, const struct view *view,
                          const struct plan_options *options, struct plan *plan, struct esp_error *error);
/* Whether the step waits for the return of its parent, or of one above: it can be done behind that only. */
bool plan_waits(const struct plan *plan, const struct step *step);
/* The file's node of that name into step->agent or step->server, and its parent's name. False: none. */
bool plan_find(const struct settings_platform *platform, const char *name, struct step *step);
void plan_release(struct plan *plan);

#endif
