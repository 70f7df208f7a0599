# SPDX-License-Identifier: Apache-2.0
# Domain-free C.
noinst_LTLIBRARIES += util/libutil.la
util_libutil_la_SOURCES = util/arena.c util/arena.h util/clock.c util/clock.h util/error.c util/error.h
