#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An agent that is killed and started again while a server below it is expected back waits for it as its earlier life did.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

mkdir problems
printf 'problem alpha "Say it"\n    out int j\nimplementation sh\n    command sh "-c" "echo 1"\n    stdout j\n' >problems/alpha.esp
agent_for_clients 'heartbeat = "200 ms"' "state_dir = \"$work/MA\""
sed "s/127.0.0.1:0/$agent/" agent.conf >again.conf # at its address
server_below_agent S S "problems = { \"$work/problems\" }" "state_dir = \"$work/S\""
check "a call" wait_until espalier call alpha
stop S
kept() { grep -q '^problem alpha$' MA/awaited; }
check "its server is ended, and the agent writes that it waits for it" wait_until kept
stop agent KILL
rm -f agent.address
start agent espalier-agent --foreground again.conf
address_of agent.address >/dev/null
check "the agent is killed, and another one there" espalier tree
check_says "which shows it" ' S .*ended [0-9]+ s ago, is waited for \([0-9]+ s more\)$'
espalier call alpha >call.out 2>&1 &
call=$!
sleep 8 # longer than a fresh agent is unsure
check "a call of a program that never saw it waits" kill -0 $call
start_server S
check "and is served when the server is there again" wait $call
cat call.out >"$log"
check_says "as by any other" '^j = 1'
forgotten() { ! grep -q '^server ' MA/awaited; }
check "it is not expected any more" wait_until forgotten
finish
