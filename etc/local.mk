# SPDX-License-Identifier: Apache-2.0
nobase_dist_pkgdata_DATA += etc/client.conf etc/redirector.conf etc/master.conf etc/leader.conf etc/sed.conf etc/platform.conf etc/espalier.ldif etc/espalier.logrotate
# Where the shells look for completions of programs.
bash_completiondir = $(datadir)/bash-completion/completions
zsh_completiondir = $(datadir)/zsh/site-functions
fish_completiondir = $(datadir)/fish/vendor_completions.d
dist_zsh_completion_DATA = etc/completion/_espalier
dist_fish_completion_DATA = etc/completion/espalier.fish
EXTRA_DIST += etc/completion/espalier.bash
# bash looks for a file with the program's name.
install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(bash_completiondir)'
	$(INSTALL_DATA) '$(srcdir)/etc/completion/espalier.bash' '$(DESTDIR)$(bash_completiondir)/espalier'
uninstall-local:
	rm -f '$(DESTDIR)$(bash_completiondir)/espalier'
EXTRA_DIST += etc/packages.debian quickstart bootstrap CONTRIBUTING.md LICENSE NEWS SECURITY.md README.md ARCHITECTURE.md .clang-format

# How programs find the library; how the library is linked (client/local.mk): its version in libtool's
# current:revision:age, and its exported names.
if WITH_OMNIORB
pkgconfig_DATA = etc/espalier.pc
endif
esp_library_flags = -version-info 0:0:0 -Wl,--version-script=$(top_srcdir)/client/libespalier.map
EXTRA_DIST += client/libespalier.map
# Units for systemd, with the folders of this installation in them.
systemd_units = etc/systemd/espalier-redirector.service etc/systemd/espalier-agent@.service etc/systemd/espalier-sed@.service
EXTRA_DIST += $(systemd_units:=.in)
if WITH_OMNIORB
systemdunitdir = $(prefix)/lib/systemd/system
nodist_systemdunit_DATA = $(systemd_units)
CLEANFILES += $(systemd_units)
endif
$(systemd_units): %: %.in
	$(AM_V_GEN)$(MKDIR_P) etc/systemd && sed -e 's|@sbindir[@]|$(sbindir)|' -e 's|@sysconfdir[@]|$(sysconfdir)|' $< >$@.tmp && mv $@.tmp $@
