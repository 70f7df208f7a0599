#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Data that live on servers, through real daemons: put, used, left, fetched from another server, got back; a
# server that is killed and started again; data that are not there.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

agent_for_clients
for name in A B; do
    server_below_agent "$name" "$name" "state_dir = \"$work/state-$name\"" \
        'slots = 1' \
        'store_memory = "64 MiB"' \
        "problems = { \"$top_srcdir/problems/lapack/linear-systems\", \"$top_srcdir/problems/blas\", \"$top_srcdir/problems/elementwise\", \"$top_srcdir/problems/lapack/dense.esp\", \"$top_srcdir/problems/abstract\" }"
done

servers() { # servers N: so many solve systems
    espalier problems | grep -Eq "^dgesv .* $1 "
}
check "two servers are there" wait_until servers 2

printf '%%%%MatrixMarket matrix array real general\n2 2\n4\n2\n1\n3\n' >a.mtx
printf '%%%%MatrixMarket matrix array real general\n2 1\n6\n8\n' >b.mtx
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n1100 1100"
             for (i = 0; i < 1100 * 1100; i++) print (i * 7919) % 1000003 }' >large.mtx
espalier matrix convert large.mtx large.npy

put() { # put FILE SERVER MODE: the identity goes into the file FILE.id
    espalier data put "$1" -s "$2" -m "$3" >"$1.id"
}
got_back() { # got_back IDENTITY FILE: the datum is what that file holds
    espalier data get "$1" back.npy && cmp back.npy "$2"
}

check "a large matrix is put on a server" put large.mtx A persistent
large=$(cat large.mtx.id)
check "and comes back byte by byte" got_back "$large" large.npy
check "small ones too" put a.mtx A persistent
a=$(cat a.mtx.id)
check "in any mode" put b.mtx B volatile
b=$(cat b.mtx.id)
check "all are listed" espalier data ls
check_says "with their sizes, modes and places" "$large .*double\[1100, 1100\] .*9\.68 MB .*persistent .*A .*memory, disk" \
    "$b .*double\[2, 1\] .*16 B.*volatile .*B .*memory"
check "one is shown" espalier data info "$a"
check_says "with its statistics" "on +A" "mode +persistent" "used"
check "programs get JSON" espalier data info --json "$a"
check_says "of it" '"bytes": ?32' '"mode": ?"persistent"'

# Both arguments are data: one is here, the other comes from B.
check "a call takes data" espalier call dgesv "A=data:$a" "B=data:$b" -s A -o B=x.csv
check "and solves with them" grep -Eqx '1(\.0+)?' x.csv
check_fails any "the routine overwrote a copy" cmp -s a.mtx x.csv
espalier matrix convert a.mtx a.npy
check "the datum is as it was" got_back "$a" a.npy
has() { # has DATUM PATTERN...: what is shown of it (agents hear of changes a little later)
    espalier data info "$1" >shown && grep -Eq "$2" shown
}
check "the other server's datum has a replica now" wait_until has "$b" 'on +A .*replica'
check "both are shown" espalier data info "$b"
check_says "beside the one it came from" "on +A .*replica" "on +B"

