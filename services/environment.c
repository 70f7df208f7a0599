/* SPDX-License-Identifier: Apache-2.0 */
#include "services/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static bool begins(const char *entry, const char *prefix)
{
    return strncmp(entry, prefix, strlen(prefix)) == 0;
}

bool environment_is_harmful(const char *entry, bool in_mpirun)
{
    static const char *const prefixes[] = {
        "OMP_PROC_BIND=", "OMP_PLACES=", "GOMP_CPU_AFFINITY=", "KMP_AFFINITY=",      "PMIX_", "PMI_",
        "PRTE_",          "ORTE_",       "OMPI_COMM_WORLD_",   "OMPI_UNIVERSE_SIZE="};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins(entry, prefixes[i]))
            return true;
    /* Outside mpirun, MPI parameters are an administrator's, for the ranks, and stay. The permission to
     * run as root always stays. */
    return in_mpirun && begins(entry, "OMPI_") && !begins(entry, "OMPI_ALLOW_RUN_AS_ROOT");
}

size_t environment_clean(bool (*also)(const char *entry), char *names, size_t size)
{
    const bool in_mpirun = getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK");
    size_t n = 0, used = 0;
    if (size > 0)
        names[0] = 0;
    for (size_t i = 0; environ[i];) {
        char name[256];
        const size_t length = strcspn(environ[i], "=");
        if (length >= sizeof name ||
            !(environment_is_harmful(environ[i], in_mpirun) || (also && also(environ[i])))) {
            i++;
            continue;
        }
        memcpy(name, environ[i], length);
        name[length] = 0;
        if (unsetenv(name) != 0) {
            i++;
            continue;
        }
        if (used < size)
            used += (size_t)snprintf(names + used, size - used, "%s%s", n > 0 ? ", " : "", name);
        n++;
    }
    return n;
}
