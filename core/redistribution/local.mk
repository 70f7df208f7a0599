# SPDX-License-Identifier: Apache-2.0
core_libcore_a_SOURCES += \
	core/redistribution/block_cyclic.c \
	core/redistribution/block_cyclic.h \
	core/redistribution/block_map.c \
	core/redistribution/block_map.h \
	core/redistribution/edge_colouring.c \
	core/redistribution/edge_colouring.h \
	core/redistribution/pieces.c \
	core/redistribution/pieces.h \
	core/redistribution/redistribution.c \
	core/redistribution/redistribution.h
