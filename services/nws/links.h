/* SPDX-License-Identifier: Apache-2.0
 *
 * The links of a daemon: its probe port, and a thread that measures links. When the daemon has the turn
 * among the children of its parent, the thread measures the link to the parent, both ways, and the one
 * from a sibling (which measures the other direction in its own turn), for at most 2 % of the time of
 * either. Each link has a series (services/nws/series.h), saved in the folder "links" of state_dir. Real
 * transfers count as measurements of bandwidthTcp. */
#ifndef SERVICES_NWS_LINKS_H
#define SERVICES_NWS_LINKS_H

#include "services/nws/probe_port.h"

struct links;

/* Called from the daemon's threads; may wait for its node's lock only. */
struct links_ops {
    void *self;
    /* Returns the parent's name and the URL of its probe port; false: none (yet). */
    bool (*parent)(void *self, char name[PROBE_MOST_NAME + 1], char url[PROBE_MOST_URL + 1]);
    /* Reports the present forecast of the link from the parent, and back. */
    void (*to_parent)(void *self, const struct path *path);
    /* A child has measured its link from a sibling. NULL: the node has no children. */
    void (*between)(void *self, const char *child, const char *brother, const struct path *path);
    /* Traffic of calls through this node: returns how many pieces have started, and whether one is moving.
     * A measurement at such a time sees the rest of the link's rate, and counts only if nothing is known,
     * or after LINKS_DISTURBED_S. NULL: no traffic. */
    uint64_t (*traffic)(void *self, bool *moves);
};
#define LINKS_DISTURBED_S 300

#define LINKS_PORT_OFFSET 100

struct links_options {
    const char *name;    /* of the node */
    const char *listen;  /* as in the daemon's file: the default port is beside it */
    const char *publish; /* "host:port" published for other nodes; NULL: as in `listen` */
    /* Address of the port, or "none". NULL: on the host of `listen`, LINKS_PORT_OFFSET beside its port, or
     * any free one if that is in use or `listen` names none; none on loopback. */
    const char *probe;
    const char *state_dir;     /* NULL: series are only in memory */
    int64_t every_ns;          /* least time between turns */
    struct probe_tls tls;      /* of the daemon; all NULL: probes are plain HTTP */
    bool learns;               /* links_learn() is called, so links are needed even without a port */
    const struct clock *clock; /* decides which links are idle; NULL: the system's */
};

/* Opens the port. *links stays NULL if links are disabled. Copies the options. ESP_CONFIG, ESP_SYSTEM. */
enum esp_status links_create(const struct links_options *options, struct links **links,
                             struct esp_error *error);
/* Returns the URL of the own port, for children. Lives as long as the links. NULL for NULL. */
const char *links_url(const struct links *links);
/* Starts the thread, which may call the node from now on. ESP_SYSTEM. NULL is ignored. */
enum esp_status links_start(struct links *links, const struct links_ops *ops, struct esp_error *error);
/* Stops calling the node, which may be destroyed then. NULL is ignored. */
void links_stop(struct links *links);
void links_destroy(struct links *links);

/* Notes a transfer of that many bytes from that node as a measurement of the link; *path becomes the
 * present forecast. False: too short to be useful. Any thread. NULL is ignored. */
bool links_learn(struct links *links, const char *peer, uint64_t bytes, double seconds, struct path *path);

/* Adds all links to the page; waits 0.1 s at most, after which they are left out. Any thread, also with
 * the node's lock. NULL has none. */
void links_tell(struct links *links, struct outlook_page *page);

#endif
