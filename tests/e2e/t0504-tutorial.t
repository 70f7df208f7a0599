#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doc/tutorial-publish.md, word by word.
. "${top_srcdir:?}/tests/e2e/harness.sh"
. "$top_srcdir/tests/e2e/tutorial.sh"
needs espalier espalier-agent espalier-sed cc
follow_tutorial "$top_srcdir/doc/tutorial-publish.md" mine 10 5 10
finish
