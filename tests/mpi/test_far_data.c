/* SPDX-License-Identifier: Apache-2.0
 *
 * Data in calls on ranks of other hosts: what these have had or made they keep, and send each other what is
 * to lie otherwise. To show that nothing comes from the daemon, its memory is written over.
 */
#include "tests/mpi/far_rig.h"

#include "core/redistribution/pieces.h"
#include "sed/porter/porter_order.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N     40
#define BYTES ((uint64_t)(N * N) * sizeof(double))

static struct rig rig;

static const struct process_grid square = {2, 2, 3}, column = {4, 1, 5}, pair = {1, 2, 7};

static int set_up(void **state)
{
    (void)state;
    far_begin();
    far_open(&rig, "far1 slots=2\nfar2 slots=2\n", (struct ranks_options){.ranks = 4, .keeps_data = 1 << 20});
    await_ranks(&rig, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rig_close(&rig);
    return far_end();
}

/* ---- data ---- */

struct matrix {
    double value[N * N]; /* by columns */
    double *memory;      /* the daemon's, in pieces */
    struct job_file file;
};

static struct matrix *make_datum(struct process_grid grid)
{
    static uint64_t last;
    struct matrix *made = calloc(1, sizeof *made);
    const int fd = memfd_create("a datum", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)BYTES), 0);
    made->file = (struct job_file){.fd = fd,
                                   .bytes = BYTES,
                                   .in_pieces = true,
                                   .layout = pieces_grid(N, N, grid.rows, grid.cols, grid.block, grid.block),
                                   .key = {.high = 17, .low = ++last}};
    made->memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(made->memory, MAP_FAILED);
    return made;
}

static void free_datum(struct matrix *datum)
{
    munmap(datum->memory, BYTES);
    close(datum->file.fd);
    free(datum);
}

static struct matrix *random_datum(struct process_grid grid)
{
    struct matrix *made = make_datum(grid);
    double *values = random_matrix(N * N);
    memcpy(made->value, values, BYTES);
    free(values);
    pieces_cut(&made->file.layout, made->value, made->memory, sizeof(double));
    return made;
}

/* From now on a rank that takes it from the daemon computes with NaN. */
static void spoil(struct matrix *datum)
{
    memset(datum->memory, 0xff, BYTES);
}

static bool is_product(const double *c, const struct matrix *a, const struct matrix *b)
{
    double worst = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int l = 0; l < N; l++)
                sum += a->value[i + l * N] * b->value[l + j * N];
            const double off = fabs(sum - c[i + j * N]);
            worst = off <= worst ? worst : off; /* NaN is worse, too */
        }
    return worst < 1e-12 * N;
}

/* Of two data, as one in pieces that the daemon gets as well. NULL: it is wrong. */
static struct matrix *multiply(struct rig *on, struct process_grid grid, struct matrix *a, struct matrix *b)
{
    int n = N;
    struct matrix *c = make_datum(grid);
    on->grid = grid;
    struct rig_job *job = rig_prepare(on, "dgemm", (void *[]){&n, &n, &n, NULL, NULL, NULL}, true);
    job->arguments[3].file = &a->file;
    job->arguments[4].file = &b->file;
    job->arguments[5].file = &c->file;
    rig_start(on, job);
    const struct job_end end = *rig_wait(on, job, true);
    rig_finish(job);
    assert_string_equal(end.error.text, "");
    pieces_join(&c->file.layout, c->memory, c->value, sizeof(double));
    if (is_product(c->value, a, b))
        return c;
    free_datum(c);
    return NULL;
}

static void multiplies_well(struct rig *on, struct process_grid grid, struct matrix *a, struct matrix *b)
{
    struct matrix *c = multiply(on, grid, a, b);
    assert_non_null(c);
    free_datum(c);
}

/* Since the last call of it. */
static struct ranks_counts counted(struct rig *on)
{
    static struct ranks_counts last;
    const struct ranks_counts before = last;
    ranks_count(on->workers, &last);
    struct ranks_counts since = last;
    since.far_sent -= before.far_sent;
    since.far_kept -= before.far_kept;
    since.far_moved -= before.far_moved;
    return since;
}

static void has_counted(struct rig *on, uint64_t sent, uint64_t kept, uint64_t moved)
{
    const struct ranks_counts since = counted(on);
    assert_int_equal(since.far_sent, sent);
    assert_int_equal(since.far_kept, kept);
    assert_int_equal(since.far_moved, moved);
}

/* ---- what is kept ---- */

static void what_ranks_have_had_is_not_sent_again(void **state)
{
    (void)state;
    struct matrix *a = random_datum(square), *b = random_datum(square);
    counted(&rig);
    multiplies_well(&rig, square, a, b);
    has_counted(&rig, 2 * BYTES, 0, 0);
    spoil(a);
    spoil(b);
    multiplies_well(&rig, square, a, b);
    multiplies_well(&rig, square, b, a);
    has_counted(&rig, 0, 4 * BYTES, 0);
    free_datum(a);
    free_datum(b);
}

