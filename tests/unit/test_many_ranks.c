/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool of a thousand ranks, as the daemon sees it: this program is its mpirun, and plays all of them.
 */
#include "tests/unit/unit.h"

#include "core/problem/problem.h"
#include "sed/porter/porter_order.h"
#include "sed/ranks/rank_link.h"
#include "sed/ranks/ranks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { RANKS = 1000 };

/* ---- the other side ---- */

static int meet(const char *path, uint32_t rank)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct rank_message message = {.kind = RANK_HELLO,
                                   .version = RANK_LINK_VERSION,
                                   .ring_bytes = sizeof(struct ring),
                                   .rank = rank,
                                   .size = RANKS,
                                   .pid = (int32_t)getpid(),
                                   .host = "here"};
    int descriptors[RING_MAX_DESCRIPTORS];
    uint32_t n = 0;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connect(socket_, (const struct sockaddr *)&address, sizeof address) != 0 ||
        !rank_link_send(socket_, &message, NULL, 0, 0) ||
        rank_link_receive(socket_, &message, descriptors, &n, 0) != 1 || message.kind != RANK_SETUP)
        exit(1);
    for (uint32_t i = 0; i < n; i++)
        close(descriptors[i]);
    return socket_;
}

/* Until the daemon lets go of them. */
static int play(void)
{
    static int sockets[RANKS];
    const char *path = getenv(RANK_LINK_VARIABLE);
    struct rank_message message;
    int descriptors[RING_MAX_DESCRIPTORS];
    uint32_t n;
    for (uint32_t i = 0; path && i < RANKS; i++)
        sockets[i] = meet(path, i);
    message = (struct rank_message){
        .kind = RANK_READY,
        .speed = {.flops = 1e10, .latency_s = 1e-6, .byte_s = 1e-10, .fill_byte_s = 1e-12}};
    for (int i = 0; path && i < RANKS; i++)
        if (!rank_link_send(sockets[i], &message, NULL, 0, 0))
            return 1;
    while (path && rank_link_receive(sockets[RANKS - 1], &message, descriptors, &n, 0) == 1)
        ;
    return 0;
}

/* ---- the pool ---- */

static const char description[] =
    "problem dgemm \"C := A B\"\n"
    "    in      int     m, n, k\n"
    "    in      double  A[m, k], B[k, n]\n"
    "    out     double  C[m, n]\n"
    "implementation scalapack\n"
    "    parallel fortran pdgemm_('N', 'N', m, n, k, double 1, A, 1, 1, desc(A), B, 1, 1, desc(B), double 0, "
    "C, 1, 1, desc(C)) in libscalapack-openmpi.so.2.2\n";

static struct workers *workers;
static char self[PATH_MAX];

static int open_pool(void **state)
{
    (void)state;
    struct esp_error error;
    struct ranks_counts counts = {0};
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    if (ranks_create(&(struct ranks_options){.ranks = RANKS, .mpirun = self, .program = self}, &workers,
                     &error) != ESP_OK)
        fail_msg("%s", error.text);
    for (int i = 0; i < 6000 && counts.ranks < RANKS; i++) {
        usleep(10000);
        ranks_count(workers, &counts);
    }
    assert_int_equal(counts.ranks, RANKS);
    return 0;
}

static int close_pool(void **state)
{
    (void)state;
    workers->ops->destroy(workers);
    return 0;
}

static struct parallel_proposal propose(int64_t n)
{
    struct esp_error error;
    struct problem_set *set;
    struct parallel_proposal proposal;
    struct number scope[PROBLEM_MAX_ARGUMENTS] = {{0}};
    if (problem_parse(description, strlen(description), "test", &set, &error) != ESP_OK)
        fail_msg("%s", error.text);
    const struct problem *problem = problem_find(set, "dgemm");
    for (int i = 0; i < 3; i++)
        scope[i] = (struct number){.kind = NUMBER_INTEGER, .integer = n};
    const struct parallel_question question = {
        .problem = problem, .implementation = &problem->implementations[0], .scope = scope, .now = true};
    assert_true(workers->ops->propose(workers, &question, &proposal));
    problem_set_destroy(set);
    return proposal;
}

static void a_large_call_is_given_most_of_them_and_a_small_one_few(void **state)
{
    (void)state;
    const struct parallel_proposal large = propose(40000), small = propose(100);
    assert_in_range(large.grid.rows * large.grid.cols, RANKS / 2, RANKS);
    assert_in_range(small.grid.rows * small.grid.cols, 1, 64);
    assert_true(large.wait_s == 0);
}

static void each_has_a_porter(void **state)
{
    (void)state;
    struct porter_list *list = calloc(1, sizeof *list);
    ranks_porters(workers, list);
    assert_int_equal(list->n, RANKS);
    assert_true(list->of_ranks);
    assert_non_null(strstr(list->paths[RANKS - 1], "-999"));
    free(list);
}

static void more_than_there_may_be_are_refused(void **state)
{
    (void)state;
    struct workers *none;
    struct esp_error error;
    assert_int_equal(
        ranks_create(&(struct ranks_options){.ranks = RANKS_MOST + 1, .mpirun = self, .program = self}, &none,
                     &error),
        ESP_INVALID);
    assert_non_null(strstr(error.text, "ranks: expected 1 to 4096, found 4097"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_call_is_given_most_of_them_and_a_small_one_few),
        cmocka_unit_test(each_has_a_porter),
        cmocka_unit_test(more_than_there_may_be_are_refused),
    };
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (getenv(RANK_LINK_VARIABLE))
        return play();
    if (limit.rlim_cur < 2 * RANKS + 100)
        return 77; /* skipped: the system does not give descriptors for so many */
    return cmocka_run_group_tests(tests, open_pool, close_pool);
}
