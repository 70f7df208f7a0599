/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine of a client: sessions from the first question to the last byte of the result, over any
 * transport. The tables of sessions (table.h) and of handles (handle.h) give them GridRPC's ids and
 * handles.
 *
 * A blocking session runs in its caller's thread from end to end. An asynchronous session runs in a pool
 * thread while its messages move. While the server computes, it has no thread: one long poll per server
 * waits for all sessions there (client/session/link.h).
 */
#ifndef CLIENT_ENGINE_H
#define CLIENT_ENGINE_H

#include "client/arguments/invocation.h"
#include "client/session/functions.h"
#include "client/session/link_memory.h"
#include "client/session/patience.h"
#include "client/session/route.h"
#include "core/forecast/window.h"
#include "core/transport.h"
#include "util/error.h"
#include "util/thread_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct engine_options {
    struct transport *transport;    /* outlives the engine */
    const char *const *redirectors; /* addresses */
    size_t n_redirectors;
    const char *const *agents; /* addresses of master agents, instead of redirectors */
    size_t n_agents;
    int64_t call_timeout_ms;     /* limit of one remote call; 0: 30 s */
    int64_t agent_patience_ms;   /* wait for agents and servers if none is there; 0: none */
    int64_t answer_patience_ms;  /* wait for a silent server if others are left; 0: as any call */
    int64_t silence_patience_ms; /* wait for silent nodes if no other is left; 0: as if they were gone */
    int64_t lookup_timeout_ms;   /* limit for looking up problems and servers by name; 0: none */
    int64_t session_timeout_ms;  /* limit of a whole session; 0: no limit */
    uint64_t inline_bytes;       /* larger arguments travel in chunks; 0: 256 KiB */
    bool remember_links;         /* stores measured links in the user's cache folder */
    bool sound_links; /* measures links before large requests (client/session/link_sound.h, access.h) */
    unsigned connection_trips; /* round trips to open a connection; 0: none is opened */
    struct window_habit habit; /* window growth of this host's kernel; servers are assumed to behave alike */
};

struct ahead;
struct backlog;
struct given_up;
struct link;
struct session;

/* One per initialized library. A lock protects the members that follow it. */
struct engine {
    struct transport *transport;
    const struct clock *clock;
    struct route *route;
    struct functions *functions;
    struct thread_pool *runners;   /* asynchronous sessions, second streams */
    struct thread_pool *pollers;   /* long polls for asynchronous sessions */
    struct thread_pool *followers; /* asynchronous sessions that are followed, while a server has them */
    struct thread_pool *chains;    /* asynchronous runs of abstract problems: each has a thread that waits */
    struct ahead *ahead;           /* placements made ahead */
    struct backlog *backlog;       /* sessions for which no server has room */
    uint64_t client_high, client_low;
    int64_t call_timeout_ms, agent_patience_ms, answer_patience_ms, silence_patience_ms, session_timeout_ms;
    int64_t lookup_silence_ms; /* silence_patience_ms for look-ups */
    uint64_t inline_bytes;

    atomic_bool closing;   /* all sessions must end */
    atomic_uint greetings; /* greetings of servers in the background */

    pthread_mutex_t links_lock;
    struct link *links; /* by address */
    bool remembers;     /* links are stored, and the last session, for the next process */
    bool remembered;    /* the memory was read */
    struct link_memory memory;
    struct { /* the way to the master agent at that address (client/session/access.h) */
        char address[CAP_ADDRESS + 1];
        double rate_bps;   /* 0: not known */
        int64_t sounded_s; /* seconds since 1970 of the last measurement */
    } access;
    bool sounds;               /* unknown links are measured before large requests */
    atomic_bool has_slow_link; /* a link is so slow that it matters for small requests, too */
    atomic_bool has_looked;    /* that was also looked up among the stored links */
    atomic_bool has_long_way;  /* the same for the way to an agent, or one that agents see */
    atomic_bool has_called;    /* a server has been called, and has answered */
    unsigned connection_trips;
    struct window_habit habit;
    atomic_int_least64_t sounded_ns; /* last measurement; 0: none */

    uint64_t open_version; /* of marks_open(), under marks_lock */
    /* Which sequence numbers may still be asked for: see marks_oldest(). */
    pthread_mutex_t marks_lock;
    uint64_t last_sequence;
    struct session_id last; /* of the latest session; sequence 0: there was none */
    uint64_t secrets[64];   /* drawn together */
    unsigned n_secrets;
    struct session *unsettled; /* sessions not accepted by any server yet, in the order of their numbers */
    struct given_up
        *given_up; /* sessions that a silent server must drop when it answers (client/session/given_up.h) */
    bool tells;    /* and `telling` is delivering these orders */
    struct thread_job telling;
    struct { /* servers below other master agents for calls of that problem: client/session/keepers.h */
        char problem[PROBLEM_MAX_NAME + 1];
        char *text; /* NULL: not looked for yet */
        int64_t until_ns;
    } keepers;
};

enum esp_status engine_create(const struct engine_options *options, struct engine **engine,
                              struct esp_error *error);

/* Cancels all sessions; new ones end at once. Returns when the servers have been informed; the sessions'
 * threads may still be ending. Any thread. */
void engine_close(struct engine *engine);

/* Called after all sessions have ended. Informs servers that this client asks no more. */
void engine_destroy(struct engine *engine);

/* Finds the address of a server by its name in the tree. Returns ESP_NOT_FOUND if there is none. `address`
 * has CAP_ADDRESS + 1 bytes. */
enum esp_status engine_resolve(struct engine *engine, const char *server, char *address,
                               struct esp_error *error);

/* Does the same for a server that the program needs: waits (agent_patience_ms) for a server that was lost,
 * that may be below a lost agent, or that was just started. */
enum esp_status engine_await_name(struct engine *engine, const char *server, char *address,
                                  struct esp_error *error);

/* Waits within the thread's deadline while a master agent says that the server is ending or restarting, or
 * that the agent itself was just started and may not know the server yet. Returns whether the server is
 * there then, with its `address`. *waited: it was absent, or was leaving. Does not wait for a server that
 * was lost. */
bool engine_await_returning(struct engine *engine, const char *server, char *address, bool *waited);

/* Finds the address of a server that the program named. "host:port" is an address, which is greeted to
 * check that it is a server's; anything else is a name in the tree. Waits for a node that is silent
 * (silence_patience_ms), and for a server that was lost or may be below a lost master agent
 * (agent_patience_ms). Returns ESP_NOT_FOUND if there is no such server, with a text about what there is
 * instead. */
enum esp_status engine_find_server(struct engine *engine, const char *server, char *address,
                                   struct esp_error *error);

#endif
