# SPDX-License-Identifier: Apache-2.0
client_libclient_a_SOURCES += \
	client/abstract/abstract.c \
	client/abstract/abstract.h \
	client/abstract/abstract_call.c \
	client/abstract/abstract_matrix.c \
	client/abstract/abstract_steps.h \
	client/abstract/call_forecast.c \
	client/abstract/call_forecast.h \
	client/abstract/foresight.c \
	client/abstract/foresight.h \
	client/abstract/rule_failures.c \
	client/abstract/rule_failures.h
