#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Abstract problems: solve, chol, svd, ... pick the routine by what is given, and their results are right.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
cat >own.esp <<'EOF'
abstract {s,,c,z}chained for s, d, c, z "The inverse, in two steps"
    in      int     n
    in      scalar  A[n, n]
    out     scalar  X[n, n]
    take    ?getrf(m = n) giving F = A then ?getri(A = F) giving X = A

abstract chol2 for d "A factorisation that may fail"
    in      int     n
    in      double  A[n, n]
    out     double  R[n, n] upper
    try     ?potrf giving R = A when A hermitian
EOF
platform_of_all_problems own.esp
matrices=$top_srcdir/examples/matrices

ones() {
    awk -v n="$1" 'BEGIN { print "%%MatrixMarket matrix array real general\n" n " 1"; for (i = 0; i < n; i++) print 1 }'
}
# near NAME N: the product in p.mtx is N ones, to a part in 1e8
near_ones() {
    awk -v n="$1" 'NR > 2 { if ($1 < 1 - 1e-8 || $1 > 1 + 1e-8) exit 1; rows++ } END { exit rows != n }' p.mtx
}
# solves FILE N ROUTINE: A X = 1
solves() {
    ones "$2" >b.mtx
    check "solve $1" espalier call solve A="@$1" B=@b.mtx -o X=x.mtx
    check_says "takes $3" "solve: done by $3 on S"
    check "A times X" espalier call mul A="@$1" B=@x.mtx -o C=p.mtx
    check "is B" near_ones "$2"
    [ $# -gt 3 ] || return 0
    check "linsolve" espalier call -v linsolve A="@$1" B=@b.mtx -o X=x.mtx
    check_says "too, or its rival, and says why" "^linsolve: by its rule: .* when A $4" "^linsolve: done by ($3|$5)"
}

awk 'BEGIN { n = 90; print "%%MatrixMarket matrix coordinate real symmetric\n" n, n, 2*n-1
    for (i = 1; i <= n; i++) { print i, i, 2.01; if (i < n) print i + 1, i, -1 } }' >tridiagonal.mtx
awk 'BEGIN { n = 90; print "%%MatrixMarket matrix coordinate real symmetric\n" n, n, n+n-50
    for (i = 1; i <= n; i++) { print i, i, 4; if (i + 50 <= n) print i + 50, i, -1 } }' >little.mtx
awk 'BEGIN { n = 60; print "%%MatrixMarket matrix coordinate real general\n" n, n, n*(n+1)/2
    for (j = 1; j <= n; j++) for (i = 1; i <= j; i++) print i, j, (i == j ? 3 : 1/(i+j)) }' >upper.mtx
awk 'BEGIN { n = 30; print "%%MatrixMarket matrix array real symmetric\n" n, n
    for (j = 1; j <= n; j++) for (i = j; i <= n; i++) print (i == j ? n : 1/(i+j)) }' >definite.mtx
awk 'BEGIN { n = 30; print "%%MatrixMarket matrix array real symmetric\n" n, n
    for (j = 1; j <= n; j++) for (i = j; i <= n; i++) print (i == j ? -n : 1/(i+j)) }' >indefinite.mtx
solves "$matrices/pores_1.mtx" 30 dgesv square none
solves "$matrices/utm300.rua" 300 dumfpack 'square sparse' dilu_open
# From 10,000 elements on, forecasts decide among rivals; a busy machine may change their corrections a lot.
solves "$matrices/lund_a.mtx" 147 '(dcholmod|dumfpack)' '(positive-definite hermitian|square) sparse' '(dic|dilu)_open'
solves "$matrices/lund_a.rsa" 147 '(dcholmod|dumfpack)' '(positive-definite hermitian|square) sparse' '(dic|dilu)_open'
solves little.mtx 90 dcholmod 'positive-definite hermitian sparse' none
solves tridiagonal.mtx 90 dgbsv 'square sparse banded' none
solves upper.mtx 60 dtrtrs '.*upper' none
solves definite.mtx 30 dposv 'positive-definite hermitian' none
solves indefinite.mtx 30 dsysv hermitian none

# Large sparse matrices stay sparse, whatever they look like, in all types.
awk 'BEGIN { n = 40000; print "%%MatrixMarket matrix coordinate real symmetric\n" n, n, 2*n-1
    for (i = 1; i <= n; i++) { print i, i, 2.01; if (i < n) print i + 1, i, -1 } }' >long.mtx
