#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A disk turns bits over in files of data: nobody gets a wrong byte, a call takes a sound copy from another server, and
# where the original is damaged a sound copy becomes it, for good.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed od dd

agent_for_clients
for name in A B C; do
    server_below_agent "$name" "$name" "state_dir = \"$work/state-$name\"" 'slots = 1' 'store_memory = "12 MiB"' \
        'store_disk = "200 MB"' "problems = { \"$top_srcdir/problems/blas\" }"
done
servers() {
    espalier problems | grep -Eq "^ddot .* 3 "
}
check "three servers are there" wait_until servers

vector() { # vector SEED: a million numbers, as a matrix file
    awk -v s="$1" 'BEGIN { print "%%MatrixMarket matrix array real general\n1000000 1"
        for (i = 0; i < 1000000; i++) print (i * 7919 + s) % 1009 }'
}
vector 1 >x.mtx
vector 2 >other.mtx
espalier matrix convert x.mtx x.npy
expected=$(awk 'NR > 2 { s += $1 * $1 } END { printf "%.15g", s }' x.mtx)

put_x() { # put_x: on A, for good; another one takes A's memory. $id
    id=$(espalier data put x.mtx -s A -m persistent) && sound=$(espalier data put other.mtx -s A -m persistent)
}
copied() { # B has a copy, and the agents know it
    espalier data info "$id" >shown && grep -q 'on  *B .*replica' shown
}
file_of() { # file_of SERVER
    find "state-$1" -name "${id#*:}.datum" ! -path '*/damaged/*'
}
turn_over() { # turn_over SERVER OFFSET: another byte there
    file=$(file_of "$1") && [ -n "$file" ] || return 1
    was=$(od -An -tu1 -j "$2" -N 1 "$file" | tr -d ' ')
    # shellcheck disable=SC2059
    printf "$(printf '\\%03o' $(((was + 1) % 256)))" | dd of="$file" bs=1 seek="$2" conv=notrunc
}
original_on() { # original_on SERVER: there, and nowhere else
    espalier data info "$id" | grep 'on  *[ABC] ' | grep -v replica >originals
    [ "$(wc -l <originals)" = 1 ] && grep -q "on  *$1 " originals
}
got_back() {
    espalier data get "$id" back.npy && cmp back.npy x.npy
}
set_aside() {
    find state-A -path "*/damaged/${id#*:}.datum" | grep -q .
}
back_again() { # back_again SERVER: started again, and known
    start_server "$1"
    # shellcheck disable=SC2317
    is_known() {
        espalier data ls -s "$1" >/dev/null
    }
    wait_until is_known "$1"
}

# ---- found by a call ----
check "a datum on A" put_x
check "is copied" espalier data cp "$id" B
check "to B" wait_until copied
check "A's file of it is damaged" turn_over A 4000000
check "a call on A that takes it" espalier call ddot "x=data:$id" "y=data:$id" -s A
check_says "computes with a sound copy" "$expected"
check "the damaged file is set aside" set_aside
check "which A tells" grep -q 'the checksum of .* does not fit them: set aside' A.log
check "and B's copy is the original now" wait_until original_on B
check "as A tells" grep -q "its file here was damaged: the copy on server B is the original now" A.log
check "and B" grep -q "the copy here is the original now, persistent: the one of server A is lost" B.log
check "it is for good there" test -n "$(file_of B)"
check "it comes back byte by byte" got_back
check "it moves" espalier data mv "$id" C
check "to one place" wait_until original_on C
for name in A B C; do
    stop "$name" KILL
    check "$name is killed and comes back" back_again "$name"
done
check "with what it had" wait_until got_back
check "in its place" wait_until original_on C
check "it goes" espalier data rm "$id"

