#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One fault, one exit code, whatever the verb: data that are not there (any more) or cannot be, servers and jobs that are not.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
agent_for_clients
for name in A B; do
    server_below_agent $name $name "state_dir = \"$work/state-$name\"" 'slots = 1' \
        "problems = { \"$top_srcdir/tests/e2e/product.esp\", \"$top_srcdir/problems/blas\", \"$top_srcdir/problems/abstract\" }"
done
servers() { # servers N: so many multiply matrices
    espalier problems | grep -Eq "^product .* $1 "
}
check "two servers are there" wait_until servers 2
printf '1,2\n3,4\n' >m.csv
good=$(espalier data put m.csv -s A -m persistent)
gone=$(espalier data put m.csv -s A)
check "a datum is deleted" espalier data rm "$gone"
lost=$(espalier data put m.csv -s B -m persistent)
stop B KILL
check "a server is lost" wait_until servers 1

# every_verb ID: a line for each verb that takes a datum
every_verb() {
    cat <<END
data get $1 out.csv
data info $1
data show $1 --grid 1x2 --block 1
data rm $1
data cp $1 A
data mv $1 A
data cp $1 A --grid 1x1 --block 2
data mv $1 A --grid 1x1 --block 2
call product n=2 A=data:$1 B=@m.csv
call product n=2 A=data:$1 B=@m.csv -s A
call mul A=data:$1 B=@m.csv
submit product n=2 A=data:$1 B=@m.csv
sweep product n=2 A=data:$1 B=@m.csv
forecast product n=2 A=data:$1 B=@m.csv
END
}
# all_say CODE TEXT ID
all_say() {
    every_verb "$3" >verbs
    while read -r words; do
        # shellcheck disable=SC2086
        check_fails "$1" "$2: ${words%% [A-Z]:*}" espalier $words
    done <verbs
}
all_say 5 "what never was" A:0123456789abcdef0123456789abcdef
# Who is not there may come, or come back, with what it keeps.
all_say 3 "what was made by a server that is not there" Z:0123456789abcdef0123456789abcdef
all_say 5 "what was deleted" "$gone"
all_say 3 "what is on a server that is lost" "$lost"
all_say 2 "what is no identity" rubbish
all_say 2 "a section that is none" "${good}[1:9]"

# of_servers CODE NAME: a line for each verb that takes a server
for words in "data put m.csv -s Z" "data ls -s Z" "data cp $good Z" "data mv $good Z" "data mv --from Z A" "data mv --from A Z" "data cp --from A Z" \
    "data cp $good Z --grid 1x1 --block 1" "call product n=2 A=@m.csv B=@m.csv -s Z" \
    "call product n=2 A=data:$good B=@m.csv -s Z" "submit product n=2 A=@m.csv B=@m.csv -s Z" "sweep product n=2 A=@m.csv B=@m.csv -s Z"; do
    # shellcheck disable=SC2086
    check_fails 3 "a server that is not there: ${words%% -s*}" espalier $words
done
for words in "fetch 0123-77" "wait 0123-77" "output 0123-77" "cancel 0123-77" "jobs 0123-77" "jobs --forget 0123-77"; do
    # shellcheck disable=SC2086
    check_fails 5 "a job that nobody knows: ${words%% *}" espalier $words
done
for words in "data put nothing.csv -s A" "call product n=2 A=@nothing.csv B=@m.csv" "submit product n=2 A=@nothing.csv B=@m.csv" \
    "sweep product n=2 A=@nothing.csv B=@m.csv" "solve nothing.csv" "forecast product n=2 A=@nothing.csv B=@m.csv"; do
    # shellcheck disable=SC2086
    check_fails 4 "a file that is not there: ${words%% *}" espalier $words
done
check_fails 2 "files are what solve takes" espalier solve "data:$good"
check_says "and it names the verb that takes data" "espalier call solve A=data:"
check_fails 1 "when calls of a sweep fail otherwise than others, it has failed" espalier sweep product 'n=1,2' A=@m.csv B=@m.csv
check "what is there is still there" espalier data get "$good" out.csv
finish
