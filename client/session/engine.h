/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine of a client: sessions from the first question to the last byte of the result, over any
 * transport. The table of sessions (table.h) and of handles (handle.h) give all this GridRPC's ids and
 * handles.
 *
 * A blocking session runs in its caller's thread from end to end. An asynchronous one runs in a pool thread
 * while something moves and belongs to nobody while the server computes: then one long poll per server waits
 * for all sessions there (client/session/link.h).
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
    const char *const *agents; /* addresses of master agents in place of redirectors */
    size_t n_agents;
    int64_t call_timeout_ms;     /* one remote call; 0: 30 s */
    int64_t agent_patience_ms;   /* with a hierarchy in which nobody is there; 0: none */
    int64_t answer_patience_ms;  /* with a silent server while others are left; 0: as any remote call */
    int64_t silence_patience_ms; /* with silent nodes while nobody else is left; 0: as if they were gone */
    int64_t lookup_timeout_ms;   /* for looking up problems and servers by name; 0: no limit but patience */
    int64_t session_timeout_ms;  /* a whole session; 0: no limit */
    uint64_t inline_bytes;       /* above, an argument travels in chunks; 0: 256 KiB */
    bool remember_links;         /* in the user's cache folder */
    bool sound_links;            /* before great requests (client/session/link_sound.h, access.h) */
    unsigned connection_trips;   /* round trips that opening a connection takes; 0: nothing is opened */
    struct window_habit habit;   /* of the kernel here, and so, it is taken, of those of servers */
};

struct ahead;
struct backlog;
struct given_up;
struct link;
struct session;

/* One per initialized library. What is below the locks is theirs. */
struct engine {
    struct transport *transport;
    const struct clock *clock;
    struct route *route;
    struct functions *functions;
    struct thread_pool *runners;   /* asynchronous sessions, second streams */
    struct thread_pool *pollers;   /* long polls for asynchronous sessions */
    struct thread_pool *followers; /* asynchronous sessions that are followed, while the server has them */
    struct thread_pool *chains;    /* asynchronous abstract problems: a thread waits for each */
    struct ahead *ahead;           /* placements that were made ahead */
    struct backlog *backlog;       /* sessions for which no server has room */
    uint64_t client_high, client_low;
    int64_t call_timeout_ms, agent_patience_ms, answer_patience_ms, silence_patience_ms, session_timeout_ms;
    int64_t lookup_silence_ms; /* as silence_patience_ms, for look-ups */
    uint64_t inline_bytes;

    atomic_bool closing;   /* every session is to end */
    atomic_uint greetings; /* of servers, behind whoever wants to know whether they are awake */

    pthread_mutex_t links_lock;
    struct link *links; /* by address */
    bool remembers;     /* what is learned of them, and its last session, over the life of the process; */
    bool remembered;    /* it was read: */
    struct link_memory memory;
    struct { /* the way to the master agent at that address (client/session/access.h) */
        char address[CAP_ADDRESS + 1];
        double rate_bps;   /* 0: not known */
        int64_t sounded_s; /* since 1970, when it was looked for last */
    } access;
    bool sounds;               /* measures links that are not known before great requests; */
    atomic_bool has_slow_link; /* it matters to requests of few bytes, too; */
    atomic_bool has_looked;    /* also of those that are remembered */
    atomic_bool has_long_way;  /* or one that agents see there, as a call of few bytes was told */
    atomic_bool has_called;    /* a server, which has answered: what is opened matters less from now on */
    unsigned connection_trips;
    struct window_habit habit;
    atomic_int_least64_t sounded_ns; /* last; 0: never */

    uint64_t open_version; /* of marks_open(), under marks_lock */
    /* Which sequence numbers may still be asked for: see marks_oldest(). */
    pthread_mutex_t marks_lock;
    uint64_t last_sequence;
    struct session_id last; /* of the session that was begun last; sequence 0: none was */
    uint64_t secrets[64];   /* drawn in one go */
    unsigned n_secrets;
    struct session *unsettled; /* not yet accepted by any server, in the order of their numbers */
    struct given_up
        *given_up; /* whom a server is to be told of when it answers (client/session/given_up.h), */
    bool tells;    /* and `telling` is at it */
    struct thread_job telling;
    struct { /* servers below other master agents for calls of that problem: client/session/keepers.h */
        char problem[PROBLEM_MAX_NAME + 1];
        char *text; /* NULL: none were looked for */
        int64_t until_ns;
    } keepers;
};

enum esp_status engine_create(const struct engine_options *options, struct engine **engine,
                              struct esp_error *error);

/* Cancels every session there is; new ones end at once. Returns when the servers have been told; the
 * sessions' threads may still be on their way out. Any thread. */
void engine_close(struct engine *engine);

/* After all sessions have ended. Tells servers that nothing more will be asked of them. */
void engine_destroy(struct engine *engine);

/* The address of a server by its name in the tree. ESP_NOT_FOUND. `address` has CAP_ADDRESS + 1 bytes. */
enum esp_status engine_resolve(struct engine *engine, const char *server, char *address,
                               struct esp_error *error);

/* The same of one that the program wants something of: one that was lost, or may be below an agent that was,
 * or one that was just started, is waited for (agent_patience_ms). */
enum esp_status engine_await_name(struct engine *engine, const char *server, char *address,
                                  struct esp_error *error);

/* Waits while a master agent tells that the server ends or is to be started again, or that it has just been
 * started itself and may hear of it: within the thread's deadline. Whether it is there then (`address`);
 * *waited: it was not, or was leaving. Of one that was lost it waits for nothing. */
bool engine_await_returning(struct engine *engine, const char *server, char *address, bool *waited);

/* The address of a server that the program named: "host:port" is an address, and a greeting tells whether it
 * is a server's; anything else is a name in the tree. Who says nothing is waited for (silence_patience_ms),
 * and so is who was lost, or may be below a master agent that was (agent_patience_ms). ESP_NOT_FOUND,
 * whatever it is instead, with a text. */
enum esp_status engine_find_server(struct engine *engine, const char *server, char *address,
                                   struct esp_error *error);

#endif
