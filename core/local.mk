# SPDX-License-Identifier: Apache-2.0
# The domain in pure C.
noinst_LIBRARIES += core/libcore.a
core_libcore_a_SOURCES = \
	core/reply.c \
	core/reply.h \
	core/transport.c \
	core/host_name.h \
	core/transport.h
include core/choice/local.mk
include core/data/local.mk
include core/flow/local.mk
include core/forecast/local.mk
include core/hierarchy/local.mk
include core/inproc/local.mk
include core/matrix/local.mk
include core/message/local.mk
include core/problem/local.mk
include core/redistribution/local.mk
include core/unequal/local.mk
include core/values/local.mk
LIBCORE = core/libcore.a $(LIBUTIL) $(ZLIB_LIBS) -lamd -lm
