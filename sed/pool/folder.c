/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void folder_empty(int folder)
{
    fchmod(folder, 0700); /* a command may have locked itself out */
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = copy >= 0 ? fdopendir(copy) : NULL;
    if (!files) {
        if (copy >= 0)
            close(copy);
        return;
    }
    for (struct dirent *file = readdir(files); file; file = readdir(files)) {
        if (strcmp(file->d_name, ".") == 0 || strcmp(file->d_name, "..") == 0 ||
            unlinkat(folder, file->d_name, 0) == 0)
            continue;
        fchmodat(folder, file->d_name, 0700, 0); /* no link: unlinking one does not fail */
        int below = openat(folder, file->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0) {
            folder_empty(below);
            close(below);
            unlinkat(folder, file->d_name, AT_REMOVEDIR);
        }
    }
    closedir(files);
}

void folder_remove(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    folder_empty(folder);
    close(folder);
    rmdir(path);
}
