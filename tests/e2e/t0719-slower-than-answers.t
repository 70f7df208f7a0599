#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A piece of an array that takes longer over a slow link than an answer may is waited for as long as it moves; a server that
# is stopped in the middle of one is left for another.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed ip
link=$top_builddir/tests/e2e/slow_link
[ -x "$link" ] || skip_all "built without the ORB"
[ "$(id -u)" -eq 0 ] && [ -c /dev/net/tun ] || skip_all "network namespaces and /dev/net/tun are root's"
at_exit() {
    # shellcheck disable=SC2154
    kill -CONT "$pid_far" 2>/dev/null
    stop_all
    for space in hub far; do
        ip netns del "esp-$space-$$" 2>/dev/null
    done
}
hub=esp-hub-$$
for space in hub far; do
    ip netns add "esp-$space-$$" 2>/dev/null || skip_all "no network namespaces can be made"
    ip netns exec "esp-$space-$$" ip link set lo up
done
# 75 kB/s: the first piece of an array, 256 kiB, takes 3.5 s.
start link "$link" $hub "esp-far-$$" 0.6 1 "$work/passed" slow0
wait_until test -s passed
ip netns exec $hub ip addr add 10.99.1.1/24 dev slow0
ip netns exec $hub ip link set slow0 up
ip netns exec "esp-far-$$" ip addr add 10.99.1.2/24 dev slow0
ip netns exec "esp-far-$$" ip link set slow0 up

mkdir state-MA state-near state-far
printf 'name = "MA"\nlisten = "10.99.1.1:0"\ninsecure = true\naddress_file = "%s/agent.address"\nstate_dir = "%s/state-MA"\n' \
    "$work" "$work" >agent.conf
start agent ip netns exec $hub espalier-agent --foreground agent.conf
agent=$(address_of agent.address)
printf 'agents = { "%s" }\ncall_timeout = "2 s"\n' "$agent" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
start_at() { # start_at NAME SPACE ADDRESS
    printf 'name = "%s"\nparent = "%s"\nlisten = "%s:0"\ninsecure = true\nslots = 1\n' "$1" "$agent" "$3" >"$1.conf"
    printf 'state_dir = "%s/state-%s"\nproblems = { "%s/problems/blas" }\naddress_file = "%s/%s.address"\nlog_file = "%s/%s.log"\n' \
        "$work" "$1" "$top_srcdir" "$work" "$1" "$work" "$1" >>"$1.conf"
    start "$1" ip netns exec "$2" espalier-sed --foreground "$1.conf"
}
start_at far "esp-far-$$" 10.99.1.2
here() {
    ip netns exec $hub espalier "$@"
}
is_there() {
    here tree --json | grep -q "\"name\": \"$1\""
}
array() { # array N: doubles
    printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': ($1,), }"
    head -c $(($1 * 8)) /dev/zero
}
array 30000 >x.npy
array 1000000 >large.npy
check "a server behind a slow link" wait_until is_there far
check "an argument and a result that take longer than an answer may" here call dscal alpha=2 x=@x.npy -o x=y.npy
same_values() { # of zeros, twice as much is the same
    tail -c 240000 x.npy >values && tail -c 240000 "$1" | cmp values
}
check "come whole" same_values y.npy
put() {
    here data put x.npy --server far -m persistent >x.id
}
check "so does a datum, there" put
get() {
    here data get "$(cat x.id)" z.npy && same_values z.npy
}
check "and back" get

crossed() { # crossed BYTES: so many more have gone there
    [ "$(awk '{ print $1 }' passed)" -gt $((before + $1)) ]
}
before=$(awk '{ print $1 }' passed)
sed 's/2 s/10 s/' client.conf >usual.conf
ESPALIER_CONFIG=$work/usual.conf here call dasum x=@large.npy >sum 2>&1 &
call=$!
check "a large argument is on its way" wait_until crossed 300000
start_at near $hub 10.99.1.1
check "another server comes" wait_until is_there near
kill -STOP "$pid_far"
stopped=$(date +%s)
call_ended() {
    ! kill -0 $call 2>/dev/null
}
check "the one that it goes to is stopped, and it ends" wait_until call_ended
took_s=$(($(date +%s) - stopped))
check "soon (after $took_s s)" test $took_s -lt 10
call_is_done() {
    wait $call
    status=$?
    cat sum
    return $status
}
check "as the other one has it" call_is_done
finish
