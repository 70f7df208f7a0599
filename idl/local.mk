# SPDX-License-Identifier: Apache-2.0
idldir = $(pkgdatadir)
dist_idl_DATA = idl/espalier.idl

# Nothing that is installed needs the stubs; orb/test_contract does.
if WITH_OMNIORB
idl/espalier.stamp: idl/espalier.idl
	$(AM_V_GEN)$(MKDIR_P) idl && $(OMNIIDL) -bcxx -C idl $(srcdir)/idl/espalier.idl && touch $@
idl/espalier.hh idl/espalierSK.cc: idl/espalier.stamp ;
CLEANFILES += idl/espalier.stamp idl/espalier.hh idl/espalierSK.cc
endif
