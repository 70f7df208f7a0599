/* SPDX-License-Identifier: Apache-2.0
 *
 * Includes the ORB's headers, and our C headers as C. */
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

/* The key of every entry object; it contains the contract's major version. */
#define ENTRY_KEY "espalier-1"

/* Minor codes of exceptions thrown by the entry object itself ("ES" and a number). */
enum : CORBA::ULong {
    MINOR_NOBODY = 0x45530001,  /* no node serves here (any more) */
    MINOR_STALE = 0x45530002,   /* the message is for an earlier incarnation */
    MINOR_MESSAGE = 0x45530003, /* the message violates the contract */
};

#endif
