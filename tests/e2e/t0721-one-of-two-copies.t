#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A datum has copies on two servers, and one of these is killed, or stands still: calls, programs and commands that use it
# go on with the other copy.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed jq
steps=$top_builddir/tests/e2e/copies_steps
[ -x "$steps" ] || skip_all "built without the ORB"

two_servers_with_data "$top_srcdir/tests/e2e/late.esp"
echo 'agent_patience = "2 s"' >>client.conf # nobody waits longer for a server that was killed

begins() { # begins STEPS: its datum is $id
    rm -f made lost
    start steps timeout 120 "$steps" "$1"
    wait_until test -s made || return 1
    id=$(cat made)
}
both_have_it() {
    espalier data info "$id" >shown && grep -q 'on  *A ' shown && grep -q 'on  *B ' shown
}
goes_on() {
    # shellcheck disable=SC2154
    wait "$pid_steps" || { cat steps.out; return 1; }
}
lost_to_agents() { # lost_to_agents SERVER
    espalier tree --json >tree && jq -e --arg name "$1" 'all(.[]; .name != $name or .unreachable)' tree
}
got() {
    rm -f back.npy
    espalier data get "$id" back.npy --timeout '20 s' && cmp back.npy before.npy
}
shown_on() { # shown_on SERVER
    espalier data info "$id" --timeout '20 s' && espalier data info "$id" --timeout '20 s' | grep -q "on  *$1 "
}
takes_it() {
    espalier call product "A=data:$id" "B=data:$id" --timeout '60 s' -F -o C=c.csv
}
alone_again() {
    wait_until servers 2 && wait_until deleted
}
deleted() {
    espalier data rm "$id" >rm.out 2>&1
    [ -z "$(espalier data ls | grep ':')" ]
}

for kind in durable volatile result used; do
    for victim in A B; do
        other=$(echo AB | tr -d $victim)
        for how in "has just been killed" "was lost" "stands still"; do
            case $kind-$how in # of all kinds all servers, in one way at least
            durable* | volatile-has* | result-was* | used-stands*) ;;
            *) continue ;;
            esac
            check "$kind: a datum with two copies" begins $kind
            check "as is seen" wait_until both_have_it
            espalier data get "$id" before.npy
            eval "pid_victim=\$pid_$victim"
            if [ "$how" = "stands still" ]; then
                # shellcheck disable=SC2154
                kill -STOP "$pid_victim"
            else
                stop $victim KILL
                [ "$how" != "was lost" ] || check "its agent notices" wait_until lost_to_agents $victim
            fi
            touch lost
            check "server $victim $how: who gets it gets it from $other" got
            check "it is shown there" shown_on $other
            check "a call takes it" takes_it
            check "a program goes on with it" goes_on
            if [ "$how" = "stands still" ]; then
                kill -CONT "$pid_victim"
            else
                start_server $victim
            fi
            check "two servers are there, with nothing left" alone_again
        done
    done
done

in_use() {
    espalier data ls -s A --json >on-A && espalier data ls -s B --json >on-B &&
        { victim=A; grep -q '"users": [1-9]' on-A || { victim=B; grep -q '"users": [1-9]' on-B; }; }
}
check "a call takes a datum with two copies" begins under-way
check "on one of the servers" wait_until in_use
stop $victim KILL
touch lost
check "which is killed: the call goes on with the other copy" goes_on
start_server $victim
check "two servers are there, with nothing left" alone_again
finish
