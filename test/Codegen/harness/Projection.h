//===- Projection.h - Running a projection on rows of a problem -*- C++ -*-===//

#ifndef MTP_TEST_CODEGEN_HARNESS_PROJECTION_H
#define MTP_TEST_CODEGEN_HARNESS_PROJECTION_H

#include "Harness.h"

#include <cmath>
#include <gtest/gtest.h>

namespace mtp::codegen::test {

/// Returns the distance from a row of k inputs to the next one. Tensor cores
/// take rows at multiples of 16 bytes.
inline int rowStride(int k, bool fragments) { return k + (fragments ? 8 : 5); }

/// Returns true if the gates of a case are GELUs.
template <typename Case>
bool isGelu(const Case &c) {
  if constexpr (requires { c.gelu; })
    return c.gelu;
  return false;
}

/// Returns the attributes of a `linear` kernel of a case, including its format.
/// Case has the options in addition to the product (norm, bias, residual,
/// gated, fragments).
template <typename Case>
std::string projectionConfig(const Case &c, const std::string &format) {
  std::string text = "k = " + std::to_string(c.k) +
                     ", n = " + std::to_string(c.n) + ", " + format;
  if (c.norm)
    text += ", norm = true, eps = 1.0e-5 : f32, offset = 1";
  if (c.bias)
    text += ", bias = true";
  if (c.residual)
    text += ", residual = true, residual_stride = " +
            std::to_string(c.outputs() + 3);
  if (c.gated)
    text += isGelu(c) ? ", activation = geglu_tanh" : ", activation = swiglu";
  if (c.fragments)
    text += ", fragments = true";
  return text + ", x_stride = " + std::to_string(c.stride()) +
         ", y_stride = " + std::to_string(c.outputs() + 1);
}

/// Compares results of a Problem, row after row, with the double precision
/// reference. `dot` returns the sum of products of a row and a column of the
/// weight, and the sum of their magnitudes, which limits the error.
template <typename Problem, typename Dot>
void checkProjection(const Problem &p, const std::vector<float> &y,
                     double relative, Dot dot) {
  int outputs = p.c.outputs();
  for (int r = 0; r < p.rows; ++r)
    for (int n = 0; n < outputs; ++n) {
      auto [sum, magnitude] = dot(r, n);
      if (p.c.gated) {
        auto [up, upMagnitude] = dot(r, n + outputs);
        double gate = isGelu(p.c) ? geluTanh(sum) : silu(sum);
        magnitude =
            2 * magnitude * std::fabs(up) + std::fabs(gate) * upMagnitude;
        sum = gate * up;
      }
      if (p.c.bias)
        sum += p.bias[n];
      if (p.c.residual)
        sum += p.residual[size_t(r) * (outputs + 3) + n];
      ASSERT_NEAR(y[size_t(r) * outputs + n], sum, relative * (magnitude + 1))
          << "row " << r << ", output " << n;
    }
}

/// Inputs of a `linear` kernel. Rows of x are `stride` apart, rows of the
/// residual `outputs` + 3, rows of the result `outputs` + 1. A null input is
/// absent.
struct ProjectionInputs {
  int k, outputs, stride;
  const std::vector<float> &x;
  const std::vector<float> *normWeight;
  const std::vector<uint8_t> &weights;
  const std::vector<float> *bias;
  const std::vector<float> *residual;
};

/// Runs rows [first, first + count), with every buffer before a protected page.
/// Returns the outputs row after row.
inline std::vector<float> runProjection(const Kernel &kernel,
                                        const ProjectionInputs &in, int first,
                                        int count, Split split) {
  // The last row ends with its values, without the padding to the next one.
  auto rows = [&](const std::vector<float> &all, int width, int stride) {
    return std::vector<float>(all.begin() + size_t(first) * stride,
                              all.begin() + size_t(first + count) * stride -
                                  (stride - width));
  };
  static const std::vector<float> none(1);
  Guarded<float> x(rows(in.x, in.k, in.stride));
  Guarded<float> norm(in.normWeight ? *in.normWeight : none);
  Guarded<uint8_t> weights(in.weights);
  Guarded<float> bias(in.bias ? *in.bias : none);
  Guarded<float> residual(
      in.residual ? rows(*in.residual, in.outputs, in.outputs + 3) : none);
  Guarded<float> y(size_t(count) * (in.outputs + 1) - 1);
  std::vector<void *> buffers{x.data()};
  if (in.normWeight)
    buffers.push_back(norm.data());
  buffers.push_back(weights.data());
  if (in.bias)
    buffers.push_back(bias.data());
  if (in.residual)
    buffers.push_back(residual.data());
  buffers.push_back(y.data());
  kernel.run(buffers, {count}, split);
  std::vector<float> outputs;
  for (int r = 0; r < count; ++r)
    outputs.insert(outputs.end(), &y[size_t(r) * (in.outputs + 1)],
                   &y[size_t(r) * (in.outputs + 1)] + in.outputs);
  return outputs;
}

} // namespace mtp::codegen::test

#endif // MTP_TEST_CODEGEN_HARNESS_PROJECTION_H
