/* SPDX-License-Identifier: Apache-2.0
 *
 * slow_link: a link of a given rate and delay between two network namespaces, for tests as root.
 *
 *     slow_link NAMESPACE1 NAMESPACE2 MBIT_PER_S[/BACK] DELAY_MS FILE [DEVICE]
 *
 * Makes the device DEVICE ("slow0") in each of the namespaces (of ip-netns(8)); addresses are the caller's to
 * give. Packets of each direction pass one after the other at that rate (those from NAMESPACE2 at the one
 * behind the slash, if there is one), come so much later, and are dropped
 * when half a second's worth waits. Runs until it is killed. FILE has, ten times a second anew, the bytes
 * that have passed each way.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define MOST_BYTES   2048 /* of a packet */
#define MOST_PACKETS 16384
#define BACKLOG_NS   500000000

struct packet {
    int64_t due_ns;
    unsigned bytes;
    char data[MOST_BYTES];
};

struct direction {
    int from, to;
    struct packet *packets; /* a ring */
    unsigned first, n;
    int64_t free_ns; /* when the link has sent all it was given */
    double bytes_per_ns;
    unsigned long long passed;
};

static int64_t delay_ns;

static int fail(const char *what)
{
    fprintf(stderr, "slow_link: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int open_in(const char *name, const char *device_name)
{
    char path[256];
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(path, sizeof path, "/run/netns/%s", name);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0)
        fail(path);
    close(space);
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", device_name);
    if (device < 0 || ioctl(device, TUNSETIFF, &request) != 0)
        fail(device_name);
    return device;
}

/* Takes in what has come, with the time at which it is to go out. */
static void take(struct direction *way)
{
    for (;;) {
        char data[MOST_BYTES];
        ssize_t bytes = read(way->from, data, sizeof data);
        int64_t now = now_ns();
        if (bytes <= 0)
            return;
        if (way->free_ns < now)
            way->free_ns = now;
        if (way->n == MOST_PACKETS || way->free_ns - now > BACKLOG_NS)
            continue; /* lost */
        way->free_ns += (int64_t)((double)bytes / way->bytes_per_ns);
        struct packet *packet = &way->packets[(way->first + way->n++) % MOST_PACKETS];
        packet->bytes = (unsigned)bytes;
        packet->due_ns = way->free_ns + delay_ns;
        memcpy(packet->data, data, (size_t)bytes);
    }
}

/* Returns when the next packet is due. */
static int64_t give(struct direction *way)
{
    while (way->n > 0) {
        const struct packet *packet = &way->packets[way->first];
        if (packet->due_ns > now_ns())
            return packet->due_ns;
        if (write(way->to, packet->data, packet->bytes) == (ssize_t)packet->bytes)
            way->passed += packet->bytes;
        way->first = (way->first + 1) % MOST_PACKETS;
        way->n--;
    }
    return INT64_MAX;
}

static void tell(const char *path, const struct direction *ways)
{
    char beside[512];
    snprintf(beside, sizeof beside, "%s.new", path);
    FILE *file = fopen(beside, "w");
    if (!file)
        fail(beside);
    fprintf(file, "%llu %llu\n", ways[0].passed, ways[1].passed);
    fclose(file);
    if (rename(beside, path) != 0)
        fail(path);
}

int main(int argc, char **argv)
{
    if (argc != 6 && argc != 7)
        return fprintf(stderr, "usage: slow_link NAMESPACE1 NAMESPACE2 MBIT_PER_S[/BACK] DELAY_MS FILE "
                               "[DEVICE]\n"),
               2;
    const char *device = argc == 7 ? argv[6] : "slow0";
    const char *back = strchr(argv[3], '/');
    delay_ns = (int64_t)(atof(argv[4]) * 1e6);
    int first = open_in(argv[1], device), second = open_in(argv[2], device);
    struct direction ways[2] = {
        {.from = first, .to = second, .bytes_per_ns = atof(argv[3]) / 8e3},
        {.from = second, .to = first, .bytes_per_ns = atof(back ? back + 1 : argv[3]) / 8e3}};
    for (int i = 0; i < 2; i++)
        if (!(ways[i].packets = malloc(MOST_PACKETS * sizeof(struct packet))))
            fail("packets");
    int64_t told_ns = 0;
    for (;;) {
        int64_t due_ns = told_ns + 100000000;
        for (int i = 0; i < 2; i++) {
            take(&ways[i]);
            int64_t next_ns = give(&ways[i]);
            due_ns = next_ns < due_ns ? next_ns : due_ns;
        }
        int64_t now = now_ns();
        if (now - told_ns >= 100000000) {
            tell(argv[5], ways);
            told_ns = now;
            continue;
        }
        struct pollfd watched[2] = {{.fd = first, .events = POLLIN}, {.fd = second, .events = POLLIN}};
        struct timespec wait = {.tv_nsec = due_ns > now ? (long)(due_ns - now) : 0};
        ppoll(watched, 2, &wait, NULL);
    }
}
