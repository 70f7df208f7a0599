/* SPDX-License-Identifier: Apache-2.0
 *
 * The links of a daemon: its probe port, and the thread that measures, when it has the turn among the
 * children of its parent, the link to the parent, both ways, and the one from a brother (who measures it the
 * other way round in a turn of its own), at most 2 % of the time of either. Each
 * link has its series (services/nws/series.h), kept in the folder "links" of state_dir. Transfers that were
 * really made count as measurements of bandwidthTcp.
 */
#ifndef SERVICES_NWS_LINKS_H
#define SERVICES_NWS_LINKS_H

#include "services/nws/probe_port.h"

struct links;

/* Called from the daemon's threads; may wait for its node's lock, not for anything else. */
struct links_ops {
    void *self;
    /* The parent's name and the URL of its probe port; false: there is none (yet). */
    bool (*parent)(void *self, char name[PROBE_MOST_NAME + 1], char url[PROBE_MOST_URL + 1]);
    /* The link from the parent, and back, as forecast now. */
    void (*to_parent)(void *self, const struct path *path);
    /* A child has measured its link from a brother. NULL: the node has no children. */
    void (*between)(void *self, const char *child, const char *brother, const struct path *path);
    /* Data of calls that pass through this node: how many pieces have begun, and whether one is on its way.
     * What is measured meanwhile is what they leave of the link, and counts only where nothing is known, or
     * has counted for LINKS_DISTURBED_S. NULL: nothing passes. */
    uint64_t (*traffic)(void *self, bool *moves);
};
#define LINKS_DISTURBED_S 300

#define LINKS_PORT_OFFSET 100

struct links_options {
    const char *name;    /* of the node */
    const char *listen;  /* as the daemon's file has it: the port is beside it */
    const char *publish; /* "host:port" at which others reach the node; NULL: as `listen` says */
    /* Address of the port, or "none". NULL: on the host of `listen`, LINKS_PORT_OFFSET beside its port, or
     * any free one where that is in use or `listen` names none; none on loopback. */
    const char *probe;
    const char *state_dir;     /* NULL: series are in memory only */
    int64_t every_ns;          /* between turns, at least */
    struct probe_tls tls;      /* of the daemon; all NULL: probes are plain HTTP */
    bool learns;               /* links_learn() is called: there is something to do without a port, too */
    const struct clock *clock; /* by which links are idle; NULL: the system's */
};

/* The port is open from here on. *links stays NULL where there are to be none. What the options point to is
 * copied. ESP_CONFIG, ESP_SYSTEM. */
enum esp_status links_create(const struct links_options *options, struct links **links,
                             struct esp_error *error);
/* Of the own port, for children. Lives as long as the links. NULL of NULL. */
const char *links_url(const struct links *links);
/* The thread begins: the node is there to be asked. ESP_SYSTEM. NULL is nothing to do. */
enum esp_status links_start(struct links *links, const struct links_ops *ops, struct esp_error *error);
/* Before the node is destroyed: its operations are called no more. NULL is nothing to do. */
void links_stop(struct links *links);
void links_destroy(struct links *links);

/* A transfer of so many bytes from that node took so long, which counts as a measurement of the link; *path
 * is what it is forecast to be now. False: too short to tell anything. Any thread. NULL is nothing to do. */
bool links_learn(struct links *links, const char *peer, uint64_t bytes, double seconds, struct path *path);

/* Adds what is known of all links to the page, which takes 0.1 s at most (then they are left out). Any
 * thread, also with the node's lock. NULL has none. */
void links_tell(struct links *links, struct outlook_page *page);

#endif
