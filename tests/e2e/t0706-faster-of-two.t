#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server with ranks beside one without: whichever is faster by forecast gets the call; a calibration of ranks.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs mpirun espalier espalier-agent espalier-sed espalier-crd espalier-calibrate
[ -x "$top_builddir/sed/mpi/espalier-prd" ] || skip_all "the program of the ranks is not built"
TMPDIR=$work
export TMPDIR

mkdir problems state
cat >problems/mul.esp <<END
problem mul "C := A B"
    in      int     n
    in      double  A[n, n], B[n, n]
    out     double  C[n, n]
    work    2*n^3
implementation ours
    fortran dgemm_('N', 'N', n, n, n, double 1, A, n, B, n, double 0, C, n) in libblas.so.3
implementation scalapack
    parallel fortran pdgemm_('N', 'N', n, n, n, double 1, A, 1, 1, desc(A), B, 1, 1, desc(B), double 0, C, 1, 1, desc(C)) in libscalapack-openmpi.so.2.2
END
cat >master.conf <<END
name = "master"
listen = "127.0.0.1:0"
address_file = "$work/master.address"
END
start master espalier-agent --foreground "$work/master.conf"
wait_until test -s master.address
# server NAME KEYS
server() {
    cat >"$1.conf" <<END
name = "$1"
parent = "$(cat master.address)"
listen = "127.0.0.1:0"
log_file = "$work/$1.log"
log_level = debug
slots = 1
sensors = no
problems = { "$work/problems" }
$2
END
    start "$1" espalier-sed --foreground "$work/$1.conf"
}
# What it knows of its ranks is that they are very fast, and by calls, so that the choice does not hang on what they
# measure, nor on what else this machine does.
printf '%s\n' 'espalier-ranks 3' 'ranks 2' 'flops 1e+12' 'latency_s 1e-07' 'byte_s 1e-12' 'took pdother_ 1 2 64 0:0' 'end 04522d42' >state/ranks
server alone ""
server both "ranks = 2
state_dir = \"$work/state\""
echo "agents = { \"$(cat master.address)\" }" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG

# seconds SERVER N: forecast
seconds() { espalier forecast --json mul "n=$2" | jq -r ".. | objects | select(.server? == \"$1\") | .compute_s"; }
# times_faster N FACTOR: the server with ranks, against the other one
times_faster() {
    [ -n "$(seconds both "$1")" ] && [ -n "$(seconds alone "$1")" ] &&
        echo "$(seconds both "$1") $(seconds alone "$1") $2" | awk '{ exit !($1 * $3 < $2) }'
}
large_is_faster_there() { times_faster 3000 3; }
check "the agent knows that a large call is faster on the ranks" wait_until large_is_faster_there
small_is_not() { ! times_faster 8 3; }
check "and that a small one is not" small_is_not

awk 'BEGIN { for (i = 0; i < 400; i++) { for (j = 0; j < 400; j++) printf "%s%d", j ? "," : "", (i * j) % 7; print "" } }' >large.csv
echo '1,2
3,4' >small.csv
calls() { espalier call mul "A=@$1" "B=@$1" -o C=product.npy; }
# Once: a second one would teach the server how fast its ranks really are.
goes_to_ranks() {
    calls large.csv && [ "$(grep -c 'started: mul by scalapack' both.log)" -eq 1 ] &&
        ! grep -q 'started: mul by' alone.log
}
check "a large call goes to the server with ranks" goes_to_ranks
goes_to_workers() {
    calls small.csv && calls small.csv && calls small.csv &&
        [ "$(cat both.log alone.log | grep -c 'started: mul by ours')" -eq 3 ] &&
        [ "$(grep -c 'started: mul by scalapack' both.log)" -eq 1 ]
}
check "small ones to workers" goes_to_workers

# ---- calibration, beside a server that runs ----

stop both
rm state/ranks
server both "ranks = 2
state_dir = \"$work/state\""
there() { grep -c "2 ranks are ready" both.log | grep -q 2; }
wait_until there
took() { grep '^took pdgemm_ ' state/ranks | cut -d ' ' -f 1-5 | sort; }
calibrates() {
    espalier calibrate --sed both.conf --budget 1s --longest 4ms mul >calibrated || return 1
    took >before
    grep -q '^mul  *1 model of' calibrated && grep -q '^mul  *on ranks: .* [1-9][0-9]* new calls' calibrated && [ -s before ]
}
check "a calibration measures workers, and then grids and block sizes" calibrates
sed 's/^ranks = 2/&\nmpirun = "no-such-mpirun"/' both.conf >without.conf
without() {
    espalier calibrate --sed without.conf mul >out 2>error && grep -q 'mul *is there already' out &&
        grep -q "without ranks: .* cannot be started" error && grep -q "no program 'no-such-mpirun'" error
}
check "where mpirun is missing workers are calibrated all the same, and the reason is reported" without
stop both
kept() {
    took | comm -13 - before >lost && [ ! -s lost ] && grep -q 'state/ranks: what calls take .* was measured by others' both.log
}
check "the server takes it over, and keeps it when it ends" kept
rm -r state && mkdir state
server both "ranks = 2
state_dir = \"$work/state\"
calibrate = yes
calibrate_after = \"1 s\"
calibrate_budget = \"1 s\"
calibrate_longest = \"10 ms\""
idle_too() { grep -q '^mul  *on ranks: .* [1-9][0-9]* new calls' state/calibrate.log; }
check "a server that calibrates while it is idle includes its ranks" wait_until idle_too
finish
