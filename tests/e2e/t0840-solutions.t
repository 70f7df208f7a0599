#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every problem that solves a system, by every way that reaches it, on matrices of several kinds: what comes back with
# exit code 0 solves the system, else there is an error. With ESP_NIGHTLY=1 all types, kinds and ways.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
platform_of_all_problems
nightly=${ESP_NIGHTLY:-0}

# coordinate NAME SYMMETRY N: entries on standard input, "row column value".
coordinate() {
    sort -k 2,2n -k 1,1n >entries
    { echo "%%MatrixMarket matrix coordinate real $2"; echo "$3 $3 $(wc -l <entries)"; cat entries; } >"$1.mtx"
}
# grid: 24 unknowns, 4 on the diagonal, -1 beside it and $1 at a distance of 6.
grid() {
    awk -v far="$1" 'BEGIN { for (i = 1; i <= 24; i++) { print i, i, 4; if (i < 24) print i + 1, i, -1
        if (i <= 18) print i + 6, i, far } }'
}
printf '4,1,2\n0.5,3,-1\n1,-2,5\n' >dense.csv
printf '4,1,-1\n1,3,0.5\n-1,0.5,5\n' >spd.csv
printf '2,1,3\n0,4,1\n0,0,5\n' >upper.csv
printf '1,2,4\n2,4,8\n0,0,1\n' >singular.csv
printf '1,1\n1,1.0000000000000002\n' >near.csv
grid -1 | coordinate spd symmetric 24
{ grid -1; awk 'BEGIN { for (i = 1; i < 24; i++) { print i, i + 1, -0.5; if (i <= 18) print i, i + 6, 0.25 } }'; } |
    coordinate sparse general 24
grid -1 | coordinate lower general 24
{ awk 'BEGIN { for (i = 1; i <= 8; i++) { print i, i, 1; print i + 8, i, 2; if (i < 8) print i + 9, i, 1 } }'; } |
    coordinate saddle symmetric 16
{ grid 0 | awk '$1 != 7 && $2 != 7'; echo '7 1 1'; } | coordinate singular general 24
printf '1 1 1\n2 1 1\n1 2 1\n2 2 1.0000000000000002\n' | coordinate near general 2

# dense NAME: the matrix of that file as lines of numbers; and a right-hand side, which no multiple of a column is.
dense() {
    espalier matrix convert "$1" matrix.csv && tr ',' ' ' <matrix.csv >"$1.rows"
    awk '{ print 1 + (NR % 3) + 0.25*NR }' "$1.rows" >"$1.b.csv"
}
# is_right MATRIX BOUND [fits]: x.csv solves the system, up to that backward error; or makes the residual smallest: no
# column of the matrix is a part of it.
is_right() {
    tr -s ',; \t' '\n' <x.csv | awk -v bound="$2" -v rows="$1.rows" -v rhs="$1.b.csv" -v fits="${3:-}" '
        function size(v) { return v < 0 ? -v : v }
        { x[NR] = $1 + 0; if (tolower($1) ~ /nan|inf/ || $1 == "") bad = 1; if (size(x[NR]) > big) big = size(x[NR]) }
        END { while ((getline line < rows) > 0) { n = split(line, a, " "); getline b < rhs; sum = 0; r = b
                for (j = 1; j <= n; j++) { r -= a[j]*x[j]; sum += size(a[j]) }
                for (j = 1; j <= n; j++) across[j] += a[j]*r
                if (sum > norm) norm = sum; if (size(b) > most) most = size(b); if (size(r) > left) left = size(r) }
            if (n != NR) bad = 1
            if (fits == "fits") { left = 0; for (j = 1; j <= n; j++) if (size(across[j]) > left*norm) left = size(across[j])/norm }
            if (bad || !(left <= bound*(norm*big + most))) { print "residual", left, "of", n, "unknowns"; exit 1 } }'
}
# right_or_error MATRIX TYPE COMMAND...: the command fails, or has written x.csv, which is right.
right_or_error() {
    of_matrix=$1 of_type=$2
    shift 2
    rm -f x.csv
    timeout 60 "$@" >said 2>&1
    code=$?
    case $code in
    0) bound=1e-9; case $of_type in s | c) bound=1e-3 ;; esac; is_right "$of_matrix" $bound "${how:-}" || { cat said; return 1; } ;;
    1 | 2 | 3 | 4 | 5) [ -s said ] ;;
    *) cat said; echo "exit code $code"; return 1 ;;
    esac
}

