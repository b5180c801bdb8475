//===- RequestMemoryLimit.h - Memory limit for request bodies ---*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_REQUESTMEMORYLIMIT_H
#define MTP_TOOLS_MTP_SERVE_API_REQUESTMEMORYLIMIT_H

#include "tools/mtp-serve/api/ApiError.h"

#include <memory>
#include <unordered_map>
#include <utility>

namespace mtp::serve {

/// Bounds the total bytes of request bodies that are being read or wait for
/// tokenization. With several keys, one client may take half. For one thread.
class RequestMemoryLimit {
public:
  /// `most`: total bytes. `hasClients`: requests have one of several keys.
  RequestMemoryLimit(uint64_t most, bool hasClients)
      : most(most), mostEach(hasClients ? most / 2 : most) {}

  /// A share of the budget, returned when it is destroyed.
  class Share {
  public:
    Share() = default;
    Share(Share &&other) noexcept { *this = std::move(other); }
    Share &operator=(Share &&other) noexcept {
      std::swap(budget, other.budget);
      std::swap(client, other.client);
      std::swap(bytes, other.bytes);
      return *this;
    }
    ~Share() { release(); }

    /// Grows the share to `total` bytes for a client. Fails with 503 if all
    /// clients take too much, and with 429 if this client does; the share then
    /// stays unchanged.
    MaybeError grow(const std::shared_ptr<RequestMemoryLimit> &from,
                    uint64_t ofClient, uint64_t total);
    void release();

  private:
    std::shared_ptr<RequestMemoryLimit> budget;
    uint64_t client = 0;
    uint64_t bytes = 0;
  };

  uint64_t used() const { return taken; }

private:
  uint64_t most, mostEach;
  uint64_t taken = 0;
  std::unordered_map<uint64_t, uint64_t> ofClient;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_REQUESTMEMORYLIMIT_H
