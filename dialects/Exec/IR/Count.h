//===- Count.h - Numbers that grow with n -----------------------*- C++ -*-===//
//
// A program is for a range of n: the slots of a round, or the rows of a chunk.
// A number that depends on n is a count, base + step * n: the rows of a tensor,
// params, offsets, bytes.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_EXEC_IR_COUNT_H
#define MTP_DIALECTS_EXEC_IR_COUNT_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>

namespace mlir::exec {

struct Count {
  int64_t base = 0;
  int64_t step = 0;

  Count() = default;
  Count(int64_t base, int64_t step = 0) : base(base), step(step) {}

  int64_t at(int64_t n) const { return base + step * n; }
  bool isFixed() const { return step == 0; }
  bool operator==(const Count &) const = default;

  friend Count operator+(Count a, Count b) {
    return {a.base + b.base, a.step + b.step};
  }
  friend Count operator*(Count a, int64_t factor) {
    return {a.base * factor, a.step * factor};
  }
};

/// Returns the count that is `count` / `divisor` at every n, if there is one.
std::optional<Count> divide(Count count, int64_t divisor);

/// Returns the number m with `count` = m * `unit` at every n, if there is one.
std::optional<int64_t> ratio(Count count, Count unit);

/// The values of n of a program, both ends included; a function has n = 0.
struct Points {
  int64_t least = 0, most = 0;

  bool isOne() const { return least == most; }
};

/// Returns whether `count` lies in [least, most] at every n of `points`,
/// without overflow.
bool isWithin(Count count, Points points, int64_t least, int64_t most);

/// Returns "3 * n", "1 + n" or "8".
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, Count count);
Diagnostic &operator<<(Diagnostic &diagnostic, Count count);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_COUNT_H