# What solves a system, as the descriptions say: NAME TYPE MATRIX RIGHT-HAND-SIDE SOLUTION solves|fits
# all|triangle|half. The last word is what is read of the matrix: half of a symmetric one, or a triangle. A state comes from
# another call (t0511).
for file in $(find "$top_srcdir/problems" -name '*.esp' | sort); do
    awk '
        /^(problem|abstract) / { kind = $1; name = $2; letters = ""; state = 0; text = ""
            if (match($0, / for [a-z, ]+/)) { letters = substr($0, RSTART + 5, RLENGTH - 5); gsub(/[ ,]/, "", letters) } }
        $1 == "in" && $2 == "state" { state = 1 }
        $1 == "in" || $1 == "inout" { text = text " " $0 "\n" }
        !state && ($1 == "solves" || $1 == "fits") { of = substr(text, index(text, " " $2 "["))
            of = substr(of, 1, index(of, "\n") - 1); sub(/".*/, "", of); reads = "all"
            if (of ~ /triangle\(|packed\(|banded\(if/) reads = of ~ /symmetric|definite/ ? "half" : "triangle"
            solution = $3; for (i = 6; i < NF; i++) if ($i == "giving") solution = $(i + 3)
            word = ""; if (match(name, /\{[^}]*\}/)) word = substr(name, RSTART + 1, RLENGTH - 2)
            count = split(word, words, ",")
            for (k = 1; k <= length(letters); k++) { letter = substr(letters, k, 1); here = name
                if (count > 0) sub(/\{[^}]*\}/, words[k], here)
                sub(/\?/, letter, here); print here, letter, $2, $5, solution, $1, reads } }' "$file"
done >all.list
if [ "$nightly" = 1 ]; then
    grep -v '^[^ ]* [cz] ' all.list >solvers.list
    kinds='dense.csv spd.csv upper.csv singular.csv near.csv spd.mtx sparse.mtx lower.mtx saddle.mtx singular.mtx near.mtx'
    ways='named called submitted swept compiled'
else
    grep '^[^ ]* d ' all.list >solvers.list
    kinds='spd.mtx saddle.mtx singular.csv upper.csv'
    ways='named compiled'
fi
check "descriptions say what solves systems" test "$(wc -l <solvers.list)" -ge 30
for matrix in dense.csv spd.csv upper.csv singular.csv near.csv spd.mtx sparse.mtx lower.mtx saddle.mtx singular.mtx near.mtx; do
    dense "$matrix"
done

named() { right_or_error "$5" "$2" espalier solve "$5" "$5.b.csv" -P "$1" -o x.csv; }
called() { right_or_error "$6" "$2" espalier call "$1" "$3=@$6" "$4=@$6.b.csv" -o "$5=x.csv"; }
submitted() { # NAME TYPE MATRIX RHS SOLUTION FILE
    solution_of_job=$5
    case $1 in *lsq | *leastsq) solution_of_job=B ;; esac # of the routine that was picked, as submit says
    # shellcheck disable=SC2016
    right_or_error "$6" "$2" sh -c 'job=$(espalier submit "$1" "$2=@$5" "$3=@$5.b.csv") && espalier fetch "$job" --wait -o "$4=x.csv"' \
        sh "$1" "$3" "$4" "$solution_of_job" "$6"
}
compiled() { right_or_error "$6" "$2" "$top_builddir/tests/e2e/solution_steps" "$1" "$3" "$4" "$5" "$6.rows" "$6.b.csv"; }
# A sweep saves nothing; it must not say that a wrong solution is one.
swept() {
    espalier sweep "$1" "$3=@$6" "$4=@$6.b.csv" >said 2>&1
    case $? in 0 | 1 | 2) ;; *) cat said; return 1 ;; esac
}
by_way() { # WAY NAME TYPE MATRIX RHS SOLUTION FILE
    case $1 in
    named) named "$2" "$3" "$4" "$5" "$7" ;;
    *) "$1" "$2" "$3" "$4" "$5" "$6" "$7" ;;
    esac
}
# One kind at least has to be solved: an error each time would be no wrong result, either.
all_kinds() { # WAY NAME TYPE MATRIX RHS SOLUTION
    found=''
    for kind in $kinds; do
        # 'call' gives a routine what its description says that it reads, and the rest is passed over.
        case $1.$reads.$kind in
        called.triangle.upper.csv | submitted.triangle.upper.csv) ;;
        called.triangle.* | submitted.triangle.*) continue ;;
        called.half.upper.csv | submitted.half.upper.csv | called.half.lower.mtx | submitted.half.lower.mtx) continue ;;
        esac
        rm -f x.csv
        by_way "$1" "$2" "$3" "$4" "$5" "$6" "$kind" || { echo "$2, $1, $kind"; return 1; }
        [ -s x.csv ] && found=$kind
    done
    [ "$1" = swept ] || [ -n "$found" ] || { echo "$2, $1, has solved none of $kinds:"; cat said; return 1; }
}
while read -r name type matrix rhs solution how reads <&3; do
    for way in $ways; do
        check "$name, $way, gives a solution or an error" all_kinds "$way" "$name" "$type" "$matrix" "$rhs" "$solution"
    done