static void what_ranks_have_made_is_not_sent_back_to_them(void **state)
{
    (void)state;
    struct matrix *a = random_datum(square);
    counted(&rig);
    struct matrix *square_of_a = multiply(&rig, square, a, a);
    assert_non_null(square_of_a);
    spoil(square_of_a);
    multiplies_well(&rig, square, square_of_a, square_of_a);
    has_counted(&rig, 2 * BYTES, 2 * BYTES, 0);
    free_datum(square_of_a);
    free_datum(a);
}

/* It gets a copy. */
static void what_a_routine_writes_over_is_kept_as_it_was(void **state)
{
    (void)state;
    int n = N, ipiv[N];
    struct matrix *a = random_datum(square);
    double *lu = calloc(1, BYTES);
    for (int i = 0; i < 3; i++) {
        rig.grid = square;
        counted(&rig);
        struct rig_job *job = rig_prepare(&rig, "dgetrf", (void *[]){&n, &n, lu, ipiv}, true);
        job->arguments[2].source = &a->file;
        rig_start(&rig, job);
        const struct job_end end = *rig_wait(&rig, job, true);
        rig_finish(job);
        assert_string_equal(end.error.text, "");
        has_counted(&rig, i == 0 ? BYTES : 0, i == 0 ? 0 : BYTES, 0);
        spoil(a);
    }
    multiplies_well(&rig, square, a, a);
    has_counted(&rig, 0, 2 * BYTES, 0);
    free(lu);
    free_datum(a);
}

static void a_rank_that_is_lost_takes_along_what_it_kept(void **state)
{
    (void)state;
    struct ranks_counts before;
    struct matrix *a = random_datum(square), *b = random_datum(square);
    multiplies_well(&rig, square, a, b);
    counted(&rig);
    ranks_count(rig.workers, &before);
    kill(rank_of(&rig, 3), SIGKILL);
    await_ranks(&rig, before.started + 1);
    multiplies_well(&rig, square, a, b);
    has_counted(&rig, 2 * BYTES, 0, 0);
    free_datum(a);
    free_datum(b);
}

/* There is room for three parts of either rank, not for four. */
static void what_was_used_longest_ago_gives_way(void **state)
{
    (void)state;
    static struct rig own;
    struct matrix *a = random_datum(pair), *b = random_datum(pair), *c = random_datum(pair);
    far_open(&own, "far1 slots=1\nfar2 slots=1\n",
             (struct ranks_options){.ranks = 2, .keeps_data = BYTES * 7 / 4});
    await_ranks(&own, 1);
    counted(&own);
    counted(&own);
    multiplies_well(&own, pair, a, b); /* a, b and a product */
    multiplies_well(&own, pair, a, c); /* b is gone */
    counted(&own);
    multiplies_well(&own, pair, a, c);
    has_counted(&own, 0, 2 * BYTES, 0);
    multiplies_well(&own, pair, a, b);
    has_counted(&own, BYTES, BYTES, 0);
    rig_close(&own);
    free_datum(a);
    free_datum(b);
    free_datum(c);
}

static int descriptors_of(pid_t pid)
{
    char command[64];
    int n = 0;
    snprintf(command, sizeof command, "ls /proc/%d/fd | wc -l", (int)pid);
    FILE *counted = popen(command, "r");
    assert_non_null(counted);
    assert_int_equal(fscanf(counted, "%d", &n), 1);
    pclose(counted);
    return n;
}

/* Each takes a descriptor, also of what is small. */
static void few_parts_are_kept_however_small_they_are(void **state)
{
    (void)state;
    static struct rig own;
    struct matrix *a = random_datum(pair);
    far_open(&own, "far1 slots=1\nfar2 slots=1\n",
             (struct ranks_options){.ranks = 2, .keeps_data = 64 << 20});
    await_ranks(&own, 1);
    const int before = descriptors_of(rank_of(&own, 1));
    for (int i = 0; i < 200; i++) {
        struct matrix *b = random_datum(pair);
        multiplies_well(&own, pair, a, b);
        free_datum(b);
    }
    const int after = descriptors_of(rank_of(&own, 1));
    assert_true(after > before + 100);
    assert_true(after <= before + 256);
    counted(&own);
    counted(&own);
    multiplies_well(&own, pair, a, a);
    has_counted(&own, 0, 2 * BYTES, 0);
    rig_close(&own);
    free_datum(a);
}

