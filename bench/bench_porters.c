/* SPDX-License-Identifier: Apache-2.0
 *
 * A matrix that goes from the ranks of one server to those of another and lies otherwise there, against
 * gathering it on one, sending it, and scattering it. Each porter is a process; all is over TCP on one host,
 * and the reference is carried by porters too, so that the difference is in the ways.
 */
#include "bench/bench.h"

#include "core/redistribution/pieces.h"
#include "sed/porter/porter_order.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 5792, ROUNDS = 5, MOST = 6 }; /* 256 MB */

struct site {
    struct porter_list porters;
    pid_t pids[MOST];
    struct block_cyclic_matrix layout;
    double *pieces;
    int fd;
};

static const uint64_t bytes = (uint64_t)SIZE * SIZE * sizeof(double);
static char folder[] = "/tmp/bench-porters-XXXXXX";

static pid_t start(const char *path)
{
    struct porter *porter;
    struct esp_error error;
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (porter_create(path, "127.0.0.1", &porter, &error) != ESP_OK)
        bench_fail("%s", error.text);
    for (;;)
        pause();
}

static void set_up(struct site *place, const char *name, int64_t rows, int64_t cols, int64_t block)
{
    place->layout = pieces_grid(SIZE, SIZE, rows, cols, block, block);
    place->porters.n = (uint32_t)(rows * cols);
    for (uint32_t i = 0; i < place->porters.n; i++) {
        snprintf(place->porters.paths[i], PORTER_PATH, "%s/%s%u", folder, name, i);
        place->pids[i] = start(place->porters.paths[i]);
        while (access(place->porters.paths[i], F_OK) != 0)
            usleep(1000);
    }
    place->fd = memfd_create(name, MFD_CLOEXEC);
    if (ftruncate(place->fd, (off_t)bytes) != 0)
        bench_fail("no memory for a matrix");
    place->pieces = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, place->fd, 0);
    if (place->pieces == MAP_FAILED)
        bench_fail("no memory for a matrix");
    memset(place->pieces, 0, bytes); /* memory of a store is there */
}

static void tear_down(struct site *place)
{
    for (uint32_t i = 0; i < place->porters.n; i++) {
        kill(place->pids[i], SIGKILL);
        waitpid(place->pids[i], NULL, 0);
        unlink(place->porters.paths[i]);
    }
}

static void moved(void *arg, uint64_t n)
{
    *(uint64_t *)arg += n;
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

static void move(const struct site *from, const struct site *to)
{
    int loans[MOST];
    bool let_go;
    uint64_t all = 0;
    struct esp_error error;
    const struct porter_watch watch = {.moved = moved, .stopped = never, .arg = &all};
    struct porter_order order = {.kind = PORTER_LEND,
                                 .version = PORTER_VERSION,
                                 .ticket = 1,
                                 .from = from->layout,
                                 .to = to->layout,
                                 .element_bytes = sizeof(double),
                                 .bytes = bytes,
                                 .n_ports = from->porters.n,
                                 .host = "127.0.0.1"};
    for (uint32_t i = 0; i < from->porters.n; i++)
        if (porter_lend(from->porters.paths[i], &order, from->fd, 5000, &loans[i], &order.ports[i], &error) !=
            ESP_OK)
            bench_fail("%s", error.text);
    if (porter_fetch_all(&to->porters, &order, to->fd, &watch, &let_go, &error) != ESP_OK || all != bytes)
        bench_fail("%s", error.text);
    for (uint32_t i = 0; i < from->porters.n; i++)
        close(loans[i]);
}

static void check(const struct site *from, const struct site *to)
{
    double *a = malloc(bytes), *b = malloc(bytes);
    if (!a || !b)
        bench_fail("no memory for a matrix");
    pieces_join(&from->layout, from->pieces, a, sizeof *a);
    pieces_join(&to->layout, to->pieces, b, sizeof *b);
    if (memcmp(a, b, bytes) != 0)
        bench_fail("the matrix is another one");
    free(a);
    free(b);
}

int main(void)
{
    static struct site source, gathered, sent, target;
    double ours[ROUNDS], reference[ROUNDS];
    if (!mkdtemp(folder))
        bench_fail("no folder");
    set_up(&source, "source", 2, 2, 64);
    set_up(&gathered, "gathered", 1, 1, SIZE);
    set_up(&sent, "sent", 1, 1, SIZE);
    set_up(&target, "target", 2, 3, 48);
    for (int64_t i = 0; i < (int64_t)SIZE * SIZE; i++)
        source.pieces[i] = (double)i;
    for (int i = 0; i < ROUNDS; i++) {
        double begun = bench_now();
        move(&source, &target);
        double direct = bench_now();
        move(&source, &gathered);
        move(&gathered, &sent);
        move(&sent, &target);
        ours[i] = (direct - begun) * 1e3;
        reference[i] = (bench_now() - direct) * 1e3;
        if (i == 0)
            check(&source, &target);
    }
    struct site *all[] = {&source, &gathered, &sent, &target};
    for (size_t i = 0; i < 4; i++)
        tear_down(all[i]);
    rmdir(folder);
    bench_row(&(struct bench_case){"porters", "256 MB, 4 ranks to 6, direct", "ms", BENCH_AT_MOST, 0.5},
              bench_median(ours, ROUNDS), bench_median(reference, ROUNDS));
    return 0;
}