done 3<solvers.list
how=

# What picks its problem: each kind has its solution, or is singular.
solved() { espalier solve "$1" "$1.b.csv" -o x.csv >said 2>&1 && is_right "$1" 1e-12; }
for kind in dense.csv spd.csv upper.csv spd.mtx sparse.mtx lower.mtx saddle.mtx; do
    check "$kind is solved" solved "$kind"
    for name in dumfpack dmumps dgesv linsolve lsq; do
        check "$kind is solved by $name" sh -c "espalier solve $kind $kind.b.csv -P $name -o x.csv"
        check "and right" is_right "$kind" 1e-10
    done
done
for kind in singular.csv singular.mtx; do
    check_fails 1 "$kind has no solution" espalier solve "$kind" "$kind.b.csv" -o x.csv
done
for kind in near.csv near.mtx; do
    check "$kind is solved" espalier solve "$kind" "$kind.b.csv" -o x.csv
    check_says "with a warning" 'close to singular'
done
check "-P takes a sparse matrix as it is" espalier solve spd.mtx spd.mtx.b.csv -P dcholmod -o x.csv
check "and gives its solution" is_right spd.mtx 1e-12
for name in zgels zcgesv zgesv zsolve; do
    check "-P $name takes a real matrix as a complex one" espalier solve dense.csv dense.csv.b.csv -P $name -o x.csv
    check_says "rightly" 'Backward error.*= [0-9.]*e-1[0-9]|= 0.00e\+00'
    check "and gives the solution" test -s x.csv
done
check "a lower triangle is found" espalier solve lower.mtx lower.mtx.b.csv -P dcsctrs -o x.csv
check "and solved" is_right lower.mtx 1e-12
check_fails 2 "no triangle" espalier solve sparse.mtx -P dcsctrs
check_says "is reported" 'dcsctrs reads the upper triangle of A only, but A\(2,1\) is not zero'
check_fails 2 "what solves nothing" espalier solve dense.csv -P dgemm
check_says "is reported" 'dgemm solves no system'
finish_submitted() {
    job=$(espalier submit solve A=@dense.csv B=@dense.csv.b.csv 2>submit.err) && espalier fetch "$job" --wait -o X=x.csv
}
check "a job of solve has an X" finish_submitted
check "that solves the system" is_right dense.csv 1e-12
fetch_symmetric() {
    job=$(espalier submit solve A=@spd.csv B=@spd.csv.b.csv 2>submit.err) && espalier fetch "$job" --wait -o X=x.csv
}
check "also of a symmetric matrix, where the routine overwrites B" fetch_symmetric
check "which has the solution" is_right spd.csv 1e-12
printf '1,0\n1,1\n1,2\n' >tall.csv
printf '1,1\n3,2\n5,3\n' >tall.b.csv
for problem in lsq leastsq solve; do
    check "a job of $problem" espalier submit $problem A=@tall.csv B=@tall.b.csv
    job=$(tail -n 1 "$log")
    check "has an X" espalier fetch "$job" --wait -o X=x.csv
    check "with the rows of the solution alone" awk -F, '{ n += ($1 - NR)^2 + ($2 - 1)^2 > 1e-24 }
        END { exit !(NR == 2 && n == 0) }' x.csv
