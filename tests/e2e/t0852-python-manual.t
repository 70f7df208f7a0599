#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Python package: the examples of its manual and of its notebook, the backend of joblib, the wheel.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
. "$top_srcdir/tests/python/python.sh"

platform_of_all_problems
check_python manual Manual Notebook Joblib Wheel
finish
