//===- CaptureChoice.h - Which rounds get their own graphs ------*- C++ -*-===//
//
// A round of n slots can run the graph of a larger number of slots with padding
// rows. Fewer graphs fit into the limit on nodes and are not built again, but
// padding rows take time. The choice weighs both by a profile's load and costs.
// Measured rounds with padding give the time of padding rows. Without such
// rounds a padding row counts as an active row.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_PROFILE_CAPTURECHOICE_H
#define MTP_RUNTIME_PROFILE_CAPTURECHOICE_H

#include "runtime/profile/Profile.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mtp::profile {

/// By k, the numbers of slots with graphs of their own, ascending. A k without
/// an entry has a graph for each number of slots.
using CaptureSizes = std::map<uint32_t, std::vector<uint32_t>>;

/// Returns the least captured number of slots that is at least `slots`; `slots`
/// if there is none.
uint32_t capturedSize(const CaptureSizes &sizes, uint32_t k, uint32_t slots);

/// Limits and sizes for a choice of graphs.
struct CaptureInput {
  uint32_t mostSlots = 1, mostK = 0;
  /// Limit on the nodes of all graphs of rounds.
  uint64_t mostNodes = 0;
  /// Returns the nodes of all graphs of rounds with k for a number of slots.
  std::function<uint64_t(uint32_t k, uint32_t slots)> nodesOf;
};

/// Graphs of one k and number of slots.
struct CaptureGraph {
  uint32_t k = 0, slots = 1;
  /// Share of all rounds that run them.
  double share = 0;
  uint64_t nodes = 0;
  /// Mean seconds of these rounds.
  double seconds = 0;
  /// Whether the share is large enough to expect the graphs, and whether a
  /// session builds them at its start.
  bool isExpected = false, isBuilt = false;
};

/// Graphs for the rounds of a session, with their predicted effect.
struct CaptureChoice {
  /// Empty if a graph for each number of slots is best.
  CaptureSizes sizes;
  /// All graphs, the most used first.
  std::vector<CaptureGraph> graphs;
  uint64_t nodes = 0;
  /// Predicted mean seconds of a round: with these graphs, and with a graph for
  /// each number of slots. The prediction keeps the last used graphs within the
  /// limit and includes the time to build others again.
  double seconds = 0, exactSeconds = 0;
  /// Share of rounds that have padding rows.
  double padded = 0;
  /// Number of measured times of rounds with padding that the prediction uses.
  uint32_t measured = 0;

  /// Returns the number of graphs that a session builds at its start.
  size_t built() const;
};

/// Returns the sets of graphs with the least predicted time, or nothing if the
/// load has no rounds or the machine no costs of rounds. No round has more
/// padding slots than other slots.
std::optional<CaptureChoice> chooseCaptures(const MachineCosts &machine,
                                            const Load &load,
                                            const CaptureInput &input);

/// Returns the choice for a profile alone; nothing without nodes, load or
/// costs.
std::optional<CaptureChoice> capturesOf(const MachineCosts &machine,
                                        const Load &load);

/// Returns lines that describe a choice.
std::string captureText(const CaptureChoice &choice);

/// Returns the input for a profile alone: the largest shapes of the machine's
/// costs, and their nodes. Nothing if no cost has nodes.
std::optional<CaptureInput> captureInputOf(const MachineCosts &machine);

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_CAPTURECHOICE_H