done
check "a job of inv that a triangular solver does" espalier submit inv A='[2,1;0,4]'
check_says "so" 'inv: submitted as dtrtri'
job=$(tail -n 1 "$log")
check "has an X, too" espalier fetch "$job" --wait -o X=x.csv
check "which is the inverse" grep -qx '0.5,-0.125' x.csv

# Where partial pivoting fails: the elements of U grow by 2^59, so that nothing of the solution is right.
awk 'BEGIN { n = 60; for (i = 1; i <= n; i++) { line = ""
    for (j = 1; j <= n; j++) line = line (j > 1 ? "," : "") (j == n ? 1 : i == j ? 1 : i > j ? -1 : 0)
    print line } }' >growth.csv
dense growth.csv
awk '{ print sin(3*NR) }' growth.csv.rows >growth.csv.b.csv
check "element growth is seen, and another solver has its turn" solved growth.csv
rm -f x.csv
check "a sweep goes on with another solver, too" espalier sweep solve A=@growth.csv B=@growth.csv.b.csv -o X=x.csv
check "whose solution it saves" is_right growth.csv 1e-12
for name in solve linsolve; do
    check "a job of $name is one of its first solver" espalier submit $name A=@growth.csv B=@growth.csv.b.csv
    job=$(tail -n 1 "$log")
    rm -f x.csv
    check_fails 1 "whose wrong solution is an error" espalier fetch "$job" --wait -o X=x.csv
    check_says "as of a call" 'does not solve the system: its backward error is'
    check "and is not saved" test ! -e x.csv
