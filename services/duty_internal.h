/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the orders to a node: services/duty.c (what they are, and who is answered) and services/duty_move.c
 * (whom the node is below).
 */
#ifndef SERVICES_DUTY_INTERNAL_H
#define SERVICES_DUTY_INTERNAL_H

#include "services/duty.h"

/* ---- services/duty.c ---- */

/* What came of an order: `text` when it is done, else `error`. Then nobody waits there any more; when nobody
 * does, this does nothing. */
void duty_answer(struct duty *duty, struct duty_asker *asker, enum esp_status status, const char *text,
                 const struct esp_error *error);
/* Writes down what was changed, and returns how long that lasts: "" for ever. Where it cannot be written (a
 * full disk), it counts until the node is started again: the log says so, and it is tried again. The text
 * lives until the next call. */
const char *duty_keep(struct duty *duty);
/* Returns the same of what was written before. */
const char *duty_kept(struct duty *duty);
/* Tries it, where it is time. */
void duty_write_again(struct duty *duty);

/* Takes sessions again when nobody has said for a while that it is to start again. */
void duty_end_brief(struct duty *duty);

/* ---- services/duty_move.c ---- */

/* The order "move": words are the new parent's name and address. It is answered when it is done. */
enum esp_status duty_begin_move(struct duty *duty, const char *const *words, size_t n,
                                struct esp_error *error);
/* "home": *text as services/duty.h has it. `address`: where that parent is now, NULL: not told. ESP_INVALID,
 * ESP_BUSY as handover_begin() has them. */
enum esp_status duty_home(struct duty *duty, const char *address, const char **text, struct esp_error *error);
/* "stay": words are the name of the parent that it has. *text: the name of the one that it would have gone
 * back to, which lives in `arena`. ESP_INVALID: it has another parent. */
enum esp_status duty_stay(struct duty *duty, const char *const *words, size_t n, struct arena *arena,
                          const char **text, struct esp_error *error);

#endif
