#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two master agents below one redirector are one platform: 'data ls' shows the data of both, and a call runs where its
# data are, whichever master agent the client asks first.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
pid_master() {
    sed -n 's/^master \([0-9]*\) .* MB$/\1/p' run/espalier/two/processes
}
at_exit() {
    kill -CONT "$(pid_master)" 2>>down.out
    espalier down two --force >>down.out 2>&1
}
printf '%s\n' "problems = { \"$top_srcdir/problems\" }" 'redirector { }' 'master "MA" { }' 'master "MB" { }' \
    'server "S" { parent = "MA" slots = 1 }' 'server "T" { parent = "MB" slots = 1 }' >two.conf
check "two master agents, with a server each" espalier up two.conf
ESPALIER_CONFIG=$work/run/espalier/two/client.conf
export ESPALIER_CONFIG

{
    printf '%%%%MatrixMarket matrix array real general\n200000 1\n'
    yes 1 | head -n 200000
} >x.mtx
check "a large vector is made" espalier matrix convert x.mtx x.npy
on_s=$(espalier data put x.npy -s S -m persistent)
on_t=$(espalier data put x.npy -s T -m persistent)
# A redirector names another master agent to each client, so several clients are tried.
lists_both() {
    for _ in 1 2 3 4; do
        espalier data ls >list || return 1
        cat list
        { grep -q "^$on_s " list && grep -q "^$on_t " list; } || return 1
    done
}
# A redirector that was just started cannot be sure.
is_nowhere() { espalier data ls -s nosuch 2>&1 | tee nowhere | grep -Eq 'no node named "nosuch" below "M[AB]".*; nor is it known to 1 other master agent of the platform'; }
check "a server that is not there was looked for below all master agents" wait_until is_nowhere
check "'data ls' shows the data below both, whoever asks" lists_both

# Each call begins when the agents have heard that the one before it has ended.
ran_on() { # ran_on SERVER DATUM: four clients
    for _ in 1 2 3 4; do
        espalier call dasum "x=data:$2" || return 1
        espalier trace >trace
        cat trace
        grep -Eq " $1 .* computed" trace || return 1
        sleep 0.3
    done
}
check "a call runs on the server that has its data" ran_on S "$on_s"
check "also below the other master agent" ran_on T "$on_t"
copied() {
    espalier data ls | tee list
    [ "$(grep -c '^[ST]:' list)" -ne 2 ]
}
check_fails 1 "and nothing has been copied" copied

kill -STOP "$(pid_master)"
check_fails 3 "with one master agent stopped, the list is not complete" espalier data ls
check_says "which is reported" "^$on_s " 'master agent'
finish