# ---- sections ----
section_of() { # section_of FILE ROWS COLUMNS: those lines and columns of a CSV file, as Matrix Market
    awk -F, -v rows="$2" -v cols="$3" 'BEGIN { split(rows, r, ":"); split(cols, c, ":") }
        NR >= r[1] && NR <= r[2] && (NR - r[1]) % r[3] == 0 {
            m++; for (k = c[1]; k <= c[2]; k++) x[m, k] = $k }
        END { print "%%MatrixMarket matrix array real general"; print m, c[2] - c[1] + 1
              for (k = c[1]; k <= c[2]; k++) for (i = 1; i <= m; i++) print x[i, k] }' "$1"
}
same_solution() { # same_solution RANGES FILE SERVER: both solve the same system
    espalier call dgesv "A=data:$large$1" B=@ones.mtx -s "$3" -o B=cut.csv &&
        espalier call dgesv "A=@$2" B=@ones.mtx -s "$3" -o B=sent.csv && cmp cut.csv sent.csv
}
espalier matrix convert large.npy large.csv
section_of large.csv 5:103:2 11:60:1 >part.mtx
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n50 1"; for (i = 0; i < 50; i++) print 1 }' >ones.mtx
check "a section of a datum is an argument" same_solution "[5:2:103, 11:60]" part.mtx A
check "on a server that has to fetch the datum too" same_solution "[5:2:103,11:60]" part.mtx B
section_of large.csv 201:600:1 301:700:1 >part.mtx
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n400 1"; for (i = 0; i < 400; i++) print 1 }' >ones.mtx
check "a large one is cut by another thread" same_solution "[201:600,301:700]" part.mtx A
check "inputs that are only read are cut too" espalier call ddot "x=data:${large}[7,1:4]" "y=data:${large}[1:4,1]"
dot() { # dot: of row 7 and column 1, columns and rows 1 to 4
    awk -F, 'NR == 7 { for (k = 1; k <= 4; k++) x[k] = $k } NR <= 4 { y[NR] = $1 }
             END { printf "%.15g\n", x[1] * y[1] + x[2] * y[2] + x[3] * y[3] + x[4] * y[4] }' large.csv
}
check_says "a row as a vector, and a column" "$(dot)"
check "a result can stay" espalier call dgesv "A=data:${a}[1:2,:]" "B=data:${b}[:,end]" -s A -o B=data:
check_says "as a datum" "B = data:A:"
check "operations on elements take data by their plain names" \
    espalier call add "A=data:${a}[:,1]" "B=data:$b" -s A -o C=data:
check_says "too" "C = data:"
check "the size of one" espalier call size "A=data:${large}[1:2,:]"
check_says "is reported" 'rows = 2' 'columns = 1100'
check "jobs take data" espalier submit cos "A=data:${a}[1,1]" -s A
job=$(cat "$log")
check "and leave results" espalier fetch --wait "$job"
check_says "of them" '-0.6536436'
check "a section transposed" espalier call transpose "A=data:${large}[1:2,1:3]" -s A
check_says "comes back" 'B \(3 x 2\)|B .3 x 2.:'
check "what is picked by its contents is looked at on a server" espalier call solve "A=data:$a" "B=data:$b" -o X=solved.csv
# Operands of 32 bytes do not decide who computes, but earlier calls and the load (t0681 has large operands).
check_says "and solved where that is sooner" 'solve: done by d[a-z]+ on [AB]'
check "with the same result" cmp x.csv solved.csv
check "products, too" espalier call mul "A=data:$a" B=@x.csv -o C=product.csv
check "factors" espalier call lu "A=data:$a"
check_says "are computed there" 'lu: done by dgetrf on [AB]' 'U .2 x 2'
check_fails 2 "what no rule fits" espalier call chol "A=data:${large}[1:3,1:3]"
check_says "is reported" 'chol: there is no problem for what is given .A: double 3 x 3'
check "its result stays there too" espalier call solve "A=data:$a" "B=data:$b" -o X=data:persistent
check_says "and is shown as a datum" 'solve: done by d[a-z]+ on [AB]' '^X = data:[AB]:'
cp "$log" said
stayed=$(sed -n 's/^X = data://p' said)
check "with its value" sh -c "espalier data get $stayed stayed.csv && cmp x.csv stayed.csv && espalier data rm $stayed"

# ---- packed, banded ----
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n60 60"
             for (j = 0; j < 60; j++) for (i = 0; i < 60; i++)
                 print i == j ? 4 + i % 3 : i - j == 1 || j - i == 1 ? 1 + (i + 2 * j) % 5 / 10 * (i < j) - (i > j) / 8 : 0 }' >band.mtx
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n60 60"
             for (j = 0; j < 60; j++) for (i = 0; i < 60; i++) print i == j ? 60 : 1 / (1 + (i - j) * (i - j)) }' >spd.mtx
