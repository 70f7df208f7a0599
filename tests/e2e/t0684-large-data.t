#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Durable data that are larger than a server's memory for data, and copies for calls, which stay where they are
# asked for again and again, and go elsewhere.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

agent_for_clients
for name in A B; do
    server_below_agent "$name" "$name" "state_dir = \"$work/state-$name\"" \
        'slots = 1' \
        'store_memory = "4 MiB"' 'store_disk = "100 MB"' \
        'replicas = 1' 'replica_asks = 1' 'replica_rest = "300 ms"' \
        "problems = { \"$top_srcdir/problems/blas\" }"
done
servers() {
    espalier problems | grep -Eq "^dgemv .* 2 "
}
check "two servers are there" wait_until servers

awk 'BEGIN { print "%%MatrixMarket matrix array real general\n1000 1000"
             for (i = 0; i < 1000 * 1000; i++) print (i * 7919) % 101 }' >large.mtx
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n1000 1"
             for (i = 0; i < 1000; i++) print i % 7 }' >x.mtx
espalier matrix convert large.mtx large.npy
put() { # put FILE SERVER MODE: the identity goes into the file FILE.id
    espalier data put "$1" -s "$2" -m "$3" >"$1.id"
}
got_back() { # got_back IDENTITY FILE: the datum is what that file holds
    espalier data get "$1" back.npy && cmp back.npy "$2"
}
has() { # has DATUM PATTERN: what is shown of it
    espalier data info "$1" >shown && grep -Eq "$2" shown
}
multiply() { # multiply A SERVER
    espalier call dgemv m=1000 n=1000 "A=$1" x=@x.mtx -s "$2" -o y=y.csv
}

# ---- more than the memory ----
check_fails any "what must lie in memory has to fit it" put large.mtx A volatile
check_says "which is reported" 'can never fit.*store_memory'
check "a durable datum only has to fit the disk" put large.mtx A persistent
large=$(cat large.mtx.id)
check "where it is" has "$large" 'on +A \([^)]*\), disk$'
check "it comes back byte by byte" got_back "$large" large.npy
check "a call takes it" multiply "data:$large" A
mv y.csv y-datum.csv
check "and computes what" multiply @large.mtx A
check "it computes with the file" cmp y.csv y-datum.csv
check "it moves" espalier data mv "$large" B
check "to another disk" wait_until has "$large" 'on +B .*disk$'
stop B KILL
start_server B
is_back() {
    espalier tree --json | grep -q "$(cat B.address)" && espalier data ls -s B | grep -q "$large"
}
check "its server is killed and comes back" wait_until is_back
check "with all of it" got_back "$large" large.npy

# ---- copies beyond the memory ----
replica_on_a() {
    has "$large" 'on +A .*disk.*replica|on +A .*replica.*disk'
}
unseen() { # unseen: the file on A of what is not there for good
    find state-A -name "${large#*:}.new" | grep .
}
check "a call on A fetches what is larger than its memory" multiply "data:$large" A
check "and computes the same" cmp y.csv y-datum.csv
check "it is copied to A" espalier data cp "$large" A
check "where it is on the disk" wait_until replica_on_a
check "a call there uses it" multiply "data:$large" A
check "and computes the same again" cmp y.csv y-datum.csv
stop A KILL
start_server A
check "its server is killed and comes back" wait_until servers
check "without the copy" sh -c "! find state-A -name '*.new' | grep ."
check "it is copied again" espalier data cp "$large" A
check "a disk damages the copy" sh -c "printf X | dd of=$(unseen) bs=1 seek=4000000 conv=notrunc"
check "the original moves to A all the same" espalier data mv "$large" A
alone_on_a() {
    has "$large" 'on +A ' && ! grep -Eq 'on +B |replica' shown
}
check "to its only place" wait_until alone_on_a
check "and is what it was" got_back "$large" large.npy
check "which A has told" grep -q 'does not fit them: set aside' A.log
check "another copy" espalier data cp "$large" B
check "becomes the original as it is" espalier data mv "$large" B
check "and it, too, is what it was" got_back "$large" large.npy
stop B KILL
start_server B
check "also after its server was killed" wait_until is_back
check "byte by byte" got_back "$large" large.npy

# ---- results beyond the memory ----
awk 'NR <= 2 { next } { print 2 * $1 }' large.mtx >twice
{ printf '%%%%MatrixMarket matrix array real general\n1000000 1\n' && cat twice; } >twice.mtx
espalier matrix convert twice.mtx twice.npy
{ printf '%%%%MatrixMarket matrix array real general\n1000000 1\n' && tail -n +3 large.mtx; } >vector.mtx
check "a long vector on A" put vector.mtx A persistent
vector=$(cat vector.mtx.id)
check_fails any "a result that has to lie in memory has to fit it" \
    espalier call dscal alpha=2 "x=data:$vector" -s A -o x=data:
