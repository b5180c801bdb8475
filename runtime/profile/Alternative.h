//===- Alternative.h - The cost of one alternative --------------*- C++ -*-===//

#ifndef MTP_RUNTIME_PROFILE_ALTERNATIVE_H
#define MTP_RUNTIME_PROFILE_ALTERNATIVE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mtp::profile {

/// Limits on the alternatives and the products of a machine, on the words of an
/// algorithm, and on a ratio of times.
inline constexpr size_t kMostAlternatives = 1024, kMostGemms = 1024,
                        kMostGemmWords = 64;
inline constexpr double kMostRatio = 1000;

enum class Work : uint8_t { Round, Prefill };

/// Runs of one shape with another value of a tunable, against the default.
struct Alternative {
  std::string tunable;
  int64_t value = 0;
  Work work = Work::Round;
  /// Slots, drafts and rows of a round; 1, 0 and the rows of a prompt.
  uint32_t batch = 1, k = 0, rows = 1;
  /// Positions in the caches, of all slots together.
  uint64_t positions = 0;
  /// Mean of the ratios of times, value over default, and its standard error.
  double ratio = 1, error = 0;
  /// Number of pairs.
  uint64_t pairs = 0;

  bool isOfShape(const Alternative &other) const {
    return tunable == other.tunable && value == other.value &&
           work == other.work && batch == other.batch && k == other.k &&
           rows == other.rows && positions == other.positions;
  }
};

/// The fastest algorithm of the GPU vendor's library for a product, see
/// schema::GemmAlgorithm.
struct GemmChoice {
  uint64_t version = 0;
  std::string chip;
  uint32_t rows = 0, outputs = 0, inputs = 0;
  uint64_t workspace = 0;
  std::vector<uint64_t> words;

  bool isOfProduct(const GemmChoice &other) const {
    return version == other.version && chip == other.chip &&
           rows == other.rows && outputs == other.outputs &&
           inputs == other.inputs && workspace == other.workspace;
  }
};

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_ALTERNATIVE_H