awk 'BEGIN { n = 40000; print "%%MatrixMarket matrix coordinate real general\n" n, n, 2*n-1
    for (i = 1; i <= n; i++) { print i, i, 2; if (i < n) print i, i + 1, -1 } }' >bidiagonal.mtx
awk 'BEGIN { k = 200; n = k*k; print "%%MatrixMarket matrix coordinate real symmetric\n" n, n, n + 2*k*(k-1)
    for (i = 1; i <= n; i++) { print i, i, 4; if (i % k) print i + 1, i, -1; if (i + k <= n) print i + k, i, -1 } }' >laplace.mtx
awk 'BEGIN { n = 40000; print "%%MatrixMarket matrix coordinate real general\n" n, 10*n, n
    for (i = 1; i <= n; i++) print i, 10*i, 2 }' >wide.mtx
# Rivals whose forecasts may be as near as this: on a busy machine the other one may win.
solves long.mtx 40000 '(dgbsv|dcholmod)'
solves bidiagonal.mtx 40000 dcsctrs
solves laplace.mtx 40000 '(dcholmod|dumfpack)'
check "linsolve" espalier call linsolve A=@laplace.mtx B=@b.mtx -o X=x.mtx
check_says "too" 'linsolve: done by (dcholmod|dic_open)'
awk 'BEGIN { n = 40000; print "%%MatrixMarket matrix coordinate real general\n" n, n, 2*n-1000
    for (i = 1; i <= n; i++) { print i, i, 2; if (i + 1000 <= n) print i + 1000, i, -1 } }' >below.mtx
check "a sparse lower triangle" espalier call linsolve A=@below.mtx B=@b.mtx -o X=x.mtx
check_says "is not factored" 'linsolve: done by dcsctrs on S'
check "in complex numbers neither" espalier call zsolve A=@below.mtx B=@b.mtx -o X=x.mtx
check_says "nor by another rule" 'zsolve: done by zcsctrs on S'
for letter in s c; do
    check "in single precision ($letter)" espalier call "${letter}solve" A=@laplace.mtx B=@b.mtx -o X=x.mtx
    check_says "by MUMPS" "done by ${letter}mumps"
done
# Two matrices of one order with as many elements: the factor of one has five diagonals, that of the other is nearly full.
awk 'BEGIN { n = 3000; print "%%MatrixMarket matrix coordinate real symmetric\n" n, n, 3*n-3
    for (i = 1; i <= n; i++) { print i, i, 9; if (i < n) print i + 1, i, -1; if (i < n - 1) print i + 2, i, -1 } }' >five.mtx
awk 'BEGIN { n = 3000; print "%%MatrixMarket matrix coordinate real symmetric\n" n, n, 3*n-3
    for (i = 1; i <= n; i++) { print i, i, 9; if (i < n) print i + 1, i, -1
        if (i < n - 1) print i + 2 + int((n - i - 1) * ((i * 7919) % 1009) / 1009), i, -1 } }' >scattered.mtx
ones 3000 >b.mtx
# told FILE: the operations and the MB that the server expects of a call
told() {
    espalier call dcholmod A="@$1" B=@b.mtx -o X=x.mtx &&
        awk '/accepted: dcholmod/ { for (i = 2; i <= NF; i++) { if ($i == "flop,") flop = $(i - 1); if ($i == "forecast") size = $(i - 2)*($(i - 1) == "GB," ? 1000 : $(i - 1) == "kB," ? 0.001 : 1) } }
            END { print flop, size }' "$work/espalier/small/S.log" >"$1.told"
}
foretold() { espalier forecast --json dcholmod A="@$1" B=@b.mtx | sed -n 's/.*"memory_bytes": *\([0-9]*\).*/\1/p' | head -n 1 >"$1.memory"; }
check "a sparse matrix with little fill" told five.mtx
check "and one with much" told scattered.mtx
check "are distinguished by the server" awk '{ getline other <"scattered.mtx.told"; split(other, much, " ")
    exit !(much[1] > 2 * $1 && much[2] > 3 * $2) }' five.mtx.told
