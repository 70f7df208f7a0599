#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The examples on the pages of problems of one's own, a problem for each construct: what is printed is pasted into a
# shell, word by word, and works; where there is no example, the page says what is in the way.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed cc

mkdir problems
cp "$top_srcdir/examples/callback/calc.esp" "$top_srcdir/examples/kept/kept.esp" problems
cc -shared -fPIC -o problems/libcalc.so "$top_srcdir/examples/callback/calc.c" || skip_all "the compiler fails"
cc -shared -fPIC -o problems/libkept.so "$top_srcdir/examples/kept/kept.c" -l:liblapack.so.3 || skip_all "the compiler fails"

# described NAME LINES: one that takes what the lines declare, and its files and texts as words of a command.
described() {
    printf 'problem %s "Of the test"\n%s\nimplementation sh\n    command sh "-c" "%s" "sh"%s\n' "$1" "$2" "${3:-:}" "${4:-}"
}
{
    described scalars 'in char a
in short b
in int c
in long d
in int64 e
in float f
in double g
in complex h
in double complex i
in string s'
    described files 'in int n
in double x[n]
in file f
in file parts[n]
in string s, names[n]' 'test -s $1 && cat $* | grep -q 2' ' "{f}" "{parts}"'
    described banded_texts 'in int n, kl, ku
in double A[n, n] banded(kl, ku)
in string names[n]'
    described wide_band 'in int n, kl, ku
in double A[n, n] banded(kl, ku)
require kl >= 3, ku == 0'
    described symmetric_band 'in char uplo
in int n, kd
in double A[n, n] symmetric positive-definite banded(if(is(uplo, '"'U'"'), 0, kd), if(is(uplo, '"'U'"'), kd, 0))
in file f
require is(uplo, '"'U', 'L'"'), kd >= 2'
    described packed 'in char uplo
in int n
in double complex A[n, n] hermitian packed(uplo)
in string names[n]
require is(uplo, '"'U', 'L'"')'
    described sparse 'in int m, n, nz
in int Ap[n + 1], Ai[nz]
in double A[m, n] csc(Ap, Ai)
in string names[m]
require m > n, nz >= 5'
    described sparse_rows 'in int nz, n
in long Ap[n + 1], Aj[nz]
in float A[n, n] csr(Ap, Aj, 1)
require n >= 4'
    described deep 'in int n, m
in double T[n, 3, m, 2], U[1, n, 1, 2, 1, m, 1]
in int k[n]
require n != m'
    described by_rows 'in int m, n
in float R[m, n] row-major
in double A[n, n] upper
require m > n'
    described optional 'in int n, k = 0
in double x[n], w[n] = 1, tol = -1
require k > 3, tol > 0'
    described sections 'in int n, first
in double x[n:first,n - 1,2]
require first >= 7'
    described letters 'in char a, b
in char c[5]
require a == '"'z'"', b == '"'+'"
    described between 'in double lo, hi, x
require lo < hi, x > lo, x < hi, lo > 3'
    described narrow 'in double x
in float y
require 0.1 < x and x < 0.125, y > 2*x, y < 3*x'
    described multiple 'in int n
require n % 7 == 0, n > 0'
    described rest 'in int n
in double x[n]
require n % 4 == 3 and n > 20'
    described tall 'in int m, n
in double A[m, n]
require m >= 2*n + 5, n >= 4'
    described large 'in int n, m
in double A[m, n], B[n, n] symmetric positive-definite
in string s
require m >= n + 1, n >= 300'
    described large_band 'in int n, kl, ku
in double A[n, n] banded(kl, ku)
in double y[n]
require n >= 200, kl < ku'
    described square_root 'in int n, k
in double x[n - 10]
require n*n == 144, k == n*(n + 1)/2'
    described product 'in int p, q
require p*q == 12, p < q'
    described negative 'in int i
in double d
require i < -100, d <= -2.5'
    described power 'in int n, levels
in double x[n]
require n == 2^levels, levels >= 4'
    cat <<'END'
problem sorted "Of the test"
    in      file text
    out     file sorted
implementation sort
    command sort "{text}"
    stdout  sorted

problem functions "Of the test"
    callback f(in int n, in double x[n], out double y[n], out double jacobian[n, n]) "a system"
    callback double g(in int size, in double x[size]) "a sum"
    callback int h() "a constant"
    callback double k(in double a, in double b, in float c)
    callback note(in int k, in double v[2], out int keep, out long more) "results of integers"
    in      int n
    in      double x[n]
    in      string words[n]
    out     double sum
    require n == 3
implementation c
    c       sum = call_all(f, g, h, k, note, n, x, words) in libcalls.so
END
} >problems/own.esp
cat >calls.c <<'END'
double call_all(void (*f)(int, const double *, double *, double *), double (*g)(int, const double *), int (*h)(void),
                double (*k)(double, double, float), void (*note)(int, const double *, int *, long *),
                int n, const double *x, const char *const *words)
{
    double y[9], jacobian[81], v[2] = {0.3, 0.7};
    int keep;
    long more;
    note(1, v, &keep, &more);
    f(n, x, y, jacobian);
    return y[0] + jacobian[0] + g(n, x) + h() + k(1, 2, 3) + words[n - 1][0] + keep + (double)more;
}
END
cc -shared -fPIC -o problems/libcalls.so calls.c || skip_all "the compiler fails"
agent_for_clients
server_below_agent S S "problems = \"$work/problems\""

