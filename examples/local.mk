# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += examples/demo
EXTRA_DIST += examples/matrices/wrong.mtx
