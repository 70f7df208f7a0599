/* SPDX-License-Identifier: Apache-2.0
 *
 * A link: what the client has to do with one server. Sessions that wait for the server's computation are
 * parked here, and one long poll at a time waits for all of them.
 *
 * Who polls: a blocking session's thread, when no poll under way knows of its session; the others sleep until
 * that thread brings their news, and one of them takes over when it leaves. For asynchronous sessions a pool
 * thread does the same. A session that comes while a poll is under way needs a new one: the server ends the
 * old poll when the new one arrives.
 */
#ifndef CLIENT_LINK_H
#define CLIENT_LINK_H

#include "client/session/session.h"
#include "core/choice/aggregate.h"
#include "core/forecast/sharing.h"
#include "core/forecast/size_rates.h"
#include "core/forecast/surprise.h"
#include "core/forecast/window.h"
#define HASH_NONFATAL_OOM 1 /* a library does not end the process */
#include <uthash.h>

#define LINK_RATES 5

struct link {
    struct engine *engine;
    UT_hash_handle hh;    /* engine->links, under engine->links_lock */
    struct session *held; /* accepted here and not yet acknowledged, under engine->marks_lock */

    pthread_mutex_t lock; /* of what follows */
    /* Of each direction, from there and there: bytes per second of the last transfers, a ring; */
    double rates[2][LINK_RATES];
    uint64_t rate_bytes[2][LINK_RATES]; /* of each; */
    unsigned n_rates[2];                /* ever; */
    struct window windows[2];           /* what their connection has grown to; */
    struct sharing sharing[2];          /* by those that are under way */
    struct size_rates sizes[2];         /* what they tell by size, where it depends on that; */
    struct surprise surprise[2];
    double waiting_bps[2]; /* what the last one said, where it surprised; 0: it did not */
    double sounded_bps;    /* what greetings found, until there are transfers; 0: nothing */
    int64_t sounded_s;     /* when that was, since 1970 */
    struct {
        double bps;
        uint64_t bytes;
        bool is_least;    /* slow start explains what it took: the link is at least as quick */
    } called[LINK_RATES]; /* what short ones, and calls with all in them, tell, by so many bytes */
    unsigned n_called;    /* ever */
    double trip_s;        /* shortest of a small message there and back; 0: not known */
    pthread_cond_t news;
    struct session *parked;
    unsigned n_parked, n_parked_async;
    uint64_t polls;      /* number of the newest */
    uint64_t active;     /* the newest poll if it is under way, else 0 */
    uint64_t newcomer;   /* `parked_after` of the session that was parked last */
    unsigned in_flight;  /* polls */
    unsigned failures;   /* of polls in a row, */
    unsigned unanswered; /* and of those that the newest ones were not answered in time */
    bool queued;         /* `job` waits for a thread */
    struct thread_job job;

    /* For client/session/backlog.h: sessions that the server has of this client, when that number changed
     * last, and the round in which one was sent here to look for room. */
    atomic_uint n_given;
    atomic_int_least64_t moved_ns;
    uint64_t probed; /* under the backlog's lock */

    atomic_int_least64_t heard_ns;   /* when the server said something last; 0: never */
    atomic_int_least64_t mute_ns;    /* until when it is believed to be silent still; 0: it is not */
    atomic_int_least64_t greeted_ns; /* since when `greeting` greets it; 0: it does not */
    struct thread_job greeting;
    atomic_uint_least64_t
        incarnation; /* that the server last said it is; 0: not asked, or it is another now */

    char address[]; /* key */
};

/* The link to that address, made at first use; lives as long as the engine. NULL without memory. */
struct link *link_find(struct engine *engine, const char *address);

/* Tells each server that nothing more will be asked of it, and frees the links. */
void links_destroy(struct engine *engine);

/* Waits until there is news for a blocking session of this link. */
void link_wait(struct link *link, struct session *session);

/* The session waits here without a thread; at the next news its job is submitted to the runners. */
void link_park(struct link *link, struct session *session);

/* Between polls, after so many that failed in a row, the last as connections are `refused`. */
int64_t link_pause_ms(unsigned failures, bool refused);

/* Takes the session of that number out, if it is parked, and lets its owner go on with it. */
void link_release(struct link *link, uint64_t sequence);

/* Its server is silent, and another one takes what a session of that problem wants: so it may take those that
 * wait here, which look themselves. */
void link_doubt(struct link *link, const char *problem);

/* All that wait here. */
void link_release_all(struct link *link);

/* The server has said something. */
void link_heard(struct link *link);

/* Round trips that the next message there waits for a connection; 0: one is open. Any thread. */
unsigned link_trips(const struct link *link);

