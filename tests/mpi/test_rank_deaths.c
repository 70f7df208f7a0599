/* SPDX-License-Identifier: Apache-2.0
 *
 * Every way in which ranks die, and what becomes of the calls on them and beside them.
 */
#include "tests/mpi/ranks_rig.h"
#include "sed/pool/folder.h"
#include "sed/ranks/rank_link.h"

#include "util/clock.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RANKS 4

static struct rig rig;

static int set_up(void **state)
{
    (void)state;
    open_ready(&rig, &(struct ranks_options){.ranks = RANKS});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

static double seconds_since(int64_t from_ns)
{
    return (double)(clock_now_ns(&clock_system) - from_ns) / 1e9;
}

static uint64_t jobs_started(void)
{
    struct ranks_counts counts;
    ranks_count(rig.workers, &counts);
    return counts.started;
}

static void works_again(uint64_t after)
{
    int n = 0, works;
    await_ranks(&rig, after + 1);
    rig.grid = (struct process_grid){2, 2, 1};
    assert_int_equal(rig_call(&rig, "count", (void *[]){&n, &works}, false).status, ESP_OK);
    assert_int_equal(n, 4);
}

static void a_rank_killed_during_a_call_fails_it_at_once(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    int which = 2, n = 5000;
    double *x = calloc(5000, sizeof *x);
    rig.grid = (struct process_grid){2, 2, 1};
    int64_t begun = clock_now_ns(&clock_system);
    struct esp_error error = rig_call(&rig, "die", (void *[]){&which, x, &n}, true);
    assert_int_equal(error.status, ESP_CRASHED);
    assert_non_null(strstr(error.text, "die on a grid of 2 x 2 ranks was lost: rank 2 of 4 (process "));
    assert_true(seconds_since(begun) < 60); /* the others wait in MPI for ever; some ms on an idle machine */
    works_again(before);
    free(x);
}

/* A call of which the routine has begun, on all ranks. */
static struct rig_job *start_long(void)
{
    double fraction = 0.5, seconds = 60;
    rig.grid = (struct process_grid){2, 2, 1};
    struct rig_job *job = rig_prepare(&rig, "tell", (void *[]){&fraction, &seconds}, false);
    rig_start(&rig, job);
    for (int i = 0; i < 3000 && !(rig.workers->ops->progress(rig.workers, job->job.id) > 0); i++)
        usleep(10000);
    return job;
}

/* With these words. */
static struct job_end end_of(struct rig_job *job, uint64_t before, const char *words)
{
    const struct job_end end = *rig_wait(&rig, job, true);
    rig_finish(job);
    works_again(before);
    assert_int_equal(end.error.status, ESP_CRASHED);
    if (!strstr(end.error.text, words))
        fail_msg("expected \"%s\" in \"%s\"", words, end.error.text);
    return end;
}

static void a_rank_or_mpirun_killed_by_somebody_is_no_crash_of_the_call(void **state)
{
    (void)state;
    static const struct {
        int signal;
        bool mpirun;
        const char *words;
    } kills[] = {
        {SIGKILL, false, "rank 2 of 4 (process "},
        {SIGTERM, false, "was killed by signal 15"},
        {SIGKILL, true, "mpirun was killed by signal 9 (Killed)"}, /* not its ranks, which go with it */
        {SIGTERM, true, " was lost: "}}; /* mpirun, or who did not end in time and was killed by it */
    for (size_t i = 0; i < sizeof kills / sizeof *kills; i++) {
        const uint64_t before = jobs_started();
        const pid_t rank = rank_of(&rig, 2);
        struct rig_job *job = start_long();
        assert_int_equal(kill(kills[i].mpirun ? parent_of(rank) : rank, kills[i].signal), 0);
        const struct job_end end = end_of(job, before, kills[i].words);
        assert_true(end.lost);
        assert_true(end.intact);
        assert_false(end.unbegun);
    }
}

/* Ranks wait for each other before a call that is new to them. */
static void what_waits_for_a_rank_that_is_killed_was_not_begun(void **state)
{
    (void)state;
    const uint64_t before = jobs_started();
    const pid_t rank = rank_of(&rig, 3);
    int which = 0;
    assert_int_equal(kill(rank, SIGSTOP), 0);
    rig.grid = (struct process_grid){2, 2, 1};
    struct rig_job *job = rig_prepare(&rig, "misplace", (void *[]){&which}, false);
    rig_start(&rig, job);
    assert_int_equal(kill(rank, SIGKILL), 0);
    const struct job_end end = end_of(job, before, "rank 3 of 4 (process ");
    assert_true(end.lost);
    assert_true(end.unbegun);
}

static struct rig_job *start_on_first_ranks(const char *problem, void *const *values, bool in_segment)
{
    rig.grid = (struct process_grid){2, 1, 2};
    struct rig_job *job = rig_prepare(&rig, problem, values, in_segment);
    rig_start(&rig, job);
    return job;
}

/* Error of the call beside it when a rank is killed that has no part in that call. */
static struct job_end end_beside(struct rig_job *beside)
{
    uint64_t before = jobs_started();
    assert_int_equal(kill(rank_of(&rig, 3), SIGKILL), 0);
    const struct job_end end = *rig_wait(&rig, beside, true);
    rig_finish(beside);
    works_again(before);
    assert_int_equal(end.error.status, ESP_CRASHED);
    assert_non_null(strstr(end.error.text, "was lost: rank 3 of 4 (process "));
    return end;
}

static void a_call_beside_the_one_that_ends_the_ranks_may_be_started_again(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    int which = 1, how = 0;
    double seconds = 60;
    rig.grid = (struct process_grid){1, 2, 1};
    struct rig_job *beside = rig_prepare(&rig, "rest", (void *[]){&seconds}, false);
    struct rig_job *guilty = rig_prepare(&rig, "leave", (void *[]){&which, &how}, false);
    rig_start(&rig, beside);
    rig_start(&rig, guilty);
    assert_int_equal(rig_wait(&rig, guilty, true)->error.status, ESP_CRASHED);
    assert_false(guilty->end.lost);
    assert_int_equal(guilty->end.first_rank, 2);
    assert_int_equal(rig_wait(&rig, beside, true)->error.status, ESP_CRASHED);
    assert_true(beside->end.lost);
    assert_true(beside->end.intact);
    assert_int_equal(beside->end.first_rank, 0);
    rig_finish(guilty);
    rig_finish(beside);
    works_again(before);
}

static void a_call_that_has_written_over_its_arguments_is_lost_with_them(void **state)
{
    (void)state;
    int n = 4;
    double seconds = 60, x[] = {1, 1, 1, 1};
    struct rig_job *beside = start_on_first_ranks("linger", (void *[]){&seconds, &n, x}, true);
    const volatile double *there = (const double *)beside->arguments[2].data;
    for (int i = 0; i < 3000 && there[0] < 2; i++)
        usleep(10000);
    assert_true(there[0] > 1 && there[2] < 2); /* the first rank's part is back */
    assert_false(end_beside(beside).intact);
    beside = start_on_first_ranks("hold", (void *[]){&seconds, &n, x}, true);
    assert_false(end_beside(beside).intact);
    beside = start_on_first_ranks("rest", (void *[]){&seconds}, false);
    assert_true(end_beside(beside).intact);
}

/* mpirun is stopped, so that it does not wait for the dead rank before it was looked at. */
static void how_a_rank_ended_is_told(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    int which = 1, n = 5;
    double x[5] = {0};
    rig.grid = (struct process_grid){2, 2, 1};
    assert_int_equal(kill(parent_of(rank_of(&rig, 0)), SIGSTOP), 0);
    struct esp_error error = rig_call(&rig, "die", (void *[]){&which, x, &n}, false);
    assert_int_equal(error.status, ESP_CRASHED);
    assert_non_null(strstr(error.text, " was killed by signal 9 (Killed)"));
    works_again(before);
}

static void a_rank_that_is_stopped_in_a_call_counts_as_dead_after_a_while(void **state)
{
    (void)state;
    static struct rig own;
    int n = 0, works = 0;
    double seconds = 60; /* mpirun lets a rank that is stopped go on before it ends it */
    open_ready(&own, &(struct ranks_options){.ranks = 2, .still_ns = 2 * NS_PER_S});
    own.grid = (struct process_grid){1, 2, 1};
    /* Ranks that are stopped before they have begun are replaced, and the call is computed by the others. */
    assert_int_equal(rig_call(&own, "count", (void *[]){&n, &works}, false).status, ESP_OK);
    const int64_t begun = clock_now_ns(&clock_system);
    assert_int_equal(kill(rank_of(&own, 1), SIGSTOP), 0);
    struct esp_error error = rig_call(&own, "rest", (void *[]){&seconds}, false);
    assert_int_equal(error.status, ESP_CRASHED);
    assert_non_null(strstr(error.text, "was lost: rank 1 of 2 (process "));
    assert_non_null(strstr(error.text, "was stopped for "));
    assert_true(clock_now_ns(&clock_system) - begun >= 2 * NS_PER_S);
    await_ranks(&own, 2);
    assert_int_equal(rig_call(&own, "count", (void *[]){&n, &works}, false).status, ESP_OK);
    assert_int_equal(n, 2);
    rig_close(&own);
}

/* And not one of those that mpirun ends then. */
static void the_rank_that_ended_first_is_told_and_how(void **state)
{
    (void)state;
    static const char *const expected[] = {"was killed by signal 11 (Segmentation fault)",
                                           "ended with exit code 3",
                                           "ended with exit code 4",
                                           "called MPI_Abort() with code 7",
                                           "was killed by signal 11 (Segmentation fault)",
                                           "ended with exit code 5"};
    for (int how = 0; how < (int)(sizeof expected / sizeof *expected); how++) {
        uint64_t before = jobs_started();
        int which = 3 - how % 4;
        rig.grid = (struct process_grid){2, 2, 1};
        char who[40];
        snprintf(who, sizeof who, "was lost: rank %d of 4 (process ", which);
        struct rig_job *job = rig_prepare(&rig, "leave", (void *[]){&which, &how}, false);
        rig_start(&rig, job);
        const struct job_end end = end_of(job, before, expected[how]);
        if (!strstr(end.error.text, who))
            fail_msg("expected \"%s\" in \"%s\"", who, end.error.text);
        assert_false(end.lost);
    }
}

static unsigned files_in(const char *folder)
{
    unsigned n = 0;
    DIR *files = opendir(folder);
    assert_non_null(files);
    for (const struct dirent *entry = readdir(files); entry; entry = readdir(files))
        n += entry->d_name[0] != '.';
    closedir(files);
    return n;
}

static void what_a_killed_job_shared_goes_with_it(void **state)
{
    (void)state;
    char folder[256];
    uint64_t before = jobs_started();
    pid_t ranks[4], mpirun = parent_of(rank_of(&rig, 0));
    for (uint32_t i = 0; i < 4; i++)
        ranks[i] = rank_of(&rig, i);
    folder_of_segments(ranks[0], folder);
    assert_ptr_equal(strstr(folder, "/dev/shm/espalier-ranks-"), folder);
    const unsigned files = files_in(folder);
    assert_true(files > 0);
    kill(mpirun, SIGKILL);
    for (int i = 0; i < 4; i++)
        kill(ranks[i], SIGKILL);
    works_again(before);
    assert_int_equal(files_in(folder), files);
}

static void a_rank_killed_between_calls_is_replaced(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    assert_int_equal(kill(rank_of(&rig, 1), SIGKILL), 0);
    works_again(before);
}

/* The folder of the daemon's socket, as a rank's environment has it. */
static void folder_of_socket(pid_t rank, char *path, size_t size)
{
    char name[64], *all = NULL;
    size_t room = 0;
    ssize_t n;
    *path = 0;
    snprintf(name, sizeof name, "/proc/%d/environ", (int)rank);
    FILE *file = fopen(name, "re");
    assert_non_null(file);
    while ((n = getdelim(&all, &room, 0, file)) > 0)
        if (strncmp(all, RANK_LINK_VARIABLE "=", sizeof RANK_LINK_VARIABLE) == 0)
            snprintf(path, size, "%s", all + sizeof RANK_LINK_VARIABLE);
    free(all);
    fclose(file);
    char *last = strrchr(path, '/');
    assert_non_null(last);
    *last = 0;
}

static void ranks_start_again_when_their_folder_was_removed(void **state)
{
    (void)state;
    char folder[200];
    uint64_t before = jobs_started();
    const pid_t rank = rank_of(&rig, 1);
    folder_of_socket(rank, folder, sizeof folder);
    folder_remove(folder);
    assert_int_equal(access(folder, F_OK), -1);
    assert_int_equal(kill(rank, SIGKILL), 0);
    works_again(before);
}

/* A process with that in its name whose parent is `parent`; 0: there is none. */
static pid_t child_of(pid_t parent, const char *name)
{
    char path[320], found[16];
    const struct dirent *entry;
    DIR *processes = opendir("/proc");
    pid_t child = 0;
    assert_non_null(processes);
    while (!child && (entry = readdir(processes))) {
        int pid = 0, its = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fscanf(file, "%d (%15[^)]) %*c %d", &pid, found, &its) == 3 && its == parent &&
            strstr(found, name))
            child = pid;
        if (file)
            fclose(file);
    }
    closedir(processes);
    return child;
}

