/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verbs of administration share: the tree as it is, and orders to its nodes.
 */
#ifndef COMMAND_ADMIN_H
#define COMMAND_ADMIN_H

#include "command/command.h"

#include <espalier.h>

/* The tree as it was looked at. */
struct view {
    struct esp_node *nodes;
    size_t n;
};

/* Looks at the tree of the platform that is open. EXIT_DONE, or the message has been printed. */
enum exit_code view_open(const struct command_line *command, struct view *view);
void view_close(struct view *view);

/* NULL, with a message that names the nearest one, when there is none of that name, or, with their addresses,
 * when there are two. */
const struct esp_node *view_find(const struct command_line *command, const struct view *view,
                                 const char *name);
/* NULL: none of that name, or it is not reached. */
const struct esp_node *view_there(const struct view *view, const char *name);
const struct esp_node *view_parent(const struct view *view, const struct esp_node *node);
/* The agent at the top of the tree that the node is in, to whom orders go; NULL for a redirector. */
const struct esp_node *view_top(const struct view *view, const struct esp_node *node);
/* How many are above it. */
unsigned view_depth(const struct view *view, const struct esp_node *node);
bool view_is_within(const struct view *view, const struct esp_node *node, const struct esp_node *top);

/* One order by way of the top of its tree, which is waited with for some seconds while it does not find the
 * node that `view` has: somebody moves then. A failure is printed. `text` as esp_administer() has it, may be
 * NULL. `generation`: as for esp_administer(), may be NULL. */
enum exit_code admin_order(const struct command_line *command, const struct view *view,
                           const struct esp_node *node, const char *verb, const char *const *words,
                           size_t n_words, uint64_t *generation, char **text);

/* The same without a word to anybody: esp_last_error() has what failed. */
enum esp_status admin_send(const struct view *view, const struct esp_node *node, const char *verb,
                           const char *const *words, size_t n_words, uint64_t *generation, char **text);

/* That all data that a server keeps for good are kept by others, too, who stay. */
struct kept_elsewhere {
    const struct esp_node *node; /* of the view; NULL: that is not so of the one that was looked at last */
    char word[40];               /* by which the server knows that what it has now was looked at */
    char remark[300];            /* "3 data that it kept for good stay on B, C" */
};

#define MOVED_BYTES 900 /* for where a node was, and how long its move counts */

/* What orders are given by: the tree as it is now, and what has come of them. */
struct orders {
    const struct command_line *command;
    struct view view;
    json_t *list;
    size_t told;                           /* lines for people */
    const struct esp_node *const *leaving; /* of the view: these go for good, all of them; may be NULL */
    size_t n_leaving;
    struct kept_elsewhere kept;
};

/* Opens the platform, looks at its tree, and between that and closing it lets `give` give the orders, within
 * --timeout. */
enum exit_code orders_run(const struct command_line *command,
                          enum exit_code (*give)(struct orders *orders, const void *arg), const void *arg);
/* The same where --timeout is what `give` waits for sessions to end. */
enum exit_code orders_run_patiently(const struct command_line *command,
                                    enum exit_code (*give)(struct orders *orders, const void *arg),
                                    const void *arg);
/* What came of an order: a line for people, an object of a list for programs. */
void orders_done(struct orders *orders, const char *node, const char *what, const char *remark);
/* One order to one node, and a line about it. */
enum exit_code orders_tell(struct orders *orders, const struct esp_node *node, const char *verb,
                           const char *const *words, size_t n_words, const char *what);
/* Whether something would be lost with the server's process, or, `for_good`, with a server that is not
 * started again: ESP_REFUSED with what. Not where that is meant (--force), nor of a version that does not
 * tell. Data that others keep for good, too, are not lost with it, but for those that leave with it:
 * orders->kept. */
bool orders_would_lose(struct orders *orders, const struct esp_node *node, bool for_good,
                       struct esp_error *error);
/* EXIT_DONE: nothing would be lost so. Else it has been said. */
enum exit_code orders_spare(struct orders *orders, const struct esp_node *node, bool for_good);
/* EXIT_DONE: no results would be lost with the server and the folder of its state. */
enum exit_code orders_spare_folder(struct orders *orders, const struct esp_node *node);
/* Before a server ends: nothing is lost with it, it takes no new sessions and has none. Where it is refused
 * it takes them as before, and where whoever ordered this is interrupted, soon. Of other nodes: nothing to
 * do. `patience_s` for its sessions (0: any time): EXIT_UNREACHABLE, which has been said. */
enum exit_code orders_make_idle(struct orders *orders, const struct esp_node *node, bool for_good,
                                double patience_s);
/* The order that ends a node, with what its options say. `generation` and `text` as for admin_order(). */
enum exit_code orders_end(struct orders *orders, const struct esp_node *node, const char *verb, bool for_good,
                          uint64_t *generation, char **text);
/* Waits until the tree does not show it any more: EXIT_DONE, or that was said after `patience_s`. */
enum exit_code orders_wait_gone(const struct command_line *command, const char *name, double patience_s);
/* Has the node run again, drained first if it is a server (calls of what nobody else solves wait), and waits
 * until the platform is whole again. `idle_s` for its sessions (0: any time), and for the platform (0: 60 s).
 */
enum exit_code orders_restart(struct orders *orders, const char *name, double idle_s);

#endif
