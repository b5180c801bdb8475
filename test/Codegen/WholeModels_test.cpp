//===- WholeModels_test.cpp - Kernels of whole models ---------------------===//
//
// Runs every kernel of the plans of Llama 1B and 8B and DeepSeek-V3 on the
// simulated GPU, with all inputs and a few outputs. Compares with the CPU's
// kernel or, if that takes long to compile, with sums in scalars.
// Inputs/whole_models.txt lists the kernels, and test/Target/cuda-configs.test
// checks that there are no others.
//
// The inputs of a product are exact in bf16 even after a norm, because a GPU
// rounds them to bf16. So results differ by the order of sums only, and a
// missing chunk of inputs shows.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include "Quantized.h"
#include "WholeModels.h"
#include "runtime/schema/KvPage.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

using namespace mtp;
using namespace mtp::codegen;
using namespace mtp::codegen::test;

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

/// Returns the end of the parameter at `begin`. Commas within brackets belong
/// to the parameter.
static size_t endOfParameter(const std::string &line, size_t begin) {
  int depth = 0;
  for (size_t at = begin; at < line.size(); ++at) {
    depth += (line[at] == '<') - (line[at] == '>');
    if (depth == 0 && line[at] == ',')
      return at;
  }
  return line.size();
}

static ModelKernel parseLine(const std::string &line) {
  ModelKernel kernel;
  size_t at = line.find(' ');
  kernel.kind = line.substr(0, at);
  kernel.keys = line.substr(at + 1);
  for (size_t begin = at + 1; begin < line.size();) {
    size_t end = endOfParameter(line, begin);
    size_t equals = line.find(" = ", begin);
    kernel.values[line.substr(begin, equals - begin)] =
        line.substr(equals + 3, end - equals - 3);
    begin = end + 2;
  }
  return kernel;
}

mtp::WeightFormat ModelKernel::format() const {
  // "<int4, group = 64>".
  const std::string &text = values.at("format");
  size_t end = text.find_first_of(",>");
  WeightFormat format{*findWeightElements(text.substr(1, end - 1))};
  if (format.isQuantized())
    format.group = std::stoll(text.substr(text.find(" = ") + 3));
  return format;
}

std::vector<ModelKernel> test::kernelsOfWholeModels(const std::string &kind) {
  std::ifstream file(MTP_WHOLE_MODELS);
  std::vector<ModelKernel> kernels;
  for (std::string line; std::getline(file, line);)
    if (ModelKernel kernel = parseLine(line); kernel.kind == kind)
      kernels.push_back(kernel);
  EXPECT_FALSE(kernels.empty()) << "no " << kind << " in " << MTP_WHOLE_MODELS;
  return kernels;
}

std::string ModelKernel::without(const std::set<std::string> &keys) const {
  std::string text;
  for (const auto &[key, value] : values)
    if (!keys.contains(key))
      text += (text.empty() ? "" : ", ") + key + " = " + value;
  return text;
}

#ifdef MTP_HAS_GPUSIM

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

namespace {

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
const std::vector<int32_t> slotOf{0, 0, 0, 0, 1, 1, 2, 3};
const std::vector<int32_t> positionOf{510, 511, 512, 513, 15, 16, -1, 0};
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

} // namespace

