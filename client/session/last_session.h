/* SPDX-License-Identifier: Apache-2.0
 *
 * The session that the user's last program began last: in a file of the user's state folder, for whoever
 * looks at its way without having noted it. It is a hint and never an error.
 */
#ifndef CLIENT_LAST_SESSION_H
#define CLIENT_LAST_SESSION_H

#include "core/message/message_basic.h"

/* Without a folder, or room on the disk, it stays the one that it was. */
void last_session_keep(const struct session_id *session);
/* Its name as session_id_text() has it; false: none is known. */
bool last_session_find(char text[SESSION_TEXT]);

#endif