as_stored() { # as_stored NAME ARGUMENT...: a result that stays is got as the matrix that the call writes
    name=$1
    shift
    espalier call "$@" -s A -o "$name=from-call.npy" && espalier call "$@" -s A -o "$name=data:persistent" >left || return 1
    stored=$(sed -n "s/^$name = data://p" left)
    for format in csv npy; do
        espalier matrix convert from-call.npy "from-call.$format" || return 1
        espalier data get "$stored" "from-datum.$format" && cmp "from-call.$format" "from-datum.$format" || return 1
    done
}
check "a packed result is got as its matrix" as_stored AP dpptrf AP=@spd.mtx
check "it is shown" espalier data info "$stored"
check_says "as what it is" 'double\[60, 60\] packed \(U\), 14\.6 kB'
check "the JSON output has it, too" espalier data info --json "$stored"
check_says "how it is stored" '"storage": ?"packed \(U\)"'
check "it goes" espalier data rm "$stored"
check "the other triangle, too" as_stored AP dpptrf AP=@spd.mtx uplo=L
check "it goes too" espalier data rm "$stored"
check "a band" as_stored AB dgbtrf AB=@band.mtx kl=1 ku=1
check "is shown" espalier data info --json "$stored"
check_says "with its diagonals" '"storage": ?"banded"' '"below": ?1' '"front": ?1'
check "and goes" espalier data rm "$stored"

check "of arguments from here as well" espalier call mul A=@a.mtx B=@x.csv -o C=data:
check_says "too" '^C = data:[AB]:'
cp "$log" said
check "it is not needed any more" espalier data rm "$(sed -n 's/^C = data://p' said)"
check_fails 2 "what is made of a result" espalier call chol 'A=[4,2;2,3]' -o R=data:
check_says "is refused with what to do" 'name a file'
check_fails any "what lies outside is refused before anything is sent" espalier call dgesv "A=data:${a}[1:3,1:3]" B=@b.mtx
check_says "with the range" "A: expected a range within 1 to 2 in dimension 1 .*found 1:3"
check_fails any "so is a section that has not the extents" espalier call dgesv "A=data:${a}[1,1]" "B=data:$b"

leave() { # leave MODE: the solution stays on A; its identity goes into x.id
    espalier call dgesv "A=data:$a" "B=data:$b" -s A -o "B=data:$1" >left && sed -n 's/^B = data://p' left >x.id &&
        test -s x.id
}
check "a result stays" leave persistent
x=$(cat x.id)
check "and is used again on another server, which fetches it" \
    espalier call dgesv "A=data:$a" "B=data:$x" -s B -o B=y.csv
check "and is got" espalier data get "$x" x2.csv
check "with the right values" cmp x.csv x2.csv

# ---- moving ----
check "a server gets the order to fetch one" espalier data cp "$large" B
check "two have it" wait_until has "$large" replica
check "both are shown" espalier data info "$large"
check_says "one is a replica" "on +B .*replica"
check "one moves" espalier data mv "$x" B
check "to there" wait_until has "$x" 'on +B .*disk'
check "and has one place" sh -c "espalier data info $x | grep -c ' on  ' | grep -qx 1"
check "the new one" espalier data info "$x"
check_says "durable there" "on +B \(.*disk"

# Two at once: neither loses it, and both say that it is there.
move_twice() { # move_twice DATUM SERVER
    espalier data mv "$1" "$2" &
    other=$!
    espalier data mv "$1" "$2" && wait $other
}
check "two move it at once" move_twice "$large" B
check "and it is as it was" got_back "$large" large.npy
check "in the one place" wait_until sh -c "espalier data info $large | grep -c ' on  ' | grep -qx 1"
check "back it goes" espalier data mv "$large" A
check "where it was" wait_until has "$large" 'on +A .*disk'

