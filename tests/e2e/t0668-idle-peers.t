#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One program with many calls under way fills the servers of all master agents, not those of the nearest one alone; what
# takes data that live on servers, or is for one server, stays where those are.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
at_exit() {
    espalier down two --force >down.out 2>&1
}
mkdir problems
cat >problems/nap.esp <<'EOF'
problem nap "Sleep for a while"
    in int j
    out int k
    work 2e9
implementation sh
    command sh "-c" "sleep 0.5; echo 1"
    stdout k
EOF
sed 's/problem nap/problem doze/; s/sleep 0.5/sleep 0/' problems/nap.esp >doze.esp
printf '%s\n' "problems = { \"$work/problems\" }" 'redirector { }' 'master "MA" { log_level = debug }' 'master "MB" { }' \
    'server "S" { parent = "MA" slots = 1 }' 'server "T" { parent = "MB" slots = 1 problems = { "problems", "doze.esp" } }' >two.conf
check "two master agents, with a server each" espalier up two.conf
ESPALIER_CONFIG=$work/run/espalier/two/client.conf
export ESPALIER_CONFIG
check "a program with many calls" espalier sweep nap j=1..16
count() { # count SERVER: of the rows of a sweep
    grep -Ec " $1 " rows
}
cp "$log" rows
cat rows >"$log"
both() {
    cat rows
    [ "$(count S)" -ge 4 ] && [ "$(count T)" -ge 4 ]
}
check "has them on the servers of both" both
check "what is for one server" espalier sweep nap j=1..6 -s T
cp "$log" rows
only_t() {
    cat rows
    [ "$(count T)" -eq 6 ]
}
check "goes there" only_t
check "what only the peer's server solves" espalier call --agent "$(cat run/espalier/two/MA.address)" doze j=1
way_is_whole() { # where it was passed on, and where to
    espalier trace && espalier trace | grep -q 'MA .*passed on  *MB'
}
check "leaves its way with both master agents" way_is_whole
session=$(espalier trace --json | sed -n 's/.*"session": *"\([^"]*\)".*/\1/p' | head -n 1)
check "and a line in the log of the first one" grep -q "session=$session passed on to master agent \"MB\" ($(cat run/espalier/two/MB.address))" \
    run/espalier/two/MA.log
finish
