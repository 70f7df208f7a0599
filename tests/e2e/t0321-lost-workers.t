#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Workers, and the process that makes them, are killed while they compute: calls and jobs come to their end all the same.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed setsid

library=$top_builddir/tests/e2e/.libs/libclientroutines.so
needs "$library"
mkdir problems
for name in nap once; do
    printf 'problem %s "wait"\n    in int ms\n    out int slept\n' "$name"
    [ $name = nap ] || printf '    idempotent no\n'
    printf 'implementation c\n    c nap(ms, slept) in %s\n' "$library"
done >problems/test.esp
agent_for_clients 'heartbeat = "200 ms"'
server_below_agent sed S 'slots = 1' "problems = { \"$work/problems\" }"
check "a server is called" wait_until espalier call nap ms=1

spawner() {
    # shellcheck disable=SC2154
    cat "/proc/$pid_sed/task"/*/children | tr ' ' '\n' | while read -r child; do
        tr '\0' ' ' <"/proc/$child/cmdline" | grep -q -- --spawner && echo "$child"
    done
}
computes() {
    espalier tree --json | grep -Eq '"running": 1'
}
is_idle() {
    espalier tree --json | grep -Eq '"running": 0'
}
# begin COMMAND...: in the background, until its routine computes.
begin() {
    wait_until is_idle
    "$@" >called.out 2>&1 &
    caller=$!
    wait_until computes
}
ended() {
    wait "$caller"
    status=$?
    cat called.out
    return $status
}
kill_workers() {
    # shellcheck disable=SC2046
    kill -9 $(descendants "$(spawner)")
}

begin espalier call nap ms=1500
kill -9 "$(spawner)"
check "the spawner is killed: the call ends well" ended
check_says "with its result" 'slept *= *1500'
begin espalier call nap ms=1500
kill_workers
check "its workers are killed: the call ends well" ended
check_says "with its result as well" 'slept *= *1500'
check "the log reports both" sh -c 'grep -q "the process that starts workers has ended: begins anew" sed.log && grep -q "killed by signal 9 .*: begins anew" sed.log'

wait_until is_idle
espalier submit nap ms=1500 >job
wait_until computes
kill -9 "$(spawner)"
check "a job ends well" espalier wait "$(head -n 1 job)"
check "and is fetched" espalier fetch "$(head -n 1 job)"
check_says "with its result" 'slept *= *1500'

begin espalier call once ms=60000
kill -9 "$(spawner)"
check_fails any "what is not idempotent is not called again" ended
check_says "and its caller gets the reason" 'the process that starts workers has ended' 'not declared idempotent'
finish
