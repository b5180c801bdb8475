//===- ControlBodies.h - Control of a round as mtp.per_slot -----*- C++ -*-===//
//
// What a round of a chain or of a tree does with a slot's integers, written as
// bodies: modules with one mtp.per_slot, for 4 slots at most.
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

/// The rows on which the drafter runs again: `k` and `d` rows for each slot.
ControlModule refreshRows(int64_t maxK, int64_t k, int64_t d);
/// The rows of the anchor and of k drafts.
ControlModule verifyRows(int64_t maxK, int64_t k);
/// How many of k drafts equal the picks, and the pick behind them.
ControlModule acceptWalk(int64_t k);
/// The path of a tree along the picks.
ControlModule treeWalk(const std::vector<int64_t> &parents);
/// Something of everything that a body may hold, with indices, divisors and
/// shifts from memory.
ControlModule anything();

} // namespace mtp::codegen::test

#endif // TEST_CODEGEN_CONTROLBODIES_H
