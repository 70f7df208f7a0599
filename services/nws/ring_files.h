/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of a daemon's links: nodes come under new names and go, and each leaves the ring file of its
 * series (services/nws/series.h) there.
 */
#ifndef SERVICES_NWS_RING_FILES_H
#define SERVICES_NWS_RING_FILES_H

/* By the time of the latest written file, so that it does not matter what the clock shows now. */
#define RING_FILES_IDLE_DAYS 30

/* Takes away ring files, and those that were set aside as damaged, that were written last so long before the
 * latest one; and of what remains the oldest beyond `most`. Other files are let alone. To be called before
 * any of them is open. Returns how many went; what cannot be looked at stays. */
unsigned ring_files_drop_old(const char *folder, unsigned most);

#endif