check "a forecast for the first" foretold five.mtx
check "and one for the second" foretold scattered.mtx
check "differ before the call" test "$(cat scattered.mtx.memory)" -gt $((3 * $(cat five.mtx.memory)))
ones 40000 >b.mtx
check "the product of sparse matrices" espalier call mul A=@laplace.mtx B=@bidiagonal.mtx -o C=w.mtx
check_says "has its routine" 'done by dcscproduct_size, dcscproduct'
check "and is sparse" espalier matrix info w.mtx
check_says "with its elements" '40000 x 40000'
check "the transpose" espalier call transpose A=@bidiagonal.mtx -o B=t.mtx
check "of the transpose" espalier call transpose A=@t.mtx -o B=tt.mtx
check_says "too" 'done by dcsctranspose'
check "is the matrix" cmp bidiagonal.mtx tt.mtx
check "the size" espalier call size A=@laplace.mtx
check_says "is known" 'done by dcscextents' 'rows = 40000'
check "the determinant" espalier call det A=@bidiagonal.mtx
check_says "by MUMPS" 'done by dmumps_det' 'det = inf'
awk 'BEGIN { n = 120; print "%%MatrixMarket matrix coordinate real general\n" n, n, n+1
    for (i = 1; i <= n; i++) print i, i, (i == 1 ? -3 : 1); print 1, n, 5 }' >arrow.mtx
check "a smaller one" espalier call det A=@arrow.mtx
check_says "is a number" 'det = -(3|3.0000|2.99999)'
check_fails 3 "what is too large for every rule" espalier call solve A=@wide.mtx B=@b.mtx
check_says "is reported without making it" 'dgelsy: no server has the memory for it .S needs '
check_fails 3 "a property that no server has" espalier call solve A=@laplace.mtx B=@b.mtx --property gpu
check_says "is the first reason, and what lacks memory for a dense matrix the last one" \
    'call: d[a-z_]*: .* is wanted on a server with "gpu": none of the 1 that solve it is; also: .*; d[a-z]*: no server has the memory'

check "what looks definite and is not" espalier call solve A='[1,3;3,1]' B='[1;2]'
check_says "is tried, and solved by the next rule" 'dposv on S: .*not positive definite' 'done by dsysv'
check "the same for programs" espalier call --json solve A='[1,3;3,1]' B='[1;2]'
check_says "tells what was taken and why" '"taken": "dsysv"' '"passed_over": "dposv on S: .*not positive'
check "a complex matrix" espalier call solve A='[4,2i;-2i,5]' B='[1;1]'
check_says "is solved by the complex namesake" 'zsolve: done by zposv'
check "least squares" espalier call solve A='[1,0;0,1;1,1]' B='[1;1;2]' -o X=p.mtx
check "have the least residual" near_ones 2
check "of less than full rank" espalier call lsq A='[1,1;1,1;1,1]' B='[2;2;2]' -o X=p.mtx
check "are of least norm" near_ones 2
check_fails 1 "a singular matrix" espalier call solve A='[1,1;1,1]' B='[1;2]'
check_says "is reported, with what was tried before" 'dsysv on S: .*singular.*before: dposv on S: '
check_fails 2 "no B" espalier call solve A='[1]'
check_says "is reported" 'solve: the input B\[m, nrhs\] \(double\) is missing'
check_fails 2 "what no rule fits" espalier call chol A='[1,2;3,1]'
check_says "is reported, and why" 'chol: there is no problem for what is given \(A: double 2 x 2.*: expected A hermitian; A\(2,1\) = 3, but A\(1,2\) = 2'
check_fails 2 "of a complex matrix, too" espalier call chol A='[4,1i;1i,3]'
check_says "with its elements" 'expected A hermitian; A\(2,1\) = 0\+1i, but A\(1,2\) = 0\+1i'
gram='[1,0.3;0.30000000000000004,1]' # as A^T A in floating point may be
check "what is symmetric up to rounding" espalier call chol A="$gram"
check_says "has a factor" 'R \(2 x 2\)' '0.953939'
check "its system" espalier call solve A="$gram" B='[1;1]'
check_says "is one of a definite matrix" 'solve: done by dposv'
check "its eigenvalues" espalier call spec A="$gram"
check_says "are those of a symmetric one" 'spec: done by dsyev' '^ *0.7$' '^ *1.3$'
check_fails 2 "what is further from it" espalier call chol A='[1,0.3;0.3000000000001,1]'
check_says "is reported with how far" 'A\(2,1\) = 0.3, but A\(1,2\) = 0.3: 1e-13 apart, rounding would be 1.4e-14'
check "in single precision" espalier call schol A='[1,0.3;0.3000001,1]'
check_says "it is near enough" 'schol: done by spotrf'
check "a matrix that is nearly singular" espalier call solve A='[1,1;1,1.0000000000000002]' B='[1;2]'
check_says "is solved with a warning" 'solve: note: A is close to singular or badly scaled \(rcond = 5.55112e-17\)'
check "inverted too" espalier call --json inv A='[1,2;2,4.000000000000001]'
check_says "in JSON" '"warning": ?"A is close to singular'
check "one that is not" espalier call --json solve A='[1,2;3,4]' B='[1;1]'
check_says "without" '"warning": ?""'
printf '1,1\n1,1.0000000000000002\n' >near.csv
check "'espalier solve' warns as well" espalier solve near.csv
check_says "of it" 'espalier solve: note: A is close to singular'
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1\n2 1 1\n1 2 1\n2 2 1.0000000000000002\n' >near.mtx
check "a problem by its name, with an X of its own" espalier solve near.mtx -P dumfpack
check_says "gives that, and warns" 'espalier solve: note: A is close to singular' 'Backward error .* = [0-9.]*e(-1[5-9]|\+00)$'
check "also where A is sparse" espalier solve near.mtx
check_says "it warns" 'espalier solve: note: A is close to singular'
for problem in inv det lu qr chol hess; do
    check_fails 2 "$problem of what is no number" espalier call $problem A='[1,2;nan,4]'
    check_says "is refused" 'is not a number .NaN.|expected A hermitian'