there_and_back() {
    for to in B A B A; do
        espalier data mv "$large" $to || return 1
    done
}
check "moves right behind each other find it before the agents do" there_and_back

# The datum moves to two servers at once: it has one place afterwards, and the later order gives an error with the
# reason.
server_below_agent third third "state_dir = \"$work/state-third\"" 'slots = 1' \
    "problems = { \"$top_srcdir/tests/e2e/product.esp\" }"
third_is_there() {
    espalier problems | grep -Eq "^product "
}
check "a third server comes" wait_until third_is_there
move_apart() { # move_apart DATUM: to B and to the third at the same time
    espalier data mv "$1" B >first 2>&1 &
    other=$!
    espalier data mv "$1" third >second 2>&1
    second=$?
    wait $other
    first=$?
    espalier data info "$1" >shown
    grep ' on  ' shown
    cat first second
    [ $first -eq 0 ] || [ $second -eq 0 ] || return 1
    [ "$(grep ' on  ' shown | grep -vc replica)" -eq 1 ] || return 1
    [ $first -eq 0 ] || grep -q 'moved' first || return 1
    [ $second -eq 0 ] || grep -q 'moved' second
}
move_apart_two() { # move_apart_two DATUM: both have it, and each is to be the only one
    espalier data mv "$1" B >first 2>&1 &
    other=$!
    espalier data mv "$1" A >second 2>&1
    wait $other
    cat first second
    places 1 || places 2
}
for round in 1 2 3; do
    check "to two servers at once: to one of them ($round)" move_apart "$large"
    check "back ($round)" espalier data mv "$large" A
done
check "and it is as it was" got_back "$large" large.npy

# ---- what is deleted is gone, also where nobody knew of it yet ----
put_again() { # a datum of its own: its identity goes into again.id
    espalier data put "$1" -s A -m "$2" >again.id
}
copied_and_deleted() { # copied_and_deleted FILE MODE VERB: deleted right behind a copy, or a move
    put_again "$1" "$2" && espalier data "$3" "$(cat again.id)" B && espalier data rm "$(cat again.id)" &&
        ! espalier data ls | grep "$(cat again.id)"
}
check "what was copied a moment ago is deleted everywhere" copied_and_deleted a.mtx volatile cp
check "so is what is durable" copied_and_deleted a.mtx persistent cp
check "and what has moved" copied_and_deleted a.mtx persistent mv
for how in "get $(cat again.id) never.npy" "cp $(cat again.id) B" "mv $(cat again.id) A" "info $(cat again.id)" "rm $(cat again.id)"; do
    # shellcheck disable=SC2086
    check_fails 5 "an order for a datum that was moved and deleted (${how%% *}) reports" espalier data $how
    check_says "that it was deleted" ': it was deleted$'
done
check_fails 5 "so does a call" espalier call dgesv "A=data:$(cat again.id)" "B=data:$b"
check_says "with the argument" 'A: .*: it was deleted$'
deleted_on_its_way() { # deleted_on_its_way VERB: deleted while it is copied, or moved
    put_again large.npy volatile || return 1
    espalier data "$1" "$(cat again.id)" B >copied 2>&1 &
    copier=$!
    espalier data rm "$(cat again.id)"
    deleted=$?
    wait $copier
    copied=$?
    cat copied
    [ $copied -eq 0 ] || [ $copied -eq 5 ] || return 1
    [ $deleted -eq 0 ] && ! espalier data ls | grep "$(cat again.id)"
}
for verb in cp mv cp; do
    check "what is deleted in the middle of a $verb does not come back" deleted_on_its_way $verb
done

# All of a server's.
check "all data of a server move" espalier data mv --from A B
elsewhere() {
    ! espalier data ls -s A | grep -v replica | grep -q 'A:'
}
check "and it has none any more" wait_until elsewhere
check "they are as they were" got_back "$a" a.npy
check_fails 2 "one, or all" espalier data mv "$a" B --from A
check_says "is asked" 'expected an ID, or --from'
check_fails 2 "a place is not enough" espalier data mv B
check "back they go" espalier data mv "$a" A
check "both" espalier data mv "$large" A

