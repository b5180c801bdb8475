//===- Limits.h - Limits of compiled models ---------------------*- C++ -*-===//
//
// Limits of compiled models. The compiler refuses a model beyond them, and the
// loader refuses a file beyond them. Sums and products of such numbers fit into
// 63 bits, and tables of such sizes fit into memory, so neither side checks
// again.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_LIMITS_H
#define MTP_RUNTIME_SCHEMA_LIMITS_H

#include <cstdint>

namespace mtp {

/// Maximum number of drafts that a round may accept. A program is written for
/// each k, and nearly all deeper drafts would be rejected.
inline constexpr uint32_t kMostK = 16;
/// Maximum number of nodes of a draft tree, including the root, and of rows in
/// a slot's window. The rows that a row sees are bits of a mask.
inline constexpr uint32_t kMostNodes = 64;
/// Maximum number of modules of a drafter: each module makes at least one
/// draft.
inline constexpr uint32_t kMostModules = kMostK;
/// Maximum number of slots of a batch.
inline constexpr uint32_t kMostSlots = 1024;
/// Limits of a slot's tokens: the prompt has one, and one is picked.
inline constexpr uint32_t kLeastContext = 2, kMostContext = 1 << 22;
/// Maximum number of rows of a chunk. Activations grow with the rows, while the
/// time per row hardly falls any more.
inline constexpr uint32_t kMostChunk = 4096;
/// Maximum number of tokens over which a drafter can catch up. A slot keeps a
/// hidden state for each token.
inline constexpr uint32_t kMostCatchUpRows = 4096;
/// Maximum number of tokens of a page, a power of two. The memory of a sequence
/// is rounded up to pages.
inline constexpr uint32_t kMostPageTokens = 1024;
/// Maximum number of tokens of a vocabulary, far above any model's.
inline constexpr uint32_t kMostTokens = 1 << 24;
/// Maximum number of ids of a tokenizer, at least ten times any model's.
inline constexpr uint32_t kMostIds = 1 << 22;

/// Maximum bytes of the line that names a drafting method.
inline constexpr uint32_t kMostMethodBytes = 256;

/// Maximum number of layers of a KV cache, and of elements of an entry.
inline constexpr uint32_t kMostLayers = 4096, kMostEntry = 1 << 20;
/// Maximum number of experts of a mixture.
inline constexpr uint32_t kMostExperts = 4096;
/// Maximum number of rows that restore a state after a prefix: each reuse runs
/// them.
inline constexpr uint32_t kMostRebuildRows = 4096;
/// Maximum bytes of a slot's state that the host keeps over a preemption
/// (`save`). It must be small compared with the states that are computed again.
inline constexpr uint64_t kMostSavedBytes = 1 << 16;

/// Maximum number of CPU schedules of one program. The compiler splits a
/// program that needs more; the loader keeps a step of each command for each
/// schedule.
inline constexpr uint32_t kMostSchedules = 64;
/// Maximum number of params of a command with a number of active rows: the CPU
/// copies them.
inline constexpr uint32_t kMostActiveParams = 16;
/// Maximum number of threads of a step: more than any machine has processors.
inline constexpr uint32_t kMostWorkers = 1024;

/// Divisor of the widths of a GPU library's products, in elements, and
/// alignment of its buffers, in bytes: vectors of 16 bytes.
inline constexpr uint32_t kGemmMultiple = 8, kGemmAlignment = 16;

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_LIMITS_H
