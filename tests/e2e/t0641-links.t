#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Links are measured by probes: an agent and three servers in network namespaces of their own, whose links have known
# rates and delays. The test looks at the weather, at forecasts and at damaged series.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed ip curl
patience=${ESP_TEST_PATIENCE:-200} # slow links are measured once a minute, and the first time may have been a bad one
link=$top_builddir/tests/e2e/slow_link
[ -x "$link" ] || skip_all "built without the ORB"
[ "$(id -u)" -eq 0 ] && [ -c /dev/net/tun ] || skip_all "network namespaces and /dev/net/tun are root's"
at_exit() {
    stop_all
    for space in hub near far; do
        ip netns del "esp-$space-$$" 2>/dev/null
    done
}
hub=esp-hub-$$
for space in hub near far; do
    ip netns add "esp-$space-$$" 2>/dev/null || skip_all "no network namespaces can be made"
    ip netns exec "esp-$space-$$" ip link set lo up
done
in_space() {
    in_space=$1
    shift
    ip netns exec "esp-$in_space-$$" "$@"
}

# The hub is 10.99.0.1 for all that ask.
in_space hub ip addr add 10.99.0.1/32 dev lo
in_space hub sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward' 2>/dev/null
connect() { # NAME NUMBER MBITS DELAY_MS
    start "link$2" "$link" $hub "esp-$1-$$" "$3" "$4" "$work/passed$2" "esp$2"
    wait_until test -s "passed$2"
    in_space hub ip addr add "10.99.$2.1/24" dev "esp$2"
    in_space hub ip link set "esp$2" up
    in_space "$1" ip addr add "10.99.$2.2/24" dev "esp$2"
    in_space "$1" ip link set "esp$2" up
    in_space "$1" ip route add default via "10.99.$2.1"
}
connect near 1 50 2
connect far 2 16/4 15

printf 'name = "MA"\nlisten = "10.99.0.1:0"\ninsecure = true\naddress_file = "%s/agent.address"\nstate_dir = "%s/state-MA"\n' \
    "$work" "$work" >agent.conf
echo 'log_level = debug' >>agent.conf
mkdir state-MA state-near state-far
start agent ip netns exec $hub espalier-agent --foreground agent.conf
agent=$(address_of agent.address)
printf 'agents = { "%s" }\n' "$agent" >fresh.conf
printf 'agents = { "%s" }\nsound_links = no\n' "$agent" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
start_near_or_far() { # NAME NUMBER
    printf 'name = "%s"\nparent = "%s"\nlisten = "10.99.%s.2:0"\ninsecure = true\nslots = 1\nmemory = "256 MiB"\n' "$1" "$agent" "$2" >"$1.conf"
    printf 'state_dir = "%s/state-%s"\nprobe_every = "300 ms"\nproblems = { "%s/problems/blas" }\nlog_file = "%s/%s.log"\n' \
        "$work" "$1" "$top_srcdir" "$work" "$1" >>"$1.conf"
    start "$1" ip netns exec "esp-$1-$$" espalier-sed --foreground "$1.conf"
}
start_near_or_far near 1
start_near_or_far far 2

weather() { # NAME RESOURCE FROM
    in_space hub espalier weather --json --node "$1" --resource "$2" | tr -d '\n' | tr '{' '\n' |
        grep -E "\"from\": \"$3\".*\"to\": \"($1|MA)\"" | sed -n "s/.*\"now\": \([0-9.e+-]*\).*/\1/p"
}
# within NAME RESOURCE FROM LEAST MOST: of the link between NAME and the agent; a forecast takes two measurements, which
# may be a minute apart (a node rests from what measuring takes of its processor)
within() {
    weather "$1" "$2" "$3" | awk -v least="$4" -v most="$5" '{ print; good = $1 >= least && $1 <= most } END { exit !good }'
}
check "the rate of a link of 50 Mbit/s is found" wait_until within near bandwidthTcp MA 30 60
check "and of one of 16 Mbit/s" wait_until within far bandwidthTcp MA 9 20
check "the rate back from there, which is clearly less, too" wait_until within far bandwidthTcp far 1 7
check "and of a link that is alike both ways" wait_until within near bandwidthTcp near 30 60
check "there and back takes 4 ms" wait_until within near latencyTcp MA 4 8
# What makes the link is a program, which others delay, and so slow a link is measured once a minute: never less, and
# clearly neither one way nor both ways twice.
check "and 30 ms" wait_until within far latencyTcp MA 30 45
shows_links() {
    in_space hub espalier weather --summary >shown && cat shown &&
        grep -Eq '^far .* [0-9.]+ ms +[0-9.]+ Mbit/s +[0-9.]+ Mbit/s' shown
}
check "people are shown both" wait_until shows_links
shows_all() {
    in_space hub espalier weather >shown && cat shown && grep -Eq '^MA > far +bandwidthTcp +[0-9.]+ Mbit/s .*[▁▂▃▄▅▆▇█]' shown &&
        grep -Eq '^far > MA +bandwidthTcp +[0-9.]+ Mbit/s' shown && grep -Eq '^MA <> far +latencyTcp +[0-9.]+ ms' shown &&
        grep -Eq '^MA <> far +connectTimeTcp +[0-9.]+ ms' shown
}
check "each figure with its forecast and plot" wait_until shows_all

