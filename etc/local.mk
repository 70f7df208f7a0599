# SPDX-License-Identifier: Apache-2.0
nobase_dist_pkgdata_DATA += etc/client.conf etc/redirector.conf etc/master.conf etc/leader.conf etc/sed.conf etc/platform.conf
EXTRA_DIST += etc/packages.debian quickstart bootstrap README.md ARCHITECTURE.md .clang-format

# How programs find the library; how the library is linked (client/local.mk): its version in libtool's
# current:revision:age, and its exported names.
if WITH_OMNIORB
pkgconfig_DATA = etc/espalier.pc
endif
esp_library_flags = -version-info 0:0:0 -Wl,--version-script=$(top_srcdir)/client/libespalier.map
EXTRA_DIST += client/libespalier.map
