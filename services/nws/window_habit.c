/* SPDX-License-Identifier: Apache-2.0 */
#include "services/nws/window_habit.h"

#include <fcntl.h>
#include <unistd.h>

static void read_setting(const char *path, char *text, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
    text[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
}

struct window_habit window_habit_here(void)
{
    char control[64], restart[64];
    read_setting("/proc/sys/net/ipv4/tcp_congestion_control", control, sizeof control);
    read_setting("/proc/sys/net/ipv4/tcp_slow_start_after_idle", restart, sizeof restart);
    return window_habit(control, restart);
}