static void ranks_that_may_keep_nothing_are_sent_everything(void **state)
{
    (void)state;
    static struct rig own;
    struct matrix *a = random_datum(pair), *b = random_datum(pair);
    far_open(&own, "far1 slots=1\nfar2 slots=1\n", (struct ranks_options){.ranks = 2});
    await_ranks(&own, 1);
    counted(&own);
    counted(&own);
    multiplies_well(&own, pair, a, b);
    multiplies_well(&own, pair, a, b);
    has_counted(&own, 4 * BYTES, 0, 0);
    rig_close(&own);
    free_datum(a);
    free_datum(b);
}

/* ---- what lies otherwise ---- */

static void ranks_send_each_other_what_is_to_lie_otherwise(void **state)
{
    (void)state;
    static const struct process_grid others[] = {{4, 1, 5}, {1, 4, 3}, {2, 2, 7}};
    struct matrix *a = random_datum(square), *b = random_datum(square);
    multiplies_well(&rig, square, a, b);
    spoil(a);
    spoil(b);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        counted(&rig);
        multiplies_well(&rig, others[i], a, b);
        has_counted(&rig, 0, 0, 2 * BYTES);
        multiplies_well(&rig, others[i], a, b); /* from now on it is kept so, too */
        has_counted(&rig, 0, 2 * BYTES, 0);
    }
    free_datum(a);
    free_datum(b);
}

/* Through memory that they share. */
static void so_do_ranks_that_are_all_on_another_host(void **state)
{
    (void)state;
    static struct rig own;
    struct matrix *a = random_datum(square), *b = random_datum(column);
    far_open(&own, "far1 slots=4\n", (struct ranks_options){.ranks = 4, .keeps_data = 1 << 20});
    await_ranks(&own, 1);
    multiplies_well(&own, square, a, a);
    multiplies_well(&own, column, b, b);
    spoil(a);
    spoil(b);
    counted(&own);
    multiplies_well(&own, square, a, b);
    has_counted(&own, 0, BYTES, BYTES);
    multiplies_well(&own, pair, a, b);
    has_counted(&own, 0, 0, 2 * BYTES);
    rig_close(&own);
    free_datum(a);
    free_datum(b);
}

static void a_result_is_laid_otherwise_by_those_who_made_it(void **state)
{
    (void)state;
    struct matrix *a = random_datum(square), *c = multiply(&rig, square, a, a);
    assert_non_null(c);
    spoil(c);
    counted(&rig);
    struct matrix *d = multiply(&rig, column, c, c);
    assert_non_null(d);
    spoil(d);
    multiplies_well(&rig, square, d, c);
    has_counted(&rig, 0, BYTES, 3 * BYTES);
    free_datum(a);
    free_datum(c);
    free_datum(d);
}

/* Describes the datum as the server does after it has distributed it otherwise, in its own memory. */
static struct matrix *lay(const struct matrix *datum, struct process_grid grid)
{
    struct matrix *made = make_datum(grid);
    memcpy(made->value, datum->value, BYTES);
    pieces_cut(&made->file.layout, made->value, made->memory, sizeof(double));
    made->file.key = datum->file.key;
    made->file.laid = true;
    made->file.before = datum->file.layout;
    return made;
}

static void a_datum_that_the_server_has_laid_otherwise_need_not_be_sent(void **state)
{
    (void)state;
    struct matrix *a = random_datum(square), *b = random_datum(square), *there = lay(a, column),
                  *elsewhere = lay(b, pair);
    multiplies_well(&rig, square, a, b);
    spoil(there);
    spoil(elsewhere);
    counted(&rig);
    multiplies_well(&rig, column, there, there);
    has_counted(&rig, 0, 0, 2 * BYTES);
    multiplies_well(&rig, column, there, elsewhere);
    has_counted(&rig, 0, BYTES, BYTES);
    multiplies_well(&rig, square, elsewhere, there); /* they have both so, under the names from before */
    has_counted(&rig, 0, 2 * BYTES, 0);
    free_datum(a);
    free_datum(b);
    free_datum(there);
    free_datum(elsewhere);
}

/* Of four ranks, two compute. */
static void ranks_beside_the_call_send_what_they_have(void **state)
{
    (void)state;
    struct matrix *a = random_datum(square), *b = random_datum(square);
    multiplies_well(&rig, square, a, b);
    spoil(a);
    spoil(b);
    counted(&rig);
    multiplies_well(&rig, pair, a, b);
    has_counted(&rig, 0, 0, 2 * BYTES);
    multiplies_well(&rig, (struct process_grid){1, 1, 9}, b, a);
    has_counted(&rig, 0, 0, 2 * BYTES);
    multiplies_well(&rig, pair, a, b);
    has_counted(&rig, 0, 2 * BYTES, 0);
    multiplies(&rig, square, 9, 7, 5, false); /* of this call they know nothing yet */
    multiplies(&rig, square, 9, 7, 5, false);
    free_datum(a);
    free_datum(b);
}