template <typename T>
static std::vector<uint8_t> bytesOf(const std::vector<T> &values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

static std::vector<uint8_t> halves(size_t bytes, uint32_t seed) {
  std::vector<uint16_t> result;
  for (float value : randomFloats(bytes / 2, seed))
    result.push_back(bf16Bits(value));
  return bytesOf(result);
}

/// Returns the expert of a pair: the third expert gets most rows, the fourth
/// none.
static int expertOf(int pair) {
  int row = pair / topK;
  return pair % topK == 0 ? 2 : row % 3 == 0 ? 4 : row % 3 - 1;
}

std::vector<int32_t> Problem::numbers(Role role, size_t count) const {
  std::vector<int32_t> all;
  bool isCached = kernel.has("page");
  int64_t bound = kernel.kind == "embed"      ? kernel.number("vocab")
                  : kernel.kind == "moe_plan" ? kernel.number("experts")
                                              : params.back();
  for (int i = 0; i < int(count); ++i)
    switch (role) {
    case Role::Slots:
      all.push_back(isCached ? slotOf[i] : i % slots);
      break;
    case Role::Positions:
      all.push_back(positionOf[size_t(i) % positionOf.size()]);
      break;
    case Role::Pages:
      all.push_back(1 + i * 7 % (slots * maxPages));
      break;
    default:
      all.push_back(int32_t(i * 7 % bound));
    }
  return all;
}

std::vector<std::vector<float>>
Problem::drawWeights(const ModelKernel &kernel,
                     const std::vector<Role> &roles) {
  if (std::find(roles.begin(), roles.end(), Role::Weights) == roles.end())
    return {};
  size_t k = size_t(kernel.number("k"));
  size_t count = size_t(kernel.number("experts", kernel.number("heads", 1)));
  std::vector<std::vector<float>> all;
  for (size_t i = 0; i < count; ++i)
    all.push_back(randomFloats(kernel.outputs() * k, uint32_t(50 + i),
                               1 / std::sqrt(float(k))));
  return all;
}

std::vector<uint8_t> Problem::pack(bool isGpu) const {
  std::vector<uint8_t> packed;
  for (const std::vector<float> &w : weights) {
    int k = int(kernel.number("k")), n = int(kernel.outputs());
    bool isFragments = isGpu && kernel.has("fragments", "true");
    std::vector<uint8_t> part;
    WeightFormat format = kernel.format();
    if (format.isQuantized()) {
      QuantizedMatrix matrix =
          quantizeWeights(w, n, k, {format.elements, int(format.group)});
      part = isFragments ? packFragments(matrix, kernel.isGated())
                         : packQuantized(matrix, kernel.isGated());
    } else {
      part = packWeights(w, n, k, format.isBF16(), kernel.isGated());
      if (isFragments)
        part = toFragments(part, k);
    }
    packed.insert(packed.end(), part.begin(), part.end());
  }
  return packed;
}

std::vector<uint8_t> Problem::fill(Role role, size_t place, size_t bytes,
                                   bool isGpu) const {
  uint32_t seed = uint32_t(place + 1);
  size_t count = bytes / 4;
  switch (role) {
  case Role::Rows: {
    std::vector<float> x = randomFloats(count, seed);
    // The sum of squares is a whole number, so its order does not matter.
    for (float &value : x)
      value = kernel.has("norm", "true") ? (value < 0 ? -1 : 1) : toBF16(value);
    return bytesOf(x);
  }
  case Role::NormWeights: {
    std::vector<float> weights(count);
    for (size_t i = 0; i < count; ++i)
      weights[i] = i % 3 == 0 ? 1 : i % 3 == 1 ? 0.75f : 0.25f;
    return bytesOf(weights);
  }
  case Role::Weights:
    EXPECT_EQ(packed[isGpu].size(), bytes);
    return packed[isGpu];
  case Role::Sampling:
    return std::vector<uint8_t>(bytes);
  case Role::Table:
    return halves(bytes, seed);
  case Role::Cache:
  case Role::Entries: {
    size_t pages = slots * maxPages + 1;
    return halves(pages * mtp::pageStride(kernel.number("page"),
                                          kernel.number("entry_width"), 2),
                  seed);
  }
  case Role::Starts: {
    std::vector<int32_t> starts{0};
    for (int expert = 0; expert < experts; ++expert) {
      int found = starts.back();
      for (int pair = 0; pair < params[0] * topK; ++pair)
        found += expertOf(pair) == expert;
      starts.push_back(found);
    }
    return bytesOf(starts);
  }
  case Role::Pairs: {
    std::vector<int32_t> pairs;
    for (int expert = 0; expert < experts; ++expert)
      for (int pair = 0; pair < params[0] * topK; ++pair)
        if (expertOf(pair) == expert)
          pairs.push_back(pair);
    return bytesOf(pairs);
  }
  case Role::Floats:
  case Role::Values:
  case Role::Numbers:
  case Role::State:
    return bytesOf(randomFloats(count, seed));
  default:
    return bytesOf(numbers(role, count));
  }
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

static std::vector<float> floatsOf(Guarded<uint8_t> &bytes) {
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), values.size() * 4);
  return values;
}

