#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Names that mean several addresses, or loopback only, on a machine with a hosts file of its own: where daemons listen, and what
# they say. Further ports lie beside the one of `listen`.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed ip unshare
[ "$(id -u)" -eq 0 ] || skip_all "network namespaces are root's"
if [ "${1:-}" != inside ]; then
    unshare -m -n -u true 2>/dev/null || skip_all "no namespaces can be made"
    cd "$top_srcdir" && rm -rf "$work" # the one inside has its own
    exec unshare -m -n -u sh "$top_srcdir/tests/e2e/t0414-names.t" inside
fi
hostname node || skip_all "the name of a machine cannot be set"
ip link set lo up
ip link add wire type veth peer name end 2>/dev/null || skip_all "no links can be made"
ip addr add 10.96.0.1/24 dev wire
ip link set wire up
ip link set end up
families='10.96.0.1'
ip -6 addr add fd00:96::1/64 dev wire nodad 2>/dev/null && families="$families [fd00:96::1]"
cat >hosts <<END
127.0.0.1 localhost
127.0.1.1 node
10.96.0.1 both head
fd00:96::1 both
10.96.0.9 elsewhere
END
printf 'listen = "both:0"\ninsecure = yes\npublish = "node:4780"\n' >portless.conf
mount --bind hosts /etc/hosts || skip_all "the hosts file cannot be covered"

# agent NAME LISTEN [LINE]
agent() {
    printf 'name = "%s"\nlisten = "%s"\ninsecure = yes\naddress_file = "%s/%s.address"\n%s\n' "$1" "$2" "$work" "$1" "${3:-}" >"$1.conf"
    start "$1" espalier-agent --foreground "$1.conf"
    wait_until test -s "$1.address"
}
# reached HOST NAME: the agent of that name is reached at its port of the host
reached() {
    printf 'agents = { "%s:%s" }\n' "$1" "$(sed 's/.*://' "$2.address")" >"$2.client"
    espalier tree --config "$2.client" >tree.out 2>&1
    status=$?
    cat tree.out
    return $status
}

# The file as Debian writes it: the machine's own name is an address of loopback.
agent debian node:0
check "a daemon that others cannot reach says so in its log" wait_until grep -q 'node:0" is reached from this machine only: "node" means 127.0.1.1' debian.out
check "it is reached on this machine" reached node debian
check "the tree tells of it" grep -q 'node:[0-9]*: others may not reach it' tree.out
checks() { espalier config check --as agent debian.conf | tee check.out | grep -q 'a good agent file, but listen = "node:0" is reached from this machine only'; }
check "config check tells of it" checks

agent both both:0
for address in $families; do
    check "a name with several addresses is served at $address" reached "$address" both
done
quiet() { ! grep 'this machine only' both.out && ! grep 'may not reach' tree.out; }
check "and nothing is said" quiet

agent all '*:0'
for address in $families 127.0.0.1 node '[::1]'; do
    [ "$address" != '[::1]' ] || [ -e /proc/net/if_inet6 ] || continue
    check "* is served at $address" reached "$address" all
done

# The machine's own name is an address of loopback, too; a file may publish another one.
check "* tells of a name that others cannot use" grep -q 'published name is "node", which means 127.0.1.1 here' all.out
agent told '*:0' 'publish = "10.96.0.1"'
is_told() { sed 's/:.*//' "$1.address" | grep -qx "$2"; }
check "other nodes get the published name" is_told told 10.96.0.1
check "and are served there" reached 10.96.0.1 told
quiet_told() { ! grep 'may not reach' told.out tree.out; }
check "and nothing is said of it" quiet_told
agent gateway '*:4799' 'publish = "both:4800"'
check "a gateway may have another port" grep -qx 'both:4800' gateway.address
hostname nowhere
agent lost '*:0'
check "a name that cannot be resolved is reported" grep -q 'published name is "nowhere", which cannot be resolved here' lost.out
reached 10.96.0.1 lost >/dev/null
check "by the tree, too" grep -q 'lost .*others may not reach it' tree.out
hostname elsewhere
agent other '*:0'
check "and one of another machine" grep -q 'published name is "elsewhere", which means 10.96.0.9, no address of this machine' other.out
hostname node
check_fails 4 "a port that is published needs one to listen at" espalier config check --as agent portless.conf
check_says "which is said" 'publish = "node:4780" has a port: expected one in listen'

# Further ports.
listens() { grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$1") [0-9A-F]*:0000 0A" /proc/net/tcp /proc/net/tcp6; }
server() { # server NAME LISTEN LINE...
    name=$1
    shift
    {
        printf 'name = "%s"\nparent = "%s"\nlisten = "%s"\ninsecure = yes\n' "$name" "$(cat both.address)" "$1"
        printf 'address_file = "%s/%s.address"\nstate_dir = "%s/%s.state"\nstore_memory = "64 MB"\nproblems = { "%s/problems/blas" }\n' "$work" "$name" "$work" "$name" "$top_srcdir"
        shift
        [ $# -eq 0 ] || printf '%s\n' "$@"
    } >"$name.conf"
    mkdir "$name.state"
    start "$name" espalier-sed --foreground "$name.conf"
    wait_until test -s "$name.address"
}
server one head:4780
check "links are measured beside the server's port" wait_until listens 4880
check "pieces are fetched beside it" wait_until listens 4980
[ "$families" = 10.96.0.1 ] || {
    server two both:4790
    of_family() { grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$2") [0-9A-F]*:0000 0A" "$1"; }
    for further in 4890 4990; do
        check "port $further beside a name of two families is there for IPv4" wait_until of_family /proc/net/tcp $further
        check "and for IPv6" wait_until of_family /proc/net/tcp6 $further
    done
}
server three head:4781 'probe = "head:5001"' 'porter = "127.0.0.1:5002"'
check "the file may name other ports" wait_until listens 5001
check "for pieces, too" wait_until listens 5002
server shut node:0
shut_in() { reached 10.96.0.1 both && grep -q 'shut .*node:[0-9]*: others may not reach it' tree.out; }
check "the tree reports a server on loopback" wait_until shut_in

# 127.0.0.1:5002 is where nobody else gets: as behind a firewall.
reached 10.96.0.1 both >/dev/null
ESPALIER_CONFIG=$work/both.client
export ESPALIER_CONFIG
seq 1 64 | paste -sd ' ' | tr ' ' '\n' | paste -d, - - - - - - - - >a.csv
put() { datum=$(espalier data put a.csv --server three --mode persistent --grid 1x2 --block 2); }
check "a matrix in pieces lies behind a closed port" wait_until put
check_fails 3 "it is not copied from there" espalier data cp "$datum" one --grid 2x1 --block 2
check_says "and the port that was not reached is reported" 'from server three, head:5002 .*Connection refused'
finish