/* They are not waited for. */
static void what_ranks_in_another_call_have_comes_from_the_daemon(void **state)
{
    (void)state;
    struct matrix *a = random_datum(square), *b = random_datum(square);
    multiplies_well(&rig, square, a, b);
    counted(&rig);
    shut_gate();
    rig.grid = pair;
    struct rig_job *waiting = rig_prepare(&rig, "gate", (void *[]){NULL}, false);
    rig_start(&rig, waiting);
    multiplies_well(&rig, pair, a, b);
    has_counted(&rig, 2 * BYTES, 0, 0);
    open_gate();
    assert_string_equal(rig_wait(&rig, waiting, true)->error.text, "");
    rig_finish(waiting);
    shut_gate();
    free_datum(a);
    free_datum(b);
}

static void ranks_here_send_those_there_what_they_see(void **state)
{
    (void)state;
    static struct rig mixed;
    struct matrix *a = random_datum(pair), *b = random_datum(pair), *c = random_datum(square);
    far_open(&mixed, "localhost slots=2\nfar1 slots=2\n",
             (struct ranks_options){.ranks = 4, .keeps_data = 1 << 20});
    await_ranks(&mixed, 1);
    counted(&mixed);
    counted(&mixed);
    multiplies_well(&mixed, square, a, b); /* the two pieces of each are seen by the two ranks here */
    struct ranks_counts since = counted(&mixed);
    assert_int_equal(since.far_sent + since.far_kept, 0);
    assert_true(since.far_moved > 0 && since.far_moved < 2 * BYTES);
    multiplies_well(&mixed, square, c, c);
    counted(&mixed);
    multiplies_well(&mixed, column, c, a); /* of c's four, two are kept there */
    since = counted(&mixed);
    assert_int_equal(since.far_sent + since.far_kept, 0);
    assert_true(since.far_moved > 0);
    struct matrix *laid = lay(c, column);
    multiplies_well(&mixed, column, laid, a); /* those here see how it lies now, and only read it */
    rig_close(&mixed);
    free_datum(a);
    free_datum(b);
    free_datum(c);
    free_datum(laid);
}

/* ---- to other servers ---- */

/* Each takes an order, with the memory of a datum. */
static void carry(struct rig *of, uint32_t expected)
{
    static struct porter_list list;
    struct matrix *a = random_datum(square);
    struct porter_order order = {.kind = PORTER_LEND,
                                 .version = PORTER_VERSION,
                                 .ticket = 1,
                                 .from = a->file.layout,
                                 .element_bytes = sizeof(double),
                                 .bytes = BYTES};
    ranks_porters(of->workers, &list);
    assert_int_equal(list.n, expected);
    for (uint32_t i = 0; i < list.n; i++) {
        int socket;
        uint16_t port;
        struct esp_error error;
        if (porter_lend(list.paths[i], &order, a->file.fd, 5000, &socket, &port, &error) != ESP_OK)
            fail_msg("%s", error.text);
        close(socket);
    }
    free_datum(a);
}

static void ranks_of_the_servers_host_carry_pieces_to_others(void **state)
{
    (void)state;
    static struct rig mixed;
    carry(&rig, 0);
    far_open(&mixed, "localhost slots=2\nfar1 slots=1\n", (struct ranks_options){.ranks = 3});
    await_ranks(&mixed, 1);
    carry(&mixed, 2);
    rig_close(&mixed);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ranks_have_had_is_not_sent_again),
        cmocka_unit_test(what_ranks_have_made_is_not_sent_back_to_them),
        cmocka_unit_test(what_a_routine_writes_over_is_kept_as_it_was),
        cmocka_unit_test(a_rank_that_is_lost_takes_along_what_it_kept),
        cmocka_unit_test(what_was_used_longest_ago_gives_way),
        cmocka_unit_test(few_parts_are_kept_however_small_they_are),
        cmocka_unit_test(ranks_that_may_keep_nothing_are_sent_everything),
        cmocka_unit_test(ranks_send_each_other_what_is_to_lie_otherwise),
        cmocka_unit_test(so_do_ranks_that_are_all_on_another_host),
        cmocka_unit_test(a_result_is_laid_otherwise_by_those_who_made_it),
        cmocka_unit_test(a_datum_that_the_server_has_laid_otherwise_need_not_be_sent),
        cmocka_unit_test(ranks_beside_the_call_send_what_they_have),
        cmocka_unit_test(what_ranks_in_another_call_have_comes_from_the_daemon),
        cmocka_unit_test(ranks_here_send_those_there_what_they_see),
        cmocka_unit_test(ranks_of_the_servers_host_carry_pieces_to_others),
    };
    if (!far_is_possible())
        return 0;
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
