# SPDX-License-Identifier: Apache-2.0
client_libclient_la_SOURCES += \
	client/data/buffer.c \
	client/data/buffer.h \
	client/data/data.h \
	client/data/data_api.c \
	client/data/data_copy.c \
	client/data/data_drop.c \
	client/data/data_find.c \
	client/data/data_get.c \
	client/data/data_look.c \
	client/data/data_moving.c \
	client/data/data_moving.h \
	client/data/data_pieces.c \
	client/data/data_put.c \
	client/data/grid_api.c \
	client/data/grid_api.h \
	client/data/grid_api_info.c \
	client/data/grid_api_moves.c \
	client/data/grid_data.c \
	client/data/grid_data.h \
	client/data/grid_file.c \
	client/data/grid_file.h \
	client/data/grid_move.c \
	client/data/grid_transfer.c \
	client/data/grid_transfer.h \
	client/data/grid_uri.c \
	client/data/grid_uri.h \
	client/data/holding.c \
	client/data/holding.h \
	client/data/lend.c \
	client/data/lend.h \
	client/data/orders.c \
	client/data/sequence.c \
	client/data/sequence.h \
	client/data/sequence_again.c \
	client/data/sequence_again.h
