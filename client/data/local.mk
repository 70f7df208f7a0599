# SPDX-License-Identifier: Apache-2.0
client_libclient_a_SOURCES += \
	client/data/binding.c \
	client/data/binding.h \
	client/data/data.h \
	client/data/data_api.c \
	client/data/data_drop.c \
	client/data/data_find.c \
	client/data/data_transfer.c \
	client/data/distant.c \
	client/data/distant.h \
	client/data/grid_api.c \
	client/data/grid_data.c \
	client/data/grid_data.h \
	client/data/guard.c \
	client/data/guard.h \
	client/data/holding.c \
	client/data/holding.h \
	client/data/orders.c \
	client/data/sequence.c \
	client/data/sequence.h
