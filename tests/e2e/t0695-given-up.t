#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What was given up while its server was away goes when that is back: below the same master agent, which was started
# again meanwhile, below another one, and below one that has forgotten it, and hears it from the other.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed espalier-redirector

printf 'name = "R"\nlisten = "127.0.0.1:0"\naddress_file = "%s/R.address"\n' "$work" >R.conf
start R espalier-redirector --foreground R.conf
redirector=$(address_of R.address)
printf 'redirector = "%s"\n' "$redirector" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG

agent() { # agent NAME LINE...
    name=$1
    shift
    printf 'name = "%s"\nlisten = "127.0.0.1:0"\naddress_file = "%s/%s.address"\nstate_dir = "%s/state-%s"\n' \
        "$name" "$work" "$name" "$work" "$name" >"$name.conf"
    printf '%s\n' "$@" >>"$name.conf"
    start "$name" espalier-agent --foreground "$name.conf"
    agent=$(address_of "$name.address")
    sed -i "s/^listen = .*/listen = \"$agent\"/" "$name.conf" # there it is started again
}
server() { # server NAME: below $agent
    server_below_agent "$1" "$1" "state_dir = \"$work/state-$1\"" 'slots = 1' 'store_memory = "64 MiB"' \
        "problems = { \"$top_srcdir/problems/elementwise\" }"
}
agent MA2 "redirector = \"$redirector\""
second=$agent
server S3
agent MA1 "redirector = \"$redirector\""
server S1
agent LA "parent = \"$agent\""
server S2
there() { # there SERVER...
    for server; do
        espalier data ls -s "$server" || return 1
    done
}
check "three servers are below two master agents" wait_until there S1 S2 S3
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n2\n' >two.mtx
put() { # put: the identity goes to d, and the datum is on S2 alone
    d=$(espalier data put two.mtx -s S2 -m persistent)
}
gone() { # gone SERVER: it is there, and has the datum no more, also on its disk
    espalier data ls -s "$1" >shown && ! grep -q "$d" shown && [ ! -e "state-$1/data/${d#*:}.datum" ]
}
on_disk() {
    [ -e "state-S2/data/${d#*:}.datum" ]
}

check "a datum is on one server" put
check "and in a file" on_disk
other=$(espalier data put two.mtx -s S2 -m persistent)
stop S2 KILL
check_fails 3 "the datum cannot be deleted" espalier data rm "$d"
check "but given up" espalier data rm --force "$d"
check_says "which is reported, with what comes of it" 'given up on S2, which cannot be reached: it goes there when that is back'
stop MA1 KILL
start MA1 espalier-agent --foreground MA1.conf
check "its agents are there again after a crash" wait_until there S1
start_server S2
check "when it is back, the datum goes" wait_until gone S2
check "and another one stays" espalier data info "$other"
check_says "there" 'on +S2 .*disk'
check_says_in() { # check_says_in FILE TEXT PATTERN
    run_logged cat "$1"
    check_says "$2" "$3"
}
check_says_in S2.log "its log tells why" 'it was given up while this server was away'

check "another datum is put" put
stop S2 KILL
check "it is given up" espalier data rm --force "$d"
sed -i "s/^parent = .*/parent = \"$second\"/" S2.conf
start_server S2
check "and goes when that is back below the other master agent" wait_until gone S2
check "where the other one stays, too" wait_until espalier data get "$other" back.mtx

# A server that has forgotten it learns of it from the other one.
agent=$second
check "a datum is put once more" put
stop S2 KILL
check "it is given up" espalier data rm --force "$d"
stop MA2 KILL
rm "state-MA2/given-up"
start MA2 espalier-agent --foreground MA2.conf
start_server S2
check "and goes, when its master agent has forgotten that, and another one has not" wait_until gone S2
check "which that one noted again" test -s state-MA2/given-up

# Without anybody who notes it.
agent=$second
check "a third one is put" put
stop S2 KILL
for name in MA1 MA2; do
    rm -rf "state-$name/given-up.new"
    mkdir "state-$name/given-up.new"
done
check_fails any "where no master agent can note it, it is not done" espalier data rm --force "$d"
check_says "which is reported, with why" 'no master agent has noted that .*given-up.new.*: should S2 come back, delete it again'
finish
