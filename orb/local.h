/* SPDX-License-Identifier: Apache-2.0
 *
 * Unix sockets beside loopback ports: they need fewer instructions for connections on one host. */
#ifndef ORB_LOCAL_H
#define ORB_LOCAL_H

#include <string>

/* In a platform without TLS, an endpoint on a loopback address also listens on a Unix socket, at a path
 * that both sides derive from the address. The sockets of a user's daemons are in a folder of that user,
 * those of root's in one of root's. A client looks in its own user's and in root's, so no other user can
 * impersonate an address. Without a socket there, or without a listener, TCP is used.
 *
 * Network namespaces have their own loopback addresses but share files, so the path contains the
 * namespace. */

/* While it exists, no other daemon of this user starts to listen on a Unix socket, so that no socket is
 * taken for stale between its bind() and its listen(). If a daemon is stopped while it has the turn,
 * others do not wait for it. */
class LocalTurn
{
  public:
    LocalTurn();
    ~LocalTurn();
    LocalTurn(const LocalTurn &) = delete;
    LocalTurn &operator=(const LocalTurn &) = delete;

    /* Removes the sockets of this user's daemons that were killed: those without a listener. Does nothing
     * without the turn. */
    void remove_stale() const;

  private:
    int lock = -1; /* -1: the turn was not obtained */
};

/* Returns the path of the Unix socket for an endpoint at "127.0.0.1:4711"; creates the folder. "": not for
 * this address, or not possible. */
std::string local_listening_path(const std::string &address);

/* Returns the path of the Unix socket for requests to that address; "": there is none, or it is another
 * user's. */
std::string local_asking_path(const std::string &address);

#endif
