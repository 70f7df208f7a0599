# SPDX-License-Identifier: Apache-2.0
core_libcore_a_SOURCES += \
	core/message/batch.c \
	core/message/batch.h \
	core/message/chunk.h \
	core/message/message.c \
	core/message/message.h \
	core/message/message_basic.h \
	core/message/message_client.c \
	core/message/message_data.c \
	core/message/message_data.h \
	core/message/message_extensions.c \
	core/message/message_make.c \
	core/message/message_peers.c \
	core/message/message_tree.c \
	core/message/message_walk.h \
	core/message/open_sessions.c \
	core/message/open_sessions.h \
	core/message/session_ranks.c \
	core/message/session_ranks.h \
	core/message/wire.c \
	core/message/wire.h
