/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier-prd, started by mpirun for a server daemon: one rank that waits for calls. */
#include "config.h"

#include "sed/mpi/prd.h"
#include "sed/pool/folder.h"
#include "sed/pool/oom.h"
#include "sed/porter/porter.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SHARED_MEMORY "/dev/shm"

struct link {
    int socket, bell;
    struct rank_post post;
    uint32_t n_rings;
    struct ring *rings[RANK_RINGS_MOST];
};

/* MPI stores shared memory of a host's ranks in files, and leaves them when it is killed. On the daemon's
 * host they are removed with the daemon's folder; in a job of several hosts with this one. */
static struct {
    char path[200];
    int lock;
} shared = {.lock = -1};

static _Noreturn void end(void)
{
    if (shared.lock >= 0)
        folder_leave(shared.path, shared.lock);
    rank_end_as_told(); /* MPI_Finalize() would wait for dead ranks */
}

static void share_folder(void)
{
    static const char *const variables[] = {"OMPI_MCA_btl_vader_backing_directory",
                                            "OMPI_MCA_osc_sm_backing_directory"};
    const char *at = getenv(RANK_AT_VARIABLE), *job = getenv("PMIX_NAMESPACE");
    struct esp_error error;
    if (!at || !*at || !job || strchr(job, '/') || access(SHARED_MEMORY, W_OK | X_OK) != 0)
        return;
    if (folder_share(SHARED_MEMORY, "rank", job, shared.path, sizeof shared.path, &shared.lock, &error) !=
        ESP_OK) {
        fprintf(stderr, "espalier-prd: %s\n", error.text); /* the rank continues without it */
        return;
    }
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        setenv(variables[i], shared.path, 0);
}

/* When the daemon is gone or has given up the job, results are useless: the rank ends at once, even inside
 * a routine that waits for a dead rank in MPI. Until then it answers the heartbeats of a daemon on another
 * host. */
