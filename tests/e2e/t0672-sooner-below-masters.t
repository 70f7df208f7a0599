#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two master agents below one redirector are one platform: a call that would wait below the master agent that is asked runs
# on the idle server of the other one, as 'espalier forecast' says; a master agent that is stopped does not keep it. A call
# that was placed meanwhile moves to the idle server later.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
pid_of() {
    sed -n "s/^$1 \([0-9]*\) .* $2\$/\1/p" run/espalier/two/processes
}
at_exit() {
    kill -CONT "$(pid_of master MB)" 2>>down.out
    touch stop
    espalier down two --force >>down.out 2>&1
}
mkdir problems
cat >problems/nap.esp <<EOF
problem nap "Sleep, or wait until a file is there"
    in int j
    out int k
implementation sh
    command sh "-c" "if [ \$0 -gt 0 ]; then sleep 0.3; else until [ -e $work/stop ]; do sleep 0.1; done; fi; echo 1" "{j}"
    stdout k
EOF
printf '%s\n' "problems = { \"$work/problems\" }" 'redirector { }' 'master "MA" { }' 'master "MB" { }' \
    'server "S" { parent = "MA" slots = 1 }' 'server "T" { parent = "MB" slots = 1 }' >two.conf
check "two master agents, with a server each" espalier up two.conf
ESPALIER_CONFIG=$work/run/espalier/two/client.conf
export ESPALIER_CONFIG
learn() {
    for server in S T S T; do
        espalier call nap j=1 -s $server || return 1
    done
}
check "both servers know how long a call takes" learn
check "a long call is left on one of them" espalier submit nap j=0 -s S
waits() {
    espalier forecast nap j=1 >forecast && cat forecast && sed -n 2p forecast | grep -q '^T ' && grep -Eq '^S .* [2-9][0-9.]* s ' forecast
}
check "the forecast names the other one first" wait_until waits
ran_on_t() { # each call by a new client, at either master agent
    for master in MA MB MA MB; do
        espalier call --agent "$(cat run/espalier/two/$master.address)" nap j=1 || return 1
        espalier trace >trace
        cat trace
        grep -Eq " T .* computed" trace || return 1
    done
}
check "and calls run there, whichever master agent is asked" ran_on_t
kill -STOP "$(pid_of master MB)"
(
    timeout 200 espalier call --agent "$(cat run/espalier/two/MA.address)" nap j=1 >waiting.out 2>&1
    echo $? >waiting.end
) &
waits_on_s() {
    espalier tree --agent "$(cat run/espalier/two/MA.address)" >tree && cat tree && grep -Eq '^ *S .* 1/1 +1 ' tree
}
check "with the other master agent stopped, a call waits behind the long one" wait_until waits_on_s
kill -CONT "$(pid_of master MB)"
patience=120
check "it ends on the idle server when that master agent answers again" wait_until grep -qx 0 waiting.end
kill -STOP "$(pid_of master MB)"
touch stop
check "with the other master agent stopped" espalier call --agent "$(cat run/espalier/two/MA.address)" nap j=1
finish
