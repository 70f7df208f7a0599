/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *program_find(const char *built)
{
    static const char *const above[] = {"..", "../..", "../../.."};
    char self[4096], path[8192];
    const char *name = strrchr(built, '/') + 1;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = 0;
        *strrchr(self, '/') = 0;
        snprintf(path, sizeof path, "%s/%s", self, name);
        if (access(path, X_OK) == 0)
            return strdup(path);
        for (size_t i = 0; i < sizeof above / sizeof *above; i++) {
            snprintf(path, sizeof path, "%s/%s/%s", self, above[i], built);
            if (access(path, X_OK) == 0)
                return strdup(path);
        }
    }
    snprintf(path, sizeof path, ESP_LIBEXECDIR "/%s", name);
    return strdup(path);
}
