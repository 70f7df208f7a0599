/* SPDX-License-Identifier: Apache-2.0
 *
 * What administrators have changed of a node, and where it may go, so that it survives a restart: the file
 * "place" in the node's state folder. It is replaced as a whole, so that a crash leaves the old one or the
 * new one.
 */
#ifndef SERVICES_PLACE_H
#define SERVICES_PLACE_H

#include "core/hierarchy/refuges.h"
#include "util/arena.h"
#include "util/error.h"

#include <stdbool.h>
#include <stddef.h>

#define PLACE_PROBLEMS 1024

/* All zero: nothing was changed. */
struct node_place {
    bool is_written;    /* its file was there when it was loaded */
    char *parent;       /* address; NULL: as the configuration file says */
    char *instead;      /* what that said when the node was moved; NULL: that is not known */
    char *instead_name; /* and who lived there; NULL: nobody was seen there */
    bool draining;
    char *disabled[PLACE_PROBLEMS]; /* problems that are not solved here */
    size_t n_disabled;
    /* Not an order, but who was found at the address where the parent is to be: should it come back at
     * another one, it is known by its name. NULL: nobody yet. */
    char *home_address, *home;
    /* Not an order, but what the last parent said: where to go when it is lost (core/hierarchy/refuges.h). */
    struct refuges refuges;
};

void place_release(struct node_place *place);
/* Moved to that address, where its file says `instead` (NULL: nothing). Takes copies. ESP_NO_MEMORY. */
enum esp_status place_set_parent(struct node_place *place, const char *address, const char *instead,
                                 struct esp_error *error);
/* The file names the parent at that address now: where it named another one when the node was moved, the file
 * is the newer word, and the move is forgotten. Where the address is another one and it is known who lived at
 * the old one, who lives at the new one decides: the move is kept, and the question open. */
void place_heed_file(struct node_place *place, const char *parent);
bool place_is_open(const struct node_place *place, const char *parent);
/* Answers it: who lives there bears that name. */
void place_heed_name(struct node_place *place, const char *parent, const char *name);
/* Whom to ask first at a start, and where to go should that be gone: where administrators have moved the node
 * and where its file says, which comes first while the question is open. At most two, which live as long as
 * place and `parent` (NULL: the file names none). */
size_t place_parents(const struct node_place *place, const char *parent, const char *parents[2]);
/* Who lives where the parent is to be: takes copies. ESP_NO_MEMORY. */
enum esp_status place_set_home(struct node_place *place, const char *address, const char *name,
                               struct esp_error *error);
/* The name of who lives at that address, which is where the parent is to be; "": that is not known. */
const char *place_home(const struct node_place *place, const char *address);
/* Adds the problem to those that are not solved, or takes it out. ESP_LIMIT, ESP_NO_MEMORY. */
enum esp_status place_disable(struct node_place *place, const char *problem, bool disabled,
                              struct esp_error *error);
bool place_is_disabled(const struct node_place *place, const char *problem);

/* Reads the file in the folder; none: an empty place. ESP_CONFIG: it is of another version, or of another
 * node than `name`, or malformed (file and line); ESP_SYSTEM. */
enum esp_status place_load(const char *folder, const char *name, struct node_place *place,
                           struct esp_error *error);
/* Writes it, making the folder if it is not there. When it returns, a power cut does not undo it. ESP_SYSTEM
 * (a full disk): the old file is still there. */
enum esp_status place_save(const char *folder, const char *name, const struct node_place *place,
                           struct esp_error *error);

#endif
