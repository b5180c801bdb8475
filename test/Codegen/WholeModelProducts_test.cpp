//===- WholeModelProducts_test.cpp - Products of whole models -------------===//
//
// The inputs of a product are exact in bf16 even after a norm, because a GPU
// rounds them to bf16. So results differ by the order of sums only, and a
// missing chunk of inputs shows.
//
//===----------------------------------------------------------------------===//

#include "harness/Quantized.h"
#include "harness/WholeModelProblem.h"

#include <cmath>
#include <numeric>

using namespace mtp;
using namespace mtp::codegen;
using namespace mtp::codegen::test;

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
