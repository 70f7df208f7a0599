#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A client whose machine is cut off for good: no connection of it closes. The server notices all the same: what it computes for
# the client ends, what waits is not begun, and jobs live on.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed ip
[ "$(id -u)" -eq 0 ] || skip_all "network namespaces are root's"
library=$top_builddir/tests/e2e/.libs/libclientroutines.so
needs "$library"
at_exit() {
    stop_all
    for space in hub far other; do
        ip netns pids "esp-$space-$$" 2>/dev/null | xargs -r kill -9
        ip netns del "esp-$space-$$" 2>/dev/null
    done
}
hub=esp-hub-$$
for space in hub far other; do
    ip netns add "esp-$space-$$" 2>/dev/null || skip_all "no network namespaces can be made"
    ip -n "esp-$space-$$" link set lo up
done
ip -n $hub link add name bridge type bridge 2>/dev/null || skip_all "no bridges can be made"
ip -n $hub addr add 10.97.0.1/24 dev bridge
ip -n $hub link set bridge up
n=1
for space in far other; do
    n=$((n + 1))
    ip -n $hub link add name "to-$space" type veth peer name eth0 netns "esp-$space-$$"
    ip -n $hub link set "to-$space" master bridge up
    ip -n "esp-$space-$$" addr add "10.97.0.$n/24" dev eth0
    ip -n "esp-$space-$$" link set eth0 up
done

mkdir problems
printf 'problem nap "wait"\n    in int ms\n    out int slept\nimplementation c\n    c nap(ms, slept) in %s\n' "$library" >problems/test.esp
printf 'name = "MA"\nlisten = "10.97.0.1:0"\ninsecure = yes\naddress_file = "%s/agent.address"\n' "$work" >agent.conf
start agent ip netns exec $hub espalier-agent --foreground agent.conf
address=$(address_of agent.address)
cat >sed.conf <<END
name = "S"
parent = "$address"
listen = "10.97.0.1:0"
insecure = yes
address_file = "$work/sed.address"
slots = 1
problems = { "$work/problems" }
stall_timeout = "3 s"
orphan_lease = "500 ms"
log_level = "debug"
END
start sed ip netns exec $hub espalier-sed --foreground sed.conf
address_of sed.address >/dev/null
printf 'agents = { "%s" }\n' "$address" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
far() { ip netns exec "esp-far-$$" espalier "$@"; }
near() { ip netns exec "esp-other-$$" espalier "$@"; }
check "the server is called from the other machine" wait_until far call nap ms=1
count() { grep -c "started: nap" sed.out; }
begun=$(count)

far call nap ms=600000 >called.out 2>&1 &
shows() { near tree --json >tree.out && grep -q "$1" tree.out; }
running() { shows '"running": 1'; }
waits() { shows "\"queued\": $1"; }
check "it computes" wait_until running
far call nap ms=600000 >queued.out 2>&1 &
check "a call waits" wait_until waits 1
check "and so does a job" far submit nap ms=1
check "behind it" wait_until waits 2

ip -n $hub link set to-far nomaster
idle() { shows '"running": 0' && shows '"queued": 0'; }
check "when the machine is cut off its calls end" wait_until idle
only_the_job() { [ "$(count)" -eq $((begun + 2)) ]; }
check "the one that waited was not begun, and the job was" only_the_job
check "and the log tells that the client is gone" grep -q 'a client ([0-9a-f]*) is gone: 1 of its sessions end' sed.out
finish