# ---- found while it is read from elsewhere ----
check "another one" put_x
check "is copied, too" espalier data cp "$id" B
check "to the same server" wait_until copied
check "the last byte of A's file changes" turn_over A "$(($(wc -c <"$(file_of A)") - 1))"
check "who gets it gets what was put" got_back
check "and B has the original" wait_until original_on B
check "it moves back to A, where its file was damaged" espalier data mv "$id" A
check "which has the original then" wait_until original_on A
check "and serves it" got_back
stop A
check "also when A is started again" back_again A
check "with the damaged file beside it" set_aside
check "it is there" wait_until got_back
check "it goes, too" espalier data rm "$id"

# ---- found at the start ----
check "a third one" put_x
check "is copied as well" espalier data cp "$id" B
check "to that server" wait_until copied
stop A
check "the header of A's file is damaged while A is down" turn_over A 50
check "A comes back" back_again A
check "without it" set_aside
check "B has the original" wait_until original_on B
stop B KILL
check "B is killed, and comes back" back_again B
check "with the datum" wait_until got_back
check "it goes as the others" espalier data rm "$id"

# ---- the server with the only sound copy has no disk for an original ----
stop B
sed -i 's/^store_disk .*/store_disk = "1 MB"/' B.conf
check "B has little disk from now on" back_again B
for found in read call; do
    check "a datum on A, again" put_x
    check "has a copy on B" espalier data cp "$id" B
    check "in its memory" wait_until copied
    check "its file is damaged" turn_over A 4000000
    if [ $found = read ]; then
        check "a read returns the data that were put" got_back
    else
        check "a call that takes it computes" espalier call ddot "x=data:$id" "y=data:$id" -s A
    fi
    check "A has the original again" wait_until original_on A
    check "as it says" wait_until grep -q "$(echo "${id#*:}" | cut -c1-8).*has been fetched back from server B" A.log
    check "and B says that it has kept its copy until then" \
        grep -q "$(echo "${id#*:}" | cut -c1-8).*not dropped for an hour, and that server fetches it back" B.log
    check "for good" test -n "$(file_of A)"
    check "it is what was put" got_back
    check "and goes" espalier data rm "$id"
done
stop B
sed -i 's/^store_disk .*/store_disk = "200 MB"/' B.conf
check "B has its disk again" back_again B

# ---- none is left ----
check "the last one" put_x
check "has no copy, and its file is damaged" turn_over A 4000000
check_fails any "a call that takes it fails" espalier call ddot "x=data:$id" "y=data:$id" -s A
check_says "and says why" 'the copy here was damaged, and is set aside: no sound one is left'
check_fails any "nor can anybody get it" espalier data get "$id" back.npy
check_says "and hears why" 'its file was damaged, and is set aside'
told_lost() {
    grep -q "$(printf %.10s "${id#*:}" | cut -c1-8).*no server is known that has a sound copy" A.log
}
check "A says that it is lost" wait_until told_lost

# ---- what is left of them ----
check "the damaged files are listed" espalier data ls --damaged
check_says "with what they were" "$id +double.1000000, 1. +8 MB +persistent +A\$" "its header, length or name is wrong +8.* A\$"
lines=$(wc -l <"$log")
check "for programs, too" espalier data ls --damaged --server A --json
check_says "each" '"header_is_whole": false' '"header_is_whole": true'
check_fails any "data that are sound are not" grep -q "$sound" "$log"
check_fails 2 "to remove all, a server is named" espalier data rm --damaged
check_fails 5 "what is sound is no damaged file" espalier data rm --damaged "$sound"
check "one goes" espalier data rm --damaged "$id"
check_fails any "from the disk" set_aside
check "and from the list" test "$(espalier data ls --damaged | wc -l)" = "$((lines - 1))"
check_fails 5 "it is gone" espalier data info "$id"
check_says "as is reported" 'its file was damaged, and was removed'
check "the others go as well" espalier data rm --damaged --server A
check "all" test "$(espalier data ls --damaged --json)" = "[]"
check "what is sound stays" espalier data get "$sound" sound.npy

finish