# 1000 x 1000 doubles: two matrices there, one back (beta is 0: dgemm does not read what it writes over).
transfers() { # NAME LEAST MOST
    in_space hub espalier forecast --json dgemm m=1000 n=1000 k=1000 | tr -d '\n' |
        sed -n "s/.*\"server\": \"$1\"[^}]*\"transfer_s\": \([0-9.e+-]*\).*/\1/p" |
        awk -v least="$2" -v most="$3" '{ print; good = $1 >= least && $1 <= most } END { exit !good }'
}
check "a forecast counts with the link: 24 MB in some 4 s" wait_until transfers near 3 10
check "and in some 25 s, as the result comes back at a quarter of the rate" wait_until transfers far 18 40

brothers() {
    [ -s state-MA/links/near%3Afar.ring ] || [ -s state-MA/links/far%3Anear.ring ]
}
check "servers of one agent measure the link between them, and the agent gets the result" wait_until brothers
shows_brothers() {
    in_space hub espalier weather --node near --resource bandwidthTcp >shown && cat shown && grep -Eq '^(near > far|far > near) +bandwidthTcp +[0-9.]+ Mbit/s' shown
}
check "people are shown that, too" wait_until shows_brothers

# A fresh client measures its own ways before its first great request, and knows that it sits beside "near".
fresh() {
    in_space near env XDG_CACHE_HOME="$work/fresh" ESPALIER_CONFIG="$work/fresh.conf" espalier forecast --json dgemm m=1000 n=1000 k=1000 | tr -d '\n' |
        sed -n 's/.*"server": "near"[^}]*"transfer_s": \([0-9.e+-]*\).*/\1/p' |
        awk '{ print; good = $1 > 0 && $1 <= 1 } END { exit !good }'
}
check "the agent's way is not taken for a fresh client's" fresh

# A client beside the server "near": the agents' way there is 50 Mbit/s long, its own is not.
placed_after() { # the transfer that the agent expected of the last call
    sed -n 's/.*dgemm placed on "near".*transfer \([0-9.e+-]*\) s.*/\1/p' agent.out | awk -v most="$1" '{ last = $1 } END { print NR, last; exit !(NR > 1 && last < most) }'
}
own_link() {
    in_space near espalier sweep dgemm m=500,501,502 n=500 k=500 A=rand B=rand alpha=1 --server near --deadline '1 min' --parallel 1 || return 1
    head -c 100000 agent.out | grep 'dgemm placed'
    placed_after 0.3
}
check "a client learns its own link from its transfers, and the choice counts with it" own_link

# A fresh client beside the server "far" looks at its way to the agent before a request of some hundred kB: 4 Mbit/s, where the
# agents' way on to "near" has 50.
over_the_agent() {
    in_space far env XDG_CACHE_HOME="$work/over" ESPALIER_CONFIG="$work/fresh.conf" espalier forecast --json dgemm m=150 n=150 k=150 | tr -d '\n' |
        sed -n 's/.*"server": "near"[^}]*"transfer_s": \([0-9.e+-]*\)[^}]*"transfer_by": "shortest path".*/\1/p' |
        awk '{ print; good = $1 > 0.5 && $1 < 6 } END { exit !good }'
}
check "an unknown link is the shortest path: the client's way to the agent, and the agents' on" over_the_agent
check "which its next program knows" grep -q "$agent sounded" over/espalier/links

