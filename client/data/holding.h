/* SPDX-License-Identifier: Apache-2.0
 *
 * An array of the program that may also live on servers: where its present value is. Calls that share the
 * array share its holding, so that its value is sent once and what stays on a server is found again.
 *
 * Any thread; a holding lives as long as somebody uses it.
 */
#ifndef CLIENT_HOLDING_H
#define CLIENT_HOLDING_H

#include "client/arguments/invocation.h"
#include "core/data/datum.h"

struct holding {
    /* Under the lock of all holdings: */
    unsigned users;
    char datum[DATUM_TEXT];  /* identity of the value on servers; "": it is not there */
    bool moving;             /* somebody is putting it */
    uint64_t version;        /* counts values */
    struct holding_due *due; /* sessions that will make another value of it */
    struct esp_error lost;   /* the last of them failed: there is no value */
    bool own;                /* only this holding has a name for the value on servers */
    unsigned readers;        /* sessions that may still want one of the values */
    bool doomed;             /* the value goes when no session wants it any more */
    struct old_value *old;   /* own values on servers in whose place others are */
    /* Set by who makes it, before others see it: how it is left on servers. */
    enum datum_mode mode;
    uint32_t flags;
    bool disposes; /* own values are to go when others take their place */
    bool required; /* a server that cannot keep it is no server for the call; else the value is just sent */
};

/* One user: the caller. NULL without memory. */
struct holding *holding_create(enum datum_mode mode, uint32_t flags, bool required);
struct holding *holding_use(struct holding *holding);
/* NULL is nothing to do. */
void holding_release(struct holding *holding);

/* Its identity into `text` of DATUM_TEXT bytes. False: it is not on servers. */
bool holding_datum(struct holding *holding, char *text);
/* The value is there now (NULL or "": nowhere on servers); whoever waits goes on. */
void holding_set(struct holding *holding, const char *datum);
/* The value on servers is `datum` no more (it was lost there). */
void holding_unset(struct holding *holding, const char *datum);

/* For who wants to put it: true: he is to do so and to tell what came of it by holding_put_done(). False: it
 * is on servers, and `text` has its identity. Waits for who is putting it now. */
bool holding_claim(struct holding *holding, char *text);
void holding_put_done(struct holding *holding, const char *datum);

/* The next place in the order of calls, for a session that is to make another value of each of n holdings (0:
 * of none): before it waits for anything. Others who come behind it see all of that at once, so that none
 * takes a value of which it is not known yet that another one follows. Sets the turn of the dues, which stay
 * where they are until holding_arrived(); returns it. */
uint64_t holding_enter(struct holding *const *holdings, struct holding_due *const *dues, size_t n);
/* holding_enter() for all results of a call, when its arguments are gathered. */
void holding_enter_call(struct invocation *invocation);
/* One more value that a session makes which has its turn, of an array that no other thread has (a
 * sequence's). */
void holding_expect(struct holding *holding, struct holding_due *due);
/* The value is made: it has an identity, or "" (it is in memory), or NULL (there is none after all, and what
 * was there still is; `why`, unless NULL: it failed). Nothing for one that nobody knows of. */
void holding_arrived(struct holding *holding, struct holding_due *due, const char *datum,
                     const struct esp_error *why);
/* Somebody else has a name for the value as well. */
void holding_tell(struct holding *holding);
/* A session that takes the value begins, and ends. */
void holding_read(struct holding *holding);
void holding_read_done(struct holding *holding);
/* The value is to be deleted, and no session will take it that has not begun. False: none has begun that may
 * want it, so that the caller deletes it; else it is one of holding_take_old() when the last one has ended.
 */
bool holding_doom(struct holding *holding);
/* One of its values that others have taken the place of, or the last one of a doomed holding, and (unless
 * `even_read`) that nobody reads: to be deleted by the caller. False: there is none. */
bool holding_take_old(struct holding *holding, bool even_read, char *text);
/* Waits until no session is to make another value. ESP_OK, or how the last one failed. */
enum esp_status holding_wait(struct holding *holding, struct esp_error *error);
/* The same for those before `turn`, and for at most so long (0: no limit). ESP_PENDING: some of them still
 * are to; *error is as it was. */
enum esp_status holding_wait_before(struct holding *holding, uint64_t turn, int64_t timeout_ms,
                                    struct esp_error *error);
/* The holdings are in n groups, one behind the other, which end before ends[0], ends[1], ...: waits until
 * none is to make another value in one of these, at least one; returns its place. */
size_t holding_wait_any(struct holding *const *holdings, const size_t *ends, size_t n);
/* Whether none is (now). */
bool holding_is_settled(struct holding *holding);

/* Before a new life of the library in a forked child. False: another thread of the parent was in the middle
 * of a change at the fork. */
bool holding_after_fork(void);

#endif
