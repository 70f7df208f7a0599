/* SPDX-License-Identifier: Apache-2.0
 *
 * Data on servers: finding holders, and moving data. espalier.h describes what programs call
 * (client/data/data_api.c, data_find.c).
 */
#ifndef CLIENT_DATA_H
#define CLIENT_DATA_H

#include "client/session/engine.h"
#include "core/data/datum.h"
#include "espalier.h"

/* Servers that were found, one after the other. */
struct data_holder {
    char server[CAP_NAME + 1];
    char address[CAP_ADDRESS + 1];
    uint32_t flags; /* DATUM_... of its copy, if it was asked (data_find()) */
    bool is_far;    /* below another master agent than the nearest one (data_each_server()) */
};

#define DATA_MOST_HOLDERS 16

/* Finds the holders of the datum, at most DATA_MOST_HOLDERS. The server that made the datum is asked
 * first, then, if `all` is set or that server does not have it, the others. Returns ESP_NOT_FOUND with the
 * maker's answer. Works within the thread's deadline (client/session/patience.h); a silent server leaves
 * most of that time to the others. If no reachable server has the datum, waits for servers that may have
 * it and are restarting, according to the agents. */
enum esp_status data_find(struct engine *engine, const char *id, bool all, struct data_holder *holders,
                          size_t *n_holders, struct esp_error *error);
/* data_find() for one holder, without waiting for servers that are restarting. For callers that can do
 * without the datum. */
enum esp_status data_find_now(struct engine *engine, const char *id, struct data_holder *holders,
                              size_t *n_holders, struct esp_error *error);
/* Finds the datum that the value names and puts the addresses of its holders behind its identity. `patient`:
 * as data_find(), else as data_find_now(). */
enum esp_status data_find_value(struct engine *engine, struct value *value, bool patient,
                                struct esp_error *error);
/* Findings of a search, in addition to the holders. */
struct data_witnesses {
    bool asked;                                   /* the agents have answered */
    struct data_holder told[DATA_MOST_HOLDERS];   /* servers that answered about it */
    char silent[DATA_MOST_HOLDERS][CAP_NAME + 1]; /* names of servers that may have it, and are silent */
    size_t n_told, n_silent;
};
/* Whether one of them has the original, not a replica. */
bool data_has_original(const struct data_holder *holders, size_t n);
/* data_find() for all holders. If only replicas are found, servers that have or had the original and do
 * not answer are among the silent ones. With `patient`, waits first for such a server if it is restarting. */
enum esp_status data_find_told(struct engine *engine, const char *id, bool patient,
                               struct data_holder *holders, size_t *n_holders,
                               struct data_witnesses *witnesses, struct esp_error *error);
/* Visits servers that, according to a server's answer, may have copies of the datum that agents do not
 * know yet. */
void data_read_copies(const struct extensions *extensions,
                      void (*visit)(void *arg, const struct data_holder *server), void *arg);

/* Visits servers that, according to a server's answer, keep the datum for good, or to which it has moved.
 * They are given by name, because they may be down, or back at another address. */
void data_read_places(const struct extensions *extensions, void (*visit)(void *arg, const char *name),
                      void *arg);

/* Visits every server below all master agents (`only`: that one), those of the nearest master agent first.
 * Stops if `visit` does not return ESP_OK. *missed (or NULL): why a master agent did not name its servers;
 * its status is ESP_OK if all did. */
enum esp_status data_each_server(struct engine *engine, const char *only,
                                 enum esp_status (*visit)(void *arg, const struct data_holder *server,
                                                          struct esp_error *error),
                                 void *arg, struct esp_error *missed, struct esp_error *error);

/* Receiver of progress; all zero: none. */
struct data_told {
    esp_data_progress *tell;
    void *arg;
};

/* Puts `memory` on that server as a new datum. Writes the identity to `id` (DATUM_TEXT bytes). If `id`
 * already holds an identity, continues an earlier put of that datum, and sends only what the server does
 * not have. All members of *datum count except the identity. Blocks; continues after a broken connection. */
enum esp_status data_put(struct engine *engine, const char *server, const char *address,
                         const struct datum_info *datum, const void *memory, struct data_told told, char *id,
                         struct esp_error *error);
/* data_put() of a value that the source makes; no more than a few parts are in memory. An error of the
 * source ends it. */
enum esp_status data_put_made(struct engine *engine, const char *server, const char *address,
                              const struct datum_info *datum, const struct esp_data_source *source,
                              struct data_told told, char *id, struct esp_error *error);
/* Reserves room on the server for such a datum, until a minute after the last message about it. So a lack
 * of room is reported before anything is read or sent. `id` is as for data_put(), which must follow. */
enum esp_status data_reserve(struct engine *engine, const char *server, const char *address,
                             const struct datum_info *datum, char *id, struct esp_error *error);
