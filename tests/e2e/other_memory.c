/* SPDX-License-Identifier: Apache-2.0
 *
 * other_memory: a library to preload, by which a program reads the file $OTHER_MEMORY where it would read
 * /proc/meminfo.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_other(const char *symbol, const char *path, const char *mode)
{
    FILE *(*real)(const char *, const char *);
    const char *other = getenv("OTHER_MEMORY");
    *(void **)&real = dlsym(RTLD_NEXT, symbol);
    return real(other && strcmp(path, "/proc/meminfo") == 0 ? other : path, mode);
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
    return open_other("fopen", path, mode);
}

FILE *fopen64(const char *restrict path, const char *restrict mode)
{
    return open_other("fopen64", path, mode);
}
