#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Data on servers below different leader agents: a search for one is sent from agent to agent, and a datum that cannot
# be had gives an error with the server's reason, and never with that of an agent on the way.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

agent_for_clients
root=$agent
leader() { # leader NAME: below the master agent; the servers that are started next are below it
    printf 'name = "%s"\nparent = "%s"\nlisten = "127.0.0.1:0"\naddress_file = "%s/%s.address"\n' \
        "$1" "$root" "$work" "$1" >"$1.conf"
    start "$1" espalier-agent --foreground "$1.conf"
    agent=$(address_of "$1.address")
}
server() {
    server_below_agent "$1" "$1" "state_dir = \"$work/state-$1\"" 'slots = 1' 'store_memory = "128 MiB"' \
        "problems = { \"$top_srcdir/problems/elementwise\" }"
}
leader LA1
server S1
server S2
leader LA2
server S3
three_servers() {
    [ "$(espalier tree | grep -Ec '(^|[^A-Za-z])S[123]( |$)')" = 3 ] && espalier data ls -s S3
}
check "three servers are below two leaders" wait_until three_servers

printf '%%%%MatrixMarket matrix array real general\n2 2\n4\n2\n1\n3\n' >a.mtx
espalier matrix convert a.mtx a.npy
put() { # put SERVER: the identity goes to d
    d=$(espalier data put a.npy -s "$1" -m persistent)
}
has() { # has PATTERN...: what is shown of it (agents hear of changes a little later)
    espalier data info "$d" >shown && grep -Eq "$1" shown
}
got_back() {
    espalier data get "$d" back.npy && cmp back.npy a.npy
}

check "a datum is put below one leader" put S2
check "moves below the other one" espalier data mv "$d" S3
check "and on to a server that never had it" espalier data mv "$d" S1
check "it is as it was" got_back

# The only original is on a server that is dead; the search for it goes by way of both leaders.
check "another datum is put" put S2
check "and copied below the other leader" espalier data cp "$d" S3
check "where agents know it" wait_until has 'on +S3 .*replica'
stop S2 KILL
check "when it dies, the copy is found" wait_until got_back
check_fails 3 "its original cannot move when its server is dead" espalier data mv "$d" S1
check_says "which is reported" 'no connection|connection refused|S3 has a replica of it, and the server with the original cannot be reached'
cannot_move() { # without the name of an agent
    ! espalier data mv "$d" S1 >said 2>&1 && cat said && ! grep 'is an agent' said S1.log
}
check "no agent on the way is taken for a server that should have it" cannot_move
check "the replica is still there" got_back
finish
