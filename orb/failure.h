/* SPDX-License-Identifier: Apache-2.0
 *
 * Exceptions end here: each becomes a status and a text that says what to look at.
 */
#ifndef ORB_FAILURE_H
#define ORB_FAILURE_H

#include "orb/corba.h"

#include <string>

/* Inside a catch (...) block, only there: turns the exception in flight into a status. `what` is what was
 * tried ("submit"), `address` with whom, NULL: nobody. Without `what` the error's text is the reason alone.
 */
enum esp_status orb_failure(const char *what, const char *address, struct esp_error *error);

/* The text names where the ORB of a client has settings from that are not this library's: such settings may
 * be the reason of a failure. "": nowhere. To be called before the ORB starts. */
void failure_note_settings(const std::string &where);

#endif
