#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One session can be followed through the logs of all daemons, at the default level, by its number.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed

# node NAME KIND LINES...: a daemon of that kind with its log in NAME.log.
node() {
    name=$1 kind=$2
    shift 2
    {
        printf 'name = "%s"\nlisten = "127.0.0.1:0"\n' "$name"
        printf 'address_file = "%s/%s.address"\nlog_file = "%s/%s.log"\n' "$work" "$name" "$work" "$name"
        printf '%s\n' 'log_level = debug' "$@"
    } >"$name.conf"
    start "$name" "espalier-$kind" --foreground "$name.conf"
    eval "$name=\$(address_of $name.address)"
}
node redirector redirector
# shellcheck disable=SC2154
node MA agent "redirector = \"$redirector\""
# shellcheck disable=SC2154
node LA agent "parent = \"$MA\""
# shellcheck disable=SC2154
node SeD sed "parent = \"$LA\"" 'slots = 1' "problems = { \"$top_srcdir/problems/lapack\", \"$top_srcdir/problems/blas\" }"
printf 'redirector = "%s"\n' "$redirector" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG

works() {
    espalier call dgesv A='[4,1;1,3]' B='[6;7]' -o B=-
}
check "a call gives its result" wait_until works

# The session's number as the server has it.
number=$(sed -n 's/.* session=\([0-9a-f]*-[0-9]*\) done: dgesv.*/\1/p' SeD.log | tail -n 1)
check "the server's log has its session" test -n "$number"
says() { # says NODE PATTERN: the node's log has a line about that session
    grep -Eq " session=$number $2" "$1.log"
}
check "the redirector's says where it was sent" says redirector 'and later ones sent to "MA"'
check "the master's says which server was chosen" says MA 'dgesv placed on "SeD" of 1'
check "the leader's says so too" wait_until says LA 'placed on "SeD"'
check "one grep finds it in all four" sh -c "[ \$(grep -l '$number' ./*.log | wc -l) -eq 4 ]"

check_fails any "a request that no server can take" espalier call --server nobody dgesv A='[4,1;1,3]' B='[6;7]'
espalier call dgesv A='[1,1;1,1]' B='[1;1]' >failed.out 2>&1
check "a session that fails is in the server's log with why" grep -Eq 'session=[0-9a-f]+-1 failed: dgesv .*singular' SeD.log
finish