done
check_fails 1 "a sweep over a solver that fails" espalier sweep dgesv A=@growth.csv B=@growth.csv.b.csv -o B=x.csv
check "saves nothing, either" test ! -e x.csv
check_fails 1 "by its name, a solver that fails says so" espalier call dgesv A=@growth.csv B=@growth.csv.b.csv
check_says "with what was found" 'does not solve the system: its backward error is'
check_fails 1 "also to solve" espalier solve growth.csv growth.csv.b.csv -P dgesv -o x.csv
# Numbers at the ends of their range.
printf '1e-200,0\n0,1e-200\n' >tiny.csv
printf '1e200\n1e200\n' >tiny.b.csv
check_fails 1 "a solution beyond the range of its type" espalier solve tiny.csv tiny.b.csv
check_says "is reported" 'finite'
printf '1e308,1e308\n1e308,-1e308\n' >huge.csv
printf '1e308\n1e308\n' >huge.b.csv
check "norms beyond that range are none of the result" espalier solve huge.csv huge.b.csv -o x.csv
check_says "hide nothing" 'Backward error.*= [0-9.]*e-1[0-9]|= 0.00e\+00'
# What no digit is sure of has a note, whatever the routine, its type and the way that reaches it.
near='[1,1;1,1.0000000000000002]'
nearly() { # PROBLEM ARGUMENT...
    check "$1 solves a nearly singular system" espalier call "$@"
    check_says "with a note" "^$1: note: [AB]*P* is close to singular"
}
nearly dgels 'A=[1,2;2,4]' 'B=[1;1]'
nearly sgels 'A=[1,2;2,4]' 'B=[1;1]'
nearly zgels 'A=[1,2;2,4]' 'B=[1;1]'
nearly dgels 'A=[1,1;1,1;1,1.0000000000000002]' 'B=[1;1;3]'
nearly dgels 'A=[1,1,1;1,1,1.0000000000000002]' 'B=[1;3;0]'
nearly dsgesv "A=$near" 'B=[1;2]'
nearly zcgesv "A=$near" 'B=[1;2]'
nearly dspsv "AP=$near" 'B=[1;2]'
nearly dppsv "AP=$near" 'B=[1;2]'
nearly dpbsv "AB=$near" 'B=[1;2]'
nearly dcg "A=$near" 'B=[1;2]'
for kind in s d c z; do
    least=1.0000000000000002
    case $kind in s | c) least=1.0000002 ;; esac
    nearly ${kind}gtsv 'dl=[1]' "d=[1,$least]" 'du=[1]' 'B=[1;2]'
    nearly ${kind}ptsv "d=[1,$least]" 'e=[1]' 'B=[1;2]'
    nearly ${kind}tptri 'AP=[1,1;0,1e-17]'
    nearly ${kind}tptrs 'AP=[1,1;0,1e-17]' 'B=[1;0]'
    nearly ${kind}tbtrs 'AB=[1,1;0,1e-17]' 'B=[1;0]'
    check "${kind}gglse" espalier call ${kind}gglse "A=[1,1,0;1,$least,0]" 'B=[0,0,1]' 'c=[1;2]' 'd=[1]'
    check_says "has a note" "^${kind}gglse: note: B or \(A, B\) is close to a lower rank"
    check "with constraints that are nearly the same" espalier call ${kind}gglse 'A=[1,0]' "B=[1,1;1,$least]" 'c=[1]' 'd=[1;2]'
    check_says "too" "^${kind}gglse: note: B or \(A, B\) is close to a lower rank"
    check "${kind}ggglm" espalier call ${kind}ggglm "A=[1,1;1,$least]" 'B=[1;1]' 'd=[1;2]'
    check_says "has a note" "^${kind}ggglm: note: A or \(A, B\) is close to a lower rank"
    check "with errors that are nearly the same" espalier call ${kind}ggglm 'A=[1;0;0]' "B=[0,0;1,1;1,$least]" 'd=[1;2;4]'
    check_says "too" "^${kind}ggglm: note: A or \(A, B\) is close to a lower rank"
done
# The inverse of this triangle has elements up to 2^58, though all of its own are 0, 1 or -1.
awk 'BEGIN { for (i = 1; i <= 60; i++) { line = ""
    for (j = 1; j <= 60; j++) line = line (j > 1 ? "," : "") (i == j ? 1 : j > i ? -1 : 0)
    print line } }' >steep.csv
yes 1 | head -60 >steep-column.csv
paste -sd, steep-column.csv >steep-row.csv
for kind in s d c z; do
    nearly ${kind}trsv A=@steep.csv x=@steep-column.csv
    nearly ${kind}trsm A=@steep.csv B=@steep-column.csv
    nearly ${kind}trsm A=@steep.csv B=@steep-column.csv alpha=-2
    nearly ${kind}trsm A=@steep.csv B=@steep-row.csv side=R
    nearly ${kind}trsm A=@steep.csv B=@steep-row.csv side=R alpha=4 transa=T
done
nearly ztrsm A=@steep.csv B=@steep-row.csv side=R alpha=2i transa=C
for name in dsgesv dgels dgmres dcg; do
    printf '1\n2\n' >near.b.csv
    check "$name, named to solve" espalier solve near.csv near.b.csv -P $name
    check_says "has a note, too" '^espalier solve: note: A is close to singular'
