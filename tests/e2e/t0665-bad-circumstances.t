#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Troubles of an administrator: two nodes of one name, two administrators at once, a full disk, a state of another
# release, clocks that differ by hours, a node that speaks another contract. Each is reported, and calls go on.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed curl
terms='heartbeat = "200 ms"
lease = "1 s"'
small=$work/small # a disk of its own, where we may have one
mkdir "$small"
mount -t tmpfs -o size=512k chaos "$small" 2>/dev/null && at_exit() {
    umount -l "$small"
}

run() { # run NAME PROGRAM LINES...: the daemon, with these further lines in NAME.conf
    name=$1 program=$2
    shift 2
    {
        printf 'name = "%s"\nlisten = "127.0.0.1:0"\naddress_file = "%s/%s.address"\nlog_file = "%s/%s.log"\n' \
            "$name" "$work" "$name" "$work" "$name"
        printf '%s\n' "$@"
    } >"$name.conf"
    start "$name" "$program" --foreground "$name.conf"
    address_of "$name.address" >/dev/null
}
serves() { # serves LINES...: what all servers have
    printf '%s\n' 'slots = 1' 'memory = "32 MiB"' "problems = \"$top_srcdir/problems/blas/level1.esp\"" "$@"
}
call() {
    espalier call ddot x=[1,2] y=[3,4] "$@"
}
never_left() { # never_left NODE
    [ "$(grep -c joined "$1.log")" -eq 1 ] && ! grep 'not below' "$1.log"
}
below() { # below NODE PARENT
    espalier tree --json | tr -d ' \n' | grep -o "{[^}]*\"name\":\"$1\"[^}]*}" | grep "\"parent\":\"$2\"" | grep -q '"unreachable":false'
}
agent_for_clients "$terms"
run LA1 espalier-agent "$terms" "parent = \"$agent\""
run LA2 espalier-agent "$terms" "parent = \"$agent\"" 'log_level = "debug"'
# Whose lease no machine is too busy for, and that ends when a clock that jumps is believed.
run LA3 espalier-agent 'heartbeat = "200 ms"' 'lease = "30 s"' "parent = \"$agent\""
la1=$(cat LA1.address) la2=$(cat LA2.address) la3=$(cat LA3.address)
run S espalier-sed "parent = \"$la1\"" "$(serves "state_dir = \"$small/S\"")"
check "a call" wait_until call

# ---- clocks that differ by hours ----
clock=$top_builddir/tests/e2e/.libs/shifted_clock.so
LD_PRELOAD=$clock SHIFTED_CLOCK=36000 run T espalier-sed "parent = \"$la3\"" "$(serves)"
check "a server ten hours ahead joins" wait_until below T LA3
check "and is called" call --server T
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n2\n' >two.mtx
check "and keeps data" sh -c 'espalier data put two.mtx --server T >datum'
check "for a client that is behind" env LD_PRELOAD="$clock" SHIFTED_CLOCK=-36000 espalier data get "$(cat datum)" back.mtx
check "as they are" cmp two.mtx back.mtx
check "it stays" wait_until below T LA3
check "and has not left meanwhile" never_left T

# ---- a clock that jumps, ten days ahead and twenty back ----
jump() { # DAYS
    echo $((86400 * $1)) >shift.new && mv shift.new shift # read whole
}
jump 0
LD_PRELOAD=$clock SHIFTED_CLOCK_FILE=$work/shift run J espalier-sed "parent = \"$la3\"" "log_level = debug" "$(serves "state_dir = \"$work/J.state\"")"
check "a server joins" wait_until below J LA3
is_measured() { # its figures are of now, by its own clock
    espalier weather --json --node J --resource freeMemory | tr -d '\n' >seen.json && cat seen.json &&
        sed -n 's/.*"age_s": \([0-9.]*\).*/\1/p' seen.json | awk '{ found = 1; old = $1 > 30 } END { exit !found || old }'
}
check "its sensors tell" wait_until is_measured
goes_on() { # DAYS: since the clock has jumped by so many, as its log shows
    jump "$1"
    day=$(date -u -d "$1 days" +%Y-%m-%d)
    call --server J || return 1
    wait_until has_day || return 1
    tail -1 J.log
    wait_until is_measured && wait_until below J LA3
}
has_day() {
    grep -q "^$day" J.log
}
check "its clock jumps ahead: all goes on" goes_on 10
check "and back" goes_on -10
check "and to where it was" goes_on 0
check "it has not left its parent" never_left J
stop J
jump 10
rm -f J.address
LD_PRELOAD=$clock SHIFTED_CLOCK_FILE=$work/shift start J espalier-sed --foreground J.conf
address_of J.address >/dev/null
check "nor does a jump between two lives spoil its series" sh -c '[ -s J.state/processor.ring ] && ! ls J.state/*.damaged 2>/dev/null'
check "it is called again" wait_until call --server J
stop J

# ---- two nodes of one name ----
sed -e "s|^parent.*|parent = \"$la2\"|" -e "s|$small/S|$work/twin|" -e "s|$work/S\.|$work/twin.|" S.conf >twin.conf
start twin espalier-sed --foreground twin.conf
says_taken() {
    grep -q 'another node named "S" lives at' twin.log
}
check "a second node of the same name gets an error" wait_until says_taken
check "the first one stays" below S LA1
is_put_out_again() {
    grep -q 'debug .*"S" at .* is gone, .* another node named' LA2.log
}
check "it is let in and put out again" wait_until is_put_out_again
check "which its log has once" sh -c '[ "$(grep -c "not below.*another node named" twin.log) $(grep -c joined twin.log)" = "1 1" ]'
check "as its parent's" sh -c '[ "$(grep -v debug LA2.log | grep -c "server .S. joined") $(grep -v debug LA2.log | grep -c "another node named")" = "1 1" ]'
check "and is called" call --server S
stop S KILL
check "when it is gone for good, the second one takes its place" wait_until below S LA2
check "and is called" call --server S
stop twin
start S espalier-sed --foreground S.conf
check "and the other way round" wait_until below S LA1

