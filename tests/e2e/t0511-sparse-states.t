#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sparse systems factored once and solved many times, and preconditioners that iterative solvers are given.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
platform_of_all_problems
matrices=$top_srcdir/examples/matrices

# A matrix that no real routine can solve: complex, Hermitian, positive definite; and one that is not Hermitian.
grid() {
    awk -v n=60 -v general="$1" 'BEGIN { print "%%MatrixMarket matrix coordinate complex general\n" n, n, 3*n-2
        for (i = 1; i <= n; i++) { print i, i, 4, general ? 1 : 0
            if (i < n) { print i + 1, i, 0.5, -1; print i, i + 1, 0.5, (general ? -1 : 1) } } }'
}
grid 0 >hermitian.mtx
grid 1 >general.mtx

vector() { # N SEED
    awk -v n="$1" -v s="$2" 'BEGIN { print "%%MatrixMarket matrix array real general\n" n " 1"; for (i = 0; i < n; i++) print 1 + s*(i % 7) }'
}
# small_residual BOUND: w.mtx is b.mtx, relative to its largest element
small_residual() {
    paste b.mtx w.mtx | awk -v bound="$1" 'NR == 2 { complex = NF > 4 } NR > 2 { b = $1; x = $2; y = NF > 2 ? $3 : 0
        d = x - b; e = d*d + y*y; if (e > worst) worst = e; if (b*b > size) size = b*b }
        END { if (!(worst <= bound*bound*size)) { print "residual", sqrt(worst/size); exit 1 } }'
}
# state NAME: the state that the last call left
state() {
    grep -Eo "state:[0-9a-f]{32}@[A-Za-z]+" "$log" | head -n 1
}
# keeps LETTER SOLVER FILE BOUND RESULT OPTIONS...: opens, solves twice with other right-hand sides, closes
keeps() {
    letter=$1 solver=$2 file=$3 bound=$4 result=$5
    shift 5
    product=mul
    [ "$letter" = d ] || product=${letter}mul
    n=$(espalier matrix info "$file" | sed -n 's/^[^0-9]*\([0-9]*\) x .*/\1/p' | head -n 1)
    check "$letter$solver keeps $(basename "$file")" espalier call "$letter${solver}_open" A="@$file" "$@"
    kept=$(state)
    for seed in 0.25 2; do
        vector "$n" $seed >b.mtx
        check "a right-hand side" espalier call "$letter${solver}_solve" F="$kept" B=@b.mtx -o "$result=x.mtx"
        check "its product" espalier call "$product" A="@$file" B=@x.mtx -o C=w.mtx
        check "has a small residual" small_residual "$bound"
    done
    check_fails 1 "another order" espalier call "$letter${solver}_solve" F="$kept" B='[1;2]'
    check_says "is reported" 'the order of what is kept is not n = 2'
    check "it is closed" espalier call sparse_close F="$kept"
    check_fails 5 "a closed one" espalier call "$letter${solver}_solve" F="$kept" B=@b.mtx
    check_says "is reported" 'it was closed by sparse_close'
}
keeps d umfpack "$matrices/pores_1.mtx" 1e-8 X
keeps d umfpack "$matrices/utm300.rua" 1e-8 X
keeps z umfpack general.mtx 1e-12 X
keeps d cholmod "$matrices/lund_a.mtx" 1e-6 X
keeps z cholmod hermitian.mtx 1e-12 X
keeps d mumps "$matrices/utm300.rua" 1e-8 B
keeps d mumps "$matrices/lund_a.mtx" 1e-6 B sym=1
keeps s mumps "$matrices/pores_1.mtx" 1e-1 B
keeps c mumps general.mtx 1e-5 B
keeps z mumps general.mtx 1e-12 B

check_fails 1 "a singular matrix" espalier call dumfpack_open A='[1,1;1,1]'
check_says "keeps nothing" 'the matrix is singular; nothing is kept'
check_fails 1 "an indefinite one" espalier call dcholmod_open A='[1,0;0,-1]'
check_says "keeps nothing" 'not positive definite; nothing is kept'
check "a state of UMFPACK" espalier call dumfpack_open A='[2,0;0,4]'
kept=$(state)
check_fails 1 "is none of CHOLMOD" espalier call dcholmod_solve F="$kept" B='[2;4]'
check_says "which is reported" 'the state is none of dcholmod_open'
check_fails 1 "nor of its complex twin" espalier call zumfpack_solve F="$kept" B='[2;4]'
check "but still there" espalier call dumfpack_solve F="$kept" B='[2;4]'
check_says "and right" '^ *1$'
check "a matrix of order 0" espalier call dumfpack_open A='[]'
kept=$(state)
check "has a solution" espalier call dumfpack_solve F="$kept" n=0 B='[]'

