#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No wait lasts longer than the time of the call: not on a path that swallows large packets, not for a name server that is
# silent, not for an address of a host where nothing answers. Client and server are in network namespaces, a router between.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed ip unshare
[ "$(id -u)" -eq 0 ] || skip_all "network namespaces are root's"
near=esp-near-$$
router=esp-router-$$
far=esp-far-$$
at_exit() {
    stop_all
    for space in $near $router $far; do
        ip netns pids "$space" 2>/dev/null | xargs -r kill -9
        ip netns del "$space" 2>/dev/null
    done
}
for space in $near $router $far; do
    ip netns add "$space" 2>/dev/null || skip_all "no network namespaces can be made"
    ip -n "$space" link set lo up
done
join() { # join SPACE DEVICE NET
    ip -n $router link add "$2" type veth peer name eth0 netns "$1" 2>/dev/null || skip_all "no links can be made"
    ip -n $router addr add "10.98.$3.1/24" dev "$2"
    ip -n $router link set "$2" up
    ip -n "$1" addr add "10.98.$3.2/24" dev eth0
    ip -n "$1" link set eth0 up
    ip -n "$1" route add default via "10.98.$3.1"
}
join $near tonear 1
join $far tofar 2
ip netns exec $router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'

printf 'name = "MA"\nlisten = "10.98.2.2:4780"\ninsecure = yes\nprobe = "none"\naddress_file = "%s/agent.address"\n' \
    "$work" >agent.conf
start agent ip netns exec $far espalier-agent --foreground agent.conf
agent=$(address_of agent.address)
mkdir problems
cat >problems/count.esp <<'EOF'
problem count "Count the characters of a vector"
    in int n
    in double x[n]
    out int k
implementation sh
    command wc "-c"
    stdin x
    stdout k
EOF
printf 'name = "S"\nparent = "%s"\nlisten = "10.98.2.2:0"\ninsecure = yes\nprobe = "none"\nproblems = { "%s/problems" }\n' \
    "$agent" "$work" >server.conf
start server ip netns exec $far espalier-sed --foreground server.conf

printf 'nameserver 10.98.1.1\noptions timeout:20 attempts:2\n' >resolv.conf
printf '10.98.2.77 two\n10.98.2.2 two\n' >hosts
# client AGENTS COMMAND...: on the near machine, whose name server is the router, which is silent
client() {
    printf 'agents = { %s }\n' "$1" >client.conf
    shift
    # shellcheck disable=SC2016
    ESPALIER_CONFIG=$work/client.conf timeout 60 ip netns exec "$near" unshare -m sh -c \
        'mount --bind resolv.conf /etc/resolv.conf && mount --bind hosts /etc/hosts && exec "$@"' sh "$@"
}
call() { # call AGENTS [OPTION]...
    agents=$1
    shift
    client "$agents" espalier call count 'x=[1;2]' --timeout 10s "$@"
}
# The router tells nobody that a packet was too large, or a port closed.
ip -n $router rule add iif lo to 10.98.1.2 pref 10 blackhole
check "a call goes through" wait_until call "\"$agent\""
check "a silent name server leaves the second address its time" call "\"nowhere.example:4780\", \"$agent\""
check_fails 3 "one that is asked alone does not hang" \
    client '"nowhere.example:4780"' espalier call count 'x=[1;2]' --timeout 3s
check_says "and the name server is reported" 'no name server has told the address of host "nowhere.example"'
check "of a host with two addresses, the one that answers is used" call "\"two:${agent##*:}\""

{
    printf '%%%%MatrixMarket matrix array real general\n100000 1\n'
    yes 1 | head -n 100000
} >x.mtx
ip -n $router link set tofar mtu 1000
check_fails 3 "a call whose packets are swallowed ends at its deadline" \
    client "\"$agent\"" espalier call count x=@x.mtx --timeout 4s
check_says "and says so" 'deadline'
finish
