/* SPDX-License-Identifier: Apache-2.0
 *
 * An array of the program that may also live on servers: where its present value is. Calls that share the
 * array share its holding, so that its value is sent once, and the copy on a server is found again.
 *
 * Any thread. A holding lives as long as it has a user.
 */
#ifndef CLIENT_HOLDING_H
#define CLIENT_HOLDING_H

#include "client/arguments/invocation.h"
#include "core/data/datum.h"

struct holding {
    /* Under the lock of all holdings: */
    unsigned users;
    char datum[DATUM_TEXT];  /* identity of the value on servers; "": it is not there */
    bool moving;             /* a thread is putting it */
    uint64_t version;        /* counts values */
    struct holding_due *due; /* sessions that will make another value of it */
    struct esp_error lost;   /* the last of them failed: there is no value */
    bool own;                /* no other holding has a name for the value on servers */
    unsigned readers;        /* sessions that may still want one of the values */
    bool doomed;             /* the value is deleted when no session wants it any more */
    struct old_value *old;   /* own former values on servers */
    /* Set by its creator before other threads see it: how it is left on servers. */
    enum datum_mode mode;
    uint32_t flags;
    bool disposes; /* own values are deleted when others replace them */
    bool required; /* a server that cannot keep it is not called; else the value is just sent */
};

/* Creates a holding with one user, the caller. Returns NULL without memory. */
struct holding *holding_create(enum datum_mode mode, uint32_t flags, bool required);
struct holding *holding_use(struct holding *holding);
/* Accepts NULL. */
void holding_release(struct holding *holding);

/* Writes its identity to `text` (DATUM_TEXT bytes). Returns false if the value is not on servers. */
bool holding_datum(struct holding *holding, char *text);
/* Sets where the value is now (NULL or "": not on servers), and wakes waiting threads. */
void holding_set(struct holding *holding, const char *datum);
/* The value on servers is no longer `datum`, which was lost there. */
void holding_unset(struct holding *holding, const char *datum);

/* Called by a thread that wants to put the value. Returns true if it must do so, and report the result by
 * holding_put_done(). Returns false if the value is on servers; `text` has its identity. Waits while
 * another thread puts it. */
bool holding_claim(struct holding *holding, char *text);
void holding_put_done(struct holding *holding, const char *datum);

/* Takes the next place in the order of calls, for a session that will make another value of each of n
 * holdings (0: of none), before the session waits for anything. Later sessions see all these values
 * announced at once, so that none takes a value that is about to be replaced. Sets the turn of the dues,
 * which stay at their addresses until holding_arrived(); returns the turn. */
uint64_t holding_enter(struct holding *const *holdings, struct holding_due *const *dues, size_t n);
/* holding_enter() for all results of a call, after its arguments are gathered. */
void holding_enter_call(struct invocation *invocation);
/* Announces one more value of a session that has its turn, of an array that no other thread has (a
 * sequence's). */
void holding_expect(struct holding *holding, struct holding_due *due);
/* The announced value was made: it has an identity, or "" (it is in memory), or NULL (there is none after
 * all, and the former value stays; `why`, unless NULL: it failed). Does nothing for a value that was not
 * announced. */
void holding_arrived(struct holding *holding, struct holding_due *due, const char *datum,
                     const struct esp_error *why);
/* Another holding has a name for the value, too. */
void holding_tell(struct holding *holding);
/* A session that takes the value begins or ends. */
void holding_read(struct holding *holding);
void holding_read_done(struct holding *holding);
/* Marks the value for deletion; sessions that have not begun will not take it. Returns false if no session
 * may still want it, so that the caller deletes it; else holding_take_old() returns it after the last
 * session has ended.
 */
bool holding_doom(struct holding *holding);
/* Takes a former value, or the last value of a doomed holding, that (unless `even_read`) no session reads;
 * the caller deletes it. Returns false if there is none. */
bool holding_take_old(struct holding *holding, bool even_read, char *text);
/* Waits until no announced value is left. Returns ESP_OK, or how the last one failed. */
enum esp_status holding_wait(struct holding *holding, struct esp_error *error);
/* Waits for announced values before `turn`, at most so long (0: no limit). Returns ESP_PENDING if some are
 * left; *error is unchanged then. */
enum esp_status holding_wait_before(struct holding *holding, uint64_t turn, int64_t timeout_ms,
                                    struct esp_error *error);
/* The holdings are in n groups, one behind the other, which end before ends[0], ends[1], ...: waits until
 * at least one group has no announced value; returns its index. */
size_t holding_wait_any(struct holding *const *holdings, const size_t *ends, size_t n);
/* Whether no announced value is left (now). */
bool holding_is_settled(struct holding *holding);

/* Called before the library is initialized in a forked child. Returns false if another thread of the
 * parent was changing a holding during the fork. */
bool holding_after_fork(void);

#endif
