#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Limits of the system are in the log and in /health, lower the number of slots, and are named when they are reached.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed prlimit taskset curl cc

cat >nap.c <<'END2'
#include <unistd.h>
int nap(int ms) { usleep(1000 * ms); return ms; }
void fill(int n, double *a) { for (int i = 0; i < n; i++) a[i] = i; }
END2
cc -shared -fPIC -o libnap.so nap.c
cat >nap.esp <<'END2'
problem nap "Sleeps"
    in  int ms
    out int slept
implementation c
    c slept = nap(ms) in "libnap.so"
problem fill "An array"
    in  int n
    out double A[n]
implementation c
    c fill(n, A) in "libnap.so"
END2
agent_for_clients

# server_file NAME LINE...: of a server that is started by hand.
server_file() {
    name=$1
    shift
    printf 'name = "%s"\nparent = "%s"\nlisten = "127.0.0.1:0"\nhttp = "127.0.0.1:0"\naddress_file = "%s/%s.address"\nlog_file = "%s/%s.log"\nspares = 0\nproblems = { "%s/nap.esp" }\n' \
        "$name" "$agent" "$work" "$name" "$work" "$name" "$work" >"$name.conf"
    [ $# -eq 0 ] || printf '%s\n' "$@" >>"$name.conf"
}
health() { # health NAME PATTERN: a line of its page is like that
    curl -s "http://$(cat "$1.address.http")/health" | tee health.out | grep -Eq "$2"
}

server_file few
start few taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" prlimit --nofile=300:300 --fsize=90000000:90000000 espalier-sed --foreground few.conf
address_of few.address >/dev/null
check "the log has the limits" grep -Eq 'limits: descriptors 300; processes and threads .*; file size 90 MB; memory .*; processors 1 of ' few.log
check "and so has /health" wait_until health few '^limits: descriptors 300; processes and threads .*; file size 90 MB; .*processors 1 of '
check "on one processor a server has one slot" wait_until health few '^ok few: .*0 of 1 slots'
too_large() { espalier call --server "$(cat few.address)" fill n=20000000; }
check_fails any "an array beyond the limit of file sizes is refused" too_large
check_says "and the limit is named" 'File too large .*"ulimit -f" allows 90000000 bytes'
few_descriptors() { prlimit --nofile=8:8 timeout 60 espalier call --server "$(cat few.address)" nap ms=1; }
check_fails any "a client without descriptors for its connections fails" few_descriptors
check_says "and they are named" 'ulimit -n'
small_file() { prlimit --fsize=100:100 espalier call --server "$(cat few.address)" fill n=100000 -o A=out.csv; }
check_fails any "a result that may not be written is no signal" small_file
check_says "and the limit is named" '"ulimit -f" allows 100 bytes'
stop few

# Groups of our own, in either version of control groups. The rest needs them.
groups=''
at_exit() {
    stop_all
    for group in $groups; do
        rmdir "$group" 2>/dev/null
    done
}
# group_with CONTROLLER FILE VALUE: makes one; its folder is in $group.
group_with() {
    if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
        echo "+$1" 2>/dev/null >/sys/fs/cgroup/cgroup.subtree_control
        group=/sys/fs/cgroup/espalier-test-$1-$$
    else
        group=/sys/fs/cgroup/$1/espalier-test-$1-$$
    fi
    mkdir "$group" 2>/dev/null && groups="$groups $group" && echo "$3" 2>/dev/null >"$group/$2"
}
may_limit() {
    if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
        group_with cpu cpu.max '50000 100000'
    else
        group_with cpu cpu.cfs_quota_us 50000
    fi
}
if ! may_limit; then
    echo "# the rest was skipped: this user cannot make control groups"
    finish
fi
cat >in_group.sh <<'END2'
group=$1
shift
echo $$ >"$group/cgroup.procs" && exec "$@"
END2
server_file half
start half sh in_group.sh "$group" espalier-sed --foreground half.conf
address_of half.address >/dev/null
check "with a quota of half a processor a server has one slot" wait_until health half '^ok half: .*0 of 1 slots'
check "and the page tells the quota" grep -Eq '^limits: .*quota 0.5' health.out
naps() { espalier call --server "$(cat half.address)" nap ms=1000 && espalier call --server "$(cat half.address)" nap ms=1000; }
check "calls that only wait are made" naps
as_long() { # twice as long, if the quota slowed what waits
    espalier forecast nap ms=1000 --json | tee forecast.out |
        sed -n 's/.*"compute_s": *\([0-9.e+-]*\).*/\1/p' | awk '{ good = $1 > 0 && $1 < 1.6 } END { exit !good }'
}
check "and forecast to take as long, whatever the quota" wait_until as_long
stop half

# BLAS lacks a thread: OpenBLAS itself would wait for that thread for ever.
cat >times.esp <<'END2'
problem times "C := A B"
    in  int n
    in  double A[n,n], B[n,n]
    out double C[n,n]
implementation blas
    fortran dgemm_('N','N',n,n,n,double 1.0,A,max(1,n),B,max(1,n),double 0.0,C,max(1,n)) in libblas.so.3
END2
group_with pids pids.max 200
server_file blas 'slots = 1' 'threads = 2'
sed -i "s/nap.esp/times.esp/" blas.conf
start blas sh in_group.sh "$group" espalier-sed --foreground blas.conf
address=$(address_of blas.address)
multiply() { timeout 20 espalier call --server "$address" times n=300 A=rand B=rand; }
check "two threads multiply matrices" wait_until multiply
echo 0 >"$group/pids.max"
# shellcheck disable=SC2154
spawner=$(pgrep -P "$pid_blas" espalier-crd)
kill -9 "$(pgrep -P "$spawner")"
no_worker() { ! pgrep -P "$spawner" >/dev/null; }
check "the worker is gone" wait_until no_worker
echo $(($(cat "$group/pids.current") + 1)) >"$group/pids.max"
check_fails any "with one thread too few a call does not wait for the other one" multiply
check_says "and the limit is named" 'threads of BLAS: too many processes and threads'
check "/health names it, too" health blas 'workers cannot be started: a worker cannot start the threads of BLAS: too many'
echo 200 >"$group/pids.max"
check "with more processes it multiplies again" wait_until multiply
check "and /health is ok" wait_until health blas '^ok blas: '
stop blas
rmdir "$group"

# At a limit of processes.
group_with pids pids.max 200
server_file tasks 'slots = 1'
start tasks sh in_group.sh "$group" espalier-sed --foreground tasks.conf
address=$(address_of tasks.address)
check "a limit of processes is reported" wait_until health tasks '^limits: .*processes and threads 200 .pids.max'
check "the server computes" wait_until espalier call --server "$address" nap ms=1
echo 2 >"$group/pids.max"
# shellcheck disable=SC2154
worker=$(pgrep -P "$(pgrep -P "$pid_tasks" espalier-crd)")
kill -9 "$worker"
check "the log says when workers cannot be started, and names the limit" \
    wait_until grep -Eq "workers cannot be started: too many processes and threads: .* of 2 .pids.max of the control group $group" tasks.log
no_threads() { timeout 20 sh in_group.sh "$group" espalier call --server "$address" nap ms=1; }
check_fails any "a client that may start no threads fails" no_threads
check_says "and the limit is named" 'too many processes and threads'
check_fails any "a call fails at once" timeout 20 espalier call --server "$address" nap ms=1
check_says "and names the limit" 'no worker for the call: too many processes and threads: .* of 2 .pids.max'
check "the log says that no thread can be started" wait_until grep -q 'no thread can be started, and new connections wait for one: too many' tasks.log
check "/health is not ok and says why" wait_until health tasks '^not ok tasks: .*workers cannot be started: too many.*no thread can be started: too many'
echo 200 >"$group/pids.max"
check "with more processes it computes again" wait_until espalier call --server "$address" nap ms=1
check "the log says that threads can be started" wait_until grep -q 'threads can be started again' tasks.log
check "and /health is ok" wait_until health tasks '^ok tasks: '
finish
