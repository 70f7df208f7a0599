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
agent_for_clients "$(tls agent)"
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
    as "$1" call product "A=data:$id" B='[1,0;0,1]' -s "$2" -o C=-
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
check_fails 1 "the copy is not bob's either" as bob data rm "$id"
check "she deletes both" as alice data rm "$id"
none_left() {
    as alice data ls >left && ! grep ':' left
}
check "at once" none_left
check "she has one on B" put B
id=$(cat id)
check_fails any "which does not let A in" multiply alice A
check_says "as its file does not name it" 'belongs to alice'

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
