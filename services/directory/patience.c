/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/patience.h"

#include "services/directory/tree.h"
#include "util/clock.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

/* libldap adds the socket's own operations at LBER_SBIOD_LEVEL_PROVIDER after it has called us: ours must
 * be above them, because it begins with the highest. */
#define LEVEL (LBER_SBIOD_LEVEL_PROVIDER + 1)

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Waits for the socket; false with errno ETIMEDOUT when the time is over. Data that are already there are
 * still read late (this process may have been delayed), but a peer that never stops sending does not
 * extend the time for ever. */
static bool wait_for(struct patience *patience, short events)
{
    const int64_t left_ns = patience->until_ns - now_ns();
    struct pollfd socket = {.fd = patience->fd, .events = events};
    int found = 0;
    if (left_ns > -patience->ms * NS_PER_MS)
        found = poll(&socket, 1, left_ns > 0 ? (int)(left_ns / NS_PER_MS) + 1 : 0);
    if (found != 0)
        return true; /* broken, or interrupted: the next operation reports it */
    patience->over = true;
    errno = ETIMEDOUT;
    return false;
}

static bool again(ssize_t done)
{
    return done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

static ber_slen_t take(Sockbuf_IO_Desc *layer, void *buffer, ber_len_t size)
{
    struct patience *patience = layer->sbiod_pvt;
    ssize_t done = -1;
    do {
        if (!wait_for(patience, POLLIN))
            return -1;
        done = recv(patience->fd, buffer, size, MSG_DONTWAIT);
    } while (again(done));
    return done;
}

/* A closed connection must not end the program by SIGPIPE. */
static ber_slen_t give(Sockbuf_IO_Desc *layer, void *buffer, ber_len_t size)
{
    struct patience *patience = layer->sbiod_pvt;
    ssize_t done = -1;
    do {
        if (!wait_for(patience, POLLOUT))
            return -1;
        done = send(patience->fd, buffer, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (again(done));
    return done;
}

static int set_up(Sockbuf_IO_Desc *layer, void *patience)
{
    layer->sbiod_pvt = patience;
    return 0;
}

static int control(Sockbuf_IO_Desc *layer, int option, void *value)
{
    return LBER_SBIOD_CTRL_NEXT(layer, option, value);
}

static Sockbuf_IO patient = {.sbi_setup = set_up, .sbi_ctrl = control, .sbi_read = take, .sbi_write = give};

void patience_begin(struct patience *patience, int64_t ms)
{
    *patience = (struct patience){.ms = ms, .fd = -1};
    patience_renew(patience);
}

bool patience_guard(struct patience *patience, Sockbuf *socket)
{
    /* Otherwise libldap would allocate any length that the peer claims. */
    ber_len_t most = DIRECTORY_MOST_BYTES;
    ber_sockbuf_ctrl(socket, LBER_SB_OPT_GET_FD, &patience->fd);
    ber_sockbuf_ctrl(socket, LBER_SB_OPT_SET_MAX_INCOMING, &most);
    return ber_sockbuf_add_io(socket, &patient, LEVEL, patience) == 0;
}

void patience_renew(struct patience *patience)
{
    patience->until_ns = now_ns() + patience->ms * NS_PER_MS;
}

bool patience_is_over(const struct patience *patience)
{
    return patience->over;
}
