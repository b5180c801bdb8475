//===- TensorEntry.h - The place of a tensor in its file --------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_TENSORENTRY_H
#define MTP_COMPILER_WEIGHTS_TENSORENTRY_H

#include "compiler/Weights/WeightType.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace mtp {

/// The order of heads that a file stores by their number within a group: the
/// first head of each group, then the second head of each group, and so on. The
/// tensor's order is by group. Applies to rows or columns from `first` on.
struct TiledHeads {
  int64_t first = 0;
  int64_t width = 0; ///< Of a head, in rows or columns. 0: stored in order.
  int64_t groups = 1;
  int64_t each = 1; ///< Heads of a group.

  bool operator==(const TiledHeads &) const = default;

  /// Returns the place in the file of a row or column.
  int64_t place(int64_t index) const {
    if (width == 0 || index < first)
      return index;
    int64_t head = (index - first) / width;
    int64_t stored = head % each * groups + head / each;
    return index + (stored - head) * width;
  }
};

/// The place of one tensor in its file.
struct TensorEntry {
  WeightType type;
  std::vector<int64_t> shape;
  uint64_t offset = 0; ///< From the start of the file.
  uint64_t size = 0;   ///< In bytes.
  /// If not 0: each run of `pairedRows` rows is a head, in which the rows of
  /// the two halves of a rotation alternate. Row i of half h is at 2 * i + h.
  int64_t pairedRows = 0;
  float factor = 1; ///< Multiplies each value.
  TiledHeads tiledRows, tiledColumns;

  bool operator==(const TensorEntry &) const = default;
};

/// A tensor that is stored as two. Its rows form groups of equal size. A group
/// has runs of rows, and each run comes from one of the two stored tensors.
struct TensorJoin {
  /// A run of rows of each group. The runs of successive groups follow each
  /// other in the stored tensor.
  struct Run {
    int64_t count; ///< Rows per group.
    int64_t begin; ///< Row of the stored tensor for the first group.
    size_t part;   ///< Number of the stored tensor.
  };
  /// A place in a stored tensor.
  struct Place {
    size_t part;
    int64_t row;
    int64_t left; ///< Rows from here to the end of the run.
  };

  /// A stored tensor: the number of its file in the WeightSet, and its key
  /// without the file's prefix.
  struct Part {
    size_t file;
    std::string key;
  };

  std::array<Part, 2> parts;
  std::vector<Run> runs;
  std::vector<int64_t> shape; ///< Of the joined tensor, a matrix.
  /// True if the first stored tensor has a transposed matrix for each group.
  bool isTransposed = false;

  /// Returns the place of a row of the joined tensor.
  Place place(int64_t row) const {
    int64_t size = 0;
    for (const Run &run : runs)
      size += run.count;
    int64_t group = row / size, rest = row % size;
    const Run *run = runs.data();
    for (; rest >= run->count; ++run)
      rest -= run->count;
    return {run->part, run->begin + group * run->count + rest,
            run->count - rest};
  }
};

using TensorMap = std::map<std::string, TensorEntry, std::less<>>;

/// Returns a shape as text: "[2, 3]".
inline std::string formatShape(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_TENSORENTRY_H
