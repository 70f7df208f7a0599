#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server of 64 slots serves every problem that its file names, and says which it cannot.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed curl

cat >missing.esp <<'END'
problem missing "A routine of a library that is not there"
    in  int n
implementation c
    c missing(n) in "libespalier-is-not-there.so"
END
agent_for_clients
server_below_agent server S 'slots = 64' 'http = "127.0.0.1:0"' "problems = { \"$top_srcdir/problems\", \"$work/missing.esp\" }"
said() { grep -Eq "$1" server.log; }
health() { curl -s "http://$(address_of server.address.http)/health" | grep -q "$1"; }

check "the server is ready" wait_until said 'ready address='
check_fails 1 "its spawner read all commands" said 'spawner'
check "the log counts the problem that cannot be called" said ' 1 of [0-9]+ problems cannot be called'
check "so does /health" wait_until health '64 slots in use; 1 of its problems cannot be called'
check "a problem is solved" espalier call dgesv n=2 nrhs=1 'A=rand(n,n)' 'B=rand(n,nrhs)'
finish
