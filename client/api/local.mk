# SPDX-License-Identifier: Apache-2.0
client_libclient_a_SOURCES += \
	client/api/administer.c \
	client/api/argument_stack.c \
	client/api/call.c \
	client/api/call.h \
	client/api/espalier.c \
	client/api/fast.c \
	client/api/grpc.c \
	client/api/hierarchy.c \
	client/api/life.c \
	client/api/life.h \
	client/api/problems.c \
	client/api/run.c \
	client/api/tree.c
