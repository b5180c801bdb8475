//===- RequestGate.h - Which requests may begin -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_REQUESTGATE_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_REQUESTGATE_H

#include "tools/mtp-serve/api/ApiError.h"
#include "tools/mtp-serve/api/Options.h"

#include <unordered_map>

namespace mtp::serve {

/// Counts the sequences and texts that run or wait, and refuses requests beyond
/// the limits. A text is work for the worker's thread.
class RequestGate {
public:
  RequestGate(const Limits &limits, uint32_t slots)
      : given(limits), slots(slots) {}

  const Limits &limits() const { return given; }

  /// Refuses all further requests.
  void close() { closed = true; }
  bool isClosed() const { return closed; }
  /// Returns the error of requests to a closed gate, 503.
  static ApiError ending();

  /// Checks whether a client may add sequences. Fails with 429 if too many
  /// wait, 400 if there can never be room for all of them, and 503 if the gate
  /// is closed.
  MaybeError checkSequences(uint64_t client, size_t count) const;
  /// Checks whether a client with `waiting` texts may add another one. Fails
  /// with 429 or 503.
  MaybeError checkText(uint64_t client, size_t waiting) const;

  size_t sequenceCount() const { return sequences; }
  void addSequences(uint64_t client, size_t count);
  void removeSequences(uint64_t client, size_t count);
  void addText(uint64_t client) { ++ofClient[client]; }
  void removeText(uint64_t client) { remove(client, 1); }

  /// Notes how long a sequence took, from which errors estimate when to try
  /// again.
  void noteDuration(double seconds) {
    secondsEach += (seconds - secondsEach) / 16;
  }

private:
  ApiError tooMany(std::string_view what) const;
  /// Returns the number of sequences and texts of a client.
  size_t countOf(uint64_t client) const;
  void remove(uint64_t client, size_t count);

  Limits given;
  uint32_t slots;
  /// The number of sequences, including those whose prompts are being encoded.
  size_t sequences = 0;
  /// The number of sequences and texts of each client that has any.
  std::unordered_map<uint64_t, size_t> ofClient;
  /// The mean duration of recent sequences.
  double secondsEach = 1;
  bool closed = false;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_REQUESTGATE_H