/// Compares the root mean square of the differences of every `width` values
/// with the root mean square of the values.
static void expectClose(const std::vector<float> &got,
                        const std::vector<float> &want, size_t width,
                        double most) {
  ASSERT_EQ(got.size(), want.size());
  ASSERT_GT(width, 0u);
  for (size_t begin = 0; begin < got.size(); begin += width) {
    double apart = 0, size = 0;
    for (size_t i = begin; i < std::min(begin + width, got.size()); ++i) {
      apart += std::pow(double(got[i]) - want[i], 2);
      size += std::pow(double(want[i]), 2);
    }
    // The comparison also fails for NaN.
    ASSERT_TRUE(apart <= most * most * size)
        << "values from " << begin << " on: " << std::sqrt(apart / size);
  }
}

static bool isResult(Role role) { return role >= Role::Values; }

/// Compares buffers as `expectClose` does, with the limit `most`.
static void compare(const std::vector<Role> &roles, std::vector<Buffer> &got,
                    std::vector<Buffer> &want, size_t width, double most) {
  for (size_t i = 0; i < roles.size(); ++i) {
    SCOPED_TRACE("buffer " + std::to_string(i));
    if (roles[i] == Role::Values && most > 0)
      expectClose(floatsOf(*got[i]), floatsOf(*want[i]), width, most);
    else if (isResult(roles[i]))
      EXPECT_TRUE(got[i]->values() == want[i]->values());
  }
}

/// Returns true if kernels are recorded for a GPU: these are too large for a
/// record.
static bool isRecording() { return std::getenv("MTP_RECORD_KERNELS"); }

static TestTarget cpu() { return hostTargets().front().second; }
static TestTarget gpu() {
  TestTarget target;
  target.isGpu = true;
  return target;
}

