#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Any one process is stopped for half a minute (SIGSTOP) and is the only one of its kind: calls without a deadline end
# when it goes on, each executed once, and calls with a deadline end at that. Three platforms side by side, with the files
# that users write; in each a process of another kind is stopped.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed timeout
stopped_s=27

mkdir problems
cat >problems/test.esp <<EOF
problem step "A moment"
    in      int     i
    out     int     j
implementation sh
    command sh "-c" "sleep 0.05; echo {i}"
    stdout  j

problem once "A line in a ledger"
    in      string  ledger
    out     int     j
    idempotent no
implementation sh
    command sh "-c" "echo line >>{ledger}; sleep 0.05; echo 1"
    stdout  j
EOF
node() { # node NAME KIND LINES...
    name=$1 kind=$2
    shift 2
    {
        printf 'listen = "127.0.0.1:0"\naddress_file = "%s/%s.address"\nlog_file = "%s/%s.log"\n' "$work" "$name" "$work" "$name"
        printf '%s\n' "$@"
    } >"$name.conf"
    start "$name" "espalier-$kind" --foreground "$name.conf"
    eval "$name=\$(address_of $name.address)"
}
server() {
    node "$1" sed "name = \"$1\"" "parent = \"$2\"" "problems = { \"$work/problems\" }"
}
# shellcheck disable=SC2154
{
    node redirector redirector
    node MA1 agent 'name = "MA1"' "redirector = \"$redirector\""
    node MA2 agent 'name = "MA2"'
    node MA3 agent 'name = "MA3"'
    server S1 "$MA1"
    server S2 "$MA2"
    server S3 "$MA3"
    printf 'redirector = "%s"\n' "$redirector" >1.conf
    printf 'agents = { "%s" }\n' "$MA2" >2.conf
    printf 'agents = { "%s" }\n' "$MA3" >3.conf
    stopped="$pid_redirector $pid_MA2 $pid_S3"
}
at_exit() { # who is stopped cannot be asked to end
    # shellcheck disable=SC2086
    kill -CONT $stopped 2>/dev/null
}
on() { # on PLATFORM ARGUMENT...: the command, for that platform
    platform=$1
    shift
    ESPALIER_CONFIG=$work/$platform.conf espalier "$@"
}
for i in 1 2 3; do
    check "platform $i computes" wait_until on $i call step i=1
done

# Clients that know who to ask, and are in the middle of their calls.
for i in 1 2 3; do
    on $i sweep --csv --parallel 1 step i=1..100 >sweep$i 2>sweep$i.err &
    eval "sweep$i=$!"
done
sleep 1
# shellcheck disable=SC2086
kill -STOP $stopped
# Clients that start now are served, too. A call that must not run twice goes to a server that has it in its socket, and
# to one below the master agent that is stopped.
for i in 1 2 3; do
    on $i call step i=7 >call$i 2>&1 &
    eval "call$i=$!"
    on $i call once ledger="$work/ledger$i" >once$i 2>&1 &
    eval "once$i=$!"
done
begun=$(date +%s)
for i in 1 2 3; do
    check_fails 3 "platform $i: a call with a deadline ends there" timeout 20 env ESPALIER_CONFIG="$work/$i.conf" espalier call --timeout '1 s' step i=1
done
left=$((stopped_s - ($(date +%s) - begun)))
[ $left -le 0 ] || sleep $left
# shellcheck disable=SC2086
kill -CONT $stopped

ended() { # ended PID FILE: with success
    wait "$1"
    status=$?
    cat "$2"
    return $status
}
all_done() { # all_done PID NUMBER: the program, and what it says of calls that failed
    wait "$1"
    status=$?
    cat "sweep$2.err"
    awk -F, 'NR > 1 && $2 == ""' "sweep$2"
    return $status
}
whole() { # all numbers of the sweep, each once
    [ "$(sed 1d "$1" | cut -d, -f1 | sort -n | uniq | wc -l)" -eq 100 ] && [ "$(sed 1d "$1" | wc -l)" -eq 100 ]
}
for i in 1 2 3; do
    eval "caller=\$call$i signer=\$once$i sweeper=\$sweep$i"
    # shellcheck disable=SC2154
    {
        check "platform $i: a call that came meanwhile is done" ended "$caller" "call$i"
        check "and one that must not run twice" ended "$signer" "once$i"
        check "which ran once" test "$(cat "ledger$i" | wc -l)" -eq 1
        check "and a program that was calling" all_done "$sweeper" "$i"
    }
    check "with all its results" whole "sweep$i"
done
finish
