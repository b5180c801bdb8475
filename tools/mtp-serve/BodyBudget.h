//===- BodyBudget.h - Memory limit for request bodies -----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_BODYBUDGET_H
#define MTP_TOOLS_MTP_SERVE_BODYBUDGET_H

#include "tools/mtp-serve/ApiError.h"

#include <memory>
#include <unordered_map>
#include <utility>

namespace mtp::serve {

/// Bounds the bytes of all bodies that are being read or wait to be encoded.
/// One client of several may take half of it. For one thread.
class BodyBudget {
public:
  /// `most`: bytes of all. `hasClients`: requests come with one of several
  /// keys.
  BodyBudget(uint64_t most, bool hasClients)
      : most(most), mostEach(hasClients ? most / 2 : most) {}

  /// Some of it, given back at the end.
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

    /// Makes it `total` bytes for a client, if it is less: 503 where all take
    /// too much, 429 where the client alone does. It stays as it was then.
    MaybeError grow(const std::shared_ptr<BodyBudget> &from, uint64_t ofClient,
                    uint64_t total);
    void release();

  private:
    std::shared_ptr<BodyBudget> budget;
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

#endif // MTP_TOOLS_MTP_SERVE_BODYBUDGET_H
