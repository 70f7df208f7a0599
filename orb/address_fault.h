/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds out why there is no connection to an address. */
#ifndef ORB_ADDRESS_FAULT_H
#define ORB_ADDRESS_FAULT_H

/* Tries to connect to "host:port" without sending anything; waits at most 300 ms for the name and for each
 * connection. 0: connected; ECONNREFUSED, EHOSTUNREACH, ETIMEDOUT and so on; -1: the name has no address.
 * Any thread. */
int address_fault(const char *address);

#endif
