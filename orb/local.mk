# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += orb/orb.h sed/workers.h
