#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that use data on servers: grpc_data.h, and sequences of calls.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
steps=$top_builddir/tests/e2e/data_steps
[ -x "$steps" ] || skip_all "built without the ORB"

agent_for_clients
for name in A B; do
    server_below_agent "$name" "$name" "state_dir = \"$work/state-$name\"" \
        'slots = 1' \
        'store_memory = "64 MiB"' \
        "problems = { \"$top_srcdir/tests/e2e/product.esp\", \"$top_srcdir/problems/lapack/linear-systems\", \"$top_srcdir/problems/abstract\" }"
done
servers() { # servers N: so many multiply matrices
    espalier problems | grep -Eq "^product .* $1 "
}
check "two servers are there" wait_until servers 2
check "data go into calls of all kinds, come out, and stay" "$steps" grid A
check "a program saves what another one needs" "$steps" save file:saved
check "as a text" cat saved
check_says "with identity and shape" "^identity A:[0-9a-f]{32}$" "^type double$" "^dimensions 120 120$" "^mode GRPC_STICKY$"
check "which uses it, and deletes it" "$steps" load "file://$work/saved"
check_fails any "it is there once only" "$steps" load file:saved
check_says "which is told" "deleted"
sed 's/^type double/type quaternion/' saved >wrong
check_fails any "a damaged file is refused" "$steps" load file:wrong
check_says "with its line" "wrong:3: expected a type"
check "a sequence sends nothing twice, and gives what the program gives without" "$steps" sequence
nothing_left() { # but copies that agents had not heard of
    espalier data ls >left && ! grep ':' left | grep -qv replica
}
check "nothing is left on the servers" nothing_left

# ---- a server is lost between two calls of a sequence ----
start lost "$steps" lost
check "a sequence leaves two results on a server" wait_until test -e made
victim=A
espalier data ls -s B | grep -q ':' && victim=B
stop $victim KILL
touch killed
ends() {
    # shellcheck disable=SC2154
    wait "$pid_lost" || { cat lost.out; return 1; }
}
check "when that is killed both are computed again on the other one" ends
finish
