/* SPDX-License-Identifier: Apache-2.0
 *
 * A link: the client's relation to one server. Sessions that wait for the server's computation are parked
 * here, and one long poll at a time waits for all of them.
 *
 * The thread of a blocking session polls if no poll under way covers its session. The other threads sleep
 * until that thread brings their news, and one of them takes over when it leaves. For asynchronous
 * sessions a pool thread does the same. If a session is parked while a poll is under way, a new poll is
 * needed: the server ends the old poll when the new one arrives.
 */
#ifndef CLIENT_LINK_H
#define CLIENT_LINK_H

#include "client/session/session.h"
#include "core/choice/aggregate.h"
#include "core/forecast/sharing.h"
#include "core/forecast/size_rates.h"
#include "core/forecast/surprise.h"
#include "core/forecast/window.h"
#define HASH_NONFATAL_OOM 1 /* a library must not end the process */
#include <uthash.h>

#define LINK_RATES 5

struct link {
    struct engine *engine;
    UT_hash_handle hh;    /* engine->links, under engine->links_lock */
    struct session *held; /* accepted here and not yet acknowledged, under engine->marks_lock */

    pthread_mutex_t lock; /* protects the following members */
    /* For each direction, from the server and to it: a ring of bytes per second of the last transfers */
    double rates[2][LINK_RATES];
    uint64_t rate_bytes[2][LINK_RATES]; /* size of each */
    unsigned n_rates[2];                /* number ever */
    struct window windows[2];           /* window that the connection has grown to */
    struct sharing sharing[2];          /* shared use by transfers under way */
    struct size_rates sizes[2];         /* rates by size, if they depend on it */
    struct surprise surprise[2];
    double waiting_bps[2]; /* rate of the last transfer if it surprised; 0: it did not */
    double sounded_bps;    /* rate found by greetings, until there are transfers; 0: none */
    int64_t sounded_s;     /* when greetings found it, seconds since 1970 */
    struct {
        double bps;
        uint64_t bytes;
        bool is_least;    /* slow start explains the time: the link is at least this quick */
    } called[LINK_RATES]; /* rates from short transfers, and from calls with all arguments inline, by size */
    unsigned n_called;    /* number ever */
    double trip_s;        /* shortest round trip of a small message; 0: not known */
    pthread_cond_t news;
    struct session *parked;
    unsigned n_parked, n_parked_async;
    uint64_t polls;      /* number of the newest */
    uint64_t active;     /* the newest poll if it is under way, else 0 */
    uint64_t newcomer;   /* `parked_after` of the session that was parked last */
    unsigned in_flight;  /* polls */
    unsigned failures;   /* failed polls in a row */
    unsigned unanswered; /* and the newest ones of them that were not answered in time */
    int64_t quiet_ns;    /* until then no parked session looks for another server */
    bool queued;         /* `job` waits for a thread */
    struct thread_job job;

    /* For client/session/backlog.h: number of this client's sessions at the server, when it changed last,
     * and the round in which a session was sent here to look for room. */
    atomic_uint n_given;
    atomic_int_least64_t moved_ns;
    uint64_t probed; /* under the backlog's lock */

    atomic_int_least64_t heard_ns;   /* last message from the server; 0: none */
    atomic_int_least64_t mute_ns;    /* until then the server counts as silent; 0: it does not */
    atomic_int_least64_t greeted_ns; /* start of the background greeting in `greeting`; 0: none */
    struct thread_job greeting;
    atomic_uint_least64_t incarnation; /* as the server said last; 0: not asked, or it has changed */

    char address[]; /* key */
};

/* Returns the link to that address, which is created at first use and lives as long as the engine. Returns
 * NULL without memory. */
struct link *link_find(struct engine *engine, const char *address);

/* Informs each server that this client asks no more, and frees the links. */
void links_destroy(struct engine *engine);

/* Waits until there is news for a blocking session of this link. */
void link_wait(struct link *link, struct session *session);

/* Parks the session without a thread; at the next news its job is submitted to the runners. */
void link_park(struct link *link, struct session *session);

/* Pause between polls, after so many failures in a row, the last one with connections `refused`. */
int64_t link_pause_ms(unsigned failures, bool refused);

/* Takes the session with that number out, if it is parked, and lets its owner continue. */
void link_release(struct link *link, uint64_t sequence);

/* The link's server is silent, and another server takes a session of that problem. So that server may take
 * the sessions parked here, too: they look for a server themselves. */
void link_doubt(struct link *link, const char *problem);

/* A session has left the server's queue for another server: the next session that waits long may look for
 * one at once. */
void link_search_again(struct link *link);

/* Takes out all parked sessions. */
void link_release_all(struct link *link);

/* Notes that the server has sent a message. */
void link_heard(struct link *link);

