#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Multigrid on ranks: errors fall as h^2, residuals by more than 1 / 0.15 a cycle; and as a problem of a server.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs mpirun espalier espalier-agent espalier-sed espalier-crd
program=$top_builddir/tests/mpi/multigrid
[ -x "$program" ] || skip_all "the program of the ranks is not built"
[ -x "$top_builddir/sed/mpi/espalier-prd" ] || skip_all "the program of the ranks is not built"
TMPDIR=$work
export TMPDIR

# on RANKS: what the ranks say.
on() {
    # MPI keeps memory until the end, which a sanitizer would call a leak.
    ASAN_OPTIONS=detect_leaks=0 OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        mpirun --oversubscribe -n "$1" "$program"
}
for ranks in 1 2 3 4; do
    check "multigrid on $ranks ranks" on $ranks
    check_says "and every solution is right" '^wrong results: 0$'
done

agent_for_clients
server_below_agent node node 'ranks = 2' "state_dir = \"$work/node.state\"" \
    "problems = { \"$top_srcdir/problems/differential\" }"
wait_until grep -q 'ranks are ready' node.log
served() { espalier problems multigrid | grep -q node; }
wait_until served
# f = 5 pi^2 sin(pi x) sin(2 pi y) on 63 x 63 points; u at (1/2, 1/4) is 1.
awk 'BEGIN { pi = atan2(0, -1); n = 63; for (i = 1; i <= n; i++) { for (j = 1; j <= n; j++)
    printf "%s%.17g", (j > 1 ? "," : ""), 5 * pi^2 * sin(pi * i / (n + 1)) * sin(2 * pi * j / (n + 1)); print "" } }' >f.csv
solves() {
    espalier call multigrid F=@f.csv -o U=u.csv >said && cat said &&
        awk -F, 'NR == 32 { exit !($16 > 0.997 && $16 < 1.003) }' u.csv
}
check "espalier call multigrid solves Poisson's equation" solves
check_says "in some cycles" 'cycles *=* *[0-9]'
refuses() { ! espalier call multigrid F=@f.csv maxcycles=2 -o U=v.csv; }
check "and tells when its cycles were too few" refuses
check_says "how far it came" 'no convergence: after 2 V-cycles'
finish
