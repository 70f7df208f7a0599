#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Python package: linear algebra of the array API standard against NumPy, arrays that live on servers, and inputs
# that are sent once.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
. "$top_srcdir/tests/python/python.sh"

platform_of_all_problems
check_python linalg Standard Stacks Single Wrong
check_python remote Remote Operators Numpy Sent
finish
