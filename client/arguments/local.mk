# SPDX-License-Identifier: Apache-2.0
client_libclient_a_SOURCES += \
	client/arguments/callback.c \
	client/arguments/callback.h \
	client/arguments/describe.c \
	client/arguments/describe.h \
	client/arguments/function.c \
	client/arguments/function.h \
	client/arguments/hooks.h \
	client/arguments/invocation.c \
	client/arguments/invocation.h \
	client/arguments/invocation_data.c \
	client/arguments/invocation_data.h
