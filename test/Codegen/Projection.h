//===- Projection.h - Running a projection on rows of a problem -*- C++ -*-===//

#ifndef TEST_CODEGEN_PROJECTION_H
#define TEST_CODEGEN_PROJECTION_H

#include "Harness.h"

namespace mtp::codegen::test {

/// From a row of k inputs to the next one. Tensor cores take rows at multiples
/// of 16 bytes.
inline int rowStride(int k, bool fragments) { return k + (fragments ? 8 : 5); }

/// What a `linear` kernel reads. Rows of x are `stride` apart, those of the
/// residual `outputs` + 3, those of the result `outputs` + 1. Null: not there.
struct ProjectionInputs {
  int k, outputs, stride;
  const std::vector<float> &x;
  const std::vector<float> *normWeight;
  const std::vector<uint8_t> &weights;
  const std::vector<float> *bias;
  const std::vector<float> *residual;
};

/// Runs rows [first, first + count), every buffer against a page that faults;
/// returns the outputs row after row.
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

#endif // TEST_CODEGEN_PROJECTION_H
