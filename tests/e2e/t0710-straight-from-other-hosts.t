#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A matrix whose pieces ranks on two other hosts keep goes to another server straight from there: bytes are counted where each
# host (a network namespace, as in t0705) sends them.
. "${top_srcdir:?}/tests/e2e/harness.sh"
. "${top_srcdir:?}/tests/e2e/far_hosts.sh"

A=$(in_hub espalier data put a.csv --server ranks --grid 2x2 --block 16)
daemon_sends() { copied "$A" plain --grid 1x3 --block 40 && [ "$from_hub" -gt 800000 ] &&
    [ $((from_far1 + from_far2)) -lt 200000 ]; }
check "what no rank has had yet the daemon sends" daemon_sends
uses() { in_hub espalier call pmul "A=data:$A" "B=data:$A" --server ranks -o C=data:pieces; }
check "ranks on other hosts keep what they compute with" uses
ranks_send() { copied "$A" plain --grid 3x1 --block 24 && [ "$from_far1" -gt 400000 ] && [ "$from_far2" -gt 400000 ] &&
    [ "$from_hub" -lt 200000 ]; }
check "then each of them sends its pieces, and the daemon none" ranks_send

# Who stands still is not needed: the daemon has all of it.
ip netns pids "esp-far2-$$" | xargs -r kill -STOP
without() { copied "$A" plain --grid 3x1 --block 32; }
check "all comes, too, when one of the hosts stands still" without
ip netns pids "esp-far2-$$" | xargs -r kill -CONT
finish
