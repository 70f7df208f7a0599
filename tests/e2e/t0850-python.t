#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Python package: problems as functions, futures, signals, forks, and what is wrong as an exception.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed cc
. "$top_srcdir/tests/python/python.sh"

mkdir problems
cp "$top_srcdir/tests/e2e/kinds.esp" "$top_srcdir/tests/python/python.esp" "$top_srcdir/examples/callback/calc.esp" problems
cc -shared -fPIC -o problems/libcalc.so "$top_srcdir/examples/callback/calc.c" || skip_all "the compiler fails"
platform_of_all_problems "$work/problems"
check_python calls Functions Arrays Sparse Texts Callbacks BadInput Futures Signals Life Lost
finish