# ---- results that stay, and come as well ----
system="A=data:$a B=@b.mtx -s A"
check "one can stay and come" espalier call dgesv $system -o B=data:persistent-return
check_says "so that its identity is shown and its value" '^B = data:A:' '^B \(2 x 1\):' '^ +1$'
stays_and_is_saved() {
    espalier call dgesv $system "$@" >kept && grep -q '^B = data:A:' kept && ! grep -q '^B (' kept &&
        grep -Eqx '1(\.0+)?' stays.csv && got_back_too "$(sed -n 's/^B = data://p' kept)"
}
got_back_too() {
    espalier data get "$1" again.csv && cmp again.csv stays.csv && espalier data rm "$1"
}
check "or saved" stays_and_is_saved -o B=stays.csv -o B=data:persistent-return
check "whichever is said first" stays_and_is_saved -o B=data:sticky-return -o B=stays.csv
value_in_json() {
    espalier call --json dgesv $system "$@" | tr -d ' \n' | grep -q '"datum":"A:[0-9a-f]*","value":\[\[1.0\],\[2.0\]\]'
}
check "JSON has both" value_in_json -o B=data:persistent-return
check "results that are left come by such a mode too" espalier call dgesv $system --leave outputs:persistent-return
check_says "and are shown" '^B \(2 x 1\):'
check_fails 2 "by other modes it does not come" espalier call dgesv $system -o B=stays.csv -o B=data:sticky
check_says "which is said" 'expected persistent-return or sticky-return, found .sticky'
check_fails 2 "results of abstract problems stay or come" espalier call solve A=@a.mtx B=@b.mtx -o X=data:persistent-return
check_says "which says what to do" 'either stays or comes.*data get'
check "of what is put, the mode is listed" put a.mtx A persistent-return
check "a result that was to stay in pieces, and is made by one process" espalier call dgesv $system -o B=data:pieces
check_says "says that it is whole" 'dgesv: B was to stay in pieces, and stays whole.*data cp --grid' '^B = data:A:'
check "so does JSON" espalier call --json dgesv $system -o B=data:pieces
check_says "of it" '"in_pieces": ?false'
drop_returning() {
    espalier data ls | sed -n 's/ .*-return .*//p' | xargs espalier data rm
}
check "these go" drop_returning

# ---- a server dies ----
stop A KILL
check_fails any "what only a server has that is not there cannot be copied" espalier data cp "$a" B
# Before, or after, the agents know.
check_says "which is reported with its name" ': A( at|:).*(no connection|connection refused)|: server A, which made it, is not there'
start_server A
is_back() { # to those who ask the agents, at its new address
    espalier tree --json | grep -q "$(cat A.address)" && espalier data ls -s A | grep -q "$a"
}
check "it comes back" wait_until is_back
check "what was persistent is there, byte by byte" got_back "$a" a.npy
check "the large one too" got_back "$large" large.npy

# ---- the destination dies in the middle of a move ----
b_knows() { # it is back, and says what it has
    espalier tree --json | grep -q "$(cat B.address)" && espalier data ls -s B >on-B
}
die_moving() { # die_moving SECONDS: B is killed so long after a move to it has begun
    espalier data mv "$large" B >moved 2>&1 &
    mover=$!
    sleep "$1"
    stop B KILL
    wait $mover
    start_server B
    wait_until b_knows && got_back "$large" large.npy && ! find state-B -name '*.new' | grep -q .
}
for after in 0.02 0.06 0.15; do
    check "nothing is lost with a destination that dies after $after s, and no half datum is there" die_moving $after
done
check "and it moves after all" espalier data mv "$large" B
places() { # places N: so many servers have the original
    test "$(espalier data info "$large" | grep ' on  ' | grep -vc replica)" -eq "$1"
}
check "to one place" wait_until places 1
check "whole" got_back "$large" large.npy
check "and back" espalier data mv "$large" A

