#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# With TLS data belong to who put them: servers fetch them from each other for their owners, and for nobody else.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed openssl

certificates() {
    curve="-pkeyopt ec_paramgen_curve:P-256"
    # shellcheck disable=SC2086
    openssl req -x509 -newkey ec $curve -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 2 &&
        for who in agent nodeA nodeB alice bob; do
            openssl req -newkey ec $curve -nodes -keyout $who.key -out $who.csr -subj /CN=$who &&
                openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out $who.pem -days 2 ||
                return 1
        done
}
tls() { # tls WHO: the lines that name the certificate
    printf 'tls_ca = "%s"\ntls_certificate = "%s"\ntls_key = "%s"\n' "$work/ca.pem" "$work/$1.pem" "$work/$1.key"
}
check "an authority, and certificates" certificates
agent_for_clients "$(tls agent)" 'scheduler = "round-robin"' # whoever is next, wherever the data are
server_below_agent A A "$(tls nodeA)" 'slots = 1' 'data_servers = { "nodeB" }' \
    "problems = { \"$top_srcdir/tests/e2e/product.esp\" }"
server_below_agent B B "$(tls nodeB)" 'slots = 1' "problems = { \"$top_srcdir/tests/e2e/product.esp\" }"
for who in alice bob; do
    { cat client.conf; tls $who; } >$who.conf
done
as() { # as WHO WORD...: a command by that user
    who=$1
    shift
    ESPALIER_CONFIG=$work/$who.conf espalier "$@"
}
servers() {
    as alice problems | grep -Eq "^product .* 2 "
}
check "two servers are there" wait_until servers

printf '%%%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n' >a.mtx
put() { # put SERVER: alice's datum
    as alice data put a.mtx -s "$1" >id
}
check "alice has a datum on A" put A
id=$(cat id)
multiply() { # multiply WHO SERVER
    as "$1" call product "A=data:$id" B='[1,0;0,1]' -s "$2" -o C=- -v
}
check_fails 1 "bob may not compute with it there" multiply bob A
check_says "and hears why" 'belongs to alice'
check_fails 1 "nor elsewhere" multiply bob B
check_says "by a server that could fetch it" 'belongs to alice'
check_fails 1 "nor read it" as bob data get "$id" got.mtx
check_says "as it is not his" 'belongs to alice'
check_fails 1 "nor copy it" as bob data cp "$id" B
check_says "anywhere" 'belongs to alice'
check_fails 1 "nor delete it" as bob data rm "$id"
check_says "as well" 'belongs to alice'
for words in "data info $id" "data show $id --grid 1x2 --block 1" "data mv $id B" "submit product A=data:$id B=@a.mtx" \
    "sweep product A=data:$id B=@a.mtx" "forecast product n=2 A=data:$id B=@a.mtx"; do
    # shellcheck disable=SC2086
    check_fails 1 "nor anything else: ${words%% [A-Z]:*}" as bob $words
    check_says "for the same reason" 'belongs to alice'
done
check "alice's call on B fetches it from A" multiply alice B
check_says "and computes" '^4$'
check_says "the time that this took is reported" '^Took .* fetching its data [0-9]'
check "the next one has it there" multiply alice B
cp "$log" said
check_fails any "and fetches nothing" grep 'fetching its data' said
check_fails 1 "the copy is not bob's either" as bob data rm "$id"
check "she deletes both" as alice data rm "$id"
none_left() {
    as alice data ls >left && ! grep ':' left
}
check "at once" none_left
check "she has one on B" put B
id=$(cat id)
check_fails 1 "bob moves nothing away from there" as bob data mv --from B A
check_says "and the user gets an error" "nothing was moved: 'B' has no data of yours, and tells only administrators"
check_fails any "which does not let A in" multiply alice A
check_says "as its file does not name it" 'belongs to alice' '"nodeA" to data_servers in the file of server B'

# ---- what a session has left: both use the notes of one account ----
check "a call of alice leaves what it makes" as alice call product "A=data:$id" B='[1,0;0,1]' -s B --leave outputs
session=$(sed -n 's/^session = //p' "$log")
check_fails 1 "bob may not delete that" as bob data rm "$session"
check_says "as it is hers" 'belongs to alice'
check "the session can be named still" as alice data info "$session"
check "by her, who deletes it" as alice data rm "$session"
check_fails 5 "then it is forgotten" as alice data rm "$session"

check "another call leaves what it makes and takes" as alice call product "A=data:$id" B='[1,0;0,1]' -s B --leave all
session=$(sed -n 's/^session = //p' "$log")
check "a part of that goes" as alice data rm "$session:outputs"
check "and then the rest, which is all" as alice data rm "$session"
check_fails 5 "with the session" as alice data rm "$session"

# ---- calls without a server of their own go where all their data can be ----
multiply_anywhere() { # multiply_anywhere TIMES A-OPERAND B-OPERAND
    for _ in $(seq "$1"); do
        as alice call product "A=data:$2" "B=$3" -o C=- || return 1
    done
}
check "calls without a server go to B alone" multiply_anywhere 4 "$id" '[1,0;0,1]'
check "a forecast says why" as alice forecast product n=2 "A=data:$id" B=@a.mtx
check_says "A is excluded" 'A .*data_servers of server "B".* does not name "nodeA"'
on_b=$id
check "she has another one on A, which lets B in" put A
id=$(cat id)
check "calls that take both go to B" multiply_anywhere 4 "$id" "data:$on_b"
check_fails any "not to A" as alice call product "A=data:$id" "B=data:$on_b" -s A -o C=-

# ---- what is not known beforehand ends in the next candidate ----
long_list() { # more names than servers tell
    for i in $(seq 200); do printf '"another.server.of.a.platform.with.many.servers.and.a.long.name.%s", ' "$i"; done
    printf '"nodeC"'
}
stop B
cp B.conf B.before
printf 'data_servers = { %s }\n' "$(long_list)" >>B.conf
start_server B
check "B names many others" wait_until servers
check "she has one there" put B
check "calls that A may not have after all go on with B" multiply_anywhere 4 "$(cat id)" '[1,0;0,1]'
stop B
cp B.before B.conf
start_server B
check "B is as it was" wait_until servers

# ---- a server that has lost the original has another one's copy take its place, if that lets it in ----
stop A
stop B
printf 'data_servers = { "nodeA" }\n' >>B.conf
for name in A B; do
    printf 'state_dir = "%s/state-%s"\n' "$work" $name >>$name.conf
    start_server $name
done
check "B lets A in from now on" wait_until servers
put_for_good() {
    as alice data put a.mtx -s A -m persistent >id
}
check "alice has a datum on A for good" put_for_good
id=$(cat id)
check "and a copy on B" as alice data cp "$id" B
stop A
file=$(find "$work" -name "${id#*:}.datum")
check "A's file of it is damaged while A is down" sh -c "printf X | dd of='$file' bs=1 seek=50 conv=notrunc"
start_server A
original_on_b() {
    as alice data info "$id" >shown && grep -q 'on  *B ' shown && ! grep -q replica shown
}
check "when A is back, B's copy is the original" wait_until original_on_b
check "for good" test -n "$(find "$work" -name "${id#*:}.datum" ! -path '*/damaged/*')"
check "alice reads it" as alice data get "$id" got.mtx
check "as it was" cmp got.mtx a.mtx
check_fails 1 "and bob still does not" as bob data get "$id" got.mtx
finish
