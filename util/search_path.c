/* SPDX-License-Identifier: Apache-2.0 */
#include "util/search_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *search_path(void)
{
    const char *set = getenv("PATH");
    return set ? set : "/bin:/usr/bin"; /* confstr(_CS_PATH) of the C library */
}

bool search_path_is_program(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0 && S_ISREG(is.st_mode) && access(path, X_OK) == 0;
}

/* An empty folder means the current one. */
bool search_path_find(const char *name, char *path, size_t size)
{
    const char *at = search_path();
    for (;;) {
        const int length = (int)strcspn(at, ":");
        const int whole = snprintf(path, size, "%.*s%s%s", length, at, length ? "/" : "", name);
        if (whole >= 0 && (size_t)whole < size && search_path_is_program(path))
            return true;
        if (!at[length])
            return false;
        at += length + 1;
    }
}
