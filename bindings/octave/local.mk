# SPDX-License-Identifier: Apache-2.0
# The Octave package: its source, as `pkg install` takes it. pkg compiles it against the installed library.
octave_package = bindings/octave/DESCRIPTION bindings/octave/INDEX \
	bindings/octave/inst/@esp_future/cancel.m bindings/octave/inst/@esp_future/display.m \
	bindings/octave/inst/@esp_future/esp_future.m bindings/octave/inst/@esp_future/fetch.m \
	bindings/octave/inst/@esp_future/probe.m bindings/octave/inst/__espalier_call__.m bindings/octave/inst/espalier.m \
	bindings/octave/inst/espalier_async.m bindings/octave/inst/espalier_connect.m \
	bindings/octave/inst/espalier_disconnect.m bindings/octave/inst/espalier_help.m \
	bindings/octave/inst/espalier_problems.m bindings/octave/src/Makefile bindings/octave/src/calls.c \
	bindings/octave/src/gateway.c bindings/octave/src/gateway.h bindings/octave/src/inputs.c bindings/octave/src/outputs.c
EXTRA_DIST += $(octave_package)
if WITH_OMNIORB
octavepackagedir = $(pkgdatadir)/octave
octavepackage_DATA = bindings/octave/espalier-octave.tar.gz
CLEANFILES += bindings/octave/espalier-octave.tar.gz
endif
bindings/octave/espalier-octave.tar.gz: $(octave_package) LICENSE Makefile
	$(AM_V_GEN)rm -rf $@.tmp && $(MKDIR_P) $@.tmp && \
	    (cd '$(srcdir)' && tar cf - $(octave_package) LICENSE) | (cd $@.tmp && tar xf -) && chmod -R u+w $@.tmp && \
	    mv $@.tmp/bindings/octave $@.tmp/espalier-$(VERSION) && mv $@.tmp/LICENSE $@.tmp/espalier-$(VERSION)/COPYING && \
	    sed 's/^Version: .*/Version: $(VERSION)/' '$(srcdir)/bindings/octave/DESCRIPTION' >$@.tmp/espalier-$(VERSION)/DESCRIPTION && \
	    tar cf - -C $@.tmp espalier-$(VERSION) | gzip -n >$@.new && rm -rf $@.tmp && mv $@.new $@