/* The mpirun of the job that has been started, while its ranks are not there yet: a child of ours. */
static pid_t starting_mpirun(uint64_t before)
{
    for (int i = 0; i < 60000 && jobs_started() == before; i++)
        usleep(1000);
    const pid_t mpirun = child_of(getpid(), "run");
    assert_true(mpirun > 0);
    return mpirun;
}

/* One of its ranks, as soon as there is one. */
static pid_t starting_rank(pid_t mpirun)
{
    pid_t rank = 0;
    for (int i = 0; i < 60000 && rank == 0; i++, usleep(500))
        rank = child_of(mpirun, "espalier-prd");
    assert_true(rank > 0);
    return rank;
}

/* Until that job is started. */
static void calls_wait_for(uint64_t job)
{
    for (int i = 0; i < 60000 && jobs_started() < job; i++, usleep(1000)) {
        struct esp_error error = {.status = ESP_OK};
        if (rig.workers->ops->admits(rig.workers, &error) != ESP_OK)
            fail_msg("before job %d: %s", (int)job, error.text);
    }
}

/* Two times in a row; a third one counts. */
static void calls_wait_when_a_start_is_killed(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    assert_int_equal(kill(parent_of(rank_of(&rig, 1)), SIGKILL), 0);
    for (int i = 0; i < 2; i++, before++) {
        assert_int_equal(kill(starting_mpirun(before), SIGKILL), 0);
        calls_wait_for(before + 2);
    }
    works_again(before);
}

