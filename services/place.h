/* SPDX-License-Identifier: Apache-2.0
 *
 * Saves an administrator's changes of a node, and its refuges, over a restart: the file "place" in the
 * node's state folder. It is replaced as a whole, so that after a crash it is the old one or the new one. */
#ifndef SERVICES_PLACE_H
#define SERVICES_PLACE_H

#include "core/hierarchy/refuges.h"
#include "util/arena.h"
#include "util/error.h"

#include <stdbool.h>
#include <stddef.h>

#define PLACE_PROBLEMS 1024

/* All zero: no changes. */
struct node_place {
    bool is_written;    /* the file existed when it was loaded */
    char *parent;       /* address; NULL: as in the configuration file */
    char *instead;      /* the configuration file's parent when the node was moved; NULL: not known */
    char *instead_name; /* and the name of the node there; NULL: none was seen */
    bool draining;
    char *disabled[PLACE_PROBLEMS]; /* disabled problems */
    size_t n_disabled;
    /* The node that was found at the preferred parent's address, to recognise it at another address. NULL:
     * none yet. */
    char *home_address, *home;
    /* Message of the last parent: where to go when it is lost (core/hierarchy/refuges.h). */
    struct refuges refuges;
};

void place_release(struct node_place *place);
/* Moves the node to that address, while its file says `instead` (NULL: none). Copies both. ESP_NO_MEMORY. */
enum esp_status place_set_parent(struct node_place *place, const char *address, const char *instead,
                                 struct esp_error *error);
/* The configuration file names the parent at that address now. If it named another one when the node was
 * moved, the file is newer, and the move is dropped. If only the address differs and the name of the node
 * at the old one is known, the node at the new address decides: the move is kept until its name is known. */
void place_heed_file(struct node_place *place, const char *parent);
bool place_is_open(const struct node_place *place, const char *parent);
/* Decides this: the node at that address has that name. */
void place_heed_name(struct node_place *place, const char *parent, const char *name);
/* Lists the parents to try at a start: the one to which administrators have moved the node, and the one in
 * its file, which comes first while the question is open. At most two, which live as long as place and
 * `parent` (NULL: the file names none). */
size_t place_parents(const struct node_place *place, const char *parent, const char *parents[2]);
/* Sets the node at the preferred parent's address: copies both. ESP_NO_MEMORY. */
enum esp_status place_set_home(struct node_place *place, const char *address, const char *name,
                               struct esp_error *error);
/* Returns the name of the node at that address, which is the preferred parent's; "": not known. */
const char *place_home(const struct node_place *place, const char *address);
/* Adds the problem to the disabled ones, or removes it. ESP_LIMIT, ESP_NO_MEMORY. */
enum esp_status place_disable(struct node_place *place, const char *problem, bool disabled,
                              struct esp_error *error);
bool place_is_disabled(const struct node_place *place, const char *problem);

/* Reads the file in the folder; without a file the place is empty. ESP_CONFIG: it is of another version,
 * or of another node than `name`, or malformed (file and line); ESP_SYSTEM. */
enum esp_status place_load(const char *folder, const char *name, struct node_place *place,
                           struct esp_error *error);
/* Writes the file, creating the folder if needed. When it returns, a power cut does not undo it.
 * ESP_SYSTEM (a full disk): the old file is unchanged. */
enum esp_status place_save(const char *folder, const char *name, const struct node_place *place,
                           struct esp_error *error);

#endif
