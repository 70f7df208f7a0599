#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A C program with the shared library on a private platform: values of all sizes, a farm, threads, cancelling,
# deadlines, and what happens when servers, agents and the redirector go.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed cc

steps=$top_builddir/tests/e2e/client_steps
library=$top_builddir/tests/e2e/.libs/libclientroutines.so
needs "$steps" "$library"
mkdir problems
{
    printf 'problem plus "a + b"\n    in double a, b\n    out double c\n'
    printf 'implementation c\n    c add(a, b, c) in %s\n' "$library"
    printf 'problem twice "x := 2 x, y := x, sum of x"\n    in int n\n    inout double x[n]\n    out double y[n]\n'
    printf '    out double sum\n    work 3*n\nimplementation c\n    c twice(n, x, y, sum) in %s\n' "$library"
    printf 'problem nap "wait"\n    in int ms\n    out int slept\nimplementation c\n    c nap(ms, slept) in %s\n' "$library"
    printf 'problem rest "wait, and that is all"\n    in int ms\nimplementation c\n    c rest(ms) in %s\n' "$library"
    printf 'problem hold "wait for a file"\n    in string path\n    out int held\n'
    printf 'implementation c\n    c hold(path, held) in %s\n' "$library"
    printf 'problem once "wait for a file, but not twice"\n    in string path\n    out int held\n    idempotent no\n'
    printf 'implementation c\n    c hold(path, held) in %s\n' "$library"
} >problems/test.esp

# daemon NAME PROGRAM LINE...: its file, the program, its address
daemon() {
    name=$1 program=$2
    shift 2
    {
        printf 'name = "%s"\nlisten = "127.0.0.1:0"\naddress_file = "%s/%s.address"\n' "$name" "$work" "$name"
        printf 'state_dir = "%s/%s"\n' "$work" "$name"
        printf '%s\n' "$@"
    } >"$name.conf"
    rm -f "$name.address"
    start "$name" "$program" --foreground "$name.conf"
    address_of "$name.address" >/dev/null
}
address() {
    cat "$1.address"
}
n_servers() {
    [ "$(espalier tree --json | grep -o '"role": "server"[^}]*"unreachable": false' | wc -l)" -eq "$1" ]
}

# All servers there are, directly below the master.
below_master() {
    espalier tree --json | tr -d '\n' | sed 's/}/}\n/g' | grep '"role": "server"' >servers && ! grep -v '"parent": "ma1"' servers
}

daemon red espalier-redirector
daemon ma1 espalier-agent "redirector = \"$(address red)\"" 'freshness = "200 ms"'
daemon la espalier-agent "parent = \"$(address ma1)\"" 'freshness = "200 ms"'
for name in s1 s2; do
    daemon $name espalier-sed "parent = \"$(address la)\"" 'slots = 4' 'sessions_per_client = 100' "problems = { \"$work/problems\", \"$top_srcdir/problems\" }"
done
printf 'redirector = "%s"\n' "$(address red)" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
wait_until n_servers 2

check "values of all sizes go and come" "$steps" values
check "a farm of short and longer sessions" "$steps" farm
check "a farm of 3,000 calls on servers that take 100 of a client" "$steps" large-farm
check "a farm of sessions that give nothing back" "$steps" without-outputs
check "an overwritten array that nobody wants back" "$steps" unwanted
check "eight threads share a handle" "$steps" threads
check "signals stay as they were, initialize and finalize alternate" "$steps" guest
check "a long session does not hold up many short ones" "$steps" long-and-short
check "sessions are cancelled and have deadlines" "$steps" cancel

# What stands in the examples works.
for example in solve farm errors bound forecast; do
    cc -I"$top_srcdir/include" "$top_srcdir/examples/$example.c" -L"$top_builddir/client/.libs" -lespalier -lm -o "$example" \
        >"$example.out" 2>&1
    LD_LIBRARY_PATH=$top_builddir/client/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} check "the example $example runs" "./$example"
done

# Both sessions compute on the only server there is; another comes, and the first is killed with its workers.
both_on_one_server() {
    stop s2 KILL
    wait_until n_servers 1
}
check "only one server is left" both_on_one_server
"$steps" killed "$work/computing" >killed.out 2>&1 &
runner=$!
wait_until test -e computing
daemon s3 espalier-sed "parent = \"$(address la)\"" 'slots = 4' "problems = { \"$work/problems\" }"
wait_until n_servers 2
# shellcheck disable=SC2154,SC2046
kill -9 "$pid_s1" $(descendants "$pid_s1")
mv computing go # lets those go that compute from now on
lost_server_is_replaced() {
    wait "$runner"
    status=$?
    cat killed.out
    return $status
}
check "a server that is killed in a call is replaced where a repetition is harmless" lost_server_is_replaced
check_says "and named where it is not" 's1' 'idempotent'

# A leader agent dies, and its servers go to the master; it comes back, and they return.
"$steps" gone here >gone.out 2>&1 &
runner=$!
wait_until test -e here
sed -i "s/^listen = .*/listen = \"$(address la)\"/" la.conf
stop la KILL
check "the servers of a leader agent that is killed go to the master" wait_until below_master
rm -f here
sleep 1
start la espalier-agent --foreground la.conf
check "a leader agent that is killed and restarted is waited for" wait "$runner"
wait_until n_servers 1

# A master agent that was just restarted knows of nobody, and says no to nobody.
sed -i "s/^listen = .*/listen = \"$(address ma1)\"/" ma1.conf
rm ma1.address
stop ma1 KILL
start ma1 espalier-agent --foreground ma1.conf
address_of ma1.address >/dev/null
check "a call right behind the restart of the master agent is made" espalier call plus a=1 b=2
wait_until n_servers 1

# The redirector is asked once; then the master that it named is enough, and another when that one goes.
"$steps" gone here >gone.out 2>&1 &
runner=$!
wait_until test -e here
stop red
rm -f here
check "the redirector may go" wait "$runner"
daemon ma2 espalier-agent 'freshness = "200 ms"'
daemon s4 espalier-sed "parent = \"$(address ma2)\"" "problems = { \"$work/problems\" }"
printf 'agents = { "%s", "%s" }\n' "$(address ma1)" "$(address ma2)" >client.conf
wait_until espalier call --server s4 plus a=1 b=2
"$steps" gone here >gone.out 2>&1 &
runner=$!
wait_until test -e here
stop ma1 KILL
rm -f here
check "a master agent that is killed is left for the next" wait "$runner"
finish
