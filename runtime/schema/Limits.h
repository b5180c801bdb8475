//===- Limits.h - How large what is compiled may be -------------*- C++ -*-===//
//
// The compiler refuses a model beyond these and the loader a file, which no
// compiler can have written. Sums and products of such numbers fit 63 bits,
// and tables of as many entries fit into memory, so neither half asks again.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_LIMITS_H
#define MTP_RUNTIME_SCHEMA_LIMITS_H

#include <cstdint>

namespace mtp {

/// Drafts that a round may accept. Programs are written out for each k, and who
/// drafts deeper has nearly all of them rejected.
inline constexpr uint32_t kMostK = 16;
/// Nodes of a draft tree, the root among them, and so rows of a slot's window:
/// those that a row sees are bits of a mask.
inline constexpr uint32_t kMostNodes = 64;
/// Modules of a drafter: each one makes at least one draft.
inline constexpr uint32_t kMostModules = kMostK;
/// Slots of a batch.
inline constexpr uint32_t kMostSlots = 1024;
/// Tokens of a slot: the prompt has one, and one is picked.
inline constexpr uint32_t kLeastContext = 2, kMostContext = 1 << 22;
/// Rows of a chunk. Activations grow with them, time hardly falls any more.
inline constexpr uint32_t kMostChunk = 4096;
/// Tokens that a drafter may fall behind and be refreshed. A slot keeps a
/// hidden state for each.
inline constexpr uint32_t kMostCatchUpRows = 4096;
/// Tokens of a page, a power of two. What a sequence holds is rounded up to it.
inline constexpr uint32_t kMostPageTokens = 1024;
/// Tokens of a vocabulary, far more than any has.
inline constexpr uint32_t kMostTokens = 1 << 24;
/// Ids of a tokenizer. No model has a tenth of that.
inline constexpr uint32_t kMostIds = 1 << 22;

/// Bytes of the line that names a method of drafting.
inline constexpr uint32_t kMostMethodBytes = 256;

/// Layers of a KV cache, and elements of an entry.
inline constexpr uint32_t kMostLayers = 4096, kMostEntry = 1 << 20;
/// Experts of a mixture.
inline constexpr uint32_t kMostExperts = 4096;
/// Rows by which a state comes back behind a prefix: each reuse runs them.
inline constexpr uint32_t kMostRebuildRows = 4096;
/// Bytes of a slot's state that the host keeps over a preemption (`save`): it
/// is to be small beside what is computed again.
inline constexpr uint64_t kMostSavedBytes = 1 << 16;

/// Ways in which the CPU's threads go through one program. The compiler splits
/// a program with more; the loader keeps a step of each command for each.
inline constexpr uint32_t kMostSchedules = 64;
/// Params of a command of which not all rows live: the CPU copies them.
inline constexpr uint32_t kMostLiveParams = 16;
/// Threads of a step: more than any machine has processors.
inline constexpr uint32_t kMostWorkers = 1024;

/// Elements that widths of a GPU library's products are multiples of, and the
/// alignment of its buffers: vectors of 16 bytes.
inline constexpr uint32_t kGemmMultiple = 8, kGemmAlignment = 16;

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_LIMITS_H