# ---- two administrators at once ----
moves() { # moves FILE: to and fro, and what came of each
    for to in LA2 LA1 LA2 LA1; do
        espalier admin move S --to $to >"$1.$to" 2>&1
        echo "$? $(cat "$1.$to")"
    done >"$1"
}
moves one &
first=$!
moves two &
wait $first $!
cat one two >"$log"
check_says "one of two administrators moves" '^0 S: moved below'
check "and the other node reports that the tree is another one" sh -c \
    "! grep -v '^0 ' one two | grep -v 'another administrator changes the tree now'"
check "the node is below one of them" sh -c 'espalier tree | grep -c "^ *S " | grep -qx 1'
check "and is called" call --server S
wait_until below S LA1 || espalier admin move S --to LA1 >/dev/null 2>&1

# ---- a full disk ----
if mountpoint -q "$small"; then
    dd if=/dev/zero of="$small/filling" bs=4k 2>/dev/null
    check "with a full disk calls go on" call --server S
    check "its log says that the disk is full" wait_until grep -q 'warning S the disk of state_dir .* is full' S.log
    check_fails 1 "durable data are not taken" espalier data put two.mtx --server S --mode persistent
    check "what cannot be kept is done" espalier admin drain S
    check_says "and how long it counts is reported" '^S: takes no new sessions, until it is started again, .*No space left'
    check_fails any "so it takes no sessions" call --server S --timeout 5s
    check "its log warns" grep -q 'warning S .*place.new.*No space left.*it tries again' S.log
    check "it still is where it was" below S LA1
    rm "$small/filling"
    check "with room again it is written" wait_until grep -q draining "$small/S/place"
    check "and its log says that once" wait_until grep -q 'S the disks of .* are no longer full' S.log
    check "as it said the other" sh -c "test \$(grep -c 'the disk of state_dir .* is full' S.log) = 1"
    check "and taken back" espalier admin undrain S
    check_says "for good" '^S: takes sessions again$'

    # ---- a start on a full disk ----
    run F espalier-sed "parent = \"$la1\"" "$(serves "state_dir = \"$small/F\"")" 'http = "127.0.0.1:0"'
    check "one more server" wait_until call --server F
    stop F
    sed -i "s|^address_file.*|address_file = \"$small/F.address\"|" F.conf
    dd if=/dev/zero of="$small/filling" bs=4k 2>/dev/null
    start F espalier-sed --foreground F.conf
    check "is started again on a full disk, and serves" wait_until call --server F
    says_full() {
        grep -E "warning F cannot write the address file \"$small/F.address(.http)?\": No space left on device" F.log
    }
    check "its log says what is not written" says_full
    health() {
        curl -fsS --max-time 20 "$(grep -o 'http://.*' F.log | tail -1)/health"
    }
    check_fails 22 "its health is not good" health
    page() {
        curl -sS --max-time 20 "$(grep -o 'http://.*' F.log | tail -1)/health"
    }
    check "the page can be read" page
    check_says "and says why" '^not ok F: .*cannot write the address file' 'the disk of state_dir .* is full'
    check "nothing is there" sh -c "! test -s $small/F.address"
    rm "$small/filling"
    check "when there is room, it is written" wait_until test -s "$small/F.address"
    check "as it is" sh -c "espalier tree --json | grep -q \"\$(cat $small/F.address)\""
    recovers() {
        health && ! health | grep -q 'cannot write'
    }
    check "and health says nothing of it" wait_until recovers
    stop F
    check_fails any "no address file is left" ls "$small/F.address"
fi

# ---- the state of another release ----
stop S
cp -r "$small/S" before
sed -i '1s/.*/espalier place 99/' "$small/S/place"
check_fails 4 "the state of another release is refused" timeout 20 espalier-sed --foreground S.conf
check_says "with what to do" 'the state is of another version; remove the file'
cp before/place "$small/S/place"

# ---- another contract ----
mkdir future
sed 's/espalier-1/espalier-9/g' "$top_builddir/sed/espalier-sed" >future/espalier-sed
chmod 755 future/espalier-sed
for program in "$top_builddir"/sed/espalier-*; do
    [ -e "future/${program##*/}" ] || ln -s "$program" future
done
sed -e 's/^name.*/name = "N"/' -e "s|$work/S\.|$work/N.|" -e '/^state_dir/d' S.conf >N.conf
start N future/espalier-sed --foreground N.conf
tells_contracts() { # tells_contracts LOG THEIRS OURS
    grep -q "it speaks contract $2, this .* contract $3: install releases of one contract" "$1"
}
check "a server that speaks another contract is not taken, and says which" wait_until tells_contracts N.log 1 9
check "so does its parent" wait_until tells_contracts LA1.log 9 1
check "and none is said to be away" sh -c "! grep 'cannot be reached' N.log"
start_server S
check "and nobody else notices" wait_until call --server S
check "it is not in the tree" sh -c "! espalier tree | grep -q ' N '"
finish
