/* SPDX-License-Identifier: Apache-2.0
 *
 * Cleans up the folder of a daemon's links: nodes come under new names and go, and each leaves the ring
 * file of its series (services/nws/series.h) there. */
#ifndef SERVICES_NWS_RING_FILES_H
#define SERVICES_NWS_RING_FILES_H

/* Relative to the latest written file, so that a wrong clock has no effect. */
#define RING_FILES_IDLE_DAYS 30

/* Deletes ring files, and quarantined ones, that were written this long before the latest one; and of the
 * rest the oldest beyond `most`. Other files are ignored. Call it before any of them is open. Returns how
 * many were deleted; unreadable ones stay. */
unsigned ring_files_drop_old(const char *folder, unsigned most);

#endif