done
check "in a sweep" espalier sweep dsgesv "A=$near" 'B=[1;2]' --csv
check_says "it is a column" ',A is close to singular'
fetched_near() { job=$(espalier submit dsgesv "A=$near" 'B=[1;2]' 2>submit.err) && espalier fetch "$job" --wait; }
check "of a job" fetched_near
check_says "it comes with the result" '^dsgesv: note: A is close to singular'
# Sizes of rows and columns alone make no system singular.
sure() { # ARGUMENT...: a call without a note
    espalier call "$@" >said 2>&1 && ! grep -q 'note:' said || { cat said; return 1; }
}
check "sizes of rows" sure dtrsm 'A=[1e200,2e200;0,4e-200]' 'B=[1e200;1e-200]'
check "sizes of columns" sure dtrsm 'A=[1e100,2e-100;0,4e-100]' 'B=[1;1]'
check "sizes of both" sure dtrsm 'A=[1e100,1;0,3e-100]' 'B=[1;1]'
check "a small diagonal" sure dtrsv 'A=[1,1;0,1e-17]' 'x=[1;1]'
check "rows of a triangle, from the right" sure dtrsm 'A=[1e-17,1e-17;0,1]' 'B=[1,1]' side=R alpha=3
check "no right-hand side" sure dtrsm 'A=[1,1;1e-17,1e-17]' 'B=[0;0]' uplo=L
check "hardly one" sure dsgesv 'A=[1,2;3,4]' 'B=[1e-310;1e-310]'
check "many unknowns" sure dsgesv n=300 A=rand 'B=rand(300,1)'
check "in single precision" sure sgels m=100 n=50 A=rand 'B=rand(100,1)'
# The Hilbert matrix, with a condition of about 1e16: its factors tell, whatever the right-hand side.
awk 'BEGIN { for (i = 1; i <= 12; i++) { line = ""
    for (j = 1; j <= 12; j++) line = line (j > 1 ? "," : "") sprintf("%.17g", 1/(i + j - 1)); print line } }' >hilbert.csv
awk 'BEGIN { for (i = 1; i <= 12; i++) { s = 0; for (j = 1; j <= 12; j++) s += 1/(i + j - 1); printf "%.17g\n", s } }' >hilbert.b.csv
for name in dgels sgels zgels dpbsv spbsv zpbsv dppsv cppsv zppsv dspsv sspsv zspsv zhpsv chpsv dsgesv zcgesv dsposv zcposv \
    dgesv zposv; do
    rm -f x.csv
    espalier solve hilbert.csv hilbert.b.csv -P $name -o x.csv >said 2>&1
    case $? in # a Cholesky factorisation may find that it is singular
    0) check "$name has a note about the Hilbert matrix" grep -q 'note: A is close to singular' said ;;
    *) check "$name has an error about the Hilbert matrix" grep -q 'not positive definite\|singular' said ;;
    esac
done
for name in dgelsd dgelss dgelsy lsq leastsq sgelsd zgelss cgelsy zlsq; do
    check "$name solves with the Hilbert matrix" espalier solve hilbert.csv hilbert.b.csv -P $name -o x.csv
    check_says "in fewer dimensions" 'note: A has rank [0-9]* only .see rcond.: of all least squares solutions'
done
check "singular values that count" espalier call dgelsd A=@hilbert.csv B=@hilbert.b.csv rcond=1e-18
check_says "may be too small" '^dgelsd: note: A is close to singular or badly scaled'
for triangle in U L; do
    check "a band by its triangle $triangle" sure dpbsv AB='[4,1,0,0;1,4,1,0;0,1,4,1;0,0,1,4]' 'B=[1;1;1;1]' uplo=$triangle
    for name in ppsv spsv; do
        check "a packed triangle $triangle of d$name" sure d$name 'AP=[4,1,0;1,4,1;0,1,4]' 'B=[1;1;1]' uplo=$triangle
        nearly d$name "AP=$near" 'B=[1;2]' uplo=$triangle
    done
    nearly dpbsv "AB=$near" 'B=[1;2]' uplo=$triangle
    nearly zhpsv "AP=$near" 'B=[1;2]' uplo=$triangle
    nearly dsposv "A=$near" 'B=[1;2]' uplo=$triangle
done
# Of order 12 and rank 2: no solution, and the best fit is no large one.
awk 'BEGIN { for (i = 1; i <= 12; i++) { line = ""
    for (j = 1; j <= 12; j++) line = line (j > 1 ? "," : "") sprintf("%.17g", sin(i)*cos(3*j) + sin(5*i + 1)*cos(j*j))
    print line } }' >rank2.csv
