#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A platform that has one server for each problem is restarted under streams of calls, none of which fails: they wait
# for the server that comes back. What is drained for good says so, and nobody waits for it.
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
streams=''
stream alpha alpha &
streams="$streams $!"
stream beta beta &
streams="$streams $!"
stream bound alpha --server A &
streams="$streams $!"
for name in alpha beta bound; do
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
for name in alpha beta bound; do
    check "calls were made meanwhile ($name)" test "$(wc -l <"$work/$name.calls")" -ge 3
done

check "one is drained" espalier admin drain A
drained() { espalier tree | grep -q ' A .*(draining)'; }
check "which is known" wait_until drained
check_fails 3 "a call to it" espalier call alpha --server A
check_says "is told that it is drained" 'is draining: it takes no new sessions'
check_fails 3 "a job for it" espalier submit alpha --server A
check_says "is told so, too" 'is draining: it takes no new sessions'
printf '1 2\n' >datum.txt
check_fails 3 "and a datum" espalier data put datum.txt --server A
check_says "in the same words" 'is draining: it takes no new sessions'
finish
