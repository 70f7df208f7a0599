#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Transfers between servers that last longer than who asked waits for an answer: a server behind a slow link.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed ip
link=$top_builddir/tests/e2e/slow_link
[ -x "$link" ] || skip_all "built without the ORB"
[ "$(id -u)" -eq 0 ] && [ -c /dev/net/tun ] || skip_all "network namespaces and /dev/net/tun are root's"
at_exit() {
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
# Data come from there at 2 MB/s.
start link "$link" $hub "esp-far-$$" 400/16 1 "$work/passed" slow0
wait_until test -s passed
ip netns exec $hub ip addr add 10.99.1.1/24 dev slow0
ip netns exec $hub ip link set slow0 up
ip netns exec "esp-far-$$" ip addr add 10.99.1.2/24 dev slow0
ip netns exec "esp-far-$$" ip link set slow0 up

printf 'name = "MA"\nlisten = "10.99.1.1:0"\ninsecure = true\naddress_file = "%s/agent.address"\nstate_dir = "%s/state-MA"\n' \
    "$work" "$work" >agent.conf
mkdir state-MA state-near state-other state-far
start agent ip netns exec $hub espalier-agent --foreground agent.conf
agent=$(address_of agent.address)
printf 'agents = { "%s" }\n' "$agent" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
start_at() { # start_at NAME SPACE ADDRESS
    printf 'name = "%s"\nparent = "%s"\nlisten = "%s:0"\ninsecure = true\nslots = 1\n' "$1" "$agent" "$3" >"$1.conf"
    printf 'state_dir = "%s/state-%s"\nproblems = { "%s/problems/blas" }\naddress_file = "%s/%s.address"\nlog_file = "%s/%s.log"\n' \
        "$work" "$1" "$top_srcdir" "$work" "$1" "$work" "$1" >>"$1.conf"
    start "$1" ip netns exec "$2" espalier-sed --foreground "$1.conf"
}
start_at near $hub 10.99.1.1
start_at other $hub 10.99.1.1
start_at far "esp-far-$$" 10.99.1.2
here() {
    ip netns exec $hub espalier "$@"
}
servers() {
    here problems | grep -Eq "^dgemm .* 3 "
}
check "three servers are there" wait_until servers

{
    printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000,), }"
    head -c 8000000 /dev/urandom
} >large.npy
crossed() { # crossed BYTES: so many more have come from there; half of the datum takes two seconds
    [ "$(awk '{ print $1 + $2 }' passed)" -gt $((before + $1)) ]
}
deleted_late() { # deleted_late VERB: deleted after the copy has lasted longer than its --timeout
    here data put large.npy -s far -m persistent >large.id || return 1
    before=$(awk '{ print $1 + $2 }' passed)
    here data "$1" "$(cat large.id)" near --timeout 1s >copied 2>&1 &
    copier=$!
    wait_until crossed 4000000 && kill -0 $copier && here data rm "$(cat large.id)" || return 1
    wait $copier
    copied=$?
    cat copied
    [ $copied -eq 5 ] && grep -q 'deleted' copied
}
for verb in cp mv; do
    check "a $verb of a datum that is deleted reports that, however long it has lasted" deleted_late $verb
done
# ---- a source that falls silent in the middle ----
printf 'agents = { "%s" }\ncall_timeout = "5 min"\n' "$agent" >patient.conf
patiently() {
    ESPALIER_CONFIG=$work/patient.conf here "$@"
}
stopped_at_half() { # stopped_at_half COMMAND...: "far" is stopped when half of the datum has come from there
    before=$(awk '{ print $1 + $2 }' passed)
    "$@" >moved 2>&1 &
    mover=$!
    wait_until crossed 4000000 && kill -0 $mover && kill -STOP "$pid_far"
}
has_moved() {
    ! kill -0 $mover 2>/dev/null
}
moves_nevertheless() { # moves_nevertheless COMMAND...
    stopped_at_half patiently "$@" && wait_until has_moved && wait $mover
    moved=$?
    kill -CONT "$pid_far"
    cat moved
    return $moved
}
there() {
    here data put large.npy -s far -m persistent >large.id
}
on_two() {
    there && here data cp "$(cat large.id)" other
}
check "a datum on two servers" on_two
check "a copy comes from the other one when that behind the link falls silent" moves_nevertheless data cp "$(cat large.id)" near
check "so it does to a client" moves_nevertheless data get "$(cat large.id)" got.npy
values_of() {
    tail -c 8000000 "$1"
}
is_whole() {
    values_of got.npy >got && values_of large.npy | cmp got
}
check "whole" is_whole
check "it goes" here data rm "$(cat large.id)"
goes_on() {
    there && stopped_at_half patiently data cp "$(cat large.id)" near &&
        wait_until grep -q "nothing has come from $(cat far.address) for a while" near.log
    kill -CONT "$pid_far"
    wait $mover
}
check "where nobody else has it, it goes on when that one does" goes_on
finish
