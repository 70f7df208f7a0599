#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two sides that do not agree on TLS: the daemon's log names the refused peer and the reason, and the client's error
# says what is wrong and what to do.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed openssl bash

# authority NAME; certificate NAME AUTHORITY DAYS
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.pem" \
        -subj "/CN=authority $1" -days 2
}
certificate() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" &&
        openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -out "$1.pem" -days "$3"
}
check "an authority" authority ours
check "and another one" authority theirs
check "a daemon's certificate" certificate node ours 2
check "a client's" certificate alice ours 2
check "a stranger's" certificate mallory theirs 2
check "one that is valid for this second only" certificate old ours 0
cat ours.pem theirs.pem >both.pem

files() {
    printf 'tls_ca = "%s"\ntls_certificate = "%s"\ntls_key = "%s"\n' "$work/$1.pem" "$work/$2.pem" "$work/$2.key"
}
daemon() {
    { cat; printf 'listen = "127.0.0.1:0"\naddress_file = "%s"\nlog_file = "%s"\n' "$work/$1.address" "$work/$1.log"; } >"$1.conf"
}
files ours node | { echo 'name = "SAFE"'; cat; } | daemon safe
echo 'name = "OPEN"' | daemon open
start safe espalier-agent --foreground safe.conf
start open espalier-agent --foreground open.conf
safe=$(address_of safe.address)
open=$(address_of open.address)

# tree ADDRESS [CA CERTIFICATE]
tree() {
    { printf 'redirector = "%s"\n' "$1"; [ $# -eq 1 ] || files "$2" "$3"; } >client.conf
    espalier tree --config client.conf
}
logged() {
    check "the log says $1" wait_until grep -Eq "warning $2 .*127\.0\.0\.1:[0-9]+.*$3" "$4.log"
}
check "with certificates of one authority all is well" tree "$safe" ours alice

check_fails 3 "a client without certificates, where they are wanted" tree "$safe"
check_says "is told what to do" 'speaks TLS only.* name tls_ca, tls_certificate and tls_key'
logged "who" SAFE 'refused: it does not speak TLS' safe

check_fails any "a client with certificates, where there are none" tree "$open" ours alice
check_says "is told what to do" 'hung up in the middle of the TLS handshake.*without tls_ca'
logged "who" OPEN 'it uses TLS, which this side does not' open

check_fails 3 "a client that does not trust the daemon's authority" tree "$safe" theirs mallory
check_says "is reported" 'authority of this side \(tls_ca\) does not vouch for its certificate: '
logged "who" SAFE "it refuses this side's certificate \\(unknown CA\\)" safe

for i in 1 2 3; do
    check_fails 3 "a client whose authority the daemon does not trust ($i)" tree "$safe" both mallory
    check_says "is reported" "it refuses this side's certificate \\(unknown CA\\).*tls_ca"
done
logged "who" SAFE 'refused: the authority of this side .*does not vouch' safe

sleep 1.1 # what is written in one second is limited; the old certificate ends
stranger() {
    openssl s_client -connect "$safe" "$@" </dev/null
}
stranger >/dev/null 2>&1
logged "that a peer shows no certificate" SAFE 'refused: it shows no certificate' safe
stranger -cert old.pem -key old.key >/dev/null 2>&1
logged "that a certificate has expired" SAFE 'vouch for its certificate: certificate has expired' safe

# A server whose parent does not take it.
cat >sed.common <<EOF
slots = 1
problems = { "$top_srcdir/problems/lapack" }
parent = "$safe"
EOF
{ echo 'name = "BARE"'; cat sed.common; } | daemon bare
start bare espalier-sed --foreground bare.conf
check "a server without certificates says why it has no parent" wait_until grep -Eq "warning BARE no connection to $safe: it speaks TLS only" bare.log
{ echo 'name = "ALIEN"'; files both mallory; cat sed.common; } | daemon alien
start alien espalier-sed --foreground alien.conf
check "and one of another authority too" wait_until grep -Eq "warning ALIEN no connection to $safe: it refuses this side's certificate" alien.log

# Before anything else: the descriptions would take a while, and these are no good either.
cat >sed-missing.conf <<EOF
parent = "$safe"
listen = "127.0.0.1:0"
problems = { "/nowhere" }
tls_ca = "$work/nowhere.pem"
tls_certificate = "$work/node.pem"
tls_key = "$work/node.key"
EOF
for reader in "espalier-sed --foreground" "espalier-sed" "espalier config check"; do
    # shellcheck disable=SC2086
    check_fails 4 "$reader: certificate files that are missing" $reader sed-missing.conf
    check_says "are reported first" "missing.conf: cannot read the authority's certificate $work/nowhere.pem .tls_ca.: No such"
done

# They go on trying; a log is no place for each try.
sleep 1
told_once() {
    grep -h ' warning .*no connection to' bare.log alien.log
    [ "$(grep -c ' warning .*no connection to' bare.log)" -eq 1 ] && [ "$(grep -c ' warning .*no connection to' alien.log)" -eq 1 ]
}
check "each says so once" told_once

check "the daemons are well" tree "$safe" ours alice
check "both" tree "$open"
finish
