/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts exceptions to a status and a text that says what to check. No exception passes beyond this
 * file. */
#ifndef ORB_FAILURE_H
#define ORB_FAILURE_H

#include "orb/corba.h"

#include <string>

/* Only inside a catch (...) block: converts the current exception to a status. `what` is the attempted
 * operation ("submit"), `address` the peer, NULL: none. Without `what` the error's text is the reason
 * alone. */
enum esp_status orb_failure(const char *what, const char *address, struct esp_error *error);

/* Notes where the ORB of a client has other settings than this library's, because they may cause a
 * failure. "": none. Call it before the ORB starts. */
void failure_note_settings(const std::string &where);

#endif
