#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server with intermediate results of a sequence is killed between the steps, or within one: the program gets what is
# right, computed again, or an error with the name of what is lost, and goes on with the other servers.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
steps=$top_builddir/tests/e2e/lost_steps
[ -x "$steps" ] || skip_all "built without the ORB"

two_servers_with_data "$top_srcdir/tests/e2e/late.esp"
echo 'agent_patience = "2 s"' >>client.conf # nobody waits longer for a server that was killed

begins() { # begins STEPS: they leave a result on a server, $victim
    rm -f made killed failed back
    start steps timeout 120 "$steps" "$1"
    wait_until test -e made && victim_has_it
}
victim_has_it() {
    espalier data ls -s A >on-A && espalier data ls -s B >on-B && cat on-A on-B
    victim=A
    grep -q ':' on-A || victim=B
    grep -q ':' on-$victim
}
kill_victim() {
    stop $victim KILL
    touch killed
}
kill_and_start() {
    stop $victim KILL
    start_server $victim
    touch killed
}
end() { # end [STATUS]
    # shellcheck disable=SC2154
    wait "$pid_steps"
    ended=$?
    cat steps.out
    [ $ended -eq "${1:-0}" ]
}
there_again() {
    start_server $victim
    wait_until servers 2 && wait_until nothing_left
}
nothing_left() {
    espalier data ls >left && ! grep ':' left
}

check "a sequence leaves a result on a server" begins again
kill_victim
check "when that is killed it is computed again on the other one" end
check "two servers are there again, with nothing left" there_again

check "another one does" begins again
kill_and_start
check "when that is killed, and back at once with nothing, it is computed again, too" end
check "nothing is left" wait_until nothing_left
check "two servers are there" wait_until servers 2

in_use() {
    espalier data ls -s A --json >on-A && espalier data ls -s B --json >on-B &&
        { victim=A; grep -q '"users": [1-9]' on-A || { victim=B; grep -q '"users": [1-9]' on-B; }; }
}
check "a third one leaves a result" begins under-way
check "which a call takes" wait_until in_use
kill_victim
check "when the server is killed meanwhile the call goes on elsewhere, with what is right" end
check "two servers are there again, with nothing left" there_again

check "a fourth one, which writes over what it was made of" begins overwritten
kill_victim
check "when the server is killed, a call that takes the result reports the lost one, and the program goes on" end
check "two servers are there again, with nothing left" there_again
check "the same" begins looked
kill_victim
check "a program that looks at it is stopped" end 134
check_says "and told at what, and why" \
    'has looked at result "C" of a call of product at 0x[0-9a-f]+, .*lost with its server, and cannot be computed again'
check "never does it find a number" sh -c '! grep found steps.out'
check "two servers are there again, with nothing left" there_again

check "a result that the program has a name for" begins datum
kill_victim
check "when its server is killed, a call that takes it reports that name, and the program goes on" end
check "two servers are there again, with nothing left" there_again

stop B
check "with one server" begins alone
kill_victim
check "a call after its end" wait_until test -e failed
start_server $victim
check "fails, and when that is back" wait_until servers 1
touch back
check "the same call computes all of it again" end
finish
