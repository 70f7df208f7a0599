#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server of data whose disk is full, and one whose memory is all in use: clear errors, and nothing is lost.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

# With the right to mount, a disk of 2.5 MB.
mkdir small
mounted=no
mount -t tmpfs -o size=2500k none small 2>/dev/null && mounted=yes
at_exit() { # while the server may still be there
    [ $mounted = no ] || umount -l "$work/small"
}
cat >hold.esp <<'END'
problem hold "Holds a vector for a while"
    in      int     n
    in      int     us "microseconds"
    in      double  x[n]
    memory  0
implementation c
    c usleep(us) in libc.so.6
problem fill "A vector of zeros, beside another one"
    in      int     n
    in      int     m
    in      double  x[n]
    out     double  y[m]
    memory  0
implementation c
    c memset(y, 0, m*8) in libc.so.6
END
agent_for_clients
server_below_agent A A "state_dir = \"$work/small\"" 'slots = 2' 'store_memory = "2 MiB"' 'store_disk = "100 MB"' \
    "problems = { \"$work/hold.esp\" }"
server_below_agent B B "state_dir = \"$work/state-B\"" 'slots = 1' 'store_memory = "16 MiB"' 'store_disk = "2 MB"' \
    "problems = { \"$work/hold.esp\" }"
servers() {
    espalier problems | grep -Eq "^hold .* 2 "
}
check "two servers are there" wait_until servers

vector() { # vector N SEED: as a matrix file
    awk -v n="$1" -v s="$2" 'BEGIN { print "%%MatrixMarket matrix array real general\n" n " 1"
        for (i = 0; i < n; i++) print (i * 7919 + s) % 1009 }'
}
vector 190000 1 >x.mtx # 1.52 MB
vector 190000 2 >y.mtx
vector 190000 4 >w.mtx
vector 1000 3 >z.mtx
for name in w x y z; do
    espalier matrix convert $name.mtx $name.npy
done
put() { # put FILE SERVER MODE: the identity goes into the file FILE.id
    espalier data put "$1" -s "$2" -m "$3" >"$1.id"
}
got_back() { # got_back NAME: its datum is what its file holds
    espalier data get "$(cat "$1.mtx.id")" back.npy && cmp back.npy "$1.npy"
}

# ---- the disk ----
check "a datum fits the disk that the server may use" put x.mtx B persistent
check_fails any "a second one does not" put y.mtx B persistent
check_says "which is reported with the numbers" 'no disk for a datum of 1.52 MB: data have 1.5[0-9] MB of the 2 MB .*delete some'
check "the first one is as it was" got_back x
check "it goes" espalier data rm "$(cat x.mtx.id)"
check "and the second one fits" put y.mtx B persistent
if [ $mounted = yes ]; then
    check "a datum fits a small disk" put x.mtx A persistent
    check "a volatile one in the memory beside it" put z.mtx A volatile
    check_fails any "another one does not, although the server may use more" put y.mtx A persistent
    check_says "which is reported with what it needs and what there is" \
        'no disk for a datum of 1.52 MB: the disk is full but for [0-9.]+ [kM]B .*delete some data'
    check "what was there is as it was" got_back x
    check "and nothing was dropped for it" got_back z
    vector 400000 5 >v.mtx # more than the memory: straight to the disk
    check_fails any "nor does one that is larger than the memory" put v.mtx A persistent
    check_says "which is told the same" 'no disk for a datum of 3.2 MB: the disk is full but for'
    check "small ones still go there" put z.mtx A persistent
    check "and no half datum is left" sh -c '! find small -name "*.new" | grep -q .'
    stop A KILL
    start_server A
    is_back() {
        espalier tree --json | grep -q "$(cat A.address)" && espalier data ls -s A | grep -q "$(cat z.mtx.id)"
    }
    check "the server is killed and comes back" wait_until is_back
    check "with what it had acknowledged" got_back x
    check "all of it" got_back z
    check "they go" espalier data rm "$(cat x.mtx.id)" "$(cat z.mtx.id)"
fi

# ---- the memory ----
sed '$s/.*/none/' y.mtx >broken.mtx
for attempt in first second; do
    check_fails any "a file whose end is broken is not put, the $attempt time" espalier data put broken.mtx -s A -m volatile --timeout 1s
    check_says "as is reported" 'broken.mtx:190002'
