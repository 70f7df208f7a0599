#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Section 5 of the FAST paper on twelve ranks: A lies on 4 x 2 of them, B on 2 x 2, and the server decides whether B goes
# to A, A to B, or both to all ranks, by what the paper's machine would take.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs mpirun espalier espalier-agent espalier-sed espalier-crd
[ -x "$top_builddir/sed/mpi/espalier-prd" ] || skip_all "the program of the ranks is not built"
TMPDIR=$work
export TMPDIR
cat >mul.esp <<END
problem pmul "C := A B"
    in      int     m, n, k
    in      double  A[m, k], B[k, n]
    out     double  C[m, n]
    work    2*m*n*k
implementation scalapack
    parallel fortran pdgemm_('N', 'N', m, n, k, double 1, A, 1, 1, desc(A), B, 1, 1, desc(B), double 0,
        C, 1, 1, desc(C)) in libscalapack-openmpi.so.2.2
problem smul "C := A B"
    in      int     m, n, k
    in      double  A[m, k], B[k, n]
    out     double  C[m, n]
implementation blas
    fortran dgemm_('N', 'N', m, n, k, double 1, A, m, B, k, double 0, C, m) in libblas.so.3
END
agent_for_clients
# server NAME SECONDS SUM: with nodes of 733 MHz behind Fast Ethernet, where to move a byte takes so long; a call has told
# it, so that ranks do not measure.
server() {
    mkdir "$1.state"
    printf '%s\n' 'espalier-ranks 3' 'ranks 12' 'flops 500000000' 'latency_s 0.0001' 'byte_s 8.92857143e-08' "fill_byte_s $2" \
        'took pdother_ 1 2 64 0:0' "end $3" >"$1.state/ranks"
    server_below_agent "$1" "$1" 'ranks = 12' 'log_level = debug' 'store_memory = "512 MB"' "state_dir = \"$work/$1.state\"" \
        "problems = { \"$work/mul.esp\" }"
    wait_until grep -q 'ranks are ready' "$1.log"
    wait_until served "$1"
}
served() { espalier problems pmul | grep -q "$1"; }
# matrix ROWS COLS SEED: whole numbers
matrix() { awk -v m="$1" -v n="$2" -v s="$3" 'BEGIN { for (i = 1; i <= m; i++) { for (j = 1; j <= n; j++)
    printf "%s%d", (j > 1 ? "," : ""), (i * 7 + j * j * 3 + s * i * j) % 11 - 5; print "" } }'; }
# multiplies SERVER M N GRID: m x 1000 by 1000 x n there, in pieces; the result is that of a worker.
multiplies() {
    matrix "$2" 1000 1 >a.csv
    matrix 1000 "$3" 2 >b.csv
    A=$(espalier data put a.csv --server "$1" --grid 4x2 --block 100) &&
        B=$(espalier data put b.csv --server "$1" --grid 2x2 --block 100) &&
        espalier call smul "A=data:$A" "B=data:$B" -o C=expected.npy --server "$1" &&
        espalier call pmul "A=data:$A" "B=data:$B" -o C=c.npy --server "$1" && cmp c.npy expected.npy &&
        grep 'started: pmul' "$1.log" | tail -n 1 | grep "on $4 ranks"
}
server paper 8.92857143e-08 1979d112
check "both go to all ranks, where the product is soonest" multiplies paper 1000 1000 '\(3 x 4\|4 x 3\)'
stop paper
server dear 8.92857143e-05 c07d0721
check "where moving is dear a small B goes to A" multiplies dear 1000 50 '4 x 2'
stop dear
server again 8.92857143e-05 c07d0721
check "and a small A to B" multiplies again 50 1000 '2 x 2'
finish
