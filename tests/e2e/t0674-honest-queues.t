#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A call that waits in a server's queue longer than expected goes to a server that is idle, also one that may not be
# repeated, because the server had not begun it.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
at_exit() {
    touch stop
    espalier down queues --force >>down.out 2>&1
    wait
}
mkdir problems
for name in nap once; do
    repeats=yes
    [ $name = nap ] || repeats=no
    cat >problems/$name.esp <<EOT
problem $name "Sleep, or wait until a file is there"
    in int j
    out int k
    idempotent $repeats
implementation sh
    command sh "-c" "echo \$0 >>$work/begun.$name; if [ \$0 -gt 0 ]; then sleep 0.3; else until [ -e $work/stop ]; do sleep 0.1; done; fi; echo 1" "{j}"
    stdout k
EOT
done
printf '%s\n' "problems = { \"$work/problems\" }" 'redirector { }' 'master "MA" { }' \
    'server "S" { parent = "MA" slots = 1 }' 'server "T" { parent = "MA" slots = 1 }' >queues.conf
check "a master agent with two servers" espalier up queues.conf
ESPALIER_CONFIG=$work/run/espalier/queues/client.conf
export ESPALIER_CONFIG
learn() {
    for server in S T S T; do
        espalier call nap j=1 -s $server && espalier call once j=1 -s $server || return 1
    done
}
check "both servers know how long a call takes" learn
runs() { # JOB
    espalier jobs >jobs.out && cat jobs.out && [ "$(grep -c ' running ' jobs.out)" = "$1" ]
}
none_ended() {
    for k in 1 2 3 4 5; do
        [ ! -e "ended.$k" ] || return 1
    done
}
all_ended() {
    for k in 1 2 3 4 5; do
        [ -e "ended.$k" ] && [ "$(cat "ended.$k")" = 0 ] || return 1
    done
}
call() { # NUMBER PROBLEM
    {
        timeout 120 espalier call "$2" "j=$1" >"call.$1" 2>&1
        echo $? >"ended.$1"
    } &
}
queued() { # SERVER
    sed -n "s#^ *$1 .* [0-9]*/[0-9]* *\([0-9]*\) .*#\1#p" tree
}
all_wait() { # some of them on S
    espalier tree >tree && cat tree && [ "$(queued S)" -ge 1 ] && [ $(($(queued S) + $(queued T))) = 5 ]
}
begun_once() { # each call began on one server only
    for k in 1 2 3; do
        [ "$(grep -cx $k begun.nap)" -ge 1 ] || return 1
    done
    [ "$(grep -cx 4 begun.once)" = 1 ] && [ "$(grep -cx 5 begun.once)" = 1 ]
}
check "an endless call runs on one server" espalier submit nap j=0 -s S
check "another one occupies the other server" espalier submit nap j=0 -s T
check "both run" wait_until runs 2
: >begun.nap
: >begun.once
for k in 1 2 3; do call $k nap; done
for k in 4 5; do call $k once; done
check "five short calls wait behind them" wait_until all_wait
check "none has ended" none_ended
# The calls that wait on S have to move to T then.
on_t=$(espalier jobs | awk '/ T / || / T$/ { print $1; exit }')
check "the endless call on T is cancelled" espalier cancel "$on_t"
check "all short calls end while the endless call on S runs" wait_until all_ended
check "which it still does" runs 1
check "no call was begun twice" begun_once
finish
