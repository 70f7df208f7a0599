#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# t0710 and t0711 with certificates: ranks on two other hosts fetch their pieces from another server, and lend them to
# it, over encrypted connections.
. "${top_srcdir:?}/tests/e2e/harness.sh"
secured=yes
. "${top_srcdir:?}/tests/e2e/far_hosts.sh"

A=$(in_hub espalier data put a.csv --server plain --grid 1x3 --block 40)
comes() { comes_to_ranks 4 "$A" && B=$copy && grep -q "fetch pieces of a datum from 1 at .*, encrypted" ranks.log; }
check "each rank fetches its piece" comes
# Without any data a call tells four ranks some 340,000 bytes; both operands would be 1,638,400 more.
kept() { counted call pmul "A=data:$B" "B=data:$B" --server ranks -o C=c.csv && [ "$from_hub" -lt 600000 ]; }
check "and the call that uses the matrix sends none of it from the daemon's host" kept
lent() { copied "$B" plain --grid 3x1 --block 24 && [ "$from_far1" -gt 400000 ] && [ "$from_far2" -gt 400000 ] &&
    [ "$from_hub" -lt 200000 ] && grep -q "encrypted, and 4 on other hosts" plain.log; }
check "from them it goes to the other server again" lent
finish
