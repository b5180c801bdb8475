//===- ControlBodies.h - Modules of one mtp.per_slot ------------*- C++ -*-===//
//
// For 4 slots at most. What the bodies of rounds compute is tested end to end.
//
//===----------------------------------------------------------------------===//

#ifndef TEST_CODEGEN_CONTROLBODIES_H
#define TEST_CODEGEN_CONTROLBODIES_H

#include <cstdint>
#include <string>
#include <vector>

namespace mtp::codegen::test {

/// The slots that the states of the modules below have.
inline constexpr int kControlSlots = 4;

/// A module with these states, and a program of `batch` slots that runs `body`
/// on inputs and outputs of these types. `text` may name numbers, as $NAME.
struct ControlModule {
  std::string states;
  std::vector<std::string> inputs, outputs;
  std::string body;
  std::vector<std::pair<std::string, int64_t>> numbers;
  int64_t batch = 2;
  int64_t maxK = 4;

  std::string text() const;
};

/// Something of everything that a body may hold, with indices, divisors and
/// shifts from memory.
ControlModule anything();

/// The tokens of a slot in `search`.
inline constexpr int kSearched = 32768;

/// The place, most recent first, where the longest run of one to three tokens
/// ends that stand at the end of the first `length` tokens; how often the last
/// one of them stood before, and where first.
ControlModule search(bool byLanes);

} // namespace mtp::codegen::test

#endif // TEST_CODEGEN_CONTROLBODIES_H
