#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ScaLAPACK's LU of a single row does not tell that its first element is zero: ranks leave it to workers.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs mpirun espalier espalier-agent espalier-sed espalier-crd
[ -x "$top_builddir/sed/mpi/espalier-prd" ] || skip_all "the program of the ranks is not built"
TMPDIR=$work
export TMPDIR
agent_for_clients
# Without what workers have, so that every call is for ranks.
mkdir own
awk '/^implementation lapack/ { left = 1 } /^implementation scalapack|^problem/ { left = 0 } !left' \
    "$top_srcdir/problems/lapack/linear-systems/general.esp" |
    awk 'BEGIN { RS = ""; ORS = "\n\n" } /implementation scalapack/' >own/own.esp
server_below_agent server ranks "ranks = 2" "grid = 2x1" "block = 1" "problems = { \"$work/own\" }"
wait_until grep -q 'ranks are ready' server.log

calls() { espalier call "$@" >out 2>&1; status=$?; cat out; return $status; }
wait_until calls dgesv 'A=[2,1;1,3]' 'B=[3;4]'
check "a system of two is for ranks" calls dgesv 'A=[2,1;1,3]' 'B=[3;4]'
check_fails 1 "a singular one is reported" espalier call dgesv 'A=[1,2;2,4]' 'B=[1;1]'
check_says "as what it is" 'U\(2,2\) is exactly zero: the matrix is singular'
check_fails 2 "one of order 1 is not for ranks" espalier call dgesv 'A=[0]' 'B=[4]'
check_says "as the error says" 'suits n != 1'
check_fails 2 "nor are factors of a single row" espalier call dgetrf 'A=[0,1,2]'
check_says "as its error says" 'suits m != 1'
check "a single column is" calls dgetrf 'A=[0;0]'
check_says "and noted where it is zero" 'note: U\(1,1\) is exactly zero'
finish
