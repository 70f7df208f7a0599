/* SPDX-License-Identifier: Apache-2.0
 *
 * Why there is no connection to an address.
 */
#ifndef ORB_ADDRESS_FAULT_H
#define ORB_ADDRESS_FAULT_H

/* Tries to connect to "host:port" without sending anything; its name and each connection are waited for 300
 * ms at most. 0: a connection is made; ECONNREFUSED, EHOSTUNREACH, ETIMEDOUT and so on; -1: the name leads to
 * no address. Any thread. */
int address_fault(const char *address);

#endif