/// Runs the kernels of both machines with each of `params`.
static void expectAgreement(const ModelKernel &kernel,
                            const std::vector<Role> &roles,
                            const std::vector<std::vector<int64_t>> &params,
                            size_t width, double most) {
  SCOPED_TRACE(kernel.kind + " " + kernel.keys);
  Kernel mine(gpu(), kernel.kind, kernel.keys);
  Kernel theirs(cpu(), kernel.kind, kernel.without({"fragments"}));
  Problem problem(kernel, roles, {});
  for (const std::vector<int64_t> &some : params) {
    SCOPED_TRACE(std::to_string(some[0]) + " rows");
    problem.params = some;
    std::vector<Buffer> got = problem.run(mine, true);
    std::vector<Buffer> want = problem.run(theirs, false);
    compare(roles, got, want, width, most);
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Two tiles of rows, and four and one: each form has code of its own.
static const std::vector<std::vector<int64_t>> manyRows{{13}, {33}};
static constexpr double kSums = 1e-4;

/// Returns a row-major matrix of `width` columns as a product takes it:
/// integers with scales, bf16 or f32.
static std::vector<double> asTaken(const ModelKernel &kernel,
                                   const std::vector<float> &values, int width,
                                   bool isWeight) {
  std::vector<double> taken(values.begin(), values.end());
  int rows = int(values.size()) / width;
  WeightFormat format = kernel.format();
  if (format.isQuantized()) {
    int group = int(format.group);
    QuantizedMatrix matrix =
        isWeight
            ? quantizeWeights(values, rows, width, {format.elements, group})
            : quantizeRows(values, rows, width, width, group);
    for (size_t i = 0; i < taken.size(); ++i)
      taken[i] = matrix.at(int(i / width), int(i % width));
  } else if (format.isBF16()) {
    for (double &value : taken)
      value = toBF16(float(value));
  }
  return taken;
}

/// Computes `linear` in double precision.
static std::vector<float> linearOf(const ModelKernel &kernel,
                                   const Problem &problem,
                                   const std::vector<Buffer> &buffers) {
  size_t k = size_t(kernel.number("k")), n = size_t(kernel.outputs());
  size_t rows = size_t(problem.params[0]);
  std::vector<float> x = floatsOf(*buffers[0]);
  if (kernel.has("norm", "true")) {
    // The mean of squares is one.
    double inverse = 1 / std::sqrt(1 + std::stod(kernel.values.at("eps")));
    std::vector<float> weights = floatsOf(*buffers[1]);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(x[i] * inverse * weights[i % k]);
  }
  std::vector<double> in = asTaken(kernel, x, int(k), /*isWeight=*/false);
  std::vector<double> w =
      asTaken(kernel, problem.weights[0], int(k), /*isWeight=*/true);
  auto dot = [&](size_t row, size_t output) {
    return std::inner_product(&in[row * k], &in[row * k] + k, &w[output * k],
                              0.0);
  };
  std::vector<float> added;
  if (kernel.has("residual", "true"))
    added = floatsOf(*buffers[buffers.size() - 2]);
  size_t outputs = kernel.isGated() ? n / 2 : n;
  std::vector<float> y;
  for (size_t row = 0; row < rows; ++row)
    for (size_t i = 0; i < outputs; ++i) {
      double sum = dot(row, i);
      if (kernel.isGated())
        sum = silu(sum) * dot(row, i + outputs);
      y.push_back(float(sum + (added.empty() ? 0 : added[row * outputs + i])));
    }
  return y;
}

/// Returns the roles of a product's buffers up to its weights.
static std::vector<Role> productRoles(const ModelKernel &kernel) {
  EXPECT_FALSE(kernel.has("bias", "true"));
  if (kernel.has("norm", "true"))
    return {Role::Rows, Role::NormWeights, Role::Weights};
  return {Role::Rows, Role::Weights};
}

namespace {
/// A test for each kernel of a kind.
class WholeModel : public testing::TestWithParam<ModelKernel> {
protected:
  void SetUp() override {
    if (isRecording())
      GTEST_SKIP() << "buffers of whole models are not recorded";
  }

  const ModelKernel &kernel = GetParam();
};
} // namespace

/// Defines a suite of tests for the kernels of a kind.
#define WHOLE_MODELS(SUITE, ...)                                               \
  namespace {                                                                  \
  class SUITE : public WholeModel {};                                          \
  }                                                                            \
  INSTANTIATE_TEST_SUITE_P(WholeModels, SUITE, testing::ValuesIn(__VA_ARGS__), \
                           NamedByConfig())

/// Returns the kernels of a kind whose rows are prepared, or are not.
static std::vector<ModelKernel> productsOfWholeModels(const std::string &kind,
                                                      bool arePrepared) {
  std::vector<ModelKernel> kernels = kernelsOfWholeModels(kind);
  std::erase_if(kernels, [&](const ModelKernel &kernel) {
    return kernel.has("prepared", "true") != arePrepared;
  });
  return kernels;
}

WHOLE_MODELS(LinearOfModel, productsOfWholeModels("linear", false));

TEST_P(LinearOfModel, IsTheSumOfProducts) {
  std::vector<Role> roles = productRoles(kernel);
  if (kernel.has("residual", "true"))
    roles.push_back(Role::Floats);
  roles.push_back(Role::Values);
  Kernel linear(gpu(), kernel.kind, kernel.keys);
  Problem problem(kernel, roles, {});
  for (const std::vector<int64_t> &rows : manyRows) {
    problem.params = rows;
    std::vector<Buffer> buffers = problem.run(linear, true);
    expectClose(floatsOf(*buffers.back()), linearOf(kernel, problem, buffers),
                32, kSums);
  }
}

WHOLE_MODELS(LinearArgmaxOfModel,
             productsOfWholeModels("linear_argmax", false));

TEST_P(LinearArgmaxOfModel, HasTheLogitsAndTheirWinners) {
  ASSERT_TRUE(kernel.has("logits", "true"));
  std::vector<Role> roles = productRoles(kernel);
  roles.insert(roles.end(), {Role::Slots, Role::Sampling, Role::Values,
                             Role::Numbers, Role::Values});
  Kernel argmax(gpu(), kernel.kind, kernel.keys);
  Problem problem(kernel, roles, {});
  for (const std::vector<int64_t> &rows : manyRows) {
    problem.params = rows;
    std::vector<Buffer> buffers = problem.run(argmax, true);
    std::vector<float> logits = floatsOf(*buffers.back());
    size_t n = size_t(kernel.outputs());
    expectClose(logits, linearOf(kernel, problem, buffers), n, kSums);
    // The winners must be the largest logits, to the bit.
    std::vector<float> best;
    std::vector<int32_t> place;
    for (size_t row = 0; row < logits.size(); row += n)
      for (size_t part = 0; part < n; part += 32) {
        auto begin = logits.begin() + long(row + part);
        auto found = std::max_element(
            begin, begin + long(std::min<size_t>(32, n - part)));
        best.push_back(*found);
        place.push_back(int32_t(found - logits.begin() - long(row)));
      }
    size_t values = roles.size() - 3;
    EXPECT_EQ(buffers[values]->values(), bytesOf(best));
    EXPECT_EQ(buffers[values + 1]->values(), bytesOf(place));
  }
}

static std::vector<ModelKernel> preparedOfWholeModels() {
  std::vector<ModelKernel> kernels = productsOfWholeModels("linear", true);
  std::ranges::copy(productsOfWholeModels("linear_argmax", true),
                    std::back_inserter(kernels));
  return kernels;
}

/// Returns the config of the kernel that prepares such rows.
static std::string preparationOf(const ModelKernel &product) {
  WeightFormat format = product.format();
  std::string text =
      "k = " + product.values.at("k") + ", format = <" +
      (format.isQuantized() ? "int8, group = " + std::to_string(format.group)
                            : "bf16");
  return text + ">";
}

WHOLE_MODELS(PreparedOfModel, preparedOfWholeModels());

TEST_P(PreparedOfModel, HaveTheBitsOfTheProduct) {
  std::vector<Role> roles = productRoles(kernel);
  if (kernel.has("residual", "true"))
    roles.push_back(Role::Floats);
  if (kernel.kind == "linear_argmax")
    roles.insert(roles.end(),
                 {Role::Slots, Role::Sampling, Role::Values, Role::Numbers});
  roles.push_back(Role::Values);
  Kernel whole(gpu(), kernel.kind, kernel.without({"prepared"}));
  Kernel prepare(gpu(), "prepare_rows", preparationOf(kernel));
  Kernel product(gpu(), kernel.kind, kernel.keys);
  Problem problem(kernel, roles, {});
  for (const std::vector<int64_t> &rows : manyRows) {
    problem.params = rows;
    std::vector<Buffer> buffers = problem.run(whole, true);
    Guarded<uint8_t> prepared(size_t(prepare.contractBytes(rows).back()));
    prepare.run({buffers[0]->data(), prepared.data()}, rows);
    std::vector<void *> pointers{prepared.data()};
    std::vector<Buffer> results;
    for (size_t i = 1; i < roles.size(); ++i) {
      pointers.push_back(buffers[i]->data());
      if (!isResult(roles[i]))
        continue;
      results.push_back(std::make_unique<Guarded<uint8_t>>(
          std::vector<uint8_t>(buffers[i]->size(), 0xff)));
      pointers.back() = results.back()->data();
    }
    product.run(pointers, rows);
    for (size_t i = 0; i < results.size(); ++i)
      EXPECT_TRUE(results[i]->values() ==
                  buffers[roles.size() - results.size() + i]->values());
  }
}

WHOLE_MODELS(PreparationOfModel, kernelsOfWholeModels("prepare_rows"));

// The norm equals a norm alone.
TEST_P(PreparationOfModel, HasTheBitsOfItsParts) {
  std::vector<int64_t> rows{5};
  size_t k = size_t(kernel.number("k"));
  std::vector<float> x = randomFloats(5 * k, 1), weights = randomFloats(k, 2);
  std::vector<uint8_t> normed = bytesOf(x);
  Kernel prepare(gpu(), kernel.kind, kernel.keys);
  Guarded<uint8_t> from(bytesOf(x)), norm(bytesOf(weights));
  size_t bytes = size_t(prepare.contractBytes(rows).back());
  Guarded<uint8_t> got(std::vector<uint8_t>(bytes, 0xff));
  Guarded<uint8_t> want(std::vector<uint8_t>(bytes, 0xff));
  std::vector<void *> pointers{from.data(), got.data()};
  if (kernel.has("norm", "true")) {
    pointers.insert(pointers.begin() + 1, norm.data());
    Guarded<uint8_t> y(x.size() * 4);
    Kernel alone(gpu(), "rms_norm",
                 "width = " + std::to_string(k) +
                     ", eps = " + kernel.values.at("eps"));
    ASSERT_FALSE(kernel.has("offset"));
    alone.run({from.data(), norm.data(), y.data()}, rows);
    normed = y.values();
  }
  prepare.run(pointers, rows);
  Guarded<uint8_t> between(normed);
  Kernel parts(gpu(), kernel.kind, kernel.without({"norm", "eps", "offset"}));
  parts.run({between.data(), want.data()}, rows);
  EXPECT_TRUE(got.values() == want.values());
}

WHOLE_MODELS(UnpackOfModel, kernelsOfWholeModels("unpack"));

TEST_P(UnpackOfModel, GivesTheMatrix) {
  Problem problem(kernel, {Role::Weights, Role::State}, {kernel.outputs()});
  std::vector<uint16_t> matrix;
  for (float weight : problem.weights[0])
    matrix.push_back(bf16Bits(weight));
  std::vector<Buffer> buffers =
      problem.run(Kernel(gpu(), kernel.kind, kernel.keys), true);
  EXPECT_TRUE(buffers[1]->values() == bytesOf(matrix));
}

WHOLE_MODELS(HeadLinearOfModel, kernelsOfWholeModels("head_linear"));

TEST_P(HeadLinearOfModel, AgreesWithTheCpu) {
  std::vector<Role> roles{Role::Rows, Role::Weights};
  if (kernel.has("rotation"))
    roles.insert(roles.end(), {Role::Floats, Role::Positions});
  roles.push_back(Role::Values);
  expectAgreement(kernel, roles, {{5}, {13}}, 64, kSums);
}

static std::vector<ModelKernel> expertsOfWholeModels() {
  std::vector<ModelKernel> kernels = kernelsOfWholeModels("moe_gate_up");
  std::ranges::copy(kernelsOfWholeModels("moe_down"),
                    std::back_inserter(kernels));
  return kernels;
}

WHOLE_MODELS(ExpertsOfModel, expertsOfWholeModels());

TEST_P(ExpertsOfModel, AgreeWithTheCpu) {
  expectAgreement(
      kernel,
      {Role::Rows, Role::Weights, Role::Starts, Role::Pairs, Role::Values},
      manyRows, 32, kSums);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Weights are rounded to bf16.
static constexpr double kRounding = 1.0 / 256;

static const std::vector<Role> attentionRoles{Role::Rows,      Role::Slots,
                                              Role::Positions, Role::Pages,
                                              Role::Cache,     Role::Values};
static const std::vector<int64_t> attentionParams{int64_t(slotOf.size()),
                                                  maxPages};

WHOLE_MODELS(AttentionOfModel, kernelsOfWholeModels("attention"));

TEST_P(AttentionOfModel, AgreesWithTheCpu) {
  expectAgreement(kernel, attentionRoles, {attentionParams},
                  size_t(kernel.number("dv")), kRounding);
}

WHOLE_MODELS(AttentionPartsOfModel, kernelsOfWholeModels("attention_parts"));

/// Returns true if `join` joins the parts of `parts`.
static bool isJoinOf(const ModelKernel &join, const ModelKernel &parts) {
  return join.number("dv") == parts.number("dv") &&
         join.number("part_stride") == parts.number("part_stride");
}

TEST_P(AttentionPartsOfModel, HaveTheBitsOfAttention) {
  std::vector<ModelKernel> joins = kernelsOfWholeModels("attention_join");
  auto join = std::ranges::find_if(
      joins, [&](const ModelKernel &join) { return isJoinOf(join, kernel); });
  ASSERT_NE(join, joins.end());
  ModelKernel whole{"attention",
                    kernel.without({"parts", "part_stride", "splits"}) +
                        ", y_stride = " + join->values.at("y_stride"),
                    kernel.values};
  std::vector<Buffer> want =
      Problem(whole, attentionRoles, attentionParams)
          .run(Kernel(gpu(), whole.kind, whole.keys), true);
  std::vector<Buffer> left =
      Problem(kernel, attentionRoles, attentionParams)
          .run(Kernel(gpu(), kernel.kind, kernel.keys), true);
  int64_t rows = attentionParams[0];
  Kernel joining(gpu(), join->kind, join->keys);
  Guarded<uint8_t> y(std::vector<uint8_t>(want.back()->size(), 0xff));
  joining.run({left[2]->data(), left.back()->data(), y.data()}, {rows});
  EXPECT_TRUE(y.values() == want.back()->values());
}

TEST(WholeModels, EveryJoinHasItsParts) {
  std::vector<ModelKernel> parts = kernelsOfWholeModels("attention_parts");
  std::vector<ModelKernel> joins = kernelsOfWholeModels("attention_join");
  EXPECT_EQ(joins.size(), parts.size());
  for (const ModelKernel &join : joins)
    EXPECT_EQ(std::ranges::count_if(parts,
                                    [&](const ModelKernel &parts) {
                                      return isJoinOf(join, parts);
                                    }),
              1)
        << join.keys;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {
/// A kind whose kernels are shared by CPU and GPU. Results have the CPU's bits,
/// except for sums over lanes.
struct RowKind {
  std::string kind;
  std::vector<Role> roles;
  std::vector<int64_t> params;
  double most = 0;
};
} // namespace

static std::vector<RowKind> rowKinds() {
  using enum Role;
  return {
      {"add", {Rows, Rows, Values}, {8}},
      {"concat", {Rows, Rows, Values}, {8}},
      {"embed", {Table, Indices, Values}, {8}},
      {"kv_append", {Rows, Slots, Positions, Pages, Entries}, {8, maxPages}},
      {"mask_first", {Rows, Positions, Values}, {8}},
      {"moe_combine", {Positions, Floats, Floats, Floats, Floats, Values}, {8}},
      {"moe_plan", {Positions, Indices, Numbers, Numbers}, {8}},
      {"moe_route", {Rows, Floats, Numbers, Values}, {8}, 1e-6},
      {"read_state", {Slots, Floats, Values}, {4, 3}},
      {"rms_norm", {Rows, Floats, Values}, {8}, 1e-6},
      {"rope", {Rows, Floats, Positions, Values}, {8}},
      {"rope_kv_append",
       {Rows, Rows, Floats, Positions, Slots, Positions, Pages, Entries},
       {8, maxPages}},
      {"rope_qkv_append",
       {Rows, Rows, Rows, Floats, Positions, Slots, Positions, Pages, Entries,
        Values},
       {8, maxPages}},
      {"round_rows", {Rows, State}, {8}},
      {"swiglu", {Rows, Rows, Values}, {8}},
      {"take_rows", {Rows, Indices, Values}, {3, 8}},
      {"unpack_rows", {Rows, Indices, Values}, {3, 8}},
      {"write_state", {Rows, Slots, State}, {4, 3}},
      {"write_state_at", {Rows, Indices, Slots, State}, {4, 3, 8}},
  };
}

static std::vector<ModelKernel> rowsOfWholeModels() {
  std::vector<ModelKernel> kernels;
  for (const RowKind &row : rowKinds())
    std::ranges::copy(kernelsOfWholeModels(row.kind),
                      std::back_inserter(kernels));
  return kernels;
}

WHOLE_MODELS(RowsOfModel, rowsOfWholeModels());

TEST_P(RowsOfModel, AgreeWithTheCpu) {
  std::vector<RowKind> kinds = rowKinds();
  const RowKind &row = *std::ranges::find(kinds, kernel.kind, &RowKind::kind);
  std::vector<Role> roles = row.roles;
  if (kernel.has("norm", "true"))
    roles.insert(roles.begin() + 1, Role::NormWeights);
  expectAgreement(kernel, roles, {row.params}, 8, row.most);
}

TEST(WholeModels, HaveNoOtherKinds) {
  std::set<std::string> known{"attention", "attention_join", "attention_parts",
                              "head_linear", "linear", "linear_argmax",
                              "moe_down", "moe_gate_up",
                              // Covered by tests other than the row tests.
                              "prepare_rows",
                              // In Sample_test.cpp.
                              "sample_join", "sample_scan", "unpack"};
  for (const RowKind &row : rowKinds())
    known.insert(row.kind);
  std::ifstream file(MTP_WHOLE_MODELS);
  std::set<std::string_view> formats;
  for (std::string line; std::getline(file, line);) {
    ModelKernel kernel = parseLine(line);
    EXPECT_TRUE(known.contains(kernel.kind)) << kernel.kind;
    if (kernel.kind == "linear")
      formats.insert(kernel.format().name());
  }
  EXPECT_EQ(formats,
            (std::set<std::string_view>{"bf16", "f32", "int4", "int8"}));
}

#endif // MTP_HAS_GPUSIM
