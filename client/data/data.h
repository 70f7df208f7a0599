/* SPDX-License-Identifier: Apache-2.0
 *
 * Data on servers: who has a datum, and moving them. What programs ask for is in espalier.h
 * (client/data/data_api.c, data_find.c).
 */
#ifndef CLIENT_DATA_H
#define CLIENT_DATA_H

#include "client/session/engine.h"
#include "core/data/datum.h"
#include "espalier.h"

/* Servers that were found, one behind the other. */
struct data_holder {
    char server[CAP_NAME + 1];
    char address[CAP_ADDRESS + 1];
    uint32_t flags; /* DATUM_... of what it has, where it was asked (data_find()) */
    bool is_far;    /* below another master agent than the nearest one (data_each_server()) */
};

#define DATA_MOST_HOLDERS 16

/* Who holds the datum: first the server that made it is asked, then (`all`, or when it has it not) the
 * others. At most DATA_MOST_HOLDERS. ESP_NOT_FOUND with what its maker says of it. Within the thread's
 * deadline (client/session/engine.h), of which who says nothing leaves the others most. Where nobody has it
 * who is reached, who may have it and is being started again, as agents know, is waited for. */
enum esp_status data_find(struct engine *engine, const char *id, bool all, struct data_holder *holders,
                          size_t *n_holders, struct esp_error *error);
/* data_find() of one of them, which waits for nobody who is being started again: for what is at home, too. */
enum esp_status data_find_now(struct engine *engine, const char *id, struct data_holder *holders,
                              size_t *n_holders, struct esp_error *error);
/* Finds the datum that the value names and puts the addresses of its holders behind its identity. `patient`:
 * as data_find(), else as data_find_now(). */
enum esp_status data_find_value(struct engine *engine, struct value *value, bool patient,
                                struct esp_error *error);
/* What a search has heard, beside who has the datum. */
struct data_witnesses {
    bool asked;                                   /* the agents have told what they know */
    struct data_holder told[DATA_MOST_HOLDERS];   /* servers that said something of it */
    char silent[DATA_MOST_HOLDERS][CAP_NAME + 1]; /* by name: those that may have it, and say nothing */
    size_t n_told, n_silent;
};
/* Whether one of them has the original, and not a replica. */
bool data_has_original(const struct data_holder *holders, size_t n);
/* data_find() of all of them. Where only replicas are found, who is known to have, or to have had, the
 * original and says nothing is among the silent ones; `patient`: not before it was waited for, where it is
 * being started again. */
enum esp_status data_find_told(struct engine *engine, const char *id, bool patient,
                               struct data_holder *holders, size_t *n_holders,
                               struct data_witnesses *witnesses, struct esp_error *error);
/* The servers that a server's answer about a datum names as those that may have copies of it, of which agents
 * do not know yet. */
void data_read_copies(const struct extensions *extensions,
                      void (*visit)(void *arg, const struct data_holder *server), void *arg);

/* The same: those that keep the datum for good, or to which it has moved, as the server remembers it: by
 * name, as they may be down, or back at another address. */
void data_read_places(const struct extensions *extensions, void (*visit)(void *arg, const char *name),
                      void *arg);

/* Visits every server below all master agents (`only`: that one), those of the nearest master agent first.
 * Stops when `visit` does not return ESP_OK. *missed (or NULL): why a master agent did not tell its servers;
 * its status is ESP_OK when all did. */
enum esp_status data_each_server(struct engine *engine, const char *only,
                                 enum esp_status (*visit)(void *arg, const struct data_holder *server,
                                                          struct esp_error *error),
                                 void *arg, struct esp_error *missed, struct esp_error *error);

/* Whom to tell of progress; all zero: nobody. */
struct data_told {
    esp_data_progress *tell;
    void *arg;
};

/* Puts `memory` on that server as a new datum, whose identity comes into `id` of DATUM_TEXT bytes; or, when
 * that has one, goes on with an earlier put of it: what the server has already is not sent again. All of
 * *datum counts but its identity. Blocks; a broken connection is taken up again. */
enum esp_status data_put(struct engine *engine, const char *server, const char *address,
                         const struct datum_info *datum, const void *memory, struct data_told told, char *id,
                         struct esp_error *error);
/* data_put() of what the source makes: no more than a few parts are in memory. An error of the source ends
 * it. */
enum esp_status data_put_made(struct engine *engine, const char *server, const char *address,
                              const struct datum_info *datum, const struct esp_data_source *source,
                              struct data_told told, char *id, struct esp_error *error);
/* Has the server keep room for such a datum, for a minute after it was last heard of, so that what cannot be
 * put there is told before anything is read or sent. `id` as of data_put(), which is what comes next. */
enum esp_status data_reserve(struct engine *engine, const char *server, const char *address,
                             const struct datum_info *datum, char *id, struct esp_error *error);