done
check "the page of solve" espalier problems solve
check_says "shows its rules" 'try dposv giving X = B when A positive-definite hermitian' 'take dgelsy'
check "and for programs" espalier problems --json solve
check_says "too" '"rules": \["take dcsctrs when A upper square sparse'

# rebuild FILE PROBLEM: the factors' product is the matrix again, seen by its action on a vector of ones
check_product() {
    espalier call mul A="@$1" B=@one.mtx -o C=w.mtx && shift
    for factor; do espalier call mul A="@$factor" B=@y.mtx -o C=z.mtx && mv z.mtx y.mtx || return 1; done
    paste w.mtx y.mtx | awk 'NR > 2 { d = $1 - $2; s = $1 < 0 ? -$1 : $1; if (d < 0) d = -d; if (d > 1e-9 * (1 + s)) exit 1 }'
}
a=$matrices/pores_1.mtx
ones 30 >one.mtx
cp one.mtx y.mtx
check "QR" espalier call qr A="@$a" -o Q=q.mtx -o R=r.mtx
check "is the matrix" check_product "$a" r.mtx q.mtx
check "Schur form" espalier call schur A="@$a" -o T=t.mtx -o Z=q.mtx
check "its vectors" espalier call dtranspose A=@q.mtx -o B=qt.mtx
cp one.mtx y.mtx
check "is the matrix" check_product "$a" qt.mtx t.mtx q.mtx
check "Hessenberg form" espalier call hess A="@$a" -o H=h.mtx -o Q=q.mtx
check_says "in one call" 'hess: done by dgehess on S'
check "its vectors" espalier call dtranspose A=@q.mtx -o B=qt.mtx
cp one.mtx y.mtx
check "is the matrix" check_product "$a" qt.mtx h.mtx q.mtx
check "the inverse" espalier call inv A="@$a" -o X=i.mtx
check "times" espalier call mul A="@$a" B=@one.mtx -o C=w.mtx
check "the product" espalier call mul A=@i.mtx B=@w.mtx -o C=p.mtx
check "is what it was" near_ones 30
check "Cholesky" espalier call chol A=@definite.mtx -o R=r.mtx
check "its transpose" espalier call dtranspose A=@r.mtx -o B=rt.mtx
cp one.mtx y.mtx
check "is the matrix" check_product definite.mtx r.mtx rt.mtx
check "LU" espalier call lu A='[4,1;2,3]' -o L=l.mtx -o U=u.mtx
check "the product" espalier call mul A=@l.mtx B=@u.mtx
check_says "is the matrix" '^ *4  1$' '^ *2  3$'
check "LU of a matrix of zeros" espalier call lu A='[0,0;0,0]' -o L=l.mtx -o U=u.mtx
check "has factors" espalier call mul A=@l.mtx B=@u.mtx
check_says "that are right" '^ *0  0$'
check "LU of a singular matrix" espalier call lu A='[2,4;1,2]' -o L=l.mtx -o U=u.mtx
check_says "is told to be of one" '^lu: note: U\(2,2\) is exactly zero: the matrix is singular$'
check "has factors too" espalier call mul A=@l.mtx B=@u.mtx
check_says "that are right" '^ *2  4$' '^ *1  2$'
check_fails 1 "the inverse of a singular matrix" espalier call inv A='[1,2;2,4]'
check_says "is none" 'dgeinv.*singular'
check "singular values" espalier call svd A='[3,0;4,5]' -o s=s.mtx
check "are right" awk 'NR == 3 && ($1 < 6.7082039 || $1 > 6.708204) { exit 1 }' s.mtx
check "eigenvalues" espalier call spec A='[2,1;1,2]'
check_says "are right" '^ *1$' '^ *3$'
check "of a rotation" espalier call eig A='[0,1;-1,0]'
check_says "are complex" '^ *-1$' '^ *(-?0)?-1i$' 'eig: done by dgeeig'
check "a null space" espalier call null A='[1,1]'
check_says "has the columns that count" 'columns = 1$' 'Z \(2 x 1\)' '^ +-0.7071068$'
check "a norm" espalier call norm A='[3,4;0,0]' kind=I
check_says "is of the kind that is wanted" 'norm = 7$'
check "of a complex matrix" espalier call norm A='[3i,4]'
check_says "is real" 'znorm: done by zgenorm' 'norm = 5$'
check "the determinant" espalier call det A='[1,2;3,4]'
check_says "is right" 'det = -2'
check "of a singular matrix" espalier call det A='[1,1;1,1]'
check_says "is zero" 'det = 0'
check "the pseudoinverse" espalier call pinv A='[2,0;0,4;0,0]'
check_says "is right" '^ *0.5 +0 +0$' '^ *0 +0.25 +0$'
check "that of a singular matrix" espalier call --json pinv A='[1,1;1,1]'
check_says "is computed without a warning" '"warning": ?""'
check "the condition number" espalier call cond A='[3,0;0,12]'
check_says "is right" 'cond = 4'
check "of a complex matrix" espalier call cond A='[3i,0;0,12]'
check_says "too" 'cond = 4'
check "linsolve" espalier call linsolve A='[4,1;2,3]' B='[5;5]'
check_says "is solve" 'linsolve: done by dgesv'
check "leastsq" espalier call leastsq A='[1;1]' B='[1;3]'
check_says "is lsq" '^ *2$'
for pair in 'add:5' 'subtract:-1' 'times:6' 'divide:0.66666'; do
    check "${pair%:*}" espalier call "${pair%:*}" A='[2]' B='[3]'
    check_says "is ${pair#*:}" "C.*|^ *${pair#*:}"
    check_says "done by d${pair%:*}" "${pair%:*}: done by d${pair%:*}"
