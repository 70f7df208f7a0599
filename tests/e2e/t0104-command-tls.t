#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A platform with mutual TLS: the command reaches it with a certificate of its CA, and not without.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed openssl
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR

at_exit() {
    espalier down sec >down.out 2>&1
}

make_keys() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem \
        -subj "/CN=Test CA" -days 2 &&
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout node.key -out node.csr -subj /CN=node &&
        openssl x509 -req -in node.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out node.pem -days 2
}

tls="tls_ca = \"$work/ca.pem\" tls_certificate = \"$work/node.pem\" tls_key = \"$work/node.key\""
cat >sec.conf <<EOF
problems = { "$top_srcdir/problems" }
redirector { $tls }
master "MA" { $tls }
server "S" { parent = "MA" slots = 1 $tls }
EOF
check "a CA and a certificate" make_keys
check "a platform whose daemons have them starts" espalier up sec.conf
check "and solves" espalier solve --platform sec "$top_srcdir/examples/matrices/pores_1.mtx"
check_says "as any other" '^Server +S,' 'Backward error'
check_fails any "without a certificate nobody gets in" espalier tree --redirector "$(cat espalier/sec/redirector.address)"
check "the platform is there still" espalier tree --platform sec
check "and stops" espalier down sec
finish