static void *watch(void *arg)
{
    const struct far_lines *lines = arg;
    struct pollfd fds[] = {{.fd = lines->calls, .events = POLLRDHUP}, {.fd = lines->pulse, .events = POLLIN}};
    while (!fds[0].revents)
        if (poll(fds, 2, -1) > 0 && fds[1].revents && !far_beat(lines->pulse))
            fds[1].fd = -1;
    end();
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool say_hello(const struct link *link, uint32_t rank, uint32_t size)
{
    struct rank_message hello = {.kind = RANK_HELLO,
                                 .version = RANK_LINK_VERSION,
                                 .ring_bytes = sizeof(struct ring),
                                 .rank = rank,
                                 .size = size,
                                 .pid = getpid()};
    gethostname(hello.host, sizeof hello.host - 1);
    return rank_link_send(link->socket, &hello, NULL, 0, 0);
}

/* Receives the bell, the board and the rings. */
static bool be_set_up(struct link *link)
{
    struct rank_message setup;
    int descriptors[RING_MAX_DESCRIPTORS];
    uint32_t n;
    if (rank_link_receive(link->socket, &setup, descriptors, &n, 0) != 1 || setup.kind != RANK_SETUP ||
        n < 3 || n > 2 + RANK_RINGS_MOST)
        return false;
    link->bell = descriptors[0];
    link->post.board = board_map(descriptors[1]);
    close(descriptors[1]);
    link->n_rings = n - 2;
    for (uint32_t i = 0; i < link->n_rings; i++) {
        link->rings[i] = ring_map_guarded(descriptors[2 + i]);
        close(descriptors[2 + i]);
        if (!link->rings[i])
            return false;
    }
    if (!link->post.board)
        return false;
    const bool known = setup.known;
    setup = (struct rank_message){.kind = RANK_READY};
    rank_measure(&setup.speed, known);
    return rank_link_send(link->socket, &setup, NULL, 0, 0);
}

/* If this message cannot be sent now, the daemon learns the bytes after the next call. */
static void tell_kept(int socket)
{
    const struct rank_message message = {.kind = RANK_KEPT, .kept_bytes = rank_keeps(0)};
    if (message.kept_bytes > 0)
        rank_link_send(socket, &message, NULL, 0, MSG_DONTWAIT);
}

/* Serves until the daemon closes the channel. */
static void serve(struct link *link, uint32_t rank)
{
    struct rank_message message;
    int descriptors[RING_MAX_DESCRIPTORS];
    link->post.rank = rank;
    for (;;) {
        uint32_t n = 0, number = rank_wait(&link->post);
        if (number >= link->n_rings)
            return;
        struct ring *ring = link->rings[number];
        if (ring->job.n_descriptors > 0 &&
            (rank_link_receive(link->socket, &message, descriptors, &n, 0) != 1 ||
             message.kind != RANK_FILES))
            return;
        link->post.last = ring;
        link->post.last_request = atomic_load(&ring->request);
        rank_call(ring, rank, descriptors, n, link->bell);
        tell_kept(link->socket);
        for (uint32_t i = 0; i < n; i++)
            close(descriptors[i]);
    }
}

static void start_watch(struct far_lines *lines)
{
    pthread_t watcher;
    if (pthread_create(&watcher, NULL, watch, lines) == 0)
        return;
    fputs("espalier-prd: cannot start a thread\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Serves until the daemon, which is on another host, closes the connection. */
static void be_far(const char *at, uint32_t rank, uint32_t size)
{
    static struct far_lines lines;
    struct esp_error error;
    if (!far_connect(at, rank, size, &lines, &error)) {
        fprintf(stderr, "espalier-prd: rank %u cannot reach its server at %s: %s\n", rank, at, error.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    rank_tells_its_end(lines.calls, true);
    start_watch(&lines);
    far_serve(lines.calls, rank);
}

/* The porter is independent of calls, which continue without it. */
static void start_porter(const char *path, uint32_t rank)
{
    static struct porter *porter; /* exists as long as the rank */
    struct esp_error error;
    char own[PORTER_PATH];
    rank_porter_path(path, rank, own);
    if (porter_create(own, getenv(RANK_HOST_VARIABLE), &porter, &error) != ESP_OK)
        fprintf(stderr, "espalier-prd: rank %u carries no pieces: %s\n", rank, error.text);
}

static int run(const char *path)
{
    static struct link link;
    static struct far_lines lines = {.pulse = -1}; /* none: the daemon sees its processes */
    const char *at = getenv(RANK_AT_VARIABLE);
    int rank, size, level;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    share_folder();
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    library_set_threads(1);
    link.socket = connect_to(path);
    if (link.socket < 0 && at && *at) {
        be_far(at, (uint32_t)rank, (uint32_t)size);
        end();
    }
    if (link.socket < 0) {
        fprintf(stderr, "espalier-prd: rank %d cannot reach its server at %s\n", rank, path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    rank_tells_its_end(link.socket, false);
    start_porter(path, (uint32_t)rank);
    if (!say_hello(&link, (uint32_t)rank, (uint32_t)size) || !be_set_up(&link)) {
        fprintf(stderr, "espalier-prd: rank %d and its server do not understand each other\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    lines.calls = link.socket;
    start_watch(&lines);
    rank_memory_begin();
    serve(&link, (uint32_t)rank);
    end();
}

static void say_whether_there(const char *library, const char *symbol, const char *folder)
{
    struct esp_error error;
    void (*routine)(void);
    const bool there =
        library_symbol(strcmp(folder, "-") == 0 ? "" : folder, library, symbol, &routine, &error) == ESP_OK;
    watch_loaded();
    puts(there ? "yes" : error.text);
}

/* Reads lines "LIBRARY SYMBOL FOLDER" (an empty folder is "-"), and answers each: "yes", or why the symbol
 * is missing. For RANKS_CHANGED alone, answers with a loaded file that has changed, or nothing. */
static int check(void)
{
    char *line = NULL;
    size_t size = 0;
    watch_loaded();
    while (getline(&line, &size, stdin) > 0) {
        char *rest = NULL, *library = strtok_r(line, "\t\n", &rest), *symbol = strtok_r(NULL, "\t\n", &rest),
             *folder = strtok_r(NULL, "\t\n", &rest);
        if (folder) {
            say_whether_there(library, symbol, folder);
        } else if (library && !symbol && strcmp(library, RANKS_CHANGED) == 0) {
            const char *file = watch_changed();
            puts(file ? file : "");
        } else {
            break;
        }
        fflush(stdout);
    }
    free(line);
    return 0;
}

int main(int argc, char **argv)
{
    const char *path = getenv(RANK_LINK_VARIABLE);
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("espalier-prd " PACKAGE_VERSION);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        puts("Usage: espalier-prd --version\n"
             "One rank of the parallel routines of a server. Servers start it by themselves with mpirun; see "
             "espalier-sed(8).");
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--check") == 0)
        return check();
    if (argc == 1 && path) {
        oom_offer_self();
        return run(path);
    }
    fputs("espalier-prd: only a server daemon can start this program, by mpirun (see espalier-sed(8))\n",
          stderr);
    return 2;
}
