# SPDX-License-Identifier: Apache-2.0
# Domain-free C.
noinst_LIBRARIES += util/libutil.a
util_libutil_a_SOURCES = \
	util/arena.c \
	util/arena.h \
	util/bytes.c \
	util/bytes.h \
	util/careful.c \
	util/careful.h \
	util/certificates.c \
	util/certificates.h \
	util/clock.c \
	util/clock.h \
	util/config.c \
	util/config.h \
	util/config_file.c \
	util/config_value.c \
	util/config_value.h \
	util/config_write.c \
	util/contents.c \
	util/contents.h \
	util/control_group.c \
	util/control_group.h \
	util/control_group_limits.c \
	util/crc32c.c \
	util/crc32c.h \
	util/crc32c_x86.c \
	util/crc32c_x86.h \
	util/durable_file.c \
	util/durable_file.h \
	util/error.c \
	util/error.h \
	util/escape.c \
	util/escape.h \
	util/fingerprint.c \
	util/fingerprint.h \
	util/folders.c \
	util/folders.h \
	util/fork_lock.h \
	util/c_numbers.h \
	util/hash.h \
	util/listen_at.c \
	util/listen_at.h \
	util/log.c \
	util/log.h \
	util/metrics.c \
	util/metrics.h \
	util/names.c \
	util/names.h \
	util/own_problems.c \
	util/own_problems.h \
	util/package.c \
	util/package.h \
	util/pages.c \
	util/pages.h \
	util/process_limits.c \
	util/process_limits.h \
	util/random.c \
	util/random.h \
	util/ranges.c \
	util/ranges.h \
	util/real_text.c \
	util/real_text.h \
	util/regular_file.c \
	util/regular_file.h \
	util/scratch.c \
	util/scratch.h \
	util/search_path.c \
	util/search_path.h \
	util/segment.c \
	util/segment.h \
	util/standard_files.c \
	util/standard_files.h \
	util/svg.c \
	util/svg.h \
	util/text.c \
	util/text.h \
	util/thread_pool.c \
	util/thread_pool.h \
	util/timer.c \
	util/timer.h \
	util/told.c \
	util/told.h
util_libutil_a_CPPFLAGS = $(AM_CPPFLAGS) $(CONFUSE_CFLAGS) $(ISAL_CFLAGS)
LIBUTIL = util/libutil.a $(CONFUSE_LIBS) $(ISAL_LIBS) -lm
# A library of its own, because only workers and the command need the folder.
noinst_LIBRARIES += util/libown.a
util_libown_a_SOURCES = util/own_library.c util/own_library.h
util_libown_a_CPPFLAGS = $(AM_CPPFLAGS) -DESP_PKGLIBDIR='"$(pkglibdir)"'