/* Round trips until the next message to the server has a connection; 0: one is open. Any thread. */
unsigned link_trips(const struct link *link);

/* Returns how a call there begins, in the format of core/forecast/told_links.h, which requests carry. Any
 * thread. */
uint8_t link_opening(const struct link *link);

/* A function to run while an answer takes long. May be NULL. */
struct meanwhile {
    void (*act)(void *arg);
    void *arg;
};

/* Checks that the server is awake before it is given a call. If it has sent a message a moment ago,
 * nothing is done; else it is greeted, for answer_patience_ms and `most_ms` at most. A server that did not
 * answer is not greeted again for a while. Returns ESP_UNREACHABLE if it is not there, stopped, or cut
 * off; it was given nothing. Any thread. */
enum esp_status link_greet(struct link *link, int64_t most_ms, const struct meanwhile *meanwhile,
                           struct esp_error *error);

/* Starts the same check in the background; a later link_greet() only waits for the rest of it. */
void link_greet_beside(struct link *link);

/* Whether the check is under way, or the server did not answer the last greeting. */
bool link_is_doubted(const struct link *link);

/* Whether the server accepted the connection of the last greeting but did not answer. */
bool link_is_silent(const struct link *link);

/* Checks whether a server that did not answer a larger request answers a greeting. Greets it at once,
 * whatever it has sent before, for answer_patience (if that is 0, call_timeout), and `most_ms` at most.
 * Returns ESP_UNREACHABLE if it is silent. Any thread. */
enum esp_status link_probe(struct link *link, int64_t most_ms, const struct meanwhile *meanwhile,
                           struct esp_error *error);

/* Returns the server's incarnation, asking for it at first use. A call that names no incarnation could be
 * executed by one, and again by the next one if its reply is lost. Returns ESP_UNREACHABLE if the server
 * does not say. Any thread. */
enum esp_status link_incarnation(struct link *link, int64_t most_ms, uint64_t *incarnation,
                                 struct esp_error *error);

/* Begins a transfer in that direction. The result is for link_ends(). */
double link_begins(struct link *link, bool there);
/* Ends the transfer. Returns its seconds as if it had had the link alone, as far as this client's own
 * transfers shared the link. */
double link_ends(struct link *link, bool there, double begun_ns);
/* Learns from a transfer of so many bytes. Short ones count as calls do. `agents_s` is the time that
 * agents expected for all transfers of its call (0: none). */
void link_learn(struct link *link, bool there, uint64_t bytes, double seconds, double agents_s);
/* Learns from a call that carried `bytes` in itself and `back` in its answer, after `trips` round trips.
 * The server says that it computed and waited for `there_s`. Used only until transfers are known, because
 * other delays count as part of the way. */
void link_called(struct link *link, uint64_t bytes, uint64_t back, double seconds, double there_s,
                 unsigned trips);
/* Learns from a small message and its answer, which took so long, after so many round trips. */
void link_answered(struct link *link, double seconds, unsigned trips);
/* Learns from a greeting: its round trip, and the rate measured with ballast (0: not known). */
void link_sounded(struct link *link, double trip_s, double rate_bps);
/* Whether the link to that address is known: from transfers of this process or an earlier one, or from
 * greetings of the last hour (LINK_MEMORY_SOUNDED_S). After that, a link that looked slow is measured
 * again.
 */
bool links_know(struct engine *engine, const char *address);
/* Returns what earlier processes of the user have learned, read at first use. Called with the links' lock. */
const struct link_memory *links_memory(struct engine *engine);
/* Adds all known links to a request (core/forecast/told_links.h), and the way to the agent, which leads to
 * all other servers. They are added if links matter for its bytes, or if a known link is slow for them.
 * Until the first call, also adds how calls begin. A forecast of a call adds the same as the call, so that
 * both are decided alike. Returns false without memory. */
bool links_tell(struct engine *engine, struct request *request, struct arena *arena);
/* A call went by this answer: notes whether ways that only agents know are long for small requests. */
void links_note_choice(struct engine *engine, const struct request *request,
                       const struct submit_reply *reply);
/* Returns the share of the transfer time by which a forecast may be off over a known link. It is larger if
 * transfers differed, and LINK_STRANGE_DOUBT if only greetings or short transfers are known. */
double links_doubt(struct engine *engine, const char *address, struct request_bytes bytes);
#define LINK_STRANGE_DOUBT 0.5 /* over an unknown link: the shortest path over other links */
/* Stores what was learned for the next process (client/session/link_memory.h). Called when no thread uses
 * the links.
 */
void links_remember(struct engine *engine);

/* Acknowledges ended sessions now; otherwise the next call to that server does. */
void link_acknowledge(struct link *link);
/* Does the same within that time. Returns whether the server has answered. */
enum esp_status link_acknowledge_within(struct link *link, int64_t timeout_ms, struct esp_error *error);

#endif
