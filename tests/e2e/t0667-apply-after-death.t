#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whatever of a platform was killed, its file brings it back whole: the only redirector, the only master agent (which comes
# back at another address), both, and everything. Nodes that run are not started a second time.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed timeout
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
at_exit() {
    espalier down alone --force >down.out 2>&1
    espalier down here --force >down.out 2>&1
}
mkdir problems
printf 'problem one "Say it"\n    out int j\nimplementation sh\n    command sh "-c" "echo 1"\n    stdout j\n' >problems/one.esp
printf '%s\n' "problems = { \"$work/problems\" }" 'redirector { }' 'master "MA" { }' 'leader "LA" { parent = "MA" }' \
    'server "S1" { parent = "LA" slots = 1 }' 'server "S2" { parent = "MA" slots = 1 }' >here.conf
check "a platform" espalier up here.conf
folder=$work/run/espalier/here
ESPALIER_CONFIG=$folder/client.conf
export ESPALIER_CONFIG
process_of() { # process_of NAME: the newest
    grep -o 'ready address=[^ ]* pid=[0-9]*' "$folder/$1.log" | tail -n 1 | sed 's/.*pid=//'
}
is_gone() {
    ! alive "$1"
}
kill_nodes() { # what has been killed may be there for a moment yet
    for victim; do
        kill -9 "$(process_of "$victim")"
    done
    for victim; do
        wait_until is_gone "$(process_of "$victim")"
    done
}
below() { # below NODE PARENT
    espalier tree --json | tr -d ' \n' | grep -o "{[^}]*\"name\":\"$1\"[^}]*}" | grep "\"parent\":\"$2\"" | grep -q '"unreachable":false'
}
whole() {
    below LA MA && below S1 LA && below S2 MA && espalier call one
}
same() { # same NAME...: they are the processes that they were
    for node; do
        eval "before=\$before_$node"
        # shellcheck disable=SC2154
        [ "$(process_of "$node")" = "$before" ] || return 1
    done
}
remember() {
    for node in LA S1 S2; do
        eval "before_$node=$(process_of $node)"
    done
}
check "which is whole" whole
remember

kill_nodes redirector
check "without its redirector, what would be done" timeout 120 espalier admin apply here.conf --dry-run
check_says "is to start it" 'redirector: would be started at .*, where it was' '^No redirector runs: '
espalier admin apply here.conf --dry-run --json >planned.json 2>/dev/null
check "also for programs" python3 -c '
import json
[step] = json.load(open("planned.json"))
assert step["node"] == "redirector" and step["done"].startswith("would be started at "), step'
check "without its redirector" timeout 120 espalier admin apply here.conf
check_says "there is nothing but that to do" 'redirector: started at .*, where it was' '^The tree is as the file says'
check "it is whole" whole
check "with the daemons that it had" same LA S1 S2

redirector=$(cat "$folder/redirector.address")
stopped=$(process_of redirector)
check_fails 1 "the only redirector is not stopped by mistake" espalier admin stop redirector
check_says "as nobody would get in" '"redirector" is the only redirector: .*--cut'
check "where everybody still does" espalier call one
check "a redirector that is stopped in good order" espalier admin stop redirector --cut
wait_until is_gone "$stopped"
check "leaves no address file" test ! -e "$folder/redirector.address"
check "is brought back" timeout 120 espalier admin apply here.conf
check_says "where it was" "redirector: started at $redirector, where it was" '^The tree is as the file says'
check "it is whole" whole
check "with the daemons that it had" same LA S1 S2

address=$(cat "$folder/MA.address")
kill_nodes MA
check "without its master agent" timeout 120 espalier admin apply here.conf
check_says "that is started, and the others return" '^MA: started$' '^LA: has returned below MA' '^S1: has returned below LA' '^S2: has returned below MA'
check "it is whole" whole
check "with the daemons that it had" same LA S1 S2
check "and the master agent at another address" test "$(cat "$folder/MA.address")" != "$address"

kill_nodes redirector MA
check "without both" timeout 120 espalier admin apply here.conf
check "it is whole" whole
check "with the daemons that it had" same LA S1 S2

kill_nodes redirector MA LA S1 S2
check "without anything" timeout 120 espalier admin apply here.conf
check_says "all is started" '^MA: started$' '^LA: started below MA$' '^S1: started below LA$' '^S2: started below MA$'
check "it is whole" whole
# ---- one of two redirectors ----
printf 'redirector { name = "R2" }\n' >>here.conf
check "with a second redirector" timeout 120 espalier admin apply here.conf
check "it is whole" whole
second=$(cat "$folder/R2.address")
stopped=$(process_of R2)
check "when one of two is stopped" espalier admin stop R2
wait_until is_gone "$stopped"
check "it is brought back" timeout 120 espalier admin apply here.conf
check_says "where it was, and nothing else is to do" "R2: started at $second, where it was" '^The tree is as the file says'
check "it is whole" whole

# ---- a platform without a redirector ----
check "the platform goes down" espalier down here
sed '/^redirector/d' here.conf >alone.conf
check "one whose clients know its master agent" espalier up alone.conf
folder=$work/run/espalier/alone
ESPALIER_CONFIG=$folder/client.conf
check "is whole" whole
remember
address=$(cat "$folder/MA.address")
kill_nodes MA
check "without it, what would be done" timeout 120 espalier admin apply alone.conf --dry-run
check_says "is to start it" "MA: would be started at $address, where it was" '^No master agent runs: '
check "without it" timeout 120 espalier admin apply alone.conf
check_says "it is started where it was" "MA: started at $address, where it was"
check "it is whole" whole
check "with the daemons that it had" same LA S1 S2
kill_nodes MA LA S1
check "without more" timeout 120 espalier admin apply alone.conf
check "it is whole" whole
check "with a daemon that it had" same S2
check "it goes down" espalier down alone
check "with its redirector the platform" espalier up here.conf
ESPALIER_CONFIG=$work/run/espalier/here/client.conf

printf '%s\n' 'redirector { }' 'master "MB" { }' >other.conf
check_fails 1 "the file of another platform" espalier admin apply other.conf --platform here
check_says "is refused" 'not one node of the file is in the running tree'
finish
