/* SPDX-License-Identifier: Apache-2.0
 *
 * The ORB's headers, and the C headers of the house as C.
 */
#ifndef ORB_CORBA_H
#define ORB_CORBA_H

#include <exception>
#include <omniORB4/CORBA.h>
#include <omniORB4/callDescriptor.h>
#include <omniORB4/callHandle.h>

extern "C" {
#include "core/message/batch.h"
#include "core/transport.h"
#include "util/clock.h"
}

/* The key of every entry object; it carries the contract's major version. */
#define ENTRY_KEY "espalier-1"

/* Minor codes of the exceptions that the entry object itself throws ("ES" and a number). */
enum : CORBA::ULong {
    MINOR_NOBODY = 0x45530001,  /* nobody serves here (any more) */
    MINOR_STALE = 0x45530002,   /* the message is for an earlier incarnation */
    MINOR_MESSAGE = 0x45530003, /* the message breaks the contract */
};

#endif
