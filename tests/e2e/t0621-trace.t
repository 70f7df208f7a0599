#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The way of a call whose server was lost: whichever of its sessions is asked for, all attempts are shown, what lay
# between them, the fetch of its result and the whole time.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

library=$top_builddir/tests/e2e/.libs/libclientroutines.so
needs "$library"
mkdir problems
{
    printf 'problem nap "wait"\n    in int ms\n    out int slept\nimplementation c\n    c nap(ms, slept) in %s\n' "$library"
    printf 'problem fill "a large result"\n    in int n\n    out double x[n]\nimplementation c\n    c fill_slowly(n, x) in %s\n' "$library"
} >problems/test.esp
agent_for_clients 'heartbeat = "200 ms"' 'log_level = debug'
server_below_agent S S 'log_level = debug' "problems = { \"$work/problems\" }"
server_below_agent T T 'log_level = debug' "problems = { \"$work/problems\" }"
two_servers() { [ "$(espalier tree | grep -c ' server ')" -eq 2 ]; }
check "two servers are there" wait_until two_servers
check_fails 2 "before there was a call, there is no last one" espalier trace
check_says "which is reported" 'no program of this user has ended that made a call'
check "one that both have" wait_until espalier call nap ms=1

espalier call nap ms=2000 >called.out 2>&1 &
call=$!
has_it() { # has_it SERVER
    espalier tree --json >tree.json && tr -d ' \n' <tree.json | grep -Eq "\"name\":\"$1\"[^}]*\"running\":1"
}
either() { has_it S || has_it T; }
check "a call runs" wait_until either
if has_it S; then lost=S other=T; else lost=T other=S; fi
first=$(grep -o 'session=[0-9a-f]*-[0-9]*' MA.log agent.out agent.log 2>/dev/null | tail -n 1 | sed 's/.*=//')
stop $lost KILL
check "its server is killed, and the call succeeds" wait $call
second=$(grep -o 'session=[0-9a-f]*-[0-9]*' $other.log | tail -n 1 | cut -d= -f2)
check "as another session" test "$first" != "$second"
for session in "$first" "$second"; do
    check "the way of $session" espalier trace "$session"
    check_says "has both attempts, and what was between them" "MA .*chosen +$lost +$first" \
        "MA .*called again +$lost was lost +$second" "MA .*chosen +$other +$second" \
        "$other .*computed +nap +$second" "$other .*fetched +how it ended +$second" ' s in all, in 2 attempts\.$'
    check "each loss is reported once" test "$(grep -c 'called again' "$log")" -eq 1
done
check "the last one" espalier trace
check_says "is that of the program that ended last, with its other attempts" "^Session $second, your last one:\$" "MA .*chosen +$lost +$first"
check "as JSON" espalier trace --json "$second"
check_says "with the session of each line" "\"session\": \"$first\"" "\"session\": \"$second\""
check_fails 2 "what no session can be called" espalier trace "$(printf '%0200d' 7)"
check_says "is reported" 'expected a session like c0ffee12-7'

check "a large result" espalier call fill n=1000000 -o x=x.npy
session=$(grep -o 'session=[0-9a-f]*-[0-9]*' $other.log | tail -n 1 | cut -d= -f2)
check "its way" espalier trace "$session"
check_says "has the fetch of its result" "$other .*fetched +x\$" ' in all\.$'
finish
