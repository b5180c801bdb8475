//===- RequestMemoryLimit.cpp - Memory limit for request bodies -----------===//

#include "tools/mtp-serve/api/RequestMemoryLimit.h"
#include "runtime/core/StrCat.h"

using namespace mtp;
using namespace mtp::serve;

static ApiError full(unsigned status, uint64_t most, const char *whose) {
  ApiError error;
  error.status = status;
  error.code = "body_memory_full";
  error.message = strCat("expected at most ", most, " bytes of bodies ", whose,
                         " at a time, got more; try later");
  // Bodies occupy memory only briefly.
  error.retryAfter = 1;
  return error;
}

MaybeError
RequestMemoryLimit::Share::grow(const std::shared_ptr<RequestMemoryLimit> &from,
                                uint64_t ofClient, uint64_t total) {
  if (total <= bytes)
    return std::nullopt;
  uint64_t more = total - bytes;
  auto own = from->ofClient.find(ofClient);
  uint64_t before = own == from->ofClient.end() ? 0 : own->second;
  if (before + more > from->mostEach && from->mostEach < from->most)
    return full(429, from->mostEach, "of one key");
  if (from->taken + more > from->most)
    return full(503, from->most, "of all requests");
  from->taken += more;
  from->ofClient[ofClient] += more;
  budget = from;
  client = ofClient;
  bytes = total;
  return std::nullopt;
}

void RequestMemoryLimit::Share::release() {
  if (!budget)
    return;
  budget->taken -= bytes;
  auto own = budget->ofClient.find(client);
  own->second -= bytes;
  if (own->second == 0)
    budget->ofClient.erase(own);
  budget.reset();
  bytes = 0;
}