dense rank2.csv
small() { tr -s ',; \t' '\n' <x.csv | awk '{ if ($1 > 10 || $1 < -10 || $1 == "") bad = 1 } END { exit bad || NR != 12 }'; }
for name in dgelsd dgelss dgelsy lsq leastsq sgelsd sgelss sgelsy zgelsd zgelss zgelsy cgelsd cgelss cgelsy; do
    rm -f x.csv
    check "$name fits a matrix of rank 2" espalier solve rank2.csv rank2.csv.b.csv -P $name -o x.csv
    check_says "and says so" 'note: A has rank 2 only' 'No X solves the system' \
        'Backward error .*A.H .b - A x.*= [0-9.]*e-([0-9][0-9])|= 0.00e'
    case $name in [cz]g*) continue ;; esac # x.csv is complex
    check "with the smallest solution" small
    bound=1e-12
    case $name in s*) bound=1e-4 ;; esac
    check "which is a fit" is_right rank2.csv $bound fits
done
check "rounding has left it a solution" espalier solve rank2.csv rank2.csv.b.csv -o x.csv
check_says "of which no digit is sure" 'note: A is close to singular'
check "JSON" espalier solve rank2.csv rank2.csv.b.csv -P dgelsd --json
check_says "tells which" '"least_squares": true'
check "and of a system" espalier solve dense.csv dense.csv.b.csv -P dgelsd --json
check_says "that it has a solution" '"least_squares": false'
# Factors that are singular: nothing but an error comes of them.
spoilt() { # ELEMENT PROBLEM ARGUMENT...
    element=$1
    shift
    check_fails 1 "$1 with singular factors" espalier call "$@"
    check_says "names the element" "$1: $element is not a finite number, though all inputs are"
}
spoilt 'B\(1,1\)' dpotrs 'A=[0]' 'B=[1]'
spoilt 'B\(1,1\)' dgetrs 'A=[1,0;0,0]' 'ipiv=[1;2]' 'B=[1;1]'
spoilt 'A\(1,1\)' dgetri 'A=[1,0;0,1e-320]' 'ipiv=[1;2]'
spoilt 'B\(1,1\)' zpotrs 'A=[0]' 'B=[1]'
check_fails 1 "dtrsm with a singular triangle" espalier call dtrsm 'A=[1,1;0,0]' 'B=[1;1]' alpha=2
check_says "has no solution" 'dtrsm: the solution B has elements that are not finite numbers, though all of the system are'
check_fails 1 "a matrix without its full rank" espalier call dggglm 'A=[1,1;1,1]' 'B=[1,0;0,1]' 'd=[1;2]'
check_says "is reported as such" 'dggglm: the rank of A is less than m|dggglm on S: the rank of A is less than m'
check "in C" "$top_builddir/tests/e2e/argument_steps" singular_factors
check "what an input explains is a result" espalier call dgetrs 'A=[1,0;0,nan]' 'ipiv=[1;2]' 'B=[1;1]'
check "and so is the other triangle" espalier call dpotrf 'A=[4,2;nan,5]'
# Halves that disagree.
check_fails 2 "half of an unsymmetric matrix" espalier call dsyev 'A=[1,2;3,1]'
check_says "is not passed over" 'A has to be symmetric, but A\(1,2\) = 2 and A\(2,1\) = 3'
not_real() { # not_real PROBLEM ARGUMENT...: the imaginary part on the diagonal is refused
    check_fails 2 "$1 of a matrix with an imaginary diagonal" espalier call "$@"
    check_says "is not passed over" 'AP? has to be Hermitian, but AP?\(1,1\) = 4\+1i: the diagonal of a Hermitian matrix is real'
}
for problem in zheev zheevd zpotrf; do
    not_real $problem 'A=[4+1i,2i;-2i,3]'
done
for problem in zposv zhesv; do
    not_real $problem 'A=[4+1i,2i;-2i,3]' 'B=[1;1]'
