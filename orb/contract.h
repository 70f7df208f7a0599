/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of another contract. The key of the entry object carries the contract's number: who asks for that of
 * another one is not served, is told the number that is spoken here, and stands in a daemon's log.
 */
#ifndef ORB_CONTRACT_H
#define ORB_CONTRACT_H

#include "orb/corba.h"

/* After the ORB has started; before it goes. */
void contract_start();
void contract_stop();

/* What to say of an answer "there is no such object" with this minor code: which contract the other side
 * speaks, where it tells, and which one this side. */
void contract_explain(CORBA::ULong minor, char *text, size_t size);

#endif