done
check "a datum in most of the memory" put x.mtx A volatile
start holder espalier call hold us=1500000 "x=data:$(cat x.mtx.id)" -s A
in_use() {
    espalier data info --json "$(cat x.mtx.id)" | grep -q '"users": [1-9]'
}
check "which a call is using" wait_until in_use
check_fails any "a call that can never have both its datum and its result is refused, on a server that is asked for" \
    espalier call fill m=190000 "x=data:$(cat x.mtx.id)" -o y=data: -s A
check_says "with both and the limit" 'store_memory.*can never hold.*data of 1.52 MB .*results of 1.52 MB'
check "one that stays for good goes straight to the disk" \
    espalier call fill m=190000 "x=data:$(cat x.mtx.id)" -o y=data:persistent -s A
check "and from there" espalier data rm "$(sed -n 's/^y = data://p' "$log")"
check "a small datum beside it" put z.mtx A volatile
check_fails any "a call that has no time to wait for the memory of its result" \
    espalier call fill m=190000 "x=data:$(cat z.mtx.id)" -o y=data: -s A --timeout 300ms
check_says "ends with its deadline" 'deadline'
check "one that has waits for it" espalier call fill m=190000 "x=data:$(cat z.mtx.id)" -o y=data: -s A
check "and leaves its result" espalier data rm "$(sed -n 's/^y = data://p' "$log")"
check "the datum in most of the memory again" put x.mtx A volatile
check "another one on another server" put w.mtx B volatile
start holder_2 espalier call hold us=9000000 "x=data:$(cat x.mtx.id)" -s A
check "which a call is using again" wait_until in_use
check_fails any "another one that does not wait long" espalier data put y.mtx -s A --timeout 1s
check_says "hears what is in the way" 'no memory for a datum of 1.52 MB now: .*used by running sessions'
for how in "cp" "mv"; do
    check_fails any "a $how waits no longer than its --timeout" espalier data $how "$(cat w.mtx.id)" A --timeout 1s
    check_says "and hears the same" 'no memory for a datum of 1.52 MB now'
done
check_fails any "nor does a call whose datum would have to come here" \
    espalier call hold us=1 "x=data:$(cat w.mtx.id)" -s A --timeout 300ms
check_says "it ends with its deadline" 'deadline'
# shellcheck disable=SC2154
check "while the first call still computes" kill -0 "$pid_holder_2"
check "one that does waits for room" put y.mtx A volatile
ends_well() {
    # shellcheck disable=SC2154
    wait "$pid_holder" && wait "$pid_holder_2"
}
check "until that call has ended, which keeps what it uses" ends_well
check "which is there" got_back y
check_fails any "the first one is not" espalier data get "$(cat x.mtx.id)" back.npy
check_says "and the server remembers why" 'dropped|memory'

# ---- a move whose server says nothing for long: it waits for memory here, and may have died elsewhere ----
server_below_agent C C "state_dir = \"$work/state-C\"" "problems = { \"$work/hold.esp\" }"
moving_on() {
    espalier data info --json "$(cat w.mtx.id)" | grep -q '"users": [1-9]'
}
rival_is_told() {
    espalier data mv "$(cat w.mtx.id)" C >rival.out 2>&1
    grep -Eq 'moved to server A, of which nothing was heard for [0-9]+ s: .*if that server has gone, after 60 s of silence' rival.out
}
start holder_3 espalier call hold us=8000000 "x=data:$(cat y.mtx.id)" -s A
y_in_use() {
    espalier data info --json "$(cat y.mtx.id)" | grep -q '"users": [1-9]'
}
check "the memory is in use once more" wait_until y_in_use
start mover espalier data mv "$(cat w.mtx.id)" A --timeout 30s
check "while a move to it waits" wait_until moving_on
check "an order to move the datum elsewhere reports since when it moves, and when it may go there" wait_until rival_is_told
moved_well() {
    # shellcheck disable=SC2154
    wait "$pid_holder_3" && wait "$pid_mover"
}
check "the move ends well" moved_well
check "with the datum as it was" got_back w

stop A
finish
