#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A platform with mutual TLS: the command reaches it with a certificate of its CA, and not without.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed openssl
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR

at_exit() {
    espalier down sec --force >down.out 2>&1
}

# The commands of the manual, word by word.
make_keys() {
    sed -n '/^    openssl/,/^$/p' "$top_srcdir/doc/tls.md" | sed 's/^    //' >commands.sh
    grep -q openssl commands.sh && sh -e commands.sh
}

tls="tls_ca = \"$work/ca.pem\" tls_certificate = \"$work/node.pem\" tls_key = \"$work/node.key\""
cat >sec.conf <<EOF
problems = { "$top_srcdir/problems" }
redirector { $tls }
master "MA" { $tls probe = "127.0.0.1:0" }
server "S" { parent = "MA" slots = 1 $tls probe = "127.0.0.1:0" probe_every = "300 ms" state_dir = "$work/state-S" }
EOF
check "a CA and a certificate" make_keys
check "a platform whose daemons have them starts" espalier up sec.conf
client_file() {
    printf 'redirector = "%s"\ntls_ca = "%s"\ntls_certificate = "%s"\ntls_key = "%s"\n' \
        "$(cat espalier/sec/redirector.address)" "$work/ca.pem" "$1" "$2" >my-client.conf
}
client_file "$work/client.pem" "$work/client.key"
check "a client with its own certificate gets in" espalier tree --config my-client.conf
check "its file is good" espalier config check my-client.conf
client_file "$work/client.pem" "$work/node.key"
check_fails 4 "a key of another certificate" espalier tree --config my-client.conf
check_says "is reported, with the file" 'node.key: the key does not belong to the certificate .*client.pem'
check_fails 4 "by config check as well" espalier config check my-client.conf
check_says "with the configuration file" 'my-client.conf: .*node.key: the key does not belong'
echo garbage >garbage.pem
client_file "$work/garbage.pem" "$work/node.key"
check_fails 4 "a certificate that is none" espalier tree --config my-client.conf
check_says "is reported, with the file" 'garbage.pem: expected a PEM certificate'
openssl req -x509 -newkey rsa:2048 -nodes -keyout own.key -out own.pem -subj /CN=me -days 2 2>/dev/null
client_file "$work/own.pem" "$work/own.key"
check_fails 4 "a certificate of nobody" espalier tree --config my-client.conf
check_says "is reported, with the file" 'own.pem: the authority of .*ca.pem does not vouch'
sed -i 's,/ca.pem,/own.pem,' my-client.conf
check_fails any "a client of another authority" espalier tree --config my-client.conf
check_says "is reported with the place to look" 'authority of this side .tls_ca. does not vouch'
check "links are measured, by HTTPS" wait_until test -s state-S/links/MA.ring
client_file "$work/client.pem" "$work/client.key"
link_is_shown() {
    espalier weather --config my-client.conf --resource bandwidthTcp >shown && cat shown && grep -Eq '^MA > S +bandwidthTcp +[0-9.]+ [MG]bit/s' shown
}
check "which every accepted client may see" wait_until link_is_shown
check_fails any "but only administrators may give orders" espalier admin drain S --config my-client.conf
check_says "and is reported" 'is no administrator of "MA"'
check "and solves" espalier solve --platform sec "$top_srcdir/examples/matrices/pores_1.mtx"
check_says "as any other" '^Server +S,' 'Backward error'
check_fails any "without a certificate nobody gets in" espalier tree --redirector "$(cat espalier/sec/redirector.address)"
check_says "and where to look is reported" 'TLS'
check "the platform is there still" espalier tree --platform sec
check "and stops" espalier down sec
finish