static void calls_wait_when_a_rank_is_killed_while_it_starts(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    assert_int_equal(kill(rank_of(&rig, 1), SIGKILL), 0);
    for (int i = 0; i < 2; i++, before++) {
        assert_int_equal(kill(starting_rank(starting_mpirun(before)), SIGKILL), 0);
        calls_wait_for(before + 2);
    }
    works_again(before);
}

static void calls_are_refused_when_a_third_start_is_killed(void **state)
{
    (void)state;
    struct esp_error error = {.status = ESP_OK};
    uint64_t before = jobs_started();
    assert_int_equal(kill(parent_of(rank_of(&rig, 1)), SIGKILL), 0);
    for (int i = 0; i < 3; i++, before++) {
        calls_wait_for(before + 1);
        assert_int_equal(kill(starting_mpirun(before), SIGKILL), 0);
    }
    for (int i = 0; i < 60000 && rig.workers->ops->admits(rig.workers, &error) == ESP_OK; i++)
        usleep(1000);
    assert_int_equal(error.status, ESP_REFUSED);
    assert_non_null(strstr(error.text, "the ranks of this server are not there: "));
    assert_non_null(strstr(error.text, " was killed by signal 9"));
    works_again(before);
    assert_int_equal(rig.workers->ops->admits(rig.workers, &error), ESP_OK);
}

