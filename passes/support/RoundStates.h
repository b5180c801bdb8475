//===- RoundStates.h - States by name ---------------------------*- C++ -*-===//
//
// The states that host and programs share, and the states that connect the
// readable ops of one round with the next round. The expansions declare the
// states that they need.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_SUPPORT_ROUNDSTATES_H
#define MTP_PASSES_SUPPORT_ROUNDSTATES_H

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

namespace states {
// The contract with the host (mtp.state describes it).
inline constexpr llvm::StringLiteral kActive = "active";
inline constexpr llvm::StringLiteral kLength = "length";
inline constexpr llvm::StringLiteral kOutTokens = "out_tokens";
inline constexpr llvm::StringLiteral kOutCount = "out_count";
inline constexpr llvm::StringLiteral kPageTable = "page_table";
inline constexpr llvm::StringLiteral kSampling = "sampling";
inline constexpr llvm::StringLiteral kPromptTokens = "prompt_tokens";
inline constexpr llvm::StringLiteral kPromptPositions = "prompt_positions";
inline constexpr llvm::StringLiteral kPromptSlots = "prompt_slots";
inline constexpr llvm::StringLiteral kSequences = "prompt_sequences";
inline constexpr llvm::StringLiteral kLoop = "loop";
inline constexpr llvm::StringLiteral kStopTokens = "stop_tokens";
inline constexpr llvm::StringLiteral kRing = "ring";
inline constexpr llvm::StringLiteral kDraftLimit = "draft_limit";
inline constexpr llvm::StringLiteral kDrafterPlaces = "drafter_places";
/// The rules of a slot's logits, the counts of its tokens, and the bias of its
/// logits. A module that declares all three has rules.
inline constexpr llvm::StringLiteral kLogitRules = "logit_rules";
inline constexpr llvm::StringLiteral kTokenCounts = "token_counts";
inline constexpr llvm::StringLiteral kLogitBias = "logit_bias";
/// A bit per token for each node of a slot's window. A module with rules may
/// declare it.
inline constexpr llvm::StringLiteral kLogitMasks = "logit_masks";
/// The drafts of a slot with masks, as the host wants them verified.
inline constexpr llvm::StringLiteral kHostDrafts = "host_drafts";
/// The tokens of the nodes of a slot's window, then their parents.
inline constexpr llvm::StringLiteral kLogitPath = "logit_path";

// States of the readable ops: the drafts accepted in the last round, and the
// tokens that followed the rows that it verified.
inline constexpr llvm::StringLiteral kAccepted = "accepted";
inline constexpr llvm::StringLiteral kWindow = "window";
/// The number of drafts that the slot wants in its next round, if a module sets
/// it.
inline constexpr llvm::StringLiteral kWantK = "want_k";
/// The tokens that the host knew when the sequence got its slot, by position.
/// After a preemption the anchor is among them.
inline constexpr llvm::StringLiteral kKnown = "known";
/// The target's hidden states of the verified rows.
inline constexpr llvm::StringLiteral kHidden = "hidden";
/// The target's last hidden states of the sequence, at the position modulo
/// their number.
inline constexpr llvm::StringLiteral kRecentHidden = "recent_hidden";
/// Returns the name of module d's carried state, d >= 2: the hidden state of
/// module d - 1 before the window.
std::string carry(int64_t module);
} // namespace states

/// The words of a sequence in `prompt_sequences`.
enum class SequenceWord { Slot, FirstRow, Rows, Start, Total };
inline constexpr int64_t kSequenceWords = 5;
/// The largest number of sequences in a chunk or a mixed batch.
inline constexpr int64_t kMostSequences = 4;

/// Returns the number of sequences of a catch-up, including sequences without
/// rows.
int64_t catchUpSequences(ModuleOp module);

/// Checks that the states of the readable ops that `module` declares itself
/// have room for the values that the ops of its round keep.
LogicalResult verifyRoundStates(ModuleOp module);

/// Declares a state with one of the names above unless the module has it.
/// `width` is the width of a state's rows of f32; for the prompt's states, the
/// number of places ahead.
void useState(ModuleOp module, llvm::StringRef name, int64_t width = 0);
inline bool hasState(ModuleOp module, llvm::StringRef name) {
  return module.lookupSymbol<SlotStateOpInterface>(name) != nullptr;
}

/// Declares `recent_hidden`: `rows` rows of `width` per slot. A prefill writes
/// the last `rebuildRows` of them.
void declareRecent(ModuleOp module, int64_t width, int64_t rows,
                   int64_t rebuildRows);

/// Returns whether the host and the programs share the state of this name.
bool isHostState(llvm::StringRef name);

/// Returns the largest number of places ahead at which a prefill of `module`
/// reads the prompt.
int64_t placesAhead(ModuleOp module);

/// Declares all states that the host writes or reads, whether or not programs
/// use them. Prompts are read up to `ahead` places ahead.
void declareContract(ModuleOp module, int64_t ahead);

/// Declares the memory of `state` for all slots of the envelope.
exec::StateOp declareState(OpBuilder &builder, StateOp state,
                           EnvelopeAttr envelope);

/// Replaces every state declaration of the module by memory for all slots.
void allocateStates(ModuleOp module, EnvelopeAttr envelope);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_ROUNDSTATES_H