check_says "too" 'can never fit.*store_memory'
same_numbers() { # same_numbers IDENTITY: they are the doubled ones (a vector may be a matrix with one column)
    espalier data get "$1" back.npy && tail -c 8000000 back.npy >numbers && tail -c 8000000 twice.npy | cmp - numbers
}
stays() { # stays X: twice of it is left on A; $left
    espalier call dscal alpha=2 "x=$1" -s A -o x=data:persistent >said && left=$(sed -n 's/^x = data://p' said)
}
check "one that stays for good only has to fit the disk" stays "data:$vector"
check "and is right" same_numbers "$left"
check "it goes" espalier data rm "$left"
check "also of what is sent" stays @vector.mtx
check "it is right, too" same_numbers "$left"
stop A KILL
start_server A
there_again() {
    espalier data ls -s A | grep -q "$left"
}
check "its server is killed and comes back" wait_until there_again
check "with the result" same_numbers "$left"
check "nothing unfinished is left" sh -c "! find state-A -name '*.new' ! -path '*/damaged/*' | grep ."
check "both go" espalier data rm "$left" "$vector"

# ---- puts that cannot be, and puts that are interrupted ----
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n100000 100000\n1" }' >huge.mtx
check_fails any "what cannot be kept is refused before the file is read" put huge.mtx A persistent
check_says "by the server, and not by the reader of the file" 'no disk for a datum of 80 GB'
export XDG_STATE_HOME=$work/state
# Large enough for the note of it to be seen before it is over.
{
    printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (3000000,), }"
    head -c 24000000 /dev/zero
} >zeros.npy
espalier matrix convert zeros.npy wide.npy
kill_put() { # with its server standing still in the middle; false: it was too fast
    espalier data put wide.npy -s A -m sticky >unfinished 2>&1 &
    putter=$!
    tries=5000
    until noted || [ $((tries -= 1)) -eq 0 ]; do sleep 0.001; done
    # shellcheck disable=SC2154
    kill -STOP "$pid_A"
    kill -KILL $putter
    wait $putter
    kill -CONT "$pid_A"
    noted && test ! -s unfinished && ! espalier data ls | grep -q "$(cat note)" # whole before its client ended
}
put_killed() {
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        kill_put && return
        echo "attempt $attempt"
        espalier data rm "$(cat unfinished note | tail -n 1)"
        rm -f state/espalier/puts/*
    done
    return 1
}
noted() {
    cat state/espalier/puts/???????????????? >note 2>&1
}
check "a put is killed" put_killed
check "again, it goes on" put wide.npy A sticky
check "with the datum that was begun" grep -qx "$(cat note)" wide.npy.id
check "which is whole" got_back "$(cat wide.npy.id)" wide.npy
check_fails any "and no note of it is left" noted
# Its server is killed in the middle, and comes back at another address, without any of it.
put_over_restart() {
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        echo "attempt $attempt"
        espalier data put wide.npy -s A -m sticky >begun 2>&1 &
        putter=$!
        tries=5000
        until noted || [ $((tries -= 1)) -eq 0 ]; do sleep 0.001; done
        kill -STOP "$pid_A"
        begun=false
        noted && test ! -s begun && begun=true
        stop A KILL
        start_server A
        wait $putter || return 1
        espalier data get "$(cat begun)" back.npy && cmp back.npy wide.npy && espalier data rm "$(cat begun)" || return 1
        $begun && return
    done
    return 1
}
first=$(cat wide.npy.id)
check "the next one is another" put wide.npy A sticky
check "a put goes on when its server was killed and is back, elsewhere" put_over_restart
check_fails any "datum" grep -qx "$first" wide.npy.id
second=$(cat wide.npy.id)
put_beside() { # another put of the file, while the first one is in the middle of its own
    espalier data put wide.npy -s A -m sticky --timeout '30 s' >beside 2>&1 &
    putter=$!
    tries=5000
    until noted || [ $((tries -= 1)) -eq 0 ]; do sleep 0.001; done
    kill -STOP $putter
    noted && test ! -s beside
    begun=$?
    put wide.npy A sticky
    other=$?
    kill -CONT $putter
    wait $putter && [ $other -eq 0 ] || return 2
    [ $begun -eq 0 ] || espalier data rm "$(cat beside)" "$(cat wide.npy.id)"
    return $begun
}
put_both() {
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        put_beside
        both=$?
        [ $both -eq 1 ] || return $both
        echo "attempt $attempt"
    done
    return 1
}
check "two puts of one file at the same time both succeed" put_both
check_fails any "each with a datum of its own" grep -qxf beside wide.npy.id
check "one is whole" got_back "$(cat beside)" wide.npy
check "and so is the other" got_back "$(cat wide.npy.id)" wide.npy
check_fails any "and no note is left of either" noted
check "nor anything else" sh -c '! ls -A state/espalier/puts | grep -q .'
check "they go" espalier data rm "$(cat beside)" "$(cat wide.npy.id)"

# ---- the command's memory ----
check "both go" espalier data rm "$second" "$first"
{
    printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (2000, 4000), }"
    head -c 64000000 /dev/urandom
} >rows.npy
espalier matrix convert rows.npy columns.npy
most=40000000 # bytes of memory for data, of which a process has some MB before it does anything
within() {
    prlimit --data=$most "$@"
}
limit_holds() {
    ! within awk 'BEGIN { s = "0123456789abcdef"; while (length(s) < 64000000) s = s s }' 2>awk.out
}
if limit_holds && within espalier --version >version; then
    put_within() {
        within espalier data put "$1" -s A -m persistent >"$1.id"
    }
    got_within() { # got_within NAME: as a file by columns
        within espalier data get "$(cat "$1.id")" back.npy && cmp back.npy columns.npy
    }
    for name in rows columns; do
        check "64 MB in a file by $name are put without having them in memory" put_within $name.npy
        check "and got" got_within $name.npy
        check "and go" espalier data rm "$(cat $name.npy.id)"
    done
    # Texts become numbers in memory: once, beside 32 MB.
    most=$((32000000 + 40000000))
    { printf '%%%%MatrixMarket matrix array real general\n5000000 1\n' && seq 5000000; } >text.mtx
    gzip -1 <text.mtx >text.mtx.gz
    check "40 MB from a compressed text are in memory once" put_within text.mtx.gz
    check "and come back as another text" within espalier data get "$(cat text.mtx.gz.id)" text.csv
    check "with the same numbers" sh -c 'tail -n +3 text.mtx | cmp - text.csv'
    check "which can be put as well" put_within text.csv
    check "both go" espalier data rm "$(cat text.mtx.gz.id)" "$(cat text.csv.id)"
    put_floats() {
        espalier data put x.mtx -s A -t float >x.id && espalier data get "$(cat x.id)" back.mtx
    }
    check "numbers become others on their way" put_floats
    check "of the same value" cmp back.mtx x.mtx
    printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n-1e177\n' >beyond.mtx
    check_fails 2 "but not where they do not fit" espalier data put beyond.mtx -s A -t float
    check_says "which is reported with the element as it is" 'element \(2, 1\), -1e\+177, does not fit type float'
else
    echo "# this build needs more memory than that before it does anything"
fi
rm -f rows.npy columns.npy back.npy text.* back.mtx

# ---- copies ----
check "a vector on A" put x.mtx A volatile
x=$(cat x.mtx.id)
on_b() { # on_b: a call on B that needs it
    espalier call ddot "x=data:$x" "y=data:$x" -s B
}
one_place() {
    espalier data info "$x" | grep -c '^ *on ' | grep -qx 1
}
check "a call on B fetches it" on_b
check "and its copy goes some time after" wait_until one_place
check "another call fetches it again" on_b
check "and has a replica now" wait_until has "$x" 'on +B .*replica'
sleep 0.6
check "which stays" has "$x" 'on +B .*replica'

# Another file in the place of one that was begun, as long and with the same time of writing.
replace() {
    touch -r wide.npy time.of.it
    cp wide.npy other.npy
    printf 'another' | dd of=other.npy bs=1 seek=24000000 conv=notrunc 2>dd.out && touch -r time.of.it other.npy &&
        mv other.npy wide.npy
}
check "a put is killed again" put_killed
check "and its file is replaced" replace
check "that one is put" put wide.npy A sticky
check_fails any "as a datum of its own" grep -qx "$(cat note)" wide.npy.id
check "which is what the new file holds" got_back "$(cat wide.npy.id)" wide.npy
check "it goes" espalier data rm "$(cat wide.npy.id)"
rm state/espalier/puts/* # of the file that is no more
check "a put is killed once more" put_killed
stop A
sed -i 's/^store_disk .*/store_disk = "1 MB"/' A.conf
start_server A
check "its server comes back with less disk" wait_until servers
check_fails any "which has no room for it" put wide.npy A sticky
check_says "as is reported" 'no disk for a datum of 24 MB'
check_fails any "what cannot be gone on with is noted no more" noted
finish
