//===- SecondMoments.h - Statistics of rows ---------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_SECONDMOMENTS_H
#define MTP_TOOLS_MTP_RUN_SECONDMOMENTS_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mtp {

/// Sums of x x' over rows x, for several kinds of rows. The sums do not depend
/// on the number of threads.
class SecondMoments {
public:
  explicit SecondMoments(unsigned threads) : threads(threads) {}

  /// Adds a kind of rows. Kinds are numbered from 0.
  void addKind(std::string name, size_t width);

  /// Adds rows of each kind. `rows` has for each kind `count` rows.
  void add(std::span<const std::span<const float>> rows, size_t count);

  /// Returns a safetensors file with the sums. The tensor of a kind has its
  /// name. It is f32 and has the upper triangle of the sums, row by row: width
  /// * (width + 1) / 2 numbers.
  std::string file();

private:
  /// Rows that are collected before they are summed, so that sums are read
  /// rarely.
  static constexpr size_t kTogether = 256;

  struct Kind {
    std::string name;
    size_t width;
    /// Collected rows, padded to a whole number of tiles.
    std::vector<float> rows;
    size_t pitch;
    /// The upper triangle, row by row.
    std::vector<float> sums;
  };

  void flush();

  std::vector<Kind> kinds;
  size_t collected = 0;
  unsigned threads;
};

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_SECONDMOMENTS_H
