/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/cpu_quota.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double ratio(double quota_us, double period_us)
{
    return quota_us > 0 && period_us > 0 ? quota_us / period_us : HUGE_VAL;
}

static double quota_of_folder(const char *folder, bool version2)
{
    char quota[64], period[64], *end;
    if (version2) {
        if (!control_group_line(folder, "cpu.max", quota, sizeof quota) || strncmp(quota, "max", 3) == 0)
            return HUGE_VAL;
        double quota_us = strtod(quota, &end);
        return ratio(quota_us, strtod(end, NULL));
    }
    if (!control_group_line(folder, "cpu.cfs_quota_us", quota, sizeof quota) ||
        !control_group_line(folder, "cpu.cfs_period_us", period, sizeof period))
        return HUGE_VAL;
    return ratio(strtod(quota, NULL), strtod(period, NULL));
}

static void take_least(const char *folder, bool version2, void *arg)
{
    double *least = arg;
    *least = fmin(*least, quota_of_folder(folder, version2));
}

double cpu_quota(const struct control_group_files *files)
{
    double least = HUGE_VAL;
    control_groups_visit(files, "cpu", take_least, &least);
    return least;
}