static void a_rank_that_is_stopped_and_killed_takes_no_call_with_it_later(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    kill(rank_of(&rig, 0), SIGSTOP); /* this one does not end by itself */
    kill(rank_of(&rig, 3), SIGKILL);
    works_again(before);
}

static void a_rank_killed_beside_an_answered_call_changes_nothing_of_it(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    int n = 0, works = 0;
    rig.grid = (struct process_grid){2, 2, 1};
    struct rig_job *job = rig_prepare(&rig, "count", (void *[]){&n, &works}, false);
    rig_start(&rig, job);
    assert_int_equal(rig_wait(&rig, job, true)->error.status, ESP_OK);
    kill(rank_of(&rig, 3), SIGKILL);
    assert_int_equal(n, 4);
    rig_finish(job);
    works_again(before);
}

static void a_cancelled_call_waits_for_the_one_beside_it(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    double long_s = 60, short_s = 0.3;
    rig.grid = (struct process_grid){1, 2, 1};
    struct rig_job *cancelled = rig_prepare(&rig, "rest", (void *[]){&long_s}, false);
    struct rig_job *beside = rig_prepare(&rig, "rest", (void *[]){&short_s}, false);
    rig_start(&rig, cancelled);
    rig_start(&rig, beside);
    rig.workers->ops->cancel(rig.workers, cancelled->job.id);
    assert_int_equal(rig_wait(&rig, beside, true)->error.status, ESP_OK);
    assert_int_equal(rig_wait(&rig, cancelled, false)->error.status, ESP_CANCELLED);
    rig_finish(cancelled);
    rig_finish(beside);
    works_again(before);
}