done
for name in sin cos exp log transpose; do
    check "$name" espalier call "$name" A='[1,4]'
    check_says "has its routine" "$name: done by d$name"
done
check "size" espalier call size A='[1,2,3;4,5,6]'
check_says "is right" 'rows = 2' 'columns = 3'
check "of a complex matrix" espalier call cos A='[1+2i]'
check_says "too" '2.03272-3.0519i'
check "the size" espalier call size A='[1i,2,3]'
check_says "of a complex one" 'zsize: done by zextents' 'columns = 3'
check "the condition" espalier call rcond A='[2,0;0,1]'
check_says "is right" 'rcond = 0.5'
check "of a singular matrix" espalier call rcond A='[1,2;2,4]'
check_says "is zero" 'rcond = 0$'
check "of a triangular one" espalier call rcond A='[1,2;0,0]'
check_says "is zero" 'rcond = 0$'

check "a program" "$top_builddir/tests/e2e/abstract_steps"
check_says "starts some at once and hears what became of them" 'ended of inv on S took its time' \
    'dgeinv.*(zero|singular)' 'the job is of dgesv' '^cancelled$'

check "what programs leave on servers stays there" "$top_builddir/tests/e2e/abstract_data_steps" data
check "in a sequence, too, and is sent once" "$top_builddir/tests/e2e/abstract_data_steps" sequence

check "a job of one step" espalier submit solve A='[4,1;2,3]' B='[1;2]'
check_says "is the job of its problem" 'solve: submitted as dgesv'
job=$(tail -n 1 "$log")
check "its result" espalier fetch "$job" -o B=x.mtx
check "times A" espalier call mul A='[4,1;2,3]' B=@x.mtx
check_says "is B" '^ *1$' '^ *2$'
for pair in inv:dgeinv qr:dgethinqr hess:dgehess rcond:dgercond cond:dgekappa spec:dgeev; do
    check "a job of ${pair%:*}" espalier submit "${pair%:*}" A='[4,1;1,3]'
    check_says "is one of ${pair#*:}" "${pair%:*}: submitted as ${pair#*:}"
    job=$(tail -n 1 "$log")
    check "its results" espalier fetch --wait "$job"
    [ "$pair" != inv:dgeinv ] || check_says "are right" ' 0.2727273 +-0.0909090'
