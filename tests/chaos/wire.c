/* SPDX-License-Identifier: Apache-2.0
 *
 * An emulated link between two network namespaces: frames go from one tap device to the other and back, late,
 * now and then not at all, or never. Kernels without the netem discipline can do this too.
 *
 *   wire PID HERE THERE SEED
 *
 * HERE is made in this namespace, THERE in that of process PID. Commands come by lines on the standard input:
 * "delay MS", "drop PERCENT", "cut", "heal" (as in the beginning: at once, and all). "ready" is written when
 * both devices are there. Ends with its input.
 */
#include "util/clock.h"
#include "util/random.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 65536, MOST_FRAMES = 2048 }; /* under way, each way; what is more is dropped */

struct frame {
    int64_t due_ns;
    size_t bytes;
    uint8_t *data;
};

/* One way; a ring, for the delay is the same for all. */
struct way {
    int from, to;
    struct frame frames[MOST_FRAMES];
    unsigned first, n;
};

static struct way ways[2];
static struct random fate;
static int64_t delay_ns;
static unsigned drop_percent;
static bool is_cut;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void give_up(const char *what)
{
    fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int open_tap(const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0)
        give_up(name);
    return fd;
}

static void enter_network_of(const char *pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
        give_up(path);
    close(fd);
}

static void take(struct way *way)
{
    uint8_t data[MOST_BYTES];
    ssize_t bytes;
    while ((bytes = read(way->from, data, sizeof data)) > 0) {
        if (is_cut || way->n == MOST_FRAMES || random_below(&fate, 100) < drop_percent)
            continue;
        struct frame *frame = &way->frames[(way->first + way->n) % MOST_FRAMES];
        *frame =
            (struct frame){.due_ns = now() + delay_ns, .bytes = (size_t)bytes, .data = malloc((size_t)bytes)};
        if (!frame->data)
            continue;
        memcpy(frame->data, data, (size_t)bytes);
        way->n++;
    }
}

/* Sends what is due. Returns when there is more to do. */
static int64_t give(struct way *way)
{
    while (way->n > 0 && way->frames[way->first].due_ns <= now()) {
        struct frame *frame = &way->frames[way->first];
        if (!is_cut && write(way->to, frame->data, frame->bytes) < 0 && errno != EAGAIN && errno != EIO)
            give_up("write");
        free(frame->data);
        way->first = (way->first + 1) % MOST_FRAMES;
        way->n--;
    }
    return way->n > 0 ? way->frames[way->first].due_ns : CLOCK_NEVER;
}

static void obey(const char *line)
{
    unsigned number;
    if (sscanf(line, "delay %u", &number) == 1)
        delay_ns = (int64_t)number * NS_PER_MS;
    else if (sscanf(line, "drop %u", &number) == 1)
        drop_percent = number;
    else if (strncmp(line, "cut", 3) == 0)
        is_cut = true;
    else if (strncmp(line, "heal", 4) == 0)
        is_cut = false, delay_ns = 0, drop_percent = 0;
    else
        fprintf(stderr, "wire: expected \"delay MS\", \"drop PERCENT\", \"cut\" or \"heal\", found: %s",
                line);
}

static void carry(void)
{
    char line[128];
    for (;;) {
        const int64_t here = give(&ways[0]), there = give(&ways[1]);
        const int64_t due = here < there ? here : there;
        const int64_t left_ns = due == CLOCK_NEVER ? 0 : due > now() ? due - now() : 0;
        const struct timespec left = {left_ns / NS_PER_S, left_ns % NS_PER_S};
        struct pollfd fds[3] = {{.fd = ways[0].from, .events = POLLIN},
                                {.fd = ways[1].from, .events = POLLIN},
                                {.fd = 0, .events = POLLIN}};
        if (ppoll(fds, 3, due == CLOCK_NEVER ? NULL : &left, NULL) < 0 && errno != EINTR)
            give_up("ppoll");
        if (fds[0].revents)
            take(&ways[0]);
        if (fds[1].revents)
            take(&ways[1]);
        if (fds[2].revents) {
            if (!fgets(line, sizeof line, stdin))
                return;
            obey(line);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: wire PID HERE THERE SEED\n");
        return 2;
    }
    random_seed(&fate, strtoull(argv[4], NULL, 10));
    setvbuf(stdin, NULL, _IONBF, 0); /* poll() sees what stdio has not taken */
    ways[0].from = ways[1].to = open_tap(argv[2]);
    enter_network_of(argv[1]);
    ways[0].to = ways[1].from = open_tap(argv[3]);
    puts("ready");
    fflush(stdout);
    carry();
    return 0;
}
