#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Processes are killed that have nothing to do and from which nobody expects a word for a minute: those above them know at
# once, and those below them look elsewhere at once.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs jq espalier espalier-agent espalier-sed espalier-redirector

library=$top_builddir/tests/e2e/.libs/libclientroutines.so
needs "$library"
mkdir problems
printf 'problem nap "wait"\n    in int ms\n    out int slept\nimplementation c\n    c nap(ms, slept) in %s\n' "$library" >problems/test.esp
seldom='heartbeat = "60 s"'
rarely='lease = "120 s"'
printf 'name = "R"\nlisten = "127.0.0.1:0"\naddress_file = "%s/R.address"\nlog_file = "%s/R.log"\n%s\n%s\n' \
    "$work" "$work" "$seldom" "$rarely" >R.conf
start R espalier-redirector --foreground R.conf
redirector=$(address_of R.address)
agent_for_clients "redirector = \"$redirector\"" "log_file = \"$work/MA.log\"" "$seldom" "$rarely"
master=$agent
printf 'name = "LA"\nparent = "%s"\nlisten = "127.0.0.1:0"\naddress_file = "%s/LA.address"\nlog_file = "%s/LA.log"\n%s\n%s\n' \
    "$master" "$work" "$work" "$seldom" "$rarely" >LA.conf
start LA espalier-agent --foreground LA.conf
server_below_agent near near "problems = { \"$work/problems\" }"
agent=$(address_of LA.address)
server_below_agent far far "problems = { \"$work/problems\" }"
server_below_agent stays stays "problems = { \"$work/problems\" }"

has() { # has NAME PARENT: the tree shows it there, and reaches it
    espalier tree --json >tree && jq -e --arg name "$1" --arg parent "$2" \
        'any(.[]; .name == $name and .parent == $parent and .unreachable == false)' tree
}
lacks() { espalier tree --json >tree && jq -e --arg name "$1" 'all(.[]; .name != $name or .unreachable)' tree; }
all_there() { has near MA && has far LA && has stays LA; }
check "three servers, two of them below a leader" wait_until all_there
check "are called" espalier call nap ms=1
# shellcheck disable=SC2154
kill -9 "$pid_near" "$pid_far"
check "a server below the master is killed: the tree is without it" wait_until lacks near
check "one below the leader as well" wait_until lacks far
check "as its connection told" grep -q 'server "far" .* is gone.*: the connection broke' LA.log
check "and who is left is called" espalier call nap ms=1
# shellcheck disable=SC2154
kill -9 "$pid_LA"
check "the leader is killed: its server is below the master" wait_until has stays MA
check "and the leader is gone" wait_until lacks LA
# shellcheck disable=SC2154
kill -9 "$pid_agent"
check "the master is killed: the redirector knows" wait_until grep -q '"MA" .*is gone\|"MA" .*: the connection broke' R.log
finish
