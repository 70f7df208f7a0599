/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests the client library in a program with its own ORB: the program's ORB continues when the library
 * ends, whichever of the two started first. */
#include "grpc.h"

#include <omniORB4/CORBA.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int failures, checks;

static void expect(bool holds, const char *what)
{
    checks++;
    failures += !holds;
    printf("%sok %d - %s\n", holds ? "" : "not ", checks, what);
}

static bool orb_is_alive(CORBA::ORB_ptr orb)
{
    try {
        CORBA::Object_var object = orb->resolve_initial_references("RootPOA");
        PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
        PortableServer::POAManager_var manager = poa->the_POAManager();
        manager->activate();
        return true;
    } catch (const CORBA::Exception &) {
        return false;
    }
}

static bool use_library(const char *config)
{
    grpc_function_handle_t handle;
    if (grpc_initialize(const_cast<char *>(config)) != GRPC_NO_ERROR)
        return false;
    /* No node listens there, but the library has sent the request. */
    grpc_function_handle_default(&handle, const_cast<char *>("dgesv"));
    return grpc_finalize() == GRPC_NO_ERROR;
}

int main()
{
    char config[] = "/tmp/espalier-guest.XXXXXX";
    int fd = mkstemp(config), argc = 0;
    const char text[] = "agents = {\"127.0.0.1:1\"}\ncall_timeout = \"1 s\"\nagent_patience = \"1 s\"\n";
    if (fd < 0 || write(fd, text, sizeof text - 1) != (ssize_t)sizeof text - 1)
        return 99;
    close(fd);
    {
        expect(use_library(config), "the library begins and ends without an ORB of the program");
        expect(grpc_initialize(config) == GRPC_NO_ERROR, "the library begins first");
        CORBA::ORB_var orb = CORBA::ORB_init(argc, nullptr);
        expect(orb_is_alive(orb), "the program asks for its ORB then");
        expect(grpc_finalize() == GRPC_NO_ERROR, "the library ends");
        expect(orb_is_alive(orb), "the program's ORB goes on");
        expect(use_library(config), "the library begins and ends beside it");
        expect(orb_is_alive(orb), "the program's ORB goes on then, too");
        orb->destroy();
    }
    {
        CORBA::ORB_var orb = CORBA::ORB_init(argc, nullptr);
        expect(orb_is_alive(orb), "the program begins first");
        expect(use_library(config) && use_library(config), "the library begins and ends twice");
        expect(orb_is_alive(orb), "the program's ORB goes on");
        orb->destroy();
    }
    expect(use_library(config), "the library has an ORB of its own again");
    unlink(config);
    printf("1..%d\n", checks);
    return failures != 0;
}
