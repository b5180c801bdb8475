//===- Machine.h - A lazily determinised pushdown automaton -----*- C++ -*-===//
//
// A text can lead to several places of an automaton. A *place* is a state and
// the return addresses above the current frame; a *frontier* is the set of all
// places. The subset construction runs lazily, as in the DFA of RE2 (R. Cox,
// 2010): frontiers and the steps between them are made on first use and kept.
//
// A frontier knows nothing below its frame. If all its places have the same
// address at the bottom, the address moves from the frontier to the stack of
// the caller, which opens a frame. If a place reaches the end of its rule in
// the frame, the frontier *exits*: the caller pops the address of the frame
// and merges it with merge(). So the number of frontiers does not grow with the
// depth of the text, and what is known of a frontier holds in each context.
// XGrammar (Dong et al., 2024) separates tokens by the same criterion.
//
// Ambiguity needs no graph-structured stack: places with different addresses
// stay in one frontier until they agree.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_GRAMMAR_MACHINE_MACHINE_H
#define MTP_RUNTIME_GRAMMAR_MACHINE_MACHINE_H

#include "runtime/grammar/core/Limits.h"
#include "runtime/grammar/machine/FrontierSet.h"

namespace mtp::grammar {

/// A frontier after a step, and the addresses of the frames that it opened,
/// the outermost first. A frontier that exits has opened none.
struct Step {
  FrontierId frontier = kDeadFrontier;
  std::span<const StateId> opened;
};

/// The deterministic automaton, as far as it is made. One thread at a time may
/// use a machine.
class Machine {
public:
  /// Entries of the table of steps: kDeadFrontier, a frontier that neither
  /// exits nor opened frames, or a value of at least kComplex.
  static constexpr uint32_t kComplex = 1u << 31;

  /// The automaton must outlive the machine.
  Machine(const Automaton &automaton, const Limits &limits);

  /// Returns the frontier of the empty text.
  Step start();
  /// Returns the frontier after another byte. It is kDeadFrontier if no text
  /// continues so.
  Step step(FrontierId from, uint8_t byte);
  /// Continues a frontier that exits at the address of its frame.
  Step merge(FrontierId from, StateId address);

  bool exits(FrontierId frontier) const { return frontiers.exits(frontier); }
  /// Whether a place can read another byte.
  bool canContinue(FrontierId frontier) const {
    return !frontiers.places(frontier).empty();
  }

  /// Return the known steps of a frontier by byte class, and the class of a
  /// byte. The row is valid until the next step(), merge() or start().
  const uint32_t *stepsOf(FrontierId frontier) const {
    return steps.data() + size_t(frontier) * automaton.numClasses;
  }
  const uint8_t *classes() const { return automaton.classOfByte.data(); }

  /// Returns the id of a frontier of another machine of the automaton.
  FrontierId import(const Machine &from, FrontierId frontier);

  size_t bytes() const;

private:
  struct StoredStep {
    FrontierId frontier;
    uint32_t firstOpened, numOpened;
  };
  static constexpr uint32_t kUnknown = ~0u;

  /// Adds a place, or the places that it reaches without reading a byte.
  void add(Place place) { work.push_back(place); }
  /// Makes the frontier of all places that were added.
  StoredStep finish();
  void close();
  Step read(StoredStep stored) const {
    return {stored.frontier,
            {opened.data() + stored.firstOpened, stored.numOpened}};
  }
  FrontierId intern(bool exits);
  /// Moves the addresses that all places share to `opened`.
  uint32_t openFrames();

  const Automaton &automaton;
  const Limits limits;
  StackPool stacks;
  FrontierSet frontiers;
  std::vector<uint32_t> steps;
  std::vector<StoredStep> complexSteps;
  std::unordered_map<uint64_t, StoredStep> merges;
  std::vector<StateId> opened;
  // Parts of the frontier that is being made.
  std::vector<Place> work, closed;
  PlaceSet seen;
  bool isExiting = false;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_MACHINE_MACHINE_H
