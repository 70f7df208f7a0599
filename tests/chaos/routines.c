/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines of the servers under espalier-chaos: each execution signs the ledger, a file, with its call's
 * number. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((visibility("default"))) void chaos_stamp(const char *ledger, double call, int ms, int n,
                                                        const double *x, double *y, int *signed_it);

/* y := call - x, after so many milliseconds. The line is one write to the end of the file, so that it is
 * there as a whole or not at all, whenever the worker is killed. */
void chaos_stamp(const char *ledger, double call, int ms, int n, const double *x, double *y, int *signed_it)
{
    char line[64];
    const int length = snprintf(line, sizeof line, "%.0f\n", call);
    const int fd = open(ledger, O_WRONLY | O_APPEND | O_CLOEXEC);
    *signed_it = fd >= 0 && write(fd, line, (size_t)length) == length;
    if (fd >= 0)
        close(fd);
    usleep((useconds_t)ms * 1000);
    for (int i = 0; i < n; i++)
        y[i] = call - x[i];
}
