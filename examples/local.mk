# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += examples/demo
EXTRA_DIST += examples/matrices/wrong.mtx
EXTRA_DIST += examples/errors.c examples/bound.c examples/solve.c examples/farm.c
