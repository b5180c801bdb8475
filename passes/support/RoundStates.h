//===- RoundStates.h - States by name ---------------------------*- C++ -*-===//
//
// The states that host and programs share, and those that connect the readable
// ops of one round with the next round's. The expansions declare what they
// need.
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

// The readable ops'. Drafts accepted in the last round, and the tokens that
// followed the rows that it verified.
inline constexpr llvm::StringLiteral kAccepted = "accepted";
inline constexpr llvm::StringLiteral kWindow = "window";
/// How many drafts the slot wants in its next round, where a module says so.
inline constexpr llvm::StringLiteral kWantK = "want_k";
/// The tokens that the host knew when the sequence got its slot, by position:
/// after a preemption its anchor among them.
inline constexpr llvm::StringLiteral kKnown = "known";
/// The target's hidden states of those rows.
inline constexpr llvm::StringLiteral kHidden = "hidden";
/// The last ones of the sequence, by position modulo their number.
inline constexpr llvm::StringLiteral kRecentHidden = "recent_hidden";
/// Of module d >= 2: the hidden state of module d - 1 before the window.
std::string carry(int64_t module);
} // namespace states

/// Words of a sequence in `prompt_sequences`.
enum class SequenceWord { Slot, FirstRow, Rows, Start, Total };
inline constexpr int64_t kSequenceWords = 5;
/// The most sequences of a chunk, or beside a round.
inline constexpr int64_t kMostSequences = 4;

/// The sequences of a catch-up, those without rows included.
int64_t catchUpSequences(ModuleOp module);

/// Checks that states of the readable ops that `module` declares itself have
/// room for what the ops of its round keep.
LogicalResult verifyRoundStates(ModuleOp module);

/// Declares a state of the names above unless the module has it. `width` is
/// that of a state's rows of f32, and of the prompt's the places ahead.
void useState(ModuleOp module, llvm::StringRef name, int64_t width = 0);
inline bool hasState(ModuleOp module, llvm::StringRef name) {
  return module.lookupSymbol<SlotStateOpInterface>(name) != nullptr;
}

/// Declares `recent_hidden`: of each slot so many rows of `width`, of which a
/// prefill writes the last `rebuildRows`.
void declareRecent(ModuleOp module, int64_t width, int64_t rows,
                   int64_t rebuildRows);

/// Whether the host and the programs share the state of this name.
bool isHostState(llvm::StringRef name);

/// The most places ahead at which a prefill of `module` reads the prompt.
int64_t placesAhead(ModuleOp module);

/// Declares what the host writes and reads, whether the programs do or not;
/// prompts are read up to `ahead` places ahead.
void declareContract(ModuleOp module, int64_t ahead);

/// Declares the memory of `state` for all slots of the envelope.
exec::StateOp declareState(OpBuilder &builder, StateOp state,
                           EnvelopeAttr envelope);

/// Makes of every declaration of the module memory for all slots.
void allocateStates(ModuleOp module, EnvelopeAttr envelope);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_ROUNDSTATES_H
