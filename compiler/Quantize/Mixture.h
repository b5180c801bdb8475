//===- Mixture.h - Formats under a budget of bits ---------------*- C++ -*-===//

#ifndef MTP_COMPILER_QUANTIZE_MIXTURE_H
#define MTP_COMPILER_QUANTIZE_MIXTURE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mtp {

/// A weight, with its error in each format.
struct MixtureItem {
  /// The number of elements.
  double elements = 0;
  /// The bits of an element in each format, ascending.
  std::vector<double> bits;
  /// The error of the weight in each format, in units that all items share.
  std::vector<double> errors;
};

/// Returns the number of the format of each item. All items begin with the
/// first format. Then the item whose error falls most per added bit gets its
/// next format, while the mean bits of all elements are at most `budget`. Equal
/// gains go to the first item.
std::vector<size_t> chooseMixture(const std::vector<MixtureItem> &items,
                                  double budget);

} // namespace mtp

#endif // MTP_COMPILER_QUANTIZE_MIXTURE_H