static void a_time_limit_stops_a_call(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    double seconds = 60;
    rig.grid = (struct process_grid){2, 2, 1};
    struct esp_error error = rig_call(&rig, "limited", (void *[]){&seconds}, false);
    assert_int_equal(error.status, ESP_TIMEOUT);
    works_again(before);
}

#if MEMORY_TESTS
static void limit_memory(pid_t pid)
{
    struct rlimit old, little;
    assert_int_equal(prlimit(pid, RLIMIT_AS, NULL, &old), 0);
    little = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = old.rlim_max};
    assert_int_equal(prlimit(pid, RLIMIT_AS, &little, NULL), 0);
}

/* The limit stays with it: another call would fail as well. */
static void a_rank_without_memory_fails_the_call_and_is_replaced(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    int n = 400;
    double *a = calloc((size_t)(n * n), sizeof *a), *c = calloc((size_t)(n * n), sizeof *c);
    limit_memory(rank_of(&rig, 3));
    rig.grid = (struct process_grid){2, 2, 32};
    struct esp_error error = rig_call(&rig, "dgemm", (void *[]){&n, &n, &n, a, a, c}, true);
    assert_int_equal(error.status, ESP_SYSTEM);
    assert_non_null(strstr(error.text, "rank 3 of 4: cannot reserve addresses for an argument of "));
    assert_non_null(strstr(error.text, "the ranks are started again"));
    works_again(before);
    rig.grid = (struct process_grid){2, 2, 32};
    assert_int_equal(rig_call(&rig, "dgemm", (void *[]){&n, &n, &n, a, a, c}, true).status, ESP_OK);
    assert_int_equal(jobs_started(), before + 1);
    free(a);
    free(c);
}

static void a_rank_without_memory_takes_no_call_beside_with_it(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    int n = 400;
    double *a = calloc((size_t)(n * n), sizeof *a), *c = calloc((size_t)(n * n), sizeof *c);
    limit_memory(rank_of(&rig, 3));
    rig.grid = (struct process_grid){1, 2, 1};
    struct rig_job *beside = rig_prepare(&rig, "gate", (void *[]){NULL}, false);
    rig_start(&rig, beside);
    rig.grid = (struct process_grid){1, 2, 32};
    struct esp_error error = rig_call(&rig, "dgemm", (void *[]){&n, &n, &n, a, a, c}, true);
    assert_non_null(strstr(error.text, "rank 1 of 2: cannot reserve addresses for an argument of "));
    open_gate();
    assert_int_equal(rig_wait(&rig, beside, true)->error.status, ESP_OK);
    shut_gate();
    rig_finish(beside);
    works_again(before);
    free(a);
    free(c);
}

static void what_a_rank_may_allocate_and_keep_is_bounded(void **state)
{
    (void)state;
    static struct rig own;
    open_ready(&own, &(struct ranks_options){.ranks = 2, .memory = 96 << 20, .keep = 32 << 20});
    has_bounds_of_memory(&own);
    int which = 0, mib = 1000, how = 2;
    const struct esp_error error = rig_call(&own, "take", (void *[]){&which, &mib, &how}, false);
    assert_int_equal(error.status, ESP_CRASHED);
    assert_non_null(strstr(error.text, "was lost: rank 0 of 2 (process "));
    assert_non_null(strstr(error.text,
                           "was killed by signal 11 (Segmentation fault); it was refused 1.05 GB of "
                           "memory (a rank of this server may have 101 MB"));
    await_ranks(&own, 3);
    rig_close(&own);
}

static void nobody_waits_for_a_rank_that_got_no_memory(void **state)
{
    (void)state;
    static struct rig own;
    int which = 1, mib = 1000;
    double never = 0;
    open_ready(&own, &(struct ranks_options){.ranks = 2, .memory = 96 << 20, .alone_ns = 2 * NS_PER_S});
    does_not_wait_for_who_got_no_memory(&own);
    const struct esp_error error = rig_call(&own, "hurried", (void *[]){&which, &mib, &never}, false);
    assert_int_equal(error.status, ESP_TIMEOUT);
    assert_non_null(strstr(error.text, "after its time limit of 1 s; it was refused 1.05 GB of memory"));
    rig_close(&own);
}

