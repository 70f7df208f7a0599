/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files behind sed/server/server_data.h share, and nobody else:
 *
 *     server_data.c     calls, chores, records, what agents hear, life
 *     server_tickets.c  who has been let in, and the chunks that tickets are shown with
 *     server_moves.c    offer, open, finish
 *     server_replicas.c which copies on other servers may stay there
 *     server_copies.c   which servers may have copies of which agents do not know yet
 *     server_drop.c     deleting, and handing over to another server
 *     server_aside.c    files that were damaged, for who looks for them and removes them
 *     server_rescue.c   damaged originals, whose place copies on other servers take
 *     server_returned.c what was deleted elsewhere while this server was away
 *     server_untaken.c  what clients have ordered, and do not know yet
 *
 * All under the endpoint's lock.
 */
#ifndef SED_SERVER_DATA_INTERNAL_H
#define SED_SERVER_DATA_INTERNAL_H

#include "sed/server/server_data.h"

/* ---- server_data.c ---- */
/* Answers that it cannot be; `datum` (or NULL) is for the log. */
void data_refuse(struct call *call, enum message_kind reply, const char *datum,
                 const struct esp_error *error);
void data_done(struct call *call);
/* Who brought the call, and, as its extensions tell, for which client. Its lease is renewed. */
void data_asker_of(struct server *server, const struct call *call, const struct extensions *extensions,
                   struct asker *asker);
/* NULL without memory. */
struct chore *chore_for(struct call *call, struct ticket *ticket,
                        void (*then)(struct chore *chore, enum esp_status status,
                                     const struct esp_error *error));

/* ---- server_tickets.c ---- */
/* The one of that number that is not over; NULL: there is none. */
struct ticket *ticket_find(struct server *server, uint64_t number);
/* NULL: ESP_BUSY, ESP_NO_MEMORY. */
struct ticket *ticket_create(struct server *server, const struct datum_id *id, const struct asker *asker,
                             bool put, struct esp_error *error);
/* It is over: at once, or when nothing moves any more. */
void ticket_end(struct server *server, struct ticket *ticket);
/* The offer of that datum that is under way; NULL: none is. */
struct ticket *ticket_of_offer(struct server *server, struct datum_key key);
/* The one that is meant; NULL: ESP_NOT_FOUND. */
struct ticket *ticket_shown(struct server *server, uint64_t number, struct datum_key key, bool put,
                            struct esp_error *error);
/* Ends those of which nothing was heard for too long. */
void tickets_tick(struct server *server, int64_t now_ns);
void tickets_release(struct server *server);

/* ---- server_moves.c ---- */
void data_on_offer(struct server *server, struct call *call, const struct offer *offer);
/* The reply to an open; NULL without memory. */
struct message *data_open_answer(struct server *server, const struct ticket *ticket);
void data_on_open(struct server *server, struct call *call, const struct open *open);
void data_on_finish(struct server *server, struct call *call, const struct finish *finish);
/* A server whose client's data may be used here (data_servers). */
bool data_is_server(const struct server *server, const char *identity);

/* ---- server_aside.c ---- */
/* Lists them. */
void data_on_damaged(struct server *server, struct call *call, const struct data *data);
/* Removes what is left of that datum. ESP_NOT_FOUND, ESP_REFUSED, ESP_SYSTEM. */
enum esp_status data_drop_damaged(struct server *server, const struct call *call, const struct datum_id *id,
                                  struct esp_error *error);

/* ---- server_drop.c ---- */
void data_on_drop(struct server *server, struct call *call, const struct drop *drop);
/* Lets a server in that wants the original, or refuses it: ESP_NOT_FOUND: there is a replica here only;
 * ESP_REFUSED: it may not move, or another server is having it. */
enum esp_status data_claim(struct server *server, struct ticket *ticket, const struct extensions *extensions,
                           struct esp_error *error);
/* Whoever was let have the original of this server comes too late from now on: another one has it, or is to
 * let go of his because it is here. */
void data_reclaim(struct server *server, struct datum_key key);
/* The server that was let in has the datum (EXTENSION_MOVES): the one here goes. ESP_REFUSED is said only
 * when the original stays here, or was deleted: who is told so drops his. ESP_NOT_FOUND: he was not let in,
 * or it is not here. */
void data_hand_over(struct server *server, struct call *call, const struct finish *finish,
                    const struct datum_id *id, const struct extension *to);

/* ---- server_copies.c ---- */
/* What an open says of who fetches (EXTENSION_COPIES); NULL: nothing, or there is no memory. */
struct copy *copy_read(struct datum_key key, const struct extensions *extensions);
void copy_destroy(struct copy *copy);
/* The transfer has ended: from now on the copy is there, or never. Takes it over; NULL is nothing to do. */
void copies_note(struct server *server, struct copy *copy);
/* Says in the answer who may have copies of that one, who keeps it, and whether it was deleted here. */
void copies_tell(struct server *server, struct datum_key key, struct message *reply);
/* The copy on that server is the original now; whether one is. */
void copies_note_moved(struct server *server, struct datum_key key, const char *name);
bool copies_has_moved(const struct server *server, struct datum_key key, const char *name);
void copies_release(struct server *server);

/* ---- server_rescue.c ---- */
/* The file of the original here was damaged: has a sound copy elsewhere take its place. `of_start`: that was
 * found at the start, or before. */
void rescue_begin(struct server *server, const struct datum_id *id, bool of_start);
/* When it is to be called next. */
int64_t rescues_tick(struct server *server, int64_t now_ns);
void rescues_release(struct server *server);
/* A pull: the replica here is to become the original, which that server has lost. Nothing is fetched. */
void server_inherit(struct server *server, struct call *call, const struct datum_id *id,
                    const struct extension *from);

/* ---- server_returned.c ---- */
/* After the start: data that others keep, too, may have been deleted there while this server was away. */
void returned_begin(struct server *server);
/* When it is to be called next. */
int64_t returned_tick(struct server *server, int64_t now_ns);
void returned_release(struct server *server);

/* ---- server_untaken.c ---- */
/* A client asks for a datum that is made for it, and waits for so long: unless it has taken it, or asks again
 * soon after, the datum goes, or is not made. ESP_BUSY: there are too many. */
enum esp_status untaken_ask(struct server *server, const struct asker *asker, const struct datum_id *id,
                            int64_t patience_ns, struct esp_error *error);
/* The client knows it: it stays. ESP_NOT_FOUND: it is not here (any more). */
enum esp_status untaken_take(struct server *server, const struct datum_id *id, struct esp_error *error);
/* It is about to be there: where a client has to take it, the disk knows that, too. ESP_NO_MEMORY,
 * ESP_SYSTEM. */
enum esp_status untaken_made(struct server *server, struct datum_key key, struct esp_error *error);
void untaken_tick(struct server *server, int64_t now_ns);
/* Those that nobody has taken are deleted. */
void untaken_release(struct server *server);

/* ---- server_replicas.c ---- */
enum esp_status replicas_create(struct server *server, struct esp_error *error);
/* Remembers which server reads the datum, if one does. */
void replicas_note(struct ticket *ticket, const struct extensions *extensions);
/* The datum goes out with that ticket: says in the answer whether the copy may stay. */
void replicas_answer(struct server *server, const struct ticket *ticket, const struct store_entry *entry,
                     struct message *reply);

#endif