/* Ends a reservation: an incomplete datum is deleted. */
void data_unreserve(struct engine *engine, const char *address, const struct datum_info *datum,
                    const char *id);
/* Reads all of a datum into memory of exactly its bytes, from one holder after the other. Blocks. */
enum esp_status data_get(struct engine *engine, const char *id, void *memory, uint64_t bytes,
                         struct data_told told, struct esp_error *error);
/* Reads the first `head` and the last `tail` bytes, one behind the other, of a datum of `bytes` bytes that
 * lies in one piece. */
enum esp_status data_get_ends(struct engine *engine, const char *id, void *memory, uint64_t bytes,
                              uint64_t head, uint64_t tail, struct esp_error *error);
/* Whether a server describes a datum in pieces that make sense; sets their layout. */
bool data_layout(const struct datum_info *datum, struct block_cyclic_matrix *layout);
/* Whether the datum that a server describes is the array that a program has described: same type, same
 * extents, with its stored elements in any order. ESP_INVALID describes both. */
enum esp_status data_fits(const struct datum_info *datum, const struct datum_shape *described,
                          struct esp_error *error);
/* Moves the datum to that server, which keeps it in that mode. Blocks. */
enum esp_status data_move_as(struct engine *engine, const char *id, const char *server, enum datum_mode mode,
                             uint32_t flags, struct esp_error *error);
/* Has the server fetch the datum and keep it in that mode (durable), in addition to the other holders. A
 * datum that may not be copied moves. Blocks. */
enum esp_status data_copy_kept(struct engine *engine, const char *id, const char *server,
                               enum datum_mode mode, uint32_t flags, struct esp_error *error);
/* Has the server fetch the datum. Blocks. */
enum esp_status data_copy(struct engine *engine, const char *id, const char *server, bool move,
                          struct data_told told, struct esp_error *error);
/* Moves the datum to that server. If no reachable server has the original, the server's copy (which is
 * fetched if there is none) becomes the original. Returns ESP_NOT_FOUND if no reachable server has a copy
 * either. Blocks. */
enum esp_status data_adopt(struct engine *engine, const char *id, const char *server, struct data_told told,
                           struct esp_error *error);
/* Deletes the datum on that server; NULL: everywhere, including copies under way. Returns ESP_NOT_FOUND if
 * no server has it; ESP_UNREACHABLE if servers that keep it, or have the original, are down (the text
 * names them); else the first other failure, after deleting the rest. With `patient`, waits for holders
 * that are restarting. */
enum esp_status data_drop(struct engine *engine, const char *id, const char *server, bool patient,
                          struct esp_error *error);

/* `names` (DATA_LEFT_BYTES): if the reachable servers have only replicas, the servers that may have the
 * original, separated by ", ". "": the original is reachable, or is gone. Errors are those of data_find().
 */
#define DATA_LEFT_BYTES 1024
enum esp_status data_original_silent(struct engine *engine, const char *id, char *names,
                                     struct esp_error *error);

/* data_drop() everywhere that also covers unreachable servers: the other holders no longer name them, and
 * all known master agents note the datum, so that these servers delete it when they are back. `left`
 * (DATA_LEFT_BYTES): their names, separated by ", "; "": none. Returns ESP_UNREACHABLE if no server could
 * be asked; ESP_VERSION or another error if the datum was deleted where possible, but no master agent has
 * noted it. */
enum esp_status data_give_up(struct engine *engine, const char *id, char *left, struct esp_error *error);

/* Removes the damaged file of the datum that the server (NULL: any) has set aside. Returns ESP_NOT_FOUND
 * if there is none; else the first failure, after the other servers have removed theirs. */
enum esp_status data_remove_damaged(struct engine *engine, const char *id, const char *server,
                                    struct esp_error *error);

/* Deletes the datum at one server. `elsewhere`: the datum lives on, see EXTENSION_ELSEWHERE; NULL: that
 * server takes no copy any more.
 */
enum esp_status data_drop_at(struct engine *engine, const char *id, const struct data_holder *holder,
                             const char *elsewhere, struct esp_error *error);

/* Sends one question about data to a server. If the server's store is busy, it is asked again for as long
 * as an answer may take, within the thread's deadline. The caller clears *reply in every case. */
enum esp_status data_ask(struct engine *engine, const char *address, const struct message *request,
                         struct message *reply, struct esp_error *error);
/* data_ask() for at most so long. */
enum esp_status data_ask_within(struct engine *engine, const char *address, const struct message *request,
                                int64_t most_ms, struct message *reply, struct esp_error *error);

/* Arrays of strings as data: servers store them as they travel with a call (core/problem/texts.h). */

/* Reads all of an array of strings: *value, of *bytes with *n strings, was checked, and is for free().
 * Blocks. Returns ESP_INVALID if the datum is no array of strings. */
enum esp_status data_get_strings(struct engine *engine, const char *id, void **value, uint64_t *bytes,
                                 uint64_t *n, struct esp_error *error);

#endif
