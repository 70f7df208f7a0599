#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sequences of calls: programs that know nothing of them are right wherever they look, and nothing is sent twice.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
steps=$top_builddir/tests/e2e/sequence_steps
[ -x "$steps" ] || skip_all "built without the ORB"

nothing_left() {
    espalier data ls >left && ! grep ':' left
}
two_servers_with_data
check "a sequence sends nothing twice, and gives what the program gives without" timeout 120 "$steps" same
check "what is only passed on stays where it is" timeout 120 "$steps" stays
check "a program that looks, writes, overlaps or frees between the calls sees the results" timeout 120 "$steps" looks
check "several threads do" timeout 120 "$steps" threads
aborts() {
    timeout 120 "$steps" finalized
    [ $? -eq 134 ]
}
check "a program that looks after the end is stopped" aborts
check_says "and told at what, and why" \
    'has looked at result "C" of a call of product at 0x[0-9a-f]+, .*grpc_finalize.. was called: look at it before'
check "nothing is left on the servers" wait_until nothing_left

# ---- a server is lost between two calls of a sequence ----
start lost "$steps" lost
check "a sequence leaves results on a server" wait_until test -e made
victim=A
espalier data ls -s B | grep -q ':' && victim=B
stop $victim KILL
touch killed
ends() {
    # shellcheck disable=SC2154
    wait "$pid_lost" || { cat lost.out; return 1; }
}
check "when that is killed all are computed again on the other one" ends
start_server $victim

# ---- servers without the memory for what a sequence would leave: its arrays have 115,200 bytes ----
for memory in "100 KiB" "150 KiB" "300 KiB"; do
    for name in A B; do
        stop $name
        sed -i "s/^store_memory .*/store_memory = \"$memory\"/" $name.conf
        start_server $name
    done
    check "two servers with $memory for data" wait_until servers 2
    check "what they cannot keep travels through the program" timeout 60 "$steps" tight
    check "nothing of it stays" wait_until nothing_left
done
finish
