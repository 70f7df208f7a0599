#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A short run of espalier-chaos: nobody notices more than a delay while processes are killed and stopped, machines are cut
# off and slow, and the disk is full. The seed is the day's: it is in the output, and repeats the plan.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed unshare nsenter ip bash awk pgrep

chaos() {
    bash "$top_srcdir/tests/chaos/espalier-chaos" "$@"
}
check "its help" chaos --help
check "a plan" chaos --plan --seed 7
cp "$log" first
check "the same seed makes the same plan" sh -c "bash '$top_srcdir/tests/chaos/espalier-chaos' --plan --seed 7 | cmp - first"
check "a soak has no faults" chaos --plan --seed 7 --soak 60
cp "$log" soak
check_fails 1 "at all" grep -q . soak
check "workers are killed below servers" chaos --plan --seed 7 --faults worker --targets MA1,S21
check_says "the plan says which" 'begin worker S21'
check_fails 1 "and below nobody else" sh -c "bash '$top_srcdir/tests/chaos/espalier-chaos' --plan --seed 7 --faults worker --targets MA1,S21 | grep MA1"
check_fails 2 "a fault that there is not" chaos --faults kill,flood
check_says "is refused with those there are" "expected some of kill,stop,worker,cut,.* found 'flood'"
check_fails 2 "a number that is none" chaos --seconds ten
unshare --net --mount --pid --fork --kill-child --mount-proc test -w /dev/net/tun 2>/dev/null || finish
seed=$(date +%Y%m%d)
check "clients notice nothing but delays" timeout 120 bash "$top_srcdir/tests/chaos/espalier-chaos" --seed "$seed" --seconds 8 --clients 3 --every 700 --for 600 \
    --starving 2
diag <"$log"

mkdir soaking
start soak env TMPDIR="$work/soaking" bash "$top_srcdir/tests/chaos/espalier-chaos" --soak 600
has_clients() {
    wait_until pgrep -f "client 1 [0-9]+ .*$work/soaking" || { cat soak.out; return 1; }
}
check "a soak that has clients" has_clients
stop soak
check "is ended by a signal" test $? = 1
check "and leaves nothing" rmdir soaking
finish