# It calls "near" with arguments of 80 kB, then with such that travel in the call itself. How far the agent is (30 ms there
# and back) it knows before the first one; the agents' way alone would take 50 ms.
placed_small() {
    sed -n 's/.*dgemm placed on "near".*transfer \([0-9.e+-]*\) s.*/\1/p' agent.out | tail -n "$1"
}
small_requests() {
    in_space far env XDG_CACHE_HOME="$work/small" espalier sweep dgemm "m=$1" n="$2" k="$2" A=rand B=rand alpha=1 --server near \
        --deadline '1 min' --parallel 1 || return 1
    placed_small 3
    placed_small 3 | awk -v first="$3" -v least="$4" 'NR == 1 { good = $1 > first } { last = $1 } END { exit !(good && last > least) }'
}
check "requests of few bytes count with the client's own link, too" small_requests 100,101,102 100 0.1 0.2
check "what they told is kept for the user's next program" grep -q "^short .* 10\.99\.1\.2:" small/espalier/links
check "and those that travel in calls" small_requests 80,81,82 80 0.08 0.12

# The agents' ways from here to "near" take 30 + 4 ms there and back, and some 5 of them are known to a client that sits beside
# it: what its small calls take tells it how near that is, and the first of 80 kB how quick.
foreseen_near() { # SIZES... : what the transfers are forecast with, by what; for $user
    in_space near env XDG_CACHE_HOME="$work/${user:-nearby}" espalier forecast --json "$@" --server near | tr -d '\n' |
        sed -n 's/.*"server": "near"[^}]*"transfer_s": \([0-9.e+-]*\)[^}]*"transfer_by": "\([a-z ]*\)".*/\1 \2/p'
}
called_near() { # PROBLEM ARGUMENTS... : a client beside "near"
    in_space near env XDG_CACHE_HOME="$work/nearby" espalier call "$@" --server near
}
small_call_tells() {
    foreseen_near ddot n=10 >before && cat before && called_near ddot n=3 'x=[1,2,3]' 'y=[1,1,1]' && foreseen_near ddot n=10 >after && cat after || return 1
    awk 'NR == FNR { before = $1; next } END { exit !(before > 0.006 && $1 < before / 2) }' before after
}
check "a small call tells how far a server is" small_call_tells
short_call_tells() { # less than a quarter of what somebody is told who has called nobody
    user=stranger foreseen_near dgemm m=70 n=70 k=70 >before && cat before &&
        called_near dgemm m=70 n=70 k=70 A=rand B=rand alpha=1 -o C=c.npy &&
        foreseen_near dgemm m=70 n=70 k=70 >after && cat after || return 1
    awk 'NR == FNR { before = $1; next } END { exit !($2 == "own" && $1 > 0 && $1 < before / 4) }' before after
}
check "and one of some 80 kB its rate: forecasts of what is short stand on that" short_call_tells

# What it sends goes at 4 Mbit/s, what it gets comes at 16.
both_ways() {
    in_space far env XDG_CACHE_HOME="$work/both" espalier call dgemm m=300 n=300 k=300 A=rand B=rand alpha=1 -o C=c.npy --server near || return 1
    cat both/espalier/links
    awk '$4 ~ /^10\.99\.1\.2:/ { good = $3 > 0.2e6 && $3 < 0.7e6 && $6 > 2 * $3 } END { exit !good }' both/espalier/links
}
check "a client knows both directions of its links" both_ways

# The rings are the series with which servers continue; a damaged one is reported and set aside.
stop far
printf 'rubbish' >state-far/links/MA.ring
start_near_or_far far 2
check "a damaged series is reported, and set aside" wait_until grep -q 'MA.ring is damaged.*set aside as' far.log
check "and measuring goes on" wait_until within far bandwidthTcp MA 9 20

# Strangers get nothing, and nobody too much.
url=$(in_space near ss -tlnp 2>/dev/null | awk '/espalier-sed/ { print $4 }' | sort -u)
is_forbidden() {
    for address in $url; do
        in_space hub curl -s -m 5 "http://$address/0123/bytes?n=1" && return 0
    done
    return 1
}
check "a peer without the secret is refused" is_forbidden
check_says "with a word" 'this port is for nodes of the tree'
finish
