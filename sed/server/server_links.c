/* SPDX-License-Identifier: Apache-2.0
 *
 * Links from other servers, measured by data that were fetched over them. The parent gets them with the
 * server's record, and forecasts transfers by them.
 */
#include "core/forecast/sharing.h"
#include "core/forecast/told_links.h"
#include "sed/server/server_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* The parent hears of a link that has changed by this much. */
#define WORTH_TELLING 0.1

struct fetched_link {
    char peer[CAP_NAME + 1];
    struct path path;                 /* unknown: all fetched data were too short */
    struct sharing sharing;           /* by the fetches under way */
    struct fetched_link *prev, *next; /* the last used first */
};

struct fetched_links {
    struct fetched_link *all; /* the latest CAP_TOLD_LINKS */
    unsigned n;
    bool told; /* the parent has the present links */
    struct {   /* chunks of calls and of data, and fetches; looked at without the lock */
        _Atomic uint64_t begun;
        _Atomic unsigned moving;
    } traffic;
};

static struct fetched_link *get(struct server *server, const char *peer)
{
    struct fetched_link *link;
    DL_FOREACH(server->links->all, link)
    if (strcmp(link->peer, peer) == 0)
        return link;
    if (server->links->n < CAP_TOLD_LINKS - 1) { /* one place is for its own host's */
        if (!(link = calloc(1, sizeof *link)))
            return NULL;
        server->links->n++;
    } else {
        link = server->links->all->prev; /* the last of the list */
        while (link->sharing.n > 0 && link != server->links->all)
            link = link->prev;
        if (link->sharing.n > 0)
            return NULL;
        DL_DELETE(server->links->all, link);
        *link = (struct fetched_link){.peer = ""};
    }
    snprintf(link->peer, sizeof link->peer, "%s", peer);
    DL_PREPEND(server->links->all, link);
    return link;
}

static bool differs(double a, double b)
{
    return fabs(a - b) > WORTH_TELLING * fmax(a, b);
}

void server_from_peer(struct server *server, const char *peer, const struct path *path)
{
    endpoint_enter(server->endpoint);
    struct fetched_link *link = get(server, peer);
    if (link) {
        const bool news = !link->path.known || differs(link->path.bandwidth_bps, path->bandwidth_bps) ||
                          differs(link->path.latency_s, path->latency_s);
        DL_DELETE(server->links->all, link);
        DL_PREPEND(server->links->all, link);
        if (news) {
            link->path = *path; /* as last reported */
            server->links->told = false;
            server_load_changed(server, 0);
        }
    }
    endpoint_leave(server->endpoint);
}

static struct sharing *sharing_of(struct server *server, const char *peer)
{
    struct fetched_link *link = get(server, peer);
    return link ? &link->sharing : NULL;
}

double server_fetch_begins(struct server *server, const char *peer)
{
    endpoint_enter(server->endpoint);
    struct sharing *sharing = sharing_of(server, peer);
    const double begun_ns = sharing ? sharing_begin(sharing, clock_now_ns(&clock_system)) : -1;
    endpoint_leave(server->endpoint);
    return begun_ns;
}

double server_fetch_ends(struct server *server, const char *peer, double begun_ns)
{
    double seconds = 0;
    if (begun_ns < 0)
        return seconds;
    endpoint_enter(server->endpoint);
    struct sharing *sharing = sharing_of(server, peer); /* a link in use is not given to another peer */
    if (sharing && sharing->n > 0)
        seconds = sharing_end(sharing, clock_now_ns(&clock_system), begun_ns);
    endpoint_leave(server->endpoint);
    return seconds;
}

void server_traffic_begins(struct server *server)
{
    atomic_fetch_add(&server->links->traffic.moving, 1);
    atomic_fetch_add(&server->links->traffic.begun, 1);
}

void server_traffic_ends(struct server *server)
{
    atomic_fetch_sub(&server->links->traffic.moving, 1);
}

uint64_t server_traffic(void *self, bool *moves)
{
    struct server *server = self;
    *moves = atomic_load(&server->links->traffic.moving) > 0;
    return atomic_load(&server->links->traffic.begun);
}

bool server_tell_links(struct server *server, bool complete, struct arena *arena, struct node_record *record)
{
    struct told_link links[CAP_TOLD_LINKS];
    const struct fetched_link *link;
    size_t n = 0;
    if (!complete && server->links->told)
        return true;
    if (server->options.host_bps > 0)
        links[n++] =
            (struct told_link){.peer = server->name,
                               .path = {true, server->options.host_latency_s, server->options.host_bps, 0}};
    DL_FOREACH(server->links->all, link)
    if (link->path.known)
        links[n++] = (struct told_link){.peer = link->peer, .path = link->path};
    server->links->told = true;
    return told_links_add(&record->extensions, EXTENSION_FETCHED_LINKS, links, n, arena);
}

bool server_links_create(struct server *server)
{
    return (server->links = calloc(1, sizeof *server->links));
}

void server_links_destroy(struct server *server)
{
    struct fetched_link *link, *next;
    if (!server->links)
        return;
    DL_FOREACH_SAFE(server->links->all, link, next)
    free(link);
    free(server->links);
}
