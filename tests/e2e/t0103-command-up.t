#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Platforms that do not come up, or fall apart: what up tells, and that down ends what was started and nothing else.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR

at_exit() {
    for name in one two busy broken pinned moved; do
        espalier down $name --force >down.out 2>&1
    done
}

none_of() {
    while read -r _ pid _ _; do
        [ "$pid" -gt 1 ] && alive "$pid" && { echo "$pid runs"; return 1; }
    done <"$1"
    return 0
}

pid_of() {
    awk -v name="$2" '$4 == name && $1 != "load" { print $2 }' "espalier/$1/processes"
}

platform() {
    printf 'problems = { "%s" }\n' "$top_srcdir/problems"
    echo 'redirector { }'
    echo "master \"MA\" { ${1:-} }"
    echo "server \"S\" { parent = \"MA\" slots = 1 ${2:-} }"
}

platform >one.conf
check "two platforms" espalier up one.conf
mkdir own
printf 'problem own "Words"\n    out string said\nimplementation echo\n    command echo "own words"\n    stdout said\n' >own/own.esp
printf 'problem dgesv "Another one"\n    out string said\nimplementation echo\n    command echo\n    stdout said\n' >dgesv.esp
check "side by side, with further descriptions" espalier up one.conf --name two --problems own
check "of which one is called" espalier call own --platform two
check_says "and answers" 'own words'
check "those of the file are there too" espalier problems dgesv --platform two
platform | sed 1d >bare.conf
check "a platform file without problems" espalier up bare.conf --name bare --problems own
check "has those of --problems" espalier call own --platform bare
check "and the installed ones" espalier problems dgesv --platform bare
check "is stopped" espalier down bare
check_fails 4 "a problem that the file has already is no further one" espalier up one.conf --name three --problems dgesv.esp
check_says "as both places tell" "--problems: .*dgesv.esp:1.*'dgesv' is described already in|--problems: .*'dgesv' is described already in .*dgesv.esp:1"
cp espalier/one/processes one.processes
cp espalier/two/processes two.processes
check "one is asked by its name" espalier tree --platform two
check_says "and answers" '^ *S +server'
check_fails 3 "without a name neither is meant" espalier tree
check_says "and both are reported" '--platform \((one, two|two, one)\)'

port=$(sed 's/.*://' espalier/one/MA.address)
platform "listen = \"127.0.0.1:$port\"" >busy.conf
check_fails 1 "a port in use" espalier up busy.conf
check_says "names the daemon, its log and its address" 'master MA ended with exit code' "127.0.0.1:$port" 'has been stopped'
check "leaves no process" test ! -e espalier/busy/processes

echo 'problem dgesv "broken" in in in' >broken.esp
platform '' "problems = { \"$work/broken.esp\" }" >broken.conf
check_fails 1 "a malformed description" espalier up broken.conf
check_says "is reported with file and line" 'server S ended with exit code' 'broken.esp:1:'
check "leaves no process" test ! -e espalier/broken/processes

check "the first platform stops" espalier down one.conf
check "its processes are gone" none_of one.processes
check "the other goes on" espalier tree --platform two
kill -9 "$(pid_of two S)"
check "a platform whose server was killed" sh -c 'sleep 0.2; espalier down two'
check_says "stops too" '2 daemons stopped'
check "nothing of it is left" none_of two.processes

# ---- addresses are others each time; what was moved stays where it was moved to ----
below() { # below NODE PARENT
    espalier tree --platform moved --json | tr -d ' \n' | grep -o "{[^}]*\"name\":\"$1\"[^}]*}" |
        grep -q "\"parent\":\"$2\""
}
{
    printf 'problems = { "%s" }\nredirector { }\nmaster "MA" { }\n' "$top_srcdir/problems/blas"
    printf 'leader "LA%s" { parent = "MA" }\n' 1 2
    echo 'server "B" { parent = "LA1" slots = 1 }'
} >moved.conf
check "a platform with two leaders" espalier up moved.conf
check "a server is moved" espalier admin move B --to LA2 --platform moved
check "the platform stops and keeps its files" espalier down moved -k
check "it starts again" espalier up moved.conf
check "the server is where it was moved to" wait_until below B LA2
check "down" espalier down moved -k
sed -i 's/parent = "LA1"/parent = "MA"/' moved.conf
check "where its file names another parent than when it was moved" espalier up moved.conf
check "the file is the newer word" wait_until below B MA
check "down for good" espalier down moved

started_some() {
    [ -f espalier/broken/processes ] && cp espalier/broken/processes broken.processes
}

# An agent that takes one child only refuses the second: such a platform never gets complete.
platform 'children = 1' >broken.conf
echo 'server "T" { parent = "MA" slots = 1 }' >>broken.conf
check_fails 1 "a parent that refuses a child" espalier up broken.conf --wait 2s
check_says "is reported after the time given, with the reason" 'server [ST] was not there within 2 s' 'has its 1 children already' 'has been stopped'
start up espalier up broken.conf --wait '60 s'
wait_until started_some
stop up TERM
check "an up that is interrupted in the middle" test ! -e espalier/broken/processes
check "leaves no process" none_of broken.processes

start other sleep 1000
mkdir -p espalier/stale
chmod 700 espalier/stale
# shellcheck disable=SC2154
echo "server $pid_other 1 S" >espalier/stale/processes
check "a list of processes that have ended since" espalier down stale
check "touches no process that only has the same number" kill -0 "$pid_other"

if [ "$(id -u)" -ne 0 ]; then
    platform '' 'cpu_quota = 30%' >pinned.conf
    check "without a control group" espalier up pinned.conf
    check_says "a load competes" 'server +S .*it shares processor [0-9]+ with 2 busy processes|control group'
    cp espalier/pinned/processes pinned.processes
    check "it stops" espalier down pinned
    check "and the load with it" none_of pinned.processes
fi

chmod 777 espalier/stale 2>/dev/null || { mkdir -p espalier/stale && chmod 777 espalier/stale; }
check_fails 1 "a folder that others can write to" espalier up one.conf --name stale
check_says "is not trusted" 'not a folder that only you can write to'
finish
