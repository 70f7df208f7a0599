#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The error that a client gets when a server has vanished: it says that the server is missing, and not that there never
# was one.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

steps=$top_builddir/tests/e2e/client_steps
library=$top_builddir/tests/e2e/.libs/libclientroutines.so
needs "$steps" "$library"
mkdir problems
{
    printf 'problem nap "wait"\n    in int ms\n    out int slept\nimplementation c\n    c nap(ms, slept) in %s\n' "$library"
} >problems/test.esp
agent_for_clients 'heartbeat = "200 ms"'
printf 'agent_patience = "800 ms"\n' >>client.conf
server_below_agent sed S "problems = { \"$work/problems\" }"

# Right behind the server's start: its parent may not know yet what it solves.
check "a server that is there is called" espalier call nap ms=1

# In the middle of a call.
espalier call nap ms=60000 >called.out 2>&1 &
caller=$!
computes() {
    espalier tree --json | grep -Eq '"running": 1'
}
wait_until computes
# shellcheck disable=SC2154,SC2046
kill -9 "$pid_sed" $(descendants "$pid_sed")
lost_in_the_call() {
    wait "$caller"
    status=$?
    cat called.out
    return $status
}
check_fails 3 "a call whose only server dies ends as one without servers" lost_in_the_call
check_says "and reports it, and for how long another was looked for" \
    'nap was lost in the middle of the call: server S: [^(]*; tried again for [0-9.]+ s: .*no server below "MA" solves nap'
told_once() {
    grep " refused: " agent.out >refused
    cat refused
    [ -s refused ] && ! grep -o 'session=[^ ]*' refused | sort | uniq -d | grep .
}
check "the agent's log reports it once" told_once

# Before a call.
check_fails 3 "a problem that only a lost server has" espalier call nap ms=1
check_says "is not said to be unknown" 'no server below "MA" solves nap; 1 node below it cannot be reached, and may solve it'
check "a handle of it is no unknown function" "$steps" lost
check_fails 2 "a name that nobody ever had is unknown all the same" espalier call napp ms=1
check_says "without a word of what is lost" 'no server below "MA" solves napp$'
check_fails 2 "a name that begins another line" espalier call "$(printf 'na\nforged')" ms=1
check_says "does so in no text" 'no server below "MA" solves na\\nforged'
# In the background: it is ready when its parent knows what it solves.
check "it comes back" espalier-sed sed.conf
check "when it is back it is called" espalier call nap ms=1
at_exit() {
    kill "$(sed -n 's/.* pid=//p' sed.log | tail -n 1)"
}
finish
