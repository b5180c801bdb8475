//===- RequestGate.cpp - Which requests may begin -------------------------===//

#include "tools/mtp-serve/engine/RequestGate.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cmath>

using namespace mtp;
using namespace mtp::serve;

ApiError RequestGate::tooMany(std::string_view what) const {
  ApiError error;
  error.status = 429;
  error.code = "queue_full";
  error.message = strCat("expected at most ", what, ", got more; try later");
  // Estimate: the time until enough sequences have ended for the waiting ones.
  double seconds = secondsEach * double(sequences) / std::max(1u, slots);
  error.retryAfter = unsigned(std::clamp(std::ceil(seconds), 1.0, 60.0));
  return error;
}

ApiError RequestGate::ending() {
  ApiError error;
  error.status = 503;
  error.message = "expected requests before the server ends";
  error.retryAfter = 1;
  return error;
}

size_t RequestGate::countOf(uint64_t client) const {
  auto own = ofClient.find(client);
  return own == ofClient.end() ? 0 : own->second;
}

MaybeError RequestGate::checkSequences(uint64_t client, size_t count) const {
  if (closed)
    return ending();
  size_t most = size_t(slots) + given.waiting;
  if (given.perKey > 0)
    most = std::min<size_t>(most, given.perKey);
  if (count > most)
    return wrongField("n",
                      strCat("expected prompts times 'n' to be at most ", most,
                             ", which run and wait at a time, got ", count));
  if (sequences + count > size_t(slots) + given.waiting)
    return tooMany(strCat(given.waiting, " sequences that wait"));
  if (given.perKey > 0 && countOf(client) + count > given.perKey)
    return tooMany(strCat(given.perKey, " sequences and texts of one key"));
  return std::nullopt;
}

MaybeError RequestGate::checkText(uint64_t client, size_t waiting) const {
  if (closed)
    return ending();
  // Other clients have turns of their own.
  if (waiting > given.waiting)
    return tooMany(strCat(given.waiting, " texts that wait"));
  if (given.perKey > 0 && countOf(client) >= given.perKey)
    return tooMany(strCat(given.perKey, " sequences and texts of one key"));
  return std::nullopt;
}

void RequestGate::addSequences(uint64_t client, size_t count) {
  sequences += count;
  ofClient[client] += count;
}

void RequestGate::removeSequences(uint64_t client, size_t count) {
  sequences -= count;
  remove(client, count);
}

void RequestGate::remove(uint64_t client, size_t count) {
  auto own = ofClient.find(client);
  own->second -= count;
  if (own->second == 0)
    ofClient.erase(own);
}
