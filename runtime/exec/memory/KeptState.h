//===- KeptState.h - What outlives a sequence's slot ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_MEMORY_KEPTSTATE_H
#define MTP_RUNTIME_EXEC_MEMORY_KEPTSTATE_H

#include "runtime/exec/memory/Residency.h"
#include "runtime/exec/memory/Snapshots.h"
#include "runtime/exec/program/RequestPorts.h"

namespace mtp {

/// The part of a sequence that the memory keeps with or without a slot.
struct KeptState {
  /// The inputs of the request, or those that setInput() has written since.
  InputBytes inputs;
  /// Hash of the request's inputs and its cache salt.
  Hash128 inputHash;
  /// Words that tell pages apart whose hashes are equal by chance.
  std::vector<int32_t> salt;
  /// Whether setInput() has written an input. Entries computed from then on
  /// need not be what `inputHash` stands for.
  bool hasNewInputs = false;
  /// The makers of the prompt's pages, settled at the first admission. After a
  /// preemption the pages are computed in the same way.
  std::vector<PageProvenance> makers;
  bool wasAdmitted = false;
  /// The slot's states that only rounds can make, from the first preemption on,
  /// and the memory reserved for them.
  std::vector<uint8_t> saved;
  MemoryReservation savedMemory;
  /// Whether a slot must compute all tokens of the sequence, so that it takes
  /// neither pages nor copies of states.
  bool runsAll = false;
  /// Whether the sequence has lost a slot.
  bool hasLeft = false;
  /// The copy of recurrent states that was made when the sequence lost its
  /// slot; 0 if there is none.
  Snapshots::Id copy = 0;
};

/// Returns the kept state of a request that has `inputs` and the cache salt
/// `salt`.
KeptState keptStateOf(InputBytes inputs, const std::string &salt);

/// Whether all entries of the sequence up to draftsFrom() are final, so that
/// its pages may be shared.
inline bool isFinal(const KeptState &kept, const Residency &residency) {
  const DrafterProgress &drafters = residency.drafters;
  return !drafters.hasDrafterGap && !kept.hasNewInputs &&
         drafters.drafterValidUpTo.back() == residency.draftsFrom();
}

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MEMORY_KEPTSTATE_H
