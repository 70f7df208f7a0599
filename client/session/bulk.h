/* SPDX-License-Identifier: Apache-2.0
 *
 * Large arguments and results: chunks (core/message/chunk.h) straight from and into the caller's memory,
 * two at a time.
 */
#ifndef CLIENT_BULK_H
#define CLIENT_BULK_H

#include "client/session/session.h"

/* The server has reserved memory: sends all bulk arguments, then lets the server compute. After a failure
 * the session is lost, called off or ended. */
void bulk_send(struct session *session);

/* Fetches the results that did not come with the reply. On failure sets session->lost, or session->error
 * with the reason. */
enum esp_status bulk_receive(struct session *session);

#endif
