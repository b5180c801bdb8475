//===- ControlBodies.h - Modules of one mtp.per_slot ------------*- C++ -*-===//
//
// Modules for at most 4 slots. End-to-end tests cover what the bodies of rounds
// compute.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TEST_CODEGEN_HARNESS_CONTROLBODIES_H
#define MTP_TEST_CODEGEN_HARNESS_CONTROLBODIES_H

#include <cstdint>
#include <string>
#include <vector>

namespace mtp::codegen::test {

/// Number of slots in the states of the modules below.
inline constexpr int kControlSlots = 4;

/// A module with these states, and a program of `batch` slots that runs `body`
/// on inputs and outputs of these types. `text` may contain numbers, as $NAME.
struct ControlModule {
  std::string states;
  std::vector<std::string> inputs, outputs;
  std::string body;
  std::vector<std::pair<std::string, int64_t>> numbers;
  int64_t batch = 2;
  int64_t maxK = 4;

  std::string text() const;
};

/// Returns a body with every construct that a body may hold, with indices,
/// divisors and shifts from memory.
ControlModule anything();

/// Number of tokens of a slot in `search`.
inline constexpr int kSearched = 32768;

/// Searches a text for the longest suffix of one to three of its first `length`
/// tokens that also occurs earlier. The result is the most recent end of such a
/// match, the number of earlier occurrences of the last token, and the first of
/// them.
ControlModule search(bool byLanes);

} // namespace mtp::codegen::test

#endif // MTP_TEST_CODEGEN_HARNESS_CONTROLBODIES_H