# A destination that dies behind the last byte has it, and so has the server that was not told.
twice() { # B is started with what A has, too, in its files
    stop B KILL
    cp "$(find state-A -name "${large#A:}.datum")" "$(dirname "$(find state-B -name store)")/"
    "$@"
    start_server B
    wait_until b_knows && wait_until places 2
}
check "a datum is on two servers" twice true
check "the same move again takes it from the first one" espalier data mv "$large" B
check "so that it has one place" wait_until places 1
check "and is whole" got_back "$large" large.npy
check "back it goes" espalier data mv "$large" A
check "again it is on two" twice true
check "two moves to different places at once leave it somewhere" move_apart_two "$large"
check "as it was" got_back "$large" large.npy
check "a move" espalier data mv "$large" A
check "makes one place of it" wait_until places 1
spoil() {
    printf 'X' | dd of="$(find state-B -name "${large#A:}.datum")" bs=1 seek=1000000 conv=notrunc 2>/dev/null
}
check "on two once more" twice true
server_below_agent C C "state_dir = \"$work/state-C\"" 'store_memory = "64 MiB"' "problems = { \"$top_srcdir/problems/blas\" }"
c_is_there() {
    espalier data ls -s C
}
check "a third server" wait_until c_is_there
check "a move to it" espalier data mv "$large" C
check "takes it from both" wait_until places 1
check "whole" got_back "$large" large.npy
check "and back" espalier data mv "$large" A
kill -STOP "$pid_C"
check_fails 3 "a list beside a server that stands still" espalier data ls --timeout 500ms
check_says "has what the others have, and tells its name" "^$large " 'data ls: C: .*no answer'
check_fails 3 "a list of that server alone" espalier data ls -s C --timeout 500ms
check_says "tells it, too" 'data ls: C: .*no answer'
kill -CONT "$pid_C"
stop C
check "on two with a damaged file" twice spoil
check "nobody lets go of it for that one: it is brought anew" espalier data mv "$large" B
check "to one place" wait_until places 1
check "and is whole there" got_back "$large" large.npy
check "and back" espalier data mv "$large" A

# ---- a source dies while it is read ----
read_from_dying() { # read_from_dying SECONDS: A is killed so long after somebody has begun to read from it
    espalier data get "$large" back.npy >got 2>&1 &
    reader=$!
    sleep "$1"
    stop A KILL
    wait $reader && cmp back.npy large.npy
    outcome=$?
    start_server A
    wait_until is_back && return $outcome
}
copy_and_kill() { # what B has is not known above yet when A dies
    espalier data cp "$a" B >log.cp 2>&1 || { cat log.cp; return 1; }
    stop A KILL
    espalier data get "$a" copied.npy
    outcome=$?
    start_server A
    wait_until is_back && return $outcome
}
check "a copy that was just made is found when the server with the original dies" copy_and_kill
check "a second server gets it" espalier data cp "$large" B
check "agents know" wait_until has "$large" 'on +B .*replica'
for after in 0.02 0.05; do
    check "a read from a source that dies after $after s continues with the other one" read_from_dying $after
done

# ---- a disk fails ----
check "a datum for the disk" put a.mtx B persistent
stop B KILL
key=$(sed 's/.*://' a.mtx.id)
file=$(find state-B -name "$key.datum")
printf 'X' | dd of="$file" bs=1 seek=$(($(wc -c <"$file") - 3)) conv=notrunc 2>/dev/null
start_server B
set_aside() {
    find state-B -path "*damaged/$key*" | grep -q .
}
check "what has moved there is found through the agents again" wait_until has "$x" 'on +B .*disk'
check "a damaged file is found without being read, and set aside" wait_until set_aside
check_fails any "it is not served" espalier data get "$(cat a.mtx.id)" never.npy
check_says "and who asks is reported" 'server B has no datum .*damaged, and is set aside there'
check "the log tells" grep -q "its file was damaged" B.log

# ---- a client is gone ----
echo 'data_lease = "500 ms"' >>B.conf
stop B
start_server B
b_is_back() {
    espalier tree --json | grep -q "$(cat B.address)" && espalier problems | grep -Eq "^dgesv .* 2 "
}
check "a server with a short lease" wait_until b_is_back
check "a volatile datum" put b.mtx B volatile
b=$(cat b.mtx.id)
gone() {
    ! espalier data info "$b" >/dev/null 2>&1
}
check "goes some time after its client" wait_until gone
check_fails any "which is reported" espalier data get "$b" never.npy
check_says "with the reason" "expired|client"
check "another one" put b.mtx A volatile
b=$(cat b.mtx.id)

# ---- a file without an end of its own ----
mkfifo pipe.mtx
espalier data put pipe.mtx -s A >piped.id 2>piped.err &
putting=$!
is_told() {
    grep -q 'still reading pipe.mtx, a FIFO: it ends when all that write into it have closed it' piped.err
}
check "who puts a FIFO into which nobody writes is reported" wait_until is_told
cat b.mtx >pipe.mtx
check "and it goes on with what comes" wait $putting
check "it is a datum as any other" espalier data rm "$(cat piped.id)"
waits_for_it() { # waits_for_it FILE WORD...: the command tells that it does, and goes on with what is in that file
    fed=$1
    shift
    : >piped.err # the words of the one before are still there
    espalier "$@" >piped.out 2>piped.err &
    waiting=$!
    wait_until is_told && cat "$fed" >pipe.mtx && wait $waiting
}
check "espalier solve reports it, too" waits_for_it a.mtx solve pipe.mtx b.mtx
check "also of the right-hand side" waits_for_it b.mtx solve a.mtx pipe.mtx
check "and who sweeps over one" waits_for_it a.mtx sweep dgesv A=@pipe.mtx B=@b.mtx

# ---- names ----
check_fails any "a misspelt name of a server is reported" espalier call dgesv A=@a.mtx B=@b.mtx -s AA
check_says "with the nearest one" 'no node named "AA" below .*; did you mean "A"\?'
check_fails any "of data too" espalier data put a.mtx -s AA
check_says "with the nearest one" 'no node named "AA" below .*; did you mean "A"\?'

# ---- wrong ----
check "one is deleted" espalier data rm "$a"
check_fails 5 "and is gone" espalier data get "$a" gone.npy
check_says "which is reported" "deleted"
check_fails 5 "calls are reported too" espalier call dgesv "A=data:$a" "B=@b.mtx"
check_says "with the argument" "A: .*deleted"
check_fails 5 "nobody has heard of another" espalier data info A:0123456789abcdef0123456789abcdef
check_says "and says so" "A:01234567"
check_fails any "an identity has its form" espalier data info nonsense
check_says "which is reported" "expected"
check_fails any "a datum of the wrong shape is refused" espalier call dgesv "A=data:$b" B=@b.mtx
check_fails any "a server that is not there" espalier data put a.mtx -s C
check_says "is named" "\"C\""
check_fails any "what can never fit is refused" espalier data cp "$large" C
put_anywhere() {
    espalier data put a.mtx >anywhere.id && espalier data info "$(cat anywhere.id)" && espalier data rm "$(cat anywhere.id)"
}
check "without a server one is chosen" put_anywhere
check_fails 2 "but for pieces, which are for the ranks of one" espalier data put a.mtx --grid 1x2 --block 1
check_fails 2 "a mode that is none" espalier data put a.mtx -s A -m sometimes
check "what is deleted stays deleted" espalier data ls
check "the rest goes" espalier data rm "$b" "$x" "$large"
check "a server without data has none to move" espalier data mv --from A B
check_says "which is reported" '^0 data moved from A to B$'
check "and nothing is left" sh -c "test \"\$(espalier data ls --json)\" = '[]'"

stop A
check "the server stops in order" test "$stopped" -eq 0
finish
