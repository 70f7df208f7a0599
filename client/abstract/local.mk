# SPDX-License-Identifier: Apache-2.0
client_libclient_a_SOURCES += \
	client/abstract/abstract.c \
	client/abstract/abstract.h \
	client/abstract/abstract_call.c \
	client/abstract/abstract_fate.c \
	client/abstract/abstract_matrix.c \
	client/abstract/abstract_rivals.c \
	client/abstract/abstract_solution.c \
	client/abstract/abstract_step.c \
	client/abstract/abstract_steps.h \
	client/abstract/abstract_variables.c \
	client/abstract/foresight.c \
	client/abstract/foresight.h \
	client/abstract/foresight_parts.h \
	client/abstract/foresight_step.c \
	client/abstract/foresight_way.c
