#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Of two master agents the one with the servers dies: its children join the other one, and a call that is made meanwhile
# waits for that, also one that asks for its problem first. A problem that nobody ever solved gives an error at once
# again.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed
run() { # run NAME PROGRAM LINES...: the daemon, with these further lines in NAME.conf
    name=$1 program=$2
    shift 2
    {
        printf 'name = "%s"\nlisten = "127.0.0.1:0"\naddress_file = "%s/%s.address"\nlog_file = "%s/%s.log"\n' \
            "$name" "$work" "$name" "$work" "$name"
        printf '%s\n' 'log_level = debug' "$@"
    } >"$name.conf"
    start "$name" "$program" --foreground "$name.conf"
    address_of "$name.address" >/dev/null
}
terms='heartbeat = "200 ms"
lease = "1 s"'
run R espalier-redirector "$terms"
redirector=$(cat R.address)
printf 'redirector = "%s"\n' "$redirector" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
run MA espalier-agent "$terms" "redirector = \"$redirector\""
run MB espalier-agent "$terms" "redirector = \"$redirector\""
run LA espalier-agent "$terms" "parent = \"$(cat MA.address)\"" "parents = { \"$(cat MB.address)\" }"
for name in S T; do
    parent=$([ $name = S ] && echo LA || echo MA)
    run $name espalier-sed "parent = \"$(cat $parent.address)\"" "parents = { \"$(cat MB.address)\" }" 'slots = 1' 'memory = "32 MiB"' \
        "problems = \"$top_srcdir/problems/blas/level1.esp\""
done
call() {
    espalier call ddot x=[1,2] y=[3,4]
}
stream() {
    while [ ! -e enough ]; do
        call >>stream 2>&1 || echo failed >>failures
        echo call >>calls
    done
}
masters() {
    [ "$(espalier tree | grep -c 'master')" -eq 2 ]
}
check "two master agents" wait_until masters
check "a call" wait_until call
stream &
streams=$!
stream &
streams="$streams $!"
wait_until test -s calls
# shellcheck disable=SC2154
kill -STOP "$pid_LA" "$pid_S" "$pid_T" # so that nobody has come to the other yet when it is asked
stop MA KILL
asked=$(grep -c 'later ones sent to "MB" of 1' R.log)
is_asked() {
    [ "$(grep -c 'later ones sent to "MB" of 1' R.log)" -gt "$asked" ]
}
check "the other one is asked" wait_until is_asked
call >answer 2>&1 &
caller=$!
is_asked_again() {
    [ "$(grep -c 'later ones sent to "MB" of 1' R.log)" -gt "$((asked + 2))" ] || ! kill -0 $caller 2>/dev/null
}
check "and by a call more" wait_until is_asked_again
kill -CONT "$pid_LA" "$pid_S" "$pid_T"
is_below() {
    espalier tree --json | tr -d ' \n' | grep -o '{[^}]*"name":"LA"[^}]*}' | grep -q '"parent":"MB"'
}
check "what was below it comes to the other" wait_until is_below
check "a call" call
touch enough
# shellcheck disable=SC2086
wait $streams
answers() {
    wait $caller
    answered=$?
    cat answer
    return $answered
}
check "which is answered" answers
cat failures stream >"$log" 2>/dev/null
check "no call has failed" test ! -e failures
check_fails 2 "a name that nobody ever had is unknown" espalier call nosuchproblem x=1
finish
