/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine of a client: sessions from the first question to the last byte of the result, over any
 * transport. GridRPC's names for all this (ids, handles) are in client/grpc.c and its neighbours.
 *
 * A blocking session runs in its caller's thread from end to end. An asynchronous one runs in a pool thread
 * while something moves and belongs to nobody while the server computes: then one long poll per server waits
 * for all sessions there (client/session/link.h).
 */
#ifndef CLIENT_ENGINE_H
#define CLIENT_ENGINE_H

#include "client/arguments/invocation.h"
#include "client/session/function.h"
#include "client/session/link_memory.h"
#include "client/session/route.h"
#include "core/forecast/window.h"
#include "core/message/open_sessions.h"
#include "core/transport.h"
#include "util/error.h"
#include "util/thread_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* How long those who could help are waited for while they do not. Who refuses connections is gone, and comes
 * back soon or not at all. Who takes them and says nothing is stopped, frozen or overloaded: it goes on where
 * it was, with all that it has, so it is waited for longer. Pure data; time is passed in. */

/* What is started again is gone for less than this, mostly; what never was there at all is to be told soon.
 */
#define PATIENCE_GONE_NS 1000000000

struct patience {
    int64_t gone_ns, silent_ns; /* how long it lasts with the one and with the other */
    int64_t begun_ns;           /* 0: nobody is waited for */
    int64_t silence_ns;         /* when somebody was silent last; at first when it began */
};

/* With who is silent it lasts at least as long as with who is gone. */
struct patience patience_begin(int64_t gone_ms, int64_t silent_ms, int64_t now_ns);

/* Whether to try again, after a try in which somebody that could have helped was `silent`, or all were gone.
 * Who falls silent and then dies is waited for as one that has just gone. */
bool patience_lasts(struct patience *patience, bool silent, int64_t now_ns);

/* Puts before the error's text for whom the caller has waited since `since_ns`, and how long, if that was a
 * second or more. */
void patience_tell(const char *whom, int64_t since_ns, int64_t now_ns, struct esp_error *error);

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

    uint64_t open_version; /* of engine_open(), under marks_lock */
    /* Which sequence numbers may still be asked for: see engine_oldest(). */
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

/* With those whom a session cannot do without, from now on. */
struct patience engine_patience(const struct engine *engine);

/* With one that has said just now that it is to start again: as long as agents expect it (RETURNING_NS). */
struct patience engine_patience_returning(const struct engine *engine);

/* Waits so long, or until the library is being closed. */
void engine_pause(const atomic_bool *closing, int64_t ms);

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

/* ---- marks: what servers may forget ----
 *
 * Each call tells the server the lowest number that this client may still use there. A session counts for
 * all servers until one has accepted it, then for that one only. A session that must begin again draws a new
 * number, so that its old self can be told from its new one. */

/* A fresh identity. ESP_SYSTEM when there are no random numbers. */
enum esp_status engine_draw(struct engine *engine, struct session *session, struct esp_error *error);
void engine_settle(struct engine *engine, struct session *session, struct link *link);
void engine_retire(struct engine *engine, struct session *session);
uint64_t engine_oldest(struct engine *engine, const struct link *link);
/* Which sessions a server must still know beside the oldest, for EXTENSION_OPEN. False when the oldest one is
 * so young that nothing is gained. *open is empty before, and the caller clears it. */
bool engine_open(struct engine *engine, const struct link *link, struct open_sessions *open);

/* When what a thread does has to be over. To find out what is to be called, agents, redirectors and servers
 * are asked for one thing after the other, from many places: none of them is waited for beyond that time. One
 * per thread, on the engine's clock; sessions have their own. */

struct clock;

/* From now on, unless it is earlier already; CLOCK_NEVER changes nothing. Returns what deadline_end() takes.
 */
int64_t deadline_begin(int64_t until_ns);
void deadline_end(int64_t before_ns);
/* `ms`, or what is left when that is less; 0: it is over. */
int64_t deadline_left_ms(const struct clock *clock, int64_t ms);
/* transport_call() within that; ESP_TIMEOUT without a word to anybody when it is over. */
enum esp_status deadline_call(struct transport *transport, const char *address, const struct message *request,
                              int64_t ms, struct message *reply, struct esp_error *error);

#endif
