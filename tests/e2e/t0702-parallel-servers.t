#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Servers with MPI ranks: the same calls, on workers or on ranks; ranks and mpirun that are not there.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs mpirun espalier espalier-agent espalier-sed espalier-crd
[ -x "$top_builddir/sed/mpi/espalier-prd" ] || skip_all "the program of the ranks is not built"
scalapack=libscalapack-openmpi.so.2.2

cat >master.conf <<END
name = "master"
listen = "127.0.0.1:0"
address_file = "$work/master.address"
END
start master espalier-agent --foreground "$work/master.conf"
wait_until test -s master.address

# What only ranks can do, what ends one of them, and a whole MPI program.
mkdir own
TMPDIR=$work
export TMPDIR
cat >own/own.esp <<END
problem psolve "Solve A X = B on ranks"
    in      int     n, nrhs
    inout   double  A[n, n]
    inout   double  B[n, nrhs]
    work    int     pivots[n]
    work    2/3*n^3
implementation scalapack
    parallel fortran pdgesv_(n, nrhs, A, 1, 1, desc(A), pivots, B, 1, 1, desc(B), out info) in $scalapack
    spread  pivots rows of A
    error   info > 0 "U({info},{info}) is exactly zero: the matrix is singular"
problem ranks "How many ranks an MPI program has"
    out     string  n
implementation program
    command mpirun "--allow-run-as-root" "--oversubscribe" "-n" "2" "echo" "rank"
    stdout  n
END
cat >sed.conf <<END
name = "parallel"
parent = "$(cat master.address)"
listen = "127.0.0.1:0"
address_file = "$work/sed.address"
log_file = "$work/sed.log"
log_level = debug
slots = 2
ranks = 4
grid = 2x2
block = 2
problems = { "$work/own", "$top_srcdir/problems/blas/level3.esp", "$top_srcdir/problems/lapack/linear-systems",
             "$top_srcdir/problems/lapack/least-squares.esp", "$top_srcdir/problems/abstract/systems.esp" }
END
cat >client.conf <<END
agents = { "$(cat master.address)" }
END
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
start sed espalier-sed --foreground "$work/sed.conf"
wait_until test -s sed.address

served() { espalier problems | grep -q '^psolve '; }
on_ranks() {
    espalier call psolve 'A=[2,1,0,0;1,3,1,0;0,1,4,1;0,0,1,5]' 'B=[3;5;6;6]' -o B=b.mtx && cat b.mtx &&
        awk '!/^%/ && n++ { bad += ($1 - 1)^2 > 1e-20 } END { exit bad || n != 5 }' b.mtx
}
singular() {
    ! espalier call psolve 'A=[1,2;2,4]' 'B=[1;1]' >out 2>&1 && cat out && grep -q 'exactly zero: the matrix is singular' out
}
by() { # PROBLEM IMPLEMENTATION: how the server says it computed the last one
    grep "started: $1 by " sed.log | tail -n 1 | grep "by $2"
}
small_by_worker() {
    espalier call linsolve 'A=[2,1;1,3]' 'B=[3;4]' && by dposv lapack
}
# Whose grandparent was one of this test's servers, as told by the socket's folder.
no_ranks_left() { ! ls "$work"/espalier-prd-* 2>/dev/null && ! grep -lzqs "^ESPALIER_RANKS=$work/" /proc/[0-9]*/environ; }

wait_until served
check "a problem that only ranks compute is served" served
wait_until on_ranks
check "four ranks solve a system whose blocks do not divide it" on_ranks
check "and the log says on which grid" by psolve 'scalapack on 2 x 2 ranks, blocks of 2'
check "a singular matrix is told as what it is" singular
check "a small system of the same kind goes to a worker" small_by_worker
two_ranks() { espalier call ranks >out 2>&1; cat out; [ "$(grep -o rank out | grep -c .)" -ge 2 ]; }
check "an MPI program is a command" two_ranks

# Parts are memory, too: of a matrix of 300 x 300 the server has one, and its ranks another.
awk 'BEGIN { srand(3); n = 300; print "%%MatrixMarket matrix array real general\n" n, n
    for (i = 0; i < n * n; i++) print rand() }' >large.mtx
awk 'NR == 2 { print n = $1, 1 } NR == 1 || (NR > 2 && NR < n + 3)' large.mtx >column.mtx
counts_parts() {
    espalier call psolve A=@large.mtx B=@column.mtx >/dev/null &&
        awk '/accepted: psolve/ { for (i = 2; i <= NF; i++) if ($i == "MiB,") mib = $(i - 1) }
             END { print mib; exit mib < 1.37 || mib > 1.6 }' sed.log
}
check "what ranks take for their parts is reserved" counts_parts

# A rank is killed while nobody computes.
kill_one() {
    for environ in $(grep -lzs "^ESPALIER_RANKS=$work/" /proc/[0-9]*/environ); do
        process=${environ%/environ}
        [ "$(cat "$process/comm")" = espalier-prd ] && kill -9 "${process#/proc/}" && return 0
    done
    return 1
}
check "a rank is killed" kill_one
wait_until on_ranks
check "and calls go on with new ranks" on_ranks

# mpirun is missing: workers do what they can, and the reason is told.
sed -e 's/^name.*/name = "without"/' -e 's|sed\.address|without.address|' -e 's|sed\.log|without.log|' sed.conf >without.conf
echo 'mpirun = "no-such-mpirun"' >>without.conf
start without espalier-sed --foreground "$work/without.conf"
wait_until test -s without.address
alone() { espalier call dgemm 'A=[1,2;3,4]' 'B=[1,0;0,1]' --server without >out 2>&1; cat out; grep -q 4 out; }
refused() { ! espalier call psolve 'A=[1,2;2,5]' 'B=[1;1]' --server without >out 2>&1 && cat out && grep -q "there is no program 'no-such-mpirun'" out; }
check "without mpirun workers compute what they can" alone
check "and what only ranks could is refused with the reason" refused

# What is wrong in a file.
config_says() { # TEXT LINE...
    text=$1
    shift
    { grep -vE '^(grid|block|ranks)' sed.conf; printf '%s\n' "$@"; } >bad-sed.conf
    ! espalier config check bad-sed.conf >out 2>&1 && cat out && grep -qF "$text" out
}
check "a grid larger than the pool is an error" config_says 'grid = "2x3" needs 6 ranks' 'ranks = 4' 'grid = 2x3'
check "so is one that is none" config_says 'expected rows and columns of ranks' 'ranks = 4' 'grid = square'
check "a hostfile without ranks is an error" config_says 'expected the key "ranks" beside it' "hostfile = $work/hosts"
check "so is one that is not there" config_says 'cannot read the hostfile' 'ranks = 4' "hostfile = $work/hosts"
echo 'node1 slots=2' >hosts
check "and one with too few slots" config_says 'expected slots for ranks = 4, found 2' 'ranks = 4' "hostfile = $work/hosts"
check "and a block of 0" config_says 'block' 'ranks = 4' 'block = 0'

stop_all
check "no rank is left when the servers have stopped" no_ranks_left
finish
