/* SPDX-License-Identifier: Apache-2.0
 *
 * What somebody knows of links of its own from transfers that it made, told as an extension: of a client's
 * request, its links to servers, which count for what it sends and gets in place of the way through the
 * agents, which is another one; of a server's record, its links from those whose data it fetched, and the one
 * to itself: how fast its host moves data between daemons.
 */
#ifndef CORE_TOLD_LINKS_H
#define CORE_TOLD_LINKS_H

#include "core/forecast/path.h"
#include "core/message/message.h"

/* Tags: for each peer its address (a client's) or name (a server's) with a NUL, then latency in seconds and
 * bytes per second, as doubles of 8 bytes, little-endian. Of a client's link the rate may be 0: it knows only
 * how far that is. */
#define EXTENSION_CLIENT_LINKS  33
#define EXTENSION_FETCHED_LINKS 34
/* Of a server's record in a tree, in place of those: the rate within its host alone, as a double. */
#define EXTENSION_HOST_RATE 131
/* And how long a message takes there, in seconds, as a double; above 0, left out by servers that have not
 * measured it. */
#define EXTENSION_HOST_LATENCY 146
#define CAP_TOLD_LINKS         64 /* in one message; more are left out */
/* Of those of a client's links whose way back has a rate of its own: the same with that, in their order. */
#define EXTENSION_CLIENT_LINKS_BACK 36
/* Of those of a client's links of which only short transfers have told: the same with the rate that these
 * had, in their order. That is the least that it may be, and for the request the link has no rate of its own.
 */
#define EXTENSION_CLIENT_LINKS_LEAST 118

/* Of a client's request: its way to the agent that it asks, as two such doubles; a rate of 0 is not known.
 * What is not known of its way to a server is the shortest path over what was measured: this way, and on
 * through the agents. */
#define EXTENSION_CLIENT_ACCESS 35

/* Of a client's request: what a call begins with there, a byte for all servers of whose links it does not
 * tell, then one for each of those links, in their order: round trips for a connection (a client that has one
 * needs none), and TOLD_GREETS, one more for a greeting where others could take the call as well. */
#define EXTENSION_CLIENT_OPENING 130
#define TOLD_GREETS              0x80

/* Of those links, in their order: how far the windows of a connection there have grown, as two integers of 4
 * bytes, there and back, little-endian; 0: it is new. Without it all are. */
#define EXTENSION_CLIENT_WINDOWS 132

struct told_link {
    const char *peer;
    struct path path;
    double least_bps; /* of a client's link without a rate: at least this; 0: nothing is known of it */
    uint8_t opening;  /* of a client's link, */
    double window, window_back; /* and the bytes that its windows have grown to */
};

/* Appends the extension; false without memory. None is nothing to do. */
bool told_links_add(struct extensions *extensions, uint32_t tag, const struct told_link *links, size_t n,
                    struct arena *arena);
/* The link to that peer; false when it is not told, or is nonsense. */
bool told_links_find(const struct extensions *extensions, uint32_t tag, const char *peer, struct path *path);
/* The link behind *link; from an all-zero one, the first. One that is nonsense is not known. False behind the
 * last, or behind what is whole. */
bool told_links_next(const struct extensions *extensions, uint32_t tag, struct told_link *link);

/* Appends a client's links, with their ways back and least rates, and how calls begin over them, and over
 * all others. False without memory. */
bool told_own_add(struct extensions *extensions, const struct told_link *links, size_t n, uint8_t others,
                  struct arena *arena);
/* Round trips that a call begins with, by what is told of that; of those over links that are not told. */
unsigned told_trips(uint8_t opening, bool has_others);
unsigned told_other_trips(const struct extensions *extensions, bool has_others);
/* How a call begins over such a link. */
struct path_opening told_opening(const struct told_link *link, bool has_others);
/* A client's links with their ways back and least rates, one after the other, from an all-zero reader on;
 * those that are nonsense are left out. A rate of 0 is not known. False behind the last. */
struct told_beside { /* of a list with some of the links */
    struct told_link link;
    bool is_read;
};
struct told_reader {
    struct told_link there;
    struct told_beside back, least;
    unsigned n;
};
bool told_own_next(const struct extensions *extensions, struct told_reader *reader, struct told_link *link);
/* A client's link to the server at that address, as the client told it. */
bool told_own(const struct extensions *extensions, const char *address, struct told_link *link);
/* The shortest path over what was measured: the client's way to the agent, and on through the agents. */
struct path told_shortest(const struct path *access, const struct path *agents);
/* What such a link makes of the shortest path over what was measured: it counts in its place, or, where it
 * has no rate, says how long that is, and the least that its rate may be. */
struct path told_over(const struct told_link *own, struct path shortest);
/* Appends the client's way to the agent; false without memory. */
bool told_access_add(struct extensions *extensions, const struct path *access, struct arena *arena);
/* Unknown when it is not told, or is nonsense. */
struct path told_access(const struct extensions *extensions);
/* The way from the client to the server at that address, where `agents` is the one from the agent: its own
 * link where it told that, else over the agent; and how a call begins there, where others could take it,
 * or not. */
struct path told_way(const struct extensions *extensions, const char *address, struct path agents,
                     bool has_others, struct path_opening *opening);

#endif
