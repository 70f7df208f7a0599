#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# LU, QR, least squares and products on column blocks of any owner compute what LAPACK computes.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs mpirun
program=$top_builddir/tests/mpi/unequal
[ -x "$program" ] || skip_all "the program of the ranks is not built"

# on RANKS: what the ranks say.
on() {
    # MPI keeps memory until the end, which a sanitizer would call a leak.
    ASAN_OPTIONS=detect_leaks=0 OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        mpirun --oversubscribe -n "$1" "$program"
}

for ranks in 1 2 3 4; do
    check "factorisations and products on $ranks ranks of different speed" on $ranks
    check_says "and every result is LAPACK's" '^wrong results: 0$'
done
finish
