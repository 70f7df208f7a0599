#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wrong calls through the espalier command: each gives a clear error, and the daemons go on.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR
matrices=$top_srcdir/examples/matrices

at_exit() {
    espalier down small --force >down.out 2>&1
}

cat >small.conf <<EOF
problems = { "$top_srcdir/problems" }
master "MA" { }
server "S" { parent = "MA" slots = 1 }
EOF
check "a platform of a file, without a redirector" espalier up small.conf
check_says "under the file's name" "Platform 'small' is up: 2 daemons"
ESPALIER_CONFIG=$work/espalier/small/client.conf
export ESPALIER_CONFIG
signature='dgesv\(in int n, in int nrhs, inout double A\[n, n\], out int ipiv\[n\], inout double B\[n, nrhs\]\)'

check_fails 2 "an unknown problem" espalier call nosuch n=1
check_says "by name" 'nosuch'
check_says "with where to look" "'espalier problems' lists what can be solved"
check_fails 2 "one with control characters" espalier call "$(printf 'no\033[2Jsuch')" n=1
check_says "does not reach the terminal" 'no\\x1b\[2Jsuch'
check_fails 2 "the unknown problem's page" espalier problems nosuch
check_fails 2 "an unknown argument" espalier call dgesv Q='[1]'
check_says "with the signature" "dgesv has no argument 'Q'" "$signature"
check_fails 2 "a wrong case" espalier call dgesv a='[1]'
check_says "with the right one" "did you mean 'A'"
check_fails 2 "a missing argument" espalier call dgesv A='[1]'
check_says "by name, and how to give it" 'B\[n, nrhs\] \(double\) is missing: give it as B=\[1,2;3,4\] or B=@FILE' "$signature"
check_fails 2 "no argument at all" espalier call dgesv
check_says "asks for the first" 'the input and output A\[n, n\] \(double\) is missing: give it as A='
check_fails 2 "a missing scalar" espalier call dscal x='[1]'
check_says "by name, and how to give it" 'the input alpha \(double\) is missing: give it as alpha=NUMBER'
check_fails 2 "a word without a value" espalier call dgesv A
check_says "with the form" "expected NAME=VALUE, found 'A'"
check_fails 2 "an argument given twice" espalier call dgesv n=1 n=1
check_says "by name" 'n is given twice'
check_fails 2 "a text for a number" espalier call dgesv n=one A='[1]' B='[1]'
check_says "with the type" "n: expected an int, found 'one'"
check_fails 2 "a fraction for an integer" espalier call dgesv n=1.5 A='[1]' B='[1]'
check_fails 2 "an integer beyond 32 bits" espalier call dgesv n=3000000000 A='[1]' B='[1]'
check_fails 2 "a number for a matrix" espalier call dgesv A=1 B='[1]'
check_says "with the shape" 'A: expected A\[n, n\] as \[1, 2; 3, 4\], @FILE or data:ID, found'
check_fails 2 "complex elements in a real matrix" espalier call dgesv A='[1+2i]' B='[1]'
check_says "with the element" 'A: expected elements of type double.*row 1, column 1'
check_fails 2 "rows of different lengths" espalier call dgesv A='[1,2;3]' B='[1;2]'
check_says "with both" 'A: row 2 has 1 element, the first row 2'
check_fails 2 "a matrix that is not square" espalier call dgesv A='[1,2]' B='[1]'
check_says "with the argument" 'A' "$signature"
check_fails 2 "matrices that contradict each other" espalier call dgesv A='[1,0;0,1]' B='[1;2;3]'
check_says "with both" 'B' '[23]'
check_fails 2 "a size that contradicts the matrices" espalier call dgesv n=3 A='[1,0;0,1]' B='[1;2]'
check_fails 2 "a precondition that does not hold" espalier call dgesv n=-1 nrhs=1 A='[]' B='[]'
check_says "with the argument" 'dgesv: expected n >= 0, found n = -1'
check_fails 2 "the same with matrices of another size" espalier call dgesv n=-1 A='[1,2;3,4]' B='[1;2]'
check_says "as the violated precondition" 'dgesv: expected n >= 0, found n = -1'
check_fails 2 "a dimension that overflows" espalier call dsyev n=2000000000 A='[1]'
check_fails 2 "an output as an input" espalier call dgesv A='[1]' B='[1]' ipiv='[1]'
check_says "how to save it is reported" "ipiv is an output: '-o ipiv=FILE' saves it"
check_fails 2 "an input as an output" espalier call dgesv A='[1]' B='[1]' -o n=n.mtx
check_fails 4 "a malformed matrix file" espalier call dgesv A=@"$matrices/wrong.mtx" B='[1]'
check_says "with its line" 'wrong.mtx:3: row 0: indices start at 1'
check_fails 4 "a missing matrix file" espalier call dgesv A=@none.mtx B='[1]'
check_says "by name" 'none.mtx: no such file'
check_fails 1 "a singular matrix" espalier call dgesv A='[1,2;2,4]' B='[1;2]'
check_says "as what it means" 'U\(2,2\) is exactly zero: the matrix is singular'
check_fails 1 "the same as JSON" espalier call --json dgesv A='[1,2;2,4]' B='[1;2]'
check_says "with the status" '"error": \{"code": 15, "status": "ESP_FAILED", "text": ".*singular'
check_fails 1 "a matrix that is not positive definite" espalier call dposv A='[1,2;2,1]' B='[1;2]'
check_says "as what it means" 'not positive definite'
check_fails 1 "a file that cannot be written" espalier call dgesv A='[1]' B='[1]' -o B=/nonexistent/x.mtx
check_says "by name" 'cannot write /nonexistent/x.mtx'
check_fails 1 "a full disk" espalier call dgesv A='[1]' B='[1]' -o B=/dev/full
check_fails 3 "a server that is not there" espalier call --server nobody dgesv A='[1]' B='[1]'
check_says "by name" 'nobody'
check_fails 2 "a deadline that is none" espalier call --timeout soon dgesv A='[1]' B='[1]'
check_says "with the form" "expected a time such as '30 s', found 'soon'"
check_fails 2 "a wrong option for a program" espalier call --nosuch dgesv --json
check_says "is reported as JSON, wherever --json stands" '"error": \{"code": 1, "status": "ESP_INVALID", "text": "there is no option'
check_fails 2 "a verb that is none, for a program" espalier sovle --json
check_says "is reported as JSON too" '"error": \{"code": 1, .*"text": "there is no verb .sovle.: did you mean .solve.\?"'
check_fails 2 "a size beyond the integers of Fortran" espalier call dgesv n=3000000000 A='[1]' B='[1]'
check_says "is refused with what there are" 'n: expected an int .-2147483648 to 2147483647., found .3000000000'
check_fails 4 "a folder in place of a matrix file" espalier solve "$work"
check_says "is named as such" 'expected a matrix file, found a folder'
check_fails 4 "a device without an end" timeout 20 espalier solve /dev/zero
check_says "is read as far as it may be a matrix" '/dev/zero.*expected a matrix file'
check_fails 2 "a file whose ending names no format" espalier call dgesv A='[1]' B='[1]' -o B=x.foo
check_says "is refused with those that do" '-o B: x.foo: expected an ending that names a format \(.mtx, .npy, .rb, .hb, .octave, .csv\), or --format, found .foo'
check "unless the format is named" espalier call dgesv A='[1]' B='[1]' -o B=x.foo --format csv
check_fails 2 "the same of a solution" espalier solve "$matrices/pores_1.mtx" -o x.foo
check_says "before anything is sent" '-o: x.foo: expected an ending'
check "nothing is shown of it" sh -c "! grep -q '^A  ' '$log'"
printf 'name = "S\nlisten = "127.0.0.1:0"\n' >quote.conf
check_fails 4 "a quote that is not closed" espalier config check --as sed quote.conf
check_says "is reported as such" 'quote.conf:1: expected a second quote'
cat >open.conf <<EOF
master "MA" { listen = "0.0.0.0:0" }
server "S" { parent = "MA" }
EOF
check_fails 4 "a platform beyond loopback without certificates" espalier up open.conf
check_says "with what it needs" 'beyond loopback: expected tls_ca, tls_certificate and tls_key, or insecure = yes'
check_fails 3 "solving with a problem that no server has" espalier solve --agent 127.0.0.1:1 "$matrices/pores_1.mtx"

