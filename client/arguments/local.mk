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
	client/arguments/invocation_data.h \
	client/arguments/signature.c \
	client/arguments/signature.h \
	client/arguments/values.c \
	client/arguments/values.h \
	client/arguments/values_data.c \
	client/arguments/values_function.c \
	client/arguments/values_function.h \
	client/arguments/values_random.c \
	client/arguments/values_random.h \
	client/arguments/values_storage.c \
	client/arguments/values_storage.h \
	client/arguments/values_take.c \
	client/arguments/values_texts.c \
	client/arguments/values_texts.h
	client/arguments/invocation_fill.h
