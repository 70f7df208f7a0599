#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions of a client inside routines of a server, and what can happen to the client meanwhile.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed cc
steps=$top_builddir/tests/e2e/callback_steps
[ -x "$steps" ] || skip_all "the client library is not built"

mkdir problems
cp "$top_srcdir/examples/callback/calc.esp" problems
cc -shared -fPIC -o problems/libcalc.so "$top_srcdir/examples/callback/calc.c" || skip_all "the compiler fails"
agent_for_clients
server_below_agent S S 'slots = 1' 'orphan_lease = "2 s"' "problems = \"$work/problems\""

there() {
    espalier problems | grep -q '^quad '
}
check "the server has the problems" wait_until there
check "their page shows the function" espalier problems quad
check_says "as it is to be" 'callback +f\(in double x\): double'
check "values are right, and calls counted" "$steps" values
check "asynchronous sessions have functions" "$steps" async
check "so have vectors" "$steps" vectors
check "a function that fails, or calls the library, is told" "$steps" failures
check "a function may take its time" "$steps" slow
check "but not longer than the deadline" "$steps" deadline
check "a job is refused" "$steps" job
check_fails any "a command line has no functions" espalier call quad a=0 b=1
check_says "which is told" 'quad: f is a function of the caller, which a command line cannot give'
start client "$steps" hang "$work/asked"
check "a client is asked" wait_until test -f asked
stop client KILL
check "and killed: the server's slot is free again" "$steps" values
start patient "$steps" hang "$work/asked2"
check "a client that is long at work" wait_until test -f asked2
sleep 4
gave_up_once() {
    [ "$(grep -c 'is gone' S.log)" -eq 1 ]
}
check "is not given up as the dead one was" gave_up_once
is_running() {
    espalier tree --json | tr -d ' \n' | grep -q '"running":1'
}
check "its call goes on" wait_until is_running
stop patient KILL
check "until it ends" "$steps" values
finish
