#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How many copies of data stay: the copies that a server lets other servers keep have a limit of bytes, and where memory
# or disk is short, the copies that were used longest ago go. Persistent data never do.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed curl

agent_for_clients
of_server() { # of_server NAME LINE...
    server_below_agent "$1" "$1" "state_dir = \"$work/state-$1\"" 'slots = 1' "problems = { \"$top_srcdir/problems/blas\" }" \
        "$(shift; printf '%s\n' "$@")"
}
of_server A 'replicas = 4' 'replica_asks = 1' 'replica_memory = "2500 kB"' 'http = "127.0.0.1:0"'
of_server B 'replica_rest = "300 ms"'
of_server C 'store_memory = "4200 kB"' 'store_disk = "100 MB"' # four data of 1 MB
of_server D 'store_memory = "512 KiB"' 'store_disk = "4200 kB"' # none of them: they go straight to the disk
servers() {
    espalier problems | grep -Eq "^ddot .* 4 "
}
check "four servers are there" wait_until servers

for i in 1 2 3 4 5; do
    awk -v s=$i 'BEGIN { print "%%MatrixMarket matrix array real general\n125000 1"
        for (i = 0; i < 125000; i++) print (i * 7919 + s) % 1009 }' >$i.mtx
    espalier matrix convert $i.mtx $i.npy >/dev/null
done
put() { # put I SERVER [MODE]: the identity goes into the file I.id
    espalier data put "$1.npy" -s "$2" -m "${3:-persistent}" >"$1.id"
}
take() { # take I SERVER: a call there uses it
    espalier call ddot "x=data:$(cat "$1.id")" "y=data:$(cat "$1.id")" -s "$2"
}
has() { # has SERVER I...: those, and none of the others
    espalier data ls -s "$1" >shown || return 1
    for i in 1 2 3 4 5; do
        case " $* " in
        *" $i "*) grep -q "$(cat $i.id)" shown || return 1 ;;
        *) ! grep -q "$(cat $i.id)" shown || return 1 ;;
        esac
    done
}
got() { # got I: it is what was put
    espalier data get "$(cat "$1.id")" back.npy && cmp back.npy "$1.npy"
}
all_got() {
    got 1 && got 2 && got 3 && got 4 && got 5
}
copy() { # copy I SERVER
    espalier data cp "$(cat "$1.id")" "$2"
}
for i in 1 2 3 4 5; do
    check "a datum of 1 MB on A ($i)" put $i A
done

# ---- bytes of copies that others may keep ----
counts() { # counts NAME VALUE: A's metrics
    curl -s "http://$(cat A.address.http)/metrics" | grep -Eq "^espalier_server_$1(\{[^}]*\})? $2\$"
}
asks_again() { # asks_again I: B takes it when what it has had of it is gone
    take "$1" B && wait_until has B ${stay:-} && take "$1" B
}
check "a server asks for a datum twice" asks_again 1
stay=1
check "and keeps it" wait_until has B 1
check "which its own server knows" counts replicas 1
check "and for another one" asks_again 2
stay='1 2'
check "which it keeps, too" wait_until has B 1 2
check "by its server's leave" counts replica_bytes '2000000|2e\+06'
for round in 1 2 3; do
    check "for a third one there are not the bytes, however often it asks ($round)" asks_again 3
done
check "that passes" wait_until has B 1 2
check "and is not counted" counts replicas 2
check "what was kept stays" take 1 B
check "one is given up" espalier data rm "$(cat 1.id)"
check "everywhere" wait_until counts replicas 1
check "and makes room for another" put 1 A
check "for which B has asked" take 3 B
check "which stays in its place" counts replicas 2
check "a fourth one" take 4 B
check "passes, and these stay" wait_until has B 2 3

# ---- memory ----
used_in_turn() { # used_in_turn SERVER I...: the first of them longest ago
    there=$1
    shift
    for i; do
        take "$i" "$there" || return 1
    done
}
fill() { # fill SERVER WHAT I...: with copies of 1, 2 and 3 beside 5, which are used in that order then
    filled=$1
    for i in 1 2 3; do
        check "beside it a copy of another one ($i)" copy $i "$filled"
    done
    check "fill the $2" wait_until has "$filled" 1 2 3 5
    shift 2
    check "they are used in another order" used_in_turn "$filled" "$@"
}
check "a datum that is to stay, on C" put 5 C
fill C "memory" 2 3 1
check "a fourth copy" copy 4 C
check "takes the place of the one that was used longest ago" wait_until has C 1 3 4 5
check "which may come back" copy 2 C
check "in place of the next one" wait_until has C 1 2 4 5
check "what is volatile" put 3 C volatile
check "takes the place of a copy as well" wait_until has C 2 3 4 5
check "a datum that is to stay, of most of the memory" sh -c 'head -c 128 1.npy | sed "s/125000/475000/" >most.npy &&
    head -c 3800000 /dev/zero >>most.npy && espalier data put most.npy -s C -m persistent >most.id'
check "has all of them go, but for those that are to stay" wait_until has C 5
check "which are as they were" got 5
check "all" sh -c 'espalier data get "$(cat most.id)" back.npy && cmp back.npy most.npy'
espalier data rm "$(cat 5.id)" "$(cat most.id)" >rm.out
check "the other copies are where they were put" put 3 A
check "and the last one, too" put 5 A
check "with all their bytes" all_got

# ---- disk ----
check "a datum that is to stay, on a server's disk" put 5 D
fill D "disk" 3 1 2
check "a fourth copy" copy 4 D
check "takes the place of the one that was used longest ago" wait_until has D 1 2 4 5
check "a datum that is to stay" put 3 D
check "takes the place of the next one" wait_until has D 2 3 4 5
check "another one" put 1 D
check "again" wait_until has D 1 3 4 5
check "and another one" put 2 D
check "of the last one" wait_until has D 1 2 3 5
check_fails any "none of these goes for a copy" copy 4 D
check_says "which is reported" 'no disk for a datum of 1 MB: data have'
check "they are there" wait_until has D 1 2 3 5
stop D KILL
start_server D
check "and when their server was killed and started again" wait_until has D 1 2 3 5
check "with all their bytes" all_got
finish
