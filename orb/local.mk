# SPDX-License-Identifier: Apache-2.0
# The transport over the ORB; the only C++ of the house.
EXTRA_DIST += orb/orb.h sed/pool/workers.h
if WITH_OMNIORB
noinst_LIBRARIES += orb/liborb.a
orb_liborb_a_SOURCES = orb/call.cc orb/call.h orb/client.cc orb/corba.h orb/endpoint.cc orb/entry.cc orb/entry.h \
	orb/address_fault.cc orb/address_fault.h orb/failure.cc orb/failure.h orb/limits.cc orb/limits.h orb/local.cc orb/local.h orb/orb.cc orb/outbox.cc orb/outbox.h \
	orb/peer.cc orb/peer.h orb/refusal.cc orb/refusal.h orb/senders.cc orb/senders.h orb/sigpipe.h orb/stream.cc orb/stream.h orb/stream_bytes.cc orb/tls.cc orb/tls.h \
	orb/transport.h orb/watchdog.cc orb/watchdog.h
orb_liborb_a_SOURCES += orb/contract.cc orb/contract.h
orb_liborb_a_SOURCES += orb/near.cc orb/near.h
orb_liborb_a_SOURCES += orb/host_names.cc orb/host_names.h
orb_liborb_a_SOURCES += orb/presence.cc orb/presence.h
orb_liborb_a_SOURCES += orb/reach.cc orb/reach.h
# The ORB's own headers include each other without their folder's name.
orb_liborb_a_CPPFLAGS = $(AM_CPPFLAGS) $(OMNIORB_CFLAGS) -isystem $(OMNIORB_INCLUDEDIR)/omniORB4 \
	-isystem $(OMNIORB_INCLUDEDIR)/omniORB4/internal
orb_liborb_a_CXXFLAGS = $(AM_CXXFLAGS) -fvisibility-inlines-hidden
# Whoever links it brings core: a library of its own may hold each object once.
LIBORB = orb/liborb.a $(OMNIORB_LIBS) -ldl

# Holds idl/espalier.idl and the codec together.
check_PROGRAMS += orb/test_contract
TESTS += orb/test_contract
orb_test_contract_SOURCES = orb/test_contract.cc tests/unit/generated.h
nodist_orb_test_contract_SOURCES = idl/espalierSK.cc
orb_test_contract_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_builddir)/idl $(OMNIORB_CFLAGS)
orb_test_contract_CXXFLAGS = -std=c++17 -pthread -Wall -Wno-unused-variable
orb_test_contract_LDADD = $(LIBORB) $(LIBCORE) $(OMNIORB_LIBS)
orb/test_contract-test_contract.$(OBJEXT): idl/espalier.hh

# The client library in a program with an ORB of its own.
check_PROGRAMS += orb/test_guest
TESTS += orb/test_guest
orb_test_guest_SOURCES = orb/test_guest.cc
orb_test_guest_CPPFLAGS = $(AM_CPPFLAGS) $(OMNIORB_CFLAGS)
orb_test_guest_CXXFLAGS = -std=c++17 -pthread -Wall
orb_test_guest_LDADD = client/libespalier.la $(OMNIORB_LIBS)
endif
