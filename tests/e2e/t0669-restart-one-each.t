#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A platform that has one server for each problem is restarted under streams of calls, none of which fails, nor does a
# stream of data: they wait for the server that comes back. A server that is drained for good reports so, and no call
# waits for it.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR
at_exit() {
    espalier down single --force >down.out 2>&1
}
for name in alpha beta; do
    mkdir $name
    printf 'problem %s "Say it"\n    out int j\nimplementation sh\n    command sh "-c" "sleep 0.2; echo 1"\n    stdout j\n' \
        $name >$name/$name.esp
done
cat >alpha/lasting.esp <<EOF
problem lasting "Lasts until it is let go"
    out int j
implementation sh
    command sh "-c" "touch $work/runs; while [ ! -e $work/go ]; do sleep 0.1; done; echo 1"
    stdout j
EOF
{
    echo 'redirector { }'
    echo 'master "MA" { }'
    echo 'leader "LA" { parent = "MA" }'
    echo "server \"A\" { parent = \"LA\" slots = 1 problems = { \"$work/alpha\" } }"
    echo "server \"B\" { parent = \"MA\" slots = 1 problems = { \"$work/beta\" } }"
} >single.conf
check "a platform" espalier up single.conf
ESPALIER_CONFIG=$work/espalier/single/client.conf
export ESPALIER_CONFIG
stream() { # stream NAME ARGUMENT...: calls, until it is enough
    tap_stream=$1
    shift
    while [ ! -e "$work/enough" ]; do
        espalier call "$@" >"$work/$tap_stream.out" 2>&1 || cat "$work/$tap_stream.out" >>"$work/failures"
        echo call >>"$work/$tap_stream.calls"
    done
}
printf '1 2\n' >datum.txt
keep() { # a datum on a server of that name, and away again
    identity=$(espalier data put datum.txt --server A --mode persistent) && espalier data rm "$identity"
}
keep_all() {
    while [ ! -e "$work/enough" ]; do
        keep >"$work/keep.out" 2>&1 || cat "$work/keep.out" >>"$work/failures"
        echo call >>"$work/keep.calls"
    done
}
streams=''
keep_all &
streams="$streams $!"
stream alpha alpha &
streams="$streams $!"
stream beta beta &
streams="$streams $!"
stream bound alpha --server A &
streams="$streams $!"
for name in alpha beta bound keep; do
    wait_until test -s "$work/$name.calls"
done
for order in "restart" "restart A" "restart B"; do
    # shellcheck disable=SC2086
    check "$order" espalier admin $order
done
touch "$work/enough"
# shellcheck disable=SC2086
wait $streams
: >>failures
cp failures "$log"
check "no call has failed" sh -c '! grep . failures'
for name in alpha beta bound keep; do
    check "calls were made meanwhile ($name)" test "$(wc -l <"$work/$name.calls")" -ge 3
done

# ---- a session that lasts for longer than anybody is waited for ----
grep -v '^agent_patience' "$ESPALIER_CONFIG" >hasty.conf
echo 'agent_patience = "300 ms"' >>hasty.conf
hasty() { # hasty NAME ARGUMENT...: a call that is not patient
    tap_hasty=$1
    shift
    ESPALIER_CONFIG=$work/hasty.conf espalier call alpha "$@" >"$work/$tap_hasty.out" 2>&1 ||
        echo "$tap_hasty" >>"$work/hasty.failed"
    : >"$work/$tap_hasty.over"
}
espalier call lasting >long.out 2>&1 &
calls=$!
check "it runs" wait_until test -e runs
espalier admin restart A >restart.out 2>&1 &
restart=$!
drained() { espalier tree | grep -q ' A .*(draining)'; }
check "its server is to be started again" wait_until drained
hasty chosen &
calls="$calls $!"
hasty named --server A &
calls="$calls $!"
hasty bound --server "$(cat "$work/espalier/single/A.address")" &
calls="$calls $!"
data() {
    ESPALIER_CONFIG=$work/hasty.conf espalier data put datum.txt --server A >data.out 2>&1 || echo data >>hasty.failed
    : >data.over
}
data &
calls="$calls $!"
sleep 1.5
: >>hasty.failed
for name in chosen named bound data; do
    check "a call for it waits meanwhile ($name)" test ! -e $name.over
done
touch go
# shellcheck disable=SC2086
wait $calls
cat hasty.failed ./*.out >"$log"
check "and is served by it afterwards" test ! -s hasty.failed
check "as it has been restarted" wait "$restart"
cat long.out >"$log"
check "behind the long one" grep -q '^j = 1' long.out

check "one is drained" espalier admin drain A
check "which is known" wait_until drained
check_fails 3 "a call to it" espalier call alpha --server A
check_says "gets the error that the server drains" 'is draining: it takes no new sessions'
check_fails 3 "a job for it" espalier submit alpha --server A
check_says "is told so, too" 'is draining: it takes no new sessions'
check_fails 3 "and a datum" espalier data put datum.txt --server A
check_says "in the same words" 'is draining: it takes no new sessions'
finish
