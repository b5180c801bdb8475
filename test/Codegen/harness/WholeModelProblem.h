//===- WholeModelProblem.h - Buffers of kernels of whole models -*- C++ -*-===//

#ifndef MTP_TEST_CODEGEN_HARNESS_WHOLEMODELPROBLEM_H
#define MTP_TEST_CODEGEN_HARNESS_WHOLEMODELPROBLEM_H

#include "Harness.h"
#include "WholeModels.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace mtp::codegen::test {

/// Contents of a buffer.
enum class Role {
  /// Rows: floats that are bf16, also after a norm.
  Rows,
  NormWeights,
  Weights,
  Floats,
  /// A table of bf16.
  Table,
  /// One value for every row.
  Slots,
  Positions,
  /// Pages of a slot.
  Pages,
  Cache,
  /// Words of a slot that ask for logits.
  Sampling,
  /// Numbers below a bound.
  Indices,
  /// Starts of the pairs of each expert, and the pairs.
  Starts,
  Pairs,
  /// Results.
  Values,
  Numbers,
  /// Buffers that a kernel partly keeps, and entries that it writes.
  State,
  Entries
};

/// Rows of one slot on both sides of the end of a page and of a part, a padding
/// row and a first position.
inline const std::vector<int32_t> slotOf{0, 0, 0, 0, 1, 1, 2, 3};
inline const std::vector<int32_t> positionOf{510, 511, 512, 513, 15, 16, -1, 0};
constexpr int slots = 4, maxPages = 33, topK = 2, experts = 5;

using Buffer = std::unique_ptr<Guarded<uint8_t>>;

/// Buffers of a kernel, equal for both machines except for the order of
/// weights.
class Problem {
public:
  Problem(const ModelKernel &kernel, std::vector<Role> roles,
          std::vector<int64_t> params)
      : params(std::move(params)), weights(drawWeights(kernel, roles)),
        kernel(kernel), roles(std::move(roles)),
        packed{pack(false), pack(true)} {}

  std::vector<Buffer> run(const Kernel &code, bool isGpu) const {
    std::vector<int64_t> sizes = code.contractBytes(params);
    EXPECT_EQ(sizes.size(), roles.size());
    std::vector<Buffer> buffers;
    std::vector<void *> pointers;
    for (size_t i = 0; i < roles.size(); ++i) {
      std::vector<uint8_t> bytes = fill(roles[i], i, size_t(sizes[i]), isGpu);
      buffers.push_back(std::make_unique<Guarded<uint8_t>>(bytes));
      pointers.push_back(buffers.back()->data());
    }
    code.run(pointers, params);
    return buffers;
  }

  std::vector<int64_t> params;
  /// A matrix for each expert or head.
  std::vector<std::vector<float>> weights;

private:
  std::vector<uint8_t> fill(Role role, size_t place, size_t bytes,
                            bool isGpu) const;
  static std::vector<std::vector<float>>
  drawWeights(const ModelKernel &kernel, const std::vector<Role> &roles);
  std::vector<uint8_t> pack(bool isGpu) const;
  std::vector<int32_t> numbers(Role role, size_t count) const;

  const ModelKernel &kernel;
  std::vector<Role> roles;
  /// Packed weights of the CPU and of the GPU.
  std::vector<uint8_t> packed[2];
};

template <typename T>
std::vector<uint8_t> bytesOf(const std::vector<T> &values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> floatsOf(Guarded<uint8_t> &bytes);

/// Compares the root mean square of the differences of every `width` values
/// with the root mean square of the values.
void expectClose(const std::vector<float> &got, const std::vector<float> &want,
                 size_t width, double most);

inline bool isResult(Role role) { return role >= Role::Values; }

/// Returns true if kernels are recorded for a GPU: these are too large for a
/// record.
inline bool isRecording() { return std::getenv("MTP_RECORD_KERNELS"); }

/// Returns the simulated GPU.
TestTarget gpu();

/// Runs the kernels of both machines with each of `params`.
void expectAgreement(const ModelKernel &kernel, const std::vector<Role> &roles,
                     const std::vector<std::vector<int64_t>> &params,
                     size_t width, double most);

/// Two tiles of rows, and four and one: each form has code of its own.
inline const std::vector<std::vector<int64_t>> manyRows{{13}, {33}};
/// The largest error of sums in another order.
inline constexpr double kSums = 1e-4;

/// A test for each kernel of a kind.
class WholeModel : public testing::TestWithParam<ModelKernel> {
protected:
  void SetUp() override {
    if (isRecording())
      GTEST_SKIP() << "buffers of whole models are not recorded";
  }

  const ModelKernel &kernel = GetParam();
};

/// Defines a suite of tests for the kernels of a kind.
#define WHOLE_MODELS(SUITE, ...)                                               \
  namespace {                                                                  \
  class SUITE : public WholeModel {};                                          \
  }                                                                            \
  INSTANTIATE_TEST_SUITE_P(WholeModels, SUITE, testing::ValuesIn(__VA_ARGS__), \
                           NamedByConfig())

} // namespace mtp::codegen::test

#endif // MTP_TEST_CODEGEN_HARNESS_WHOLEMODELPROBLEM_H
