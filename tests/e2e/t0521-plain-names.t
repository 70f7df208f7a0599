#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The plain names (solve, chol, svd, ...) give what mathematics says, in all types, from nothing to hundreds.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
platform_of_all_problems
check "every abstract problem" "$top_builddir/tests/e2e/plain_steps" "$top_srcdir/examples/matrices"
check_says "is right" ' calls, 0 wrong$'
finish
