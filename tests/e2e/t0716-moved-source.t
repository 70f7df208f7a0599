#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A datum moves from a server that is killed in the middle of it, and comes back at another address: the order goes on
# with it there.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

agent_for_clients 'lease = "60 s"' # B stands still for a while
for name in A B; do
    server_below_agent $name $name "state_dir = \"$work/state-$name\"" "problems = { \"$top_srcdir/tests/e2e/product.esp\" }"
done
check "two servers are there" wait_until servers 2

awk 'BEGIN { print "%%MatrixMarket matrix array real general\n300 300"
             for (i = 0; i < 300 * 300; i++) print (i * 7919) % 1000003 }' >a.mtx
espalier matrix convert a.mtx a.npy >/dev/null
put() {
    espalier data put a.mtx -s A -m persistent >id
}
check "a matrix is on a server" put
id=$(cat id)

# The order has come to B, which stands still: a connection on one host waits at its socket, others at its port.
has_ordered() {
    port=$(sed 's/.*://' B.address)
    grep -q " 02  *0 .*-$port\$" /proc/net/unix || awk -v port="$(printf ':%04X' "$port")" \
        '$2 ~ port "$" && $4 == "01" && $5 !~ ":0*$" { found = 1 } END { exit !found }' /proc/net/tcp
}
is_back() {
    espalier tree --json | grep -q "$(cat A.address)" && espalier data ls -s A | grep -q "$id"
}
lose_source() {
    kill -STOP "$pid_B"
    espalier data mv "$id" B --timeout '60 s' >moved 2>&1 &
    mover=$!
    wait_until has_ordered || return 1
    stop A KILL
    start_server A
    wait_until is_back || return 1
    kill -CONT "$pid_B"
    wait $mover
    outcome=$?
    cat moved
    return $outcome
}
check "a move goes on with a source that was killed meanwhile, and is back at another address" lose_source
got_back() {
    espalier data get "$id" back.npy && cmp back.npy a.npy
}
check "the matrix is as it was" got_back
one_place() {
    espalier data info "$id" >places && grep -q ' on  *B' places && ! grep -q ' on  *A' places
}
check "and has one place" wait_until one_place
finish
