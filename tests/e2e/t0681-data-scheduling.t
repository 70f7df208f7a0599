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
# A datum that is fetched tells of the link between the servers, also on loopback, where nothing is probed.
fetching_tells() {
    espalier call dgemv m=1000 n=1000 "A=data:$(cat A.id)" x=@x.mtx -o y=y.csv --server B || return 1
    [ "$(head -c 7 state-B/links/A.ring)" = ESPLINK ]
}
check "a transfer between servers counts as a measurement" fetching_tells
finish
