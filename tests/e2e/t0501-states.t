#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Factor once, solve many times: states that routines leave on a server, and what can happen to them.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

library=$top_builddir/tests/unit/.libs/libroutines.so
[ -f "$library" ] || skip_all "the library with the routines of the tests is not built"
mkdir problems
cat >problems/counter.esp <<EOF2
problem counter_open "A counter"
    in      int     start
    out     state   counter
    memory  1e6
implementation c
    c       status = counter_open(start, counter) in $library
    error   status != 0 "a counter cannot start at {start}"
problem counter_add "Counts"
    in      state   counter
    in      int     by
    out     int     count
    idempotent no
implementation c
    c       status = counter_add(counter, by, count) in $library
    error   status != 0 "nothing to add"
problem counter_close "The end of a counter"
    inout   state   counter
implementation c
    c       counter_close(counter) in $library
EOF2
agent_for_clients
for name in A B; do
    server_below_agent "$name" "$name" 'slots = 1' 'state_lease = "3 s"' "problems = \"$work/problems\""
done

both() {
    espalier problems | grep -Eq '^counter_open .* 2 '
}
# open_at SERVER START: a counter's identity in $state
open_at() {
    espalier call -s "$1" counter_open start="$2" >open.out 2>&1 || { cat open.out; return 1; }
    state=$(grep -Eo 'state:[0-9a-f]{32}@[A-Za-z]+' open.out)
    [ -n "$state" ]
}
check "two servers have the counter" wait_until both
check "a state is opened on one" open_at A 5
one=$state
check "another on the other" open_at B 50
two=$state
check "a call finds the server that keeps it" espalier call -v counter_add counter="$one" by=3
check_says "and what is there" 'count *= *8'
check "so does one for the other" espalier call counter_add counter="$two" by=3
check_says "with its own count" 'count *= *53'
check "again and again" espalier call counter_add counter="$one" by=1
check_says "and it has been kept" 'count *= *9'
check_fails 1 "a call that fails" espalier call counter_add counter="$one" by=0
check_says "says why" 'nothing to add'
check "and leaves the state" espalier call counter_add counter="$one" by=1
check "it is closed" espalier call counter_close counter="$one"
check_fails 5 "then it is gone" espalier call counter_add counter="$one" by=1
check_says "and why is reported" 'server A has no such state .*it was closed by counter_close'
check_fails 1 "a call that crashes" espalier call counter_add counter="$two" by=-1
check_fails 5 "ends the state" espalier call counter_add counter="$two" by=1
check_says "and why is reported" 'it ended with a call of counter_add'
check_fails any "an identity that is none is refused" espalier call counter_add counter=nonsense by=1
check_says "by name" 'argument "counter": expected a state, as state:ID@SERVER, found "nonsense"'
check_fails 3 "a state of a server that is not there" espalier call counter_add counter="state:0123@nowhere" by=1
check "one that nobody uses" open_at A 1
dropped() {
    ! espalier call counter_add counter="$state" by=1 >add.out 2>&1 && grep -q 'nobody used it for 3 s' add.out
}
sleep 3.5
check "is dropped after its lease" wait_until dropped
# A job leaves a state as a call does, and works on one.
check "a job that opens one" sh -c 'espalier submit -s A counter_open start=7 >job'
check "ends" espalier fetch --wait "$(cat job)"
state=$(grep -Eo 'state:[0-9a-f]{32}@A' "$log")
check "and the state is there" test -n "$state"
check "a job that works on it" sh -c "espalier submit counter_add counter=$state by=2 >job"
check "finds its server" espalier fetch --wait "$(cat job)"
check_says "and the count" 'count *= *9'
check "a call works, too, after the jobs are forgotten" espalier call counter_add counter="$state" by=1
check_says "too" 'count *= *10'
check "a job that closes it" sh -c "espalier submit counter_close counter=$state >job"
check "ends it" espalier fetch --wait "$(cat job)"
check_fails 5 "for everybody" espalier call counter_add counter="$state" by=1
check_says "which is reported" 'it was closed by counter_close'
given_up() {
    grep -q 'counter_open: the call that opened it was given up by its client' A.log
}
check "a job whose state nobody wants" sh -c 'espalier submit -s A counter_open start=7 >job'
check "is looked at" espalier wait "$(cat job)"
check_fails 1 "the states of others were left" given_up
check "and forgotten" espalier jobs --forget "$(cat job)"
check "with its state" wait_until given_up
check "one whose server is restarted" open_at A 1
stop A
check_fails any "and is not there meanwhile" espalier call counter_add counter="$state" by=1
check_says "is reported as such" 'the state is on server A, and ends with it: .*A'
start A espalier-sed --foreground A.conf
check "is gone" wait_until both
check_fails 5 "with it" espalier call counter_add counter="$state" by=1
check_says "which is reported" 'has no such state .*the server was restarted'
finish
