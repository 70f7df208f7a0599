/* SPDX-License-Identifier: Apache-2.0
 *
 * Unix sockets beside loopback ports: what both sides of a connection on one host do with fewer instructions.
 */
#ifndef ORB_LOCAL_H
#define ORB_LOCAL_H

#include <string>

/* An endpoint on a loopback address of a platform without TLS listens on a Unix socket too, at a path that
 * both sides derive from the address. The sockets of a user's daemons are in a folder of that user alone, and
 * those of root's in one of root's; a client looks in its own user's and in root's, so nobody else can take
 * an address's place. Where there is none, or nobody listens there any more, TCP is what remains.
 *
 * Network namespaces have loopback addresses of their own but share files: the path names the namespace. */

/* While one is there, no other daemon of this user begins to listen on a Unix socket, so that none is taken
 * for dead between its bind() and its listen(). A daemon that was stopped in its turn is not waited for. */
class LocalTurn
{
  public:
    LocalTurn();
    ~LocalTurn();
    LocalTurn(const LocalTurn &) = delete;
    LocalTurn &operator=(const LocalTurn &) = delete;

    /* Removes the sockets of this user's daemons that were killed: those that nobody listens at. Nothing
     * without the turn. */
    void remove_stale() const;

  private:
    int lock = -1; /* -1: did not get it */
};

/* Where an endpoint at "127.0.0.1:4711" is to listen besides; makes the folder. "": not on this address, or
 * not possible. */
std::string local_listening_path(const std::string &address);

/* Where the endpoint at that address may be asked; "": there is no such socket, or somebody else's. */
std::string local_asking_path(const std::string &address);

#endif
