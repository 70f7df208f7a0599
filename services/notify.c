/* SPDX-License-Identifier: Apache-2.0 */
#include "services/notify.h"

#include "util/clock.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool notify_wanted(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    return path && *path;
}

void notify_systemd(const char *lines)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = path ? strlen(path) : 0;
    if (length < 2 || length >= sizeof address.sun_path || (*path != '/' && *path != '@'))
        return;
    memcpy(address.sun_path, path, length);
    if (*path == '@')
        address.sun_path[0] = '\0'; /* the abstract namespace */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (struct sockaddr *)&address,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(fd);
}

void notify_reloading(void)
{
    char lines[80];
    snprintf(lines, sizeof lines, "RELOADING=1\nMONOTONIC_USEC=%lld",
             (long long)(clock_now_ns(&clock_system) / 1000));
    notify_systemd(lines);
}

int64_t notify_watchdog_ns(void)
{
    const char *pid = getenv("WATCHDOG_PID"), *usec = getenv("WATCHDOG_USEC");
    if (!usec || (pid && strtol(pid, NULL, 10) != (long)getpid()))
        return 0;
    long long value = strtoll(usec, NULL, 10);
    return value > 0 && value < INT64_MAX / 1000 ? value * 1000 / 2 : 0;
}
