#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A matrix goes to a server whose ranks are on two other hosts: each rank fetches its piece itself, so that the daemon need not send
# it in the call that uses it. Bytes are counted where each host (a network namespace) sends them.
. "${top_srcdir:?}/tests/e2e/harness.sh"
. "${top_srcdir:?}/tests/e2e/far_hosts.sh"

in_hub espalier call smul A=@a.csv B=@a.csv --server plain -o C=square.csv
A=$(in_hub espalier data put a.csv --server plain)
comes() { comes_to_ranks 4 "$A" && B=$copy; }
check "each rank fetches its piece when a matrix comes to the server" comes
# Without any data a call tells four ranks some 340,000 bytes; both operands would be 1,638,400 more.
uses() { counted call pmul "A=data:$1" "B=data:$1" --server ranks -o C=c.csv && cmp c.csv square.csv; }
kept() { uses "$B" && [ "$from_hub" -lt 600000 ]; }
check "and the call that uses it sends none of it from the daemon's host" kept
gone() { in_hub espalier data rm "$B" && comes_to_ranks 4 "$A" && uses "$copy" && [ "$from_hub" -lt 600000 ]; }
check "a matrix that was deleted comes again" gone

# Nobody needs them: one of the hosts stands still.
A=$(in_hub espalier data put a.csv --server plain)
ip netns pids "esp-far2-$$" | xargs -r kill -STOP
without() { comes_to_ranks 2 "$A"; }
check "the matrix comes when ranks stand still, too" without
ip netns pids "esp-far2-$$" | xargs -r kill -CONT
sent() { uses "$copy" && [ "$from_hub" -gt 1000000 ]; }
check "which are sent their pieces in the call" sent
finish
