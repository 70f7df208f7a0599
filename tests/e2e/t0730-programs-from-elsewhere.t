#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that fork, that give wrong sizes or ask for too much, that name problems as module/entry, and that meet
# servers with different signatures of one name.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed prlimit
steps=$top_builddir/tests/e2e/guest_steps
library=$top_builddir/tests/e2e/.libs/libclientroutines.so
needs "$steps" "$library"

routines() {
    printf 'problem plus "a + b"\n    in double a, b\n    out double c\n'
    printf 'implementation c\n    c add(a, b, c) in %s\n' "$library"
    printf 'problem arith/plus "a + b"\n    in double a, b\n    out double c\n'
    printf 'implementation c\n    c add(a, b, c) in %s\n' "$library"
    printf 'problem nap "wait"\n    in int ms\n    out int slept\nimplementation c\n    c nap(ms, slept) in %s\n' "$library"
}
for name in A B; do
    {
        routines
        printf 'problem differs "a + b"\n    in double a, b%s\n    out double c\n' "$([ $name = A ] || echo ', unused')"
        printf 'implementation c\n    c add(a, b, c) in %s\n' "$library"
    } >$name.esp
done
agent_for_clients
for name in A B; do
    server_below_agent $name $name 'slots = 2' 'memory = "256 MiB"' 'orphan_lease = "500 ms"' \
        "problems = { \"$work/$name.esp\", \"$top_srcdir/problems/lapack/linear-systems\" }"
done
servers() {
    espalier problems | grep -Eq '^plus .* 2 '
}
check "two servers are there" wait_until servers

check "a forked child begins anew" timeout 60 "$steps" forked
# A parent that ends while its child lives is missed by the server.
start parent "$steps" killed
has_child() { grep -q child parent.out; }
check "a program forks in the middle of a call, and is killed" wait_until has_child
child=$(sed -n 's/^child //p' parent.out)
pids="$pids $child"
gone() { grep -q 'a client ([0-9a-f]*) is gone: 1 of its sessions end' A.log B.log; }
check "servers miss it though its child lives" wait_until gone
check "the child lives" kill -0 "$child"
kill "$child"

check "a call that no server can hold reads nothing" timeout 60 "$steps" too-large
check "nor does a call with wrong extents" timeout 60 "$steps" extents
check "a problem in a module" timeout 60 "$steps" entry
check "by the command" espalier call arith/plus a=1 b=2
check_says "is called by both names" '^c = 3'
few_memory() {
    prlimit --as=1500000000 espalier call dgesv n=15000 'A=rand' 'B=rand(n, n)'
}
check_fails any "what no server can hold" few_memory
check_says "is refused before it is made" 'no server has the memory for this call: on [AB] it needs'
check_fails 2 "a call by another server's signature" espalier call differs a=1
check_says "the error lists which servers have which" '(that of A; another one is that of B|that of B; another one is that of A)'
finish
