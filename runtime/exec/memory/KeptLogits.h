//===- KeptLogits.h - The logits of a sequence ------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_MEMORY_KEPTLOGITS_H
#define MTP_RUNTIME_EXEC_MEMORY_KEPTLOGITS_H

#include "mtp/session.h"
#include "runtime/core/MemoryAccount.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace mtp {

/// The rows of logits that a session keeps for one sequence, see LogitsMode.
/// Memory for all that there may be is reserved before the sequence begins, and
/// allocated row by row.
class KeptLogits {
public:
  /// Keeps none.
  KeptLogits() = default;

  /// The bytes that reserve() takes.
  static uint64_t bytes(LogitsMode mode, uint32_t maxTokens, uint32_t vocab);

  /// For a sequence of up to `maxTokens` output tokens. ResourceExhausted when
  /// its rows, of `vocab` floats, do not fit beside what is reserved.
  static Result<KeptLogits> reserve(LogitsMode mode, uint32_t maxTokens,
                                    uint32_t vocab, const MemoryLimit &limit);

  /// Keeps the row that `read` fills, behind the others; of LogitsMode::Last in
  /// place of the one before. No other is kept, and no row lost, when `read`
  /// fails. There are no more than were reserved.
  Status addRow(const std::function<Status(std::span<float>)> &read);

  /// A row that was added: of the output token of that index, or of
  /// LogitsMode::Last the only one, 0.
  std::span<const float> row(size_t index) const {
    return {rows[index].get(), width};
  }

  /// Gives back what was reserved for rows that will not come.
  void finish();

private:
  MemoryReservation reservation;
  std::vector<std::unique_ptr<float[]>> rows;
  /// Of LogitsMode::Last, to read the next row into.
  std::unique_ptr<float[]> spare;
  size_t width = 0;
  bool isLast = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MEMORY_KEPTLOGITS_H
