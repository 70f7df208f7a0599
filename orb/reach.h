/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks and lent memory between processes of one user on one host (orb/near.h), both sides. The client
 * says where its memory is, and the server moves the bytes. A server that cannot, or may not, says so, and
 * is not asked again: chunks then go through the socket. */
#ifndef ORB_REACH_H
#define ORB_REACH_H

#include "orb/call.h"
#include "orb/near.h"

/* Reports that this process's memory is not as the caller claims: ESP_INVALID, with its end. */
enum esp_status reach_tell_memory(const void *data, uint64_t bytes, uint64_t good, bool write,
                                  struct esp_error *error);

/* transport_put() and transport_get() by direct access. False: not possible, and nothing was moved. */
bool reach_put(OrbTransport *self, const char *address, const struct chunk &chunk, const void *data,
               int64_t timeout_ms, enum esp_status *status, struct esp_error *error);
bool reach_get(OrbTransport *self, const char *address, const struct chunk &chunk, void *data,
               uint64_t *moved, int64_t timeout_ms, enum esp_status *status, struct esp_error *error);
/* transport_lend(). */
enum esp_status reach_lend(struct transport *transport, const char *address, const struct message *header,
                           int file, uint64_t offset, int64_t timeout_ms, bool *lent,
                           struct esp_error *error);

/* The server's side. */
class ReachUpcall : public ChunkUpcall
{
  public:
    ReachUpcall(Endpoint &endpoint, omniCallHandle &handle);
    void unmarshalArguments(cdrStream &stream) override;
    void run() override;
    void marshalReturnedValues(cdrStream &stream) override;

  private:
    void move(const NearProcess &asker);
    void take_over(const NearProcess &asker);

    omniCallHandle &handle;
    struct reach_request reach = {};
};

#endif
