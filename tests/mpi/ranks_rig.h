/* SPDX-License-Identifier: Apache-2.0
 *
 * Calling parallel routines on ranks from a test: ScaLAPACK's, and those of rank_routines.c.
 */
#ifndef TESTS_RANKS_RIG_H
#define TESTS_RANKS_RIG_H

#include "tests/unit/worker_rig.h"

#include "sed/ranks/ranks.h"

/* A pool with these options, and what it prints; calls run on 2 x 2 ranks until rig->grid says otherwise. */
void open_ranks(struct rig *rig, const struct ranks_options *wanted);
/* Until that job, counted from 1, is there; the test fails after 30 s. */
void await_ranks(struct rig *rig, uint64_t started);

/* The process of a rank, waited for as long. Never 0: a signal to 0 would reach the tests that run beside. */
pid_t rank_of(struct rig *rig, uint32_t rank);

/* Opens a pool and waits for its first job. */
void open_ready(struct rig *rig, const struct ranks_options *wanted);

/* Calls of "gate" end when the gate is open. A test that has opened it shuts it again. */
void shut_gate(void);
void open_gate(void);

/* n numbers between -0.5 and 0.5. The caller frees them. */
double *random_matrix(int n);
/* dgemm of that size on that grid is right. */
void multiplies(struct rig *rig, struct process_grid grid, int m, int n, int k, bool in_segment);
/* dgetrf of a matrix of order 50: with the pivots that came back, P A = L U. */
void factorises(struct rig *rig, struct process_grid grid);

/* On 1 x 2 ranks that may have 96 MiB each and keep 32, of the second: what is more is refused, and told;
 * who keeps more is replaced. */
void has_bounds_of_memory(struct rig *rig);

/* On 1 x 2 ranks that may have 96 MiB each: a call that waits for one that got no memory and has returned is
 * stopped, and others are made. */
void does_not_wait_for_who_got_no_memory(struct rig *rig);

/* Two calls at a time tell how far they are, and are cancelled, which ends the job. */
void tells_how_far_it_is(struct rig *rig, struct process_grid grid);

/* Expects that this many ranks soon take no processor time: together 20 ms in a second at most. */
void become_idle(struct rig *rig, uint32_t n);

pid_t parent_of(pid_t pid);
/* The folder of the segments that the process has mapped of MPI's, "" if there are none. */
void folder_of_segments(pid_t pid, char folder[256]);

#endif
