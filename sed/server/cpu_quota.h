/* SPDX-License-Identifier: Apache-2.0
 *
 * How much processor time the control groups of this process leave it: the least quota of all groups from its
 * own up to the root, version 1 or 2.
 */
#ifndef SED_CPU_QUOTA_H
#define SED_CPU_QUOTA_H

#include "services/nws/control_group.h"

/* In processors (0.3: 30 % of one); HUGE_VAL when there is no quota or none can be read. Reads a few files,
 * those of the system where `files` is NULL. */
double cpu_quota(const struct control_group_files *files);

#endif
