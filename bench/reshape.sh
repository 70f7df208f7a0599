#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A leader agent with 50 servers below it changes its parent, to and fro, while clients call some 500 times a second: how
# long the longest call took with it and before it, and how many failed.
#
#   top_srcdir=. top_builddir=build sh bench/reshape.sh [SERVERS [CLIENTS [MOVES]]]
. "${top_srcdir:?}/tests/e2e/harness.sh"
servers=${1:-50} clients=${2:-20} moves=${3:-6}
seconds=$((5 + 3 * moves))

node() { # node NAME KIND LINES...
    name=$1 program=$2
    shift 2
    {
        printf 'name = "%s"\nlisten = "127.0.0.1:0"\n' "$name"
        printf 'address_file = "%s/%s.address"\nlog_file = "%s/%s.log"\n' "$work" "$name" "$work" "$name"
        printf '%s\n' "$@"
    } >"$name.conf"
    start "$name" "espalier-$program" --foreground "$name.conf"
    address_of "$name.address" >/dev/null
}
for name in once again; do # what the clients of espalier-chaos call
    printf 'problem %s "Signs the ledger"\n' $name
    printf '    in %s\n' 'string ledger' 'double call' 'int ms, n' 'double x[n]'
    printf '    out %s\n' 'double y[n]' 'int signed_it'
    printf 'implementation c\n    c chaos_stamp(ledger, call, ms, n, x, y, signed_it) in %s\n' \
        "$top_builddir/tests/chaos/.libs/libchaosroutines.so"
done >problems.esp
node MA agent
for la in LA1 LA2; do node $la agent "parent = \"$(cat MA.address)\""; done
slots=8 # of S11, which every third call names
for i in $(seq 11 $((10 + servers))); do
    node "S$i" sed "parent = \"$(cat LA2.address)\"" "slots = $slots" 'memory = "16 MiB"' "problems = \"$work/problems.esp\""
    slots=1
done
printf 'agents = { "%s" }\n' "$(cat MA.address)" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
all_there() {
    [ "$(espalier tree | grep -c ' S[0-9]')" -eq "$servers" ]
}
wait_until all_there || { echo "the servers did not come up" >&2; exit 1; }

# run NAME: clients for some seconds, a line for each call in NAME.
run() {
    : >ledger
    pids_of_clients=''
    for i in $(seq "$clients"); do
        "$top_builddir/tests/chaos/client" "$i" 1 0 "$seconds" 8 "$work/ledger" >"$1.$i" 2>/dev/null &
        pids_of_clients="$pids_of_clients $!"
    done
    "$2"
    # shellcheck disable=SC2086
    wait $pids_of_clients
    cat "$1".* | awk -v what="$1" -v s="$seconds" '
        { n++; failed += $3 != "done"; longest = $4 > longest ? $4 : longest }
        END { printf "%s: %d calls, %.0f a second, %d failed, the longest %.0f ms\n", what, n, n / s, failed, longest }'
}
still() { :; }
move() {
    sleep 3
    for i in $(seq "$moves"); do
        to=LA1
        [ $((i % 2)) -eq 1 ] || to=MA
        espalier admin move LA2 --to $to || exit 1
        sleep 2
    done
}
run still still
run moved move
