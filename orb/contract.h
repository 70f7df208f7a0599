/* SPDX-License-Identifier: Apache-2.0
 *
 * Detects nodes with another contract. The key of the entry object contains the contract's number. A
 * request for another number is refused with the number spoken here, and a daemon logs it. */
#ifndef ORB_CONTRACT_H
#define ORB_CONTRACT_H

#include "orb/corba.h"

/* Call it after the ORB has started; contract_stop() before it ends. */
void contract_start();
void contract_stop();

/* Explains the answer "there is no such object" with this minor code: the contract of the other side, if
 * it says so, and that of this side. */
void contract_explain(CORBA::ULong minor, char *text, size_t size);

#endif