done
not_real zhegv 'A=[4+1i,2i;-2i,3]' 'B=[1,0;0,1]'
not_real zhpev 'AP=[4+1i,2i;-2i,3]'
printf '%%%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 1 4 1\n2 2 3 0\n' >not-real.mtx
not_real zhpev AP=@not-real.mtx
check "the diagonal of a complex symmetric matrix may be complex" espalier call zsysv 'A=[4+1i,2i;2i,3]' 'B=[1;1]'
check_fails 2 "a rule for Hermitian matrices" espalier call zchol 'A=[4+1i,0;0,3]'
check_says "tells the element" '; A\(1,1\) = 4\+1i, but the diagonal of a Hermitian matrix is real'
check "one triangle alone is a symmetric matrix" espalier call dsyev 'A=[1,2;0,1]'
check "what is not read may be anything" espalier call dsyev 'A=[2,1;nan,2]' --json
check_says "in the other triangle" '"w": *\[1(\.0*)?, *3(\.0*)?\]'
check "also no number of a unit diagonal" espalier call dtrsv 'A=[nan,3;inf,nan]' 'x=[7;2]' diag=U
check_says "counts" '^ *1$'
check_fails 2 "but what is read has to be finite" espalier call dsyev 'A=[2,nan;1,2]'
check_says "and is named" 'A\(1,2\) is not a number'
awk 'BEGIN { for (i = 1; i <= 600; i++) { line = ""
    for (j = 1; j <= 600; j++) line = line (j > 1 ? "," : "") (i == j ? 600 : j > i ? 1 : "nan")
    print line } }' >half.csv
yes 1 | head -600 >ones.csv
check "a large half arrives in pieces" espalier call dposv A=@half.csv B=@ones.csv -o B=x.csv
sum_of_row() { tr -s ',; \t' '\n' <x.csv | awk '{ s += ($1 - 1/1199)^2 } END { exit !(NR == 600 && s < 1e-20) }'; }
check "and is solved" sum_of_row
# Random matrices have solutions in the range of their type, however they are stored.
for call in 'dtrsv n=2000 A=rand x=rand' 'dtpsv n=2000 AP=rand x=rand' 'dtbsv n=2000 k=20 AB=rand x=rand' \
    'ctptrs n=300 AP=rand B=rand(300,1)' 'dpptrf n=100 AP=rand' 'zpbtrf n=100 kd=7 AB=rand' 'dpotrf n=100 A=rand'; do
    # shellcheck disable=SC2086
    check "$call" espalier call $call
done
# Numbers below the smallest normal one.
awk 'BEGIN { for (i = 1; i <= 30; i++) { for (j = i - 1; j <= i + 2; j++)
    if (j >= 1 && j <= 30) printf "%d %d %s\n", i, j, i == j ? "4e-310" : "-1e-310" } }' | coordinate subnormal general 30
yes 1e-310 | head -30 >subnormal.b.csv
yes 1 | head -30 >units.csv
awk 'BEGIN { for (i = 1; i <= 30; i++) { for (j = i - 1; j <= i + 2; j++)
    if (j >= 1 && j <= 30) printf "%d %d %s\n", i, j, i == j ? "4" : "-1" } }' | coordinate band general 30
dense band.mtx
cp units.csv band.mtx.b.csv
for name in linsolve dumfpack dmumps dgesvx lsq; do
    check "$name solves what is near the smallest number" espalier solve subnormal.mtx subnormal.b.csv -P $name -o x.csv
    check "as the same system, scaled" is_right band.mtx 1e-9
done
check "and a solve that picks its problem works, too" espalier solve subnormal.mtx subnormal.b.csv -o x.csv
check "likewise" is_right band.mtx 1e-9
for name in dgbsv dgesv dsgesv; do
    check "$name is right there or says that it is not" right_or_error band.mtx d \
        espalier solve subnormal.mtx subnormal.b.csv -P $name -o x.csv
done
check "options of calls" espalier solve dense.csv -v --deadline 1h
check_says "show the rule" '^Rule '
check_says "and what the user waited for" '^Elapsed .*: reading .*, solving .*, checking'
finish
