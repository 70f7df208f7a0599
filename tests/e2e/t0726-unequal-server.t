#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Of two parallel implementations a server takes the one for ranks of different speed when its ranks are, and the other
# one when they are not. Both compute what a worker computes.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs mpirun espalier espalier-agent espalier-sed espalier-crd
[ -x "$top_builddir/sed/mpi/espalier-prd" ] || skip_all "the program of the ranks is not built"
TMPDIR=$work
export TMPDIR
cat >solve.esp <<END
problem psolve "Solve A X = B"
    in      int     n, nrhs
    in      double  A[n, n]
    inout   double  B[n, nrhs]
    work    int     ipiv[n + 128]
    work    2/3*n^3 + 2*n^2*nrhs
implementation scalapack
    parallel fortran pdgesv_(n, nrhs, A, 1, 1, desc(A), ipiv, B, 1, 1, desc(B), out info) in libscalapack-openmpi.so.2.2
implementation unequal
    parallel fortran esp_pdgesv_unequal_(communicator, n, nrhs, A, desc(A), ipiv, B, desc(B),
        out info) in libespalier-parallel.so
END
# Figure 12 of the paper: static shares and the heuristic are alike, cyclic ones are far slower.
compares() {
    espalier forecast pdgetrf n=2000 --strategies 3,5,8 --machine flops=1e9,latency=1e-6,bandwidth=1e10 >said && cat said &&
        awk '{ of[$1] = $3 } END { exit !(of["static"] == 1 && of["cyclic"] > 1.6 && of["levels"] > 0.9 && of["levels"] < 1.1) }' said &&
        espalier forecast pdgeqrf n=500 block=50 --strategies 1,1 --json | jq -e 'length == 7'
}
check "strategies are compared" compares
refuses() { ! espalier forecast "$@" 2>error && cat error; }
check "a cycle time that is none is refused" refuses pdgetrf n=2000 --strategies 3,x
check_says "with what was expected" 'expected the cycle times of 1 to 64 processors, as 3,5,8, found 3,x'
check "and a routine that is no factorisation" refuses pdgemm n=2000 --strategies 3,5
agent_for_clients
# server NAME GAIN SUM: with ranks of which it is known what unequal shares gain; a call has told it, so that they do not
# measure.
server() {
    mkdir "$1.state"
    printf '%s\n' 'espalier-ranks 3' 'ranks 2' 'flops 500000000' 'latency_s 0.0001' 'byte_s 1e-09' 'fill_byte_s 1e-10' \
        "gain $2" 'took pdother_ 1 2 64 0:0' "end $3" >"$1.state/ranks"
    server_below_agent "$1" "$1" 'ranks = 2' 'log_level = debug' "state_dir = \"$work/$1.state\"" \
        "problems = { \"$work/solve.esp\", \"$top_srcdir/problems/lapack/linear-systems/general.esp\" }"
    wait_until grep -q 'ranks are ready' "$1.log"
    wait_until served "$1"
}
served() { espalier problems psolve | grep -q "$1"; }
awk 'BEGIN { for (i = 1; i <= 300; i++) { for (j = 1; j <= 300; j++)
    printf "%s%d", (j > 1 ? "," : ""), (i * 7 + j * j * 3 + i * j) % 11 - 5 + (i == j) * 50; print "" } }' >a.csv
awk 'BEGIN { for (i = 1; i <= 300; i++) print i % 13 "," i % 7 }' >b.csv
close_to() { paste -d, "$1" "$2" | awk -F, '{ for (i = 1; i <= 2; i++) if (($i - $(i + 2))^2 > 1e-20) exit 1 }'; }
# solves SERVER WORDS: with what the log calls so.
solves() {
    espalier call psolve A=@a.csv B=@b.csv -o B=x.csv --server "$1" && close_to x.csv expected.csv &&
        grep 'started: psolve' "$1.log" | tail -n 1 | grep "$2"
}
server unlike 1.8 c004c3e6
check "a worker solves it" espalier call dgesv A=@a.csv B=@b.csv -o B=expected.csv --server unlike
check "ranks of different speed share by speed" solves unlike 'by unequal on 1 x 2 ranks'
stop unlike
server alike 1.05 d299123e
check "ranks that are alike take ScaLAPACK" solves alike 'by scalapack on'
stop alike
finish