/* Until the pool takes no calls, as one is to be stopped. */
static void await_stop(struct rig *of, struct rig_job *job)
{
    struct esp_error error = {.status = ESP_OK};
    for (int i = 0; i < 3000 && !strstr(error.text, "are being started"); i++, usleep(10000))
        assert_int_equal(of->workers->ops->start(of->workers, &job->job, &error), ESP_LIMIT);
    assert_non_null(strstr(error.text, "are being started"));
}

static void a_call_that_waits_for_such_a_rank_ends_behind_the_one_beside_it(void **state)
{
    (void)state;
    static struct rig own;
    int which = 1, mib = 1000;
    double seconds[] = {3, 0};
    struct ranks_counts counts;
    open_ready(&own, &(struct ranks_options){.ranks = 4, .memory = 96 << 20, .alone_ns = NS_PER_S});
    own.grid = (struct process_grid){1, 2, 1};
    struct rig_job *beside = rig_prepare(&own, "gate", (void *[]){NULL}, false);
    struct rig_job *late = rig_prepare(&own, "forsake", (void *[]){&which, &mib, &seconds[0]}, false);
    struct rig_job *lost = rig_prepare(&own, "forsake", (void *[]){&which, &mib, &seconds[1]}, false);
    rig_start(&own, beside);
    rig_start(&own, late);
    await_stop(&own, lost);
    assert_string_equal(rig_wait(&own, late, true)->error.text, ""); /* it has ended by itself meanwhile */
    rig_start(&own, lost);
    await_stop(&own, late);
    open_gate();
    assert_string_equal(rig_wait(&own, beside, true)->error.text, "");
    assert_int_equal(rig_wait(&own, lost, true)->error.status, ESP_FAILED);
    shut_gate();
    assert_non_null(strstr(lost->end.error.text, " s after rank 3 of 4 (process "));
    rig_finish(beside);
    rig_finish(late);
    rig_finish(lost);
    await_ranks(&own, 2);
    ranks_count(own.workers, &counts);
    assert_int_equal(counts.started, 2);
    rig_close(&own);
}
#endif

int main(void)
{
    static const struct CMUnitTest tests[] = {
#if MEMORY_TESTS
        cmocka_unit_test(a_rank_without_memory_fails_the_call_and_is_replaced),
        cmocka_unit_test(a_rank_without_memory_takes_no_call_beside_with_it),
        cmocka_unit_test(what_a_rank_may_allocate_and_keep_is_bounded),
        cmocka_unit_test(nobody_waits_for_a_rank_that_got_no_memory),
        cmocka_unit_test(a_call_that_waits_for_such_a_rank_ends_behind_the_one_beside_it),
#endif
        cmocka_unit_test(a_rank_killed_during_a_call_fails_it_at_once),
        cmocka_unit_test(a_rank_or_mpirun_killed_by_somebody_is_no_crash_of_the_call),
        cmocka_unit_test(what_waits_for_a_rank_that_is_killed_was_not_begun),
        cmocka_unit_test(a_call_beside_the_one_that_ends_the_ranks_may_be_started_again),
        cmocka_unit_test(a_call_that_has_written_over_its_arguments_is_lost_with_them),
        cmocka_unit_test(how_a_rank_ended_is_told),
        cmocka_unit_test(the_rank_that_ended_first_is_told_and_how),
        cmocka_unit_test(a_rank_that_is_stopped_in_a_call_counts_as_dead_after_a_while),
        cmocka_unit_test(a_rank_killed_between_calls_is_replaced),
        cmocka_unit_test(ranks_start_again_when_their_folder_was_removed),
        cmocka_unit_test(what_a_killed_job_shared_goes_with_it),
        cmocka_unit_test(calls_wait_when_a_start_is_killed),
        cmocka_unit_test(calls_wait_when_a_rank_is_killed_while_it_starts),
        cmocka_unit_test(calls_are_refused_when_a_third_start_is_killed),
        cmocka_unit_test(a_rank_that_is_stopped_and_killed_takes_no_call_with_it_later),
        cmocka_unit_test(a_rank_killed_beside_an_answered_call_changes_nothing_of_it),
        cmocka_unit_test(a_cancelled_call_waits_for_the_one_beside_it),
        cmocka_unit_test(a_time_limit_stops_a_call),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
