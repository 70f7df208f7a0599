#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How long a platform takes from the death of a daemon (SIGKILL), or from the moment it falls silent (SIGSTOP), to the
# next call that succeeds. Two master agents behind two redirectors, each with two leader agents of one server: what is
# killed has somebody who can take over. A new `espalier call` is started as soon as the last one has ended, so that each
# time has that of starting the command in it (the first line tells how long that is).
#
#   top_srcdir=. top_builddir=build sh bench/failover.sh [ROUNDS [SIGNALS [KINDS]]]
. "${top_srcdir:?}/tests/e2e/harness.sh"
rounds=${1:-3} signals=${2:-KILL STOP} kinds=${3:-SeD LA MA redirector}

node() { # node NAME KIND LINES...
    name=$1 program=$2
    shift 2
    {
        printf 'name = "%s"\nlisten = "127.0.0.1:0"\n' "$name"
        printf 'address_file = "%s/%s.address"\nlog_file = "%s/%s.log"\n' "$work" "$name" "$work" "$name"
        printf '%s\n' "$@"
    } >"$name.conf"
    rm -f "$name.address"
    start "$name" "espalier-$program" --foreground "$name.conf"
    eval "$name=\$(address_of $name.address)"
}
problems="problems = { \"$top_srcdir/problems/lapack\", \"$top_srcdir/problems/blas\" }"
begin() {
    node redirector redirector
    node redirector2 redirector
    for m in 1 2; do
        # shellcheck disable=SC2154
        node MA$m agent "redirector = \"$redirector\"" "redirectors = { \"$redirector2\" }"
        eval "master=\$MA$m"
        for l in 1 2; do
            # shellcheck disable=SC2154
            node LA$m$l agent "parent = \"$master\""
            eval "leader=\$LA$m$l"
            # shellcheck disable=SC2154
            node SeD$m$l sed "parent = \"$leader\"" 'slots = 1' 'memory = "64 MiB"' "$problems"
        done
    done
    # Both masters by name, so that it is known which one is asked first.
    # shellcheck disable=SC2154
    printf 'agents = { "%s", "%s" }\n' "$MA1" "$MA2" >agents.conf
    # shellcheck disable=SC2154
    printf 'redirector = "%s"\nredirectors = { "%s" }\n' "$redirector" "$redirector2" >redirectors.conf
}
ESPALIER_CONFIG=$work/agents.conf
export ESPALIER_CONFIG
call() {
    espalier call dgesv A='[4,1;1,3]' B='[6;7]' -o B=- >/dev/null 2>&1
}
now_ms() {
    date +%s%3N
}
# Who takes the next call: "SeD11" and so on.
chosen() {
    espalier call --json dgesv A='[4,1;1,3]' B='[6;7]' 2>/dev/null | tr -d ' \n' | grep -o '"server":"SeD[0-9]*"' | head -n 1 | tr -dc 0-9
}

begin
wait_until call
sleep 3
from=$(now_ms)
call
echo "a call without a fault: $(($(now_ms) - from)) ms"
for signal in $signals; do
    for kind in $kinds; do
        worst=0 times=
        left=$rounds
        while [ "$left" -gt 0 ]; do
            left=$((left - 1))
            digits=$(chosen)
            case $kind in
            MA) name=MA$(echo "$digits" | cut -c1) ;;
            redirector) name=redirector ESPALIER_CONFIG=$work/redirectors.conf ;;
            *) name=$kind$digits ;;
            esac
            eval "pid=\$pid_$name"
            from=$(now_ms)
            # shellcheck disable=SC2154
            kill -"$signal" "$pid"
            until call || [ $(($(now_ms) - from)) -gt 60000 ]; do :; done
            took=$(($(now_ms) - from))
            [ "$took" -gt "$worst" ] && worst=$took
            times="$times $took"
            kill -CONT "$pid" 2>/dev/null
            ESPALIER_CONFIG=$work/agents.conf
            stop_all
            begin
            wait_until call
            sleep 3
        done
        echo "SIG$signal of $kind: at most $worst ms from then to the end of the next call that succeeds (rounds:$times)"
    done
done
