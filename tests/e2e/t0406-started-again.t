#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The only server that solves a problem is stopped (SIGTERM) and started again: calls that it had not begun, that run there
# and that come meanwhile wait for it, however long its end takes, and for agent_patience from then on.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

cat >gated.esp <<EOF
problem gated "A call that ends when it is let"
    in      string  ledger
    out     int     j
implementation sh
    command sh "-c" "echo begun >>{ledger}; until [ -e $work/go ]; do sleep 0.1; done; echo 1"
    stdout  j
EOF
agent_for_clients 'log_level = debug'
echo 'agent_patience = "4 s"' >>client.conf
server_below_agent S S 'slots = 1' "problems = \"$work/gated.esp\""
is_there() { espalier tree --json | grep -q '"name": "S"'; }
is_draining() { espalier tree | grep -q ' S .*(draining)'; }
check "a server" wait_until is_there
begin() { # begin NAME: a call beside this script
    espalier call gated ledger="$work/ledger-$1" >"$1.out" 2>&1 &
    eval "$1=$!"
}
ended() { # ended NAME: with success
    eval "wait \$$1"
    status=$?
    cat "$1.out"
    return $status
}
begin running
check "a call runs" wait_until test -s ledger-running
begin queued
check "another one waits behind it" wait_until sh -c "[ \$(grep -c 'gated placed on' agent.out) -ge 2 ]"
# shellcheck disable=SC2154
kill -TERM "$pid_S"
check "the server is stopped" wait_until is_draining
begin coming
stop S
start_server S
touch go
for name in running queued coming; do
    check "a call that it had, or that came meanwhile, is done ($name)" ended $name
done
check "which was not begun before" test "$(wc -l <ledger-queued)" -eq 1
finish
