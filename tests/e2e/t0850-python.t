#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Python package: problems as functions, futures, signals, forks, and what is wrong as an exception.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
. "$top_srcdir/tests/python/python.sh"

cat "$top_srcdir/tests/e2e/kinds.esp" "$top_srcdir/tests/python/python.esp" >tests.esp
platform_of_all_problems "$work/tests.esp"
check_python calls Functions Arrays Sparse Texts BadInput Futures Signals Life
finish