/* What a call there begins with, as it is told with requests (core/forecast/told_links.h). Any thread. */
uint8_t link_opening(const struct link *link);

/* What is done while an answer takes its time. May be NULL. */
struct meanwhile {
    void (*act)(void *arg);
    void *arg;
};

/* Makes sure that the server is awake before it is given what would cost much to wait for: nothing to do if
 * it said something a moment ago, else a greeting, for answer_patience_ms at most, and for `most_ms`. A
 * server that did not answer is not greeted again for a while. ESP_UNREACHABLE: it is not there, or stopped,
 * or cut off; it was given nothing. Any thread. */
enum esp_status link_greet(struct link *link, int64_t most_ms, const struct meanwhile *meanwhile,
                           struct esp_error *error);

/* Begins to find out the same behind the caller's back: link_greet() waits only for what is left of that. */
void link_greet_beside(struct link *link);

/* It is being found out, or it did not answer when it was greeted last. */
bool link_is_doubted(const struct link *link);

/* Whether it did not answer when it was last asked that, though it takes connections. */
bool link_is_silent(const struct link *link);

/* Asks a server that did not answer something greater, at once and whatever it has said before, whether it is
 * there at all: for answer_patience (call_timeout, where that is 0), and `most_ms` at most. ESP_UNREACHABLE:
 * it is silent. Any thread. */
enum esp_status link_probe(struct link *link, int64_t most_ms, const struct meanwhile *meanwhile,
                           struct esp_error *error);

/* Which incarnation of the server is there, asking it at first use: a call that names none could be executed
 * by one, and again by the next one when its reply is lost. ESP_UNREACHABLE: it does not say. Any thread. */
enum esp_status link_incarnation(struct link *link, int64_t most_ms, uint64_t *incarnation,
                                 struct esp_error *error);

/* A transfer in that direction begins; for link_ends(). */
double link_begins(struct link *link, bool there);
/* It ends; the seconds that the link was its own, as far as this client shared it with itself. */
double link_ends(struct link *link, bool there, double begun_ns);
/* A transfer of so many bytes went so: what is learned of the link. Short ones tell as much as calls do.
 * Agents have expected all transfers of its call to take `agents_s` (0: they have not). */
void link_learn(struct link *link, bool there, uint64_t bytes, double seconds, double agents_s);
/* The same of a call that brought so many bytes in itself, and its answer so many back, of which the server
 * says that it computed and waited in it for `there_s`; before it there were so many round trips. Until there
 * is something better: what else happened in that time counts as way. */
void link_called(struct link *link, uint64_t bytes, uint64_t back, double seconds, double there_s,
                 unsigned trips);
/* A small message, and its answer, took so long there and back, with so many round trips before. */
void link_answered(struct link *link, double seconds, unsigned trips);
/* A greeting took so long there and back, and more bytes than that this many in a second (0: not known). */
void link_sounded(struct link *link, double trip_s, double rate_bps);
/* Whether something is known of the link to that address, from transfers of this process or an earlier one,
 * or from greetings of the last hour (LINK_MEMORY_SOUNDED_S): a link that looked bad then is looked at again.
 */
bool links_know(struct engine *engine, const char *address);
/* What earlier processes of the user have learned, read when it is first needed. With the links' lock. */
const struct link_memory *links_memory(struct engine *engine);
/* Tells in a request what is known of all links (core/forecast/told_links.h), and the way to the agent, over
 * which the others are, where links matter: by its bytes, or as one that is known is slow for them; and what
 * calls begin with, as long as none has been made. A forecast of a call tells what the call would, so that
 * both are decided alike. False without memory. */
bool links_tell(struct engine *engine, struct request *request, struct arena *arena);
/* A call went by this answer: whether ways that only agents know are long for few bytes. */
void links_note_choice(struct engine *engine, const struct request *request,
                       const struct submit_reply *reply);
/* What part of the time of so many bytes there and back a forecast may be off by over a link that is known:
 * more where transfers differed, and half of it where only greetings or short transfers have told. */
double links_doubt(struct engine *engine, const char *address, struct request_bytes bytes);
#define LINK_STRANGE_DOUBT 0.5 /* and over one that is not: the shortest path over others */
/* Keeps what was learned for the next process (client/session/link_memory.h). Nobody uses the links any more.
 */
void links_remember(struct engine *engine);

/* Acknowledges what has ended, now (otherwise the next call to that server does). */
void link_acknowledge(struct link *link);
/* The same in that time, and whether the server has answered. */
enum esp_status link_acknowledge_within(struct link *link, int64_t timeout_ms, struct esp_error *error);

#endif