/* That is not to come after all: what there is of it, if it is not whole, makes room for others. */
void data_unreserve(struct engine *engine, const char *address, const struct datum_info *datum,
                    const char *id);
/* Reads all of a datum into memory of exactly its bytes, from one holder after the other. Blocks. */
enum esp_status data_get(struct engine *engine, const char *id, void *memory, uint64_t bytes,
                         struct data_told told, struct esp_error *error);
/* The first `head` and the last `tail` of so many bytes, one behind the other, of a datum that lies in one
 * piece. */
enum esp_status data_get_ends(struct engine *engine, const char *id, void *memory, uint64_t bytes,
                              uint64_t head, uint64_t tail, struct esp_error *error);
/* Whether what a server says of a datum is in pieces that make sense; how they lie. */
bool data_layout(const struct datum_info *datum, struct block_cyclic_matrix *layout);
/* Whether what a server says of a datum is an array that a program has described so: of that type and those
 * extents, in whatever order its elements lie, and of those that are stored. ESP_INVALID tells both. */
enum esp_status data_fits(const struct datum_info *datum, const struct datum_shape *described,
                          struct esp_error *error);
/* Has it move to that server, where it is of that mode. Blocks. */
enum esp_status data_move_as(struct engine *engine, const char *id, const char *server, enum datum_mode mode,
                             uint32_t flags, struct esp_error *error);
/* Has the server fetch it, and keep it by that mode (durable), beside the others; one that is to have no
 * copies moves. Blocks. */
enum esp_status data_copy_kept(struct engine *engine, const char *id, const char *server,
                               enum datum_mode mode, uint32_t flags, struct esp_error *error);
/* Has the server fetch it. Blocks. */
enum esp_status data_copy(struct engine *engine, const char *id, const char *server, bool move,
                          struct data_told told, struct esp_error *error);
/* Moves it to that server; where nobody who is there has its original, the copy there (which is fetched, if
 * there is none) becomes it. ESP_NOT_FOUND: nobody who is there has a copy either. Blocks. */
enum esp_status data_adopt(struct engine *engine, const char *id, const char *server, struct data_told told,
                           struct esp_error *error);
/* Deletes it on that server, NULL: everywhere, copies that are on their way as well. ESP_NOT_FOUND: nobody
 * has it; ESP_UNREACHABLE: servers that keep it, or have the original, which the text names, are down; the
 * first other failure, after which those that could go have gone. `patient`: somebody waits for it to be
 * gone, so that who has it and is being started again is waited for. */
enum esp_status data_drop(struct engine *engine, const char *id, const char *server, bool patient,
                          struct esp_error *error);

/* `names` (DATA_LEFT_BYTES): by ", ", the servers that may have the original of a datum of which those that
 * are reached have replicas only; "": the original is on one of them, or has ended. Errors as of data_find().
 */
#define DATA_LEFT_BYTES 1024
enum esp_status data_original_silent(struct engine *engine, const char *id, char *names,
                                     struct esp_error *error);

/* data_drop() everywhere, also where servers that keep it cannot be reached: those that are name them no
 * more, and all master agents that are known note it, so that it goes there when those are back. `left`
 * (DATA_LEFT_BYTES): the names of those, by ", "; "": none. ESP_UNREACHABLE: nobody could be asked;
 * ESP_VERSION and others: it has gone where it could, and no master agent has noted it. */
enum esp_status data_give_up(struct engine *engine, const char *id, char *left, struct esp_error *error);

/* Removes what that server (NULL: any) has set aside of it, as its file was damaged. ESP_NOT_FOUND: none has;
 * else the first failure, after which the others have removed theirs. */
enum esp_status data_remove_damaged(struct engine *engine, const char *id, const char *server,
                                    struct esp_error *error);

/* Deletes it at one server. `elsewhere`: it lives on: EXTENSION_ELSEWHERE; NULL: no copy is taken there any
 * more.
 */
enum esp_status data_drop_at(struct engine *engine, const char *id, const struct data_holder *holder,
                             const char *elsewhere, struct esp_error *error);

/* One question about data to a server. A store that is busy is asked again for as long as an answer may take,
 * within the thread's deadline. The caller clears *reply in every case. */
enum esp_status data_ask(struct engine *engine, const char *address, const struct message *request,
                         struct message *reply, struct esp_error *error);
/* The same, for at most so long. */
enum esp_status data_ask_within(struct engine *engine, const char *address, const struct message *request,
                                int64_t most_ms, struct message *reply, struct esp_error *error);

/* Arrays of strings as data: what lies on servers is what travels with a call (core/problem/texts.h). */

/* Reads all of one: *value, of *bytes with *n strings, was looked at, and is for free(). Blocks. ESP_INVALID:
 * it is no array of strings. */
enum esp_status data_get_strings(struct engine *engine, const char *id, void **value, uint64_t *bytes,
                                 uint64_t *n, struct esp_error *error);

#endif
