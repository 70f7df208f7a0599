#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What 'espalier problems NAME' shows can be pasted and works, for every problem that is shipped; and problems are found
# by words and classes.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
platform_of_all_problems

names_of() {
    grep -o '"name": "[^"]*"' "$1" | sed 's/.*: "\(.*\)"/\1/'
}

every_example_runs() {
    espalier problems --json >list.json && names_of list.json >names && [ -s names ] || return 1
    wrong=0
    while read -r name; do
        espalier problems "$name" >page
        example=$(sed -n '/^Try it:/,${/^Try it:/d;s/^  //;p;}' page)
        [ -n "$example" ] || { echo "$name has no example"; wrong=1; continue; }
        # Solving examples open a state first, which would keep a worker.
        case $name in
        sparse_close) ;;
        *_solve | *_cg | *_gmres) example="$example && { [ -z \"\$F\$P\" ] || espalier call sparse_close F=\"\$F\$P\"; }" ;;
        esac
        env -u F -u P sh -c "$example" >example.out 2>&1 </dev/null || { echo "$example"; cat example.out; wrong=1; }
    done <names
    [ $wrong -eq 0 ]
}
check "every problem's example runs" every_example_runs
check "a problem that takes a state" espalier problems dumfpack_solve
check_says "says where it comes from" "^Its state 'F' comes from dumfpack_open" \
    '^  espalier call dumfpack_open A=@A.mtx' "^  F=\\$\\(espalier call dumfpack_open A='.*' [|] grep -o"
check "an iterative solver of single precision" espalier problems cgmres
check_says "says what its residual is of" 'X is rounded at the end, and resid is that of the solution before'
check "dgesv's page" espalier problems dgesv
check_says "has one with files and one with numbers" 'espalier call dgesv A=@A.mtx B=@B.mtx' \
    "espalier call dgesv A='\[4,1;1,5\]' B="

check "problems are found by words" espalier problems --search 'SQUARES least'
check_says "of their titles" '^dgels '
cp "$log" said
check_fails 1 "and others are not shown" grep '^dgesv' said
check "or by class" espalier problems --gams d2a1 --json
check_says "and those below it" '"name": "dgesv"'
cp "$log" said
check_fails 1 "but no others" grep dgels said
check_fails 1 "words that nothing has" espalier problems --search nosuchthing
check_says "are reported" 'none of the [0-9]+ problems of the platform is like that'
check_fails 2 "a name and a search" espalier problems dgesv --search x

# Results in every format, and back.
for ending in mtx npy csv rb hb mtx.gz npy.gz; do
    check "a result as .$ending" espalier call dgesv A='[4,1;1,3]' B='[6,5;7,4]' -o "B=x.$ending"
    check "is an argument" espalier call dgemm A='[4,1;1,3]' B="@x.$ending" C='[0,0;0,0]' -o C=b.mtx
    check "with the same numbers" sh -c 'awk "NR > 2 { printf \"%.10g \", \$1 }" b.mtx | grep -qx "6 7 5 4 "'
done
check "pivots as NumPy's" espalier call dgesv A='[4,1;1,3]' B='[6;7]' -o ipiv=p.npy -o B=-  --format npy
check "are integers of 32 bits, one dimension" grep -aq "'descr': '<i4'.*'shape': (2,)" p.npy
check_fails 2 "a format that there is not" espalier call dgesv A='[4]' B='[6]' -o B=x --format xls
check_says "with those that there are" 'mtx, npy, rb, hb, octave, csv'
finish
