//===- ErrorFeedback.h - Rounding that compensates errors -------*- C++ -*-===//
//
// GPTQ with act-order and static groups. It minimises the error of a product's
// outputs, e' H e, for the errors e of an output's weights and the second
// moments H of the product's inputs. The inputs are rounded one by one, the
// strongest first. Each error moves the targets of the inputs after it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_QUANTIZE_ERRORFEEDBACK_H
#define MTP_COMPILER_QUANTIZE_ERRORFEEDBACK_H

#include "compiler/Quantize/Grid.h"

#include <optional>
#include <span>

namespace mtp {

/// The order of a product's inputs, and how much the error of each input moves
/// later inputs. Immutable, so any number of threads may read it.
class ErrorFeedback {
public:
  /// Factors the second moments: `moments` has inputs * inputs numbers, of
  /// which row i has the sums of input i times the others. The matrix is
  /// symmetric. A small multiple of its mean diagonal is added. Fails (no
  /// value) if the result is not positive definite, or a number is not finite.
  /// The result does not depend on the number of threads.
  static std::optional<ErrorFeedback> make(std::span<const float> moments,
                                           int64_t inputs, unsigned threads);

  int64_t inputs() const { return int64_t(order.size()); }

  /// Rounds the values of a panel, 32 per input, to the scales and minima of
  /// `codes`. Replaces the integers only.
  void round(const Grid &grid, std::span<const float> values,
             GridCodes &codes) const;

private:
  /// Inputs in the order of rounding.
  std::vector<int32_t> order;
  /// Row i, column j > i: the part of input order[i]'s error that is added to
  /// the target of order[j].
  std::vector<float> parts;
};

/// Returns the squared error e' H e of each output of a panel.
std::vector<double> outputErrors(const Grid &grid, const GridCodes &codes,
                                 std::span<const float> values,
                                 std::span<const float> moments);

} // namespace mtp

#endif // MTP_COMPILER_QUANTIZE_ERRORFEEDBACK_H
