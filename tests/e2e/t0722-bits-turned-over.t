#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files of data change under a server that is up, by a bit or by their length, while the datum is in memory, on the disk
# only, or larger than the memory: a read, a copy, a move or a call gets the data that were put, or an error.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed od dd truncate

agent_for_clients
for name in A B C; do
    server_below_agent "$name" "$name" "state_dir = \"$work/state-$name\"" 'slots = 1' 'store_memory = "3 MiB"' \
        'store_disk = "200 MB"' "problems = { \"$top_srcdir/problems/blas\" }"
done
servers() {
    espalier problems | grep -Eq "^ddot .* 3 "
}
check "three servers are there" wait_until servers

vector() { # vector N SEED: so many numbers, as a NumPy file
    awk -v n="$1" -v s="$2" 'BEGIN { print "%%MatrixMarket matrix array real general\n" n " 1"
        for (i = 0; i < n; i++) print (i * 7919 + s) % 1009 }' >vector.mtx && espalier matrix convert vector.mtx "$3"
}
sum_of_squares() { # sum_of_squares N SEED
    awk -v n="$1" -v s="$2" 'BEGIN { for (i = 0; i < n; i++) { x = (i * 7919 + s) % 1009; t += x * x }; printf "%.15g", t }'
}
vector 250000 1 small.npy # 2 MB
vector 250000 2 other.npy
vector 1000000 3 large.npy # more than the memory
small_sum=$(sum_of_squares 250000 1)
large_sum=$(sum_of_squares 1000000 3)

put() { # put FILE: on A, for good; $id
    id=$(espalier data put "$1" -s A -m persistent)
}
out_of_memory() { # another one takes A's memory
    others="${others:-} $(espalier data put other.npy -s A -m persistent)" && is_not_in_memory
}
is_not_in_memory() {
    espalier data info "$id" --json | grep -q '"in_memory": false'
}
file_of() { # file_of SERVER
    find "state-$1" -name "${id#*:}.datum" ! -path '*/damaged/*'
}
turn_over() { # turn_over OFFSET: one bit in A's file
    file=$(file_of A) && [ -n "$file" ] || return 1
    was=$(od -An -tu1 -j "$1" -N 1 "$file" | tr -d ' ')
    # shellcheck disable=SC2059
    printf "$(printf '\\%03o' $((was % 2 ? was - 1 : was + 1)))" | dd of="$file" bs=1 seek="$1" conv=notrunc
}
shorten() { # shorten: A's file ends in its middle
    truncate -s 1000000 "$(file_of A)"
}
got() { # got FILE: it is what was put
    rm -f back.npy
    espalier data get "$id" back.npy && cmp back.npy "$1"
}
takes() { # takes SERVER SUM: a call there computes that with it
    espalier call ddot "x=data:$id" "y=data:$id" -s "$1" >result && grep -q "$2" result
}
refused() { # refused COMMAND...: it fails, says what is damaged, and leaves no number
    rm -f back.npy
    "$@" >said 2>&1 && { cat said; return 1; }
    cat said
    grep -q 'damaged' said && [ ! -e back.npy ]
}
set_aside() {
    find state-A -path "*/damaged/${id#*:}.datum" | grep -q . && [ -z "$(file_of A)" ]
}
told() {
    grep 'set aside' A.log | grep -q "$(echo "${id#*:}" | cut -c1-8)"
}
listed() {
    espalier data ls --damaged --server A | grep -q "${id#*:}"
}
only_on() { # only_on SERVER: the original, and no other copy
    espalier data info "$id" >shown && grep -q "on  *$1 " shown && [ "$(grep -c ' on  *[ABC] ' shown)" -eq 1 ]
}
original_on() { # original_on SERVER: other copies may be there
    espalier data info "$id" | grep ' on  *[ABC] ' | grep -v replica >originals
    [ "$(wc -l <originals)" = 1 ] && grep -q "on  *$1 " originals
}
has_copy() { # has_copy SERVER
    espalier data info "$id" | grep -q "on  *$1 .*replica"
}
no_half_datum() {
    ! espalier data ls -s B | grep -q "${id#*:}" && ! find state-B -name "${id#*:}*" | grep .
}

# ---- in the memory, and in its file ----
check "a datum" put small.npy
check "whose file a bit is turned over in" turn_over 1000000
check "is read from the memory, as it was put" got small.npy
check "so it is by a call" takes A "$small_sum"
check "and by a server that is to have a copy" espalier data cp "$id" B
check "which agents hear of" wait_until has_copy B
check "a call there takes the same" takes B "$small_sum"
check "when A's memory is wanted for another one" out_of_memory
check "a read returns the data that were put, from the copy" got small.npy
check "the file is set aside" wait_until set_aside
check "and that is reported" told
check "and listed" listed
check "the copy is the original now" wait_until only_on B
check "it goes" espalier data rm "$id"
check "another one" put small.npy
check "whose file is damaged" turn_over 5000
check "moves from the memory, as it was put" espalier data mv "$id" B
check "to one place" wait_until only_on B
check "whole" got small.npy
check "it goes, too" espalier data rm "$id"

# ---- in its file only, and nowhere else ----
for how in "data get" "data cp" "data mv" call; do
    for where in first last header length gone; do
        put small.npy && out_of_memory || check "a datum is on the disk only" false
        case $where in
        first) turn_over "$(($(wc -c <"$(file_of A)") - 2000000))" ;;
        last) turn_over "$(($(wc -c <"$(file_of A)") - 1))" ;;
        header) turn_over 80 ;;
        length) shorten ;;
        gone) rm "$(file_of A)" ;;
        esac >damage.out 2>&1
        case $how in
        "data get") check "a read of the only copy reports damage ($where)" refused espalier data get "$id" back.npy ;;
        call) check "a call reports damage ($where)" refused espalier call ddot "x=data:$id" "y=data:$id" ;;
        *)
            # shellcheck disable=SC2086
            check "$how reports damage ($where)" refused espalier $how "$id" B
            check "and no half datum is there" no_half_datum
            ;;
        esac
        check "that is reported" told
        check_fails any "it is not shown as if it were there" espalier data info "$id"
        if [ $where = gone ]; then
            check_says "nor as set aside" 'its file there was damaged, or was removed'
        else
            check_says "but as set aside" 'its file was damaged, and is set aside there'
            check "which it is" wait_until set_aside
        fi
    done