# Preconditioners.
iterates() { # LETTER OPEN SOLVER FILE BOUND
    product=mul
    [ "$1" = d ] || product=${1}mul
    n=$(espalier matrix info "$4" | sed -n 's/^[^0-9]*\([0-9]*\) x .*/\1/p' | head -n 1)
    vector "$n" 1 >b.mtx
    check "$1$2" espalier call "$1$2" A="@$4"
    kept=$(state)
    check "helps $1$3" espalier call "$1$3" P="$kept" A="@$4" B=@b.mtx -o X=x.mtx
    check "the product" espalier call "$product" A="@$4" B=@x.mtx -o C=w.mtx
    check "has a small residual" small_residual "$5"
    check "it is closed" espalier call sparse_close F="$kept"
}
awk 'BEGIN { n = 60; print "%%MatrixMarket matrix coordinate real symmetric\n" n, n, 2*n-1
    for (i = 1; i <= n; i++) { print i, i, 3; if (i < n) print i + 1, i, -1 } }' >definite.mtx
iterates s ic_open ic_cg definite.mtx 1e-4
iterates s ilu_open ilu_gmres definite.mtx 1e-4
iterates d ic_open ic_cg "$matrices/lund_a.mtx" 1e-6
iterates d ilu_open ilu_gmres "$matrices/utm300.rua" 1e-6
for letter in c z; do
    iterates $letter ic_open ic_cg hermitian.mtx 1e-4
    iterates $letter ilu_open ilu_gmres general.mtx 1e-4
done

# The chain of both.
vector 147 1 >b.mtx
check "a preconditioner, then an iterative solver" espalier call itersolve A="@$matrices/lund_a.mtx" B=@b.mtx -o X=x.mtx
check_says "as a chain" 'itersolve: done by dic_open, dic_cg, sparse_close on S'
check "the product" espalier call mul A="@$matrices/lund_a.mtx" B=@x.mtx -o C=w.mtx
check "has a small residual" small_residual 1e-6
vector 300 1 >b.mtx
check "a general matrix" espalier call itersolve A="@$matrices/utm300.rua" B=@b.mtx -o X=x.mtx
check_says "has another one" 'dilu_open, dilu_gmres, sparse_close'
check "the product" espalier call mul A="@$matrices/utm300.rua" B=@x.mtx -o C=w.mtx
check "has a small residual" small_residual 1e-6
vector 60 1 >b.mtx
check "a complex matrix" espalier call itersolve A=@hermitian.mtx B=@b.mtx
check_says "has its own" 'zitersolve: done by zic_open, zic_cg, sparse_close'
check_fails 1 "what does not converge" espalier call itersolve A="@$matrices/utm300.rua" B='['"$(seq -s ';' 300)"']' tol=1e-30
check_says "is reported" 'no convergence' 'the precision of the type is too little'
awk 'BEGIN { n = 400; print "%%MatrixMarket matrix coordinate real general\n" n, n, 3*n
    for (i = 1; i <= n; i++) { print i, i%n + 1, 1; print i, (i+150)%n + 1, 1000*(i%7) - 2999; print i, (i+200)%n + 1, 1.2*(i%5) - 3 } }' >hard.mtx
vector 400 1 >b.mtx
check "a matrix that no incomplete factors fit" espalier call itersolve A=@hard.mtx B=@b.mtx -o X=x.mtx
check_says "is left to a factorisation, which is reported" \
    '^itersolve: warning: dilu_gmres on S: no convergence: the incomplete factors are no preconditioner' 'done by dmumps_refined on S'
check "the product" espalier call mul A=@hard.mtx B=@x.mtx -o C=w.mtx
check "has a small residual" small_residual 1e-10
vector 147 1 >b.mtx
for letter in s c; do
    check "single precision ($letter)" espalier call "${letter}itersolve" A="@$matrices/lund_a.mtx" B=@b.mtx -o X=x.mtx
    check_says "reaches its tolerance" "done by ${letter}ic_open, ${letter}ic_cg, sparse_close"
done
quiet() { ! grep -q "close to singular" "$log"; }
# MUMPS wants several times the work space that it estimates for this matrix.
for problem in dmumps smumps dmumps_refined dmumps_det; do
    right='B=rand(144,1)'
    [ $problem != dmumps_det ] || right=''
    check "$problem enlarges its work space" espalier call $problem "A=@$top_srcdir/tests/e2e/saddle-point-144.mtx" $right
done
for problem in dumfpack dcholmod dmumps; do
    check "$problem tells nothing of a good matrix" espalier call $problem 'A=[4,1;1,3]' 'B=[1;1]'
    check "of its condition" quiet
done
for problem in dumfpack dcholmod; do
    check "$problem of a nearly singular one" espalier call $problem 'A=[1,1;1,1.0000000000000004]' 'B=[1;1]'
    check_says "warns" 'note: A is close to singular'
done
check "a triangular one" espalier call dcsctrs 'A=[1,1;0,1e-20]' 'B=[1;1]'
check_says "is looked at, too" 'note: A is close to singular .*rcond = 5e-21'
finish
