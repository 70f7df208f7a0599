/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of a node's own links, measured by its transfers, as extensions. In a client's request: its
 * links to servers, which replace the path through the agents for its arguments and results. In a server's
 * record: its links from servers whose data it fetched, and the link to itself, i.e. how fast its host
 * moves data between daemons. */
#ifndef CORE_TOLD_LINKS_H
#define CORE_TOLD_LINKS_H

#include "core/forecast/path.h"
#include "core/message/message.h"

/* Tags: for each peer its address (a client's link) or name (a server's) with a NUL, then latency in
 * seconds and bytes per second, as doubles of 8 bytes, little-endian. In a client's link the rate may be
 * 0: only the latency is known. */
#define EXTENSION_CLIENT_LINKS  33
#define EXTENSION_FETCHED_LINKS 34
/* Tag in a server's record in a tree, instead of those: the rate within its host, as a double. */
#define EXTENSION_HOST_RATE 131
/* Tag in a server's record: the latency of a message within its host, in seconds, as a double; above 0,
 * missing if not measured. */
#define EXTENSION_HOST_LATENCY 146
#define CAP_TOLD_LINKS         64 /* in one message; further ones are left out */
/* Tag in a client's request: those of its links whose way back has a rate of its own, with that rate, in
 * the same order. */
#define EXTENSION_CLIENT_LINKS_BACK 36
/* Tag in a client's request: those of its links that only had short transfers, with the rate of these, in
 * the same order. It is a lower bound; the link has no rate of its own. */
#define EXTENSION_CLIENT_LINKS_LEAST 118

/* Tag in a client's request: its path to the agent that it asks, as latency and rate; a rate of 0 is not
 * known. If the path to a server was not measured, it is the shortest path over measured links: this path,
 * then those of the agents. */
#define EXTENSION_CLIENT_ACCESS 35

/* Tag in a client's request: how calls start, a byte for all servers whose links are not listed, then one
 * for each listed link, in order: the round trips for a connection (0 if the client has one), and
 * TOLD_GREETS, one more for a greeting if other servers could take the call. */
#define EXTENSION_CLIENT_OPENING 130
#define TOLD_GREETS              0x80

/* Tag in a client's request: the windows of its connections over the listed links, in order, as two
 * integers of 4 bytes, to the server and back, little-endian; 0: new. Without the tag all are new. */
#define EXTENSION_CLIENT_WINDOWS 132

struct told_link {
    const char *peer;
    struct path path;
    double least_bps; /* of a client's link without a rate: a lower bound; 0: nothing is known about it */
    uint8_t opening;  /* of a client's link, */
    double window, window_back; /* its windows, in bytes */
};

/* Appends the extension, unless n is 0; false without memory. */
bool told_links_add(struct extensions *extensions, uint32_t tag, const struct told_link *links, size_t n,
                    struct arena *arena);
/* Finds the link to that peer; false when it is missing or implausible. */
bool told_links_find(const struct extensions *extensions, uint32_t tag, const char *peer, struct path *path);
/* Reads the next link; start with a zeroed *link. An implausible link is reported as unknown. False after
 * the last link, or when the rest is malformed. */
bool told_links_next(const struct extensions *extensions, uint32_t tag, struct told_link *link);

/* Appends a client's links, with the rates of their ways back, lower bounds, and how calls start over them
 * and over all other links. False without memory. */
bool told_own_add(struct extensions *extensions, const struct told_link *links, size_t n, uint8_t others,
                  struct arena *arena);
/* Returns the round trips before a call for this opening. */
unsigned told_trips(uint8_t opening, bool has_others);
unsigned told_other_trips(const struct extensions *extensions, bool has_others);
/* Returns how a call starts over such a link. */
struct path_opening told_opening(const struct told_link *link, bool has_others);
/* Reads a client's links with their ways back and lower bounds, one after the other, starting with a
 * zeroed reader; implausible ones are skipped. A rate of 0 is not known. False after the last. */
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
/* Finds a client's link to the server at that address, as the client reported it. */
bool told_own(const struct extensions *extensions, const char *address, struct told_link *link);
/* Returns the shortest measured path: the client's path to the agent, then that of the agents. */
struct path told_shortest(const struct path *access, const struct path *agents);
/* Combines such a link with the shortest measured path: the link replaces the path, or, if the link has no
 * rate, sets the path's latency and the least rate. */
struct path told_over(const struct told_link *own, struct path shortest);
/* Appends the client's way to the agent; false without memory. */
bool told_access_add(struct extensions *extensions, const struct path *access, struct arena *arena);
/* Returns the client's path to the agent; unknown when it is missing or implausible. */
struct path told_access(const struct extensions *extensions);
/* Returns the path from the client to the server at that address: its own link if listed, else the path
 * over the agent, which is joined with `agents`, the agent's path to the server. Also sets how a call
 * starts there; `has_others`: other servers could take the call. */
struct path told_way(const struct extensions *extensions, const char *address, struct path agents,
                     bool has_others, struct path_opening *opening);

#endif
