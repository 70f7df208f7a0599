#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doc/tutorial-more.md, word by word: a Fortran routine, a program in Python, a library with states.
. "${top_srcdir:?}/tests/e2e/harness.sh"
. "$top_srcdir/tests/e2e/tutorial.sh"
needs espalier espalier-agent espalier-sed cc gfortran python3
follow_tutorial "$top_srcdir/doc/tutorial-more.md" more 12 7 10
finish
