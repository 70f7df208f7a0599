#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One bad process holds as many connections to the daemons as it gets, with nothing, half of something or
# nonsense on them: everybody else is served all the same, and the logs say what happened.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed bash

limits='connections_per_peer = 12
first_message_timeout = "2 s"
stall_timeout = "2 s"
log_file'
cat >agent.conf <<EOF2
name = "MA"
listen = "127.0.0.1:0"
address_file = "$work/agent.address"
$limits = "$work/agent.log"
EOF2
start agent espalier-agent --foreground agent.conf
agent=$(address_of agent.address)
cat >sed.conf <<EOF2
name = "S"
parent = "$agent"
listen = "127.0.0.1:0"
address_file = "$work/sed.address"
$limits = "$work/sed.log"
slots = 1
problems = { "$top_srcdir/problems/lapack" }
EOF2
start sed espalier-sed --foreground sed.conf
sed=$(address_of sed.address)
printf 'agents = { "%s" }\n' "$agent" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG

works() {
    espalier call dgesv A='[4,1;1,3]' B='[6;7]' -o B=-
}
check "a call gives its result" wait_until works

# hold HOST:PORT: thirty connections of each kind, kept open.
cat >hold <<'EOF2'
host=${1%:*} port=${1##*:}
for i in $(seq 30); do
    exec {silent}<>"/dev/tcp/$host/$port"
    exec {half}<>"/dev/tcp/$host/$port" && printf 'GIOP\001\002\001\000\000\001\000\000abcd' >&"$half"
    exec {nonsense}<>"/dev/tcp/$host/$port" && printf 'GET / HTTP/1.0\r\n\r\n' >&"$nonsense"
done 2>/dev/null
echo held
exec sleep 600
EOF2
start hold_agent bash ./hold "$agent"
start hold_sed bash ./hold "$sed"
check "a bad process holds what it can get" wait_until grep -q held hold_agent.out
check "of both daemons" wait_until grep -q held hold_sed.out
for i in 1 2 3; do
    check "calls work all the same ($i)" works
done
check "the agent's log says whose connections were closed" grep -Eq 'connections from one host: that of 127.0.0.1:[0-9]+ is closed' agent.log
check "the server's too" grep -Eq 'connections from one host: that of 127.0.0.1:[0-9]+ is closed' sed.log
check "and that the last ones sent nothing in time" wait_until grep -q 'no complete message came within 2 s' agent.log
# One that may have few descriptors keeps some for its work: nobody's connections use them up.
sed 's/"S"/"F"/; s/sed\.log/few.log/; s/sed\.address/few.address/; /connections_per_peer/d' sed.conf >few.conf
# shellcheck disable=SC2016
start few sh -c 'ulimit -n 128 && exec espalier-sed --foreground few.conf'
few=$(address_of few.address)
works_there() {
    espalier call -s F dgesv A='[4,1;1,3]' B='[6;7]' -o B=-
}
check "a server with 128 descriptors computes" wait_until works_there
check "and says what it can have" grep -q '64 connections at most, and not [0-9]*: .* only 128 descriptors' few.log
start hold_few bash ./hold "$few"
check "a bad process holds what it can get of it" wait_until grep -q held hold_few.out
for i in 1 2 3; do
    check "calls work there all the same ($i)" works_there
done

check "the tree is whole" sh -c "espalier tree --json | grep -q '\"name\": \"S\"'"
# A label of more than 63 characters is no name, whatever the name servers are: it is not even asked for.
nobody=$(printf '%070d' 0 | tr 0 x)
check_fails 3 "a host that nobody knows" espalier tree --redirector "$nobody:4780"
check_says "is reported, with its name" "the host name \"$nobody\" cannot be resolved"
finish