done
check_fails 2 "what only a chain does" espalier submit chained A='[4,1;2,3]'
check_says "is no job" 'chained cannot be submitted: .take dgetrf.*several steps'
check "but a call" espalier call chained A='[2,0;0,4]'
check_says "of its steps" 'chained: done by dgetrf, dgetri on S' '^ *0.5 +-?0$'
check_fails 1 "whose failure" espalier call chained A='[1,2;2,4]'
check_says "tells the step" 'dgetri.*singular'
check "a trial that nothing else follows" espalier submit chol2 A='[4,2;2,3]'
check_says "is a job" 'chol2: submitted as dpotrf'
check "a trial is passed over for a job" espalier submit solve A='[2,1;1,2]' B='[1;2]'
check_says "for what needs no client" 'solve: submitted as dsysv'
# What leaves the range of its type is not passed on without a word.
check "a product beyond the range" espalier call mul A='[1e200]' B='[1e200]'
check_says "is reported" 'mul: warning: C has elements that are infinite or no numbers, although the input is finite'
check "also to programs" espalier call --json dgemm A='[1e200]' B='[1e200]'
check_says "in their way" '"warning": "warning: C has elements'
check "an infinite input" espalier call dgemm A='[Inf]' B='[1]'
cp "$log" said
check_fails 1 "needs no warning" grep warning said
check_fails 1 "an exponential beyond the range" espalier call expm A='[800]'
check_says "is an error" 'the exponential is beyond the range of double precision'
check_fails 2 "the exponential of a matrix that is not square" espalier call expm A='[1,2,3;4,5,6]'
check_says "is reported with what was found" 'expm: A must be square \(n x n\), found 2 x 3'

check "a sweep" espalier sweep rcond A='[2,0;0,1]' A='[1,0;0,4]'
check_says "has a row for each" '0.5 .* S ' '0.25 .* S '
check "a sweep over sizes" espalier sweep dgesv n=2,7 nrhs=1 A=rand B=rand
check_says "makes arrays of each size" '^ *2  *S  .* (ns|us|ms|s)  .* (ns|us|ms|s)$' '^ *7  *S '
check "of an abstract problem" espalier sweep solve n=2,7 'A=rand({n},{n})' 'B=rand({n},1)' -o 'X=x{n}.csv'
check "has results of each size" test "$(wc -l <x7.csv)" = 7
check "which are inputs" espalier sweep --json dnrm2 n=2,7 'x=@x{n}.csv'
check_says "by their names" '"x": "@x7.csv"'
check "a call" espalier call dposv n=3 nrhs=1 A=rand B=rand
check_says "makes a definite matrix for what wants one" '^B .3 x 1.:'
check "an abstract one" espalier call --json solve A='rand(4,4):9' B='rand(4,1)' -o X=-
check_says "too" '"taken": "dgesv"'
check "an array whose extents follow from another's" espalier call --json solve B=rand A='[1,2;3,4]' nrhs=3 -o X=made.csv
check_says "is made" '"taken": "dgesv"'
check "with as many columns as are asked for" awk -F, 'NF != 3 { exit 1 } END { exit NR != 2 }' made.csv
check "also of a file" espalier call solve A=@tridiagonal.mtx B=rand:3 nrhs=1 -o X=made.csv
check "has its rows" test "$(wc -l <made.csv)" = 90
check_fails 2 "what still nothing tells" espalier call solve A='[1,2;3,4]' B=rand
check_says "is asked for" 'B: rand: extent 2, nrhs, is not known'
check_fails 2 "sizes that nothing tells" espalier call solve A=rand B=rand
check_says "are asked for" 'A: rand: extent 1, m, is not known: tell it as rand.ROWS, COLUMNS'
check_fails 1 "a result that no memory holds" espalier call dgemm m=1000000000 n=1000000000 k=0 A=rand B=rand
check_says "is named" 'C: there is no memory here for its 8 EB'
check_fails 2 "a vector of the wrong length" espalier call dgesv n=2 nrhs=1 A='[1,2;3,4]' B='[1;2;3]'
check_says "is reported with what it disagrees with" 'dgesv: B has 3 rows, but n = 2 was given'
finish
