/* SPDX-License-Identifier: Apache-2.0
 *
 * How a rank waits between two calls. */
#include "sed/mpi/prd.h"

#include "util/clock.h"

#include <sched.h>

#define LOOK_NS      200000
#define LOOKS        8      /* between two looks at the clock */
#define PREEMPTED_NS 250000 /* that many checks take so long only if another program computes here */
/* Number of calls without polling after it disturbed another program; doubled when that happens again
 * soon, halved for each CALM calls found by polling. */
#define SHY_LEAST 12
#define SHY_MOST  200
#define CALM      64

static int64_t now_ns(void)
{
    return clock_now_ns(&clock_system);
}

static bool has_call(const struct rank_post *post)
{
    return board_has_call(post->board, post->rank, post->taken);
}

/* Whether other ranks are still in the last call, while there is no next one. */
static bool are_in_it(const struct rank_post *post)
{
    return post->last && atomic_load(&post->last->request) == post->last_request &&
           atomic_load(&post->last->gang.left) > 0 && !has_call(post);
}

/* The BLACS return before a long message has been sent, and it is sent only while its sender is in MPI: a
 * rank that slept before all have finished could leave another rank waiting for ever. If there are more
 * ranks than processors MPI yields too, so both MPI's and our progress are followed by a check: often all
 * have finished by then. */
static void see_the_others_through(const struct rank_post *post)
{
    int any;
    for (bool probes = false; are_in_it(post); probes = !probes)
        if (probes)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &any, MPI_STATUS_IGNORE);
        else
            sched_yield();
}

static void be_shy(struct rank_post *post)
{
    post->shyness = post->shyness < SHY_LEAST      ? SHY_LEAST
                    : post->shyness * 2 < SHY_MOST ? post->shyness * 2
                                                   : SHY_MOST;
    post->shy = post->shyness;
    post->found = 0;
}

static bool note_found(struct rank_post *post)
{
    if (++post->found % CALM == 0)
        post->shyness /= 2;
    return true;
}

/* Polls for the next call, at most for LOOK_NS. Ranks share processors with each other and with the
 * daemon, so each check yields. */
static bool look_for_call(struct rank_post *post, int64_t begun)
{
    for (int64_t now = begun, before = begun; now < begun + LOOK_NS; before = now) {
        for (int i = 0; i < LOOKS; i++, sched_yield())
            if (has_call(post))
                return note_found(post);
        now = now_ns();
        if (now - before > PREEMPTED_NS) {
            be_shy(post);
            return false;
        }
    }
    return false;
}

/* Waking ranks on sleeping processors takes many times as long as a tiny call: in a stream of calls they
 * poll for the next one, unless they disturb others. */
uint32_t rank_wait(struct rank_post *post)
{
    see_the_others_through(post);
    int64_t begun = now_ns();
    bool got = has_call(post);
    if (!got && post->shy > 0)
        post->shy--;
    else if (!got && post->in_stream)
        got = look_for_call(post, begun);
    if (!got)
        board_sleep(post->board, post->rank, post->taken);
    post->in_stream = now_ns() - begun < LOOK_NS;
    post->taken++;
    return post->board->lines[post->rank].ring;
}