# A matrix whose singular values take seconds.
awk 'BEGIN { srand(1); n = 1000; print "%%MatrixMarket matrix array real general\n" n, n
    for (i = 0; i < n * n; i++) print rand() }' >big.mtx

is_running() {
    espalier tree | grep -Eq "^ *S +server .* $1/1 "
}

check_fails 3 "a computation beyond its deadline" espalier call dgesvd A=@big.mtx --timeout '1 s' -o s=s.mtx
check_says "gets the error" 'the deadline passed after'
start interrupted espalier call dgesvd A=@big.mtx -o s=s.mtx
check "a long call runs" wait_until is_running 1
stop interrupted TERM
check "a call that is interrupted says so" grep -q 'espalier call: .*cancel' interrupted.out
check "and its computation is stopped" wait_until is_running 0
check "in the server's log too" grep -q 'cancelled: dgesvd' espalier/small/S.log
# While the client still makes arguments: the library is closed before it is called.
is_larger() { # is_larger KIB
    [ "$(awk '/^VmRSS/ { print $2 }' "/proc/$pid_making/status")" -gt "$1" ]
}
start making espalier call dgesv n=5000 nrhs=5000 A=rand B=rand
check "arguments are being made" wait_until is_larger 50000
stop making TERM
check "a command that is interrupted then ends by the signal" test "$stopped" -eq 143
check "and is cancelled" grep -q 'espalier call: .*cancel' making.out
check "which is all that it says" sh -c '! grep -q "grpc_" making.out'
start vanished espalier call dgesvd A=@big.mtx -o s=s.mtx
check "another long call runs" wait_until is_running 1
stop vanished KILL
check "a client that disappears in the middle disturbs nobody" espalier call --timeout '60 s' dgesv A='[2]' B='[4]'

check "after all of that the server solves" espalier solve "$matrices/pores_1.mtx"
check "and the platform stops in order" espalier down small
check_says "both daemons" '2 daemons stopped$'
finish
