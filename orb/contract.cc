/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/contract.h"

#include "orb/refusal.h"

/* The ORB's own headers depend on each other in this order. */
#include <omniORB4/internal/giopStrand.h>
#include <omniORB4/internal/giopStream.h>

#include <omniORB4/internal/GIOP_S.h>
#include <omniORB4/giopEndpoint.h>
#include <omniORB4/omniInterceptors.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Minor codes MINOR_CONTRACT + n: no such object; this node speaks contract n. */
static const CORBA::ULong MINOR_CONTRACT = 0x45531000, MOST_CONTRACT = 0xfff;

static const char prefix[] = "espalier-";

static unsigned own_contract()
{
    return (unsigned)strtoul(ENTRY_KEY + sizeof prefix - 1, nullptr, 10);
}

/* Returns the number of the contract in a key; 0: none. */
static unsigned contract_of(const CORBA::Octet *key, int size)
{
    const int head = (int)sizeof prefix - 1;
    unsigned number = 0;
    if (size <= head || memcmp(key, prefix, (size_t)head) != 0)
        return 0;
    for (int i = head; i < size; i++) {
        if (key[i] < '0' || key[i] > '9' || number > MOST_CONTRACT)
            return 0;
        number = 10 * number + (key[i] - '0');
    }
    return number <= MOST_CONTRACT ? number : 0;
}

static CORBA::Boolean receive_request(omni::omniInterceptors::serverReceiveRequest_T::info_T &info)
{
    const unsigned theirs = contract_of(info.giop_s.key(), info.giop_s.keysize()), ours = own_contract();
    if (theirs == 0 || theirs == ours)
        return true;
    const omni::giopConnection *connection = info.giop_s.strand().connection;
    const char *peer = connection ? const_cast<omni::giopConnection *>(connection)->peeraddress() : nullptr;
    char why[160];
    snprintf(why, sizeof why,
             "it speaks contract %u, this node contract %u: install releases of one contract on both sides",
             theirs, ours);
    refusal_log_incoming(peer ? peer : "an unknown address", why);
    throw CORBA::OBJECT_NOT_EXIST(MINOR_CONTRACT + ours, CORBA::COMPLETED_NO);
}

void contract_explain(CORBA::ULong minor, char *text, size_t size)
{
    const CORBA::ULong theirs = minor - MINOR_CONTRACT;
    if (theirs > 0 && theirs <= MOST_CONTRACT)
        snprintf(
            text, size,
            "it speaks contract %u, this side contract %u: install releases of one contract on both sides",
            (unsigned)theirs, own_contract());
    else
        snprintf(text, size,
                 "an ORB answers, but has no object \"%s\": something else listens there, or a release that "
                 "speaks another contract than this side (%u)",
                 ENTRY_KEY, own_contract());
}

void contract_start()
{
    omniORB::getInterceptors()->serverReceiveRequest.add(receive_request);
}

void contract_stop()
{
    omniORB::getInterceptors()->serverReceiveRequest.remove(receive_request);
}
