//===- ProductParams.h - Parameters that products share ---------*- C++ -*-===//
//
// Kinds of products differ in the source of rows and the destination of
// outputs. The matrix of a product and the first buffers of a projection are
// described here once for all targets. Each target has its own matmul.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_PRODUCTPARAMS_H
#define MTP_COMPILER_CODEGEN_PRODUCTPARAMS_H

#include "compiler/Codegen/KernelCatalogue.h"

namespace mtp::codegen {

/// Matrix of a product, and the preparation of its rows.
struct ProductParams {
  int64_t k, n;
  WeightFormat format;
  /// True if panels are in the order of tensor cores.
  bool fragments;
  /// True if x is the output of `prepare_rows`.
  bool prepared = false;
  /// True for a projection that norms its rows.
  bool norm = false;
  float eps = 0;
  int64_t normOffset = 0;
  bool bias = false;
  /// True if the outputs are gates followed by ups.
  bool gated = false;
  /// The function that is applied to gates.
  mlir::mtp::ActivationKind activation = mlir::mtp::ActivationKind::Swiglu;
  /// True if rows are gathered for an expert's pairs.
  bool gathersRows = false;
  /// Elements from one row of x to the next.
  int64_t xStride;

  /// Reads the parameters of a product with one matrix of `outputs` outputs.
  template <typename KernelT>
  ProductParams(KernelT kernel, int64_t outputs)
      : k(kernel.getK()), n(outputs), format(kernel.getFormat().getFormat()),
        fragments(kernel.getFragments()), xStride(kernel.getK()) {
    if constexpr (requires { kernel.getNorm(); }) {
      norm = kernel.getNorm();
      eps = valueOf(kernel.getEps());
      normOffset = kernel.getOffset();
      bias = kernel.getBias();
    }
    if constexpr (requires { kernel.getPrepared(); })
      prepared = kernel.getPrepared();
    if constexpr (requires { kernel.isGated(); }) {
      gated = kernel.isGated();
      activation = kernel.getActivation();
    }
    if constexpr (requires { kernel.getXStride(); })
      xStride = strideOr(kernel.getXStride(), k);
  }
  template <typename KernelT>
  explicit ProductParams(KernelT kernel)
    requires requires { kernel.getN(); }
      : ProductParams(kernel, kernel.getN()) {}
};

/// Returns the matrix of an expert.
inline ProductParams expertMatrix(exec::MoeGateUpKernelAttr kernel) {
  ProductParams params(kernel, 2 * kernel.getInter());
  params.gated = params.gathersRows = true;
  return params;
}
inline ProductParams expertMatrix(exec::MoeDownKernelAttr kernel) {
  ProductParams params(kernel);
  params.gathersRows = true;
  return params;
}
inline int64_t expertColumns(exec::MoeGateUpKernelAttr kernel) {
  return kernel.getInter();
}
inline int64_t expertColumns(exec::MoeDownKernelAttr kernel) {
  return kernel.getN();
}

// `count` pairs of a row and an expert are sorted by expert. The functions
// return the first pair of an expert, the pair that is row number `row` of the
// expert, and the input row of a pair.
Value startOfExpert(KernelBuilder &kb, Value starts, Value count, Value expert);
Value pairOfExpert(KernelBuilder &kb, Value pairs, Value count, Value start,
                   Value row);
Value rowOfPair(KernelBuilder &kb, exec::MoeGateUpKernelAttr kernel,
                Value pair);
Value rowOfPair(KernelBuilder &kb, exec::MoeDownKernelAttr kernel, Value pair);

/// Returns whether a slot's logits are read.
Value readsLogits(KernelBuilder &kb, Value sampling, Value slot);

/// The first buffers of a projection: x, [norm weight], W, [bias].
struct ProjectionBuffers {
  Value x, normWeight, weights, bias;
  /// Number of the buffer after them.
  int64_t next = 0;

  ProjectionBuffers(KernelBuilder &kb, const ProductParams &params) {
    x = kb.buffer(next++);
    if (params.norm)
      normWeight = kb.buffer(next++);
    weights = kb.buffer(next++);
    if (params.bias)
      bias = kb.buffer(next++);
  }
};

/// Strides of rows that are divided into heads, in f32 elements: from one row
/// to the next and from one head to the next.
struct HeadStrides {
  int64_t row;
  int64_t head;

  Value at(KernelBuilder &kb, Value base, Value headIndex,
           Value rowIndex) const {
    return kb.at(kb.at(base, rowIndex, row * 4), headIndex, head * 4);
  }
};

/// Reports an error if the kernel's panels do not have the number of outputs
/// that the code streams.
template <typename KernelT>
mlir::LogicalResult verifyPanels(KernelT kernel, EmitError emitError) {
  if (kernel.getPanel() == exec::formatPanelWidth())
    return mlir::success();
  return emitError() << "expected panels of " << exec::formatPanelWidth()
                     << " outputs, got " << kernel.getPanel();
}

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_PRODUCTPARAMS_H
