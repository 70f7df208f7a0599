# SPDX-License-Identifier: Apache-2.0
# The main function of the three daemons, in the sources of each.
DAEMON_MAIN = daemon/main.c daemon/program.h
