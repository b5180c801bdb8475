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
/// Memory for all possible rows is reserved before the sequence begins, and
/// allocated row by row.
class KeptLogits {
public:
  /// Keeps none.
  KeptLogits() = default;

  /// Returns the bytes that reserve() takes.
  static uint64_t bytes(LogitsMode mode, uint32_t maxTokens, uint32_t vocab);

  /// Reserves memory for a sequence of up to `maxTokens` output tokens.
  /// ResourceExhausted if its rows, of `vocab` floats, do not fit beside what
  /// is reserved.
  static Result<KeptLogits> reserve(LogitsMode mode, uint32_t maxTokens,
                                    uint32_t vocab, const MemoryLimit &limit);

  /// Keeps the row that `read` fills, after the others. LogitsMode::Last keeps
  /// it in place of the row before. If `read` fails, nothing changes. There are
  /// no more rows than were reserved.
  Status addRow(const std::function<Status(std::span<float>)> &read);

  /// Returns the row of the output token of that index. With LogitsMode::Last
  /// the only row is 0.
  std::span<const float> row(size_t index) const {
    return {rows[index].get(), width};
  }

  /// Gives back the memory that was reserved for rows which will not come.
  void finish();

private:
  MemoryReservation reservation;
  std::vector<std::unique_ptr<float[]>> rows;
  /// The buffer into which LogitsMode::Last reads the next row.
  std::unique_ptr<float[]> spare;
  size_t width = 0;
  bool isLast = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MEMORY_KEPTLOGITS_H
