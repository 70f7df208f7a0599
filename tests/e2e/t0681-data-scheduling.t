#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where data are counts in who gets a call, through real daemons: of equal servers the one that holds the operands wins.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

agent_for_clients
for name in A B C; do
    server_below_agent "$name" "$name" \
        'slots = 1' \
        'store_memory = "128 MiB"' \
        "state_dir = \"$work/state-$name\"" \
        "problems = { \"$top_srcdir/problems/blas\" }"
done

servers() { # servers N: so many multiply matrices
    espalier problems | grep -Eq "^dgemv .* $1 "
}
check "three servers are there" wait_until servers 3

# 1000 x 1000 numbers are 8 MB: longer on the way than a product by a vector takes.
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n1000 1000"
             for (i = 0; i < 1000 * 1000; i++) print (i * 7919) % 101 }' >large.mtx
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n1000 1"
             for (i = 0; i < 1000; i++) print i % 7 }' >x.mtx

goes_to() { # goes_to SERVER DATUM: a call that needs the datum is placed there
    espalier call dgemv m=1000 n=1000 "A=data:$2" x=@x.mtx -o y=y.csv -v >placed 2>&1 &&
        grep -Eq "^ +$1 .* 0 .*chosen" placed
}
known_at() { # known_at DATUM: the agents have heard of it
    espalier data info "$1"
}
for name in C B A; do
    check "a matrix is put on $name" sh -c "espalier data put large.mtx -s $name >$name.id"
    eval "id_$name=\$(cat $name.id)"
done
check "all three are known" wait_until known_at "$(cat A.id)"
for name in A C B C A; do
    eval "id=\$id_$name"
    check "a call that needs what $name has goes to $name" goes_to "$name" "$id"
done
for name in A B C; do
    # shellcheck disable=SC2016
    check "and nothing has been copied from $name" sh -c 'espalier data info "$(cat "$1".id)" | grep -c " on  " | grep -qx 1' - "$name"
done
# The forecast of such a call knows where its data are, too.
foresees() { # foresees SERVER DATUM: it would be over first there, as nothing has to come from elsewhere
    espalier forecast dgemv m=1000 n=1000 "A=data:$2" x=@x.mtx >foreseen 2>&1
    found=$?
    cat foreseen
    [ $found -eq 0 ] && sed -n 2p foreseen | grep -q "^$1 " && [ "$(grep -c '^[ABC] ' foreseen)" -eq 3 ]
}
check "a forecast knows that B has a datum" foresees B "$id_B"
check "and that C has another one" foresees C "$id_C"
# On one host data do not come over a network: 8 MB in less than the 80 ms that a gigabit link would need.
comes_soon() {
    espalier forecast --json dgemv m=1000 n=1000 "A=data:$id_B" x=@x.mtx | tr -d '\n' |
        sed -n 's/.*"server": "A"[^}]*"transfer_s": \([0-9.e+-]*\).*/\1/p' |
        awk '{ print; good = $1 > 0 && $1 < 0.075 } END { exit !good }'
}
check "what another server of this host has is forecast to come at the rate of its memory" comes_soon
nobody_has_it() {
    espalier forecast dgemv m=1000 n=1000 "A=data:$(echo "$id_A" | tr '0-9a-f' '1-9a-f0')" x=@x.mtx >out 2>&1
    found=$?
    cat out
    [ $found -ne 0 ] && grep -q '^espalier.*A' out
}
check "one that nobody has is reported" nobody_has_it
check "what is not there yet can be made up" sh -c 'espalier forecast dgemv m=1000 n=1000 A=rand x=rand | grep -c "^[ABC] " | grep -qx 3'

# Servers of other master agents are listed, too, behind those that a call would go to. This one does not trust its
# memory: it asks its server.
printf 'name = "MA2"\nlisten = "127.0.0.1:0"\nfreshness = "0"\naddress_file = "%s/agent2.address"\n' "$work" >agent2.conf
start agent2 espalier-agent --foreground agent2.conf
first=$agent
agent=$(address_of agent2.address)
server_below_agent D D 'slots = 4' "problems = { \"$top_srcdir/problems/blas/level1.esp\" }"
printf 'agents = { "%s", "%s" }\n' "$first" "$agent" >both.conf
all_agents() {
    ESPALIER_CONFIG=both.conf espalier forecast ddot n=1000 >foreseen 2>&1 || return 1
    cat foreseen
    sed -n 1p foreseen | grep -q 'agent' && [ "$(grep -c '^[ABC] .* MA$' foreseen)" -eq 3 ] &&
        awk '/^[ABC] / { last = NR } /^D .* MA2$/ { d = NR } END { exit !(d > last) }' foreseen
}
check "all master agents tell what they know" wait_until all_agents
excluded_too() {
    ESPALIER_CONFIG=both.conf espalier forecast ddot n=1000 --property gpu >foreseen 2>&1
    found=$?
    cat foreseen
    [ $found -eq 3 ] && [ "$(grep -c 'excluded: it has not the property "gpu"' foreseen)" -eq 4 ]
}
check "also by asking, and why servers are excluded" excluded_too
stop D
stop agent2
silent_one() {
    ESPALIER_CONFIG=both.conf espalier forecast ddot n=1000 >foreseen 2>&1
    [ $? -eq 3 ] || return 1
    cat foreseen
    [ "$(grep -c '^[ABC] .* MA$' foreseen)" -eq 3 ] && sed -n '$p' foreseen | grep -q '^espalier forecast: (all below the agent at .*) is left out: '
}
check "one that is gone is reported, beside what the others know" silent_one

# A fetch of a datum measures the link between the servers, also on loopback, where nothing is probed.
fetching_tells() {
    espalier call dgemv m=1000 n=1000 "A=data:$(cat A.id)" x=@x.mtx -o y=y.csv --server B || return 1
    [ "$(head -c 7 state-B/links/A.ring)" = ESPLINK ]
}
check "a transfer between servers counts as a measurement" fetching_tells
finish
