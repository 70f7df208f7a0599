/* SPDX-License-Identifier: Apache-2.0 */
#include "util/own_library.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool own_library_path(const char *name, char *path, size_t size)
{
    static const char *const built[] = {"..", "../.."}; /* libtool may keep the program in .libs */
    if (strncmp(name, "libespalier-", strlen("libespalier-")) != 0 || strchr(name, '/'))
        return false;
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    char *end = strrchr(program, '/');
    for (size_t i = 0; end && i < sizeof built / sizeof *built; i++) {
        int n =
            snprintf(path, size, "%.*s/%s/solvers/.libs/%s", (int)(end - program), program, built[i], name);
        if (n < (int)size && access(path, R_OK) == 0)
            return true;
    }
    return snprintf(path, size, ESP_PKGLIBDIR "/%s", name) < (int)size && access(path, R_OK) == 0;
}
