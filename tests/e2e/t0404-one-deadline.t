#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --timeout is one deadline for all that a verb asks and calls: sweeps, their data, abstract problems and `solve` end by
# then, even if some daemons are stopped. Each of them would take minutes if each single step had that time.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed timeout

mkdir problems
cat >problems/test.esp <<EOF
problem step "A moment"
    in      int     i
    out     int     j
implementation sh
    command sh "-c" "sleep 0.3; echo {i}"
    stdout  j
EOF
node() { # node NAME KIND LINES...
    name=$1 kind=$2
    shift 2
    {
        printf 'listen = "127.0.0.1:0"\naddress_file = "%s/%s.address"\nlog_file = "%s/%s.log"\n' "$work" "$name" "$work" "$name"
        printf '%s\n' "$@"
    } >"$name.conf"
    start "$name" "espalier-$kind" --foreground "$name.conf"
    eval "$name=\$(address_of $name.address)"
}
# shellcheck disable=SC2154
{
    node redirector redirector
    node MA agent 'name = "MA"' "redirector = \"$redirector\""
    node S sed 'name = "S"' "parent = \"$MA\"" 'slots = 1' \
        "problems = { \"$work/problems\", \"$top_srcdir/problems/lapack\", \"$top_srcdir/problems/abstract\" }"
    printf 'redirector = "%s"\ncall_timeout = "1 h"\n' "$redirector" >client.conf
}
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
at_exit() { # who is stopped cannot be asked to end
    # shellcheck disable=SC2154,SC2086
    kill -CONT $pid_MA $pid_S 2>/dev/null
}
printf '%%%%MatrixMarket matrix array real general\n2 2\n4\n1\n1\n3\n' >A.mtx
printf '%%%%MatrixMarket matrix array real general\n2 1\n6\n7\n' >B.mtx
solve() {
    timeout 60 espalier solve "$@" A.mtx B.mtx
}
abstract() {
    timeout 60 espalier call "$@" solve A=@A.mtx B=@B.mtx -o X=-
}
sweep() {
    timeout 60 espalier sweep --csv --parallel 1 "$@" step i=1..300
}
check "the platform solves" wait_until solve
check "by the abstract problem too" abstract
check "and computes" espalier call step i=1

check_fails any "a sweep of 90 s that is to take 3 s" sweep --timeout '3 s'
check_says "has what was done by then" '^1,1,S,'
check_says "and says of the others that there was no time" 'not begun: the time of --timeout was over'

datum=$(espalier data put A.mtx -s S)
sweep_of_data() {
    timeout 60 espalier sweep --csv --parallel 1 "$@" dgesv nrhs=1,2,3 "A=data:$datum" 'B=rand(2,nrhs)'
}
check "a sweep takes a datum" sweep_of_data

for stopped in S MA; do
    eval "pid=\$pid_$stopped"
    kill -STOP "$pid"
    check_fails 3 "with $stopped stopped a sweep ends in time" sweep --timeout '2 s'
    check_fails 3 "also where the data of its calls have to be looked for" sweep_of_data --timeout '2 s'
    check_fails 3 "so does an abstract call" abstract --timeout '2 s'
    check_fails 3 "and solve" solve --timeout '2 s'
    check_fails 3 "with a problem that is named, too" solve --timeout '2 s' --problem dgesv
    kill -CONT "$pid"
    check "afterwards all is as before" wait_until abstract
done
finish
