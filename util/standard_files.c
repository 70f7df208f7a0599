/* SPDX-License-Identifier: Apache-2.0 */
#include "util/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

void standard_files_hold(void)
{
    /* In ascending order, because open() takes the lowest free number. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return; /* without /dev/null the descriptors cannot be reserved */
}
