/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/ranks/rank_link.h"

#include "sed/porter/porter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    struct cmsghdr header;
    char room[CMSG_SPACE(RING_MAX_DESCRIPTORS * sizeof(int))];
};

void rank_porter_path(const char *link, uint32_t rank, char *path)
{
    snprintf(path, PORTER_PATH, "%.*s-%u", PORTER_PATH - 12, link, rank);
}

bool rank_link_send(int socket, const struct rank_message *message, const int *descriptors, uint32_t n,
                    int flags)
{
    union control control;
    struct iovec data = {.iov_base = (void *)(uintptr_t)message, .iov_len = sizeof *message};
    struct msghdr envelope = {.msg_iov = &data, .msg_iovlen = 1};
    if (n > 0) {
        memset(&control, 0, sizeof control);
        envelope.msg_control = &control;
        envelope.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&envelope);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(header), descriptors, n * sizeof(int));
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &envelope, MSG_NOSIGNAL | flags);
    while (sent < 0 && errno == EINTR);
    return sent == sizeof *message;
}

int rank_link_receive(int socket, struct rank_message *message, int *descriptors, uint32_t *n, int flags)
{
    union control control;
    struct iovec data = {.iov_base = message, .iov_len = sizeof *message};
    struct msghdr envelope = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t got;
    *n = 0;
    do
        got = recvmsg(socket, &envelope, MSG_CMSG_CLOEXEC | flags);
    while (got < 0 && errno == EINTR);
    struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&envelope) : NULL;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        *n = (uint32_t)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(descriptors, CMSG_DATA(header), *n * sizeof(int));
    }
    if (got <= 0 || got == sizeof *message)
        return got > 0 ? 1 : (int)got;
    for (uint32_t i = 0; i < *n; i++)
        close(descriptors[i]);
    *n = 0;
    errno = EPROTO;
    return -1;
}
