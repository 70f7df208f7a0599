#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Matrices move between the ranks of an MPI job by plans.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs mpirun
program=$top_builddir/tests/mpi/redistribute
[ -x "$program" ] || skip_all "the program of the ranks is not built"

# on RANKS: what the ranks say.
on() {
    # MPI keeps memory until the end, which a sanitizer would call a leak.
    ASAN_OPTIONS=detect_leaks=0 OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        mpirun --oversubscribe -n "$1" "$program"
}

for ranks in 1 2 6; do
    check "random redistributions over $ranks ranks" on $ranks
    check_says "and every element is where it belongs" '^elements at wrong places: 0$'
done
finish