check "the descriptions are good" espalier problems check problems
there() {
    espalier problems | grep -q '^quad '
}
check "the server has the problems" wait_until there

example_of() { # example_of NAME OPTION...: what the page says, without its indentation
    espalier problems "$@" | sed -n '/^Try it:/,${/^Try it:/d;s/^  //;p;}'
}
# Every problem of the platform that has an implementation.
every_example_runs() {
    espalier problems | awk 'NR > 1 { print $1 }' >names
    [ "$(wc -l <names)" -eq 31 ] || return 1
    wrong=0
    while read -r name; do
        example_of "$name" >pasted
        [ -s pasted ] || { echo "$name has no example"; espalier problems "$name"; wrong=1; continue; }
        env -u F sh -e pasted >pasted.out 2>&1 </dev/null || { cat pasted pasted.out; wrong=1; }
    done <names
    [ $wrong -eq 0 ]
}
check "every example that is pasted works" every_example_runs
check "with functions of every shape" espalier problems functions
check_says "that fit their parameters" "f='\[1 - x\[1\]; 1 - x\[2\]; 1 - x\[3\]; -1; 0; 0; 0; -1; 0; 0; 0; -1\]'" \
    "g='\(x\[1\] - 1\)\^2 \+ \(x\[2\] - 1\)\^2 \+ \(x\[3\] - 1\)\^2' h='1' k='1 - c'" "words='\[\"one\",\"two\",\"three\"\]'"

# What the command was told of the platform, the example tells, too.
printf 'agents = { "%s" }\n' "$agent" >"it's mine.conf"
example_of multiple --config "it's mine.conf" >pasted
check "a configuration that was given" env -u ESPALIER_CONFIG sh -e pasted
check "is part of it, in quotes" grep -Fq "espalier call --config 'it'\\''s mine.conf' multiple n=7" pasted
example_of multiple --agent "$agent" >pasted
check "so is an agent" env -u ESPALIER_CONFIG sh -e pasted
check "by its address" grep -q "call --agent $agent multiple" pasted

# Where nothing simple does, the page says which condition is in the way.
{
    described impossible 'in int n, m
require m >= 0
require n^2 == 2*m^2 + 3*m + 7 and n > 100000 and m % 1009 == 3'
    described endless 'in int n
in string names[n]
require n > 1000'
    printf 'problem imaginary "Of the test"\ncallback double complex f(in double complex z)\nimplementation c\nc call_all(f) in libcalls.so\n'
} >none.esp
mv none.esp problems
stop S
start_server S
check "other problems" wait_until espalier problems imaginary
check "a function of complex numbers" espalier problems imaginary
check_says "has no example" 'no expressions do for its function f: it is called from a program'
check "a condition that no simple numbers fulfil" espalier problems impossible
check_says "is reported" 'No example with simple numbers was found.* n\^2 == 2\*m\^2 \+ 3\*m \+ 7 and n > 100000 and m % 1009 == 3'
check "so is an array" espalier problems endless
check_says "that is too large" 'names would be too large for an example'
finish
