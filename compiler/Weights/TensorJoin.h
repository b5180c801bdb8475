//===- TensorJoin.h - A tensor that a file stores in two --------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_TENSORJOIN_H
#define MTP_COMPILER_WEIGHTS_TENSORJOIN_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mtp {

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

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_TENSORJOIN_H
