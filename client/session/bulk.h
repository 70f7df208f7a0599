/* SPDX-License-Identifier: Apache-2.0
 *
 * Large arguments and results: chunks (core/message/chunk.h) straight from and into the caller's memory, two
 * in flight.
 */
#ifndef CLIENT_BULK_H
#define CLIENT_BULK_H

#include "client/session/session.h"

/* The server has reserved memory: sends all bulk arguments, then lets it run. On failure the session is lost,
 * called off or ended. */
void bulk_send(struct session *session);

/* Fetches the results that did not come with the reply. Not ESP_OK: session->lost, or session->error says
 * why. */
enum esp_status bulk_receive(struct session *session);

#endif