done

# ---- a copy is elsewhere ----
for how in "data get" "data cp" "data mv" call; do
    check "a datum on A" put small.npy
    check "with a copy on B" espalier data cp "$id" B
    check "as agents hear" wait_until has_copy B
    check "is on the disk only" out_of_memory
    check "which turns a bit over" turn_over 1500000
    case $how in
    "data get") check "a read returns the data that were put" got small.npy ;;
    call) check "a call takes the sound copy" takes C "$small_sum" ;;
    *)
        # shellcheck disable=SC2086
        check "$how takes the sound copy" espalier $how "$id" C
        ;;
    esac
    check "the file is set aside" wait_until set_aside
    check "which is reported" told
    check "all have what was put" got small.npy
    [ "$how" != "data mv" ] || check "and it is in its place only" wait_until only_on C
    check "as has a call" takes C "$small_sum"
    check "it goes" espalier data rm "$id"
done

# ---- the disk does not give it, damaged or not: a folder is no file ----
check "a datum on A" put small.npy
check "with a copy on B" espalier data cp "$id" B
check "as agents hear" wait_until has_copy B
check "is on the disk only" out_of_memory
file=$(file_of A)
check "which does not give it any more" sh -c "mv $file whole && mkdir $file"
check "a read returns the data that were put" got small.npy
check "a call on another server gets them, too" takes C "$small_sum"
check "and what was there is not given up" sh -c "rmdir $file && mv whole $file"
stop B
check "when the disk gives it again, it is as it was put" got small.npy
start_server B
check "and there is the other server" wait_until servers
check "it goes" espalier data rm "$id"

# ---- larger than the memory: calls map the file ----
check "a datum that is larger than the memory" put large.npy
check "goes into a call" takes A "$large_sum"
check "and comes back" got large.npy
check "when a bit of its file is turned over, after that" turn_over 4000000
check "a call reports the damage" refused espalier call ddot "x=data:$id" "y=data:$id" -s A
check "and it is set aside" wait_until set_aside
check "another one" put large.npy
check "comes back" got large.npy
check "a bit of it is turned over as well" turn_over 7000000
check "a read reports the damage" refused espalier data get "$id" back.npy
check "and it is set aside" wait_until set_aside
check "a third one" put large.npy
check "has a copy" espalier data cp "$id" B
check "as agents hear" wait_until has_copy B
check "the original is damaged" turn_over 7000000
check "a call takes the copy" takes A "$large_sum"
check "which is the original soon" wait_until original_on B
check "it goes" espalier data rm "$id"

# ---- nothing else has suffered ----
all_sound() {
    for id in $others; do
        got other.npy || return 1
    done
}
check "all that was not damaged is as it was put" all_sound
finish
