# SPDX-License-Identifier: Apache-2.0

# The client library. client/libclient.a is all of it but the choice of the transport (client/api/entry.c), for
# tests over other transports.
noinst_LIBRARIES += client/libclient.a
client_libclient_a_SOURCES =
include client/abstract/local.mk
include client/api/local.mk
include client/arguments/local.mk
include client/data/local.mk
include client/jobs/local.mk
include client/session/local.mk
client_libclient_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
LIBCLIENT = client/libclient.a $(LIBVALUES) $(LIBSERVICES)

if WITH_OMNIORB
noinst_LIBRARIES += client/libentry.a
client_libentry_a_SOURCES = client/api/entry.c
else
# The text is not in config.h, so that all other objects are the same in both builds.
noinst_LIBRARIES += client/libentry_none.a
client_libentry_none_a_SOURCES = client/api/entry_none.c
client_libentry_none_a_CPPFLAGS = $(AM_CPPFLAGS) -DESP_NO_NETWORK='"this build of Espalier has no network: install it with \
omniORB (on Debian: apt-get install libomniorb4-dev omniidl, then configure without --without-omniorb and make install)"'
endif

if WITH_OMNIORB
# Linked from the same objects as the command: all of client/, and what client/ needs of the other rooms. The ORB needs
# libstdc++. Libraries stand behind the archives that need them: -Wl keeps libtool from moving them.
lib_LTLIBRARIES += client/libespalier.la
client_libespalier_la_SOURCES =
espalier_parts = client/libentry.a core/values/libvalues.a orb/liborb.a services/libservices.a core/libcore.a util/libutil.a
espalier_libraries = $(OMNIORB_LIBS) $(CONFUSE_LIBS) $(JANSSON_LIBS) $(ISAL_LIBS) $(ZLIB_LIBS) $(FFI_LIBS) -lamd -lstdc++ -lm
client_libespalier_la_DEPENDENCIES = client/libclient.a $(espalier_parts) client/libespalier.map
# It keeps threads and per-thread values: unloading would pull the code from under them.
client_libespalier_la_LDFLAGS = $(esp_library_flags) -Wl,-z,nodelete -Wl,--gc-sections $(AM_LDFLAGS) \
	-Wl,--whole-archive -Wl,client/libclient.a -Wl,--no-whole-archive $(espalier_parts:%=-Wl,%) \
	$(espalier_libraries:%=-Wl,%)
endif
