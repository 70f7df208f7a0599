/* SPDX-License-Identifier: Apache-2.0
 *
 * How much processor time the control groups of this process leave it: the least quota of all groups from its
 * own up to the root, version 1 or 2.
 */
#ifndef SED_CPU_QUOTA_H
#define SED_CPU_QUOTA_H

/* Where to look; a test has files of its own. */
struct cpu_quota_files {
    const char *groups; /* NULL: /proc/self/cgroup */
    const char *mounts; /* NULL: /proc/self/mounts */
    const char *root;   /* put before every mount point; NULL: nothing */
};

/* In processors (0.3: 30 % of one); HUGE_VAL when there is no quota or none can be read. Reads a few files.
 */
double cpu_quota(const struct cpu_quota_files *files);

#endif
